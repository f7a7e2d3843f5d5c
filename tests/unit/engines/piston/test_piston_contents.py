"""Contents that are sent to a worker once, and workers that do not accept them."""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import msgspec
import pytest
from aiohttp import web
from piston_loopback import Loopback, sender
from piston_loopback import known as known_server
from support.servers import EndpointReport, read_metrics

from ioi_eval import EmbeddedEngine, Store
from ioi_eval.engines.jobs.http_delivery import GzipCache
from ioi_eval.engines.piston import contents as contents_module
from ioi_eval.engines.piston.contents import Server as Endpoint
from ioi_eval.errors import EngineError, JobRejected
from ioi_eval.models import Blob, Capabilities, Job, JobFile, JobResult
from ioi_eval.server import Server, ServerOptions
from ioi_eval.server.server import listen_at_address
from ioi_eval.store.contents import BlobCache

NOISE = random.Random(20).randbytes(300_000).hex().encode()
ROOM = 2 << 20
SERVER = Capabilities(name="server", architecture="x86_64", runtimes=("bash",))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    cache_folder = tmp_path / "contents"
    cache_folder.mkdir(mode=0o700)
    return cache_folder


def known_endpoint(server: Server | Loopback | str, capacity: int = ROOM) -> Endpoint:
    """Return an endpoint as after a probe. `room` is its capacity for contents, in bytes."""
    url = server if isinstance(server, str) else server.url
    return known_server(EndpointReport(url=url, contents=capacity))


@asynccontextmanager
async def worker(
    engine: EmbeddedEngine, folder: Path | None, *, port: int = 0, room: int = ROOM
) -> AsyncIterator[Server]:
    depot = None if folder is None else BlobCache(folder, room)
    async with Server(engine, ServerOptions(port=port), blob_cache=depot) as server:
        yield server


async def received_contents(server: Server) -> tuple[float, float]:
    """Return the uploaded contents, and the number of request bytes."""
    counted = await read_metrics(server)
    contents = counted.get('ioi_eval_contents_total{event="received"}', 0)
    return contents, counted["ioi_eval_received_bytes_total"]


async def job(content: bytes = NOISE, script: str = "sha256sum < t/0.in") -> Job:
    """Return a job as for an engine without paths."""
    unpacked = Job(
        files=(
            JobFile(name="run", content=Blob.of(f"{script}\n")),
            JobFile(name="t/0.in", content=Blob.of(content)),
        )
    )
    return await GzipCache().prepare_job_for_sending(unpacked, SERVER)


def told(result: JobResult) -> str:
    assert result.run.code == 0, result.run
    return result.run.stdout.split()[0]


HASH = Blob.of(NOISE).sha256


async def test_content_is_sent_to_worker_once(engine: EmbeddedEngine, place: Path) -> None:
    async with worker(engine, place) as server, sender() as client:
        endpoint = known_endpoint(server)
        for _ in range(3):
            assert told(await client.execute(endpoint, await job())) == HASH
        contents, size = await received_contents(server)
        assert contents == 1
        assert size < len(NOISE) + 6000


async def test_concurrent_jobs_of_two_clients_share_uploaded_content(
    engine: EmbeddedEngine, place: Path
) -> None:
    async with worker(engine, place) as server, sender() as first_client, sender() as two:
        shipped_job = await job()
        results = await asyncio.gather(
            *(
                client.execute(endpoint, shipped_job)
                for client in (first_client, two)
                for endpoint in [known_endpoint(server)]
                for _ in range(6)
            )
        )
        assert {told(result) for result in results} == {HASH}
        contents, _ = await received_contents(server)
        assert contents <= 2  # never twice by the same client
        assert told(await first_client.execute(known_endpoint(server), shipped_job)) == HASH
        assert (await received_contents(server))[0] == contents  # the second client asks, and need not send


