"""Calibration: the times of a package's solutions here around its limits, and a factor between them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum

import msgspec

from ioi_eval.model.values import Problem, Solution, SubmissionResult, Value, Verdict
from ioi_eval.rules.expectations import expectations, must_be_right

_SLOW = frozenset({"time_limit", "time_limit_exceeded", "timelimit", "tle", "required tle"})
_ENOUGH = 1.2  # both margins of a factor of 1 that needs no change
_ENDED = frozenset({Verdict.AC, Verdict.PA, Verdict.TLE})
_SPARE = 1.5  # over the slowest right solution, where nothing bounds a factor from above


class Kind(StrEnum):
    RIGHT = "right"
    SLOW = "slow"  # meant to be too slow


class Distance(Value):
    """A solution's slowest test as a share of the limit."""

    problem: str
    solution: str
    kind: Kind
    ratio: float
    test: str
    at_least: bool = False  # it was ended before it said how long it takes


class Calibration(Value):
    """The distance between the right solutions and those that are meant to be too slow."""

    distances: tuple[Distance, ...]
    unclear: tuple[str, ...] = ()  # solutions that say nothing of time, and why
    factor: float | None = None  # None: none separates them

    @property
    def slowest_right(self) -> Distance | None:
        right = (distance for distance in self.distances if distance.kind is Kind.RIGHT)
        return max(right, key=lambda distance: distance.ratio, default=None)

    @property
    def fastest_slow(self) -> Distance | None:
        slow = [distance for distance in self.distances if distance.kind is Kind.SLOW]
        return min(slow, key=lambda distance: distance.ratio, default=None)

    @property
    def margins(self) -> tuple[float, float | None] | None:
        """Return the room above the slowest right solution and below the fastest slow one, as factors."""
        right, slow = self.slowest_right, self.fastest_slow
        if self.factor is None or right is None:
            return None
        below = self.factor / right.ratio if right.ratio else math.inf
        return below, slow.ratio / self.factor if slow is not None else None


def with_time_factor(problem: Problem, factor: float) -> Problem:
    """The problem with its time limits times a factor."""
    limits = problem.limits
    scaled = msgspec.structs.replace(
        limits,
        cpu_time=limits.cpu_time and limits.cpu_time * factor,
        wall_time=limits.wall_time and limits.wall_time * factor,
    )
    return msgspec.structs.replace(problem, limits=scaled)


def kind_of(problem: Problem, solution: Solution) -> Kind | None:
    """Return the author's word about a solution's speed; None where there is none."""
    words = [word.word.strip().lower().replace("-", "_") for word in expectations(problem, solution)]
    if any(word in _SLOW for word in words):
        return Kind.SLOW
    return Kind.RIGHT if words and all(map(must_be_right, words)) else None


def distance(problem: Problem, solution: Solution, kind: Kind, result: SubmissionResult) -> Distance | str:
    """Return the distance to `problem`'s limit, by a result under a raised one; or why there is none."""
    limit, tests = problem.limits.cpu_time, [test for test in result.tests if test.cpu_time is not None]
    if limit is None or not tests:
        return "no test of it ran"
    if kind is Kind.RIGHT and any(test.status not in _ENDED for test in result.tests):
        return "it is not right here"
    slowest = max(tests, key=lambda test: test.cpu_time or 0.0)
    ratio = (slowest.cpu_time or 0.0) / limit
    if ratio < 1 and any(test.status is Verdict.TLE for test in tests):
        return "it idles, which no factor changes"
    return Distance(
        problem=problem.id,
        solution=solution.name,
        kind=kind,
        ratio=ratio,
        test=slowest.test_name,
        at_least=slowest.status is Verdict.TLE,
    )


def calibration(distances: Iterable[Distance], unclear: Iterable[str] = ()) -> Calibration:
    """Propose the factor in the middle of the gap; 1 where that has room on both sides."""
    found = Calibration(distances=tuple(distances), unclear=tuple(unclear))
    right, slow = found.slowest_right, found.fastest_slow
    if right is None or right.at_least or (slow is not None and slow.ratio <= right.ratio):
        return found
    if right.ratio * _ENOUGH <= 1 and (slow is None or slow.ratio >= _ENOUGH):
        factor = 1.0
    else:
        exact = right.ratio * _SPARE if slow is None else math.sqrt(right.ratio * slow.ratio)
        rounded = float(f"{exact:.2g}")
        factor = rounded if slow is None or right.ratio < rounded < slow.ratio else exact
    return msgspec.structs.replace(found, factor=factor)
