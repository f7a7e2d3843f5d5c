"""The replies of a server with an embedded engine. tests/conformance has the recorded samples."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import zlib
from typing import Any

import aiohttp
import msgspec
import pytest
from server_helpers import API, Caller, HeldEngine, job, until_counted
from support.clocks import FastForwardClock
from support.waiting import until

from ioi_eval import EmbeddedEngine, Store
from ioi_eval.engines.embedded import job as embedded_job
from ioi_eval.engines.piston.sending import HEADER, REQUEST
from ioi_eval.errors import BrokenReply, EngineUnavailable, InputError
from ioi_eval.models import Job, JobResult
from ioi_eval.server import Event, Server, ServerOptions

JSON = {"Content-Type": "application/json"}
GZIP = {"Content-Encoding": "gzip"}


async def test_executed_job_reports_output_and_ending(call: Caller) -> None:
    status, reply = await call.run("echo out; echo err >&2; exit 3")
    assert status == 200
    run = reply["run"]
    assert (reply["language"], run["stdout"], run["stderr"]) == ("bash", "out\n", "err\n")
    assert (run["code"], run["signal"], run["status"]) == (3, None, "RE")
    assert run["memory"] > 0 and run["wall_time"] >= 0


async def test_minimal_reply_omits_combined_output(call: Caller) -> None:
    _, full_reply = await call.run("echo out; echo err >&2; exit 3")
    request = job("echo out; echo err >&2; exit 3")
    status, minimal = await call.post(f"{API}/execute", json=request, headers={"Prefer": "return=minimal"})
    assert (status, minimal["run"]["stdout"], minimal["run"]["stderr"]) == (200, "out\n", "err\n")
    assert full_reply["run"].pop("output") == "out\nerr\n"
    assert minimal.keys() == full_reply.keys() and minimal["run"].keys() == full_reply["run"].keys()
    assert minimal["run"]["code"] == 3


async def test_worker_reports_version_health_and_runtimes(call: Caller) -> None:
    status, hello = await call.get("/")
    assert status == 200 and hello["message"].startswith("Piston v3.")
    assert await call.get("/healthz") == (200, {"status": "ok", "slots": 1, "exclusive": True})
    _, runtimes = await call.get(f"{API}/runtimes")
    assert {"ioi_eval", "bash", "cms"} <= {runtime["language"] for runtime in runtimes}


# --- limits ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"run_timeout": 60_001}, "run_timeout cannot exceed the configured limit of 60000"),
        ({"run_memory_limit": 1 << 31}, f"run_memory_limit cannot exceed the configured limit of {1 << 30}"),
        ({"language": "nope"}, "nope-* runtime is unknown"),
        ({"version": "77"}, "bash-77 runtime is unknown"),
    ],
)
async def test_limit_above_configured_limit_is_refused_with_number(
    call: Caller, fields: dict[str, Any], message: str
) -> None:
    assert await call.run("true", **fields) == (400, {"message": message})


async def test_job_without_limits_gets_limits_of_worker(engine: EmbeddedEngine) -> None:
    options = ServerOptions(port=0, run_timeout=300)
    async with Server(engine, options) as server, aiohttp.ClientSession(server.url) as session:
        _, reply = await Caller(session).run("sleep 100", run_timeout=0)
    assert (reply["run"]["status"], reply["run"]["signal"]) == ("TO", "SIGKILL")


async def test_output_over_limit_is_killed_with_ol(call: Caller) -> None:
    _, reply = await call.run("head -c 20000 /dev/zero")
    assert (reply["run"]["status"], reply["run"]["signal"]) == ("OL", "SIGKILL")


@pytest.mark.parametrize(("stream", "status"), [("", "OL"), (">&2", "EL")])
async def test_output_limit_counts_json_escapes(engine: EmbeddedEngine, stream: str, status: str) -> None:
    """A line break has two bytes in JSON, and a NUL has six."""
    options = ServerOptions(port=0, max_output=9000)
    async with Server(engine, options) as server, aiohttp.ClientSession(server.url) as session:
        call = Caller(session)
        _, reply = await call.run(f"yes '' | head -c 9000 {stream}")
        assert reply["run"]["output"] == "\n" * 9000 and reply["run"]["code"] == 0
        _, reply = await call.run(f"head -c 3001 /dev/zero {stream}")
    run = reply["run"]
    assert (run["status"], run["signal"], run["code"]) == (status, "SIGKILL", None)
    assert run["output"] == "\0" * 1500


async def test_large_reply_arrives_complete(store: Store) -> None:
    async with (
        EmbeddedEngine(store=store, slots=1) as engine,
        Server(engine, ServerOptions(port=0)) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        call = Caller(session)
        _, reply = await call.run("seq 200000; seq 5 >&2")
        numbers = "".join(f"{number}\n" for number in range(1, 200_001))
        assert len(numbers) > 1 << 20, "larger than a single chunk"
        assert (reply["run"]["stdout"], reply["run"]["output"]) == (numbers, numbers + "1\n2\n3\n4\n5\n")
        assert (await call.counts())["ioi_eval_sent_bytes_total"] > 2 * len(numbers)


async def test_disconnect_during_large_reply_frees_slot(store: Store) -> None:
    async with (
        EmbeddedEngine(store=store, slots=1) as engine,
        Server(engine, ServerOptions(port=0)) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        async with session.post(f"{API}/execute", json=job("seq 1000000")) as reply:
            await reply.content.readany()
            reply.close()
        await until(lambda: server.running_count == 0)
        assert (await Caller(session).run("echo next"))[1]["run"]["stdout"] == "next\n"


# --- bodies ----------------------------------------------------------------------------------------------


def body_of(size: int) -> bytes:
    """Return a job of exactly this size in bytes."""
    empty = len(json.dumps(job("#")))
    return json.dumps(job("#" + "x" * (size - empty))).encode()


async def test_request_body_may_have_exactly_max_size(call: Caller, options: ServerOptions) -> None:
    status, _ = await call.post(f"{API}/execute", data=body_of(options.max_body), headers=JSON)
    assert status == 200
    status, reply = await call.post(f"{API}/execute", data=body_of(options.max_body + 1), headers=JSON)
    assert status == 400 and reply["stack"].startswith("PayloadTooLargeError")


@pytest.mark.parametrize(("name", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
async def test_compressed_body_counts_by_inflated_size(engine: EmbeddedEngine, name: str, pack: Any) -> None:
    max_body, headers = 1 << 16, JSON | {"Content-Encoding": name}
    options = ServerOptions(port=0, max_body=max_body)
    async with Server(engine, options) as server, aiohttp.ClientSession(server.url) as session:
        call = Caller(session)
        status, reply = await call.post(f"{API}/execute", data=pack(body_of(max_body)), headers=headers)
        assert status == 200, reply
        for size in (max_body + 1, 50 * max_body):
            packed = pack(body_of(size))
            assert len(packed) < max_body / 5
            status, reply = await call.post(f"{API}/execute", data=packed, headers=headers)
            assert status == 400 and reply["stack"].startswith("PayloadTooLargeError")


@pytest.mark.parametrize(
    ("encoding", "data", "message"),
    [("gzip", b"not gzip at all", "cannot be read"), ("lzma", b"{}", "unsupported content encoding")],
)
async def test_undecodable_body_is_refused_with_400(
    call: Caller, encoding: str, data: bytes, message: str
) -> None:
    headers = JSON | {"Content-Encoding": encoding}
    status, reply = await call.post(f"{API}/execute", data=data, headers=headers)
    assert status == 400 and message in reply["stack"]


async def test_last_of_two_files_with_same_name_wins(call: Caller) -> None:
    files = [
        {"name": "run", "content": "cat f"},
        {"name": "f", "content": "1"},
        {"name": "f", "content": "2"},
    ]
    _, reply = await call.run("", files=files)
    assert reply["run"]["stdout"] == "2"


# --- routes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/nothing", f"{API}/nothing", f"{API}/execute"])
async def test_unknown_route_is_404(call: Caller, path: str) -> None:
    assert await call.get(path) == (404, {"message": "Not Found"})


async def test_packages_are_listed_and_not_changed(call: Caller) -> None:
    _, packages = await call.get(f"{API}/packages")
    assert {"language": "bash", "language_version": "5.2.0", "installed": True} in packages
    installed, unknown = {"language": "bash", "version": "5.x"}, {"language": "bash", "version": "77"}
    assert await call.post(f"{API}/packages", json=installed) == (500, {"message": "Already installed"})
    status, reply = await call.delete(f"{API}/packages", json=installed)
    assert status == 500 and "folder of packages" in reply["message"]
    for method in (call.post, call.delete):
        status, reply = await method(f"{API}/packages", json=unknown)
        assert (status, reply) == (404, {"message": "Requested package bash-77 does not exist"})


# --- the queue -------------------------------------------------------------------------------------------


async def test_full_queue_answers_503_with_retry_after(server: Server, call: Caller) -> None:
    """A slot, a queue entry, and a third request."""
    running = asyncio.create_task(call.run("sleep 600"))
    await until(lambda: server.running_count == 1)
    waiting = asyncio.create_task(call.run("echo waited"))
    await until_counted(call, "ioi_eval_jobs_queued", 1)
    async with call.session.post(f"{API}/execute", json=job("true")) as reply:
        assert reply.status == 503 and reply.headers["Retry-After"] == "1"
        assert "slots are busy" in (await reply.json())["message"]
    running.cancel()
    status, reply_of_waiting = await waiting
    assert (status, reply_of_waiting["run"]["stdout"]) == (200, "waited\n")


async def test_request_over_total_body_size_is_refused_with_503(engine: EmbeddedEngine) -> None:
    """A request that waits for a slot holds its body."""
    options = ServerOptions(port=0, queue=9, max_body=1 << 20, max_bodies=1 << 20)
    async with Server(engine, options) as server, aiohttp.ClientSession(server.url) as session:
        call = Caller(session)
        running = asyncio.create_task(call.run("sleep 600"))
        await until(lambda: server.running_count == 1)
        waiting = asyncio.create_task(call.post(f"{API}/execute", data=body_of(1 << 19), headers=JSON))
        await until_counted(call, "ioi_eval_jobs_queued", 1)
        for data, headers in ((body_of(1 << 19), {}), (gzip.compress(body_of(1 << 20)), GZIP)):
            async with session.post(f"{API}/execute", data=data, headers=JSON | headers) as reply:
                assert reply.status == 503 and reply.headers["Retry-After"] == "1"
                assert "their maximum is 1048576" in (await reply.json())["message"]
        running.cancel()
        assert (await waiting)[0] == 200
        assert (await call.post(f"{API}/execute", data=body_of(1 << 20), headers=JSON))[0] == 200


async def test_disconnected_client_cancels_its_job(
    server: Server, call: Caller, engine: EmbeddedEngine
) -> None:
    going = asyncio.create_task(call.run("sleep 600"))
    await until(lambda: server.running_count == 1)
    going.cancel()
    await until(lambda: server.running_count == 0)
    assert (await call.counts())['ioi_eval_jobs_total{outcome="cancelled"}'] == 1
    assert (await call.run("echo next"))[1]["run"]["stdout"] == "next\n"


async def test_draining_worker_finishes_running_jobs_and_refuses_waiting_jobs(
    engine: EmbeddedEngine, options: ServerOptions
) -> None:
    held_engine = HeldEngine(engine)
    async with Server(held_engine, options) as server, aiohttp.ClientSession(server.url) as session:
        call = Caller(session)
        running = asyncio.create_task(call.run("echo finished"))
        await until(lambda: server.running_count == 1)
        waiting = asyncio.create_task(call.run("echo never"))
        await until_counted(call, "ioi_eval_jobs_queued", 1)
        draining = asyncio.create_task(server.drain())
        status, reply = await waiting
        assert status == 503 and "this server drains" in reply["message"]
        assert (await call.run("true"))[0] == 503
        async with session.get("/healthz") as health:  # no connection stays open that would fail later
            assert (health.status, health.headers["Connection"]) == (503, "close")
            assert await health.json() == {"status": "draining"}
        assert not draining.done()
        held_engine.let_go.set()
        status, reply = await running
        assert (status, reply["run"]["stdout"]) == (200, "finished\n")
        await draining


# --- hidden information ----------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [("a", "a/b"), ("a/b", "a"), ("a/b/c", "a/b")])
async def test_file_name_error_hides_sandbox_path(call: Caller, names: tuple[str, ...]) -> None:
    files = [{"name": name, "content": "true"} for name in ("run", *names)]
    status, reply = await call.run("", files=files)
    assert status == 400
    assert reply["message"] == f"{min(names, key=len)!r} is both a file and a folder"


async def test_sandbox_failure_message_hides_path(
    engine: EmbeddedEngine, call: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sandbox's folder is removed, and the proctor's message contains its path."""
    monkeypatch.setattr(embedded_job, "fill_sandbox", lambda box, *_: (box.rmdir(), ())[1])
    _, reply = await call.run("true")
    assert reply["run"]["status"] == "XX"
    assert reply["run"]["message"] == "cannot enter /box: No such file or directory"