async def test_content_evicted_by_worker_is_sent_again(engine: EmbeddedEngine, place: Path) -> None:
    async with worker(engine, place) as server, sender() as client:
        endpoint = known_endpoint(server)
        await client.execute(endpoint, await job())
        async with aiohttp.ClientSession() as session:
            other = Blob.of(b"x" * (ROOM - 10))
            path = f"{server.url}/api/v2/contents/{other.sha256}"
            async with session.put(path, data=other.read()) as reply:
                assert reply.status == 201
        assert told(await client.execute(endpoint, await job())) == HASH
        assert (await read_metrics(server))['ioi_eval_contents_total{event="lacking"}'] == 1
        assert (await received_contents(server))[0] == 3


async def test_content_is_sent_again_after_worker_restart(engine: EmbeddedEngine, place: Path) -> None:
    (elsewhere := place / "after").mkdir(mode=0o700)
    async with sender() as client:
        async with worker(engine, place) as server:
            endpoint = known_endpoint(server)
            await client.execute(endpoint, await job())
        async with worker(engine, elsewhere, port=server.port) as restarted:
            assert told(await client.execute(endpoint, await job())) == HASH
            assert (await received_contents(restarted))[0] == 1


async def test_worker_replaced_by_version_without_cache_gets_contents_inside_jobs(
    engine: EmbeddedEngine, place: Path
) -> None:
    async with sender() as client:
        async with worker(engine, place) as server:
            endpoint = known_endpoint(server)
            await client.execute(endpoint, await job())
        async with worker(engine, None, port=server.port) as older:
            assert told(await client.execute(endpoint, await job())) == HASH
            assert told(await client.execute(endpoint, await job())) == HASH
            assert client.get_contents(endpoint).max_bytes == 0
            # Half of the noise, sent twice, packed and in base64.
            assert (await received_contents(older))[1] > len(NOISE)


async def test_worker_without_content_cache_gets_contents_inside_jobs(engine: EmbeddedEngine) -> None:
    async with worker(engine, None) as server, sender() as client:
        endpoint = known_endpoint(server)
        assert told(await client.execute(endpoint, await job())) == HASH
        assert client.get_contents(endpoint).max_bytes == 0


async def test_stock_piston_gets_contents_inside_jobs() -> None:
    async with Loopback() as piston, sender() as client:
        shipped_job = await job()
        await client.execute(known_endpoint(piston, 0), shipped_job)
        assert [file.name for file in piston.executed[0].files] == ["run", "t/0.in.gz"]


