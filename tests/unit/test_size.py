"""Files and functions stay as short as CONTRIBUTING.md says, those of tests and scripts too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]
LONGEST_FILE, LONGEST_FUNCTION = 400, 40
# Written by contestants, as it is.
OTHERS = (ROOT / "tests" / "packages", ROOT / "scripts" / "examples")


def offences(path: Path, text: str) -> Iterator[str]:
    if (lines := len(text.splitlines())) > LONGEST_FILE:
        yield f"{path}: {lines} lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            if (lines := node.end_lineno - node.lineno + 1) > LONGEST_FUNCTION:
                yield f"{path}: {node.name} has {lines} lines"


@pytest.mark.parametrize("folder", ["ioi_eval", "tests", "scripts", "graders/python"])
def test_nothing_grows_too_long(folder: str) -> None:
    files = [path for path in (ROOT / folder).rglob("*.py") if not set(OTHERS) & set(path.parents)]
    assert files
    found = [offence for path in files for offence in offences(path.relative_to(ROOT), path.read_text())]
    assert found == []


def test_what_is_too_long_is_seen() -> None:
    long = "def f():\n" + "    pass\n" * LONGEST_FUNCTION
    assert list(offences(Path("a.py"), long)) == [f"a.py: f has {LONGEST_FUNCTION + 1} lines"]
    assert list(offences(Path("a.py"), "pass\n" * (LONGEST_FILE + 1))) == [f"a.py: {LONGEST_FILE + 1} lines"]
