"""An engine without paths returns the same verdicts, scores and feedback as the embedded engine."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from borrowed_engine import judge_on
from engine_without_paths import EngineWithoutPaths
from support.folders import examples_folder
from support.servers import FixedServers, Server, ServerOptions

from ioi_eval import EmbeddedEngine, Engine, JudgeOptions, PistonEngine, Store, load_problems
from ioi_eval.models import Problem, Submission, SubmissionResult, Toolchain

# Every task type, checkers of several kinds, two languages, and the ways to fail.
SOLUTIONS: Mapping[str, tuple[str, ...]] = {
    "lanterns": ("other_signature.cpp", "sparse_table.cpp"),
    "banners": ("flat_start.py", "quotes.py", "recursion.py", "sleeps.py"),
    "pumpkins": ("heaviest_first.cpp",),
    "cairn": ("thirds.cpp",),
    "postman": ("by_number", "two_are_missing"),
    "flock": ("sum.cpp",),
    "scales": ("nearly", "no_files.py"),
    "compass": ("halves.py",),
    "calm": ("sorted_window.py", "one_too_far.py"),
}
OPTIONS = JudgeOptions()


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Return an empty store, so that nothing is built in advance."""
    return Store(tmp_path_factory.mktemp("fresh"))


@pytest.fixture(scope="session")
def problems(cache: Path) -> Mapping[str, Problem]:
    return load_problems(examples_folder() / "problems", cache=cache, only=set(SOLUTIONS))


def submissions(problem: Problem) -> list[Submission]:
    solutions = {solution.name: solution for solution in problem.solutions}
    return [
        Submission(
            key=name,
            problem_id=problem.id,
            code=solutions[name].code or None,
            language=solutions[name].language or "c++",
            outputs=solutions[name].outputs,
        )
        for name in SOLUTIONS[problem.id]
    ]


async def judged(
    engine: Engine, store: Store, problems: Mapping[str, Problem], trusted: Engine | None = None
) -> list[SubmissionResult]:
    async with judge_on(engine, store, OPTIONS, trusted=trusted) as judge:
        todo = [(problem, submission) for problem in problems.values() for submission in submissions(problem)]
        return await asyncio.gather(*(judge.judge(problem, submission) for problem, submission in todo))


def essence(result: SubmissionResult) -> tuple[object, ...]:
    """Return a result without times, sizes, and the numbers of them in feedback."""
    tests = [(test.test_name, test.score, test.status, test.feedback.split(" (")[0]) for test in result.tests]
    subtasks = [(subtask.subtask, subtask.weighted_score, subtask.status) for subtask in result.subtasks]
    # Each slot has a different user. Only the embedded engine forks Python's tests, and only it reports this.
    apart = {"uid", "interpreter"}
    confinement = {key: value for key, value in result.confinement.items() if key not in apart}
    details = result.compile_output, result.compiler, result.checker, confinement
    return result.problem_id, result.key, result.compiles, result.points, tests, subtasks, details


def renamed_toolchains(tools: Mapping[str, Toolchain], name: str) -> dict[str, Toolchain]:
    """Return the toolchains with another identity, so that no cached build is used."""
    return {
        command: msgspec.structs.replace(tool, identity=f"{tool.identity} {name}")
        for command, tool in tools.items()
    }


@pytest.fixture(scope="session")
def cached_results() -> list[SubmissionResult]:
    """Return a list that caches the embedded engine's results."""
    return []


@dataclass
class Ground:
    """An embedded engine, and the problems and submissions that are compared with it."""

    engine: EmbeddedEngine
    store: Store
    empty_store: Store
    problems: Mapping[str, Problem]
    cached_results: list[SubmissionResult]

    async def compare(self, engine: Engine) -> None:
        if not self.cached_results:
            self.cached_results.extend(await judged(self.engine, self.store, self.problems))
        got = await judged(engine, self.empty_store, self.problems, trusted=self.engine)
        assert [essence(result) for result in got] == [essence(result) for result in self.cached_results]
        assert any(result.points for result in got)
        assert all("missing" in result.confinement for result in got if result.compiles)


@pytest.fixture
def ground(
    engine: EmbeddedEngine,
    store: Store,
    empty_store: Store,
    problems: Mapping[str, Problem],
    cached_results: list[SubmissionResult],
) -> Ground:
    return Ground(engine, store, empty_store, problems, cached_results)


@pytest.mark.nightly
async def test_every_task_type_is_judged_by_a_worker_over_http(ground: Ground) -> None:
    """It uses the runtime ioi_eval, which has two stages."""
    async with (
        Server(ground.engine, ServerOptions(port=0)) as server,
        PistonEngine(FixedServers([server.url]), per_endpoint=ground.engine.slots) as client,
    ):
        await ground.compare(client)


@pytest.mark.nightly
async def test_every_task_type_is_judged_by_a_server_with_bash_only(ground: Ground) -> None:
    tools = renamed_toolchains((await ground.engine.capabilities()).toolchains, "bash")
    server = EngineWithoutPaths(ground.engine, "bash", toolchains=tools)
    await ground.compare(server)
    assert {job.runtime for job in server.jobs} == {"bash"}


async def test_interpreter_is_started_by_name_if_servers_differ(
    engine: EmbeddedEngine, empty_store: Store, problems: Mapping[str, Problem]
) -> None:
    python = msgspec.structs.replace((await engine.capabilities()).toolchains["python3"], path="python3")
    server = EngineWithoutPaths(engine, "bash", toolchains={"python3": python})
    calm = {"calm": problems["calm"]}
    got = await judged(server, empty_store, calm, trusted=engine)
    assert [essence(result)[:4] for result in got] == [
        ("calm", "sorted_window.py", True, 100.0),
        ("calm", "one_too_far.py", True, 0.0),
    ]


@pytest.mark.nightly
async def test_checkers_are_built_on_server_without_local_engine(
    engine: EmbeddedEngine, store: Store, tmp_path: Path, problems: Mapping[str, Problem]
) -> None:
    postman = {"postman": problems["postman"]}
    server = EngineWithoutPaths(engine, "bash", proctor=(await engine.capabilities()).proctor)
    expected = await judged(engine, store, postman)
    got = await judged(server, Store(tmp_path), postman)
    assert [essence(result) for result in got] == [essence(result) for result in expected]
    assert any(file.name == "checker/checker.cpp" for job in server.jobs for file in job.files)
