"""Servers that fail and recover, and the jobs that each of them gets."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web
from piston_loopback import (
    Found,
    Loopback,
    always,
    endpoints_of,
    engine_on,
    fine,
    hang_up,
    in_turn,
    job,
    silence,
)
from support.clocks import FastForwardClock
from support.servers import Patience
from support.waiting import until

from ioi_eval import PistonEngine
from ioi_eval.engines.contract import JobsWait, ServerEvent
from ioi_eval.engines.fleet import State
from ioi_eval.errors import AttemptsUsedUp, EngineUnavailable
from ioi_eval.models import Job
from ioi_eval.runs.engine import emit_server_events
from ioi_eval.runs.events import Event, ServersNow

USUAL = Patience(first_wait=0.001, longest_wait=0.01)  # as on clusters, except for waits between attempts

# --- health ------------------------------------------------------------------------------------------


async def test_server_goes_down_after_three_faults_and_recovers() -> None:
    sick = in_turn(always(500), fine, always(500), always(500), always(500), fine)
    async with Loopback(sick) as server, engine_on(server, attempts=1) as engine:
        [endpoint] = endpoints_of(engine).values()
        ended = []
        for _ in range(5):
            try:
                ended.append((await engine.execute(job())).run.code)
            except AttemptsUsedUp:
                ended.append(None)
            if len(ended) < 5:
                assert endpoint.state is State.HEALTHY
        assert ended == [None, 0, None, None, None] and endpoint.state is State.DOWN
        polls_before = server.asked
        assert (await engine.execute(job())).run.code == 0  # waits until the server answers
        assert endpoint.state is State.HEALTHY and server.asked > polls_before


async def test_first_job_after_pause_decides_state_of_failed_server() -> None:
    async with Loopback(always(500)) as server, engine_on(server, attempts=1, per_endpoint=4) as engine:
        [endpoint] = endpoints_of(engine).values()
        for _ in range(3):
            with pytest.raises(AttemptsUsedUp):
                await engine.execute(job())
        await until(lambda: endpoint.state is State.TRIAL, every=0.001)
        assert endpoint.free_slots == 1
        with pytest.raises(AttemptsUsedUp):
            await engine.execute(job())
        assert endpoint.state is State.DOWN and endpoint.inspections >= 1
        server.answer = fine
        await asyncio.gather(*(engine.execute(job()) for _ in range(8)))
        assert endpoint.state is State.HEALTHY and endpoint.free_slots == 4 and endpoint.inspections == 0


async def test_only_servers_that_are_down_are_polled() -> None:
    async with Loopback(always(500)) as bad, Loopback() as good, engine_on(bad, good) as engine:
        bad.runtimes_status = 500
        polls_before = good.asked
        for _ in range(12):
            await engine.execute(job())
        await until(lambda: bad.asked > 3)
        assert endpoints_of(engine)[bad.url].state is State.DOWN
        assert good.asked == polls_before


async def test_server_states_are_reported_at_start_and_end() -> None:
    heard = list[Event]()
    async with Loopback() as good:
        async with Loopback() as leaver:
            engine = engine_on(leaver, good, per_endpoint=2)
            await engine.__aenter__()
        try:
            async with emit_server_events(engine, heard.append):
                await until(lambda: bool(heard))
                await asyncio.gather(*(engine.execute(job()) for _ in range(4)))
        finally:
            await engine.__aexit__(None, None, None)
    first, *_, last = (event.servers for event in heard if isinstance(event, ServersNow))
    assert {(status.state, status.slots, status.busy, status.errors) for status in first} == {
        ("healthy", 2, 0, 0)
    }
    by_url = {status.url: status for status in last}
    lost = by_url[leaver.url]
    assert (lost.state, by_url[good.url].state, by_url[good.url].errors) == ("down", "healthy", 0)
    assert lost.errors >= 1 and lost.why and lost.since is not None


async def test_job_fails_if_no_server_is_usable_for_the_maximum_wait() -> None:
    patience = Patience(max_outage=0.02, first_pause=60.0, longest_pause=60.0, first_wait=0.001)
    async with Loopback(hang_up) as server, engine_on(server, patience=patience) as engine:
        with pytest.raises(AttemptsUsedUp, match=r"no server has been usable.*closed the connection early"):
            await engine.execute(job())
        assert engine.fleet.busy == 0


# --- failure if no server works ----------------------------------------------------------------------


@pytest.mark.parametrize("jobs", [1, 3])
async def test_job_on_hanging_server_fails_after_the_maximum_wait(jobs: int) -> None:
    """The server never replies, and the job's own timeout is longer."""
    async with (
        Loopback(silence) as server,
        engine_on(server, patience=USUAL, per_endpoint=1) as engine,
    ):
        clock, seconds = FastForwardClock(), 0
        tasks = [asyncio.create_task(engine.execute(job(run_timeout=900_000))) for _ in range(jobs)]
        await until(lambda: bool(server.executed), every=0.001)
        server.runtimes_status = 503
        while not all(task.done() for task in tasks):
            await clock.advance(1.0)
            await asyncio.sleep(0.001)
            seconds += 1
            assert seconds < USUAL.silence * 2 + USUAL.max_outage + USUAL.longest_pause
        assert engine.fleet.busy == 0
    assert all("no server has been usable for 300 s" in str(task.exception()) for task in tasks)


