"""The messages of a worker's log, and how often they occur."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest
from server_helpers import API, Caller, until_counted
from support.clocks import FastForwardClock
from support.plugins import needs_plugin
from support.waiting import until

from ioi_eval import EmbeddedEngine
from ioi_eval.server import Event, Server, ServerOptions
from ioi_eval.server.log import RefusalLog, RepeatFilter


async def test_repeated_refusal_is_logged_once_and_escaped(engine: EmbeddedEngine) -> None:
    events: list[Event] = []
    async with (
        Server(engine, ServerOptions(port=0), emit=events.append) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        call = Caller(session)
        for _ in range(3):
            assert (await call.run("true", language="x\n\x1b[2Jfailed: forged"))[0] == 400
            assert (await call.post(f"{API}/execute", json={}))[0] == 400
    assert [event.name for event in events] == ["refused", "refused"]
    assert all(event.message.isprintable() for event in events)
    assert "\\n\\x1b[2Jfailed: forged" in events[0].message


@pytest.mark.parametrize(
    "header_end",
    [
        "Authorization: Bearer the-token\x01\r\n\r\n",
        "Authorization: Bearer the-token\r\nTransfer-Encoding: chunked\r\n\r\nthe-token\r\n",
        "Authorization: Bearer the-token\r\nContent-Length: -1\r\n\r\n",
    ],
)
async def test_malformed_http_request_is_not_logged(
    engine: EmbeddedEngine,
    header_end: str,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Anybody can send such requests. They could fill the log, and their headers may contain a token."""
    async with Server(engine, ServerOptions(port=0)) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        head = f"POST {API}/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}{header_end}".encode())
        assert b" 400 " in await reader.readline()
        writer.close()
    assert not caplog.records and capfd.readouterr().err == ""


def test_repeated_messages_are_logged_again_after_an_hour() -> None:
    clock_seconds = 1000.0
    repeats = RepeatFilter(lambda: clock_seconds)
    assert [repeats.is_repeated("a"), repeats.is_repeated("a")] == [False, True]
    clock_seconds += 3601
    assert not repeats.is_repeated("a")
    for number in range(1000):
        repeats.is_repeated(str(number))
    assert len(repeats._suppressed_until) == 256


def test_full_queue_and_its_end_are_logged_once() -> None:
    events: list[Event] = []
    full = RefusalLog(events.append)
    full.log_end_of_refusals()
    for _ in range(5):
        full.count_refusal("all slots are taken")
    full.log_end_of_refusals()
    full.log_end_of_refusals()
    assert [event.name for event in events] == ["full", "room"]
    assert events[1].facts == {"refused": 5}


@needs_plugin("sandbox_fusion")
async def test_run_code_refusals_are_logged_like_jobs(engine: EmbeddedEngine) -> None:
    """A request that waits in the queue is not logged."""
    events: list[Event] = []
    request = {"json": {"code": "import time; time.sleep(1000)", "language": "python", "run_timeout": 60}}
    async with (
        Server(engine, ServerOptions(port=0, queue=0, run_timeout=60_000), emit=events.append) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        call, clock = Caller(session), FastForwardClock()
        inside = asyncio.create_task(call.post("/run_code", **request))
        await until(lambda: server.running_count == 1)
        await clock.advance(80.0)
        assert (await inside)[0] == 504 and events == []
        running_request = asyncio.create_task(call.post("/run_code", **request))
        await until_counted(call, "ioi_eval_jobs_queued", 1)
        outside = asyncio.create_task(call.post("/run_code", **request))
        for _ in range(15):
            await clock.advance(1.0)
        async with asyncio.timeout(60.0):
            assert (await outside)[0] == 504
        assert [event.name for event in events] == ["full"]
        running_request.cancel()
        assert (await call.post("/run_code", json={"code": "print(1)", "language": "python"}))[0] == 200
    assert [event.name for event in events] == ["full", "room"]


async def test_log_jobs_option_logs_each_job(engine: EmbeddedEngine) -> None:
    events: list[Event] = []
    async with (
        Server(engine, ServerOptions(port=0, log_jobs=True), emit=events.append) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        await Caller(session).run("exit 3")
    assert [(event.name, event.facts["outcome"]) for event in events] == [("job", "RE")]
