from __future__ import annotations

import msgspec
import pytest
from judge_samples import problem
from support.engines import Batch, Program, fake_capabilities
from support.proctor_protocol import Plan, PlanChecker, PlanGroup, PlanLimits, PlanSubmission

from ioi_eval import JudgeOptions
from ioi_eval.engines.jobs.run import PlanTemplate, make_test_job
from ioi_eval.models import (
    Blob,
    Capabilities,
    Job,
    JobFile,
    Limits,
    Problem,
    ScoreType,
    Subtask,
    TaskOptions,
    Test,
)
from ioi_eval.rules.plan import Schedule

PROGRAM = Program(
    proctor=Blob.of("proctor"),
    submission=PlanSubmission(argv=("submission",)),
    checker=PlanChecker(kind="white-diff"),
    files=(JobFile(name="submission", content=Blob.of("program"), executable=True),),
)
CHECKING = PlanChecker(kind="cms", argv=("checker",), limits=PlanLimits(wall_ms=20_000))
CHECKED = msgspec.structs.replace(PROGRAM, checker=CHECKING)


def job_of(
    problem: Problem,
    options: JudgeOptions | None = None,
    profile: Capabilities | None = None,
    program: Program = PROGRAM,
) -> Job:
    options = options or JudgeOptions()
    tests = Schedule(problem, all_tests=options.all_tests).first
    batch = Batch(problem=problem, program=program, tests=tests, options=options)
    return make_test_job(
        batch, PlanTemplate(problem, options).select_job_tests(tests, "f00"), profile or fake_capabilities()
    )


def plan_of(job: Job) -> Plan:
    (file,) = (file for file in job.files if file.name == "plan.json")
    return msgspec.json.decode(file.content.read(), type=Plan)


def test_job_contains_exactly_files_of_proctor_plan() -> None:
    job = job_of(problem(2))
    assert {file.name: file.executable for file in job.files} == {
        "proctor": True,
        "plan.json": False,
        "submission": True,
        "t/0.in": False,
        "t/0.out": False,
        "t/1.in": False,
        "t/1.out": False,
    }
    assert (job.keep, job.run_memory_limit, job.plan) == ((), None, "plan.json")


def test_plan_has_limits_and_options_of_problem() -> None:
    limits = Limits(cpu_time=0.35, wall_time=1.7, memory=1000, output=2000)
    options = TaskOptions(input_file="in.txt", output_file="out.txt")
    plan = plan_of(job_of(problem(1, limits=limits, options=options), JudgeOptions(allow_unconfined=True)))
    assert (plan.limits.cpu_ms, plan.limits.wall_ms) == (350, 1700)
    assert (plan.limits.memory, plan.limits.output) == (1000, 2000)
    assert (plan.input_file, plan.output_file, plan.task_type) == ("in.txt", "out.txt", "Batch")
    assert (plan.nonce, plan.allow_unconfined) == ("f00", True)
    assert plan.groups == (PlanGroup(rule="zero"),)


def test_plan_of_unlimited_problem_has_no_limits() -> None:
    plan = plan_of(job_of(problem(1, limits=Limits(output=None))))
    assert (plan.limits.cpu_ms, plan.limits.wall_ms, plan.limits.memory, plan.limits.output) == (None,) * 4


def test_duplicate_test_keeps_index_of_first_occurrence() -> None:
    first = Test(name="a", input=Blob.of("big" * 1000), answer=Blob.of("x"))
    second = Test(name="b", input=Blob.of("1"))
    twin = Test(name="c", input=Blob.of("big" * 1000), answer=Blob.of("x"))
    job = job_of(problem(tests=(first, second, twin), subtasks=()))
    plan = plan_of(job)
    assert {test.index: (test.input, test.answer) for test in plan.tests} == {
        0: ("t/0.in", "t/0.out"),
        1: ("t/1.in", None),
    }
    assert {file.name for file in job.files if file.name.startswith("t/")} == {"t/0.in", "t/0.out", "t/1.in"}


def test_all_tests_option_plans_no_early_stop() -> None:
    assert plan_of(job_of(problem(1), JudgeOptions(all_tests=True))).groups == (PlanGroup(rule="never"),)


def test_group_threshold_is_in_plan() -> None:
    group_subtask = Subtask(
        name="s", points=1, tests=("t0",), score_type=ScoreType.GROUP_THRESHOLD, threshold=0.5
    )
    assert plan_of(job_of(problem(1, subtasks=(group_subtask,)))).groups == (
        PlanGroup(rule="threshold", threshold=0.5),
    )


@pytest.mark.parametrize(
    ("number", "limits", "program", "seconds"),
    [
        (1, Limits.contest(1.0, None), PROGRAM, 10 + 3.5),
        (10, Limits.contest(1.0, None), PROGRAM, 10 + 35),
        (1, Limits.contest(1.0, None), CHECKED, 10 + 23.5 + 20),  # the checker runs once more on the answer
        (10, Limits.contest(1.0, None), CHECKED, 10 + 235 + 20),
        (1, Limits(cpu_time=2.0), PROGRAM, 10 + 5.5),
        (1, Limits(), PROGRAM, 10 + 60.5),
        (400, Limits.contest(10.0, None), CHECKED, 3600),
    ],
)
def test_job_timeout_is_worst_case_of_its_tests(
    number: int, limits: Limits, program: Program, seconds: float
) -> None:
    assert job_of(problem(number, limits=limits), program=program).run_timeout == seconds * 1000


def test_job_timeout_is_capped_by_engine() -> None:
    profile = msgspec.structs.replace(fake_capabilities(), max_run_time=9000)
    assert job_of(problem(10), profile=profile).run_timeout == 9000
