"""Contents that a worker caches by hash: uploads, jobs that use them, and attacks."""

from __future__ import annotations

import asyncio
import errno
import gzip
import hashlib
import zlib
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from server_helpers import API, Caller
from support.clocks import FastForwardClock
from support.plugins import needs_plugin
from support.waiting import until

from ioi_eval import EmbeddedEngine, Store
from ioi_eval.errors import InputError
from ioi_eval.model.secret import Secret
from ioi_eval.models import Ending, JobResult
from ioi_eval.server import Server, ServerOptions, serve
from ioi_eval.server.contents import ContentCache
from ioi_eval.store.contents import BlobCache, BlobWriter

TEXT = b"1 2 3\n" * 1000
ROOM = 100_000


def name_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


NAME = name_of(TEXT)


def inside(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def at(name: str) -> str:
    return f"{API}/contents/{name}"


def naming(script: str, *names: str) -> dict[str, Any]:
    """Return a job with contents as the files 0, 1, ..."""
    files = [{"name": str(index), "sha256": name} for index, name in enumerate(names)]
    return {"language": "bash", "version": "*", "files": [{"name": "run", "content": script}, *files]}


class Client(Caller):
    async def put(self, content: Any, name: str, **options: Any) -> tuple[int, Any]:
        return await self._answer("PUT", at(name), {"data": content, **options})

    async def has(self, name: str, **options: Any) -> int:
        return (await self._answer("HEAD", at(name), options))[0]

    async def runs(self, script: str, *names: str) -> tuple[int, Any]:
        return await self.post(f"{API}/execute", json=naming(script, *names))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    cache_folder = tmp_path / "contents"
    cache_folder.mkdir(mode=0o700)
    return cache_folder


@asynccontextmanager
async def client_of(engine: EmbeddedEngine, folder: Path, **options: Any) -> AsyncIterator[Client]:
    server_options = ServerOptions(port=0, **{"max_body": 1 << 20, **options})
    async with (
        Server(engine, server_options, blob_cache=BlobCache(folder, ROOM)) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        yield Client(session)


@pytest.fixture
async def call(engine: EmbeddedEngine, place: Path) -> AsyncIterator[Client]:
    async with client_of(engine, place) as client:
        yield client


# --- use -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [lambda data: data, gzip.compress])
async def test_job_can_use_uploaded_content_by_name(call: Client, pack: Any) -> None:
    assert await call.has(NAME) == 404
    packed = pack(TEXT)
    encoding = {"Content-Encoding": "gzip"} if packed != TEXT else {}
    assert (await call.put(packed, NAME, headers=encoding))[0] == 201
    assert await call.has(NAME) == 200
    _, reply = await call.runs("sha256sum < 0; cmp 0 1 && ls", NAME, NAME)
    assert reply["run"]["stdout"] == f"{NAME}  -\n0\n1\nrun\n"
    counts = await call.counts()
    assert counts["ioi_eval_contents_bytes"] == len(TEXT)
    assert counts['ioi_eval_contents_total{event="received"}'] == 1
    assert counts['ioi_eval_contents_total{event="used"}'] == 2


async def test_content_is_uploaded_in_chunks(call: Client) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(TEXT), 1000):
            yield TEXT[start : start + 1000]

    assert (await call.put(pieces(), NAME))[0] == 201
    _, reply = await call.runs("sha256sum < 0", NAME)
    assert reply["run"]["stdout"] == f"{NAME}  -\n"


async def test_uploaded_content_is_executable_only_if_job_marks_it(call: Client) -> None:
    script = b"#!/bin/sh\necho it runs\n"
    await call.put(script, name_of(script))
    request = naming("./0; test -x 1 || echo no program", name_of(script), name_of(script))
    request["files"][1]["executable"] = True
    _, reply = await call.post(f"{API}/execute", json=request)
    assert reply["run"]["stdout"] == "it runs\nno program\n"


async def test_job_with_missing_contents_gets_409_with_list(call: Client) -> None:
    await call.put(TEXT, NAME)
    missing_names = [name_of(b"a"), name_of(b"b")]
    status, reply = await call.runs("cat 0", NAME, *missing_names)
    assert status == 409
    assert reply["missing"] == sorted(missing_names)
    assert "PUT" in reply["message"]
    assert (await call.counts())['ioi_eval_contents_total{event="lacking"}'] == 2


async def test_least_recently_used_contents_are_evicted_first(call: Client) -> None:
    contents = [bytes([65 + number]) * (ROOM // 3) for number in range(4)]
    for content in contents[:3]:
        assert (await call.put(content, name_of(content)))[0] == 201
    assert await call.has(name_of(contents[0])) == 200  # marks the content as used
    assert (await call.put(contents[3], name_of(contents[3])))[0] == 201
    assert [await call.has(name_of(content)) for content in contents] == [200, 404, 200, 200]


async def test_content_of_running_job_is_not_evicted(call: Client, place: Path) -> None:
    large, other = b"a" * (ROOM - 10), b"b" * (ROOM - 10)
    await call.put(large, name_of(large))
    running = asyncio.create_task(call.runs("echo > started; read line < 1; sleep 600", name_of(large)))
    counts: dict[str, float] = {}
    while not counts.get("ioi_eval_jobs_running"):
        counts = await call.counts()
        assert not running.done()
    status, reply = await call.put(other, name_of(other))
    assert (status, "no space" in reply["message"]) == (503, True)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    status = 503
    async with asyncio.timeout(60):
        while status == 503:  # until the earlier job is over
            status, _ = await call.put(other, name_of(other))
    assert (status, await call.has(name_of(large))) == (201, 404)


async def test_concurrent_uploads_of_same_content_are_stored_once(call: Client, place: Path) -> None:
    answers = await asyncio.gather(*(call.put(TEXT, NAME) for _ in range(8)))
    assert {status for status, _ in answers} == {201}
    assert inside(place) == [NAME]
    assert (await call.counts())["ioi_eval_contents_bytes"] == len(TEXT)


async def test_worker_without_content_cache_answers_like_piston(engine: EmbeddedEngine) -> None:
    async with (
        Server(engine, ServerOptions(port=0)) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        call = Client(session)
        assert (await call.has(NAME), (await call.put(TEXT, NAME))[0]) == (404, 404)
        assert "contents" not in (await call.get("/healthz"))[1]
        status, reply = await call.runs("cat 0", NAME)
        assert (status, reply["message"]) == (400, "files[1].content is required as a string")


# --- attacks ---------------------------------------------------------------------------------------------


async def test_contents_require_token(engine: EmbeddedEngine, place: Path) -> None:
    async with client_of(engine, place, token=Secret("right")) as call:
        mine = {"headers": {"Authorization": "Bearer right"}}
        assert (await call.put(TEXT, NAME, **mine))[0] == 201
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            assert await call.has(NAME, headers=headers) == 401  # the same reply as for missing content
            assert await call.has(name_of(b"nothing"), headers=headers) == 401
            assert (await call.put(b"x", name_of(b"x"), headers=headers))[0] == 401
        assert inside(place) == [NAME]


async def test_contents_refuse_requests_of_foreign_pages(call: Client) -> None:
    for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example:2000"}):
        assert await call.has(NAME, headers=headers) == 403
        assert (await call.put(TEXT, NAME, headers=headers))[0] == 403
    assert await call.has(NAME) == 404


async def test_job_cannot_change_large_linked_content(engine: EmbeddedEngine, place: Path) -> None:
    server_options, large = ServerOptions(port=0), b"0" * (17 << 20)
    async with (
        Server(engine, server_options, blob_cache=BlobCache(place, 64 << 20)) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        call = Client(session)
        assert (await call.put(large, name_of(large)))[0] == 201
        spoiling = (
            "(echo 1 > 0; echo 2 >> 0; truncate -s 0 0; chmod 777 0; dd if=/dev/zero of=0 count=1; rm 0) 2>&1"
        )
        await call.runs(spoiling, name_of(large))
        _, reply = await call.runs("sha256sum < 0", name_of(large))
        assert reply["run"]["stdout"] == f"{name_of(large)}  -\n"


async def test_kept_file_of_job_is_usable_by_name_and_fetchable(call: Client) -> None:
    script = "printf '%03000d' 7 > made; ln -s made link; mkdir folder"
    request = naming(script) | {"keep": ["made", "link", "folder", "none"]}
    _, reply = await call.post(f"{API}/execute", json=request)
    name = name_of(b"0" * 2999 + b"7")
    assert reply["kept"] == {"made": {"sha256": name, "size": 3000}}
    assert await call.get(at(name)) == (200, "0" * 2999 + "7")
    assert (await call.get(at(NAME)))[0] == 404
    _, reply = await call.runs("tail -c 1 0", name)
    assert reply["run"]["stdout"] == "7"
    assert "kept" not in reply
    assert (await call.counts())['ioi_eval_contents_total{event="made"}'] == 1


@pytest.mark.parametrize("capacity", [0, 4, 100])
async def test_kept_file_is_moved_into_cache_or_deleted(place: Path, tmp_path: Path, capacity: int) -> None:
    program = tmp_path / "made"
    program.write_bytes(b"a program")
    contents = ContentCache(BlobCache(place, capacity) if capacity else None, 1000, Counter())
    stored = await contents.store_programs(JobResult(run=Ending(), kept={"program": str(program)}))
    assert not program.exists() and list(stored.stayed) == (["program"] if capacity == 100 else [])
    assert (stored.kept, inside(place)) == ({}, [name_of(b"a program")] if capacity == 100 else [])


async def test_list_of_kept_programs_is_cleaned_up_only_after_many_additions(
    place: Path, tmp_path: Path
) -> None:
    """Otherwise each further program would check all stored programs."""
    looks = list[str]()

    class Looked(BlobCache):
        def has(self, name: str) -> bool:
            looks.append(name)
            return super().has(name)

    contents = ContentCache(Looked(place, 1000), 1000, Counter())
    for number in range(64):
        (tmp_path / "made").write_bytes(b"%d" % number)
        await contents.store_programs(JobResult(run=Ending(), kept={"program": str(tmp_path / "made")}))
    assert 0 < len(looks) < 2 * 64


async def test_kept_file_larger_than_cache_is_dropped(call: Client, place: Path) -> None:
    request = naming(f"head -c {ROOM + 1} /dev/zero > made") | {"keep": ["made"]}
    status, reply = await call.post(f"{API}/execute", json=request)
    assert (status, "kept" in reply, inside(place)) == (200, False, [])


async def test_full_disk_drops_kept_file_and_not_result(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sandboxes are in memory, but contents are on a disk that may be full."""

    def elsewhere(source: str, target: Path) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    def copied(source: str, target: Path) -> None:
        target.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("ioi_eval.store.contents.os.link", elsewhere)
    monkeypatch.setattr("ioi_eval.store.contents.shutil.copyfile", copied)
    program = tmp_path / "made"
    program.write_bytes(b"a program")
    contents = ContentCache(BlobCache(place, ROOM), 1000, Counter())
    result = await contents.store_programs(JobResult(run=Ending(stdout="7"), kept={"program": str(program)}))
    assert (result.run.stdout, result.stayed, inside(place), program.exists()) == ("7", {}, [], False)


@pytest.mark.parametrize("keep", ["made", [1], {"made": "x"}])
async def test_invalid_keep_list_is_refused(call: Client, keep: Any) -> None:
    status, reply = await call.post(f"{API}/execute", json=naming("true") | {"keep": keep})
    assert (status, reply["message"]) == (400, "keep must be an array of strings")


async def test_kept_name_outside_job_folder_is_refused(call: Client, place: Path) -> None:
    for name in ("../made", "/etc/passwd", "a/../../b", ""):
        status, reply = await call.post(f"{API}/execute", json=naming("true") | {"keep": [name]})
        assert (status, "cannot be a file's name" in reply["message"], inside(place)) == (400, True, [])


async def test_worker_without_content_cache_ignores_field_keep(
    engine: EmbeddedEngine,
) -> None:
    async with Server(engine, ServerOptions(port=0)) as server, aiohttp.ClientSession(server.url) as session:
        status, reply = await Client(session).run("echo 1 > made", keep=["made"])
        assert (status, "kept" in reply) == (200, False)


async def test_uploaded_content_cannot_be_read_or_deleted_over_http(call: Client) -> None:
    await call.put(TEXT, NAME)
    assert (await call.get(at(NAME)))[0] == 404
    assert (await call.delete(at(NAME), headers={"Content-Type": "application/json"}))[0] == 404
    assert await call.has(NAME) == 200


@pytest.mark.parametrize(
    "name", ["..%2fowner", "%2e%2e%2fowner", NAME.upper(), NAME[:-1], f"{NAME}0", "part-1"]
)
async def test_invalid_content_hash_is_refused(call: Client, name: str) -> None:
    assert (await call.put(TEXT, name))[0] == 404
    status, reply = await call.runs("cat 0", name)
    assert (status, reply["message"]) == (400, "files[1].content is required as a string")


async def test_content_with_wrong_hash_is_refused(call: Client, place: Path) -> None:
    status, reply = await call.put(b"poison", NAME)
    assert (status, name_of(b"poison") in reply["message"]) == (400, True)
    assert (await call.has(NAME), inside(place)) == (404, [])
    await call.put(TEXT, NAME)
    await call.put(b"poison", NAME)
    _, reply = await call.runs("sha256sum < 0", NAME)
    assert reply["run"]["stdout"] == f"{NAME}  -\n"


async def test_interrupted_upload_leaves_no_content(call: Client, place: Path) -> None:
    going_on = asyncio.Event()

    async def half() -> AsyncIterator[bytes]:
        yield TEXT[:3000]
        going_on.set()
        await asyncio.sleep(600)

    sending = asyncio.create_task(call.put(half(), NAME))
    await going_on.wait()
    await until(lambda: any(part.stat().st_size for part in place.iterdir()))
    assert await call.has(NAME) == 404
    assert (await call.runs("cat 0", NAME))[0] == 409
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)
    await until(lambda: not inside(place))
    assert (await call.put(b"x" * ROOM, name_of(b"x" * ROOM)))[0] == 201  # all the space is free again


@pytest.mark.parametrize("claimed", [True, False])
async def test_gzip_bomb_upload_is_refused(call: Client, place: Path, claimed: bool) -> None:
    bomb = zlib.compressobj(9, wbits=31)
    packed = bomb.compress(bytes(8 << 20)) + bomb.flush()

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(packed), 4096):
            yield packed[start : start + 4096]

    content = packed if claimed else pieces()
    status, reply = await call.put(content, NAME, headers={"Content-Encoding": "gzip"})
    assert (status, "too large" in reply["stack"]) == (400, True)
    assert inside(place) == []


@needs_plugin("sandbox_fusion")
async def test_slow_upload_is_refused_with_408(call: Client) -> None:
    """For contents and for jobs."""
    clock = FastForwardClock()

    async def trickle() -> AsyncIterator[bytes]:
        for _ in range(6000):
            yield b"x"
            await clock.advance(10.0)

    status, reply = await call.put(trickle(), NAME)
    assert (status, reply["message"]) == (408, "the request's body arrives too slowly")
    posted = await call.post("/run_code", data=trickle(), headers={"Content-Type": "application/json"})
    assert posted[0] == 408


async def test_concurrent_uploads_of_contents_are_limited(call: Client, place: Path) -> None:
    can_end = asyncio.Event()

    async def half() -> AsyncIterator[bytes]:
        yield TEXT[:3000]
        await can_end.wait()
        yield TEXT[3000:]

    uploads = [asyncio.create_task(call.put(half(), NAME)) for _ in range(16)]
    await until(lambda: len(inside(place)) == 16)
    assert (await call.put(TEXT, NAME))[0] == 503
    can_end.set()
    assert [status for status, _ in await asyncio.gather(*uploads)] == [201] * 16
    assert (await call.put(TEXT, NAME))[0] == 201


async def test_content_named_many_times_counts_for_job_size(call: Client) -> None:
    await call.put(b"x" * ROOM, name_of(b"x" * ROOM))
    status, reply = await call.runs("ls", *(name_of(b"x" * ROOM) for _ in range(20)))
    assert (status, "too large" in reply["stack"]) == (400, True)


SPOILING = """
chmod u+w 0; echo poison > 0; truncate -s 3 0; chmod 000 0; ln -f 0 1 && rm 0
exec 3<> 0; echo poison >&3; echo done
"""


async def test_job_changes_only_its_copy_of_content(call: Client) -> None:
    await call.put(TEXT, NAME)
    _, reply = await call.runs(SPOILING, NAME)
    assert "done" in reply["run"]["stdout"]
    _, reply = await call.runs("sha256sum < 0; stat -c %a 0", NAME)
    assert reply["run"]["stdout"] == f"{NAME}  -\n644\n"


async def test_job_cannot_read_contents_it_does_not_name(call: Client, place: Path) -> None:
    secret = b"the secret of another's test, 7e1f9\n" * 100
    await call.put(secret, name_of(secret))
    look = (
        f"ls {place} {place.parent}; cat {place}/{name_of(secret)}; "
        "for f in /proc/*/fd/* /dev/shm/* /tmp/* ./*; do [ -f $f ] && head -c 40 $f; done; true"
    )
    _, reply = await call.runs(look)
    assert "7e1f9" not in reply["run"]["stdout"]
    assert name_of(secret) not in reply["run"]["stdout"]


@needs_plugin("sandbox_fusion")
async def test_hash_in_source_or_input_of_job_is_not_replaced_by_content(call: Client) -> None:
    """Sources, arguments and inputs are text. SandboxFusion's API cannot name contents either."""
    await call.put(TEXT, NAME)
    _, reply = await call.run(f'cat; echo "$@" # {{"sha256": "{NAME}"}}', stdin=f'{{"sha256": "{NAME}"}}')
    assert reply["run"]["stdout"] == f'{{"sha256": "{NAME}"}}\n\n'
    request = {"code": "cat 0; ls", "language": "bash", "files": {"0": {"sha256": NAME}}}
    assert (await call.post("/run_code", json=request))[0] == 422


async def test_draining_worker_refuses_contents(engine: EmbeddedEngine, place: Path) -> None:
    async with (
        Server(engine, ServerOptions(port=0), blob_cache=BlobCache(place, ROOM)) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        await server.drain()
        assert (await Client(session).put(TEXT, NAME))[0] == 503


def test_content_is_refused_if_the_disk_is_full(place: Path) -> None:
    depot = BlobCache(place, ROOM)
    with Path("/dev/full").open("wb", buffering=0) as stream:
        assert not BlobWriter(depot, NAME, place / "part", stream).write(TEXT)


async def test_contents_folder_option_selects_folder(store: Store, tmp_path: Path) -> None:
    contents_folder = tmp_path / "there"
    with pytest.raises(InputError, match=r"contents_folder.*the folder is not writable"):
        async with serve(store=store, options=ServerOptions(port=0, contents_folder=str(contents_folder))):
            raise AssertionError("a worker without a place for contents is none")
    contents_folder.mkdir()
    async with serve(
        store=store, options=ServerOptions(port=0, contents_folder=str(contents_folder)), slots=1
    ):
        assert any(contents_folder.iterdir())
    assert not any(contents_folder.rglob("kept"))
