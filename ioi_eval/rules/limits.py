"""The rule of limits: what a test, a compile, a job and a request may take, and what is near a limit. Pure.

CPU time decides. A wall clock counts the time in which nobody did anything, so that no wait is a verdict.
What takes more CPU time beside busy neighbours is measured again. A hard stop ends what never idles and never
ends. docs/semantics.md, "Limits", says what it means when each is exceeded. All who wait ask here how long,
so that nobody gives up before the one who knows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.options import Borderline
from ioi_eval.model.protocol import PlanLimits
from ioi_eval.model.retry import BORDERLINE
from ioi_eval.model.values import Limits, Problem, TaskType, TestResult, Verdict

_HARD = 10  # times the wall clock
MOST_SOURCE = 16 << 20  # bytes of a submission's sources, many times what any contest takes
BUILD_IDLE = 3.0  # seconds that a compiler may do nothing
_UNLIMITED_TEST = 60.0  # seconds that a test without any time limit is reckoned with
_START_ALLOWANCE = 10.0  # seconds that a job may take before its first test and after its last
_TEST_ALLOWANCE = 0.5  # seconds around each test: starting, reading, comparing
_LEAST_ALLOWANCE = 2  # seconds: what a job surely takes around its tests, and a limit's own slack
GRACE = 30.0  # seconds for a box to kill what is in it and to say so, on a busy machine

Time = TypeVar("Time", int, float)


def hard_stop(wall: Time) -> Time:
    """Return the time at which to end what the clock of idling leaves alone, in the same unit."""
    return _HARD * wall


def milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else math.ceil(round(seconds * 1000, 3))


def build_idle(wall: int | None, cpu: int | None) -> int | None:
    """Return the milliseconds that a compiler may idle whose hard stop is that of this wall clock.

    Where nothing limits its CPU time, its wall clock is the limit, and computing counts as idling does.
    """
    return wall if wall is None or cpu is None else min(wall, round(BUILD_IDLE * 1000))


# --- a test ------------------------------------------------------------------------------------------


def plan_limits(
    *,
    cpu_time: float | None,
    wall_time: float | None,
    memory: int | None,
    output: int | None = None,
    cuts: bool = False,
    crowded_time: float | None = None,
) -> PlanLimits:
    """A program's limits in a plan, whoever it is. Seconds and bytes.

    `crowded_time` is the limit of CPU time on a crowded machine. `None` means no other limit than `cpu_time`.
    """
    wall = milliseconds(wall_time)
    return PlanLimits(
        cpu_ms=milliseconds(cpu_time),
        crowded_cpu_ms=milliseconds(crowded_time),
        wall_ms=wall,
        hard_ms=None if wall is None else hard_stop(wall),
        memory=memory,
        output=output,
        cuts=cuts,
    )


def idle_time(limits: Limits) -> float:
    """Return the seconds for which a submission may idle on one test."""
    if limits.wall_time is not None:
        return limits.wall_time
    return _UNLIMITED_TEST if limits.cpu_time is None else 2 * limits.cpu_time + 1


def manager_limits(
    submission: Limits, processes: int, *, cpu_time: float, more_time: float, memory: int
) -> PlanLimits:
    """Return the limits of a manager or an interactor: the contest system's, but on the wall clock.

    That runs longer than any submission's, `more_time` seconds, so that who is slow is blamed.
    """
    own = submission.cpu_time if submission.cpu_time is not None else idle_time(submission)
    most = max(processes * (own + 1), cpu_time)
    return plan_limits(cpu_time=most, wall_time=max(most, idle_time(submission) + more_time), memory=memory)


def processes_of(problem: Problem) -> int:
    """Return the number of processes of a submission that run at a time."""
    if problem.task_type is TaskType.TWO_STEPS:
        return 2
    return problem.options.processes if problem.task_type is TaskType.COMMUNICATION else 1


# --- a job -------------------------------------------------------------------------------------------


def run_time(limits: Limits, tests: int, *, manager: PlanLimits | None, checker: float) -> float:
    """Seconds that a job with so many tests may idle: the worst case of each of them.

    A checker that runs out of its time tries the answer, too. If it does so again, it has ended the job.
    """
    talking = max(idle_time(limits), (manager.wall_ms or 0) / 1000 if manager is not None else 0.0)
    return _START_ALLOWANCE + tests * (talking + checker + _TEST_ALLOWANCE) + checker


def least_time(problem: Problem, crowded_time: float | None = None) -> tuple[int, int]:
    """Return the wall clock and CPU time, in ms, that let a single test reach its limit.

    `crowded_time`: its limit of CPU time on a crowded machine, if it has another one there.
    """
    cpu, spare = _test_time(problem, crowded_time), _LEAST_ALLOWANCE * 1000
    return round(cpu * 1000) + spare, round(processes_of(problem) * cpu * 1000) + spare


def _test_time(problem: Problem, crowded_time: float | None = None) -> float:
    """Seconds that a program may compute on one test, in all its passes."""
    return problem.checker.passes * (crowded_time or problem.limits.cpu_time or idle_time(problem.limits))


def expected_tests(problem: Problem, most: int) -> int:
    """Return the number of tests that ordinary submissions finish in a job of at most that many ms."""
    cpu = _test_time(problem)
    per_test = processes_of(problem) * cpu + _TEST_ALLOWANCE
    return max(1, int((most / 1000 - _LEAST_ALLOWANCE) / per_test))


# --- who waits ---------------------------------------------------------------------------------------


def asked(timeout: int, most: int) -> int:
    """Return the ms to ask of a server whose wall clock runs on while programs wait for a processor."""
    return max(timeout, min(hard_stop(timeout), most))


def patience(timeout: int) -> float:
    """Seconds to wait for a stage that may idle for so many ms, on somebody who counts as we do."""
    return hard_stop(timeout) / 1000 + GRACE


# --- near the limit ----------------------------------------------------------------------------------

_CROWDED = 1.6  # times the limit of CPU time; busy neighbours make the same work take up to so much more
_REMEDY = "Write LOW:HIGH as shares of the limit, such as 0.9:1.15; 1:1 measures nothing again"


def read_borderline(text: str) -> Borderline | None:
    """Return what a band's text says; None for 1:1. Raise InputError."""
    low, _, high = text.partition(":")
    try:
        band = Borderline(low=float(low), high=float(high))
    except ValueError:
        raise InputError(f"{text!r} is no band", field="borderline", remedy=_REMEDY) from None
    if not 0 < band.low <= 1 <= band.high <= 10:
        raise InputError(f"{text!r} is no band around 1", field="borderline", remedy=_REMEDY)
    return None if band.high == 1 else band


