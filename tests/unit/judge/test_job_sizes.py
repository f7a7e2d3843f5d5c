"""The size and the limits of jobs for servers."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from judge_samples import problem, subtask
from support.engines import Batch, Program, fake_capabilities
from support.proctor_protocol import PlanChecker, PlanLimits, PlanManager, PlanSubmission

from ioi_eval import Scorer
from ioi_eval.engines.jobs.http_delivery import GzipCache, HttpJobDelivery
from ioi_eval.engines.jobs.run import JobSizeLimiter, PlanTemplate
from ioi_eval.errors import JobTooLarge, JudgeFailure
from ioi_eval.models import (
    Blob,
    Capabilities,
    Checker,
    CheckerKind,
    Job,
    JobFile,
    Limits,
    Problem,
    Submission,
    TaskOptions,
    TaskType,
    Test,
)
from ioi_eval.rules.plan import Schedule
from ioi_eval.testing import FakeEngine

PROGRAM = Program(
    proctor=Blob.of("proctor"),
    submission=PlanSubmission(argv=("submission",), address_space=True),
    checker=PlanChecker(kind="white-diff"),
    files=(JobFile(name="submission", content=Blob.of("program"), executable=True),),
)
CHECKED = msgspec.structs.replace(
    PROGRAM, checker=PlanChecker(kind="cms", argv=("checker",), limits=PlanLimits(memory=5 << 30))
)
MANAGED = msgspec.structs.replace(
    PROGRAM, manager=PlanManager(argv=("manager",), limits=PlanLimits(memory=6 << 30))
)


def server(**limits: Any) -> Capabilities:
    return msgspec.structs.replace(fake_capabilities(), **({"runtimes": ("bash",)} | limits))


def large(number: int, size: int) -> Problem:
    noise = random.Random(7)
    tests = tuple(Test(name=f"t{index}", input=Blob.of(noise.randbytes(size))) for index in range(number))
    return problem(tests=tests, subtasks=(subtask("all", 100, range(number)),))


def batch_of(problem: Problem, program: Program = PROGRAM) -> Batch:
    return Batch(problem=problem, program=program, tests=Schedule(problem).first)


def job_of(problem: Problem, profile: Capabilities, program: Program = PROGRAM) -> Job:
    batch = batch_of(problem, program)
    delivery = HttpJobDelivery(FakeEngine())
    return delivery.make_job(
        batch, PlanTemplate(problem, batch.options).select_job_tests(batch.tests, "f00"), profile
    )


async def number(problem: Problem, profile: Capabilities, program: Program = PROGRAM) -> int:
    batch = batch_of(problem, program)
    fitting = JobSizeLimiter(problem, batch.options, profile, GzipCache().count_request_bytes)
    return len(await fitting.select_tests_that_fit(batch))


async def test_engine_without_limits_gets_all_tests_in_one_job() -> None:
    assert await number(problem(40), server()) == 40


async def test_tests_per_job_fit_request_size() -> None:
    tests = large(10, 30_000)  # 40,000 bytes each in base64
    assert await number(tests, server(max_body=100_000)) == 2
    assert await number(tests, server(max_body=200_000)) == 4
    assert await number(tests, fake_capabilities()) == 10
    shrinking = problem(tests=(Test(name="t0", input=Blob.of("a line\n" * 10_000)),), subtasks=())
    assert await number(shrinking, server(max_body=10_000)) == 1


async def test_test_larger_than_a_request_is_judge_failure_naming_limit() -> None:
    with pytest.raises(
        JudgeFailure, match=r"on test t0: .* request of \d+ bytes.*100000.*body_parser.*--set max-body=512mb"
    ):
        await number(large(2, 90_000), server(max_body=100_000))


@pytest.mark.parametrize("size", [10, 10_000])
async def test_number_of_tests_per_job_is_independent_of_program_size(size: int) -> None:
    program = JobFile(name="submission", content=Blob.of(random.Random(1).randbytes(size)), executable=True)
    small_program = msgspec.structs.replace(PROGRAM, files=(program,))
    assert await number(large(1, 30_000), server(max_body=100_000), small_program) == 1
    with pytest.raises(JudgeFailure, match="with only this test and the largest program"):
        await number(large(1, 40_000), server(max_body=100_000), small_program)


@pytest.mark.parametrize(
    ("limits", "tests"),
    [({"max_run_time": 62_000}, 40), ({"max_run_cpu_time": 17_000}, 10), ({"max_run_time": 3000}, 1)],
)
async def test_tests_per_job_fit_run_time_of_server(limits: dict[str, int], tests: int) -> None:
    assert await number(problem(50), server(**limits)) == tests


@pytest.mark.parametrize(
    ("limits", "variable"),
    [({"max_run_time": 2999}, "PISTON_RUN_TIMEOUT"), ({"max_run_cpu_time": 2999}, "PISTON_RUN_CPU_TIME")],
)
async def test_server_with_too_short_run_time_is_judge_failure_naming_variable(
    limits: dict[str, int], variable: str
) -> None:
    with pytest.raises(JudgeFailure, match=rf"may need 3 s.*Raise {variable}.*--set run-timeout=3;"):
        await number(problem(1), server(**limits))


async def test_job_refused_as_too_large_is_a_judge_failure() -> None:
    engine = FakeEngine(faults=[None, JobTooLarge("the body is too large")])
    async with Scorer(engine) as scorer:
        with pytest.raises(JudgeFailure, match="the body is too large"):
            await scorer.score(problem(4), Submission(key="1", problem_id="sum", code="x", language="c++"))


async def test_sufficient_server_memory_limit_is_used_as_job_limit() -> None:
    engine = FakeEngine()
    engine.capabilities_value = msgspec.structs.replace(fake_capabilities(), max_run_memory=1 << 30)
    async with Scorer(engine) as scorer:
        assert (
            await scorer.score(problem(4), Submission(key="1", problem_id="sum", code="x", language="c++"))
        ).points == 100
    assert [job.run_memory_limit for job in engine.runs] == [1 << 30]


async def test_insufficient_server_memory_is_judge_failure_naming_variable() -> None:
    refusal = f"run_memory_limit cannot exceed the configured limit of {1 << 28}"
    engine = FakeEngine(faults=[None, JobTooLarge(refusal, limit="run_memory_limit")])
    engine.capabilities_value = msgspec.structs.replace(fake_capabilities(), max_run_memory=1 << 28)
    async with Scorer(engine) as scorer:
        with pytest.raises(JudgeFailure, match="Raise PISTON_RUN_MEMORY_LIMIT"):
            await scorer.score(problem(4), Submission(key="1", problem_id="sum", code="x", language="c++"))
    assert [job.run_memory_limit for job in engine.runs] == [None]


async def test_refused_run_timeout_is_judge_failure() -> None:
    engine = FakeEngine(faults=[None, JobTooLarge("run_timeout cannot exceed", limit="run_timeout")])
    async with Scorer(engine) as scorer:
        with pytest.raises(
            JudgeFailure, match="Raise PISTON_RUN_TIMEOUT on the server, on a worker --set run-timeout"
        ):
            await scorer.score(problem(4), Submission(key="1", problem_id="sum", code="x", language="c++"))
    assert len(engine.runs) == 1


# --- requested limits --------------------------------------------------------------------------------

MEMORY = 100 << 20
TALK = problem(
    1,
    limits=Limits.contest(1.0, MEMORY),
    task_type=TaskType.COMMUNICATION,
    options=TaskOptions(processes=3),
)
STEPS = problem(1, limits=Limits.contest(1.0, MEMORY), task_type=TaskType.TWO_STEPS)
ALONE = problem(1, limits=Limits.contest(1.0, MEMORY))
RESERVES = msgspec.structs.replace(PROGRAM, submission=PlanSubmission(argv=("java",)))


@pytest.mark.parametrize(
    ("task", "program", "memory"),
    [
        (ALONE, PROGRAM, MEMORY + (4 << 30) + (256 << 20)),
        (ALONE, CHECKED, MEMORY + (5 << 30) + (256 << 20)),
        (TALK, MANAGED, 3 * MEMORY + (6 << 30) + (256 << 20)),
        (STEPS, PROGRAM, 2 * MEMORY + (4 << 30) + (256 << 20)),
        (ALONE, RESERVES, None),
        (problem(1, limits=Limits(cpu_time=1.0)), PROGRAM, None),
    ],
)
def test_job_memory_limit_covers_all_programs_of_sandbox(
    task: Problem, program: Program, memory: int | None
) -> None:
    assert job_of(task, server(), program).run_memory_limit == memory


@pytest.mark.parametrize(("max_cpu_ms", "expected_cpu_ms"), [(None, 27_000), (20_000, 20_000)])
def test_job_requests_cpu_time_within_server_limit(max_cpu_ms: int | None, expected_cpu_ms: int) -> None:
    job = job_of(ALONE, server(max_run_cpu_time=max_cpu_ms))
    assert (job.run_timeout, job.run_cpu_time) == (13_500, expected_cpu_ms)


def test_run_script_checks_file_size_limit_of_server() -> None:
    job = job_of(ALONE, server())
    script = job.files[0].content.read().decode()
    assert "-lt 65536 ]" in script and "PISTON_MAX_FILE_SIZE" in script


def test_job_timeout_counts_each_pass_of_multipass_test() -> None:
    once = problem(2)
    several = msgspec.structs.replace(once, checker=Checker(kind=CheckerKind.ICPC, passes=5))
    times = [job_of(some_problem, server(), CHECKED).run_timeout for some_problem in (problem(10), several)]
    assert times[0] == times[1] is not None
