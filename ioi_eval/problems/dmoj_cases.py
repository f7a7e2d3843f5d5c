"""DMOJ's `test_cases`: cases with points of their own, batches that are passed as a whole.

A case or a batch without points, as pretests have none, is to be passed for all that comes behind it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ioi_eval.model.values import Blob, ScoreType, Subtask, Test
from ioi_eval.problems.dmoj_checkers import Chosen, Data, chosen, told
from ioi_eval.problems.fields import Fields, shown
from ioi_eval.rules.grading import each_behind

_CASES, _PRETESTS = "test_cases", "pretest_test_cases"
_EXPECTED = "Write `- {in: 1.in, out: 1.out, points: 10}`, or `- {points: 10, batched: [...]}`"
# What holds for a case where it does not say it itself, nor its batch.
_INHERITED = ("in", "out", "points", "checker", "binary_data", "generator", "generator_args")
_OF_ALL = ("output_limit_length", "wall_time_factor", "file_io", "symlinks", "io_redirects")
# The format's own expressions, for archives whose cases are not listed.
_NUMBERS = r".*?(?:(?:^|\W)(?P<batch>\d+)[^\d\s]+)?(?P<case>\d+)[^\d\s]*$"
_USUAL = {"input_format": r"^(?=.*?\.in|in)" + _NUMBERS, "output_format": r"^(?=.*?\.out|out)" + _NUMBERS}


class Cases(NamedTuple):
    tests: tuple[Test, ...] = ()
    subtasks: tuple[Subtask, ...] = ()
    worths: Mapping[str, float] = {}  # the points of each test's case or batch
    checkers: Mapping[str, Chosen] = {}


class _Part(NamedTuple):
    """A case, or a batch of cases."""

    name: str  # of a batch; empty: a case
    points: float
    tests: tuple[str, ...]
    needs: tuple[int, ...] = ()  # earlier batches


def read_cases(header: Fields, data: Data, problem: str) -> Cases:
    return _Reader(header, data, problem).cases()


class _Reader:
    def __init__(self, header: Fields, data: Data, problem: str) -> None:
        self._header, self._data, self._problem = header, data, problem
        self._tests: list[Test] = []
        self._worths: dict[str, float] = {}
        self._checkers: dict[str, Chosen] = {}
        self._batches = 0

    def cases(self) -> Cases:
        pretests = self._parts(_PRETESTS) if self._header.has(_PRETESTS) else []
        parts = [*(part._replace(points=0.0) for part in pretests), *self._parts(_CASES)]
        if not parts:
            self._header.fault(_CASES, "no cases", _EXPECTED)
        elif not any(part.points for part in parts):
            self._header.fault("points", "nothing is worth points", "Give cases or batches points")
        batches = [part for part in parts if part.name]
        return Cases(tuple(self._tests), tuple(_subtasks(parts, batches)), self._worths, self._checkers)

    # --- what is listed ----------------------------------------------------------------------------------

    def _parts(self, key: str) -> list[_Part]:
        listed = self._header.values.get(key)
        if listed is None or isinstance(listed, Mapping):
            listed = list(_matched(self._header, self._data, listed or {}))
        if not isinstance(listed, list) or not all(isinstance(one, Mapping) for one in listed):
            self._header.fault(key, f"{shown(listed)} is not a list of cases", _EXPECTED)
            return []
        usual = {name: self._header.values[name] for name in _INHERITED if self._header.has(name)}
        return [
            self._part(self._header.under(f"{key}.{place}", {"points": 1, **usual, **one}), one)
            for place, one in enumerate(listed)
        ]

    def _part(self, fields: Fields, own: Mapping[str, Any]) -> _Part:
        points = fields.number("points")
        if "batched" not in own:
            return _Part("", points, (self._case(fields, points, own, batch=0, stops=False),))
        self._batches += 1
        number, inner = self._batches, own["batched"]
        if not isinstance(inner, list) or not inner or not all(isinstance(one, Mapping) for one in inner):
            fields.fault("batched", "not a list of cases", _EXPECTED)
            inner = []
        values = {name: fields.values[name] for name in _INHERITED if name in fields.values}
        tests = [
            self._case(
                fields.under(f"batched.{place}", {**values, **one}),
                points,
                one,
                batch=number,
                stops=place < len(inner) - 1,
            )
            for place, one in enumerate(inner)
        ]
        return _Part(f"batch {number}", points, tuple(tests), self._needs(fields, number))

    def _needs(self, fields: Fields, number: int) -> tuple[int, ...]:
        said = fields.values.get("dependencies") or []
        if isinstance(said, list) and all(type(one) is int and 0 < one < number for one in said):
            return tuple(said)
        fields.fault("dependencies", f"{shown(said)} are not numbers of earlier batches", "Count from 1")
        return ()

    def _case(self, fields: Fields, points: float, own: Mapping[str, Any], *, batch: int, stops: bool) -> str:
        for key in ("batched", *_OF_ALL):
            if key in own:
                words = "a batch in a batch" if key == "batched" else "cases have none of their own here"
                fields.fault(key, words, "Move it to the top of the file")
        if fields.has("generator") and not (fields.has("in") and fields.has("out")):
            words = "tests that a program makes are not generated"
            fields.fault("generator", words, "Write them out, and name them with in and out")
        name = str(len(self._tests) + 1)
        binary = fields.flag("binary_data", False)
        blobs = [self._content(fields, key, binary=binary) for key in ("in", "out")]
        one = chosen(fields)
        position = len(self._tests)
        values = {"points": points, "position": position, "batch": batch, "stops": stops, "binary": binary}
        arguments = told(one, {**values, "problem": self._problem})
        self._tests.append(Test(name=name, input=blobs[0], answer=blobs[1], arguments=arguments))
        self._worths[name], self._checkers[name] = points, one
        return name

    def _content(self, fields: Fields, key: str, *, binary: bool) -> Blob:
        if not fields.has(key):
            return Blob.of(b"")
        name = fields.text(key)
        content = self._data.content(name, binary=binary)
        if content is None:
            fields.fault(key, f"there is no file {name!r} in the package", "Add it, or correct the name")
        return content or Blob.of(b"")


# --- what is not listed but matched ------------------------------------------------------------------


def _matched(header: Fields, data: Data, said: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Cases by the names of the archive's files, batches and cases in the order of their numbers."""
    if not header.values.get("archive"):
        header.fault("archive", "missing", "Name the archive whose files are the cases, or list the cases")
        return
    groups: dict[Any, dict[Any, dict[str, str]]] = {}
    batches = set[Any]()
    for key, side in (("input_format", "in"), ("output_format", "out")):
        pattern = _pattern(header.under(_CASES, said), key)
        for name in data.names() if pattern else ():
            if pattern and (found := pattern.match(name)):
                batch, case = _number(found, "batch"), _number(found, "case")
                batches |= set() if batch is None else {batch}
                groups.setdefault(case if batch is None else batch, {}).setdefault(case, {})[side] = name
    points = said.get("case_points")
    given = iter(points) if isinstance(points, list) else itertools.repeat(header.values.get("points", 1))
    for key in sorted(groups, key=_in_order):
        cases = [groups[key][case] for case in sorted(groups[key], key=_in_order)]
        worth = next(given, None)
        if worth is None or (key not in batches and len(cases) > 1):
            words = "fewer points than cases" if worth is None else f"several cases are called {key}"
            header.under(_CASES, said).fault("case_points" if worth is None else "input_format", words)
            return
        yield {"points": worth, **({"batched": cases} if key in batches else cases[0])}


