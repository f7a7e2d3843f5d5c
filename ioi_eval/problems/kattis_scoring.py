"""Grading in the ICPC's format: how groups of tests become subtasks with what they are worth.

The default grader is followed through all groups. Where a group does no more than add up what is in it, each
of its parts is a subtask of its own; otherwise it is one subtask, with a tree of groups if need be.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from ioi_eval.model.values import Acceptance, Grading, Points, ScoreType, Subtask, Value
from ioi_eval.problems.fields import Faults, Fields, shown
from ioi_eval.problems.kattis_files import SAMPLE, SECRET, Group
from ioi_eval.rules.grading import most, tests_of

_POINTS = {mode.value: mode for mode in (Points.SUM, Points.AVERAGE, Points.LEAST, Points.MOST)}
_ACCEPTANCES = {word.value: word for word in Acceptance} | {"no_errors": Acceptance.WORST_ERROR}
_IGNORE_SAMPLE, _ANY_ACCEPTED = "ignore_sample", "accept_if_any_accepted"
_FLAGS = {*_POINTS, *_ACCEPTANCES, _IGNORE_SAMPLE, _ANY_ACCEPTED}
# Whether judging goes on behind a part that is not accepted; the last three once stood in problem.yaml.
_STOPS = {"break": True, "continue": False, "first_error": True, "worst_error": False, "grade": False}
_NUMBER = r"[-+]?(?:inf|\d+\.?\d*(?:[eE][-+]?\d{1,2})?|\.\d+)"
_CUSTOM = "custom"
_WHOLE = "all"  # the subtask of a problem that is judged as a whole


class Scoring(Value):
    subtasks: tuple[Subtask, ...] = ()
    secret: tuple[str, ...] = ()  # the names of those that are no samples
    full: float = 1.0  # the largest number in score.txt that is worth everything in some test
    own_full: Mapping[str, float] = {}  # by name, for tests that have another


class _Node(NamedTuple):
    """A group with its rules, and those in it."""

    name: str
    grading: Grading
    inner: tuple[_Node, ...]


def read_scoring(root: Group, faults: Faults, *, by_validator: bool, domjudge: bool = False) -> Scoring:
    """Of a scoring problem. `domjudge`: the package is one of DOMjudge's."""
    reader = _Reader(faults, scoring=True, by_validator=by_validator, domjudge=domjudge)
    top = reader.node(root)
    if not top.inner:  # noted: there are no tests
        return Scoring()
    full = max(reader.full.values(), default=1.0)
    subtasks = tuple(_Splitter(by_validator).of_problem(top))
    own = {name: worth for name, worth in reader.full.items() if not math.isclose(worth, full)}
    secret = tuple(subtask.name for subtask in subtasks if subtask.name not in (SAMPLE, _WHOLE))
    return Scoring(subtasks=subtasks, secret=secret, full=full, own_full=own)


def read_acceptance(root: Group, faults: Faults) -> Scoring:
    """Of a problem without points: one subtask, and none where simply all tests must be passed."""
    top = _Reader(faults, scoring=False, by_validator=False).node(root)
    if not top.inner or _is_strict(top.grading):
        return Scoring()
    tree = msgspec.structs.replace(top.grading, points=Points.ACCEPTED)
    return Scoring(subtasks=(_subtask(_WHOLE, tree, graded=True),))


# --- rules -------------------------------------------------------------------------------------------


