"""Calibrate time limits: compare the times of a package's solutions with its limits, and propose a factor."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum

import msgspec

from ioi_eval.model.values import Problem, Solution, SubmissionResult, Value, Verdict
from ioi_eval.rules.expectations import list_expectations, must_be_right

_SLOW_KEYWORDS = frozenset({"time_limit", "time_limit_exceeded", "timelimit", "tle", "required tle"})
# Minimum ratio of the limit to right solutions' times, and of slow solutions' times to the limit, for factor
# 1.
_MIN_MARGIN = 1.2
_MEASURED_STATUSES = frozenset({Verdict.AC, Verdict.PA, Verdict.TLE})
# Ratio of the limit to the slowest right solution's time if no slow solution bounds the factor.
_DEFAULT_MARGIN = 1.5


class ExpectedSpeed(StrEnum):
    """The speed that the author expects of a solution."""

    RIGHT = "right"
    SLOW = "slow"  # a solution that is expected to exceed the time limit


class TimeRatio(Value):
    """The time of a solution's slowest test as a fraction of the limit."""

    problem: str
    solution: str
    kind: ExpectedSpeed
    ratio: float
    test: str
    at_least: bool = False  # True if the test was stopped, so that its real time is longer


class Calibration(Value):
    """The times of right solutions and of too slow solutions, and the factor that separates them."""

    distances: tuple[TimeRatio, ...]
    unclear: tuple[str, ...] = ()  # solutions that say nothing about time, each with the reason
    # Factor for the time limits; None if no factor separates right solutions from slow solutions.
    factor: float | None = None

    @property
    def slowest_right(self) -> TimeRatio | None:
        """Return the right solution with the longest time relative to its limit, or None."""
        right = (distance for distance in self.distances if distance.kind is ExpectedSpeed.RIGHT)
        return max(right, key=lambda distance: distance.ratio, default=None)

    @property
    def fastest_slow(self) -> TimeRatio | None:
        """Return the too slow solution with the shortest time relative to its limit, or None."""
        slow = [distance for distance in self.distances if distance.kind is ExpectedSpeed.SLOW]
        return min(slow, key=lambda distance: distance.ratio, default=None)

    @property
    def is_slow_within_limit(self) -> bool:
        """Return True if a solution that should be too slow finishes within its limit."""
        slow = self.fastest_slow
        return slow is not None and slow.ratio <= 1

    @property
    def margins(self) -> tuple[float, float | None] | None:
        """Return the factor's margins as ratios, or None without a factor.

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


def expected_speed(problem: Problem, solution: Solution) -> ExpectedSpeed | None:
    """Return the speed that the author expects of a solution, or None if the package does not name any."""
    keywords = [
        expectation.word.strip().lower().replace("-", "_")
        for expectation in list_expectations(problem, solution)
    ]
    if any(expectation in _SLOW_KEYWORDS for expectation in keywords):
        return ExpectedSpeed.SLOW
    return ExpectedSpeed.RIGHT if keywords and all(map(must_be_right, keywords)) else None


def measure_time_ratio(
    problem: Problem, solution: Solution, kind: ExpectedSpeed, result: SubmissionResult
) -> TimeRatio | str:
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
    if kind is ExpectedSpeed.RIGHT and any(test.status not in _MEASURED_STATUSES for test in result.tests):
        return "it is not right here"
    slowest = max(tests, key=lambda test: test.cpu_time or 0.0)
    ratio = (slowest.cpu_time or 0.0) / limit
    if ratio < 1 and any(test.status is Verdict.TLE for test in tests):
        return "it exceeds the limit by idling, so no factor helps"
    return TimeRatio(
        problem=problem.id,
        solution=solution.name,
        kind=kind,
        ratio=ratio,
        test=slowest.test_name,
        at_least=slowest.status is Verdict.TLE,
    )


def propose_time_factor(distances: Iterable[TimeRatio], unclear: Iterable[str] = ()) -> Calibration:
    """Return the calibration with the proposed factor.

    The factor is in the middle of the gap between right and slow solutions. It is 1 if 1 leaves a margin on
    both sides. It is None without a gap, and if a slow solution is within its limit: its tests may be too
    small, and then a factor below 1 would fail right solutions.
    """
    measured_times = Calibration(distances=tuple(distances), unclear=tuple(unclear))
    right, slow = measured_times.slowest_right, measured_times.fastest_slow
    if right is None or right.at_least or measured_times.is_slow_within_limit:
        return measured_times
    if slow is not None and slow.ratio <= right.ratio:
        return measured_times
    if right.ratio * _MIN_MARGIN <= 1 and (slow is None or slow.ratio >= _MIN_MARGIN):
        factor = 1.0
    else:
        exact = right.ratio * _DEFAULT_MARGIN if slow is None else math.sqrt(right.ratio * slow.ratio)
        rounded = float(f"{exact:.2g}")
        factor = rounded if slow is None or right.ratio < rounded < slow.ratio else exact
    return msgspec.structs.replace(measured_times, factor=factor)
