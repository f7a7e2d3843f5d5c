"""Derived limits and timeouts, which must be consistent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioi_eval.engines.piston.engine import (
    Patience,
    ServerTimeLimits,
    compute_max_answer_seconds,
    extend_time_limits,
)
from ioi_eval.models import Job, Limits, Problem
from ioi_eval.rules.limits import (
    compute_hard_stop,
    compute_job_idle_time,
    compute_max_idle_time,
    compute_max_stage_wait_s,
    compute_request_timeout,
    make_manager_limits,
    make_plan_limits,
    to_milliseconds,
)
from ioi_eval.store.folder import set_cpu_limit

SECONDS = st.floats(0.1, 1000)


def test_plan_limits_derive_hard_stop_from_wall_time() -> None:
    limits = make_plan_limits(cpu_time=1.0, wall_time=3.0, memory=None)
    assert (limits.cpu_ms, limits.wall_ms, limits.hard_ms) == (1000, 3000, 30_000)
    assert make_plan_limits(cpu_time=1.0, wall_time=None, memory=None).hard_ms is None


@given(SECONDS, st.integers(1, 100))
def test_manager_limits_exceed_those_of_submission(cpu_time: float, processes: int) -> None:
    """For the idle time and the hard stop."""
    submission = Limits.contest(cpu_time, None)
    submission_limits = make_plan_limits(
        cpu_time=cpu_time, wall_time=compute_max_idle_time(submission), memory=None
    )
    manager = make_manager_limits(submission, processes, cpu_time=10.0, extra_time=10.0, memory=1)
    assert submission_limits.wall_ms is not None and submission_limits.hard_ms is not None
    assert manager.wall_ms is not None and manager.hard_ms is not None
    assert (
        manager.wall_ms >= submission_limits.wall_ms + 9999
        and manager.hard_ms >= submission_limits.hard_ms + 99_990
    )


@given(st.integers(1, 10**7), st.booleans(), st.integers(1, 10**7))
def test_client_timeout_exceeds_stage_limits(timeout: int, strict: bool, most: int) -> None:
    """A client waits longer than the limit of a stage on the server."""
    assert compute_max_stage_wait_s(timeout) * 1000 > compute_hard_stop(timeout)
    times = ServerTimeLimits(run=most, strict=strict)
    sent = extend_time_limits(Job(files=(), run_timeout=timeout), times)
    assert sent.run_timeout is not None
    longest = sent.run_timeout if strict else compute_hard_stop(sent.run_timeout)
    assert compute_max_answer_seconds(sent, 0, times, Patience()) * 1000 > longest


@given(st.integers(1, 10**7), st.integers(1, 10**7))
def test_requested_timeout_stays_within_server_limit(timeout: int, most: int) -> None:
    assert timeout <= compute_request_timeout(timeout, most) <= max(timeout, most)


@pytest.mark.parametrize(("checker", "seconds"), [(0.0, 10 + 5 * 3.5), (20.0, 10 + 5 * 23.5 + 20)])
def test_job_run_time_covers_all_tests_and_checkers(checker: float, seconds: float) -> None:
    """A checker that exceeds its time runs once more on the answer."""
    assert compute_job_idle_time(Limits.contest(1.0, None), 5, manager=None, checker_time=checker) == seconds


def test_test_without_limits_gets_default_idle_time() -> None:
    assert compute_max_idle_time(Limits()) == 60
    assert compute_max_idle_time(Limits(cpu_time=2.0)) == 5


@pytest.mark.parametrize(
    ("seconds", "milliseconds"), [(1.001, 1001), (2.3, 2300), (0.0015, 2), (0.0001, 1), (None, None)]
)
def test_milliseconds_are_rounded_up(seconds: float | None, milliseconds: int | None) -> None:
    """1.001 * 1000 is slightly less than 1001 as a float, and a limit of 0 would stop every program."""
    assert to_milliseconds(seconds) == milliseconds


def test_measured_limit_keeps_own_wall_time() -> None:
    with_wall_time, none = (Problem(id="p", limits=Limits(wall_time=wall)) for wall in (30.0, None))
    assert [set_cpu_limit(wall_problem, 2.0).limits.wall_time for wall_problem in (with_wall_time, none)] == [
        30.0,
        5.0,
    ]
    assert set_cpu_limit(with_wall_time, 2.0).limits.cpu_time == 2.0
