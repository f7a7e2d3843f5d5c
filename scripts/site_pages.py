"""Generates the pages of the site that are not in docs/: commands, public names, and files of other folders.

MkDocs loads this file (mkdocs.yml, `hooks`).
"""

from __future__ import annotations

import os
import posixpath
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
# Paths of files outside of docs/ that are pages of the site.
INCLUDED = {
    "piston/README.md": "servers.md",
    "examples/README.md": "examples.md",
    "CHANGELOG.md": "changes.md",
    "README.md": "README.md",
}
MODULES = {
    "ioi_eval": "The names that most programs need.",
    "ioi_eval.models": "All values.",
    "ioi_eval.errors": "All exceptions.",
    "ioi_eval.runs": "Use cases with their options, events and results.",
    "ioi_eval.scoring": "Programs in replies, tests in rows, scores of results.",
    "ioi_eval.sources": "Problems of benchmarks, packages and files, and prompts for them.",
    "ioi_eval.engines": "What an engine implements, and engines by name.",
    "ioi_eval.plugins.contest": "Contests: rules, sessions, models that submit several times.",
    "ioi_eval.testing": "An engine for your tests.",
    "ioi_eval.classic": "One test per job, like pipelines for Piston.",
}
WIDE_PAGES = {"comparison.md"}  # names of pages whose tables need the whole width
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(((?!https?:|#|mailto:)[^)\s#]+)(#[^)\s]*)?\)")
_FENCE = re.compile(r"^( *)```.*?^\1```$", re.M | re.S)


def build_commands_page() -> str:
    """Return the page with the help of every command."""
    overview = _read_help()
    command_names = re.findall(r"^  ([a-z]+) {2,}", overview, re.M)
    introduction = "Generated from the code: the output of `ioi-eval COMMAND --help-all`."
    sections = [f"# Command line\n\n{introduction}\n", _format_block(overview)]
    sections += (f"\n## {name}\n\n{_format_block(_read_help(name))}" for name in command_names)
    return "\n".join(sections)


def _read_help(*command: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "ioi_eval", *command, "--help-all" if command else "--help"],
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def _format_block(text: str) -> str:
    return f"```text\n{text}```\n"


def build_api_page() -> str:
    sections = [
        "# Public names\n",
        "Generated from the docstrings. [The library](../library.md) has an example for each name.\n",
    ]
    for module, about in MODULES.items():
        sections.append(f"## `{module}`\n\n{about}\n")
        sections += (f"::: {module}.{name}\n" for name in sorted(import_module(module).__all__))
    return "\n".join(sections)


def on_files(files: Any, config: Any) -> Any:
    generated_pages = {"reference/commands.md": build_commands_page(), "reference/api.md": build_api_page()}
    for source, page in INCLUDED.items():
        if source != "README.md":
            generated_pages[page] = _fix_links((ROOT / source).read_text(), source, page)
    for page, content in generated_pages.items():
        files.append(File.generated(config, page, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    uri = page.file.src_uri
    if uri in WIDE_PAGES:
        page.meta["hide"] = ["navigation", "toc"]
    if page.file.generated_by is not None:
        return markdown
    return _fix_links(markdown, f"docs/{uri}", uri)


def _fix_links(text: str, source_path: str, page_path: str) -> str:
    """Return a file's text with links to files of the repository replaced by links to pages of the site."""

    def make_site_link(match: re.Match[str]) -> str:
        image, label, target, anchor = match[1], match[2], match[3], match[4] or ""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source_path), target))
        if not (ROOT / path).exists() and path not in _list_generated_pages():
            return match[0]  # MkDocs itself reports a broken link
        site_page = path.removeprefix("docs/") if path.startswith("docs/") else INCLUDED.get(path)
        if label.endswith(target) and path not in _list_generated_pages():
            label = _read_title(path)
        if site_page is None:
            return label
        return f"{image}[{label}]({os.path.relpath(site_page, posixpath.dirname(page_path) or '.')}{anchor})"

    return "".join(
        section if is_code else _LINK.sub(make_site_link, section)
        for is_code, section in _split_code_blocks(text)
    )


def _read_title(path: str) -> str:
    """Return the heading of a Markdown file, or the path of any other file."""
    heading = re.search(r"^# (.+)$", (ROOT / path).read_text(), re.M) if path.endswith(".md") else None
    return heading[1] if heading else path


def _split_code_blocks(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the parts of a page, each with True if it is a code block, which cannot contain links."""
    previous_end = 0
    for block in _FENCE.finditer(text):
        yield False, text[previous_end : block.start()]
        yield True, block[0]
        previous_end = block.end()
    yield False, text[previous_end:]


def _list_generated_pages() -> set[str]:
    return {"docs/reference/commands.md", "docs/reference/api.md"}
