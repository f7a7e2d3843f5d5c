"""Real workers that are killed, suspended, restarted or full:

each change is reported once, and no job is lost.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from leftovers import command_lines
from support.command_line import CommandLine
from support.servers import FixedServers, Patience
from support.waiting import until

from ioi_eval import PistonEngine
from ioi_eval.engines.contract import Change, JobsWait, ServerChanged, ServerEvent
from ioi_eval.models import Blob, Capabilities, Job, JobFile

PATIENCE = Patience(
    margin=120.0, connect=10.0, health=20.0, silence=2.0, max_outage=400.0, first_wait=0.05, longest_wait=0.3,
    first_pause=0.1, longest_pause=0.5,
)  # fmt: skip
PROFILE = Capabilities(name="piston", architecture="x86_64", runtimes=("bash",))


def job(script: str) -> Job:
    return Job(files=(JobFile(name="run", content=Blob.of(script)),), runtime="bash")


@asynccontextmanager
async def worker(cli: CommandLine, *options: str, port: int = 0) -> AsyncIterator[tuple[int, int]]:
    """Start a worker. Yield its process id and port."""
    process = cli.start("worker", "--port", str(port), "--set", "max-contents=0", *options)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(300):
            line = await asyncio.to_thread(process.stdout.readline)
        yield process.pid, int(line.split()[3].rstrip(",").rpartition(":")[2])
    finally:
        process.kill()
        await asyncio.to_thread(process.communicate)


@asynccontextmanager
async def engine_on(port: int, heard: list[ServerEvent]) -> AsyncIterator[PistonEngine]:
    servers = FixedServers([f"http://127.0.0.1:{port}"])
    engine = PistonEngine(servers, per_endpoint=2, attempts=1000, patience=PATIENCE, capabilities=PROFILE)
    engine.on_event = heard.append
    async with engine:
        yield engine


def changes(heard: list[ServerEvent]) -> list[Change]:
    """Return the changes of servers without trials, and repeated failures of a trial once."""
    reported_changes = [event.change for event in heard if isinstance(event, ServerChanged)]
    reported_changes = [change for change in reported_changes if change is not Change.TRIAL]
    return [
        change
        for change, previous in zip(reported_changes, [None, *reported_changes], strict=False)
        if change is not previous
    ]


@pytest.mark.nightly
async def test_killed_worker_is_reported_lost_then_back(cli: CommandLine) -> None:
    heard: list[ServerEvent] = []
    async with worker(cli, "--slots", "2") as (pid, port), engine_on(port, heard) as engine:
        assert (await engine.execute(job("echo well"))).run.stdout == "well\n"
        assert heard == []
        os.kill(pid, signal.SIGKILL)
        waiting = [asyncio.create_task(engine.execute(job(f"echo {number}"))) for number in range(5)]
        await until(lambda: any(isinstance(event, JobsWait) for event in heard))
        assert changes(heard) == [Change.LOST]
        async with worker(cli, "--slots", "2", port=port):
            results = await asyncio.gather(*waiting)
            assert [result.run.stdout for result in results] == [f"{number}\n" for number in range(5)]
        assert changes(heard) == [Change.LOST, Change.BACK]
        usable = [event.usable for event in heard if isinstance(event, ServerChanged)]
        assert (usable[0], usable[-1]) == (0, 1)
        assert len([event for event in heard if isinstance(event, JobsWait)]) == 1


@pytest.mark.nightly
async def test_suspended_worker_is_reported_slow_then_back(cli: CommandLine) -> None:
    heard: list[ServerEvent] = []
    async with worker(cli, "--slots", "2") as (pid, port), engine_on(port, heard) as engine:
        under_way = asyncio.create_task(engine.execute(job("sleep 15.0; echo done")))
        await until(lambda: "sleep 15.0 " in command_lines())
        os.kill(pid, signal.SIGSTOP)
        try:
            await until(lambda: Change.SLOW in changes(heard))
        finally:
            os.kill(pid, signal.SIGCONT)
        assert (await under_way).run.stdout == "done\n"
        assert (await engine.execute(job("echo again"))).run.stdout == "again\n"
        assert changes(heard) == [Change.SLOW, Change.BACK]


async def test_full_worker_is_reported_full_then_back(cli: CommandLine) -> None:
    heard: list[ServerEvent] = []
    other_events: list[ServerEvent] = []
    async with (
        worker(cli, "--slots", "1", "--set", "queue=0") as (_, port),
        engine_on(port, other_events) as other,
        engine_on(port, heard) as engine,
    ):
        hog = asyncio.create_task(other.execute(job("sleep 600")))
        await until(lambda: "sleep 600 " in command_lines())
        waiting = asyncio.create_task(engine.execute(job("echo my turn")))
        await until(lambda: Change.FULL in changes(heard))
        hog.cancel()
        assert (await waiting).run.stdout == "my turn\n"
        assert changes(heard) == [Change.FULL, Change.BACK]
        assert "503" in next(event.reason for event in heard if isinstance(event, ServerChanged))
