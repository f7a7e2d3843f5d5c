"""The contents of a classic job, and the meaning of its replies."""

from __future__ import annotations

import msgspec
import pytest
from judge_samples import problem, submission
from support.builds import named

from ioi_eval.classic import classic_job, run_classic
from ioi_eval.errors import EngineUnavailable, JudgeFailure
from ioi_eval.judge.codeforces import read_codeforces_result
from ioi_eval.models import (
    Blob,
    Checker,
    CheckerKind,
    Ending,
    Job,
    JobResult,
    Problem,
    TaskOptions,
    TaskType,
    Test,
    Verdict,
)
from ioi_eval.testing import FakeEngine


def full_problem() -> Problem:
    return problem(
        1,
        id="Sum",
        task_type=TaskType.COMMUNICATION,
        options=TaskOptions(with_grader=True, processes=2, user_io="fifo_io", manager_args=("-v", "3")),
        grader_files=(
            named("graders/manager.cpp"),
            named("graders/stub.cpp"),
            named("graders/sum.h"),
            named("graders/empty.h", ""),
        ),
        checker=Checker(kind=CheckerKind.CMS, sources=(named("check/main.cpp"), named("checker/testlib.h"))),
    )


def job_of(problem: Problem, **changes: str) -> Job:
    return classic_job(problem, problem.tests[0], submission(), **changes)


def names(job: Job) -> list[str]:
    return sorted(file.name for file in job.files)


def test_classic_job_has_files_of_contract() -> None:
    assert names(job_of(full_problem())) == [
        "checker/checker.cpp",
        "checker/testlib.h",
        "compile",
        "correct_output.txt",
        "graders/grader_config.json",
        "graders/manager.cpp",
        "graders/stub.cpp",
        "graders/sum.cpp",
        "graders/sum.h",
        "input.txt",
        "run",
    ]


def test_classic_job_for_cms_ioi_has_no_scripts() -> None:
    job = job_of(full_problem(), runtime="cms_ioi")
    assert {"compile", "run"} & set(names(job)) == set()
    assert (job.runtime, job.version, job.compile_timeout) == ("cms_ioi", "*", None)


def test_grader_config_has_keys_of_contract() -> None:
    config = next(file for file in job_of(full_problem()).files if file.name.endswith(".json"))
    settings = msgspec.json.decode(config.content.read())
    assert (
        settings.items()
        >= {
            "task_type": "Communication",
            "code": "sum",
            "time_limit": 1.0,
            "memory_limit": 256 << 20,
            "task_type_parameters_Communication_num_processes": 2,
            "task_type_parameters_Communication_user_io": "fifo_io",
            "task_type_parameters_Communication_manager_args": "-v 3",
        }.items()
    )


def test_classic_job_has_limits_of_contract() -> None:
    job = job_of(full_problem())
    assert (job.run_timeout, job.run_memory_limit) == (4000, 256 << 20)


@pytest.mark.parametrize("answer", [None, Blob.of("")])
def test_classic_job_omits_empty_or_missing_answer(answer: Blob | None) -> None:
    test = Test(name="t", input=Blob.of("1"), answer=answer)
    assert "correct_output.txt" not in names(classic_job(problem(), test, submission()))


def test_classic_job_has_grader_only_with_option() -> None:
    files = (named("graders/grader.cpp"),)
    assert "graders/grader.cpp" not in names(job_of(problem(grader_files=files)))
    options = TaskOptions(with_grader=True)
    assert "graders/grader.cpp" in names(job_of(problem(grader_files=files, options=options)))


@pytest.mark.parametrize(
    "changes",
    [
        {"task_type": TaskType.OUTPUT_ONLY},
        {"task_type": TaskType.COMMUNICATION},  # without a stub
        {"checker": Checker(kind=CheckerKind.TOKENS)},
    ],
)
def test_problem_unsupported_by_classic_job_is_judge_failure(changes: dict[str, object]) -> None:
    with pytest.raises(JudgeFailure, match="classic job"):
        job_of(problem(**changes))


def test_other_languages_have_no_classic_job() -> None:
    with pytest.raises(JudgeFailure, match="not python"):
        classic_job(problem(), problem().tests[0], submission(language="python"))


# --- replies -----------------------------------------------------------------------------------------


class Replying(FakeEngine):
    """An engine that returns the same reply for every job."""

    def __init__(self, run: Ending, compiled: Ending | None = None) -> None:
        super().__init__()
        self.reply = JobResult(run=run, compile=compiled or Ending(code=0))

    async def execute(self, job: Job, check: object = None) -> JobResult:
        return self.reply


