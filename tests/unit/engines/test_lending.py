"""A slot whose job idles runs another meanwhile."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest
from engine_helpers import alive, mark, script
from support.waits import settle, until

from ioi_eval import EmbeddedEngine, Store
from ioi_eval.engines.embedded import engine as embedded_engine
from ioi_eval.engines.embedded.engine import Slots, has_memory, look_at
from ioi_eval.engines.embedded.job import Slot


async def test_who_sleeps_lends_its_slot(store: Store, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else comes in where memory is short, nor beside who waits to run alone."""
    asked: list[int] = []

    def memory(count: int) -> bool:
        asked.append(count)
        return len(asked) > 2

    monkeypatch.setattr(embedded_engine, "has_memory", memory)
    async with EmbeddedEngine(store=store, slots=1, boxes=base) as engine:
        marked = mark()
        sleeper = asyncio.create_task(engine.execute(script(f"sleep {marked}")))
        await until(lambda: bool(alive(marked)))
        others = [asyncio.create_task(engine.execute(script("echo done"))) for _ in range(2)]
        async with asyncio.timeout(120):
            assert [(await other).run.stdout for other in others] == ["done\n"] * 2
        assert asked[:3] == [1] * 3 and not sleeper.done()
        alone = asyncio.create_task(engine.execute(script("echo alone", alone=True)))
        turns = asked.copy()
        await asyncio.sleep(3 * embedded_engine._LOOK)
        assert not alone.done() and asked == turns
        sleeper.cancel()
        assert (await alone).run.stdout == "alone\n"
        assert engine.slots == 1


async def test_who_runs_alone_waits_for_what_was_lent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the last look at the others was before it came."""
    own, spare = [cast(Slot, name) for name in "ab"], [cast(Slot, "c")]
    every = Slots(own, spare)
    monkeypatch.setattr(embedded_engine, "has_memory", lambda count: True)
    monkeypatch.setattr(every, "_idling", lambda: 1)
    monkeypatch.setattr(embedded_engine, "_LOOK", 0.0)
    ends = [asyncio.Event() for _ in range(4)]
    begun: list[int] = []

    async def work(number: int) -> None:
        async with every.take():
            begun.append(number)
            await ends[number].wait()

    async def alone() -> None:
        async with every.take(alone=True):
            begun.append(-1)

    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        for number in range(4):
            tasks.create_task(work(number))
        await until(lambda: begun == [0, 1, 2])
        every.close()
        tasks.create_task(alone())
        for number in (0, 3, 1):
            ends[number].set()
            await asyncio.sleep(0.01)
        assert begun == [0, 1, 2, 3]
        ends[2].set()
    assert begun == [0, 1, 2, 3, -1]


class Lending:
    """One slot and a spare one, and what ran on them. Looks last until they are let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.slots = Slots([cast(Slot, "own")], [cast(Slot, "spare")])
        self.seen, self.begun, self.ends = asyncio.Event(), list[str](), dict[str, asyncio.Event]()
        self.looks = 0
        self.has_memory: Callable[[], bool] = lambda: True

        async def look(work: object) -> int:
            self.looks += 1
            await self.seen.wait()
            return 1  # the first job sleeps

        monkeypatch.setattr(embedded_engine, "has_memory", lambda count: self.has_memory())
        monkeypatch.setattr(asyncio, "to_thread", look)
        monkeypatch.setattr(embedded_engine, "_LOOK", 0.0)

    def start(self, name: str, *, alone: bool = False) -> asyncio.Task[None]:
        async def work() -> None:
            async with self.slots.take(alone=alone):
                self.begun.append(name)
                await self.ends.setdefault(name, asyncio.Event()).wait()

        return asyncio.create_task(work())

    async def end(self, name: str) -> None:
        self.ends.setdefault(name, asyncio.Event()).set()
        await settle(100)


@pytest.fixture
def lending(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lending]:
    made = Lending(monkeypatch)
    yield made
    made.slots.close()


async def test_who_comes_to_run_alone_during_a_look_is_lent_nothing(lending: Lending) -> None:
    sleeper = lending.start("sleeper")
    await settle(100)
    other = lending.start("other")
    await until(lambda: lending.looks == 1)
    other.cancel()
    alone = lending.start("alone", alone=True)
    await settle(100)
    lending.seen.set()
    await settle(100)
    assert lending.begun == ["sleeper"] and lending.slots.lent == 0
    await lending.end("sleeper")
    assert lending.begun == ["sleeper", "alone"]
    await lending.end("alone")
    await asyncio.gather(sleeper, alone)


async def test_who_runs_alone_takes_no_slot_that_was_lent_to_nobody(lending: Lending) -> None:
    """It was lent to one that gave up in that moment."""
    lending.start("sleeper")
    await settle(100)
    other = lending.start("other")
    lending.has_memory = other.cancel
    lending.seen.set()
    await until(other.done)
    await settle(100)
    assert lending.slots.lent == 1
    lending.start("alone", alone=True)
    await settle(100)
    assert lending.begun == ["sleeper"] and lending.slots.lent == 0
    await lending.end("sleeper")
    assert lending.begun == ["sleeper", "alone"]


async def test_who_runs_alone_lends_nothing(lending: Lending) -> None:
    """Also where it sleeps while somebody waits."""
    lending.seen.set()
    lending.start("alone", alone=True)
    await settle(100)
    lending.start("other")
    await settle(100)
    assert lending.begun == ["alone"]
    await lending.end("alone")
    assert lending.begun == ["alone", "other"]


@contextmanager
def running(*command: str) -> Iterator[int]:
    with subprocess.Popen(["bash", "-c", *command]) as process:
        try:
            yield process.pid
        finally:
            subprocess.run(["pkill", "-KILL", "-P", str(process.pid)], check=False)
            process.kill()


async def test_what_a_job_does_is_seen() -> None:
    with running("sleep 600 & wait") as sleeping:
        await until(lambda: look_at(sleeping)[1] is False)
    with running("while :; do :; done & wait") as working:
        await until(lambda: look_at(working)[1] and look_at(working)[0] > 1)
    assert look_at(working) == (-1, True)


def test_memory_is_told() -> None:
    assert not has_memory(1) and has_memory(1 << 20)
