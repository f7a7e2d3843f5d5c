"""Replies that no client has collected are limited in size."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from support.waiting import until

from ioi_eval.plugins.sandbox_fusion.programs import UnansweredRequests
from ioi_eval.server.queue import RequestQueue, ResultPending


async def test_uncollected_replies_are_evicted_for_newer_ones() -> None:
    sizes = {"a": 40 << 20, "b": 41 << 20}  # bytes; one reply is within the limit, both are not
    queue, pending, go, begun = (
        RequestQueue(slots=1, max_waiting=9, max_bytes=1),
        UnansweredRequests(),
        asyncio.Event(),
        list[str](),
    )

    async def answer(key: str, seconds: float) -> bytes:
        async def work() -> bytes:
            begun.append(key)
            await go.wait()
            return bytes(sizes[key])

        with queue.enter() as entry:
            return await pending.wait_for_reply(key, work, entry, seconds)

    for key in "ab":
        with pytest.raises(ResultPending):
            await answer(key, 0.01)
    go.set()
    await until(lambda: not queue.waiting_count)
    assert [len(await answer(key, 60)) for key in "ba"] == [sizes["b"], sizes["a"]]
    assert begun == ["a", "b", "a"], (
        "the reply to `a` is evicted and computed again, the reply to `b` is stored"
    )
    assert not queue.waiting_count


async def test_equal_requests_are_answered_in_order_of_arrival() -> None:
    queue, pending, go, numbers = (
        RequestQueue(2, 9, 1),
        UnansweredRequests(),
        asyncio.Event(),
        itertools.count(1),
    )

    async def answer(seconds: float) -> bytes:
        number = next(numbers)

        async def work() -> bytes:
            await go.wait()
            return b"%d" % number

        with queue.enter() as entry:
            return await pending.wait_for_reply("the same", work, entry, seconds)

    late = await asyncio.gather(answer(0.01), answer(0.01), return_exceptions=True)
    assert [type(reply) for reply in late] == [ResultPending, ResultPending]
    go.set()
    assert [await answer(60), await answer(60)] == [b"1", b"2"]
