"""Open files of a client of many servers."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from aiohttp import web
from piston_loopback import Found, Loopback, endpoints_of, engine_on, fine, job
from support.waiting import until

from ioi_eval.errors import InputError
from ioi_eval.models import Job


@pytest.fixture
def limits() -> Iterator[tuple[int, int]]:
    """Yield the limits of open files, and restore them after the test."""
    limits_before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield limits_before
    resource.setrlimit(resource.RLIMIT_NOFILE, limits_before)


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def test_soft_open_file_limit_is_raised_for_many_servers(limits: tuple[int, int]) -> None:
    async with AsyncExitStack() as stack:
        loopback_servers = [await stack.enter_async_context(Loopback()) for _ in range(40)]
        all_at_once = asyncio.Event()

        async def held(server: Loopback, request: web.Request, received_job: Job) -> web.StreamResponse:
            if sum(loopback.at_once for loopback in loopback_servers) == len(loopback_servers):
                all_at_once.set()
            await all_at_once.wait()
            return await fine(server, request, received_job)

        for loopback in loopback_servers:
            loopback.answer = held
        open_count = open_files()
        resource.setrlimit(resource.RLIMIT_NOFILE, (open_count + 30, limits[1]))
        async with engine_on(*loopback_servers) as engine:
            assert resource.getrlimit(resource.RLIMIT_NOFILE) == (limits[1], limits[1])
            results = await asyncio.gather(*(engine.execute(job()) for _ in loopback_servers))
            assert {result.endpoint for result in results} == {loopback.url for loopback in loopback_servers}
            assert all(endpoint.errors == 0 for endpoint in engine.endpoints)


@pytest.fixture
def hard_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set a limit for two servers with three jobs, in addition to the files that are open."""
    monkeypatch.setattr("ioi_eval.engines.piston.wire.raise_open_file_limit", lambda: 128 + 2 + 3)


@pytest.mark.usefixtures("hard_limit")
async def test_hard_limit_that_is_too_low_is_named_with_its_remedy() -> None:
    async with Loopback() as a, Loopback() as b:
        with pytest.raises(
            InputError, match=r"4 jobs at a time on 2 servers take 134 open files, and .* 133"
        ):
            await engine_on(a, b, per_endpoint=2).__aenter__()
        async with engine_on(a, b, per_endpoint=2, total=3) as engine:
            assert engine.slots == 3


@pytest.mark.usefixtures("hard_limit")
async def test_server_that_joins_beyond_the_hard_limit_is_left_out() -> None:
    async with Loopback() as a, Loopback() as b, Loopback() as c:
        discovered = Found(a.url, b.url, every=0.002)
        async with engine_on(discovery=discovered) as engine:
            discovered.urls.add(c.url)
            await until(lambda: c.url in engine.exclusion_reasons)
            assert "take 134 open files" in engine.exclusion_reasons[c.url] and set(endpoints_of(engine)) == {
                a.url,
                b.url,
            }
