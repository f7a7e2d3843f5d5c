from __future__ import annotations

import asyncio

import pytest

from ioi_eval.store.single_flight import Shared

pytestmark = pytest.mark.alike


class Work:
    """Something slow that counts how often it began and ended."""

    def __init__(self) -> None:
        self.begun = self.ended = self.cancelled = 0
        self.go = asyncio.Event()

    async def __call__(self) -> int:
        self.begun += 1
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        self.ended += 1
        return 42


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_callers_at_the_same_time_share_one_call() -> None:
    shared, work = Shared[int](), Work()
    callers = [asyncio.create_task(shared.call("key", work)) for _ in range(5)]
    await settle()
    work.go.set()
    assert await asyncio.gather(*callers) == [42] * 5
    assert (work.begun, len(shared)) == (1, 0)


async def test_other_keys_are_other_calls() -> None:
    shared, work = Shared[int](), Work()
    work.go.set()
    await asyncio.gather(shared.call("one", work), shared.call("two", work))
    assert work.begun == 2


async def test_a_caller_that_is_cancelled_leaves_the_others_alone() -> None:
    shared, work = Shared[int](), Work()
    first, second = (asyncio.create_task(shared.call("key", work)) for _ in range(2))
    await settle()
    first.cancel()
    await settle()
    work.go.set()
    assert await second == 42
    assert (first.cancelled(), work.cancelled) == (True, 0)


async def test_when_the_last_caller_leaves_the_work_ends() -> None:
    shared, work = Shared[int](), Work()
    callers = [asyncio.create_task(shared.call("key", work)) for _ in range(2)]
    await settle()
    for caller in callers:
        caller.cancel()
    await asyncio.gather(*callers, return_exceptions=True)
    assert (work.cancelled, work.ended, len(shared)) == (1, 0, 0)


async def test_a_caller_after_a_cancelled_call_begins_anew() -> None:
    shared, work = Shared[int](), Work()
    first = asyncio.create_task(shared.call("key", work))
    await settle()
    first.cancel()
    second = asyncio.create_task(shared.call("key", work))
    await settle()
    work.go.set()
    assert await second == 42
    assert (work.begun, work.cancelled) == (2, 1)


async def test_an_error_goes_to_everybody_and_is_not_remembered() -> None:
    shared = Shared[int]()
    fails = True

    async def work() -> int:
        await asyncio.sleep(0)
        if fails:
            raise ValueError("no")
        return 1

    outcomes = await asyncio.gather(*(shared.call("key", work) for _ in range(3)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [ValueError] * 3
    fails = False
    assert await shared.call("key", work) == 1


async def test_work_that_fails_at_once() -> None:
    async def work() -> int:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await Shared[int]().call("key", work)
