"""The functions of open-r1's pipelines: their signatures and results."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.engines import fake_capabilities

from ioi_eval.errors import EngineUnavailable, InputError, JudgeFailure
from ioi_eval.integrations import open_r1
from ioi_eval.integrations.open_r1 import (
    ClusterClient,
    EngineClient,
    SandboxClient,
    SandboxJob,
    SubtaskResult,
    TestResult,
    get_piston_client_from_env,
    run_submission,
    score_single_test_case,
    score_submission,
    score_subtask,
    score_subtasks,
)
from ioi_eval.models import Ending, Job, JobResult
from ioi_eval.testing import FakeEngine

ROOT = Path(__file__).parents[3]
PROBLEM = {
    "id": "Sum",
    "grader_files": [["graders/sum.h", "int add();"], ["checker/checker.cpp", None], ["graders/empty", ""]],
    "time_limit": 1.5,
    "memory_limit": 1 << 28,
}
SUBTASK = PROBLEM | {
    "subtask": "01-all",
    "score": 40,
    "score_precision": 2,
    "test_names": ["a", "b", "c"],
    "test_cases": {"a": ("1", "x"), "b": ("2", "y"), "c": ("3", "z")},
}


def stage(
    stdout: str = "", stderr: str = "", code: int | None = 0, signal: str | None = None
) -> dict[str, Any]:
    return {"stdout": stdout, "stderr": stderr, "code": code, "signal": signal, "output": stdout + stderr}


def reply(run: dict[str, Any], compiled: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"compile": compiled or stage(), "run": run, "language": "cms", "version": "1.0.0"}


GOOD, HALF = reply(stage("1\n", "Output is correct\n")), reply(stage("0.5\n", "Half\n"))
BAD = reply(stage("0\n", "Output isn't correct\n"))


class Client:
    """A client that answers by the test's input."""

    def __init__(self, answer: Callable[[str], Any] = lambda _: GOOD) -> None:
        self._answer = answer
        self.sent: list[dict[str, Any]] = []
        self.languages: list[str] = []
        self.running = self.peak = 0

    async def send_execute(self, data: dict[str, Any], language: str = "cms_ioi") -> Any:
        self.sent.append(data)
        self.languages.append(language)
        self.running += 1
        self.peak = max(self.peak, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        return self._answer({file["name"]: file["content"] for file in data["files"]}["input.txt"])


async def run(answer: Any) -> tuple[str, str]:
    return await run_submission(Client(lambda _: answer), PROBLEM, "1", "code", "x")


async def test_open_r1_ioi_job_follows_contract() -> None:
    client = Client()
    assert await run_submission(client, PROBLEM, "1 2", "code", "3") == ("1\n", "Output is correct\n")
    await run_submission(client, PROBLEM, "1 2", "code")
    names = ["graders/sum.cpp", "input.txt", "correct_output.txt", "graders/sum.h"]
    assert [file["name"] for file in client.sent[0]["files"]] == names
    assert (client.sent[0]["run_timeout"], client.sent[0]["run_memory_limit"]) == (4500, 1 << 28)
    assert "correct_output.txt" not in {file["name"] for file in client.sent[1]["files"]}


@pytest.mark.parametrize(
    ("answer", "score", "feedback"),
    [
        (reply(stage(code=1), stage(stderr="no", code=1)), "0", "Compilation error exit code 1\nno"),
        (reply(stage("1", "MemoryError", code=1)), "0", "Memory limit exceeded"),
        (reply(stage("0.25", "so", signal="SIGKILL", code=None)), "0.25", "so"),
        (reply(stage(signal="SIGKILL", code=None)), "0", "Time limit exceeded"),
        (reply(stage(code=139)), "0", "Unknown error"),
        (reply(stage("0", "Resource temporarily unavailable")), "0", "Resource temporarily unavailable"),
    ],
)
async def test_open_r1_reply_gives_score_and_feedback(answer: Any, score: str, feedback: str) -> None:
    assert await run(answer) == (score, feedback)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "no reply"),
        ({"message": "cms_ioi-* runtime is unknown"}, "runtime is unknown"),
        ({}, "refused"),
        ({"run": {"code": "one"}}, "Piston"),
        (reply(stage(signal="SIGKILL", code=None) | {"status": "OL"}), "PISTON_OUTPUT_MAX_SIZE"),
        (reply(stage(code=None) | {"status": "XX", "message": "no box"}), "no box"),
        (reply(stage(code=3), stage("No checker found", "No grader", code=3)), "No grader"),
        (reply(stage(code=1), stage(stderr="Could not compile checker", code=1)), "checker does not compile"),
    ],
)
async def test_open_r1_server_failure_is_judge_failure(answer: Any, message: str) -> None:
    with pytest.raises(JudgeFailure, match=message):
        await run(answer)


