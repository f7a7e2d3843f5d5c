"""The jobs that the judge sends for each task type, and the meaning of the replies."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from judge_samples import problem, some_tests, submission, subtask
from support.builds import named
from support.proctor_protocol import Plan, PlanLimits

from ioi_eval import JudgeOptions, Scorer
from ioi_eval.errors import InputError, JudgeFailure, ManagerBroken
from ioi_eval.models import (
    Checker,
    CheckerKind,
    Job,
    Limits,
    Manager,
    NamedBlob,
    Problem,
    Submission,
    SubmissionResult,
    TaskOptions,
    TaskType,
)
from ioi_eval.models import Verdict as V
from ioi_eval.testing import FakeEngine

GRADERS = (named("graders/manager.cpp", "the manager"), named("graders/sum.h"), named("graders/stub.cpp"))


def communication(**changes: Any) -> Problem:
    values: dict[str, Any] = {
        "task_type": TaskType.COMMUNICATION,
        "options": TaskOptions(with_grader=True),
        "manager": Manager(sources=GRADERS),
        "grader_files": GRADERS,
    }
    return problem(2, **(values | changes))


def by_files(kind: TaskType, **changes: Any) -> Problem:
    tests = {"tests": some_tests(3), "subtasks": (subtask("all", 100, range(3)),)}
    return problem(**({"task_type": kind, **tests} | changes))


def handed(*names: str) -> tuple[NamedBlob, ...]:
    return tuple(named(name, f"file {name}") for name in names)


def plan_of(job: Job) -> Plan:
    return msgspec.json.decode(content(job, "plan.json"), type=Plan)


def content(job: Job, name: str) -> bytes:
    return next(file.content.read() for file in job.files if file.name == name)


async def score(
    engine: FakeEngine, problem: Problem, sent: Submission | None = None, **options: Any
) -> SubmissionResult:
    async with Scorer(engine, options=JudgeOptions(all_tests=True, **options)) as scorer:
        return await scorer.score(problem, sent or submission())


# --- Communication and Interactive -------------------------------------------------------------------


async def test_communication_manager_is_built_and_run() -> None:
    engine = FakeEngine(lambda test: float(test.manager == "the manager"))
    result = await score(engine, communication(options=TaskOptions(with_grader=True, manager_args=("7",))))
    assert (result.points, result.checker) == (100.0, "cms manager graders/manager.cpp")
    plan = plan_of(engine.runs[0])
    assert plan.manager is not None
    assert (plan.manager.argv, plan.manager.kind, plan.checker.kind) == (
        ("manager", "7"),
        "cms",
        "white-diff",
    )
    manager, program = sorted(engine.builds, key=lambda job: job.keep)
    assert [file.name for file in manager.files[-3:]] == [
        "graders/sum.h", "graders/stub.cpp", "graders/manager.cpp",
    ]  # fmt: skip
    assert b"graders/stub.cpp graders/sum.cpp" in content(program, "compile")
    assert "graders/manager.cpp" not in {file.name for file in program.files}


@pytest.mark.parametrize(
    ("limits", "processes", "expected"),
    [
        (
            Limits.contest(1.0, None),
            1,
            PlanLimits(cpu_ms=10_000, wall_ms=13_000, hard_ms=130_000, memory=4 << 30),
        ),
        (
            Limits.contest(9.5, None),
            1,
            PlanLimits(cpu_ms=10_500, wall_ms=30_000, hard_ms=300_000, memory=4 << 30),
        ),
        (
            Limits.contest(2.0, None),
            50,
            PlanLimits(cpu_ms=150_000, wall_ms=150_000, hard_ms=1_500_000, memory=4 << 30),
        ),
        (Limits(), 1, PlanLimits(cpu_ms=61_000, wall_ms=70_000, hard_ms=700_000, memory=4 << 30)),
    ],
)
async def test_manager_limits_exceed_submission_limits(
    limits: Limits, processes: int, expected: PlanLimits
) -> None:
    engine = FakeEngine()
    options = TaskOptions(with_grader=True, processes=processes, user_io="fifo_io")
    await score(engine, communication(limits=limits, options=options))
    (job,) = engine.runs
    plan = plan_of(job)
    assert plan.manager is not None and plan.manager.limits == expected
    assert (plan.processes, plan.user_io) == (processes, "fifo_io")
    assert expected.wall_ms is not None
    assert job.run_timeout == 10_000 + 2 * (expected.wall_ms + 500)


async def test_communication_problem_may_have_manager_and_checker() -> None:
    engine = FakeEngine()
    checker = Checker(kind=CheckerKind.CMS, sources=(named("checker/checker.cpp", "the checker"),))
    result = await score(engine, communication(checker=checker))
    plan = plan_of(engine.runs[0])
    assert plan.manager is not None
    assert (plan.manager.argv, plan.checker.argv) == (("manager",), ("checker",))
    assert result.checker == "cms manager graders/manager.cpp, cms checker checker/checker.cpp"


async def test_manager_that_does_not_compile_is_input_error() -> None:
    engine = FakeEngine(compile_errors=lambda source: "error: no" if source == "the manager" else None)
    async with Scorer(engine) as scorer:
        with pytest.raises(ManagerBroken, match=r"the manager graders/manager\.cpp does not compile"):
            await scorer.prepare(communication())
    with pytest.raises(InputError, match="the manager's source is missing"):
        await score(FakeEngine(), communication(manager=None))


async def test_python_interactor_is_zipped_with_its_modules() -> None:
    sources = (named("interactor.py", "import rules"), named("rules.py"), named("data.txt"))
    manager = Manager(sources=sources, kind=CheckerKind.ICPC, language="python")
    engine = FakeEngine()
    await score(engine, problem(task_type=TaskType.INTERACTIVE, manager=manager))
    plan = plan_of(engine.runs[0])
    assert plan.manager is not None
    assert plan.manager.argv == ("/usr/bin/python3", "manager.py")
    assert content(engine.runs[0], "manager.py").startswith(b"PK")
    assert len(engine.builds) == 1, "only the submission is built"


async def test_feedback_reports_limit_exceeded_by_the_sum_of_processes() -> None:
    of_three = TaskOptions(with_grader=True, processes=3)
    result = await score(FakeEngine({0: "cpu", 1: "memory"}), communication(options=of_three))
    assert [test.feedback for test in result.tests] == [
        "Time limit exceeded (CPU time of 3 processes 0.001 s of 1.000 s)",
        "Memory limit exceeded (resident memory of one of 3 processes more than 256.0 MiB)",
    ]
    steps = problem(1, task_type=TaskType.TWO_STEPS, grader_files=GRADERS)
    (test,) = (await score(FakeEngine({0: "cpu"}), steps)).tests
    assert test.feedback == "Time limit exceeded (CPU time of one of 2 processes more than 1.000 s)"


# --- submitted output files --------------------------------------------------------------------------


async def test_output_only_scores_files_and_zero_for_missing() -> None:
    engine = FakeEngine(lambda test: float(test.output == f"file t{test.index}".encode()))
    output_submission = submission(None, outputs=handed("t0", "t2", "t7"))
    result = await score(engine, by_files(TaskType.OUTPUT_ONLY), output_submission)
    assert [test.score for test in result.tests] == [1, 0, 1]
    assert (result.compiles, engine.builds) == (True, [])
    assert plan_of(engine.runs[0]).submission.argv == ()


async def test_output_only_submission_without_files_scores_zero() -> None:
    result = await score(FakeEngine(), by_files(TaskType.OUTPUT_ONLY), submission(None))
    assert [(test.score, test.status) for test in result.tests] == [(0, V.WA)] * 3


async def test_batch_and_output_judges_output_tests_by_file() -> None:
    engine = FakeEngine(lambda test: 0.5 if test.output else 1.0)
    mixed = by_files(TaskType.BATCH_AND_OUTPUT, options=TaskOptions(output_tests=("t1", "t2")))
    result = await score(engine, mixed, submission(outputs=handed("t0", "t1")))
    # A submitted file has priority over the program.
    assert [test.score for test in result.tests] == [0.5, 0.5, 0.0]
    assert [test.by_file for test in plan_of(engine.runs[0]).tests] == [False, True, True]


async def test_batch_and_output_without_code_scores_output_tests_only() -> None:
    mixed = by_files(TaskType.BATCH_AND_OUTPUT, options=TaskOptions(output_tests=("t1",)))
    engine = FakeEngine()
    result = await score(engine, mixed, submission(None, outputs=handed("t1")))
    assert [(test.score, test.feedback) for test in result.tests[::2]] == [(0, "File not submitted")] * 2
    assert (result.tests[1].score, len(plan_of(engine.runs[0]).tests)) == (1, 1)
    another = await score(engine, mixed, submission(None, outputs=handed("t0")))
    assert [test.score for test in another.tests] == [1, 0, 0]
    nothing = await score(engine, mixed, submission(None, outputs=handed("t7")))
    assert {test.status for test in nothing.tests} == {V.CE}


# --- Function and TwoSteps ---------------------------------------------------------------------------


async def test_function_problem_runs_with_python_harness() -> None:
    engine = FakeEngine(lambda test: float(test.source == "def f(): pass"))
    options = TaskOptions(function="Solution.f")
    calling = problem(task_type=TaskType.FUNCTION, options=options, checker=Checker(kind=CheckerKind.JSON))
    result = await score(engine, calling, submission("def f(): pass", language="python"))
    plan = plan_of(engine.runs[0])
    assert result.points == 100.0
    assert plan.submission.argv == ("/usr/bin/python3", "-I", "harness.py", "submission", "Solution.f")
    assert (plan.submission.files, plan.checker.kind) == (("harness.py", "submission"), "json")
    with pytest.raises(JudgeFailure, match="calls a function of a Python submission"):
        await score(engine, calling)
    with pytest.raises(InputError, match="does not name the function"):
        unnamed = msgspec.structs.replace(calling, options=TaskOptions())
        await score(engine, unnamed, submission("", language="python"))


async def test_two_steps_are_compiled_with_their_manager() -> None:
    engine = FakeEngine()
    await score(engine, problem(task_type=TaskType.TWO_STEPS, grader_files=GRADERS))
    (build,) = engine.builds
    assert b"graders/manager.cpp graders/sum.cpp" in content(build, "compile")
    assert plan_of(engine.runs[0]).manager is None


# --- for all -----------------------------------------------------------------------------------------


async def test_icpc_validator_compiles_all_sources() -> None:
    sources = (named("validators/a.cpp"), named("validators/b.cpp"), named("validators/b.h"))
    engine = FakeEngine()
    await score(engine, problem(checker=Checker(kind=CheckerKind.ICPC, sources=sources, arguments=("-x",))))
    scripts = [content(build, "compile") for build in engine.builds]
    assert [script for script in scripts if b"validators/a.cpp validators/b.cpp\n" in script]
    assert plan_of(engine.runs[0]).checker.argv == ("checker", "-x")


async def test_script_checker_is_not_built() -> None:
    checker = Checker(
        kind=CheckerKind.CODEFORCES, sources=(named("checker.py", "print(1)"),), language="python"
    )
    engine = FakeEngine()
    await score(engine, problem(checker=checker))
    (run,) = engine.runs
    assert plan_of(run).checker.argv == ("/usr/bin/python3", "checker.py")
    assert content(run, "checker.py") == b"print(1)"
    with pytest.raises(InputError, match="a checker in java cannot be run"):
        await score(engine, problem(checker=msgspec.structs.replace(checker, language="java")))


async def test_layers_option_is_passed_to_the_proctor_plan() -> None:
    engine = FakeEngine()
    await score(engine, problem(), layers=("landlock",))
    await score(engine, problem())
    assert [plan_of(run).layers for run in engine.runs] == [("landlock",), None]


async def test_only_proctor_submission_and_manager_files_are_executable() -> None:
    engine = FakeEngine()
    await score(engine, communication())
    executable = {file.name for file in engine.runs[0].files if file.executable}
    assert executable == {"proctor", "submission", "manager"}
