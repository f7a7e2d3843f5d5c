"""The engine on loopback servers: which jobs are retried, on which server, and which jobs are not."""

from __future__ import annotations

import asyncio
import gzip
import random
import socket
from pathlib import Path

import msgspec
import pytest
from aiohttp import web
from piston_loopback import (
    PROFILE,
    QUICK,
    Answer,
    Loopback,
    always,
    cut,
    endpoints_of,
    engine_on,
    fine,
    hang_up,
    in_turn,
    job,
    silence,
    told,
)
from support.piston_protocol import encode_result
from support.servers import Patience

from ioi_eval.engines.contract import Change, ServerChanged, ServerEvent
from ioi_eval.engines.fleet import LateAnswer, NoAnswer, State
from ioi_eval.engines.piston import sending
from ioi_eval.engines.piston.engine import ServerTimeLimits, compute_max_answer_seconds, extend_time_limits
from ioi_eval.engines.piston.sending import HttpClient
from ioi_eval.errors import AttemptsUsedUp, BrokenReply, EngineUnavailable, JobRejected, JobTooLarge
from ioi_eval.models import Blob, Ending, Job, JobFile, JobResult, StageStatus


def short_patience(seconds: float) -> Patience:
    """Return a short patience for replies that never come."""
    return Patience(**{name: getattr(QUICK, name) for name in QUICK.__struct_fields__} | {"margin": seconds})


async def test_job_is_sent_with_token_and_result_returned() -> None:
    async with Loopback() as server, engine_on(server, token=f"{server.url} secret") as engine:
        result = await engine.execute(job("hello", JobFile(name="b", content=Blob.of(b"\xff"))))
        assert (result.run.stdout, result.language, result.endpoint) == ("hello", "ioi_eval", server.url)
        assert [file.name for file in server.executed[0].files] == ["run", "b"]
        assert server.headers[0]["Authorization"] == "Bearer secret"
        assert engine.fleet.busy == 0
        profile = await engine.capabilities()
        assert profile.offers == {}


@pytest.mark.parametrize(
    "fault",
    [
        always(500),
        always(502, b"<html>"),
        always(503, b'{"message": "full"}'),
        always(200, b""),
        always(200, b"<html>"),
        always(200, b'{"run": {"stdout": "half'),
        always(400, b"<html><h1>400 Bad Request</h1>"),
        always(401),
        always(422),
        cut,
        hang_up,
    ],
)
async def test_server_fault_is_retried_on_another_server(fault: Answer) -> None:
    async with Loopback(fault) as bad, Loopback() as good, engine_on(bad, good) as engine:
        results = await asyncio.gather(*(engine.execute(job(str(n))) for n in range(20)))
        assert [result.run.stdout for result in results] == [str(n) for n in range(20)]
        assert {result.endpoint for result in results} == {good.url}
        assert bad.executed and engine.fleet.busy == 0


@pytest.mark.parametrize("stage", ["compile", "run"])
async def test_failed_sandbox_status_is_retried_as_server_fault(stage: str) -> None:
    async def broken(server: Loopback, request: web.Request, received_job: Job) -> web.StreamResponse:
        failed = Ending(status=StageStatus.XX, message="no cgroup")
        return told(msgspec.structs.replace(JobResult(run=Ending()), **{stage: failed}))

    async with Loopback(broken) as bad, Loopback() as good, engine_on(bad, good) as engine:
        for _ in range(3):
            assert (await engine.execute(job())).endpoint == good.url
        assert bad.executed
    async with Loopback(broken) as bad, engine_on(bad, attempts=2) as engine:
        with pytest.raises(AttemptsUsedUp, match=r"2 attempts failed.*the sandbox failed.*no cgroup"):
            await engine.execute(job())
        assert len(bad.executed) == 2


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (always(400, b'{"message": "nope-* runtime is unknown"}'), JobRejected, "runtime is unknown"),
        (
            always(400, b'{"message": "run_timeout cannot exceed the configured limit of 7"}'),
            JobTooLarge,
            "of 7",
        ),
        (always(413), JobTooLarge, "larger than the server accepts"),
        (always(415, b'{"message": "requests must be"}'), JobRejected, "requests must be"),
    ],
)
async def test_rejected_job_is_not_retried(answer: Answer, kind: type[JobRejected], message: str) -> None:
    async with Loopback(answer) as first, Loopback(answer) as two, engine_on(first, two) as engine:
        for _ in range(5):
            with pytest.raises(kind, match=message):
                await engine.execute(job())
        assert len(first.executed) + len(two.executed) == 5
        assert all(endpoint.state is State.HEALTHY for endpoint in endpoints_of(engine).values())