GRADERS = "graders/grader.cpp:3:1: error: 'nonsense' does not name a type\nFailed to compile sum\n"


async def test_open_r1_broken_grader_is_judge_failure() -> None:
    """A submission may cause it by a macro, so the grader is built again without a submission."""
    client = Client()

    async def send_execute(data: dict[str, Any], language: str = "cms_ioi") -> Any:
        await Client.send_execute(client, data, language)
        return reply(stage(stderr=GRADERS, code=1), stage(stderr=GRADERS, code=1))

    client.send_execute = send_execute  # type: ignore[method-assign]
    with pytest.raises(JudgeFailure, match=r"grader does not compile on the server: .*'nonsense'"):
        await run_submission(client, PROBLEM, "1", "code", "x")
    assert len(client.sent) == 2


async def test_open_r1_single_test_has_status() -> None:
    result = await score_single_test_case(Client(lambda _: HALF), SUBTASK, "a", "1", "x", "code")
    assert result == TestResult(test_name="a", score=0.5, status="PA", feedback="Half\n")
    with pytest.raises(JudgeFailure, match="not a number"):
        await score_single_test_case(Client(lambda _: reply(stage("nan"))), SUBTASK, "a", "1", "x", "code")


async def test_open_r1_subtask_stops_at_first_failure() -> None:
    client = Client(lambda given: BAD if given == "2" else HALF)
    result = await score_subtask(client, SUBTASK, "code")
    assert len(client.sent) == 2
    assert [test.status for test in result.test_results] == ["PA", "WA", "SKIPPED"]
    assert json.loads(json.dumps(result.to_dict())) == {
        "problem": "Sum", "subtask": "01-all", "points": 40, "score": 0, "weighted_score": 0,
        "score_precision": 2,
        "status": "WA",
        "test_results": [
            {"test_name": "a", "score": 0.5, "status": "PA", "feedback": "Half\n"},
            {"test_name": "b", "score": 0.0, "status": "WA", "feedback": "Output isn't correct\n"},
            {"test_name": "c", "score": 0.0, "status": "SKIPPED", "feedback": None},
        ],
    }  # fmt: skip


async def test_open_r1_subtask_score_is_worst_test() -> None:
    third = reply(stage("0.3333", "a third"))
    result = await score_subtask(Client(lambda given: third if given == "2" else GOOD), SUBTASK, "code")
    assert (result.score, result.weighted_score, result.status) == (0.33, 13.33, "PA")
    assert SubtaskResult().to_dict()["status"] == "SKIPPED"


@pytest.mark.parametrize(("size", "peak"), [(1, 1), (2, 2), (-1, 3), (50, 3)])
async def test_open_r1_test_batch_size_limits_concurrency(size: int, peak: int) -> None:
    client = Client()
    result = await score_subtask(client, SUBTASK, "code", test_batch_size=size)
    assert (client.peak, len(client.sent), result.score) == (peak, 3, 1)


