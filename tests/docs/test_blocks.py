"""Each code block of the pages is run here or by the test that it names, or has a reason why not."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from support.pages import PAGES, ROOT, Block, blocks, matches
from support.runs import extract_recorded_rows
from support.warm_command import warm_command

ALL = [block for page in PAGES for block in blocks(page)]
TUTORIALS = ("cluster", "dump", "problem", "reward")
SESSIONS = sorted({block.page for block in ALL if block.runs_here and block.kind in ("sh", "python")})
LONG = {
    f"docs/{name}.md"
    for name in (
        *("audit", "contest", "plugins/contest", "plugins/functions", "questions", "results"),
        *(f"tutorials/{name}" for name in TUTORIALS),
    )
}


def each_line(code: str) -> None:
    for line in code.splitlines():
        json.loads(line)


def parsed_json(code: str) -> None:
    try:
        json.loads(code)
    except json.JSONDecodeError:
        each_line(code)


PARSERS: dict[str, Callable[[str], object]] = {
    "json": parsed_json,
    "toml": tomllib.loads,
    "yaml": yaml.safe_load,
}


@pytest.fixture
def page_folder(alone: bool, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return a folder with the examples and a run of them, as pages assume. Long runs have a report."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "runs").mkdir()
    if alone:
        shutil.copytree(request.getfixturevalue("recorded_run"), tmp_path / "runs" / "demo")
    else:
        extract_recorded_rows(tmp_path / "runs" / "demo")
    return tmp_path


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def run_block(block: Block, folder: Path, cache: Path, *, alone: bool) -> str:
    """Run a block and return its output. With `alone`, Python starts without preloaded modules."""
    bin_folder = Path(sys.executable).parent
    environment = {**os.environ, "IOI_EVAL_CACHE": str(cache), "HF_HUB_OFFLINE": "1", "HOME": str(folder)}
    environment["PORT"] = str(free_port())
    environment["PATH"] = f"{bin_folder}:/usr/local/bin:/usr/bin:/bin"  # without the user's variables
    if block.kind == "python" and not alone:
        script = folder / ".block.py"
        script.write_text(block.code)
        completed = warm_command().run([], folder, environment, str(script))
    else:
        command = ["bash", "-euo", "pipefail"] if block.kind == "sh" else [sys.executable, "-"]
        completed = subprocess.run(
            command,
            input=block.code,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert completed.returncode == 0, f"{block}\n{completed.stdout}\n{completed.stderr}"
    return completed.stdout


IN_SHORT = [(page, False) for page in SESSIONS if page not in LONG]
HAVE_PYTHON = {block.page for block in ALL if block.runs_here and block.kind == "python"}
IN_LONG = [(page, True) for page in SESSIONS if page in LONG | HAVE_PYTHON]


@pytest.mark.parametrize(
    ("page", "alone"), [*IN_SHORT, *(pytest.param(*one, marks=pytest.mark.nightly) for one in IN_LONG)]
)
def test_code_blocks_of_page_run_in_order_and_print_the_shown_output(
    page: str, alone: bool, page_folder: Path, shared_cache: Path
) -> None:
    printed = ""
    for block in blocks(page):
        if not block.runs_here:
            continue
        if block.kind in ("sh", "python"):
            printed = run_block(block, page_folder, shared_cache, alone=alone)
        elif block.kind == "text":
            assert matches(block.code, printed), (
                f"{block} shows\n{block.code}\nand this was printed:\n{printed}"
            )


@pytest.mark.parametrize("block", ALL, ids=str)
def test_code_block_is_run_or_has_a_reason(block: Block) -> None:
    if block.run_by:
        test = ROOT / block.run_by
        assert test.is_file() and Path(block.page).name in test.read_text()
    elif block.not_run:
        assert block.not_run.strip(), "the reason is empty"
        mentioned_files = re.findall(r"\b(?:tests|scripts|tools)/[\w/.]*\w", block.not_run)
        assert [file_name for file_name in mentioned_files if not (ROOT / file_name).exists()] == []
    elif block.kind in PARSERS:
        PARSERS[block.kind](block.code)
    else:
        known_kinds = ("sh", "python", "text", "mermaid")
        assert block.kind in known_kinds, (
            f"{block}: nothing runs {block.kind or 'a block without a language'}"
        )
        assert block.kind != "text" or block.page in SESSIONS, f"{block}: nothing prints it"


@pytest.mark.parametrize("page", PAGES)
def test_pages_have_no_indented_code_blocks(page: str) -> None:
    """No test would find code blocks that are only indented."""
    prose = re.sub(r"^( *)```.*?^\1```$", "", (ROOT / page).read_text(), flags=re.M | re.S)
    assert re.findall(r"\n\n    (?![-* ]).*", prose) == []
