"""Scoring problems in the ICPC's format: groups of tests as subtasks, with what they are worth.

A group adds up its tests (`sum`, also what `avg` comes to) or takes the worst of them (`min`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from ioi_eval.models import ScoreType, Subtask, Value
from ioi_eval.problems.fields import Fields
from ioi_eval.problems.kattis_data import SAMPLE, SECRET, Group, groups_of

_MODES = ("sum", "avg", "min", "max")
_NUMBER = r"[-+]?(?:inf|\d+\.?\d*(?:[eE][-+]?\d{1,2})?|\.\d+)"


class Scoring(Value):
    subtasks: tuple[Subtask, ...] = ()
    secret: tuple[str, ...] = ()  # the names of those that are no samples
    full: float = 1.0  # the number in score.txt that is worth everything


def read_scoring(groups: Sequence[Group], *, scored_by_validator: bool) -> Scoring:
    reader = _Scorer(scored_by_validator)
    secret: tuple[str, ...] = ()
    subtasks: list[Subtask] = []
    for group in groups:
        found = list(reader.subtasks(group))
        subtasks += found
        if group.name == SECRET:
            secret = tuple(subtask.name for subtask in found)
    return Scoring(subtasks=tuple(subtasks), secret=secret, full=reader.full)


class _Scorer:
    """Turns groups into subtasks. `full` becomes known with the first group that a validator scores."""

    def __init__(self, scored_by_validator: bool) -> None:
        self._by_validator = scored_by_validator
        self._full: float | None = None

    @property
    def full(self) -> float:
        return 1.0 if self._full is None else self._full

    def subtasks(self, group: Group) -> Iterator[Subtask]:
        mode = _mode(group)
        if any(_has_tests(inner) for inner in group.inner):
            if mode == "sum":
                yield from self._of_tests(group, mode)
                for inner in group.inner:
                    yield from self.subtasks(inner)
            else:
                yield from self._together(group, mode)
        else:
            yield from self._of_tests(group, mode)

    def _of_tests(self, group: Group, mode: str) -> Iterator[Subtask]:
        if group.tests:
            yield Subtask(
                name=_name(group),
                points=self._points(group, mode),
                tests=tuple(test.name for test in group.tests),
                score_type=ScoreType.GROUP_MIN if mode == "min" else ScoreType.SUM,
            )

    def _together(self, group: Group, mode: str) -> Iterator[Subtask]:
        """The worst of several groups is the worst of all tests, if each is all or nothing and alike."""
        parts = [
            *self._of_tests(group, mode),
            *(part for inner in group.inner for part in self.subtasks(inner)),
        ]
        worst = all(part.score_type is ScoreType.GROUP_MIN or len(part.tests) == 1 for part in parts)
        if mode != "min" or not worst or len({part.points for part in parts}) > 1:
            words = f"groups in a group, taken together by {mode}"
            group.fields.fault(
                "grader_flags", words, "Groups are added up, or are all worth the same with min"
            )
        tests = dict.fromkeys(name for part in parts for name in part.tests)
        yield Subtask(name=_name(group), points=parts[0].points, tests=tuple(tests))

    # --- what it is worth ---

    def _points(self, group: Group, mode: str) -> float:
        count = len(group.tests) if mode == "sum" else 1
        if group.name.split("/")[0] == SAMPLE and "ignore_sample" in group.root_flags:
            return 0.0
        if self._by_validator:
            return self._highest(group, count)
        if _number(group.fields, "reject_score", 0.0) != 0:
            group.fields.fault("reject_score", "points for wrong answers", "They are worth 0 here")
        return _number(group.fields, "accept_score", 1.0) * count

    def _highest(self, group: Group, count: int) -> float:
        """The end of the range, which is what the validator's score may come to in all `count` tests."""
        highest = _range_end(group)
        if highest is None or not highest > 0:
            group.fields.fault(
                "range", "what the group is worth is not said", "Add its own, such as `range: 0 20`"
            )
            return 0.0
        full = highest / count
        if self._full is not None and not math.isclose(full, self._full):
            words = f"a test is worth up to {full:g} here and {self._full:g} elsewhere"
            group.fields.fault("range", words, "Scores by a validator must have one scale in all groups")
        self._full = full if self._full is None else self._full
        return highest


def _has_tests(group: Group) -> bool:
    return any(inner.tests for inner in groups_of(group))


def _name(group: Group) -> str:
    return group.name.removeprefix(f"{SECRET}/")


def _mode(group: Group) -> str:
    if group.fields.values.get("grading", "default") not in ("default", None):
        group.fields.fault("grading", "a grader of the package's own", "Only the default grader is followed")
    mode = next((flag for flag in reversed(group.grader_flags) if flag in _MODES), "sum")
    if mode == "max":
        group.fields.fault("grader_flags", "the best test counts", "Only sum, avg and min are judged")
    return mode


def _range_end(group: Group) -> float | None:
    """Of its own file; secret/ without groups may have it from the whole."""
    whole = group.name == SECRET and not any(_has_tests(inner) for inner in group.inner)
    if "range" not in group.own and not whole:
        return None
    said = group.fields.values.get("range")
    pair = rf"\s*{_NUMBER}\s+({_NUMBER})\s*"
    found = re.fullmatch(pair, said, re.ASCII) if isinstance(said, str) else None
    end = float(found[1]) if found else math.nan
    return end if math.isfinite(end) else None


def _number(fields: Fields, name: str, default: float) -> float:
    """A number, also one that YAML takes for a text, such as 1e3."""
    value = fields.values.get(name)
    if isinstance(value, str) and re.fullmatch(_NUMBER, value, re.ASCII) and math.isfinite(float(value)):
        return float(value)
    return default if value is None else fields.number(name, default)