# --- faults ----------------------------------------------------------------------------------------------


class BrokenEngine:
    """An engine with a fault of a broken machine."""

    slots = 1

    def __init__(self, engine: EmbeddedEngine, error: Exception) -> None:
        self.packages, self.capabilities, self.error = engine.packages, engine.capabilities, error

    async def execute(self, job: Job, check: object = None) -> JobResult:
        raise self.error


@pytest.mark.parametrize("error", [BrokenReply("the box died"), EngineUnavailable("no proctor")])
async def test_internal_error_is_500_without_details(
    engine: EmbeddedEngine, options: ServerOptions, error: Exception
) -> None:
    events: list[Event] = []
    broken: Any = BrokenEngine(engine, error)
    async with (
        Server(broken, options, emit=events.append) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        call = Caller(session)
        assert await call.run("true") == (500, "")
        counts = await call.counts()
    assert [event.message for event in events] == [f"a job in bash failed: {error}"]
    line = json.loads(events[0].as_json())
    assert (line["event"], line["runtime"], line["message"]) == ("failed", "bash", events[0].message)
    assert counts['ioi_eval_jobs_total{outcome="failed"}'] == 1
    assert counts["ioi_eval_jobs_running"] == 0


async def test_port_in_use_is_input_error(server: Server, engine: EmbeddedEngine) -> None:
    with pytest.raises(
        InputError, match=rf"127.0.0.1:{server.port}: cannot listen on this address: Address already in use"
    ):
        async with Server(engine, ServerOptions(port=server.port)):
            pass


# --- metrics ---------------------------------------------------------------------------------------------

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\n"])*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (\S+)")


