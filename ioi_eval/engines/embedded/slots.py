"""Slots of an engine: who has one, and which are lent to the next, because their programs idle."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Protocol

from ioi_eval.engines.embedded.box import Leash
from ioi_eval.engines.embedded.job import Slot

MOST_LENT = 8
_LOOK = 0.25  # seconds between two looks at what the programs of jobs do
_LITTLE = 0.25  # of a processor: with less, and nobody ready to run or at a disk, a job idles
_TICKS = os.sysconf("SC_CLK_TCK")
_MEMORY = Path("/sys/fs/cgroup")


class WaitingLine(Protocol):
    """Jobs that wait for slots before they come to the engine."""

    @property
    def waiting(self) -> int: ...

    def hand_out(self) -> None:
        """Let in whom there is a slot for, also a lent one."""


class Slots:
    """Slots of the engine's own, and spare ones that run a job each while as many others idle.

    Nothing is lent to who runs alone or beside it, nor where the machine's memory has no room for one more.
    """

    def __init__(self, own: Sequence[Slot], spare: Sequence[Slot]) -> None:
        self._own, self._spare = len(own), list(spare)
        self._free: asyncio.LifoQueue[Slot] = asyncio.LifoQueue()
        for slot in own:
            self._free.put_nowait(slot)
        self._jobs: dict[Leash, int] = {}  # under way, with the CPU time at the last look
        self._alone = asyncio.Lock()  # held by a job from when it waits to run alone
        self._waiting = self.lent = self._idle = 0
        self._lines = set[WaitingLine]()  # in which somebody waits
        self._looking: asyncio.Task[None] | None = None

    @property
    def jobs(self) -> tuple[Leash, ...]:
        return tuple(self._jobs)

    @asynccontextmanager
    async def take(self, *, alone: bool = False) -> AsyncIterator[Slot]:
        """Hold a slot; alone, all of them."""
        taken: list[Slot] = []
        async with self._alone if alone else nullcontext():
            try:
                while alone and self.lent and not self._free.empty():  # lent to nobody yet
                    self._give_back(self._free.get_nowait())
                while len(taken) < (self._own if alone else 1):
                    self._waiting += 1
                    if self._free.empty():
                        self._begin()
                    try:
                        taken.append(await self._free.get())
                    finally:
                        self._waiting -= 1
                yield taken[0]
            finally:
                for slot in taken:
                    self._give_back(slot)

    @contextlib.contextmanager
    def watched(self, leash: Leash) -> Iterator[None]:
        """Look at the job on this leash as long as it lasts."""
        self._jobs[leash] = -1
        try:
            yield
        finally:
            del self._jobs[leash]

    def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()

    def ask(self, line: WaitingLine) -> None:
        """Lend to those in the line, too, as long as somebody waits there."""
        self._lines.add(line)
        self._begin()

    def _begin(self) -> None:
        if self._spare and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look())

    def _asked(self) -> int:
        return self._waiting + sum(line.waiting for line in self._lines)

    def _give_back(self, slot: Slot) -> None:
        asked = self._asked() and not self._alone.locked()  # who runs alone wants what was lent back first
        if self.lent > (self._idle if asked else 0):
            self.lent -= 1
            self._spare.append(slot)
        else:
            self._free.put_nowait(slot)

    async def _look(self) -> None:
        """Lend, while somebody waits."""
        while self._asked():
            await asyncio.sleep(_LOOK)
            idle = 0 if self._alone.locked() else await asyncio.to_thread(self._idling)
            self._idle = 0 if self._alone.locked() else idle  # it may have come during the look
            while self._spare and self.lent < self._idle and self._asked() and has_memory(self._own):
                self.lent += 1
                self._free.put_nowait(self._spare.pop())
                for line in self._lines:
                    line.hand_out()
        self._idle = 0
        self._lines.clear()

    def _idling(self) -> int:
        """Return how many jobs have done nothing since the last look."""
        count = 0
        for leash, before in tuple(self._jobs.items()):
            used, works = look_at(leash.process) if leash.process else (-1, True)
            count += not works and before >= 0 and abs(used - before) <= _LITTLE * _LOOK * _TICKS
            if leash in self._jobs:
                self._jobs[leash] = used
        return count


def look_at(root: int) -> tuple[int, bool]:
    """Return the ticks of CPU time of a process and all below it; True if one is ready or at a disk."""
    used, works, left = 0, False, [root]
    while left:
        process = Path(f"/proc/{left.pop()}")
        try:
            used += sum(map(int, _facts(process)[11:15]))
            for thread in (process / "task").iterdir():
                works = works or _facts(thread)[0] in "RD"
                left += map(int, (thread / "children").read_text().split())
        except OSError:  # it has ended meanwhile, or nobody may see it: it idles for nobody
            return -1, True
    return used, works


def _facts(process: Path) -> list[str]:
    """Return the fields of its `stat` from its state on: what comes before may hold spaces."""
    return (process / "stat").read_text().rpartition(") ")[2].split()


def has_memory(slots: int) -> bool:
    """Return True if a slot's share of the memory is left, here and in our control group."""
    facts = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    whole, left = (int(facts[name].split()[0]) << 10 for name in ("MemTotal", "MemAvailable"))
    with contextlib.suppress(OSError, ValueError):  # of which there is none, or without a limit
        limit = int((_MEMORY / "memory.max").read_text())
        whole, left = min(whole, limit), min(left, limit - int((_MEMORY / "memory.current").read_text()))
    return left >= whole // slots
