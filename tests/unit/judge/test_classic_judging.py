"""Judging by classic jobs: the choice of the package, early stops, and faults of servers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from borrowed_engine import judge_on
from judge_samples import problem, submission
from support.engines import CPU_LIMIT, fake_capabilities

from ioi_eval import JudgeOptions, Store
from ioi_eval.engines.contract import Check
from ioi_eval.errors import EngineUnavailable, JudgeFailure
from ioi_eval.model.errors import MachineAtFault
from ioi_eval.model.options import JobShape
from ioi_eval.models import (
    Blob,
    Checker,
    CheckerKind,
    Ending,
    Job,
    JobResult,
    NamedBlob,
    Problem,
    ScoreType,
    StageStatus,
    Submission,
    SubmissionResult,
    Subtask,
    TaskOptions,
    TaskType,
    Test,
)
from ioi_eval.models import Verdict as V
from ioi_eval.testing import FakeEngine

pytestmark = pytest.mark.usefixtures("no_retry_waits")

CMS = ("cms", "cms_ioi", "cms_checker")
CODEFORCES = ("c++", "c++17", "cf_c++17", "c++20", "cf_c++20", "python3", "cf_python3")
GOOD = JobResult(compile=Ending(code=0), run=Ending(stdout="1\n", stderr="Output is correct\n", code=0))
BAD = JobResult(compile=Ending(code=0), run=Ending(stdout="0\n", stderr="Output isn't correct\n", code=0))
REFUSED = Ending(stderr="error: no", code=1, status=StageStatus.RE)

Answer = JobResult | EngineUnavailable


class Cluster(FakeEngine):
    """An engine that runs classic jobs. `answer` gets the input of the test."""

    def __init__(
        self, *runtimes: str, answer: Callable[[str], Answer] = lambda _: GOOD, **limits: Any
    ) -> None:
        super().__init__(
            capabilities=msgspec.structs.replace(fake_capabilities(), runtimes=runtimes, **limits)
        )
        self._answer = answer

    async def execute(self, job: Job, check: object = None) -> JobResult:
        self.jobs.append(job)
        answer = self._answer(contents(job)["input.txt"])
        if isinstance(answer, EngineUnavailable):
            raise answer
        return answer


def contents(job: Job) -> dict[str, str]:
    return {file.name: file.content.read().decode() for file in job.files}


async def judged(
    cluster: FakeEngine,
    folder: Path,
    judged_problem: Problem | None = None,
    sent: Submission | None = None,
    job: JobShape = "auto",
    **options: Any,
) -> SubmissionResult:
    async with judge_on(cluster, Store(folder), JudgeOptions(job=job, **options)) as judge:
        judged_problem = judged_problem or problem()
        await judge.prepare(judged_problem)
        return await judge.judge(judged_problem, sent or submission())


def python_checker() -> Checker:
    file = NamedBlob(name="checker.py", content=Blob.of("print(1)"))
    return Checker(kind=CheckerKind.CODEFORCES, sources=(file,), language="python")


def with_testlib() -> Checker:
    file = NamedBlob(name="checker.cpp", content=Blob.of("int main() {}"))
    return Checker(kind=CheckerKind.TESTLIB, sources=(file,))


def header(name: str) -> NamedBlob:
    return NamedBlob(name=f"graders/{name}", content=Blob.of("int sum();"))


def blank_test() -> Test:
    return msgspec.structs.replace(problem(1).tests[0], answer=Blob.of("\n"))


async def test_classic_jobs_are_used_with_only_cms_packages(tmp_path: Path) -> None:
    cluster = Cluster(*CMS)
    result = await judged(cluster, tmp_path)
    assert (result.points, result.compiles) == (100, True)
    assert [test.status for test in result.tests] == [V.AC] * 4
    assert {job.runtime for job in cluster.jobs} == {"cms_ioi"}
    assert sorted(contents(cluster.jobs[0])) == [
        "correct_output.txt", "graders/grader_config.json", "graders/sum.cpp", "graders/sum.h", "input.txt",
    ]  # fmt: skip
    assert [(job.run_timeout, job.run_memory_limit) for job in cluster.jobs] == [(4000, 256 << 20)] * 4


@pytest.mark.parametrize("by_itself", [True, False])
async def test_grader_that_does_not_compile_by_itself_is_a_judge_failure(
    tmp_path: Path, by_itself: bool
) -> None:
    """A submission may cause it by a macro, so the grader is built again with an empty submission."""

    class Server(Cluster):
        async def execute(self, job: Job, check: object = None) -> JobResult:
            await super().execute(job, check)
            compiler_error = (
                "graders/sum.h:3:1: error: 'nonsense' does not name a type\nFailed to compile sum\n"
            )
            if not by_itself and not contents(job)["graders/sum.cpp"]:
                compiler_error = (
                    "/tmp/a.o: undefined reference to `sum'\ncollect2: error: ld returned 1 exit status\n"
                )
            failed = Ending(stderr=compiler_error, code=1)
            return JobResult(run=failed, compile=failed)

    server = Server("cms_ioi")
    if by_itself:
        with pytest.raises(JudgeFailure, match=r"grader does not compile on the server: .*'nonsense'"):
            await judged(server, tmp_path)
    else:
        assert not (await judged(server, tmp_path)).compiles
    assert [bool(contents(job)["graders/sum.cpp"]) for job in server.jobs] == [True, False]


FULL = "cc1plus: fatal error: error writing to /tmp/a.s: No space left on device\nFailed to compile sum\n"


async def test_full_disk_of_server_at_compilation_is_not_a_compile_error(tmp_path: Path) -> None:
    failed = Ending(stderr=FULL, code=1)
    server = Cluster("cms_ioi", answer=lambda _: JobResult(run=failed, compile=failed))
    with pytest.raises(JudgeFailure, match=r"the server cannot compile: cc1plus: .*No space left on device"):
        await judged(server, tmp_path)


async def test_result_of_a_server_that_kills_the_compiler_is_replaced_by_another_servers(
    tmp_path: Path,
) -> None:
    killed = Ending(signal="SIGKILL", status=StageStatus.SG, message="Caught fatal signal 9")

    class TwoServers(Cluster):
        async def execute(self, job: Job, check: Check | None = None) -> JobResult:
            assert check is not None
            with pytest.raises(MachineAtFault, match="the compiler was killed: Caught fatal signal 9"):
                await check(JobResult(compile=killed, run=killed))
            return await check(await super().execute(job, check))

    assert (await judged(TwoServers("cms_ioi"), tmp_path)).points == 100
    only = Cluster("cms_ioi", answer=lambda _: JobResult(compile=killed, run=killed))
    with pytest.raises(JudgeFailure, match="the compiler was stopped before its CPU time was used up"):
        await judged(only, tmp_path / "only")


async def test_classic_job_refuses_submission_of_several_sources(tmp_path: Path) -> None:
    several = submission(files=(NamedBlob(name="b.cpp", content=Blob.of("")),))
    cluster = Cluster(*CMS)
    with pytest.raises(JudgeFailure, match="supports a single source, and this submission has several"):
        await judged(cluster, tmp_path, sent=several)
    assert cluster.jobs == []


@pytest.mark.parametrize(("job", "runs"), [("classic", 4), ("batched", 1), ("auto", 1)])
async def test_job_option_selects_classic_jobs(tmp_path: Path, job: JobShape, runs: int) -> None:
    class Both(FakeEngine):
        async def execute(self, job: Job, check: object = None) -> JobResult:
            if "plan.json" in contents(job) or job.keep:
                return await super().execute(job, check)
            self.jobs.append(job)
            return GOOD

    engine = Both()
    async with engine:
        assert (await judged(engine, tmp_path, job=job)).points == 100
    assert len(engine.runs) == runs
    assert all(("compile" in contents(executed)) == (job == "classic") for executed in engine.runs)


async def test_classic_jobs_stop_when_subtask_is_decided(tmp_path: Path) -> None:
    cluster = Cluster(*CMS, answer=lambda given: BAD if given == "in 1" else GOOD)
    result = await judged(cluster, tmp_path, problem(12))
    assert (result.points, len(cluster.jobs)) == (0, 3)
    assert [test.status for test in result.tests][:4] == [V.AC, V.WA, V.AC, V.SKIPPED]
    everything = Cluster(*CMS, answer=lambda given: BAD if given == "in 1" else GOOD)
    await judged(everything, tmp_path, problem(12), all_tests=True)
    assert len(everything.jobs) == 12
    mean = Subtask(name="s", points=100, tests=("t0", "t1"), score_type=ScoreType.SUM)
    assert (await judged(cluster, tmp_path, problem(2, subtasks=(mean,)))).points == 50


async def test_compile_error_in_classic_job_skips_other_tests(tmp_path: Path) -> None:
    cluster = Cluster(*CMS, answer=lambda _: JobResult(compile=REFUSED, run=REFUSED))
    result = await judged(cluster, tmp_path)
    assert (result.compiles, result.points, len(cluster.jobs)) == (False, 0, 1)
    assert "error: no" in result.compile_output
    assert {test.status for test in result.tests} == {V.CE}


async def test_judge_failure_on_one_classic_job_fails_submission(tmp_path: Path) -> None:
    cluster = Cluster(*CMS, answer=lambda given: EngineUnavailable("gone") if given == "in 3" else GOOD)
    with pytest.raises(JudgeFailure, match="gone"):
        await judged(cluster, tmp_path)


# --- codeforces --------------------------------------------------------------------------------------


async def test_codeforces_job_has_files_and_limits_of_contract(tmp_path: Path) -> None:
    cluster = Cluster(*CODEFORCES)
    files = TaskOptions(input_file="input.txt", output_file="output.txt")
    await judged(cluster, tmp_path, problem(1, checker=python_checker(), options=files), submission("code"))
    (job,) = cluster.jobs
    assert contents(job) == {
        "main.cpp": "code",
        "checker.py": "print(1)",
        "input.txt": "in 0",
        "correct_output.txt": "out 0",
        "grader_config": "TIME_LIMIT=1\nMEMORY_LIMIT=256\nINPUT_MODE=file",
    }
    assert (job.runtime, job.version, job.run_timeout, job.run_memory_limit) == (
        "c++20",
        "*",
        11_000,
        None,
    )


@pytest.mark.parametrize(
    ("language", "runtime", "name"),
    [
        ("C++17", "c++17", "main.cpp"),
        ("c++98", "c++17", "main.cpp"),
        ("python3", "cf_python3", "main.python"),
    ],
)
async def test_codeforces_job_runs_in_language_of_contract(
    tmp_path: Path, language: str, runtime: str, name: str
) -> None:
    cluster = Cluster(*CODEFORCES)
    await judged(cluster, tmp_path, problem(1), submission("x", language=language))
    assert cluster.jobs[0].runtime == runtime and name in contents(cluster.jobs[0])


async def test_missing_codeforces_language_standard_is_judge_failure(tmp_path: Path) -> None:
    with pytest.raises(JudgeFailure, match=r"no language for C\+\+23.* c\+\+20"):
        await judged(Cluster(*CODEFORCES), tmp_path, problem(1), submission("x", language="C++23"))


async def test_reply_of_codeforces_job_gives_verdict(tmp_path: Path) -> None:
    reply = JobResult(compile=Ending(code=0), run=Ending(stdout="0", stderr="Output limit exceeded", code=0))
    result = await judged(Cluster(*CODEFORCES, answer=lambda _: reply), tmp_path, problem(1))
    assert (result.tests[0].status, result.points) == (V.OLE, 0)


@pytest.mark.parametrize(
    ("changes", "language", "runtime"),
    [
        ({}, "c++", "cms_ioi"),
        ({"checker": Checker(kind=CheckerKind.TOKENS)}, "c++", "c++20"),
        ({"checker": python_checker()}, "c++", "c++20"),
        ({}, "python", "cf_python3"),
    ],
)
async def test_classic_package_is_chosen_by_problem_and_language(
    tmp_path: Path, changes: dict[str, Any], language: str, runtime: str
) -> None:
    cluster = Cluster(*CMS, *CODEFORCES)
    await judged(cluster, tmp_path, problem(1, **changes), submission("x", language=language))
    assert cluster.jobs[0].runtime == runtime


# --- jobs that classic packages cannot run -----------------------------------------------------------


@pytest.mark.parametrize(
    ("runtimes", "changes", "message"),
    [
        (CMS, {"task_type": TaskType.OUTPUT_ONLY}, "do not support task type OutputOnly"),
        (CMS, {"options": TaskOptions(input_file="sum.in")}, "cms_ioi does not support named input"),
        (CMS, {"checker": with_testlib()}, "cms_ioi ignores the exit code"),
        (
            CMS,
            {"grader_files": (header("a.h"), header("sum.h"))},
            "would use graders/a.h as the submission's",
        ),
        (CMS, {"tests": (blank_test(),)}, "without an answer"),
        (CODEFORCES, {"task_type": TaskType.COMMUNICATION}, "no classic Codeforces job.*`bash`"),
        (CODEFORCES, {"checker": Checker(kind=CheckerKind.TOKENS, absolute=0.1)}, "cannot compare by tokens"),
        (CODEFORCES, {"options": TaskOptions(input_file="sum.in", output_file="sum.out")}, "no other files"),
    ],
)
async def test_problem_unsupported_by_classic_packages_names_reason(
    tmp_path: Path, runtimes: tuple[str, ...], changes: dict[str, Any], message: str
) -> None:
    cluster = Cluster(*runtimes)
    with pytest.raises(JudgeFailure, match=message):
        await judged(cluster, tmp_path, problem(1, **changes))
    assert cluster.jobs == []


async def test_server_without_classic_package_names_package_to_install(tmp_path: Path) -> None:
    with pytest.raises(JudgeFailure, match=r"lacks a package for classic jobs.*`bash`"):
        await judged(Cluster("python"), tmp_path, job="classic")


@pytest.mark.parametrize(
    ("limits", "variable"),
    [
        (
            {"max_run_time": 3000},
            r"PISTON_RUN_TIMEOUT on it to (\d+)000 or more, on a worker --set run-timeout=\1",
        ),
        ({"max_run_cpu_time": 2900}, "PISTON_RUN_CPU_TIME"),
    ],
)
async def test_classic_job_over_server_time_is_judge_failure(
    tmp_path: Path, limits: dict[str, int], variable: str
) -> None:
    with pytest.raises(JudgeFailure, match=variable):
        await judged(Cluster(*CMS, **limits), tmp_path)


async def test_classic_job_requests_cpu_time(tmp_path: Path) -> None:
    cluster = Cluster(*CMS, max_run_cpu_time=5000)
    await judged(cluster, tmp_path, problem(1))
    assert cluster.jobs[0].run_cpu_time == 5000


CUT = Ending(signal="SIGKILL", status=StageStatus.OL)
SLOW = Ending(signal="SIGKILL", status=StageStatus.TO)


@pytest.mark.parametrize(
    ("answer", "limits", "variable"),
    [
        (JobResult(compile=Ending(code=0), run=CUT), {}, "PISTON_OUTPUT_MAX_SIZE"),
        (JobResult(compile=SLOW, run=SLOW), {"max_compile_time": 10_000}, "PISTON_COMPILE_TIMEOUT"),
    ],
)
async def test_classic_job_ended_by_server_limit_is_judge_failure(
    tmp_path: Path, answer: JobResult, limits: dict[str, int], variable: str
) -> None:
    with pytest.raises(JudgeFailure, match=variable):
        await judged(Cluster(*CMS, answer=lambda _: answer, **limits), tmp_path)


@pytest.mark.parametrize("runtimes", [CMS, CODEFORCES])
async def test_exit_code_3_of_classic_scripts_is_judge_failure(
    tmp_path: Path, runtimes: tuple[str, ...]
) -> None:
    fault = Ending(stderr="The checker is broken\n", code=3, status=StageStatus.RE)
    answer = JobResult(compile=Ending(code=0), run=fault)
    with pytest.raises(JudgeFailure, match="The checker is broken"):
        await judged(Cluster(*runtimes, answer=lambda _: answer), tmp_path)


@pytest.mark.parametrize("reported_ms", [30_000, 60_000])
async def test_classic_compiler_over_cpu_time_is_compile_error(tmp_path: Path, reported_ms: int) -> None:
    spent = Ending(signal="SIGKILL", status=StageStatus.TO, message=CPU_LIMIT)
    cluster = Cluster(
        *CMS, answer=lambda _: JobResult(compile=spent, run=spent), max_compile_time=reported_ms
    )
    assert not (await judged(cluster, tmp_path)).compiles


@pytest.mark.parametrize("ended", [SLOW, Ending(signal="SIGKILL")])
async def test_classic_compiler_stopped_otherwise_is_judge_failure(tmp_path: Path, ended: Ending) -> None:
    cluster = Cluster(*CMS, answer=lambda _: JobResult(compile=ended, run=ended), max_compile_time=60_000)
    with pytest.raises(JudgeFailure, match="stopped before its CPU time was used up"):
        await judged(cluster, tmp_path)
