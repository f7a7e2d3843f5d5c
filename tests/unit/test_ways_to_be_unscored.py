"""docs/security.md lists every place that makes a failure of the judge: none is added without an argument."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import ioi_eval
from ioi_eval.store.resources import graders

pytestmark = [pytest.mark.once]

PACKAGE, TOP = Path(ioi_eval.__file__).parent, Path(__file__).parents[2]
# In C++ each throws, or tells, a failure: of a test, or of a job.
FAILS = re.compile(r"\b(?:fail|fail_errno|mount_or_fail)\(|\blines\.(?:failed|fatal)\(")
CLASS = re.compile(r"^ *class (\w+)\(([^)]*)\):", re.M)


@pytest.fixture(scope="module")
def sources() -> dict[str, str]:
    """The text of each file of the package."""
    return {path.relative_to(PACKAGE).as_posix(): path.read_text() for path in PACKAGE.rglob("*.py")}


def errors_of_the_judge(sources: dict[str, str]) -> set[str]:
    """Their names: JudgeFailure, EngineError, and all classes made of them, wherever they are."""
    found, classes = {"JudgeFailure", "EngineError"}, dict[str, set[str]]()
    for text in sources.values():
        for name, bases in CLASS.findall(text):
            classes[name] = set(re.findall(r"\w+", bases))
    while more := {name for name, bases in classes.items() if bases & found} - found:
        found |= more
    return found


def places(sources: dict[str, str]) -> Counter[str]:
    kinds, found = errors_of_the_judge(sources), Counter[str]()
    made = re.compile(rf"\b(?:{'|'.join(kinds)})\(")
    for path, text in sources.items():
        if not made.search(text):
            continue  # to parse all takes long
        nodes = list(ast.walk(ast.parse(text)))
        # A contest refuses its participants by an error of that name, too, which is none of the judge.
        others = {
            name.name
            for node in nodes
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ioi_eval.plugins.contest")
            for name in node.names
        }
        for node in nodes:
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in kinds - others:
                found[path] += 1
    for source in (graders() / "proctor").glob("*.[ch]pp"):
        if number := len(FAILS.findall(source.read_text())):
            found[source.name] = number
    return found


def by_room(found: Counter[str]) -> dict[str, int]:
    """Their number in each room, where the proctor is one: what moves within a room stays argued for."""
    rooms = Counter[str]()
    for name, number in found.items():
        rooms["proctor" if name.endswith("pp") else name.partition("/")[0]] += number
    return dict(sorted(rooms.items()))


def section() -> str:
    text = (TOP / "docs" / "security.md").read_text()
    return text.partition("## Ways to be unscored\n")[2].partition("\n## ")[0]


def test_every_way_to_be_unscored_is_listed(sources: dict[str, str]) -> None:
    assert {"ModuleMissing", "BrokenReply", "TooLarge"} < errors_of_the_judge(sources)
    there = places(sources)
    cells = [line.split("|")[1] for line in section().splitlines() if line.startswith("| `")]
    listed = [name for cell in cells for name in re.findall(r"`([\w/.]+)`", cell)]
    assert len(set(listed)) == len(listed), "a file stands in one row"
    assert there.keys() - set(listed) == set(), "files that docs/security.md does not argue about"
    assert set(listed) - there.keys() == set(), "files without any, or that are gone"
    told = {room: int(number) for room, number in re.findall(r"`(\w+)` (\d+)", section())}
    assert told == by_room(there), "argue for the new place in its row, and count it"
