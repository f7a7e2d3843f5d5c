"""Polygon's groups of tests: each test's own points, or all or nothing; and groups that others depend on.

A group that depends on others earns nothing unless every test of those is passed, and of those that they
depend on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element

from ioi_eval.model.values import ScoreType, Subtask, Test
from ioi_eval.problems.fields import Faults, nearest
from ioi_eval.rules.grading import each_behind

_COMPLETE, _EACH = _POLICIES = ("complete-group", "each-test")
_WHOLE, _NO_GROUP = "all", "no-group"


class _Group(NamedTuple):
    name: str
    complete: bool
    points: float | None  # of the group as a whole, where it says so
    needs: tuple[str, ...]
    tests: Mapping[str, float]  # their own points, by name


def tests_of(testset: Element) -> list[Element]:
    return list(testset.iterfind("tests/test"))


def own_points(testset: Element) -> list[float]:
    """Of each test; what is no number is noted by whoever reads the groups."""
    words = (test.get("points", "") for test in tests_of(testset))
    return [float(word) if re.fullmatch(r"\d+(\.\d*)?", word) else 0.0 for word in words]


def read_groups(testset: Element, tests: Sequence[Test], faults: Faults, file: str) -> tuple[Subtask, ...]:
    """The groups as subtasks; none where nothing has points: then all tests are to be passed."""
    reader = _Reader(faults, file)
    groups = reader.groups(testset, [test.name for test in tests])
    if not any(_points(group) for group in groups.values()):
        return ()
    return tuple(_subtask(group, list(_needed(group, groups))) for group in groups.values() if group.tests)


class _Reader:
    def __init__(self, faults: Faults, file: str) -> None:
        self._faults, self._file = faults, file

    def _number(self, element: Element, field: str) -> float | None:
        said = element.get("points")
        try:
            number = None if said is None else float(said)
        except ValueError:
            number = math.nan
        if number is None or 0 <= number < math.inf:
            return number
        self._faults.add(
            f"{said!r} is not a number of points", self._file, field=field, remedy="Correct it in the file"
        )
        return None

    def groups(self, testset: Element, names: Sequence[str]) -> dict[str, _Group]:
        listed = {one.get("name", ""): one for one in testset.iterfind("groups/group")}
        inside: dict[str, dict[str, float]] = {}
        for element, name in zip(tests_of(testset), names, strict=False):
            group = element.get("group", "") if listed else _WHOLE
            points = self._number(element, "testset.tests.test.points") or 0.0
            inside.setdefault(group or _NO_GROUP, {})[name] = points
        found = {name: self._group(name, listed.get(name), tests) for name, tests in inside.items()}
        self._check(found, listed)
        return found

    def _group(self, name: str, element: Element | None, tests: Mapping[str, float]) -> _Group:
        if element is None:
            return _Group(name, False, None, (), tests)
        policy = element.get("points-policy", _COMPLETE)
        if policy not in _POLICIES:
            field = f"testset.groups.{name}.points-policy"
            remedy = f"Expected {' or '.join(_POLICIES)}"
            self._faults.add(f"{policy!r} is not known", self._file, field=field, remedy=remedy)
        needs = tuple(one.get("group", "") for one in element.iterfind("dependencies/dependency"))
        points = self._number(element, f"testset.groups.{name}.points")
        return _Group(name, policy == _COMPLETE, points or None, needs, tests)

    def _check(self, groups: Mapping[str, _Group], listed: Mapping[str, Element]) -> None:
        for group in groups.values():
            field = f"testset.groups.{group.name}.dependencies"
            for need in group.needs:
                if need not in groups and need not in listed:
                    remedy = nearest(need, tuple(listed))
                    self._faults.add(f"there is no group {need!r}", self._file, field=field, remedy=remedy)
            if group.name in {one.name for one in _needed(group, groups)}:
                remedy = "Take one of the dependencies out"
                self._faults.add("it depends on itself", self._file, field=field, remedy=remedy)


def _needed(group: _Group, groups: Mapping[str, _Group]) -> Iterator[_Group]:
    """The groups that a group depends on, with those that these depend on; each once."""
    seen, waiting = set[str](), list(group.needs)
    while waiting:
        name = waiting.pop(0)
        if name not in seen and name in groups:
            seen.add(name)
            waiting += groups[name].needs
            yield groups[name]


def _points(group: _Group) -> float:
    return group.points if group.complete and group.points is not None else math.fsum(group.tests.values())


def _subtask(group: _Group, needed: Sequence[_Group]) -> Subtask:
    before = [name for other in needed for name in other.tests]
    names = tuple(dict.fromkeys([*before, *group.tests]))
    plain = Subtask(name=group.name, points=_points(group), tests=names)
    if group.complete:
        return plain
    alike = len(set(group.tests.values())) == 1
    tree = None if alike and not before else each_behind(group.tests, before)
    return Subtask(name=plain.name, points=plain.points, tests=names, score_type=ScoreType.SUM, grading=tree)
