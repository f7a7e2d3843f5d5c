"""The shared/exclusive lock, and the slots of an engine."""

from __future__ import annotations

import asyncio
import random
from typing import cast

import pytest
from support.clocks import FastForwardClock
from support.waiting import settle

from ioi_eval.engines.embedded.engine import JobSlotPool
from ioi_eval.engines.embedded.job import JobSlot
from ioi_eval.engines.locks import SharedExclusiveLock


class Work:
    """Tasks that hold a slot until the test stops them, and the names of running tasks."""

    def __init__(self, slots: int) -> None:
        self.slots = JobSlotPool(cast(JobSlot, object()) for _ in range(slots))
        self.running, self.ends = set[str](), dict[str, asyncio.Event]()
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self, *names: str) -> None:
        """Start tasks. A name in capitals is an exclusive task."""
        for name in names:
            self.ends[name], self.tasks[name] = asyncio.Event(), asyncio.create_task(self._hold(name))
        await settle()

    async def end(self, name: str) -> None:
        self.ends[name].set()
        await settle()

    async def cancel(self, name: str) -> None:
        self.tasks[name].cancel()
        await settle()

    async def _hold(self, name: str) -> None:
        async with self.slots.hold_slot(exclusive=name.isupper()):
            self.running.add(name)
            try:
                await self.ends[name].wait()
            finally:
                self.running.remove(name)


async def test_exclusive_job_waits_for_earlier_jobs_and_later_jobs_wait_for_it() -> None:
    work = Work(slots=2)
    await work.start("a", "b", "c", "ALONE", "d", "e")
    assert work.running == {"a", "b"}
    await work.end("a")
    assert work.running == {"b", "c"}
    await work.end("b")
    assert work.running == {"c"}  # a slot is free, and `d` waits for the exclusive job
    await work.end("c")
    assert work.running == {"ALONE"}
    await work.end("ALONE")
    assert work.running == {"d", "e"}


@pytest.mark.parametrize("phase", ["waits", "runs"])
async def test_cancelled_exclusive_job_lets_later_jobs_run(phase: str) -> None:
    work = Work(slots=2)
    await work.start("a", "ALONE", "b")
    assert work.running == {"a"}
    if phase == "runs":
        await work.end("a")
        assert work.running == {"ALONE"}
    await work.cancel("ALONE")
    assert "b" in work.running and "ALONE" not in work.running


async def test_cancelled_job_before_exclusive_job_releases_its_slot() -> None:
    work = Work(slots=1)
    await work.start("a", "b", "ALONE")
    await work.cancel("b")
    await work.cancel("a")
    assert work.running == {"ALONE"}


@pytest.mark.parametrize("seed", range(10))
async def test_slots_are_free_after_jobs_are_cancelled_at_random(seed: int) -> None:
    chance, work = random.Random(seed), Work(slots=2)
    names = [chance.choice(["job{}", "ALONE{}"]).format(number) for number in range(12)]
    await work.start(*names)
    while not all(task.done() for task in work.tasks.values()):
        name = chance.choice(names)
        if chance.random() < 0.5:
            work.tasks[name].cancel()
        else:
            work.ends[name].set()
        for _ in range(chance.randrange(4)):
            await asyncio.sleep(0)
        exclusive = {name for name in work.running if name.isupper()}
        assert len(work.running) <= (1 if exclusive else 2)
    await work.start("a", "b")
    assert work.running == {"a", "b"}


class Holders:
    """Tasks that hold a lock until the test stops them. `log` contains the tasks that got it."""

    def __init__(self) -> None:
        self.lock, self.log = SharedExclusiveLock(), list[str]()
        self.ends, self.tasks = dict[str, asyncio.Event](), dict[str, asyncio.Task[None]]()

    async def start(self, name: str, *, exclusive: bool = False, max_wait_for_others_s: float = 0.0) -> None:
        async def hold() -> None:
            async with self.lock.hold(exclusive=exclusive, max_wait_for_others_s=max_wait_for_others_s):
                self.log.append(name)
                await self.ends[name].wait()

        self.ends[name], self.tasks[name] = asyncio.Event(), asyncio.create_task(hold())
        await settle()

    async def end(self, name: str) -> None:
        self.ends[name].set()
        await self.tasks[name]
        await settle()


async def test_exclusive_task_waits_for_later_tasks_if_others_go_first() -> None:
    holders = Holders()
    await holders.start("a")
    await holders.start("last", exclusive=True, max_wait_for_others_s=60.0)
    await holders.start("b")
    await holders.end("a")
    assert holders.log == ["a", "b"]
    await holders.end("b")
    assert holders.log == ["a", "b", "last"]
    await holders.end("last")


async def test_exclusive_task_lets_others_go_first_for_limited_time() -> None:
    holders = Holders()
    await holders.start("a")
    await holders.start("last", exclusive=True, max_wait_for_others_s=60.0)
    await FastForwardClock().advance(60.1)
    await holders.start("b")
    await holders.end("a")
    assert holders.log == ["a", "last"]
    await holders.end("last")
    assert holders.log == ["a", "last", "b"]
    await holders.end("b")


@pytest.mark.parametrize("exclusive", [False, True])
async def test_lock_is_free_after_its_holder_fails(exclusive: bool) -> None:
    lock = SharedExclusiveLock()
    with pytest.raises(ValueError, match="no power"):
        async with lock.hold(exclusive=exclusive):
            raise ValueError("no power")
    async with lock.hold(exclusive=True):
        pass
