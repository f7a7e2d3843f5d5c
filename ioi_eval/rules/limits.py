"""Compute limits of time and memory for tests, builds, jobs and requests.

Also decide which results are near a limit.

CPU time decides a verdict. The wall clock counts only time in which a program idles, so waiting for a busy
machine never causes a verdict. A test that came close to the CPU limit next to busy neighbours is measured
again. A hard stop ends programs that never idle and never finish. docs/semantics.md, "Limits", describes the
effect of each limit.

All timeouts are computed here, so that no outer part gives up before the part that it waits for.
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

_HARD_STOP_FACTOR = 10  # ratio of the hard limit of elapsed time to the wall-clock limit
MAX_SOURCE_BYTES = 16 << 20  # maximum size of a submission's sources, in bytes
MAX_COMPILER_IDLE_S = 3.0  # maximum time for which a compiler may idle, in seconds
_UNLIMITED_TEST_TIME = 60.0  # assumed duration of a test without a time limit, in seconds
_START_ALLOWANCE = 10.0  # seconds that a job may need besides its tests
# Seconds that a test needs in addition to the program's time, for starting, reading and comparing.
_TEST_ALLOWANCE = 0.5
_MIN_ALLOWANCE = 2  # seconds that a fast job needs in addition to its tests
GRACE = 30.0  # seconds in which a busy machine kills a sandbox and reports the result

Time = TypeVar("Time", int, float)


def compute_hard_stop(wall_time: Time) -> Time:
    """Return the time after which a program that never idles is ended, in the unit of `wall_time`."""
    return _HARD_STOP_FACTOR * wall_time


def to_milliseconds(seconds: float | None) -> int | None:
    """Return a time in ms, rounded up. Return None for None."""
    return None if seconds is None else math.ceil(round(seconds * 1000, 3))


def compute_compiler_idle_ms(wall_ms: int | None, cpu_ms: int | None) -> int | None:
    """Return how long, in ms, a compiler may idle, given its wall-clock limit.

    Without a CPU limit the wall-clock limit is the only one, and computing counts as idling.
    """
    return wall_ms if wall_ms is None or cpu_ms is None else min(wall_ms, round(MAX_COMPILER_IDLE_S * 1000))


# --- a test ------------------------------------------------------------------------------------------


def make_plan_limits(
    *,
    cpu_time: float | None,
    wall_time: float | None,
    memory: int | None,
    output: int | None = None,
    cuts: bool = False,
    crowded_time: float | None = None,
) -> PlanLimits:
    """Return the limits of any program in the form of a plan.

    Args:
        cpu_time: CPU time, in seconds.
        wall_time: time that the program may idle, in seconds.
        memory: memory limit, in bytes.
        output: output limit, in bytes.
        cuts: output beyond the limit is dropped and the program continues.
        crowded_time: CPU time on a crowded machine, in seconds; `None` means `cpu_time`.
    """
    wall_ms = to_milliseconds(wall_time)
    return PlanLimits(
        cpu_ms=to_milliseconds(cpu_time),
        crowded_cpu_ms=to_milliseconds(crowded_time),
        wall_ms=wall_ms,
        hard_ms=None if wall_ms is None else compute_hard_stop(wall_ms),
        memory=memory,
        output=output,
        cuts=cuts,
    )


def compute_max_idle_time(limits: Limits) -> float:
    """Return how long a submission may idle on one test, in seconds."""
    if limits.wall_time is not None:
        return limits.wall_time
    return _UNLIMITED_TEST_TIME if limits.cpu_time is None else 2 * limits.cpu_time + 1


def make_manager_limits(
    submission_limits: Limits, processes: int, *, cpu_time: float, extra_time: float, memory: int
) -> PlanLimits:
    """Return the limits of a manager or an interactor: those of the contest system, with another wall clock.

    Args:
        submission_limits: the submission's limits.
        processes: number of the submission's processes.
        cpu_time: minimum CPU limit of the program, in seconds.
        extra_time: seconds that its wall clock exceeds the submission's, so that a slow submission ends first
            and is blamed.
        memory: memory limit, in bytes.
    """
    submission_time_s = (
        submission_limits.cpu_time
        if submission_limits.cpu_time is not None
        else compute_max_idle_time(submission_limits)
    )
    manager_time_s = max(processes * (submission_time_s + 1), cpu_time)
    return make_plan_limits(
        cpu_time=manager_time_s,
        wall_time=max(manager_time_s, compute_max_idle_time(submission_limits) + extra_time),
        memory=memory,
    )


def count_processes(problem: Problem) -> int:
    """Return how many processes of a submission run at the same time."""
    if problem.task_type is TaskType.TWO_STEPS:
        return 2
    return problem.options.processes if problem.task_type is TaskType.COMMUNICATION else 1


# --- a job -------------------------------------------------------------------------------------------


def compute_job_idle_time(
    limits: Limits, test_count: int, *, manager: PlanLimits | None, checker_time: float
) -> float:
    """Return the maximum time that a job may idle, in seconds.

    If a checker exceeds its time, it runs again on the expected answer. If it exceeds the time again, the job
    ends.

    Args:
        limits: limits of the submission.
        test_count: number of the job's tests.
        manager: limits of the manager or interactor, if there is one.
        checker_time: maximum time of the checker, in seconds.
    """
    test_idle_time = max(
        compute_max_idle_time(limits), (manager.wall_ms or 0) / 1000 if manager is not None else 0.0
    )
    return _START_ALLOWANCE + test_count * (test_idle_time + checker_time + _TEST_ALLOWANCE) + checker_time


def compute_min_job_times_ms(problem: Problem, crowded_time: float | None = None) -> tuple[int, int]:
    """Return the wall-clock and CPU limits, in ms, that a job with a single test needs at least.

    `crowded_time`: the test's CPU limit on a crowded machine, if it differs.
    """
    test_time_s, spare_ms = _compute_max_test_time_s(problem, crowded_time), _MIN_ALLOWANCE * 1000
    return round(test_time_s * 1000) + spare_ms, round(
        count_processes(problem) * test_time_s * 1000
    ) + spare_ms


def _compute_max_test_time_s(problem: Problem, crowded_time: float | None = None) -> float:
    """Return the CPU time that a program may use on one test in all its passes, in seconds."""
    return problem.checker.passes * (
        crowded_time or problem.limits.cpu_time or compute_max_idle_time(problem.limits)
    )


def estimate_test_count(problem: Problem, max_job_ms: int) -> int:
    """Return how many tests a typical submission finishes in a job of `max_job_ms` ms."""
    test_time_s = _compute_max_test_time_s(problem)
    job_time_per_test_s = count_processes(problem) * test_time_s + _TEST_ALLOWANCE
    return max(1, int((max_job_ms / 1000 - _MIN_ALLOWANCE) / job_time_per_test_s))


# --- timeouts of requests ------------------------------------------------------------------------------


def compute_request_timeout(timeout_ms: int, max_timeout_ms: int) -> int:
    """Return the time limit, in ms, to request from a server whose wall clock includes waiting for CPUs."""
    return max(timeout_ms, min(compute_hard_stop(timeout_ms), max_timeout_ms))


def compute_stage_wait(timeout_ms: int) -> float:
    """Return how long to wait, in seconds, for the result of a stage that may idle for `timeout_ms`."""
    return compute_hard_stop(timeout_ms) / 1000 + GRACE


# --- tests whose time is near the limit --------------------------------------------------------------

# Factor for the CPU limit on a crowded machine, where other programs slow down a submission.
_MAX_CROWDED_FACTOR = 1.6
_REMEDY = (
    "Give LOW:HIGH as fractions of the limit, such as 0.9:1.15; use 1:1 to switch repeated measuring off"
)


def parse_borderline(text: str) -> Borderline | None:
    """Return the borderline band in an option such as `0.9:1.15`, or None for 1:1.

    Raises InputError for anything else.
    """
    low_text, _, high_text = text.partition(":")
    try:
        band = Borderline(low=float(low_text), high=float(high_text))
    except ValueError:
        raise InputError(
            f"{text!r} is not a valid band around the time limit", field="borderline", remedy=_REMEDY
        ) from None
    if not 0 < band.low <= 1 <= band.high <= 10:
        raise InputError(f"the band {text!r} does not include 1", field="borderline", remedy=_REMEDY)
    return None if band.high == 1 else band


def raise_cpu_limit(problem: Problem, band: Borderline | None) -> Problem:
    """Return the problem with the limits to run with: the CPU limit is raised to the band's upper end."""
    limits = problem.limits
    if band is None or limits.cpu_time is None or not _can_measure_again(problem):
        return problem
    raised_limits = msgspec.structs.replace(
        limits, cpu_time=limits.cpu_time * band.high, wall_time=compute_max_idle_time(limits)
    )
    return msgspec.structs.replace(problem, limits=raised_limits)


