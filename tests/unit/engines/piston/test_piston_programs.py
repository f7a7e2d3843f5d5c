"""Programs that stay on the workers that built them: transfers, downloads and rebuilds."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from piston_loopback import QUICK, Client, sender
from piston_loopback import known as known_server
from support.builds import submitted
from support.command_line import RIGHT
from support.engines import submission_recipe
from support.servers import EndpointReport, FixedServers, read_metrics

from ioi_eval import EmbeddedEngine, PistonEngine, Scorer, Store
from ioi_eval.engines.contract import (
    ArtifactsLost,
    BuildSpec,
    BuildSuccess,
    SharedBuild,
    WorkerArtifact,
)
from ioi_eval.engines.jobs.runner import open_test_runner
from ioi_eval.engines.piston.contents import Server as Endpoint
from ioi_eval.models import (
    Blob,
    BuildLimits,
    BuildOptions,
    Job,
    JobFile,
    Limits,
    NamedBlob,
    Problem,
    Submission,
    Subtask,
    Test,
)
from ioi_eval.server import Server, ServerOptions
from ioi_eval.store.contents import BlobCache

ROOM = 64 << 20
TESTS = {"1": "1 2", "2": "30 4"}
PROBLEM = Problem(
    id="add",
    limits=Limits(cpu_time=2.0, memory=1 << 28),
    tests=tuple(
        Test(name=name, input=Blob.of(words), answer=Blob.of(str(sum(map(int, words.split())))))
        for name, words in TESTS.items()
    ),
    subtasks=(Subtask(name="all", points=100, tests=tuple(TESTS)),),
)
USED = 'ioi_eval_contents_total{event="used"}'
MADE = 'ioi_eval_contents_total{event="made"}'
RECEIVED = 'ioi_eval_contents_total{event="received"}'


class Workers:
    """Starts workers, each with an empty content cache."""

    def __init__(self, engine: EmbeddedEngine, folder: Path, stack: AsyncExitStack) -> None:
        self._engine, self._folder, self._stack, self._count = engine, folder, stack, 0

    async def start(self, *, port: int = 0, room: int = ROOM) -> Server:
        self._count += 1
        cache_folder = self._folder / f"contents-{self._count}"
        cache_folder.mkdir(mode=0o700)
        server = Server(self._engine, ServerOptions(port=port), blob_cache=BlobCache(cache_folder, room))
        return await self._stack.enter_async_context(server)


@pytest.fixture
async def workers(engine: EmbeddedEngine, tmp_path: Path) -> AsyncIterator[Workers]:
    async with AsyncExitStack() as stack:
        yield Workers(engine, tmp_path, stack)


# --- judging ---------------------------------------------------------------------------------------------


def submission() -> Submission:
    """Return a submission that is in no build cache.

    It does not start with includes. Otherwise a worker would precompile them in the background, which
    would count as a created content.
    """
    mark = f"volatile unsigned n = {secrets.randbits(32)}u;\n"
    return Submission(key="1", problem_id="add", code=mark + RIGHT, language="c++")


@asynccontextmanager
async def scorer(store: Store, server: Server) -> AsyncIterator[Scorer]:
    engine, trusted = PistonEngine(FixedServers([server.url]), patience=QUICK), EmbeddedEngine(store=store)
    async with Scorer(engine, store=store, trusted=trusted) as opened:
        await opened.prepare(PROBLEM)
        yield opened


@pytest.mark.usefixtures("quick_probes")
async def test_built_program_stays_on_worker_for_later_run(workers: Workers, store: Store) -> None:
    server, program = await workers.start(), submission()
    async with scorer(store, server) as client:
        await client.score(PROBLEM, submission())  # afterwards all shared contents are on the worker
        metrics_before = await read_metrics(server)
        assert (await client.score(PROBLEM, program)).points == 100
        metrics_after = await read_metrics(server)
    ways = ("ioi_eval_sent_bytes_total", "ioi_eval_received_bytes_total")
    assert sum(metrics_after[way] - metrics_before[way] for way in ways) < 100_000, (
        "the program, which is larger, was not transferred"
    )
    async with scorer(store, server) as client:
        assert (await client.score(PROBLEM, program)).points == 100
    assert (metrics_after[MADE], (await read_metrics(server))[MADE]) == (2, 2)


@pytest.mark.usefixtures("quick_probes")
async def test_program_lost_by_worker_is_built_again(workers: Workers, store: Store) -> None:
    first, program = await workers.start(), submission()
    async with scorer(store, first) as client:
        await client.score(PROBLEM, program)
    await first.__aexit__(None, None, None)
    second = await workers.start(port=first.port)
    async with scorer(store, second) as client:
        assert (await client.score(PROBLEM, program)).points == 100
        assert (await read_metrics(second)).get(MADE, 0) == 0, "after a loss the program goes to the client"
        assert (await client.score(PROBLEM, submission())).points == 100
        assert (await read_metrics(second))[MADE] == 1


@pytest.mark.usefixtures("quick_probes")
async def test_program_is_sent_with_job_if_worker_cache_is_too_small(workers: Workers, store: Store) -> None:
    server = await workers.start(room=100_000)
    async with scorer(store, server) as client:
        assert (await client.score(PROBLEM, submission())).points == 100
    assert (await read_metrics(server)).get(MADE, 0) == 0


@pytest.mark.usefixtures("quick_probes")
async def test_compile_error_on_worker_is_reported(workers: Workers, store: Store) -> None:
    server = await workers.start()
    async with scorer(store, server) as client:
        wrong = Submission(key="1", problem_id="add", code="int main() { return x; }\n", language="c++")
        result = await client.score(PROBLEM, wrong)
    assert (result.compiles, result.points) == (False, 0)
    assert "was not declared" in result.compile_output


# --- a single job ----------------------------------------------------------------------------------------


def known(server: Server) -> Endpoint:
    return known_server(EndpointReport(url=server.url, contents=ROOM, keeps_programs=True))


BUILD = Job(
    files=(
        JobFile(name="compile", content=Blob.of("printf '#!/bin/sh\\necho %070000d\\n' 7 > made\n")),
        JobFile(name="run", content=Blob.of("cat made\n")),
    ),
    keep=("made",),
)
RECIPE = BuildSpec(
    kind="submission",
    output="made",
    command=("g++",),
    sources=(NamedBlob(name="a", content=Blob.of("")),),
    control=NamedBlob(name="b", content=Blob.of("")),
    limits=BuildLimits(),
)


async def built(client: Client, endpoint: Endpoint) -> Job:
    """Return a job that starts the program that a build left on the worker."""
    artifact = (await client.execute(endpoint, BUILD)).stayed["made"]
    far = WorkerArtifact(
        sha256=artifact.sha256, size=artifact.size, at=endpoint.url, spec=RECIPE, toolchain="x"
    )
    script = JobFile(name="run", content=Blob.of("./made | tail -c 3\n"))
    program = JobFile(name="made", content=far, executable=True)
    return Job(files=(script, program))


async def test_second_worker_fetches_program_from_builder(workers: Workers) -> None:
    builder, two = await workers.start(), await workers.start()
    async with sender() as client:
        builder_endpoint, second_endpoint = known(builder), known(two)
        job = await built(client, builder_endpoint)
        for server in (builder_endpoint, second_endpoint, second_endpoint):
            assert (await client.execute(server, job)).run.stdout == "07\n"
    assert (await read_metrics(builder)).get(RECEIVED, 0) == 0
    assert (await read_metrics(two))[RECEIVED] == 1


async def test_worker_without_cache_gets_program_with_job(workers: Workers, engine: EmbeddedEngine) -> None:
    server = await workers.start()
    async with sender() as client, Server(engine, ServerOptions(port=0)) as two:
        endpoint = known(server)
        job = await built(client, endpoint)
        plain = known_server(EndpointReport(url=two.url))
        # For such a server only the script marks files as executable.
        script = JobFile(name="run", content=Blob.of("chmod +x made; ./made | tail -c 3\n"))
        job = msgspec.structs.replace(job, files=(script, *job.files[1:]))
        assert (await client.execute(plain, job)).run.stdout == "07\n"
        printed = await client.execute(plain, BUILD)
        assert (printed.stayed, printed.run.stdout[:9]) == ({}, "#!/bin/sh")


async def test_program_of_stopped_worker_raises_artifacts_lost(workers: Workers) -> None:
    builder, two = await workers.start(), await workers.start()
    async with sender() as client:
        endpoint = known(builder)
        job = await built(client, endpoint)
        await builder.__aexit__(None, None, None)
        with pytest.raises(ArtifactsLost) as lost:
            await client.execute(known(two), job)
        assert [far.sha256 for far in lost.value.artifacts] == [job.files[1].content.sha256]


# --- builds that workers share -----------------------------------------------------------------------------


def _that_leaves(file: str, script: str) -> Job:
    scripts = (("compile", script), ("run", f"cat {file}\n"))
    return Job(
        files=tuple(JobFile(name=name, content=Blob.of(script_text)) for name, script_text in scripts),
        keep=(file,),
    )


SHARED = SharedBuild(sha256="k", build=_that_leaves("seven", "echo 7 > seven\n"), min_uses=2)
SHARING = _that_leaves("made", "cat */shared 2> /dev/null || echo none; date > made\n")
SHARING = msgspec.structs.replace(
    SHARING, files=(*SHARING.files, JobFile(name="secret/shared", content=SHARED))
)


async def run_and_check_due(client: Client, endpoint: Endpoint) -> tuple[str, bool]:
    """Execute a job. Return its compile output, and True if a shared build must start."""
    result = await client.execute(endpoint, SHARING)
    assert result.compile is not None
    return result.compile.stdout, client.should_build(endpoint, SHARED)


async def test_shared_build_runs_once_on_the_worker_and_later_jobs_use_it(workers: Workers) -> None:
    server = await workers.start()
    async with sender() as client:
        endpoint = known(server)
        assert [await run_and_check_due(client, endpoint) for _ in range(3)] == [
            ("none\n", False),
            ("none\n", True),
            ("none\n", False),
        ]
        await client.run_shared_build(endpoint, SHARED, lambda body: 60.0)
        assert [await run_and_check_due(client, endpoint) for _ in range(2)] == [("7\n", False)] * 2
        await server.__aexit__(None, None, None)
        await workers.start(port=server.port)
        lost = [await run_and_check_due(client, endpoint) for _ in range(2)]
        assert lost == [("none\n", False), ("none\n", True)], "the build was lost, and is due again"
        await client.run_shared_build(endpoint, SHARED, lambda body: 60.0)
        assert await run_and_check_due(client, endpoint) == ("7\n", False)


async def test_jobs_run_without_a_shared_build_that_fails(workers: Workers) -> None:
    server = await workers.start()
    async with sender() as client:
        endpoint = known(server)
        assert [await run_and_check_due(client, endpoint) for _ in range(2)] == [
            ("none\n", False),
            ("none\n", True),
        ]
        broken = msgspec.structs.replace(SHARED, build=_that_leaves("seven", "exit 1\n"))
        await client.run_shared_build(endpoint, broken, lambda body: 60.0)
        assert [await run_and_check_due(client, endpoint) for _ in range(3)] == [("none\n", False)] * 3


async def test_server_that_keeps_no_contents_gets_no_shared_build(engine: EmbeddedEngine) -> None:
    async with sender() as client, Server(engine, ServerOptions(port=0)) as server:
        endpoint = known_server(EndpointReport(url=server.url))
        assert [await run_and_check_due(client, endpoint) for _ in range(3)] == [("none\n", False)] * 3


@pytest.mark.nightly
@pytest.mark.parametrize("includes", [("bits/stdc++.h",), ("iostream", "vector")])
async def test_precompiled_header_on_worker_leaves_artifact_identical(
    workers: Workers, tmp_path: Path, includes: tuple[str, ...]
) -> None:
    server = await workers.start(room=1 << 30)
    begun = "".join(f"#include <{name}>\n" for name in includes)
    code = "int main() { std::vector<int> a(2); std::cin >> a[0] >> a[1]; std::cout << a[0] + a[1]; }\n"
    sources = [f"{begun}{code}int n = {number};\n" for number in range(4)]
    hashes = list[list[str]]()
    for turn, precompiles in enumerate((True, False)):
        engine = PistonEngine(FixedServers([server.url]), patience=QUICK)
        options = BuildOptions(precompile=precompiles)
        async with open_test_runner(engine, Store(tmp_path / str(turn)), options) as tests:
            artifact_hashes = list[str]()
            for number, source in enumerate(sources):
                built = await tests.builder.build(
                    submission_recipe(PROBLEM, submitted(source), BuildLimits())
                )
                assert isinstance(built, BuildSuccess)
                artifact_hashes.append(built.artifact.sha256)
                if precompiles and number == 1:
                    await until_made(server, 3)
            hashes.append(artifact_hashes)
        if precompiles:
            assert (await read_metrics(server))[USED] >= 2
    assert hashes[0] == hashes[1] and len({*hashes[0]}) == 4


async def until_made(server: Server, number: int) -> None:
    async with asyncio.timeout(300):
        while (await read_metrics(server)).get(MADE, 0) < number:  # noqa: ASYNC110 - the worker sends no event
            await asyncio.sleep(0.05)