@pytest.mark.parametrize("capacity", [len(NOISE) // 2, len(NOISE) + 10])
async def test_job_carries_contents_if_worker_cache_is_too_small(
    engine: EmbeddedEngine, place: Path, capacity: int
) -> None:
    """The client uploads contents only if half of the announced capacity is enough.

    Here the announcement is too high.
    """
    async with worker(engine, place, room=capacity) as server, sender() as client:
        endpoint = known_endpoint(server, ROOM if capacity < len(NOISE) else capacity)
        assert told(await client.execute(endpoint, await job())) == HASH
        assert told(await client.execute(endpoint, await job())) == HASH
        contents, _ = await received_contents(server)
        assert contents == 0
        assert client.get_contents(endpoint).max_bytes


async def test_full_worker_cache_is_retried_after_a_minute(
    engine: EmbeddedEngine, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock_seconds = 1000.0
    monkeypatch.setattr(contents_module, "monotonic", lambda: clock_seconds)
    depot = BlobCache(place, ROOM)
    async with Server(engine, ServerOptions(port=0), blob_cache=depot) as server, sender() as client:
        endpoint = known_endpoint(server)
        depot.reserve(ROOM)
        assert told(await client.execute(endpoint, await job())) == HASH
        depot.release_reserved_bytes(ROOM)
        assert told(await client.execute(endpoint, await job())) == HASH
        assert (await received_contents(server))[0] == 0
        clock_seconds += 61
        assert told(await client.execute(endpoint, await job())) == HASH
        assert (await received_contents(server))[0] == 1


async def test_small_content_is_sent_inside_job(engine: EmbeddedEngine, place: Path) -> None:
    async with worker(engine, place) as server, sender() as client:
        await client.execute(known_endpoint(server), await job(b"1 2 3\n" * 1000))
        assert (await received_contents(server))[0] == 0


async def test_first_script_is_sent_inside_job_whatever_its_size(engine: EmbeddedEngine, place: Path) -> None:
    script = JobFile(name="run", content=Blob.of(f"echo {HASH} # {NOISE.decode()[:100_000]}\n"))
    async with worker(engine, place) as server, sender() as client:
        assert told(await client.execute(known_endpoint(server), Job(files=(script,)))) == HASH
        assert (await received_contents(server))[0] == 0


async def test_large_file_of_single_job_is_uploaded_before_the_job(
    engine: EmbeddedEngine, place: Path
) -> None:
    """The file is an output that only this job has. In a request, its bytes would grow by a third."""
    program = Blob.of(random.Random(3).randbytes(100_000))
    files = (JobFile(name="run", content=Blob.of("cksum made\n")), JobFile(name="made", content=program))
    async with worker(engine, place) as server, sender() as client:
        assert told(await client.execute(known_endpoint(server), Job(files=files)))
        contents, size = await received_contents(server)
        assert contents == 1 and size < program.size + 6000


@pytest.fixture
def packages() -> Iterator[Path]:
    """A folder with a package whose scripts print with which files they were started."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as base:  # sandboxes cannot see /tmp
        folder = Path(base, "greet", "1.0.0")
        folder.mkdir(parents=True)
        for entry in (Path(base), folder.parent):
            entry.chmod(0o755)
        (folder / "pkg-info.json").write_text(json.dumps({"language": "greet", "version": "1.0.0"}))
        (folder / ".ppman-installed").touch()
        (folder / "compile").write_text('echo "$@"\n')
        (folder / "run").write_text('head -c 5 "$1"; echo " $@"\n')
        yield Path(base)


@pytest.mark.parametrize("keeps_contents", [True, False])
async def test_package_on_worker_gets_large_text_files(
    store: Store, place: Path, packages: Path, keeps_contents: bool
) -> None:
    """As with files in the request: the first text file is the main file, and compilers get all files."""
    files = (
        JobFile(name="data", content=Blob.of(random.Random(3).randbytes(40_000))),
        JobFile(name="main", content=Blob.of("first" * 10_000)),
        JobFile(name="library", content=Blob.of("second" * 10_000)),
    )
    async with (
        EmbeddedEngine(store=store, slots=1, packages=(packages,)) as engine,
        worker(engine, place) as server,
        sender() as client,
    ):
        endpoint = known_endpoint(server, ROOM if keeps_contents else 0)
        result = await client.execute(endpoint, Job(files=files, runtime="greet", args=("x",)))
        assert result.compile is not None and result.compile.stdout == "main library\n"
        assert result.run.stdout == "first main x\n"
        assert (await received_contents(server))[0] == (3 if keeps_contents else 0)


async def test_file_changed_on_disk_is_job_rejected(
    engine: EmbeddedEngine, place: Path, tmp_path: Path
) -> None:
    test = tmp_path / "test"
    test.write_bytes(NOISE)
    # As from a client that does not check the file's time.
    content = msgspec.structs.replace(Blob.of_file(test), stamp=0)
    test.write_bytes(NOISE[::-1])
    unpacked = Job(
        files=(
            JobFile(name="run", content=Blob.of("true")),
            JobFile(name="t/0.in", content=content),
        )
    )
    async with worker(engine, place) as server, sender() as client:
        shipped = await GzipCache().prepare_job_for_sending(unpacked, SERVER)
        with pytest.raises(JobRejected, match=f", not {content.sha256}"):
            await client.execute(known_endpoint(server), shipped)


async def test_worker_dying_during_upload_is_engine_error() -> None:
    async def has(request: web.Request) -> web.Response:
        return web.Response(status=404)

    async def dies(request: web.Request) -> web.Response:
        await request.content.readany()
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    application = web.Application()
    path = f"/api/v2/contents/{HASH}"
    application.add_routes([web.head(path, has), web.put(path, dies)])
    async with listen_at_address(application, ServerOptions(port=0)) as url, sender() as client:
        with pytest.raises(EngineError, match="closed the connection early"):
            await client.execute(known_endpoint(url), await job())
