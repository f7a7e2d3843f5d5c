"""What a validation says: validation.json, and what reports and terminals show of it."""

from __future__ import annotations

from collections.abc import Mapping

from ioi_eval.models import TestResult, Value, Verdict
from ioi_eval.validation.limits import MeasuredLimit

_VERSION = 1


class Check(Value, kw_only=True):
    """One expectation beside what was got."""

    subtask: str  # empty: all that counts
    expected: str  # a word, or a score as it was given
    status: Verdict  # the worst of the scope's tests
    score: float  # of a word the minimum over its tests; of a score what it was compared with
    agrees: bool
    tests: int
    not_right: int  # tests that are not AC
    evidence: tuple[TestResult, ...] = ()  # of a difference: the first tests not right, else the slowest ones


class SubtaskCheck(Value, kw_only=True):
    """A subtask's outcome; `expected` is empty where nothing is expected of this subtask alone."""

    subtask: str
    expected: str
    status: Verdict
    score: float  # in [0, 1], rounded
    weighted_score: float
    points: float
    agrees: bool = True


class SolutionCheck(Value, kw_only=True):
    """A solution with its result and all that was expected of it."""

    key: str
    problem: str
    solution: str
    expected: str  # of the whole; empty where nothing is expected of the whole
    status: Verdict
    compiles: bool
    compile_output: str = ""  # where it does not compile
    points: float
    max_points: float
    subtasks: tuple[SubtaskCheck, ...] = ()
    checks: tuple[Check, ...] = ()

    @property
    def differences(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if not check.agrees)


class Unjudged(Value, kw_only=True):
    """A solution that the judge could not say anything about: no difference, and no agreement either."""

    key: str
    problem: str
    solution: str
    expected: str
    reason: str


class Validation(Value, kw_only=True):
    version: int = _VERSION
    solutions: tuple[SolutionCheck, ...]
    unjudged: tuple[Unjudged, ...] = ()
    expectations: int  # that were compared
    differences: int  # expectations that are not met
    confusion: Mapping[str, Mapping[Verdict, int]] = {}  # expected word -> status got -> expectations
    limits: Mapping[str, MeasuredLimit] = {}  # by problem: time limits that solutions set

    @property
    def differing(self) -> tuple[SolutionCheck, ...]:
        return tuple(solution for solution in self.solutions if solution.differences)