class _Reader:
    """Reads each group's rules once, so that each fault is noted once."""

    def __init__(self, faults: Faults, *, scoring: bool, by_validator: bool, domjudge: bool = False) -> None:
        self._faults, self._scoring, self._by_validator = faults, scoring, by_validator
        self._domjudge = domjudge
        self._ignores_sample = False
        self.full: dict[str, float] = {}  # what each test is worth by its validator's score

    def node(self, group: Group, above: bool = False) -> _Node:
        """`above`: whether the package's own grader grades a group around this one."""
        self._check(group)
        own = is_custom(group)
        if not group.name:
            self._ignores_sample = not own and _IGNORE_SAMPLE in group.grader_flags
        inner = {part.name: self.node(part, above or own) for part in group.inner}
        parts = (inner[part.name].grading if part.name in inner else part.name for part in group.parts)
        points, acceptance = _modes(() if own else group.grader_flags)
        scored = self._scoring and bool(group.tests)
        if scored and not own and self._counts_once(group, points):
            points, acceptance = Points.LEAST, Acceptance.WORST_ERROR
        grading = Grading(
            parts=tuple(parts),
            points=points,
            acceptance=acceptance,
            any_accepted=not own and _ANY_ACCEPTED in group.grader_flags,
            last_counts=not group.name and self._ignores_sample,
            stops=_stops(group),
            accept_score=self._accept_score(group, points) if scored else 1.0,
            reject_score=_number(group.fields, "reject_score", 0.0) if scored else 0.0,
            flags=group.grader_flags if own else None,
            full=self._highest(group) if own and self._scoring and not above else 0.0,
        )
        if self._scoring and _may_exceed(grading):
            words = f"{points.value} of unequal parts, where judging stops at one that is rejected"
            group.fields.fault("on_reject", words, "Set it to continue, so that all parts count")
        return _Node(group.name.removeprefix(f"{SECRET}/"), grading, tuple(inner.values()))

    def _check(self, group: Group) -> None:
        said = group.fields.values.get("grading") or "default"
        if said not in ("default", _CUSTOM) and (not group.name or "grading" in group.own):
            group.fields.fault("grading", f"{shown(said)} is not understood", "Expected default or custom")
        if is_custom(group):  # its flags are not the default grader's
            return
        for flag in dict.fromkeys(group.grader_flags):
            if flag not in _FLAGS and "grader_flags" in group.own:
                self._faults.note(f"{flag!r} is no flag of the default grader", group.fields.file)

    def _accept_score(self, group: Group, points: Points) -> float:
        if not self._by_validator:
            return _number(group.fields, "accept_score", 1.0)
        if self._ignores_sample and _is_sample(group) and "range" not in group.own:
            return 0.0
        full = self._highest(group) / (len(group.tests) if points is Points.SUM else 1)
        self.full |= {test.name: full for test in group.tests if full > 0}
        return full

    def _counts_once(self, group: Group, points: Points) -> bool:
        """Whether accept_score is what the group is worth, as in DOMjudge: in the format, what each test is.

        A group whose range ends at it, and that would be worth more as the format counts, was written so.
        """
        if self._by_validator or len(group.tests) < 2 or "accept_score" not in group.own:
            return False
        ends_there = "range" in group.own and _range_end(group) == _number(group.fields, "accept_score", 1.0)
        if not self._domjudge and not (ends_there and points is Points.SUM):
            return False
        if points is not Points.LEAST:
            self._faults.note("accept_score is what the group is worth, as in DOMjudge", group.fields.file)
        return True

    def _highest(self, group: Group) -> float:
        """The end of the range, which is what the validator's scores may come to in all its tests."""
        highest = _range_end(group)
        if highest is None or not highest > 0:
            remedy = "Add its own, such as `range: 0 20`"
            group.fields.fault("range", "what the group is worth is not said", remedy)
            return 0.0
        return highest


def is_custom(group: Group) -> bool:
    """Whether the package's own grader grades a group."""
    return group.fields.values.get("grading") == _CUSTOM


def _modes(flags: Sequence[str]) -> tuple[Points, Acceptance]:
    """Of several that exclude each other the last one holds."""
    points = next((_POINTS[flag] for flag in flags[::-1] if flag in _POINTS), Points.SUM)
    words = (_ACCEPTANCES[flag] for flag in flags[::-1] if flag in _ACCEPTANCES)
    return points, next(words, Acceptance.WORST_ERROR)


def _is_sample(group: Group) -> bool:
    return group.name.split("/")[0] == SAMPLE


def _stops(group: Group) -> bool:
    said = group.fields.values.get("on_reject") or "break"
    if (not isinstance(said, str) or said not in _STOPS) and (not group.name or "on_reject" in group.own):
        group.fields.fault("on_reject", f"{shown(said)} is not understood", "Expected break or continue")
    return _STOPS.get(said, True) if isinstance(said, str) else True


def _range_end(group: Group) -> float | None:
    """Of its own file; secret/ without groups may have it from the whole."""
    alone = group.name == SECRET and not group.inner
    if "range" not in group.own and group.name and not alone:
        return None
    said = group.fields.values.get("range")
    pair = rf"\s*{_NUMBER}\s+({_NUMBER})\s*"
    found = re.fullmatch(pair, said, re.ASCII) if isinstance(said, str) else None
    end = float(found[1]) if found else math.nan
    return end if math.isfinite(end) else None


def _number(fields: Fields, name: str, default: float) -> float:
    """A number, also one that YAML takes for a text, such as 1e3."""
    value = fields.values.get(name)
    if isinstance(value, str) and re.fullmatch(_NUMBER, value, re.ASCII) and 0 <= float(value) < math.inf:
        return float(value)
    return default if value is None else fields.number(name, default)


# --- subtasks ----------------------------------------------------------------------------------------


class _Splitter:
    """Makes subtasks of groups: as many as add up to what the whole is worth, whatever happens in them."""

    def __init__(self, by_validator: bool) -> None:
        self._by_validator = by_validator

    def of_problem(self, root: _Node) -> Iterator[Subtask]:
        """A whole that is not accepted earns nothing. Samples that are ignored are there, for no points."""
        rules, *samples, secret = root.grading, *root.inner
        if not rules.last_counts or (samples and rules.stops):
            yield from self._parts(root._replace(name=_WHOLE), earns=False)
            return
        for sample in samples:
            tests = tuple(tests_of(sample.grading))
            yield Subtask(name=sample.name, points=0.0, tests=tests, score_type=ScoreType.SUM)
        yield from self._parts(secret, earns=rules.acceptance is Acceptance.ALWAYS)

    def _parts(self, node: _Node, *, earns: bool) -> Iterator[Subtask]:
        """`earns`: its points count even where it is rejected."""
        if not node.inner or not _adds_up(node.grading, earns=earns):
            yield self._one(node, earns=earns)
            return
        tests = tuple(part for part in node.grading.parts if isinstance(part, str))
        if tests:
            own = msgspec.structs.replace(node.grading, parts=tests)
            yield self._one(_Node(node.name, own, ()), earns=True)
        for inner in node.inner:
            yield from self._parts(inner, earns=True)

    def _one(self, node: _Node, *, earns: bool) -> Subtask:
        tree = msgspec.structs.replace(node.grading, rejected_earns=earns)
        if _all_or_nothing(tree, graded_tests=self._by_validator):
            return _subtask(node.name, tree, ScoreType.GROUP_MIN)
        return _subtask(node.name, tree, ScoreType.SUM, graded=not _is_sum(tree))