async def judged(run: Ending, compiled: Ending | None = None, **changes: str) -> tuple[float, Verdict]:
    some = problem(1)
    result = await run_classic(Replying(run, compiled), some, some.tests[0], submission(), **changes)
    assert result.test_name == "t0"
    return result.score, result.status


async def test_printed_score_becomes_the_result() -> None:
    assert await judged(Ending(stdout="0.5\n", stderr="half\n", code=0)) == (0.5, Verdict.PA)


@pytest.mark.parametrize(
    ("run", "compiled", "message"),
    [
        (Ending(stderr="a\nThe manager does not compile\n", code=3), None, "compiling"),
        (Ending(stderr="The checker printed no score: x\n", code=3), Ending(code=0), "printed no score: x"),
    ],
)
async def test_unexpected_ending_of_classic_scripts_is_judge_failure(
    run: Ending, compiled: Ending | None, message: str
) -> None:
    with pytest.raises(JudgeFailure, match=message) as caught:
        await judged(run, compiled or run)
    assert caught.value.test == "t0"


CHECKERS = (
    "checker/checker.cpp:3:5: error: 'nonsense' was not declared in this scope\n"
    "chmod: cannot access 'checker/checker': No such file or directory\nCould not compile checker\n"
)


@pytest.mark.parametrize(
    ("stderr", "message"),
    [
        (CHECKERS, r"checker does not compile on the server: checker/checker\.cpp:3:5: error: 'nonsense'"),
        (CHECKERS.replace("checker", "manager"), "the manager does not compile on the server: manager"),
        ("run: g++: command not found\nCould not compile checker\n", "checker .*g\\+\\+: command not found"),
    ],
)
async def test_checker_that_a_package_cannot_compile_is_a_judge_failure(stderr: str, message: str) -> None:
    failed = Ending(stdout="Compiling checker\n", stderr=stderr, code=1)
    with pytest.raises(JudgeFailure, match=message):
        await judged(failed, failed, runtime="cms_ioi")


async def test_submission_forging_checker_compile_message_is_compile_error() -> None:
    stderr = f"{CHECKERS}graders/p.cpp:1:2: error: #error Could not compile checker\nFailed to compile p\n"
    failed = Ending(stderr=stderr, code=1)
    assert await judged(failed, failed, runtime="cms_ioi") == (0.0, Verdict.CE)


async def test_checker_compile_failure_quotes_compiler_message() -> None:
    failed = Ending(stderr="x.cpp:1:2: error: 'y' is missing\nThe checker does not compile\n", code=3)
    with pytest.raises(
        JudgeFailure, match=r"The checker does not compile: x\.cpp:1:2: error: 'y' is missing"
    ):
        await judged(failed, failed)


async def test_cms_ioi_exit_code_is_ignored_if_score_is_printed() -> None:
    assert await judged(Ending(stdout="1\n", code=3), runtime="cms_ioi") == (1.0, Verdict.AC)


@pytest.mark.parametrize(
    ("run", "status"),
    [
        (Ending(stdout=" 1\n", code=0), Verdict.AC),
        (Ending(stdout="1", code=1), Verdict.RE),
        (Ending(stdout="0", code=0), Verdict.WA),
        (Ending(stdout="0.5", code=0), Verdict.WA),
        (Ending(stdout="0", stderr="Runtime error with exit code 1", code=0), Verdict.RE),
        (Ending(stdout="0", stderr="Output limit exceeded", code=0), Verdict.OLE),
        (Ending(stderr="Time limit exceeded", code=1), Verdict.TLE),
        (Ending(signal="SIGKILL"), Verdict.TLE),
        (Ending(stderr="MemoryError", code=1), Verdict.MLE),
        (Ending(code=139), Verdict.RE),
    ],
)
def test_codeforces_job_passes_with_exit_code_0_and_output_1(run: Ending, status: Verdict) -> None:
    result = read_codeforces_result("t0", JobResult(compile=Ending(code=0), run=run))
    assert (result.status, result.score) == (status, 1 if status is Verdict.AC else 0)


async def test_submission_without_code_is_compile_error_without_job() -> None:
    some = problem(1)
    result = await run_classic(FakeEngine(), some, some.tests[0], submission(None))
    assert (result.status, result.feedback) == (Verdict.CE, "no code found")


@pytest.mark.usefixtures("no_retry_waits")
async def test_unavailable_engine_is_judge_failure() -> None:
    some = problem(1)
    with pytest.raises(JudgeFailure, match=r"down, after 4 attempts \(retry rule `reply`\)"):
        engine = FakeEngine(faults=[EngineUnavailable("down")] * 4)
        await run_classic(engine, some, some.tests[0], submission())
