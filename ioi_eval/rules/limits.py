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
    """Return the limit of elapsed time for a program whose idle time is limited to `wall_time`.

    Both times have the same unit.
    """
    return _HARD_STOP_FACTOR * wall_time


def to_milliseconds(seconds: float | None) -> int | None:
    """Return a time in ms, rounded up. Return None for None."""
    return None if seconds is None else math.ceil(round(seconds * 1000, 3))


def compute_compiler_idle_ms(wall_ms: int | None, cpu_ms: int | None) -> int | None:
    """Return how long, in ms, a compiler may idle, given its wall-clock limit.

    Without a CPU limit, the wall-clock limit also counts the time in which the compiler computes.
    """
    return wall_ms if wall_ms is None or cpu_ms is None else min(wall_ms, round(MAX_COMPILER_IDLE_S * 1000))


# --- a test ------------------------------------------------------------------------------------------


def make_plan_limits(
    *,
    cpu_time: float | None,
    wall_time: float | None,
    memory: int | None,
    output: int | None = None,
    cuts_output: bool = False,
    crowded_cpu_time: float | None = None,
) -> PlanLimits:
    """Return the limits of any program in the form of a plan.

    Args:
        cpu_time: CPU time, in seconds.
        wall_time: time that the program may idle, in seconds.
        memory: memory limit, in bytes.
        output: output limit, in bytes.
        cuts_output: output beyond the limit is dropped and the program continues.
        crowded_cpu_time: CPU time on a crowded machine, in seconds; `None` means `cpu_time`.
    """
    wall_ms = to_milliseconds(wall_time)
    return PlanLimits(
        cpu_ms=to_milliseconds(cpu_time),
        crowded_cpu_ms=to_milliseconds(crowded_cpu_time),
        wall_ms=wall_ms,
        hard_ms=None if wall_ms is None else compute_hard_stop(wall_ms),
        memory=memory,
        output=output,
        cuts=cuts_output,
    )


def compute_max_idle_time(limits: Limits) -> float:
    """Return how long a submission may idle on one test, in seconds."""
    if limits.wall_time is not None:
        return limits.wall_time
    return _UNLIMITED_TEST_TIME if limits.cpu_time is None else 2 * limits.cpu_time + 1


def make_manager_limits(
    submission_limits: Limits, processes: int, *, cpu_time: float, extra_time: float, memory: int
) -> PlanLimits:
    """Return the limits of a manager or an interactor.

    The CPU limit is the same as in the contest system (CMS). The wall-clock limit is different.

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

    The time includes one additional run of a checker: if a checker exceeds its time, it runs again on the
    expected answer. If the checker exceeds its time again, the job ends.

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


def compute_min_wall_and_cpu_ms(
    problem: Problem, crowded_cpu_limit_s: float | None = None
) -> tuple[int, int]:
    """Return the minimum wall-clock limit and the minimum CPU limit of a job with a single test, in ms.

    `crowded_cpu_limit_s`: the test's CPU limit on a crowded machine, if it differs.
    """
    test_time_s, spare_ms = _compute_max_test_time_s(problem, crowded_cpu_limit_s), _MIN_ALLOWANCE * 1000
    return round(test_time_s * 1000) + spare_ms, round(
        count_processes(problem) * test_time_s * 1000
    ) + spare_ms


def _compute_max_test_time_s(problem: Problem, crowded_cpu_limit_s: float | None = None) -> float:
    """Return the CPU time that a program may use on one test in all its passes, in seconds.

    `crowded_cpu_limit_s`: the test's CPU limit on a crowded machine, if it differs.
    """
    return problem.checker.passes * (
        crowded_cpu_limit_s or problem.limits.cpu_time or compute_max_idle_time(problem.limits)
    )


def estimate_tests_per_job(problem: Problem, max_job_ms: int) -> int:
    """Return how many tests a typical submission finishes in a job of `max_job_ms` ms."""
    test_time_s = _compute_max_test_time_s(problem)
    job_time_per_test_s = count_processes(problem) * test_time_s + _TEST_ALLOWANCE
    return max(1, int((max_job_ms / 1000 - _MIN_ALLOWANCE) / job_time_per_test_s))


# --- timeouts of requests ------------------------------------------------------------------------------


def compute_request_timeout(timeout_ms: int, max_timeout_ms: int) -> int:
    """Return the time limit, in ms, to request from a server whose wall clock includes waiting for CPUs."""
    return max(timeout_ms, min(compute_hard_stop(timeout_ms), max_timeout_ms))


def compute_max_stage_wait_s(timeout_ms: int) -> float:
    """Return how long a client waits, in seconds, for the result of a compilation or a run.

    `timeout_ms`: the time for which the compilation or run may idle, in ms.
    """
    return compute_hard_stop(timeout_ms) / 1000 + GRACE


# --- tests whose time is near the limit --------------------------------------------------------------

# Factor for the CPU limit on a crowded machine, where other programs slow down a submission.
_MAX_CROWDED_FACTOR = 1.6
_REMEDY = (
    "Give LOW:HIGH as fractions of the limit, such as 0.9:1.15; use 1:1 to switch repeated measuring off"
)


def parse_borderline_band(text: str) -> Borderline | None:
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
        raise InputError(
            f"the band {text!r} around the time limit does not include 1", field="borderline", remedy=_REMEDY
        )
    return None if band.high == 1 else band


def raise_cpu_limit(problem: Problem, borderline_band: Borderline | None) -> Problem:
    """Return the problem with its CPU limit raised to the upper bound of `borderline_band`."""
    limits = problem.limits
    if borderline_band is None or limits.cpu_time is None or not _allows_test_reruns(problem):
        return problem
    raised_limits = msgspec.structs.replace(
        limits, cpu_time=limits.cpu_time * borderline_band.high, wall_time=compute_max_idle_time(limits)
    )
    return msgspec.structs.replace(problem, limits=raised_limits)


def compute_cpu_limit_when_crowded(
    raised_problem: Problem, borderline_band: Borderline | None
) -> float | None:
    """Return the CPU limit on a crowded machine, in seconds, or None if it is the usual CPU limit.

    `raised_problem` is a problem that `raise_cpu_limit` returned for the same band.
    """
    cpu_time = raised_problem.limits.cpu_time
    if (
        borderline_band is None
        or cpu_time is None
        or not _allows_test_reruns(raised_problem)
        or borderline_band.high >= _MAX_CROWDED_FACTOR
    ):
        return None
    return cpu_time / borderline_band.high * _MAX_CROWDED_FACTOR


def _allows_test_reruns(problem: Problem) -> bool:
    """Return True if tests may be repeated because of their time.

    It is False for two-step tasks: each step has a limit, but only the sum of their times is reported.
    """
    return problem.task_type is not TaskType.TWO_STEPS


def can_rerun_gain_points(runs: Sequence[TestResult], problem: Problem) -> bool:
    """Return True if a test may run again, and would then earn points within the time limit."""
    fastest_run = min(runs, key=lambda run: run.cpu_time or 0.0)
    return (
        not BORDERLINE.is_last(len(runs))
        and fastest_run.score > 0
        and _exceeds_limit(fastest_run.cpu_time, problem)
    )


def select_run_that_counts(runs: Sequence[TestResult], problem: Problem) -> TestResult:
    """Return the result of a test from all its runs: the fastest run that earned points.

    The time of this run is compared with the problem's own CPU limit instead of the raised limit of the runs.
    """
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
