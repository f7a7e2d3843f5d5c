"""After a cancellation at any await the engine has all its slots."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from piston_loopback import Answer, Found, Loopback, always, cut, engine_on, fine, job

from ioi_eval import PistonEngine
from ioi_eval.engines.piston import sending
from ioi_eval.models import Blob, Job

LARGE = "1 2 3\n" * 40_000


@types.coroutine
def cancelled_at(work: Coroutine[Any, Any, Any], step: int) -> Generator[Any, Any, bool]:
    """Run `work`, and cancel its task at its `step`-th await. Return False if it had fewer awaits."""
    awaits, send, sent_value = 0, work.send, None
    while True:
        try:
            waiting = send(sent_value)  # type: ignore[arg-type]
        except StopIteration:
            return False
        if awaits == step:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
        awaits += 1
        try:
            sent_value, send = (yield waiting), work.send
        except BaseException as error:  # noqa: BLE001 - an exception thrown into the task is forwarded
            sent_value, send = error, work.throw  # type: ignore[assignment]


async def every_await(make: Callable[[], Coroutine[Any, Any, Any]], check_after: Callable[[], object]) -> int:
    """Cancel at each await in turn, and return their number. `after` is called after each cancellation."""
    step = 0
    while True:
        task = asyncio.ensure_future(_as_task(make(), step))
        ended = (await asyncio.gather(task, return_exceptions=True))[0]
        if ended is False:
            return step
        assert isinstance(ended, asyncio.CancelledError), ended
        check_after()
        step += 1


async def _as_task(work: Coroutine[Any, Any, Any], step: int) -> bool:
    return await cancelled_at(work, step)


async def check_slots(engine: PistonEngine) -> None:
    """Check that all slots are free and usable at the same time."""
    assert engine.fleet.busy == 0
    await asyncio.gather(*(engine.execute(job()) for _ in range(engine.slots)))
    assert engine.fleet.busy == 0


async def reply_in_parts(server: Loopback, request: web.Request, received_job: Job) -> web.StreamResponse:
    """Reply in parts, so that the client waits for status, headers and body."""
    whole = await fine(server, request, received_job)
    assert isinstance(whole, web.Response) and isinstance(whole.body, bytes)
    reply = web.StreamResponse(headers={"Content-Length": str(len(whole.body))})
    await asyncio.sleep(0)
    await reply.prepare(request)
    half = len(whole.body) // 2
    for piece in (whole.body[:half], whole.body[half:]):
        await reply.write(piece)
        await asyncio.sleep(0.001)
    return reply


def once_each(answer: Answer) -> Answer:
    """Give this answer to the first copy of each job. Requests of cancelled jobs may still arrive later."""
    answered_contents = set[Blob]()

    async def answered(server: Loopback, request: web.Request, received_job: Job) -> web.StreamResponse:
        content = received_job.files[0].content
        first = content not in answered_contents
        answered_contents.add(content)
        return await (answer if first else fine)(server, request, received_job)

    return answered


@pytest.mark.parametrize(
    ("answer", "source", "min_awaits"),
    [
        (reply_in_parts, "small", 3),
        (reply_in_parts, LARGE, 4),
        (always(500), "small", 3),
        (cut, "small", 3),
    ],
    ids=["small", "large", "after a 500", "after a cut"],
)
async def test_job_cancelled_at_any_await_frees_slot(
    answer: Answer, source: str, min_awaits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "is_loopback", lambda url: False)  # the large request is compressed as well
    async with Loopback(once_each(answer)) as server, engine_on(server, attempts=2) as engine:
        sent_texts: list[str] = []

        async def one() -> None:
            sent_texts.append(f"{source} {len(sent_texts)}")
            await engine.execute(job(sent_texts[-1]))

        def check() -> None:
            assert engine.fleet.busy == 0

        assert await every_await(one, check) >= min_awaits
        whole = [
            executed_job
            for executed_job in server.executed
            if executed_job.files[0].content == Blob.of(sent_texts[-1])
        ]
        assert len(whole) == (1 if answer is reply_in_parts else 2)
        await check_slots(engine)


async def test_job_cancelled_while_waiting_for_slot_leaves_queue() -> None:
    async with Loopback() as server, engine_on(server, per_endpoint=1) as engine:
        pool = engine.fleet

        async def one() -> None:
            slot = await pool.take_slot()
            loop, over = asyncio.get_running_loop(), asyncio.Event()

            def give_back() -> None:
                if pool.waiting or over.is_set():
                    pool.release_slot(slot)
                else:
                    loop.call_soon(give_back)

            give_back()
            try:
                await engine.execute(job())
            finally:
                over.set()

        def check() -> None:
            assert pool.waiting == 0

        assert await every_await(one, check) >= 3
        await asyncio.sleep(0)  # the last slot is released
        await check_slots(engine)


async def test_many_jobs_cancelled_at_random_moments_free_all_slots() -> None:
    async with (
        Loopback(reply_in_parts) as a,
        Loopback(reply_in_parts) as b,
        engine_on(a, b, per_endpoint=2) as engine,
    ):
        for moment in range(25):
            jobs = [asyncio.create_task(engine.execute(job())) for _ in range(10)]
            for _ in range(moment):
                await asyncio.sleep(0)
            for task in jobs[::2]:
                task.cancel()
            ended = await asyncio.gather(*jobs, return_exceptions=True)
            assert not any(isinstance(end, Exception) for end in ended), ended
            assert engine.fleet.busy == 0
        await check_slots(engine)


async def test_engine_cancelled_while_opening_or_closing_cleans_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections and tasks are closed, so that the engine can be opened again."""
    sessions, open_session = [], aiohttp.ClientSession

    def open_and_record_session(**options: Any) -> aiohttp.ClientSession:
        sessions.append(open_session(**options))
        return sessions[-1]

    monkeypatch.setattr(aiohttp, "ClientSession", open_and_record_session)
    async with Loopback() as server:

        async def one() -> None:
            async with engine_on(server, discovery=Found(server.url, every=60.0)):
                pass

        def check() -> None:
            names = [task.get_coro().__qualname__ for task in asyncio.all_tasks()]  # type: ignore[union-attr]
            assert not [name for name in names if name.startswith(("Fleet", "ServerFleet"))]
            assert all(session.closed for session in sessions)

        assert await every_await(one, check) >= 3 and sessions
        async with engine_on(server) as engine:
            await check_slots(engine)