def _in_order(key: Any) -> tuple[bool, Any]:
    """Texts before numbers."""
    return isinstance(key, int), key


def _number(found: re.Match[str], group: str) -> Any:
    said = found.groupdict().get(group)
    return int(said) if said is not None and said.isdecimal() else said


def _pattern(said: Fields, key: str) -> re.Pattern[str] | None:
    try:
        return re.compile(said.text(key, _USUAL[key]), re.IGNORECASE)
    except re.error as error:
        said.fault(key, f"not a regular expression: {error}", "Correct it in the file")
        return None


# --- what they are worth -----------------------------------------------------------------------------


def _subtasks(parts: Sequence[_Part], batches: Sequence[_Part]) -> Iterator[Subtask]:
    """Each batch, and the cases between two batches. What has no points is before all that follows."""
    before: list[str] = []
    for is_batch, alike in itertools.groupby(parts, key=lambda part: bool(part.name)):
        if is_batch:
            for part in alike:
                needed = [name for number in part.needs for name in _with_needs(batches, number)]
                yield _batch(part, [*before, *needed])
                before += part.tests if not part.points else ()
        else:
            for gate, run in itertools.groupby(alike, key=lambda part: not part.points):
                cases = list(run)
                yield from _run(cases, before)
                before += [name for case in cases if gate for name in case.tests]


def _with_needs(batches: Sequence[_Part], number: int) -> Iterable[str]:
    """The tests of a batch, and of those that it needs itself: one that was not judged is not passed."""
    part = batches[number - 1]
    for other in part.needs:
        yield from _with_needs(batches, other)
    yield from part.tests


def _batch(part: _Part, before: Sequence[str]) -> Subtask:
    return Subtask(name=part.name, points=part.points, tests=tuple(dict.fromkeys([*before, *part.tests])))


def _run(cases: Sequence[_Part], before: Sequence[str]) -> Iterator[Subtask]:
    worths = {name: case.points for case in cases for name in case.tests}
    first, last = next(iter(worths)), list(worths)[-1]
    name = f"case {first}" if first == last else f"cases {first} to {last}"
    tree = each_behind(worths, before) if before or len(set(worths.values())) > 1 else None
    yield Subtask(
        name=name,
        points=sum(worths.values()),
        tests=tuple(dict.fromkeys([*before, *worths])),
        score_type=ScoreType.SUM,
        grading=tree,
    )
