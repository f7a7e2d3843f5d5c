"""Calibrate time limits: compare the times of a package's solutions with its limits, and propose a factor."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum

import msgspec

from ioi_eval.model.values import Problem, Solution, SubmissionResult, Value, Verdict
from ioi_eval.rules.expectations import expectations, must_be_right

_SLOW_KEYWORDS = frozenset({"time_limit", "time_limit_exceeded", "timelimit", "tle", "required tle"})
_MIN_MARGIN = 1.2  # minimum margin on both sides for keeping the factor 1
_MEASURED_STATUSES = frozenset({Verdict.AC, Verdict.PA, Verdict.TLE})
_DEFAULT_MARGIN = 1.5  # margin above the slowest right solution if no slow solution bounds the factor


class Kind(StrEnum):
    """The speed that the author expects of a solution."""

    RIGHT = "right"
    SLOW = "slow"  # expected to exceed the time limit


class Distance(Value):
    """The time of a solution's slowest test as a fraction of the limit."""

    problem: str
    solution: str
    kind: Kind
    ratio: float
    test: str
    at_least: bool = False  # the test was stopped, so its real time is longer


class Calibration(Value):
    """The times of right solutions and of too slow solutions, and the factor that separates them."""

    distances: tuple[Distance, ...]
    unclear: tuple[str, ...] = ()  # solutions without information about time, with the reason
    factor: float | None = None  # None if no factor separates right solutions from slow solutions

    @property
    def slowest_right(self) -> Distance | None:
        """Return the right solution with the longest time relative to its limit, or None."""
        right = (distance for distance in self.distances if distance.kind is Kind.RIGHT)
        return max(right, key=lambda distance: distance.ratio, default=None)

    @property
    def fastest_slow(self) -> Distance | None:
        """Return the too slow solution with the shortest time relative to its limit, or None."""
        slow = [distance for distance in self.distances if distance.kind is Kind.SLOW]
        return min(slow, key=lambda distance: distance.ratio, default=None)

    @property
    def margins(self) -> tuple[float, float | None] | None:
        """Return the factor's margins as ratios, or None if there is no factor.

        The first is scaled limit / slowest right time. The second is fastest slow time / scaled limit.
        """
        right, slow = self.slowest_right, self.fastest_slow
        if self.factor is None or right is None:
            return None
        right_margin = self.factor / right.ratio if right.ratio else math.inf
        return right_margin, slow.ratio / self.factor if slow is not None else None


def with_time_factor(problem: Problem, factor: float) -> Problem:
    """Return the problem with its time limits multiplied by a factor."""
    limits = problem.limits
    scaled = msgspec.structs.replace(
        limits,
        cpu_time=limits.cpu_time and limits.cpu_time * factor,
        wall_time=limits.wall_time and limits.wall_time * factor,
    )
    return msgspec.structs.replace(problem, limits=scaled)


def kind_of(problem: Problem, solution: Solution) -> Kind | None:
    """Return which speed the author expects of a solution, or None if the package has no expectation."""
    keywords = [
        expectation.word.strip().lower().replace("-", "_") for expectation in expectations(problem, solution)
    ]
    if any(expectation in _SLOW_KEYWORDS for expectation in keywords):
        return Kind.SLOW
    return Kind.RIGHT if keywords and all(map(must_be_right, keywords)) else None


def distance(problem: Problem, solution: Solution, kind: Kind, result: SubmissionResult) -> Distance | str:
    """Return how close a solution comes to the limit, or the reason why that is unknown.

    Args:
        problem: the problem with its original limits.
        solution: the solution.
        kind: the speed that its author expects.
        result: the solution's result under a raised limit.
    """
    limit, tests = problem.limits.cpu_time, [test for test in result.tests if test.cpu_time is not None]
    if limit is None or not tests:
        return "none of its tests ran"
    if kind is Kind.RIGHT and any(test.status not in _MEASURED_STATUSES for test in result.tests):
        return "it is not right here"
    slowest = max(tests, key=lambda test: test.cpu_time or 0.0)
    ratio = (slowest.cpu_time or 0.0) / limit
    if ratio < 1 and any(test.status is Verdict.TLE for test in tests):
        return "it exceeds the limit by idling, so no factor helps"
    return Distance(
        problem=problem.id,
        solution=solution.name,
        kind=kind,
        ratio=ratio,
        test=slowest.test_name,
        at_least=slowest.status is Verdict.TLE,
    )


def calibration(distances: Iterable[Distance], unclear: Iterable[str] = ()) -> Calibration:
    """Return the calibration with the proposed factor.

    The factor is in the middle of the gap between right and slow solutions. It is 1 if 1 leaves a margin on
    both sides, and None if there is no gap.
    """
    measured = Calibration(distances=tuple(distances), unclear=tuple(unclear))
    right, slow = measured.slowest_right, measured.fastest_slow
    if right is None or right.at_least or (slow is not None and slow.ratio <= right.ratio):
        return measured
    if right.ratio * _MIN_MARGIN <= 1 and (slow is None or slow.ratio >= _MIN_MARGIN):
        factor = 1.0
    else:
        exact = right.ratio * _DEFAULT_MARGIN if slow is None else math.sqrt(right.ratio * slow.ratio)
        rounded = float(f"{exact:.2g}")
        factor = rounded if slow is None or right.ratio < rounded < slow.ratio else exact
    return msgspec.structs.replace(measured, factor=factor)