async def test_jobs_failing_on_healthy_servers_end_after_the_maximum_wait() -> None:
    """The servers are healthy but fail every job. Sixteen jobs fail at the same time."""
    events = list[ServerEvent]()
    async with (
        Loopback(always(500)) as a,
        Loopback(always(500)) as b,
        engine_on(a, b, attempts=1000, patience=USUAL) as engine,
    ):
        engine.on_event = events.append
        clock = FastForwardClock()
        jobs = [asyncio.create_task(engine.execute(job())) for _ in range(16)]
        while not all(waiting_job.done() for waiting_job in jobs):
            await clock.advance(1.0)
            await asyncio.sleep(0.001)
    reasons = {str(waiting_job.exception()) for waiting_job in jobs}
    assert all(isinstance(waiting_job.exception(), AttemptsUsedUp) for waiting_job in jobs)
    assert all(
        "usable for 300 s" in waiting_job and a.url in waiting_job and b.url in waiting_job
        for waiting_job in reasons
    ), reasons
    assert sum(isinstance(event, JobsWait) for event in events) == 1
    assert len(a.executed) + len(b.executed) < 100


async def test_error_of_job_that_failed_everywhere_names_servers() -> None:
    async with Loopback(always(500)) as a, Loopback(always(500)) as b, engine_on(a, b, attempts=2) as engine:
        with pytest.raises(AttemptsUsedUp) as raised:
            await engine.execute(job())
        assert a.url in str(raised.value) and b.url in str(raised.value)


@pytest.mark.parametrize(("runtimes_status", "seconds"), [(500, 60), (200, 110)])
async def test_job_on_silent_server_is_duplicated_on_idle_slot(runtimes_status: int, seconds: int) -> None:
    """Also if the server only reports that it runs, after the job's own limit of 60 s."""
    once = job(run_timeout=60_000)
    async with (
        Loopback(silence) as silent,
        Loopback() as good,
        engine_on(silent, good, patience=USUAL) as engine,
    ):
        clock = FastForwardClock()
        both = [asyncio.create_task(engine.execute(once)) for _ in range(2)]
        await until(lambda: silent.executed != [] and any(attempt.done() for attempt in both))
        silent.runtimes_status = runtimes_status
        while not all(attempt.done() for attempt in both):
            await clock.advance(1.0)
            await asyncio.sleep(0.001)
        assert [attempt.result().run.code for attempt in both] == [0, 0] and len(good.executed) == 2
        assert clock.ahead <= seconds and engine.fleet.busy == 0


async def test_failed_duplicate_of_job_leaves_first_attempt_running() -> None:
    async with Loopback(held) as slow, Loopback() as other, engine_on(slow, other, patience=USUAL) as engine:
        clock = FastForwardClock()
        both = [asyncio.create_task(engine.execute(job(run_timeout=1000))) for _ in range(2)]
        await until(lambda: slow.executed != [] and any(attempt.done() for attempt in both))
        other.answer = always(500)
        while len(other.executed) < 2:
            await clock.advance(1.0)
            await asyncio.sleep(0.001)
        slow.closing.set()
        assert [(await attempt).run.code for attempt in both] == [0, 0]
        assert engine.fleet.busy == 0


async def held(server: Loopback, request: web.Request, received_job: Job) -> web.StreamResponse:
    await server.closing.wait()
    return await fine(server, request, received_job)


# --- slots -------------------------------------------------------------------------------------------


async def test_jobs_are_spread_over_servers_within_slots() -> None:
    async with Loopback() as a, Loopback() as b, Loopback() as c:
        async with engine_on(a, b, c, per_endpoint=2) as engine:
            assert engine.slots == 6
            await asyncio.gather(*(engine.execute(job()) for _ in range(60)))
        assert all(server.most_at_once <= 2 for server in (a, b, c))
        assert all(len(server.executed) >= 10 for server in (a, b, c))
    async with Loopback() as a, Loopback() as b, engine_on(a, b, per_endpoint=5, total=3) as engine:
        assert engine.slots == 3
        at_once, full = [], asyncio.Event()

        async def counting(server: Loopback, request: web.Request, received_job: Job) -> web.StreamResponse:
            at_once.append(a.at_once + b.at_once)
            if at_once[-1] == 3:
                full.set()
            await full.wait()
            return await fine(server, request, received_job)

        a.answer = b.answer = counting
        await asyncio.gather(*(engine.execute(job()) for _ in range(30)))
        assert max(at_once) == 3


@pytest.mark.parametrize("wrong", [{"per_endpoint": 0}, {"total": 0}, {"attempts": 0}])
def test_piston_engine_options_below_one_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        PistonEngine(Found("http://a"), **wrong)  # type: ignore[arg-type]


async def test_engine_outside_async_with_is_unavailable() -> None:
    engine = engine_on("http://127.0.0.1:1")
    assert engine.slots == 1
    with pytest.raises(EngineUnavailable, match="inside `async with`"):
        await engine.execute(job())
    with pytest.raises(EngineUnavailable, match="inside `async with`"):
        await engine.capabilities()
    async with Loopback() as server, engine_on(server) as opened:
        with pytest.raises(EngineUnavailable, match="in use already"):
            await opened.__aenter__()


async def test_closing_engine_fails_running_and_waiting_jobs() -> None:
    async with Loopback(silence) as server:
        engine = engine_on(server, per_endpoint=1)
        async with engine:
            running = asyncio.create_task(engine.execute(job()))
            waiting = asyncio.create_task(engine.execute(job()))
            await until(lambda: len(server.executed) == 1, every=0.001)
            pool = engine.fleet
        both = asyncio.gather(running, waiting, return_exceptions=True)
        ended = await asyncio.wait_for(both, 20)  # sooner than the maximum wait for servers
        assert all(isinstance(end, AttemptsUsedUp) for end in ended)
        assert pool.busy == 0
