"""Time limits and process counts that are measured from a package's solutions."""

from __future__ import annotations

import msgspec
import pytest

from ioi_eval.models import Limits, Problem, Submission, SubmissionResult
from ioi_eval.runs.time_limits import TimeLimits
from ioi_eval.store.folder import MeasuredLimit, hash_limit_inputs

FORKS = "c++/pre.cpp"


class Unasked:
    async def judge(self, problem: Problem, submission: Submission) -> SubmissionResult:
        raise AssertionError("all limits are stored")


def measured(processes: int, cpu_time: float) -> MeasuredLimit:
    return MeasuredLimit(
        problem="p", processes=processes, cpu_time=cpu_time, slowest=0.1, solution="s", test="1", multiplier=2
    )


async def test_first_process_of_a_submission_does_not_count_as_fork() -> None:
    problem = Problem(id="p", forks_by=(FORKS,), limits=Limits.contest(1.0, None))
    limits = TimeLimits(Unasked(), {hash_limit_inputs(problem): measured(3, 1.0)}, time_factor=2.0)
    limited = await limits.with_limits(problem)
    assert (limited.options.forks, limited.limits.cpu_time, limited.limits.wall_time) == (2, 2.0, 6.0)


async def test_time_factor_applies_only_to_unmeasured_limits() -> None:
    problem = Problem(id="p", time_from_solutions=2.0)
    limits = TimeLimits(Unasked(), {hash_limit_inputs(problem): measured(1, 3.0)}, time_factor=2.0)
    assert (await limits.with_limits(problem)).limits.cpu_time == 3.0
    unmeasured = Problem(id="q", limits=Limits.contest(1.0, None))
    assert (await limits.with_limits(unmeasured)).limits.cpu_time == 2.0


@pytest.mark.parametrize("with_limit", [True, False])
async def test_problem_with_time_limits_is_the_same_object_on_each_request(with_limit: bool) -> None:
    """The judge prepares each problem once, and compares problems by identity."""
    problem = Problem(id="p", time_from_solutions=None if with_limit else 2.0)
    limits = TimeLimits(Unasked(), {hash_limit_inputs(problem): measured(1, 3.0)}, time_factor=2.0)
    limited = await limits.with_limits(problem)
    assert await limits.with_limits(problem) is limited
    changed = msgspec.structs.replace(problem, limits=Limits.contest(1.0, 1 << 20))
    assert (await limits.with_limits(changed)).limits.memory == 1 << 20
