"""Shared helpers of the scripts that generate tests: files of a package by name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Files = dict[str, str]
Groups = Mapping[str, tuple[float, Sequence[str]]]  # points and test names, by subtask


def line(numbers: Iterable[Any]) -> str:
    return " ".join(map(str, numbers)) + "\n"


def contest(tests: Mapping[str, tuple[str, str | None]], groups: Groups) -> Files:
    """Return tests and subtasks in the format of the contest system. A test may have no expected output."""
    files: Files = {}
    for name, (test_input, answer) in tests.items():
        files[f"tests/{name}.in"] = test_input
        if answer is not None:
            files[f"tests/{name}.out"] = answer
    for name, (points, names) in groups.items():
        files[f"subtasks/{name}.json"] = json.dumps({"score": points, "testcases": list(names)}) + "\n"
    return files


def small_and_full(tests: Mapping[str, tuple[str, str | None]], small: str, points: float) -> Files:
    """Return tests and two subtasks: the samples and the tests of the first group, and all tests."""
    first = [name for name in tests if name[0] in "01"]
    return contest(tests, {f"01-{small}": (points, first), "02-full": (100 - points, list(tests))})