def compute_crowded_cpu_limit(raised_problem: Problem, band: Borderline | None) -> float | None:
    """Return the CPU limit on a crowded machine, in seconds, or None if it is the same as elsewhere.

    `raised_problem` is a problem that `raise_cpu_limit` returned.
    """
    cpu_time = raised_problem.limits.cpu_time
    if (
        band is None
        or cpu_time is None
        or not _can_measure_again(raised_problem)
        or band.high >= _MAX_CROWDED_FACTOR
    ):
        return None
    return cpu_time / band.high * _MAX_CROWDED_FACTOR


def _can_measure_again(problem: Problem) -> bool:
    """Return False for two-step tasks: each step has a limit, but only the sum of their times is reported."""
    return problem.task_type is not TaskType.TWO_STEPS


def may_gain_by_rerun(runs: Sequence[TestResult], problem: Problem) -> bool:
    """Return True if another run of a test could gain points: it earned some, but exceeded the time limit."""
    fastest_run = min(runs, key=lambda run: run.cpu_time or 0.0)
    return (
        not BORDERLINE.is_last(len(runs))
        and fastest_run.score > 0
        and _exceeds_limit(fastest_run.cpu_time, problem)
    )


def select_counting_run(runs: Sequence[TestResult], problem: Problem) -> TestResult:
    """Return the result that counts among all runs of a test: the fastest, judged by the exact limit."""
    best_run = min(runs, key=lambda run: (run.score <= 0, run.cpu_time or 0.0))
    if len(runs) > 1:
        best_run = msgspec.structs.replace(best_run, cpu_times=tuple(run.cpu_time or 0.0 for run in runs))
    if not _exceeds_limit(best_run.cpu_time, problem) or best_run.status in (Verdict.MLE, Verdict.OLE):
        return best_run
    shown_times = f"{best_run.cpu_time:.3f} s of {problem.limits.cpu_time:.3f} s"
    runs_suffix = f", the least of {len(runs)} runs" if len(runs) > 1 else ""
    feedback = f"Time limit exceeded (CPU time {shown_times}{runs_suffix})"
    return msgspec.structs.replace(best_run, score=0.0, status=Verdict.TLE, feedback=feedback)


def _exceeds_limit(cpu_time: float | None, problem: Problem) -> bool:
    """Return True if a CPU time reaches the problem's limit."""
    limit = problem.limits.cpu_time
    return limit is not None and cpu_time is not None and cpu_time >= limit
