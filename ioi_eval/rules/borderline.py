"""Times so near to the limit that they are measured again: which, and what counts. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.options import Borderline
from ioi_eval.model.values import Problem, TaskType, TestResult, Verdict
from ioi_eval.rules.limits import idle_time

RUNS = 3  # at most, beyond the first
_REMEDY = "Write LOW:HIGH as shares of the limit, such as 0.9:1.15; 1:1 measures nothing again"


def read_borderline(text: str) -> Borderline | None:
    """Return what `--borderline` says; None for 1:1. Raise InputError."""
    low, _, high = text.partition(":")
    try:
        band = Borderline(low=float(low), high=float(high))
    except ValueError:
        raise InputError(f"{text!r} is no band", field="--borderline", remedy=_REMEDY) from None
    if not 0 < band.low <= 1 <= band.high <= 10:
        raise InputError(f"{text!r} is no band around 1", field="--borderline", remedy=_REMEDY)
    return None if band.high == 1 else band


def stretched(problem: Problem, band: Borderline | None) -> Problem:
    """The problem as its tests are run: ended at the upper end of the band, idling as before.

    Two steps have a limit each and one sum that is told, so that nobody knows which was near.
    """
    limits = problem.limits
    if band is None or limits.cpu_time is None or problem.task_type is TaskType.TWO_STEPS:
        return problem
    longer = msgspec.structs.replace(
        limits, cpu_time=limits.cpu_time * band.high, wall_time=idle_time(limits)
    )
    return msgspec.structs.replace(problem, limits=longer)


def is_open(result: TestResult, problem: Problem) -> bool:
    """Whether another measurement could save a result: it has points, and took too long for them."""
    return result.score > 0 and _over(result.cpu_time, problem)


def settled(runs: Sequence[TestResult], problem: Problem) -> TestResult:
    """Return what counts of all runs of a test: the one of the least time, held to the limit itself."""
    best = min(runs, key=lambda run: (run.score <= 0, run.cpu_time or 0.0))
    if len(runs) > 1:
        best = msgspec.structs.replace(best, cpu_times=tuple(run.cpu_time or 0.0 for run in runs))
    if not _over(best.cpu_time, problem) or best.status in (Verdict.MLE, Verdict.OLE):
        return best
    times = f"{best.cpu_time:.3f} s of {problem.limits.cpu_time:.3f} s"
    of_runs = f", the least of {len(runs)} runs" if len(runs) > 1 else ""
    feedback = f"Time limit exceeded (CPU time {times}{of_runs})"
    return msgspec.structs.replace(best, score=0.0, status=Verdict.TLE, feedback=feedback)


def is_near(result: TestResult, limit: float, band: Borderline) -> bool:
    """Whether a verdict hung on a little time."""
    return result.cpu_time is not None and band.low * limit <= result.cpu_time <= band.high * limit


def _over(cpu_time: float | None, problem: Problem) -> bool:
    limit = problem.limits.cpu_time
    return limit is not None and cpu_time is not None and cpu_time >= limit
