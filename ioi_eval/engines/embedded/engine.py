"""The embedded engine: what a Piston server does, in this process and without Docker or root."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import platform
import resource
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from functools import cache, partial
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Protocol, Self

import msgspec

from ioi_eval.engines.contract import CLASSIC, Profile
from ioi_eval.engines.embedded.box import Caps, Leash
from ioi_eval.engines.embedded.boxes import Boxes, Uids
from ioi_eval.engines.embedded.job import (
    BUILT_IN,
    ENDPOINT,
    Done,
    Ground,
    JobPlan,
    Room,
    Slot,
    drop,
    plan_by_path,
    plan_of,
    run_job,
)
from ioi_eval.engines.embedded.packages import LanguagePackage, load_packages, names_of
from ioi_eval.engines.embedded.proctor import proctor_binary, waiting_library
from ioi_eval.engines.embedded.toolchains import toolchains
from ioi_eval.engines.threads import to_its_end
from ioi_eval.model.doing import at
from ioi_eval.model.errors import EngineOverloaded, EngineUnavailable
from ioi_eval.model.job import Ended, Job, JobResult, Toolchain
from ioi_eval.model.values import Blob
from ioi_eval.store import Store
from ioi_eval.store.compiling import WAITING
from ioi_eval.store.resources import graders

_log = logging.getLogger(__name__)
# Hard limits that nobody but root gets rid of: those of a program lie below them.
_INHERITED = {
    "-Hs": resource.RLIMIT_STACK,
    "-Hv": resource.RLIMIT_AS,
    "-Hd": resource.RLIMIT_DATA,
    "-Ht": resource.RLIMIT_CPU,
    "-Hf": resource.RLIMIT_FSIZE,
}


class _Running(msgspec.Struct, frozen=True):
    """The parts of an engine between entering and leaving it."""

    ground: Ground
    profile: Profile
    packages: tuple[LanguagePackage, ...]
    threads: ThreadPoolExecutor
    all_slots: tuple[Slot, ...]
    slots: Slots


@cache  # once is enough
def _tell_of_limits() -> None:
    """Warn of limits that whoever started this has, and so the programs: a right one may fail by them."""
    found = {option: resource.getrlimit(kind)[1] for option, kind in _INHERITED.items()}
    finite = [f"ulimit {option}" for option, most in found.items() if most != resource.RLIM_INFINITY]
    if finite:
        _log.warning(
            "programs have the hard limits of this shell (%s), and a right one that needs more fails."
            " Start from a shell where they are unlimited",
            ", ".join(finite),
        )


class EmbeddedEngine:
    """Runs jobs on this machine, every stage confined by the proctor.

        async with EmbeddedEngine(store=store) as engine:
            result = await engine.execute(job)

    A job takes a slot and a thread. Whoever cancels `execute` gets control back when the job's processes are
    dead, its files are gone and its slot is free.
    """

    def __init__(
        self,
        *,
        store: Store,
        slots: int | None = None,
        boxes: str | Path | None = None,
        layers: tuple[str, ...] | None = None,
        allow_unconfined: bool = False,
        max_stdout: int = 64 << 20,
        max_stderr: int = 16 << 20,
        max_file: int = 1 << 30,
        max_processes: int = 256,
        max_disk: int = 4 << 30,
        max_names: int = 100_000,
        packages: Iterable[str | Path] = (),
        waiting: bool = True,
        python: str = "",
        promised: Collection[str] = (),
    ) -> None:
        """`boxes`: a folder for boxes, by default in memory. `layers`: for tests, see docs/protocol.md.
        `packages`: folders of packages in Piston's layout; those of the first folder win. `waiting`: whether
        Python waits and forks a process for each test; where not, each test starts it. `python`: the path or
        the version of the interpreter, or `caller`; by default the newest of the system's, but the caller's
        where only that has the `promised` packages.
        """
        if slots is not None and slots < 1:
            raise ValueError(f"slots must be at least 1, not {slots}")
        self._wanted = self._slots = slots or len(os.sched_getaffinity(0))
        self._store, self._boxes = store, None if boxes is None else Path(boxes)
        self._layers, self._allow_unconfined = layers, allow_unconfined
        self._caps = Caps(stdout=max_stdout, stderr=max_stderr)
        self._max_file, self._max_processes = max_file, max_processes
        self._room = Room(disk=max_disk, names=max_names)
        self._packages, self._waiting = tuple(map(Path, packages)), waiting
        self._python, self._promised = python, tuple(promised)
        self._held = AsyncExitStack()
        self._running: _Running | None = None

    @property
    def slots(self) -> int:
        return self._slots

    @property
    def lender(self) -> Slots:
        return self._entered().slots

    async def profile(self) -> Profile:
        return self._entered().profile

    @property
    def packages(self) -> tuple[LanguagePackage, ...]:
        """The languages of jobs, those that are built in last."""
        return self._entered().packages

    async def execute(self, job: Job) -> JobResult:
        packages, processes = self._entered().packages, self._max_processes
        plan = plan_of(job, file_size=self._max_file, processes=processes, packages=packages)
        done = await self._done(job, plan)
        return JobResult(
            run=done.run.stage(),
            compile=None if done.compile is None else done.compile.stage(),
            language=plan.language,
            version=plan.version,
            endpoint=ENDPOINT,
            kept=done.kept,
        )

    async def run(self, job: Job) -> Ended:
        """Execute a job with one script, whose files lie here and stay here."""
        plan = plan_by_path(job, file_size=self._max_file, processes=self._max_processes)
        done = await self._done(job, plan)
        try:
            return msgspec.structs.replace(done.run.ended(), kept=done.kept)
        except EngineUnavailable:
            drop(done)
            raise

    async def _done(self, job: Job, plan: JobPlan) -> Done:
        running = self._entered()
        async with running.slots.take(alone=job.alone) as slot:
            if self._running is not running:
                raise EngineUnavailable("the embedded engine was closed while the job waited for a slot")
            try:
                leash = Leash()
            except OSError as error:
                raise EngineOverloaded(f"no box can be started now: {error.strerror}") from error
            place = f"this machine, slot {running.all_slots.index(slot) + 1}"
            with running.slots.watched(leash), at(place):
                work = partial(run_job, running.ground, job, plan, slot, leash)
                return await to_its_end(work, executor=running.threads, hurry=leash.cut, undo=drop)

    def let_go(self) -> None:
        """In a child that was forked while the engine was open: what runs stays the parent's alone."""
        running, self._running = self._running, None
        for leash in running.slots.jobs if running else ():
            leash.cut()
        for slot in running.all_slots if running else ():
            slot.standing.let_go()

    def _entered(self) -> _Running:
        if self._running is None:
            raise EngineUnavailable("the embedded engine works inside `async with` only")
        return self._running

    # --- coming and going ----------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        if self._running is not None:
            raise EngineUnavailable("the embedded engine is in use already")
        try:
            self._running = await self._open()
        except BaseException:
            await self._held.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        running, self._running = self._running, None
        for leash in running.slots.jobs if running else ():
            leash.cut()
        await self._held.aclose()

    async def _open(self) -> _Running:
        """Open the engine. `_held` gives everything back in reverse, also when this is cut short."""
        _tell_of_limits()
        boxes, uids = Boxes(self._boxes, slots=self._wanted), Uids()
        self._held.push_async_callback(to_its_end, boxes.close)
        await to_its_end(boxes.open)
        # A program never takes the room of another's, in this engine or in any other.
        lent = min(self._wanted, _MOST_LENT)
        shares = await to_its_end(partial(boxes.share, self._wanted, spare=lent, most=self._room.disk))
        self._slots, count = shares.slots, shares.slots + shares.spare
        room = msgspec.structs.replace(self._room, disk=shares.each)
        tools = await to_its_end(partial(toolchains, self._python, self._promised))
        packages = await to_its_end(partial(self._find_packages, tools, boxes.folder))
        proctor = boxes.folder / "proctor"
        # Where neither is at hand, both are compiled beside each other.
        making = asyncio.create_task(self._library(tools, boxes.folder))
        try:
            binary = await proctor_binary(tools.get("g++"), graders() / "proctor", self._store, boxes.folder)
            library = await making
        finally:
            making.cancel()
            await asyncio.wait({making})
        proctor.write_bytes(binary.content)
        proctor.chmod(0o755)
        self._held.callback(uids.release)
        read = tuple(dict.fromkeys(place for tool in tools.values() for place in tool.read))
        how = self._layers, self._allow_unconfined
        ground = Ground(boxes, proctor, self._caps, room, Lock(), *how, read)
        all_slots = tuple(Slot(ground, uid) for uid in uids.reserve(count))
        for slot in all_slots:
            self._held.push_async_callback(to_its_end, slot.standing.close)
        slots = Slots(all_slots[: self._slots], all_slots[self._slots :])
        self._held.callback(slots.close)
        threads = ThreadPoolExecutor(count, thread_name_prefix="ioi-eval-job")
        self._held.push_async_callback(to_its_end, threads.shutdown)
        profile = Profile(
            name=ENDPOINT,
            architecture=platform.machine(),
            confines=True,
            bare=CLASSIC,
            toolchains=tools,
            runtimes=names_of(packages),
            proctor=Blob.of_file(proctor),
            waiting=library,
            max_output=self._caps.stdout,
        )
        return _Running(ground, profile, packages, threads, all_slots, slots)

    async def _library(self, tools: Mapping[str, Toolchain], folder: Path) -> Blob | None:
        """Return the library of waiting; without one, None, every test starts its interpreter."""
        if not self._waiting or "python3" not in tools:
            return None
        library = folder / WAITING
        try:
            found = await waiting_library(tools.get("g++"), tools["python3"], graders(), self._store, folder)
            library.write_bytes(found.content)
        except EngineUnavailable:
            return None
        return Blob.of_file(library)

    def _find_packages(self, tools: Collection[str], spare: Path) -> tuple[LanguagePackage, ...]:
        found = (
            package
            for number, folder in enumerate(self._packages)
            for package in load_packages(folder, spare / f"packages-{number}")
        )
        return (*(each for each in found if not each.needs or each.needs in tools), *BUILT_IN)


# --- slots: who has one, and which are lent to the next, because their programs idle -------------------


_MOST_LENT = 8
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