def families(metrics_text: str) -> dict[str, tuple[str, list[tuple[str, str, float]]]]:
    """Parse Prometheus's text format strictly. Return types and samples by name."""
    assert metrics_text.endswith("\n")
    metric_families: dict[str, tuple[str, list[tuple[str, str, float]]]] = {}
    name = ""
    for line in metrics_text.splitlines():
        if line.startswith("# HELP "):
            name = line.split(" ")[2]
            assert name not in metric_families and len(line.split(" ")) > 3
        elif line.startswith("# TYPE "):
            assert line.split(" ")[2] == name
            metric_families[name] = (line.split(" ")[3], [])
        else:
            match = SAMPLE.fullmatch(line)
            assert match is not None, line
            suffixes = ("_bucket", "_sum", "_count") if metric_families[name][0] == "histogram" else ("",)
            assert match[1] in [name + suffix for suffix in suffixes], line
            metric_families[name][1].append((match[1], match[2] or "", float(match[3])))
    return metric_families


async def test_metrics_are_prometheus_text(call: Caller) -> None:
    await call.run("true")
    await call.run("exit 1")
    await call.run("true", run_timeout=-1)
    async with call.session.get("/metrics") as reply:
        assert reply.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        metric_families = families(await reply.text())
    assert all(kind in ("counter", "gauge", "histogram") for kind, _ in metric_families.values())
    assert metric_families["ioi_eval_jobs_total"][1] == [
        ("ioi_eval_jobs_total", 'outcome="RE"', 1),
        ("ioi_eval_jobs_total", 'outcome="ok"', 1),
    ]
    assert metric_families["ioi_eval_refusals_total"][1] == [("ioi_eval_refusals_total", 'status="400"', 1)]
    seconds = metric_families["ioi_eval_job_seconds"][1]
    buckets = [value for name, _, value in seconds if name.endswith("_bucket")]
    assert buckets == sorted(buckets) and buckets[-1] == 2
    assert ("ioi_eval_job_seconds_count", "", 2) in seconds
    assert metric_families["ioi_eval_received_bytes_total"][1][0][2] > 0
    assert metric_families["ioi_eval_sent_bytes_total"][1][0][2] > 0


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nX-Slow: "])
async def test_connection_with_unfinished_headers_is_closed(server: Server, begun: bytes) -> None:
    clock = FastForwardClock()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(begun)
    reading = asyncio.create_task(reader.read())
    await clock.advance(60.0)
    assert not reading.done()
    await clock.advance(30.0)
    assert await asyncio.wait_for(reading, 60.0) == b""
    writer.close()


