"""The compact form of a row in results.jsonl: each test once, a list for each field, confinement by name.

A test of three subtasks is in three lists of `test_results`, and most of its fields are those of its
neighbours: written out, tests are nine tenths of a run. Rows that stand there written out, as earlier
versions wrote them, are read as they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.values import TestResult, Verdict

TEST_COLUMNS = "test_columns"
_TESTS, _SUBTASKS, _CONFINEMENT = "test_results", "all_subtasks_results", "confinement"
# Fields of few tests, with what stands for them in others: of those that ran again, that a grader counts,
# that start processes.
RARE: Mapping[str, Any] = {"cpu_times": [], "points": None, "processes": None}
_NEVER = object()
_Row = dict[str, Any]
_OWN = "uid"  # of a box, which says nothing


def compact(row: Mapping[str, Any]) -> tuple[_Row, dict[str, Mapping[str, Any]]]:
    """Return the row as it is written, and its confinement by the name that stands in it."""
    short, named = dict(row), dict[str, Mapping[str, Any]]()
    if isinstance(confinement := row.get(_CONFINEMENT), Mapping) and confinement:
        same = {name: value for name, value in confinement.items() if name != _OWN}
        name = hashlib.sha256(msgspec.json.encode(same, order="sorted")).hexdigest()[:12]
        short[_CONFINEMENT], named[name] = name, same
    if TEST_COLUMNS in row:  # as `rows.short_row` makes it
        return short, named
    places, tests = dict[bytes, int](), list[_Row]()
    lists = _mapped(row, lambda listed: [_place(places, tests, test) for test in listed])
    if columns := _columns(tests):
        short |= {**lists, TEST_COLUMNS: columns}
    return short, named


def whole(row: _Row, confinements: Mapping[str, Mapping[str, Any]]) -> _Row:
    """Return the row as `rows.result_row` made it, without its box's user."""
    return _spread_out(with_confinement(row, confinements), _tests)


def with_tests(row: Mapping[str, Any]) -> _Row:
    """Return the row with values in the places of its tests: quicker than to write them out first."""
    return _spread_out(row, lambda columns: msgspec.convert(columns, TestColumns).results())


def _spread_out(row: Mapping[str, Any], read: Callable[[Mapping[str, Any]], Sequence[Any]]) -> _Row:
    if (columns := row.get(TEST_COLUMNS)) is None:
        return dict(row)
    try:
        tests = read(columns)
        lists = _mapped(row, lambda places: [tests[place] for place in places])
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        problem = f"the tests of the row of {row.get('key')!r} are not as this version writes them: {error}"
        raise InputError(problem, remedy="Score the dump again with fresh=True") from error
    return _without(row, TEST_COLUMNS) | lists


def with_confinement(row: _Row, confinements: Mapping[str, Mapping[str, Any]]) -> _Row:
    """Return the row with its confinement in the place of the name, and its tests as they are written."""
    if isinstance(name := row.get(_CONFINEMENT), str):
        row = {**row, _CONFINEMENT: confinements.get(name, {})}
    return row


class TestColumns(msgspec.Struct):
    """The tests of a row as they are written: a list for each field, or one value for all."""

    __test__ = False

    test_name: list[str]
    score: float | list[float]
    status: Verdict | list[Verdict]
    feedback: str | list[str] = ""
    cpu_time: float | list[float | None] | None = None
    cpu_times: list[tuple[float, ...]] = []
    wall_time: float | list[float | None] | None = None
    waited_time: float | list[float | None] | None = None
    memory: int | list[int | None] | None = None
    points: float | list[float | None] | None = None

    def results(self) -> list[TestResult]:
        """Return a result for each test. Raises ValueError where a list is not as long as the names."""
        columns = (
            self.test_name,
            self._spread(self.score),
            self._spread(self.status),
            self._spread(self.feedback),
            self._spread(self.cpu_time),
            self._spread(self.cpu_times) if self.cpu_times else repeat((), len(self.test_name)),
            self._spread(self.wall_time),
            self._spread(self.waited_time),
            self._spread(self.memory),
            self._spread(self.points),
        )
        return [
            TestResult(
                test_name=name,
                score=score,
                status=status,
                feedback=feedback,
                cpu_time=cpu_time,
                cpu_times=cpu_times,
                wall_time=wall_time,
                waited_time=waited_time,
                memory=memory,
                points=points,
            )
            for (
                name,
                score,
                status,
                feedback,
                cpu_time,
                cpu_times,
                wall_time,
                waited_time,
                memory,
                points,
            ) in zip(*columns, strict=True)
        ]

    def _spread(self, value: Any) -> Iterable[Any]:
        return value if isinstance(value, list) else repeat(value, len(self.test_name))


def _tests(columns: Mapping[str, Any]) -> list[_Row]:
    number = len(columns["test_name"])
    # A rare field that no test has is no field; that some have is taken from the others.
    there = {name: value for name, value in columns.items() if value != RARE.get(name, _NEVER)}
    lists = [value if isinstance(value, list) else [value] * number for value in there.values()]
    tests = [dict(zip(there, values, strict=True)) for values in zip(*lists, strict=True)]
    for name in RARE.keys() & there.keys():
        tests = [_without(test, name) if test[name] == RARE[name] else test for test in tests]
    return tests


def _mapped(row: Mapping[str, Any], change: Callable[[list[Any]], list[Any]]) -> _Row:
    """The columns of a row that list tests, with other lists."""
    found: _Row = {_TESTS: change(row[_TESTS])} if _TESTS in row else {}
    parts = row.get(_SUBTASKS) or ()
    return found | {_SUBTASKS: [{**part, _TESTS: change(part[_TESTS])} for part in parts]} if parts else found


def _place(places: dict[bytes, int], tests: list[_Row], test: _Row) -> int:
    """Return a test's place among those of its row. Two of one name that differ are two."""
    place = places.setdefault(msgspec.json.encode(test), len(tests))
    if place == len(tests):
        tests.append(test)
    return place


def _columns(tests: list[_Row]) -> _Row:
    """Empty where there are no tests, or tests with other fields than ours."""
    fields = {name: None for test in tests for name in test}
    if any(fields.keys() - test.keys() - RARE.keys() for test in tests) or "test_name" not in fields:
        return {}
    columns = {name: [test.get(name, RARE.get(name)) for test in tests] for name in fields}
    return {name: values if name == "test_name" else folded(values) for name, values in columns.items()}


def folded(values: list[Any]) -> Any:
    """Fold equal values of all tests into one; a value that is a list itself stays in a list."""
    first, *more = values
    same = not isinstance(first, list) and all(
        value == first and type(value) is type(first) for value in more
    )
    return first if same else values


def _without(row: Mapping[str, Any], name: str) -> _Row:
    return {key: value for key, value in row.items() if key != name}
