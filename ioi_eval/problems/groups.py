"""Subtasks of a package for the contest system: their points, how they are scored, which tests they have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ioi_eval.errors import InputError
from ioi_eval.models import ScoreType, Subtask
from ioi_eval.plan import Selector, group_tests
from ioi_eval.problems.fields import Faults, Fields, nearest, parse_json, read_object

_PARAMETERS = "score_type_parameters"
_MISSING = "Give a list of names, a regular expression or a count"


class _Group(NamedTuple):
    """A group as it was written, with the place where its tests stand."""

    name: str
    fields: Fields
    tests_field: str
    points: float
    score_type: ScoreType
    threshold: float
    tests: Any


def read_subtasks(
    folder: Path, header: Fields, tests: tuple[str, ...], faults: Faults
) -> tuple[Subtask, ...]:
    """The subtasks' files in their order, or the score type's parameters where there are none."""
    usual = header.word("score_type", ScoreType, ScoreType.GROUP_MIN)
    threshold = header.number("threshold", 1.0, above=0)
    groups = _from_files(folder, usual, threshold, faults)
    if header.has(_PARAMETERS):
        if groups:
            header.fault(_PARAMETERS, "there are subtasks in files as well", "Keep one of the two")
        groups = _from_parameters(header, usual, threshold, tests)
    chosen = _chosen(groups, tests)
    return tuple(
        Subtask(
            name=group.name,
            points=group.points,
            tests=names,
            score_type=group.score_type,
            threshold=group.threshold,
        )
        for group, names in zip(groups, chosen, strict=True)
    )


# --- as written --------------------------------------------------------------------------------------


def _from_files(folder: Path, usual: ScoreType, threshold: float, faults: Faults) -> list[_Group]:
    groups = []
    for path in sorted((folder / "subtasks").glob("*.json")):
        file = f"subtasks/{path.name}"
        values = None if path.name.startswith(".") else read_object(folder, file, faults)
        if values is not None:
            groups.append(_from_file(path.stem, Fields(values, file, faults), usual, threshold))
    return groups


def _from_file(name: str, fields: Fields, usual: ScoreType, threshold: float) -> _Group:
    if fields.values.get("testcases") is None:
        fields.fault("testcases", "missing", _MISSING)
    return _Group(
        name=name,
        fields=fields,
        tests_field="testcases",
        points=fields.number("score"),
        score_type=fields.word("score_type", ScoreType, usual),
        threshold=fields.number("threshold", threshold, above=0),
        tests=fields.values.get("testcases"),
    )


def _from_parameters(
    header: Fields, usual: ScoreType, threshold: float, tests: tuple[str, ...]
) -> list[_Group]:
    """[[points, tests], ...], with a threshold as a third; or a number, what each test of a sum is worth."""
    value = _parameters(header)
    if usual is ScoreType.SUM and isinstance(value, int | float):
        points = header.number(_PARAMETERS) * len(tests)
        return [_Group("all", header, _PARAMETERS, points, usual, threshold, ".*" if tests else None)]
    if not isinstance(value, list) or not all(isinstance(row, list) and len(row) in (2, 3) for row in value):
        header.fault(_PARAMETERS, "not a list of [points, tests]", "Give it as the contest system has it")
        return []
    return [_from_row(index, row, header, usual, threshold) for index, row in enumerate(value, 1)]


def _parameters(header: Fields) -> Any:
    value = header.values[_PARAMETERS]
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value)
    except (ValueError, RecursionError):
        return None


def _from_row(index: int, row: list[Any], header: Fields, usual: ScoreType, threshold: float) -> _Group:
    place = f"{_PARAMETERS}.{index}"
    names = ("points", "tests", "threshold")
    fields = header.under(place, dict(zip(names, row, strict=False)))
    if row[1] is None:
        fields.fault("tests", "missing", _MISSING)
    return _Group(
        name=str(index),
        fields=fields,
        tests_field="tests",
        points=fields.number("points"),
        score_type=usual,
        threshold=fields.number("threshold", threshold, above=0),
        tests=row[1],
    )


# --- which tests -------------------------------------------------------------------------------------


def _chosen(groups: Sequence[_Group], tests: tuple[str, ...]) -> list[tuple[str, ...]]:
    if any(_is_count(group.tests) for group in groups):
        return _by_count(groups, tests)
    return [_by_name(group, tests) for group in groups]


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _by_count(groups: Sequence[_Group], tests: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Groups of the next so many tests: only all together can they be told which."""
    for group in groups:
        if not _is_count(group.tests) or group.tests < 1:
            group.fields.fault(group.tests_field, "not a count from 1, as others are", _MISSING)
            return [() for _ in groups]
    counts: list[Selector] = [group.tests for group in groups]
    try:
        return list(group_tests(tests, counts))
    except InputError as error:
        groups[-1].fields.fault(groups[-1].tests_field, error.problem, "Count the tests again")
        return [() for _ in groups]


def _by_name(group: _Group, tests: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(group.tests, str):
        return _by_pattern(group, tests)
    if group.tests is None:
        return ()  # noted already
    names = group.fields.texts(group.tests_field)
    if not names and group.tests == []:
        group.fields.fault(group.tests_field, "no tests", "List the subtask's tests, or remove this file")
    _check_names(group, names, tests)
    return names


def _by_pattern(group: _Group, tests: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return group_tests(tests, [group.tests])[0]
    except InputError as error:
        group.fields.fault(
            group.tests_field, error.problem, "It must match from the start of the tests' names"
        )
        return ()


def _check_names(group: _Group, names: tuple[str, ...], tests: tuple[str, ...]) -> None:
    known = set(tests)
    for name in dict.fromkeys(names):
        if name not in known:
            group.fields.fault(
                group.tests_field, f"names the test {name!r}, which is not in tests/", nearest(name, tests)
            )
        elif names.count(name) > 1:
            group.fields.fault(group.tests_field, f"names the test {name!r} more than once", "Name it once")