async def test_connections_with_unfinished_headers_do_not_block_others(server: Server, call: Caller) -> None:
    """Such a connection uses no slot."""
    host, _, port = server.url.removeprefix("http://").partition(":")
    slow = [await asyncio.open_connection(host, int(port)) for _ in range(100)]
    try:
        for _, writer in slow:
            writer.write(b"POST /api/v2/execute HTTP/1.1\r\nX-Slow: ")
            await writer.drain()
        status, _ = await call.get(f"{API}/runtimes")
        assert status == 200
        reader, writer = slow[0]
        writer.write(b"a" * (1 << 16))
        assert b" 400 " in await reader.readline(), "the size of headers is limited"
    finally:
        for _, writer in slow:
            writer.close()


async def test_worker_identity_changes_with_its_limits(engine: EmbeddedEngine) -> None:
    """Clients that uploaded contents or cached the limits must notice."""
    default_options = ServerOptions(port=0)
    changes: list[dict[str, int]] = [{}, {}, {"run_timeout": 1234}, {"max_body": 1 << 20}, {"max_output": 99}]
    identities = []
    for change in changes:
        async with (
            Server(engine, msgspec.structs.replace(default_options, **change)) as server,
            aiohttp.ClientSession(server.url) as session,
            session.get("/", headers={REQUEST: "17"}) as reply,
        ):
            identities.append(reply.headers[HEADER])
            assert reply.headers[REQUEST] == "17"
    assert identities[0] == identities[1] and len(set(identities)) == 4
