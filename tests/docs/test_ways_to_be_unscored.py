"""docs/security.md lists every file that raises a judge failure, each with an argument."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import ioi_eval
from ioi_eval.store.resources import graders_folder

PACKAGE, TOP = Path(ioi_eval.__file__).parent, Path(__file__).parents[2]
# In C++ each of these reports a failure: of a test, or of a job.
FAILS = re.compile(r"\b(?:fail|fail_errno|mount_or_fail)\(|\blines\.(?:failed|fatal)\(")
CLASS = re.compile(r"^ *class (\w+)\(([^)]*)\):", re.M)


@pytest.fixture(scope="module")
def sources() -> dict[str, str]:
    """The text of each file of the package."""
    return {path.relative_to(PACKAGE).as_posix(): path.read_text() for path in PACKAGE.rglob("*.py")}


def errors_of_the_judge(sources: dict[str, str]) -> set[str]:
    """Return the names JudgeFailure and EngineError, and of all their subclasses in the package."""
    error_classes, classes = {"JudgeFailure", "EngineError"}, dict[str, set[str]]()
    for source in sources.values():
        for name, bases in CLASS.findall(source):
            classes[name] = set(re.findall(r"\w+", bases))
    while more := {name for name, bases in classes.items() if bases & error_classes} - error_classes:
        error_classes |= more
    return error_classes


def files(sources: dict[str, str]) -> set[str]:
    kinds, failing_files = errors_of_the_judge(sources), set[str]()
    error_call = re.compile(rf"\b(?:{'|'.join(kinds)})\(")
    for path, source_text in sources.items():
        if not error_call.search(source_text):
            continue  # parsing all files is slow
        nodes = list(ast.walk(ast.parse(source_text)))
        # A contest has errors of the same names for its participants, which are not judge failures.
        contest_names = {
            name.name
            for node in nodes
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ioi_eval.plugins.contest")
            for name in node.names
        }
        called = {getattr(node.func, "id", "") for node in nodes if isinstance(node, ast.Call)}
        if called & (kinds - contest_names):
            failing_files.add(path)
    cpp = (graders_folder() / "proctor").glob("*.[ch]pp")
    return failing_files | {source.name for source in cpp if FAILS.search(source.read_text())}


def section() -> str:
    page_text = (TOP / "docs" / "security.md").read_text()
    return page_text.partition("## Ways to be unscored\n")[2].partition("\n## ")[0]


def test_every_way_to_be_unscored_is_listed(sources: dict[str, str]) -> None:
    assert {"ModuleMissing", "BrokenReply", "TooLarge"} < errors_of_the_judge(sources)
    failing_files = files(sources)
    cells = [line.split("|")[1] for line in section().splitlines() if line.startswith("| `")]
    listed = [name for cell in cells for name in re.findall(r"`([\w/.]+)`", cell)]
    assert len(set(listed)) == len(listed), "a file is listed twice"
    assert failing_files - set(listed) == set(), "files missing in docs/security.md"
    assert set(listed) - failing_files == set(), "listed files without judge failures, or removed files"