def _subtask(
    name: str, tree: Grading, score_type: ScoreType = ScoreType.SUM, *, graded: bool = False
) -> Subtask:
    return Subtask(
        name=name,
        points=most(tree),
        tests=tuple(tests_of(tree)),
        score_type=score_type,
        grading=tree if graded else None,
    )


# --- which trees are worth the same as something simpler, that can stop early or be shown in parts ----
# All of these say no where they are not sure: a tree is right for every group.


def _adds_up(group: Grading, *, earns: bool) -> bool:
    """Whether a group's points are those of its parts, added up. `earns`: also where it is rejected."""
    if group.points is not Points.SUM or group.last_counts or group.flags is not None:
        return False
    if not _judges_all(group):
        return False
    accepted = group.acceptance is Acceptance.ALWAYS
    some = group.any_accepted and all(_nothing_unless_accepted(group, part) for part in group.parts)
    return earns or accepted or some


def _judges_all(group: Grading) -> bool:
    return not group.stops or all(_never_rejected(part) for part in group.parts[:-1])


def _never_rejected(part: str | Grading) -> bool:
    return isinstance(part, Grading) and part.acceptance is Acceptance.ALWAYS


def _nothing_unless_accepted(group: Grading, part: str | Grading) -> bool:
    """Whether a part that is rejected has no points."""
    if not isinstance(part, Grading):
        return group.reject_score == 0
    if part.flags is not None:
        return False
    inner = all(_nothing_unless_accepted(part, one) for one in part.parts)
    if _never_rejected(part):
        return True
    return inner and (part.points is Points.LEAST or part.any_accepted or len(part.parts) == 1)


def _all_or_nothing(group: Grading, *, graded_tests: bool) -> bool:
    """Whether a group is worth what its worst test is. `graded_tests`: tests may earn a part of theirs."""
    if graded_tests:
        return _is_least(group) and len(_worths(group)) == 1
    return _is_least(group) or (not group.rejected_earns and _is_strict(group) and _no_consolation(group))


def _is_least(group: Grading) -> bool:
    """The least of its parts, so that one test that is rejected leaves nothing, whatever the verdicts."""
    inner = (part for part in group.parts if isinstance(part, Grading))
    least = group.points is Points.LEAST or len(group.parts) == 1
    return (
        group.flags is None
        and least
        and group.reject_score == 0
        and not group.last_counts
        and all(map(_is_least, inner))
    )


def _worths(group: Grading) -> set[float]:
    own = {group.accept_score} if any(isinstance(part, str) for part in group.parts) else set[float]()
    return own.union(*(_worths(part) for part in group.parts if isinstance(part, Grading)))


def _is_strict(group: Grading) -> bool:
    """Rejected with any of its tests."""
    strict = group.acceptance is not Acceptance.ALWAYS and not group.any_accepted and not group.last_counts
    return (
        group.flags is None
        and strict
        and all(_is_strict(part) for part in group.parts if isinstance(part, Grading))
    )


def _no_consolation(group: Grading) -> bool:
    """Nothing earns more by being rejected than by being accepted."""
    inner = (part for part in group.parts if isinstance(part, Grading))
    return group.reject_score <= group.accept_score and all(map(_no_consolation, inner))


def _is_sum(group: Grading) -> bool:
    """Whether a group without others in it is simply the mean of its tests."""
    tests_only = all(isinstance(part, str) for part in group.parts)
    adds = group.points in (Points.SUM, Points.AVERAGE) or len(group.parts) == 1
    earns = group.rejected_earns or _never_rejected(group) or group.any_accepted or len(group.parts) == 1
    return (
        group.flags is None
        and tests_only
        and adds
        and earns
        and group.reject_score == 0
        and _judges_all(group)
    )


def _may_exceed(group: Grading) -> bool:
    """Whether being wrong early may be worth more than being right: what was not judged is in no average."""
    if not group.stops or group.points not in (Points.AVERAGE, Points.LEAST):
        return False
    alike = (
        len({most(part) if isinstance(part, Grading) else group.accept_score for part in group.parts}) == 1
    )
    nothing = all(_nothing_unless_accepted(group, part) for part in group.parts)
    return not alike and not (group.points is Points.LEAST and nothing)