async def test_open_r1_subtasks_share_test_results() -> None:
    client, other = Client(), SUBTASK | {"subtask": "02", "test_names": ["c", "b"]}
    first, second = await score_subtasks(client, [SUBTASK, other], "code")
    assert (len(client.sent), first.score, second.score) == (3, 1, 1)
    lost = {"b": TestResult("b", 0.0, "WA", "no")}
    result = await score_subtask(client, SUBTASK, "code", lost)
    assert (len(client.sent), [test.status for test in result.test_results]) == (
        3,
        ["SKIPPED", "WA", "SKIPPED"],
    )
    everything = Client(lambda _: BAD)
    await score_subtasks(everything, [SUBTASK], "code", skip_mode=False)
    assert len(everything.sent) == 3


async def test_open_r1_subtask_without_code_runs_nothing() -> None:
    client = Client()
    result = await score_subtask(client, SUBTASK, "")
    assert (client.sent, result.score, result.status) == ([], 0, "SKIPPED")


async def test_open_r1_test_cases_may_be_list_and_must_be_complete() -> None:
    client = Client()
    await score_subtask(client, SUBTASK | {"test_cases": [("1", "x"), ("2", "y"), ("3", "z")]}, "code")
    assert len(client.sent) == 3
    with pytest.raises(InputError, match="no test 'c'"):
        await score_subtask(client, SUBTASK | {"test_cases": {"a": ("1", ""), "b": ("2", "")}}, "code")


