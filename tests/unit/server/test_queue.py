"""The queue of a worker: the order of requests, and the slots that each request releases."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import ExitStack

import pytest
from support.clocks import FastForwardClock
from support.waiting import settle

from ioi_eval.errors import EngineOverloaded
from ioi_eval.server.queue import QueueEntry, RequestQueue, ServerDraining, keep_current_request_in_queue


def queue(slots: int = 1, max_waiting: int = 9, max_bytes: int = 100) -> RequestQueue:
    return RequestQueue(slots, max_waiting, max_bytes)


class Requests:
    """Requests that hold their slots until the test stops them. `order` has the requests that got a slot."""

    def __init__(self, queue: RequestQueue) -> None:
        self.queue, self.order = queue, list[str]()
        self.ends, self.tasks = dict[str, asyncio.Event](), dict[str, asyncio.Task[None]]()

    async def come(self, *names: str) -> None:
        """Start requests. The first letter of a name is the name of the token."""
        for name in names:
            self.ends[name], self.tasks[name] = asyncio.Event(), asyncio.create_task(self._request(name))
        await settle()

    async def end(self, *names: str) -> None:
        for name in names:
            self.ends[name].set()
            await self.tasks[name]
        await settle()

    async def cancel(self, *names: str) -> None:
        for name in names:
            self.tasks[name].cancel()
        await settle()

    async def _request(self, name: str) -> None:
        with self.queue.enter(name[0]) as entry:
            entry.count_bytes(1)
            await entry.acquire_slot()
            self.order.append(name)
            await self.ends[name].wait()


def check_empty(queue: RequestQueue) -> None:
    """Check that the queue is empty, and that each slot and place can be used again."""
    assert (queue.running_count, queue.waiting_count, queue.total_body_bytes, queue._waiting_by_token) == (
        0,
        0,
        0,
        {},
    )
    assert not any(lock.locked() for lock in queue._entry_locks.values())
    slots, capacity = queue._slot_count, queue._slot_count + queue._max_waiting
    with ExitStack() as stack:
        entries = [stack.enter_context(queue.enter()) for _ in range(capacity)]
        for entry in entries[:slots]:
            queue.add_to_waiting(entry)
        assert queue.running_count == slots
        with pytest.raises(EngineOverloaded):
            stack.enter_context(queue.enter())
    assert (queue.running_count, queue.waiting_count) == (0, 0)


# --- order and bound ---------------------------------------------------------------------------------


async def test_request_is_refused_when_slots_and_queue_are_full() -> None:
    requests = Requests(queue(slots=2, max_waiting=1))
    await requests.come("a1", "a2", "a3")
    assert (requests.queue.running_count, requests.queue.waiting_count) == (2, 1)
    full = pytest.raises(EngineOverloaded, match="all 2 slots are busy and 1 requests are waiting")
    with full, requests.queue.enter():
        pass
    await requests.end("a1", "a2", "a3")
    check_empty(requests.queue)


async def test_requests_of_one_token_get_slots_in_their_order() -> None:
    requests = Requests(queue())
    names = [f"a{number}" for number in range(6)]
    await requests.come(*names)
    await requests.end(*names)
    assert requests.order == names


async def test_tokens_get_slots_in_turn() -> None:
    """Regardless of how many requests of another token came first."""
    requests = Requests(queue())
    await requests.come("a1", "a2", "a3", "a4", "b1", "b2", "c1")
    await requests.end("a1", "a2", "b1", "c1", "a3", "b2", "a4")
    assert requests.order == ["a1", "a2", "b1", "c1", "a3", "b2", "a4"]
    check_empty(requests.queue)


async def test_token_without_waiting_requests_misses_no_later_turn() -> None:
    requests = Requests(queue())
    await requests.come("a1", "a2", "a3", "b1")
    await requests.end("a1", "a2", "b1")
    await requests.come("b2", "a4")
    await requests.end("a3", "b2", "a4")
    assert requests.order == ["a1", "a2", "b1", "a3", "b2", "a4"]


async def test_single_token_may_use_all_slots_while_no_other_waits() -> None:
    requests = Requests(queue(slots=3))
    await requests.come("a1", "a2", "a3", "a4", "b1")
    assert requests.order == ["a1", "a2", "a3"]
    await requests.end("a1", "a2")
    assert requests.order[3:] == ["a4", "b1"]


async def test_metrics_are_labelled_by_token_name() -> None:
    requests = Requests(queue(max_waiting=1))
    await requests.come("a1", "b1")
    for name in ("b", ""):
        with pytest.raises(EngineOverloaded), requests.queue.enter(name):
            pass

    def counts() -> dict[str, str]:
        families = tuple(requests.queue.format_caller_metrics())
        lines = "".join(map("".join, families)).splitlines()
        return dict(line.removeprefix("ioi_eval_caller_").split() for line in lines if line[0] != "#")

    assert counts() == {
        'jobs_total{caller="a"}': "1",
        'jobs_total{caller="b"}': "0",
        'refusals_total{caller="a"}': "0",
        'refusals_total{caller="b"}': "1",
        'requests{caller="a"}': "1",
        'requests{caller="b"}': "1",
        'slots{caller="a"}': "1",
        'slots{caller="b"}': "0",
    }
    await requests.end("a1", "b1")
    assert counts()['requests{caller="a"}'] == "0" and counts()['jobs_total{caller="b"}'] == "1"


# --- waiting for a place -----------------------------------------------------------------------------


class Doors:
    """Requests that wait to enter the queue, or are in it until the test stops them."""

    def __init__(self, queue: RequestQueue) -> None:
        self.queue, self.inside = queue, list[str]()
        self.leave = asyncio.Semaphore(0)
        self.tasks = dict[str, asyncio.Task[None]]()

    async def come(self, *names: str) -> None:
        for name in names:
            self.tasks[name] = asyncio.create_task(self._request(name))
        await settle()

    async def next(self) -> None:
        self.leave.release()
        await settle()

    async def _request(self, name: str) -> None:
        async with self.queue.enter_within(60.0, name[0]):
            self.inside.append(name)
            await self.leave.acquire()


async def test_requests_of_token_enter_queue_in_order_and_tokens_take_turns() -> None:
    doors = Doors(queue(max_waiting=0))
    await doors.come("a1", "a2", "a3", "a4", "b1", "b2")
    assert doors.inside == ["a1"]
    doors.tasks["a3"].cancel()
    for _ in range(5):
        await doors.next()
    assert doors.inside == ["a1", "a2", "b1", "a4", "b2"]
    check_empty(doors.queue)


async def test_request_that_waits_to_enter_is_refused_when_server_drains() -> None:
    doors = Doors(queue(max_waiting=0))
    await doors.come("a1", "a2")
    doors.queue.drain()
    with pytest.raises(ServerDraining):
        await doors.tasks["a2"]
    await doors.next()
    await doors.queue.wait_until_empty()
    assert not doors.queue._refused_counts


async def test_request_that_waits_too_long_to_enter_is_refused() -> None:
    doors = Doors(queue(max_waiting=0))
    await doors.come("a1", "a2")
    await FastForwardClock().advance(60.1)
    with pytest.raises(EngineOverloaded, match="slots are busy"):
        await doors.tasks["a2"]
    await doors.next()
    check_empty(doors.queue)


async def test_client_asked_to_repeat_its_request_does_not_fill_queue() -> None:
    full = queue(max_waiting=0)
    with full.enter() as entry:
        waiting = Doors(full)
        await waiting.come("a1")
        assert waiting.inside == []
        for _ in range(2):
            entry.release_place()
        await settle()
        assert waiting.inside == ["a1"]
        with pytest.raises(EngineOverloaded), full.enter():
            pass
        await waiting.next()
    check_empty(full)


# --- bytes -------------------------------------------------------------------------------------------


def test_total_size_of_concurrent_request_bodies_is_limited() -> None:
    full = queue()
    with full.enter() as first, full.enter() as second:
        first.count_bytes(60)
        second.count_bytes(40)
        for entry in (first, second):
            with pytest.raises(EngineOverloaded, match="have 100 bytes; their maximum is 100"):
                entry.count_bytes(1)
        assert full.total_body_bytes == 100
    assert full.total_body_bytes == 0


def test_single_request_body_may_exceed_the_total_limit() -> None:
    full = queue()
    with full.enter() as alone, full.enter() as other:
        alone.count_bytes(150)
        alone.count_bytes(150)
        with pytest.raises(EngineOverloaded):
            other.count_bytes(1)
    assert full.total_body_bytes == 0


# --- draining ----------------------------------------------------------------------------------------


async def test_draining_queue_lets_running_requests_end_and_refuses_waiting_requests() -> None:
    requests = Requests(queue())
    await requests.come("a1", "a2", "b1")
    requests.queue.drain()
    with pytest.raises(ServerDraining), requests.queue.enter():
        pass
    emptying = asyncio.create_task(requests.queue.wait_until_empty())
    for name in ("a2", "b1"):
        with pytest.raises(ServerDraining):
            await requests.tasks[name]
    assert not emptying.done() and requests.queue.running_count == 1
    await requests.end("a1")
    await emptying


async def test_request_that_still_sends_when_server_drains_gets_no_slot() -> None:
    draining = queue()
    with draining.enter() as entry:
        draining.drain()
        with pytest.raises(ServerDraining):
            await entry.acquire_slot()
    await draining.wait_until_empty()
    assert draining.running_count == 0


# --- cancellation ------------------------------------------------------------------------------------


async def test_background_work_keeps_queue_entry_and_slot_of_its_request() -> None:
    full, leave = queue(max_waiting=0), asyncio.Event()

    async def work() -> None:
        with keep_current_request_in_queue():
            await leave.wait()

    with full.enter() as entry:
        entry.count_bytes(70)
        await entry.acquire_slot()
        working = asyncio.create_task(work())
        await settle()
    assert (full.running_count, full.waiting_count, full.total_body_bytes) == (1, 0, 70)
    with pytest.raises(EngineOverloaded), full.enter():
        pass
    leave.set()
    await working
    check_empty(full)
    with keep_current_request_in_queue():  # outside of a request
        assert full.waiting_count == 0


async def test_request_cancelled_while_it_waits_gets_no_slot() -> None:
    requests = Requests(queue())
    await requests.come("b1")
    with requests.queue.enter("a") as entry:
        waiting = asyncio.create_task(entry.acquire_slot())
        await settle()
        waiting.cancel()
        await settle()
        await requests.come("c1")
        await requests.end("b1")
        assert requests.order == ["b1", "c1"] and not requests.queue.has_slot(entry)
    await requests.end("c1")
    check_empty(requests.queue)


async def sends(entry: QueueEntry) -> None:
    entry.count_bytes(50)
    await asyncio.Event().wait()


async def waits(entry: QueueEntry) -> None:
    entry.count_bytes(50)
    await entry.acquire_slot()
    raise AssertionError("another request has the only slot")


async def runs(entry: QueueEntry) -> None:
    entry.count_bytes(50)
    await entry.acquire_slot()
    await asyncio.Event().wait()


@pytest.mark.parametrize("phase", [sends, waits, runs])
async def test_cancelled_request_releases_its_slot_and_entry(
    phase: Callable[[QueueEntry], Awaitable[None]],
) -> None:
    full = queue(max_waiting=2)

    async def request() -> None:
        with full.enter("a") as entry:
            await phase(entry)

    other_requests = Requests(full)
    if phase is waits:
        await other_requests.come("b1")
    cancelled = asyncio.create_task(request())
    await settle()
    await other_requests.come("c1")
    cancelled.cancel()
    await asyncio.wait([cancelled])
    assert cancelled.cancelled() and full.total_body_bytes == len(other_requests.tasks)
    await other_requests.end(*other_requests.tasks)
    check_empty(full)


async def test_request_that_is_cancelled_while_it_waits_to_enter_lets_the_next_one_enter() -> None:
    doors = Doors(queue(max_waiting=0))
    await doors.come("a1", "a2", "a3")
    doors.tasks["a2"].cancel()
    await doors.next()
    assert doors.inside == ["a1", "a3"]
    await doors.next()
    check_empty(doors.queue)


@pytest.mark.parametrize("steps", range(4))
async def test_slot_of_request_cancelled_on_assignment_goes_to_next_request(steps: int) -> None:
    requests = Requests(queue())
    await requests.come("a1", "a2", "a3")
    requests.ends["a1"].set()
    for _ in range(steps):
        await asyncio.sleep(0)
    await requests.cancel("a2")
    assert requests.order[-1] == "a3" and requests.queue.running_count == 1
    await requests.end("a3")
    check_empty(requests.queue)


@pytest.mark.parametrize("seed", range(20))
async def test_queue_is_empty_after_requests_are_cancelled_at_random(seed: int) -> None:
    chance, max_running = random.Random(seed), 0
    shared = queue(slots=2, max_waiting=5)

    async def request(token_name: str) -> None:
        nonlocal max_running
        async with shared.enter_within(60.0, token_name) as entry:
            entry.count_bytes(1)
            await asyncio.sleep(0)
            await entry.acquire_slot()
            max_running = max(max_running, shared.running_count)
            assert shared.running_count + shared.waiting_count <= 7
            for _ in range(chance.randrange(4)):
                await asyncio.sleep(0)

    tasks = [asyncio.create_task(request(chance.choice("abc"))) for _ in range(30)]
    while not all(task.done() for task in tasks):
        if chance.random() < 0.5:
            chance.choice(tasks).cancel()
        for _ in range(chance.randrange(6)):
            await asyncio.sleep(0)
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        assert result is None or isinstance(result, asyncio.CancelledError)
    assert max_running <= 2
    check_empty(shared)