def stretched(problem: Problem, band: Borderline | None) -> Problem:
    """The problem as its tests are run: ended at the upper end of the band, idling as before."""
    limits = problem.limits
    if band is None or limits.cpu_time is None or not _measures_again(problem):
        return problem
    longer = msgspec.structs.replace(
        limits, cpu_time=limits.cpu_time * band.high, wall_time=idle_time(limits)
    )
    return msgspec.structs.replace(problem, limits=longer)


def crowded_time(as_run: Problem, band: Borderline | None) -> float | None:
    """Return the limit of CPU time on a crowded machine, in seconds, for a problem that `stretched` made.

    `None` means that it has no other limit there.
    """
    cpu_time = as_run.limits.cpu_time
    if band is None or cpu_time is None or not _measures_again(as_run) or band.high >= _CROWDED:
        return None
    return cpu_time / band.high * _CROWDED


def _measures_again(problem: Problem) -> bool:
    """Two steps have a limit each and report one sum, which does not show which step was near its limit."""
    return problem.task_type is not TaskType.TWO_STEPS


def is_open(runs: Sequence[TestResult], problem: Problem) -> bool:
    """Return True if another run of a test could save points: it earned some, and took too long for them."""
    best = min(runs, key=lambda run: run.cpu_time or 0.0)
    return not BORDERLINE.is_last(len(runs)) and best.score > 0 and _over(best.cpu_time, problem)


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


def _over(cpu_time: float | None, problem: Problem) -> bool:
    limit = problem.limits.cpu_time
    return limit is not None and cpu_time is not None and cpu_time >= limit