async def test_open_r1_missing_test_cases_are_loaded_from_dataset(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {name: value for name, value in SUBTASK.items() if name != "test_cases"} | {"year": 2024}
    loaded_problems = []

    def tests(year: int, problem_id: str) -> dict[str, tuple[str, str]]:
        loaded_problems.append((year, problem_id))
        return {"a": ("1", "x"), "b": ("2", "y"), "c": ("3", "z")}

    monkeypatch.setattr(open_r1, "load_ioi_tests", tests)
    assert (await score_subtask(Client(), row, "code")).score == 1
    assert loaded_problems == [(2024, "Sum")]


async def test_open_r1_judge_failure_of_test_fails_subtask() -> None:
    client = Client(lambda given: None if given == "2" else GOOD)
    with pytest.raises(JudgeFailure, match="no reply"):
        await score_subtask(client, SUBTASK, "code", test_batch_size=-1)


# --- Codeforces --------------------------------------------------------------------------------------

ROW: dict[str, Any] = {
    "time_limit": 2.0,
    "memory_limit": 256.0,
    "input_mode": "stdio",
    "generated_checker": None,
    "official_tests": [{"input": "1", "output": "x"}, {"input": "2", "output": "y"}],
    "generated_tests": [{"input": "3", "output": "z"}, {"input": "4", "output": "z"}],
}


@pytest.mark.parametrize(
    ("language", "name", "package"),
    [
        ("cpp", "main.cpp", "c++17"),
        ("Python 3", "main.python", "cf_python3"),
    ],
)
async def test_open_r1_language_alias_selects_package(language: str, name: str, package: str) -> None:
    client = Client()
    await score_submission(client, ROW, "code", submission_language=language)
    assert (client.sent[0]["files"][0]["name"], client.languages[0]) == (name, package)


async def test_open_r1_codeforces_job_follows_contract() -> None:
    client = Client()
    assert await score_submission(client, ROW | {"generated_checker": "check"}, "code") == 1.1
    await score_submission(client, ROW, "code", submission_language="python")
    files = {file["name"]: file["content"] for file in client.sent[0]["files"]}
    assert files == {
        "main.cpp": "code",
        "checker.py": "check",
        "input.txt": "1",
        "correct_output.txt": "x",
        "grader_config": "TIME_LIMIT=2.0\nMEMORY_LIMIT=256.0\nINPUT_MODE=stdio",
    }
    assert client.sent[0]["run_timeout"] == 12_000
    assert {file["name"] for file in client.sent[-1]["files"]} >= {"main.python"}
    assert (client.languages[0], client.languages[-1]) == ("c++17", "cf_python3")


@pytest.mark.parametrize(
    ("mode", "reward", "runs"), [("pass_fail", 0.0, 2), ("partial", 0.75, 4), ("weighted_sum", 0.075, 4)]
)
async def test_open_r1_codeforces_reward_follows_scoring_mode(mode: Any, reward: float, runs: int) -> None:
    client = Client(lambda given: reply(stage("0")) if given == "2" else reply(stage(" 1\n")))
    assert await score_submission(client, ROW, "code", scoring_mode=mode) == pytest.approx(reward)
    assert len(client.sent) == runs


async def test_open_r1_codeforces_penalties_are_applied() -> None:
    refused = Client(lambda _: reply(stage(code=1), stage(code=1, stderr="no")))
    assert await score_submission(refused, ROW, "code") == -0.1
    assert await score_submission(refused, ROW, "") == -1.0
    assert (
        await score_submission(refused, ROW | {"official_tests": [], "generated_tests": None}, "code") is None
    )
    with pytest.raises(JudgeFailure):
        await score_submission(Client(lambda _: None), ROW, "code")
    with pytest.raises(ValueError, match="Invalid scoring mode"):
        await score_submission(refused, ROW, "code", scoring_mode="best")  # type: ignore[arg-type]


# --- clients -----------------------------------------------------------------------------------------


class Recorded(FakeEngine):
    opened = 0

    def __init__(self, *faults: EngineUnavailable, **profile: Any) -> None:
        super().__init__()

        self.capabilities_value = msgspec.structs.replace(fake_capabilities(), **profile)
        self.faults = list(faults)

    async def __aenter__(self) -> Recorded:
        self.opened += 1
        return self

    async def execute(self, job: Job, check: object = None) -> JobResult:
        self.jobs.append(job)
        if self.faults:
            raise self.faults.pop()
        return JobResult(compile=Ending(code=0), run=Ending(stdout="1\n", code=0), language="cms")


async def test_engine_client_runs_open_r1_job() -> None:
    engine = Recorded()
    assert await run_submission(EngineClient(engine), PROBLEM, "1", "int x;", "y") == ("1\n", "")
    (job,) = engine.jobs
    assert {"compile", "run", "graders/sum.cpp"} <= {file.name for file in job.files}
    assert (job.runtime, job.run_timeout, job.run_cpu_time, job.run_memory_limit) == (
        "ioi_eval",
        4500,
        4500,
        1 << 28,
    )


async def test_engine_client_sends_no_scripts_to_server_with_runtime_cms_ioi() -> None:
    engine = Recorded(bare=(), max_run_cpu_time=3000, runtimes=("cms_ioi",))
    await run_submission(EngineClient(engine), PROBLEM, "1", "int x;", "y")
    (job,) = engine.jobs
    assert "compile" not in {file.name for file in job.files} and job.run_cpu_time == 3000
    with pytest.raises(JudgeFailure, match="PISTON_RUN_CPU_TIME"):
        await run_submission(EngineClient(engine), PROBLEM | {"time_limit": 4}, "1", "int x;", "y")


@pytest.mark.parametrize(
    ("runtimes", "runtime", "is_brought"),
    [
        (("ioi_eval", "bash"), "ioi_eval", True),
        (("cms", "cms_ioi"), "cms_ioi", False),
        (("ioi_eval", "cms_ioi"), "cms_ioi", False),
        (("python",), "cms_ioi", False),
    ],
)
async def test_job_contains_its_scripts_for_a_server_without_own_scripts(
    runtimes: tuple[str, ...], runtime: str, is_brought: bool
) -> None:
    engine = Recorded(bare=(), runtimes=runtimes)
    await run_submission(EngineClient(engine), PROBLEM, "1", "int x;", "y")
    (job,) = engine.jobs
    assert job.runtime == runtime
    assert ({"compile", "run"} <= {file.name for file in job.files}) is is_brought


@pytest.mark.usefixtures("no_retry_waits")
async def test_unavailable_engine_of_client_is_judge_failure() -> None:
    engine = Recorded(EngineUnavailable("gone"))
    assert await run_submission(EngineClient(engine), PROBLEM, "1", "x", "y") == ("1\n", "")
    engine = Recorded(*[EngineUnavailable("gone")] * 4)
    with pytest.raises(JudgeFailure, match="gone"):
        await run_submission(EngineClient(engine), PROBLEM, "1", "x", "y")


def test_cluster_client_opens_engine_once_per_event_loop() -> None:
    opened_engines: list[Recorded] = []

    def make() -> Recorded:
        opened_engines.append(Recorded())
        return opened_engines[-1]

    async def twice(client: ClusterClient) -> None:
        await asyncio.gather(*(run_submission(client, PROBLEM, "1", "x", "y") for _ in range(2)))

    client = ClusterClient(make)
    for _ in range(2):
        asyncio.run(twice(client))
    assert [(engine.opened, len(engine.jobs)) for engine in opened_engines] == [(1, 2), (1, 2)]


def test_piston_client_reads_servers_from_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PISTON_ENDPOINTS", raising=False)
    with pytest.raises(InputError, match="PISTON_ENDPOINTS is not set"):
        get_piston_client_from_env()
    monkeypatch.setenv("PISTON_ENDPOINTS", "http://a:2000/api/v2,http://b:2000/api/v2")
    monkeypatch.setenv("PISTON_MAX_REQUESTS_PER_ENDPOINT", "many")
    with pytest.raises(InputError, match="'many' is not a whole number"):
        get_piston_client_from_env()
    monkeypatch.setenv("PISTON_MAX_REQUESTS_PER_ENDPOINT", "3")
    assert isinstance(get_piston_client_from_env(), ClusterClient)


@pytest.mark.parametrize(
    ("world", "shares"), [(1, ["abc"]), (2, ["ac", "b"]), (5, ["a", "b", "c", "a", "b"])]
)
async def test_servers_are_divided_among_training_processes(world: int, shares: list[str]) -> None:
    from ioi_eval.engines.environment import ProcessServerDiscovery

    class Found:
        search_interval_s = None

        async def find(self) -> frozenset[str]:
            return frozenset("cab")

    shares_found = [await ProcessServerDiscovery(Found(), rank, world).find() for rank in range(world)]
    assert ["".join(sorted(share)) for share in shares_found] == shares


async def test_sandbox_client_passes_files_and_limits() -> None:
    jobs: list[SandboxJob] = []

    async def sandbox(job: SandboxJob) -> dict[str, Any]:
        jobs.append(job)
        return GOOD

    client = SandboxClient(sandbox)
    own_problem = PROBLEM | {"grader_files": [["run", "echo 1"]]}
    assert await run_submission(client, own_problem, "1", "code", "x") == ("1\n", "Output is correct\n")
    assert (jobs[0].run_timeout, jobs[0].memory_limit) == (4.5, 1 << 28)
    assert jobs[0].files["run"] == "echo 1" and "g++" in jobs[0].files["compile"]
    await score_submission(client, ROW, "code", submission_language="python")
    assert jobs[-1].files["compile"].startswith("export PISTON_LANGUAGE=python3\n")


def test_open_r1_docs_example_runs(tmp_path: Path) -> None:
    example = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs/open_r1.md").read_text(), re.M | re.S)[-1]
    python_path = ":".join([str(ROOT), *sys.path])
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "TMPDIR": str(tmp_path), "PYTHONPATH": python_path}
    completed = subprocess.run(
        [sys.executable, "-c", example], env=environment, capture_output=True, text=True, check=False
    )
    assert (completed.stdout, completed.returncode) == ("AC 100.0\n", 0), completed.stderr
