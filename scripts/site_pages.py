"""Pages of the site that docs/ does not hold: commands and public names from the code, files of elsewhere.

MkDocs loads it (mkdocs.yml, `hooks`).
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
# Files of the repository that are pages of the site.
BORROWED = {
    "piston/README.md": "servers.md",
    "examples/README.md": "examples.md",
    "CHANGELOG.md": "changes.md",
    "README.md": "README.md",
}
MODULES = {
    "ioi_eval": "What most programs need.",
    "ioi_eval.models": "All values.",
    "ioi_eval.errors": "All exceptions.",
    "ioi_eval.runs": "Use cases with their options, events and results.",
    "ioi_eval.scoring": "Programs in replies, tests in rows, the worth of results.",
    "ioi_eval.sources": "Problems of benchmarks, packages and files, and prompts for them.",
    "ioi_eval.engines": "What an engine implements, and engines by name.",
    "ioi_eval.plugins.contest": "Contests: rules, sessions, models that submit several times.",
    "ioi_eval.testing": "An engine for your tests.",
    "ioi_eval.classic": "One test per job, as pipelines for Piston send them.",
}
WIDE = {"comparison.md"}  # tables that need the whole width
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(((?!https?:|#|mailto:)[^)\s#]+)(#[^)\s]*)?\)")
_FENCE = re.compile(r"^( *)```.*?^\1```$", re.M | re.S)


def commands_page() -> str:
    """Every command with its help."""
    every = _help()
    names = re.findall(r"^  ([a-z]+) {2,}", every, re.M)
    about = "Made from the code: what `ioi-eval COMMAND --help-all` prints."
    parts = [f"# Command line\n\n{about}\n", _block(every)]
    parts += (f"\n## {name}\n\n{_block(_help(name))}" for name in names)
    return "\n".join(parts)


def _help(*command: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "ioi_eval", *command, "--help-all" if command else "--help"],
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def _block(text: str) -> str:
    return f"```text\n{text}```\n"


def api_page() -> str:
    parts = [
        "# Public names\n",
        "Made from the docstrings. [The library](../library.md) has an example for each name.\n",
    ]
    for module, about in MODULES.items():
        parts.append(f"## `{module}`\n\n{about}\n")
        parts += (f"::: {module}.{name}\n" for name in sorted(import_module(module).__all__))
    return "\n".join(parts)


def on_files(files: Any, config: Any) -> Any:
    made = {"reference/commands.md": commands_page(), "reference/api.md": api_page()}
    for source, page in BORROWED.items():
        if source != "README.md":
            made[page] = _with_links((ROOT / source).read_text(), source, page)
    for page, text in made.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    uri = page.file.src_uri
    if uri in WIDE:
        page.meta["hide"] = ["navigation", "toc"]
    if page.file.generated_by is not None:
        return markdown
    return _with_links(markdown, f"docs/{uri}", uri)


def _with_links(text: str, source: str, page: str) -> str:
    """Links of a file in the repository, as links of a page of the site."""

    def linked(match: re.Match[str]) -> str:
        image, words, target, anchor = match[1], match[2], match[3], match[4] or ""
        place = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if not (ROOT / place).exists() and place not in _made():
            return match[0]  # MkDocs complains
        inside = place.removeprefix("docs/") if place.startswith("docs/") else BORROWED.get(place)
        if words.endswith(target) and place not in _made():
            words = _title(place)
        if inside is None:
            return words
        return f"{image}[{words}]({os.path.relpath(inside, posixpath.dirname(page) or '.')}{anchor})"

    return "".join(part if fenced else _LINK.sub(linked, part) for fenced, part in _parts(text))


def _title(place: str) -> str:
    """How the site calls a page that the repository calls by its file's name."""
    heading = re.search(r"^# (.+)$", (ROOT / place).read_text(), re.M) if place.endswith(".md") else None
    return heading[1] if heading else place


def _parts(text: str) -> Iterator[tuple[bool, str]]:
    """Blocks of code, in which nothing is a link, and what is between them."""
    end = 0
    for block in _FENCE.finditer(text):
        yield False, text[end : block.start()]
        yield True, block[0]
        end = block.end()
    yield False, text[end:]


def _made() -> set[str]:
    return {"docs/reference/commands.md", "docs/reference/api.md"}
