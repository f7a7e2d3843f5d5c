"""Calibrate time limits: compare the times of a package's solutions with its limits, and propose a factor."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum

import msgspec

from ioi_eval.model.values import Problem, Solution, SubmissionResult, Value, Verdict
from ioi_eval.rules.expectations import list_expectations, must_be_right

_SLOW_KEYWORDS = frozenset({"time_limit", "time_limit_exceeded", "timelimit", "tle", "required tle"})
# Minimum ratio between the time limit and a solution's time at which the time limit needs no other factor.
_MIN_MARGIN = 1.2
_MEASURED_STATUSES = frozenset({Verdict.AC, Verdict.PA, Verdict.TLE})
# Ratio of the limit to the slowest right solution's time if no slow solution bounds the factor.
_DEFAULT_MARGIN = 1.5


class ExpectedSpeed(StrEnum):
    """The speed that the author expects of a solution."""

    RIGHT = "right"
    SLOW = "slow"  # the solution should exceed the time limit


class TimeRatio(Value):
    """The time of a solution's slowest test as a fraction of the limit."""

    problem: str
    solution: str
    kind: ExpectedSpeed
    ratio: float
    test: str
    at_least: bool = False  # True if the test was stopped, so that the solution needs more time


class Calibration(Value):
    """The times of right solutions and of too slow solutions, and the factor that separates them."""

    distances: tuple[TimeRatio, ...]
    unclear: tuple[str, ...] = ()  # names of solutions without a usable time, each with the reason
    # Factor for the time limits; None if no factor separates right solutions from slow solutions.
    factor: float | None = None

    @property
    def slowest_right_solution(self) -> TimeRatio | None:
        """Return the right solution with the longest time relative to its limit, or None."""
        right_ratios = (time_ratio for time_ratio in self.distances if time_ratio.kind is ExpectedSpeed.RIGHT)
        return max(right_ratios, key=lambda time_ratio: time_ratio.ratio, default=None)

    @property
    def fastest_too_slow_solution(self) -> TimeRatio | None:
        """Return the too slow solution with the shortest time relative to its limit, or None."""
        slow_ratios = [time_ratio for time_ratio in self.distances if time_ratio.kind is ExpectedSpeed.SLOW]
        return min(slow_ratios, key=lambda time_ratio: time_ratio.ratio, default=None)

    @property
    def is_slow_within_limit(self) -> bool:
        """Return True if a solution that should be too slow finishes within its limit."""
        slow = self.fastest_too_slow_solution
        return slow is not None and slow.ratio <= 1

    @property
    def time_limit_margins(self) -> tuple[float, float | None] | None:
        """Return the margins on both sides of the scaled time limit as ratios, or None without a factor.

        The first is the scaled limit, divided by the time of the slowest right solution. The second is the
        time of the fastest solution that should be too slow, divided by the scaled limit.
        """
        slowest_right_solution, fastest_too_slow_solution = (
            self.slowest_right_solution,
            self.fastest_too_slow_solution,
        )
        if self.factor is None or slowest_right_solution is None:
            return None
        right_margin = (
            self.factor / slowest_right_solution.ratio if slowest_right_solution.ratio else math.inf
        )
        return (
            right_margin,
            fastest_too_slow_solution.ratio / self.factor if fastest_too_slow_solution is not None else None,
        )


def with_time_factor(problem: Problem, factor: float) -> Problem:
    """Return the problem with its time limits multiplied by a factor."""
    limits = problem.limits
    scaled_limits = msgspec.structs.replace(
        limits,
        cpu_time=limits.cpu_time and limits.cpu_time * factor,
        wall_time=limits.wall_time and limits.wall_time * factor,
    )
    return msgspec.structs.replace(problem, limits=scaled_limits)


def find_expected_speed(problem: Problem, solution: Solution) -> ExpectedSpeed | None:
    """Return the speed that the author expects of a solution, or None if the package does not name any."""
    keywords = [
        expectation.word.strip().lower().replace("-", "_")
        for expectation in list_expectations(problem, solution)
    ]
    if any(expectation in _SLOW_KEYWORDS for expectation in keywords):
        return ExpectedSpeed.SLOW
    return ExpectedSpeed.RIGHT if keywords and all(map(must_be_right, keywords)) else None


def measure_time_ratio_or_explain(
    problem: Problem, solution: Solution, expected_speed: ExpectedSpeed, result: SubmissionResult
) -> TimeRatio | str:
    """Return how close a solution comes to the limit, or the reason why that is unknown.

    Args:
        problem: the problem with its original limits.
        solution: the solution.
        expected_speed: the speed that its author expects.
        result: the solution's result under a raised limit.
    """
    time_limit_s, timed_tests = (
        problem.limits.cpu_time,
        [test for test in result.tests if test.cpu_time is not None],
    )
    if time_limit_s is None or not timed_tests:
        return "none of its tests ran"
    if expected_speed is ExpectedSpeed.RIGHT and any(
        test.status not in _MEASURED_STATUSES for test in result.tests
    ):
        return "it is not right here"
    slowest_test = max(timed_tests, key=lambda test: test.cpu_time or 0.0)
    ratio = (slowest_test.cpu_time or 0.0) / time_limit_s
    if ratio < 1 and any(test.status is Verdict.TLE for test in timed_tests):
        return "it exceeds the limit by idling, so no factor helps"
    return TimeRatio(
        problem=problem.id,
        solution=solution.name,
        kind=expected_speed,
        ratio=ratio,
        test=slowest_test.test_name,
        at_least=slowest_test.status is Verdict.TLE,
    )


def propose_time_factor(
    time_ratios: Iterable[TimeRatio], unclear_solutions: Iterable[str] = ()
) -> Calibration:
    """Return the calibration with the proposed factor.

    The factor is in the middle of the gap between right and slow solutions. It is 1 if 1 leaves a margin on
    both sides. It is None without a gap, and if a slow solution is within its limit: its tests may be too
    small, and then a factor below 1 would fail right solutions.
    """
    calibration = Calibration(distances=tuple(time_ratios), unclear=tuple(unclear_solutions))
    slowest_right_solution, fastest_too_slow_solution = (
        calibration.slowest_right_solution,
        calibration.fastest_too_slow_solution,
    )
    if slowest_right_solution is None or slowest_right_solution.at_least or calibration.is_slow_within_limit:
        return calibration
    if (
        fastest_too_slow_solution is not None
        and fastest_too_slow_solution.ratio <= slowest_right_solution.ratio
    ):
        return calibration
    if slowest_right_solution.ratio * _MIN_MARGIN <= 1 and (
        fastest_too_slow_solution is None or fastest_too_slow_solution.ratio >= _MIN_MARGIN
    ):
        factor = 1.0
    else:
        exact_factor = (
            slowest_right_solution.ratio * _DEFAULT_MARGIN
            if fastest_too_slow_solution is None
            else math.sqrt(slowest_right_solution.ratio * fastest_too_slow_solution.ratio)
        )
        rounded_factor = float(f"{exact_factor:.2g}")
        factor = (
            rounded_factor
            if fastest_too_slow_solution is None
            or slowest_right_solution.ratio < rounded_factor < fastest_too_slow_solution.ratio
            else exact_factor
        )
    return msgspec.structs.replace(calibration, factor=factor)