async def test_invalid_job_is_rejected_without_request(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.write_text("x")
    file = JobFile(name="x", content=Blob.of_file(gone))
    gone.unlink()
    async with Loopback() as server, engine_on(server) as engine:
        for wrong in (job("true", JobFile(name="../x", content=Blob.of("x"))), job("true", file)):
            with pytest.raises(JobRejected):
                await engine.execute(wrong)
        assert server.executed == [] and engine.fleet.busy == 0


@pytest.mark.parametrize(
    "printed",
    ["Resource temporarily unavailable", "HTTP 500", "status XX", "PayloadTooLargeError", '{"run":'],
)
async def test_output_of_submission_causes_no_retry(printed: str) -> None:
    async def prints(server: Loopback, request: web.Request, received_job: Job) -> web.StreamResponse:
        run = Ending(stdout=printed, stderr=printed, code=1, status=StageStatus.RE)
        return told(JobResult(run=run))

    async with Loopback(prints) as server, engine_on(server) as engine:
        assert (await engine.execute(job())).run.stdout == printed
        assert len(server.executed) == 1


async def test_attempts_are_bounded_and_error_quotes_last_reason() -> None:
    async with Loopback(always(500)) as server, engine_on(server, attempts=3) as engine:
        with pytest.raises(
            AttemptsUsedUp, match=r"^3 attempts failed.*HTTP 500 with an empty body$"
        ) as caught:
            await engine.execute(job())
        assert isinstance(caught.value.__cause__, EngineUnavailable)
        assert len(server.executed) == 3 and engine.fleet.busy == 0


async def test_http_503_replies_do_not_count_as_attempts() -> None:
    busy = in_turn(*[always(503)] * 9, fine)
    async with Loopback(busy) as server, engine_on(server, attempts=2) as engine:
        assert (await engine.execute(job("late"))).run.stdout == "late"
        assert len(server.executed) == 10


@pytest.mark.parametrize(("status", "change"), [(503, Change.FULL), (502, Change.LOST), (504, Change.LOST)])
async def test_engine_waits_at_start_for_full_or_starting_server(status: int, change: Change) -> None:
    """The server is full, or a gateway reports that it has not started yet."""
    heard = list[ServerEvent]()
    async with Loopback() as server:
        server.runtimes_status = status

        def hear(event: ServerEvent) -> None:
            heard.append(event)
            server.runtimes_status = 200

        engine = engine_on(server)
        engine.on_event = hear
        async with engine:
            assert (await engine.execute(job("late"))).run.stdout == "late"
    [event] = heard
    assert isinstance(event, ServerChanged) and (event.url, event.change) == (server.url, change)


@pytest.mark.parametrize(("status", "min_requests"), [(503, 3), (502, 3), (401, 1)])
async def test_engine_start_fails_if_server_stays_unusable(status: int, min_requests: int) -> None:
    async with Loopback() as server:
        server.runtimes_status = status
        with pytest.raises(EngineUnavailable, match=f"no server can be used: .*HTTP {status}"):
            async with engine_on(server, patience=short_patience(0.1)):
                pass
        assert min(server.asked, 3) == min_requests


async def test_job_refused_by_full_servers_fails_after_the_maximum_wait() -> None:
    patience = Patience(
        max_outage=0.05, first_wait=0.001, longest_wait=0.01, first_pause=0.001, longest_pause=0.01
    )
    async with Loopback(always(503)) as server, engine_on(server, patience=patience) as engine:
        with pytest.raises(AttemptsUsedUp):
            await engine.execute(job())


async def test_retry_avoids_all_servers_tried_before() -> None:
    async with Loopback(always(500)) as a, Loopback(always(500)) as b, Loopback(always(500)) as c:
        async with engine_on(a, b, c, attempts=3) as engine:
            with pytest.raises(AttemptsUsedUp):
                await engine.execute(job())
        assert [len(server.executed) for server in (a, b, c)] == [1, 1, 1]


async def test_silent_server_is_abandoned_and_marked_down() -> None:
    async with (
        Loopback(silence) as mute,
        Loopback() as good,
        engine_on(mute, good, patience=short_patience(0.5)) as engine,
    ):
        small = {"run_timeout": 20, "compile_timeout": 20}
        mute.runtimes_status = 500  # so that the server stays down
        results = await asyncio.gather(*(engine.execute(job(str(n), **small)) for n in range(10)))
        assert {result.endpoint for result in results} == {good.url}
        assert len(mute.executed) == 1
        assert endpoints_of(engine)[mute.url].state is State.DOWN


async def test_closed_server_is_marked_down_and_jobs_move() -> None:
    async with Loopback() as good:
        async with Loopback() as leaver:
            engine = engine_on(leaver, good, per_endpoint=2)
            await engine.__aenter__()
        try:
            results = await asyncio.gather(*(engine.execute(job()) for _ in range(10)))
            assert {result.endpoint for result in results} == {good.url}
            assert endpoints_of(engine)[leaver.url].state is State.DOWN
        finally:
            await engine.__aexit__(None, None, None)


# --- bodies and times --------------------------------------------------------------------------------


async def test_large_request_is_gzipped_for_remote_servers_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source, noise = "1 2 3\n" * 20_000, bytes(range(256)) * 4
    async with Loopback() as server, engine_on(server) as engine:
        await engine.execute(job(source))
        monkeypatch.setattr(sending, "is_loopback", lambda url: False)
        await engine.execute(job(source))
        await engine.execute(job("short", JobFile(name="x", content=Blob.of(noise))))
        encodings = [headers.get("Content-Encoding") for headers in server.headers]
        assert encodings == [None, "gzip", None]
        assert int(server.headers[1]["Content-Length"]) * 10 < int(server.headers[0]["Content-Length"])
        assert [executed_job.files[0].content.read().decode() for executed_job in server.executed[:2]] == [
            source,
            source,
        ]


async def test_incompressible_request_is_sent_uncompressed() -> None:
    packed = gzip.compress(random.Random(1).randbytes(200_000))
    for files in ((JobFile(name="x", content=Blob.of(packed)),), ()):
        source = "true" if files else "1 2 3\n" * 20_000
        request = await sending.encode_job_request(job(source, *files), "http://far")
        assert request.packed == (not files)


def test_loopback_addresses_are_recognized() -> None:
    local_hosts = ("127.0.0.1", "localhost", "::1", "127.9.9.9")
    assert all(map(sending.is_loopback, local_hosts))
    assert not any(map(sending.is_loopback, ("10.0.0.1", "host", "fe80::1", "")))


def test_request_timeout_follows_limits_of_job() -> None:
    patience, times = Patience(margin=60.0), ServerTimeLimits(compile=10_000, run=3_000, strict=True)
    base = compute_max_answer_seconds(job(), 0, times, patience)
    assert base == pytest.approx(63)
    both = job("true", JobFile(name="compile", content=Blob.of("true")))
    assert compute_max_answer_seconds(both, 0, times, patience) == pytest.approx(73)
    assert compute_max_answer_seconds(job(runtime="cms_ioi"), 0, times, patience) == pytest.approx(73)
    longer = job(runtime="cms_ioi", compile_timeout=30_000, run_timeout=300_000)
    assert compute_max_answer_seconds(longer, 0, times, patience) == pytest.approx(390)
    assert compute_max_answer_seconds(job(), 100 << 20, times, patience) - base == pytest.approx(100)


def test_request_timeout_allows_tenfold_stage_times_on_worker() -> None:
    patience, times = Patience(margin=60.0), ServerTimeLimits(compile=10_000, run=3_000)
    both = job(
        "true", JobFile(name="compile", content=Blob.of("true")), compile_timeout=5000, run_timeout=300
    )
    assert extend_time_limits(both, times) == both
    assert compute_max_answer_seconds(both, 0, times, patience) == pytest.approx(53 + 60)


def test_job_timeouts_are_extended_to_limits_of_strict_server() -> None:
    times = ServerTimeLimits(compile=10_000, run=900_000, strict=True)
    original_job = job(compile_timeout=5000, run_timeout=30_000)
    sent = extend_time_limits(original_job, times)
    assert (sent.compile_timeout, sent.run_timeout) == (10_000, 300_000)
    # A limit that the job does not set is left to the server.
    assert extend_time_limits(job(), times) == job()
    beyond = extend_time_limits(job(run_timeout=900_001), times)
    assert beyond.run_timeout == 900_001  # the server will refuse this limit


async def test_oversized_reply_is_broken_reply() -> None:
    async with (
        Loopback(always(200, encode_result(JobResult(run=Ending(stdout="x" * 5000))))) as server,
        HttpClient(max_reply_bytes=20_000) as enough,
        HttpClient(max_reply_bytes=5000) as wire,
    ):
        request = await sending.encode_job_request(job(), server.url)
        assert (await enough.execute(server.url, request, 60.0)).run.stdout == "x" * 5000
        with pytest.raises(BrokenReply, match="the server's reply has more than 5000 bytes"):
            await wire.execute(server.url, request, 60.0)


async def test_error_message_names_url_without_token() -> None:
    async with Loopback(always(500)) as server, engine_on(server, attempts=1, token="s3cret") as engine:
        with pytest.raises(AttemptsUsedUp) as caught:
            await engine.execute(job())
        assert "s3cret" not in repr(caught.value) and server.url in str(caught.value)
        assert "s3cret" not in repr(engine.fleet) + repr(await engine.capabilities())


async def test_engine_with_given_capabilities_sends_no_probe() -> None:
    async with Loopback() as server, engine_on(server) as engine:
        assert server.executed == [] and (await engine.capabilities()).runtimes == PROFILE.runtimes


async def test_connect_timeout_is_reported_apart_from_answer_timeout() -> None:
    """The socket's backlog is full, so that connections get no answer, as from a machine that is off."""
    with socket.socket() as deaf, socket.socket() as first, socket.socket() as second:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        url = "http://127.0.0.1:{1}".format(*deaf.getsockname())
        for client in (first, second):
            client.setblocking(False)
            client.connect_ex(deaf.getsockname())
        async with HttpClient(max_connect_s=0.2) as wire:
            with pytest.raises(NoAnswer, match=rf"^{url} cannot be reached: no connection within 0\.2 s$"):
                await wire.ask("GET", url, "/api/v2/runtimes", 660.0)
            with pytest.raises(LateAnswer, match=r"did not answer in 0\.1 s"):
                await wire.ask("GET", url, "/api/v2/runtimes", 0.1)
