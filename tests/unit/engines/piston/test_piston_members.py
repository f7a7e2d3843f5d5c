"""Endpoints that join and leave while jobs run."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web
from piston_loopback import Found, Loopback, endpoints_of, engine_on, fine, job
from still_fleets import StillFleet
from support.waiting import settle, until

from ioi_eval.engines.fleet import State, WaitTimes
from ioi_eval.errors import BrokenReply, EngineUnavailable, InputError, ToolchainGone
from ioi_eval.models import Job

EVERY = 0.002


async def test_joining_server_gets_jobs() -> None:
    async with Loopback() as first, Loopback() as second:
        discovered = Found(first.url, every=EVERY)
        async with engine_on(discovery=discovered) as engine:
            assert engine.slots == 1
            release = asyncio.Event()

            async def held(server: Loopback, request: web.Request, received_job: Job) -> web.StreamResponse:
                await release.wait()
                return await fine(server, request, received_job)

            first.answer = held
            jobs = [asyncio.create_task(engine.execute(job())) for _ in range(5)]
            await until(lambda: len(first.executed) == 1, every=0.001)
            discovered.urls.add(second.url)
            await until(lambda: len(second.executed) == 4, every=0.001)  # all waiting jobs run there
            assert engine.slots == 2
            release.set()
            results = await asyncio.gather(*jobs)
            assert sorted({result.endpoint for result in results}) == sorted([first.url, second.url])
            assert {endpoint.url for endpoint in engine.endpoints} == {first.url, second.url}


async def test_leaving_server_loses_no_job() -> None:
    async with Loopback() as stays:
        leaves = await Loopback().__aenter__()
        discovered = Found(stays.url, leaves.url, every=EVERY)
        async with engine_on(discovery=discovered, per_endpoint=3) as engine:
            reached = asyncio.Event()

            async def dies(server: Loopback, request: web.Request, received_job: Job) -> web.StreamResponse:
                if server.at_once == 3:
                    reached.set()
                await server.closing.wait()
                assert request.transport is not None
                request.transport.abort()
                return web.Response()

            leaves.answer = dies
            jobs = [asyncio.create_task(engine.execute(job(str(n)))) for n in range(12)]
            await reached.wait()
            endpoint = endpoints_of(engine)[leaves.url]
            discovered.urls.remove(leaves.url)
            await leaves.__aexit__(None, None, None)
            results = await asyncio.gather(*jobs)
            assert [result.run.stdout for result in results] == [str(n) for n in range(12)]
            await until(lambda: endpoint.state is State.GONE)
            assert engine.slots == 3 and engine.fleet.busy == endpoint.busy == 0


async def test_running_job_finishes_after_server_is_undiscovered() -> None:
    async with Loopback() as server:
        discovered = Found(server.url, every=EVERY)
        async with engine_on(discovery=discovered) as engine:
            release = asyncio.Event()

            async def held(server: Loopback, request: web.Request, received_job: Job) -> web.StreamResponse:
                await release.wait()
                return await fine(server, request, received_job)

            server.answer = held
            running = asyncio.create_task(engine.execute(job("done")))
            await until(lambda: len(server.executed) == 1, every=0.001)
            endpoint = endpoints_of(engine)[server.url]
            discovered.urls.clear()
            await until(lambda: endpoint.state is State.GONE)
            release.set()
            assert (await running).run.stdout == "done"
            discovered.urls.add(server.url)  # and comes back
            assert (await engine.execute(job("again"))).run.stdout == "again"


async def test_server_that_reappears_joins_each_time() -> None:
    async with Loopback() as server:
        discovered = Found(server.url, every=EVERY)
        async with engine_on(discovery=discovered) as engine:
            for number in ("1", "2", "3"):
                endpoint = endpoints_of(engine)[server.url]
                discovered.urls.clear()
                await until(lambda: endpoint.state is State.GONE)  # noqa: B023 - it is over by the next
                discovered.urls.add(server.url)
                assert (await engine.execute(job(number))).run.stdout == number


async def test_server_found_before_it_answers_joins_later() -> None:
    async with Loopback() as first, Loopback() as second:
        second.runtimes_status = 503
        discovered = Found(first.url, second.url, every=EVERY)
        async with engine_on(discovery=discovered) as engine:
            assert set(endpoints_of(engine)) == {first.url}
            assert [report.reachable for report in engine.reports].count(False) == 1
            await until(lambda: second.asked > 2)
            second.runtimes_status = 200
            await until(lambda: second.url in endpoints_of(engine))
            assert all(report.reachable for report in engine.reports)


async def test_failed_discovery_keeps_servers() -> None:
    async with Loopback() as server:
        discovered = Found(server.url, every=EVERY)
        async with engine_on(discovery=discovered) as engine:
            discovered.error = EngineUnavailable("the scheduler is away")
            await until(lambda: discovered.looks > 3)
            discovered.error = InputError("half a file")
            looks = discovered.looks
            await until(lambda: discovered.looks > looks + 1)
            assert (await engine.execute(job("on"))).run.stdout == "on"


async def test_engine_start_fails_without_usable_server() -> None:
    with pytest.raises(EngineUnavailable, match="no server was found by"):
        await engine_on().__aenter__()
    urls = [f"http://127.0.0.1:{port}" for port in (1, 2, 3, 4)]
    with pytest.raises(EngineUnavailable, match=r"no server can be used: http://127.0.0.1:1 .*; and 1 more$"):
        await engine_on(*urls).__aenter__()
    failing = Found()
    failing.error = InputError("no such file", where="@workers")
    with pytest.raises(InputError, match="no such file"):
        await engine_on(discovery=failing).__aenter__()


async def test_exception_in_background_task_is_raised_by_the_engine() -> None:
    async with Loopback() as server:
        discovered = Found(server.url, every=EVERY)
        with pytest.raises(ZeroDivisionError):
            async with engine_on(discovery=discovered):
                discovered.error = ZeroDivisionError()
                looks = discovered.looks
                await until(lambda: discovered.looks > looks)
                await asyncio.sleep(0)


async def test_endpoint_on_trial_goes_down_after_one_failed_job() -> None:
    wait_times = WaitTimes(first_pause=600.0, longest_pause=600.0)
    fleet = StillFleet(wait_times)
    endpoint = fleet.join("http://a", 2)
    fleet.count_failure(endpoint, BrokenReply("half a reply"))
    assert endpoint.state is State.HEALTHY
    fleet.put(endpoint, State.TRIAL)
    fleet.count_failure(endpoint, BrokenReply("half a reply"))
    assert endpoint.state is State.DOWN
    await fleet.close()


MADE = Job(files=(), accepted_toolchains={"g++": ()})


async def test_waiting_job_raises_toolchain_gone_if_endpoint_changes_tool() -> None:
    fleet = StillFleet()
    endpoint = fleet.join("http://a", 1)
    fleet.fitting = frozenset({endpoint.url})
    await fleet.take_slot()
    waiting = asyncio.create_task(fleet.execute(MADE))
    await settle()
    fleet.put(endpoint, State.DOWN)
    fleet.fitting, fleet.others_could = frozenset(), True
    fleet.put(endpoint, State.TRIAL)
    with pytest.raises(ToolchainGone, match=r"no server has g\+\+"):
        await waiting
    assert (fleet.busy, endpoint.busy) == (1, 1)
    await fleet.close()


async def test_job_that_only_a_paused_endpoint_fits_waits_for_it() -> None:
    """A healthy endpoint without the tool never gets the job."""
    fleet = StillFleet()
    fits, lacks = fleet.join("http://fits", 1), fleet.join("http://lacks", 1)
    fleet.fitting = frozenset({fits.url})
    fleet.put(fits, State.DOWN)
    waiting = asyncio.create_task(fleet.execute(MADE))
    await settle()
    fleet.put(lacks, State.TRIAL)
    fleet.put(lacks, State.HEALTHY)
    await settle()
    assert not waiting.done() and lacks.busy == 0
    fleet.put(fits, State.TRIAL)
    assert await waiting is MADE
    await fleet.close()


async def test_job_that_no_endpoint_fits_raises_toolchain_gone() -> None:
    fleet = StillFleet()
    fleet.join("http://lacks", 1)
    fleet.fitting = frozenset()
    with pytest.raises(ToolchainGone):
        await fleet.execute(MADE)
    await fleet.close()
