"""The embedded engine: what a Piston server does, in this process and without Docker or root."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import resource
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache, partial
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Self

import msgspec

from ioi_eval.engines.contract import CLASSIC, Capabilities, Check
from ioi_eval.engines.embedded.job import (
    BUILT_IN,
    ENDPOINT,
    Done,
    Ground,
    JobPlan,
    SandboxSpace,
    Slot,
    StagePlan,
    drop,
    plan_of,
    run_job,
)
from ioi_eval.engines.embedded.packages import LanguagePackage, load_packages, names_of
from ioi_eval.engines.embedded.proctor import proctor_binary, waiting_library
from ioi_eval.engines.embedded.sandbox import KillSwitch, OutputCaps, SandboxLimits
from ioi_eval.engines.embedded.sandboxes import Sandboxes, Uids
from ioi_eval.engines.embedded.toolchains import as_sandboxes_have_it, question_for, toolchains
from ioi_eval.engines.locks import SharedExclusiveLock
from ioi_eval.engines.threads import to_its_end
from ioi_eval.model.doing import at, log_step
from ioi_eval.model.errors import EngineOverloaded, EngineUnavailable
from ioi_eval.model.job import Job, JobResult, StageStatus, Toolchain
from ioi_eval.model.values import Blob
from ioi_eval.store import Store
from ioi_eval.store.compiling import WAITING
from ioi_eval.store.resources import graders

_log = logging.getLogger(__name__)
_ASKED = 60.0  # seconds for what takes milliseconds
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
    capabilities: Capabilities
    packages: tuple[LanguagePackage, ...]
    threads: ThreadPoolExecutor
    all_slots: tuple[Slot, ...]
    slots: Slots
    leashes: set[KillSwitch]  # of jobs that run


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
        the version of the interpreter, by default the newest of the system's; `caller` is the one that runs
        us, unless only the newest has the `promised` packages.
        """
        if slots is not None and slots < 1:
            raise ValueError(f"slots must be at least 1, not {slots}")
        self._wanted = self._slots = slots or len(os.sched_getaffinity(0))
        self._store, self._boxes = store, None if boxes is None else Path(boxes)
        self._layers, self._allow_unconfined = layers, allow_unconfined
        self._caps = OutputCaps(stdout=max_stdout, stderr=max_stderr)
        self._max_file, self._max_processes = max_file, max_processes
        self._room = SandboxSpace(disk=max_disk, names=max_names)
        self._packages, self._waiting = tuple(map(Path, packages)), waiting
        self._python, self._promised = python, tuple(promised)
        self._held = AsyncExitStack()
        self._running: _Running | None = None

    @property
    def slots(self) -> int:
        return self._slots

    async def capabilities(self) -> Capabilities:
        return self._entered().capabilities

    @property
    def packages(self) -> tuple[LanguagePackage, ...]:
        """The languages of jobs, those that are built in last."""
        return self._entered().packages

    async def execute(self, job: Job, check: Check | None = None) -> JobResult:
        packages, processes = self._entered().packages, self._max_processes
        plan = plan_of(job, file_size=self._max_file, processes=processes, packages=packages)
        done = await self._done(job, plan)
        return JobResult(
            run=done.run,
            compile=done.compile,
            language=plan.language,
            version=plan.version,
            endpoint=ENDPOINT,
            kept=done.kept,
        )

    async def _done(self, job: Job, plan: JobPlan) -> Done:
        running = self._entered()
        log_step(_log, "queued")
        async with running.slots.take(exclusive=job.exclusive) as slot:
            if self._running is not running:
                raise EngineUnavailable("the embedded engine was closed while the job waited for a slot")
            try:
                leash = KillSwitch()
            except OSError as error:
                raise EngineOverloaded(f"no box can be started now: {error.strerror}") from error
            place = f"this machine, slot {running.all_slots.index(slot) + 1}"
            running.leashes.add(leash)
            try:
                with at(place, _log):
                    work = partial(run_job, running.ground, job, plan, slot, leash)
                    return await to_its_end(work, executor=running.threads, hurry=leash.cut, undo=drop)
            finally:
                running.leashes.discard(leash)

    def let_go(self) -> None:
        """In a child that was forked while the engine was open: what runs stays the parent's alone."""
        running, self._running = self._running, None
        for leash in tuple(running.leashes) if running else ():
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
        for leash in tuple(running.leashes) if running else ():
            leash.cut()
        await self._held.aclose()

    async def _open(self) -> _Running:
        """Open the engine. `_held` gives everything back in reverse, also when this is cut short."""
        _tell_of_limits()
        boxes, uids = Sandboxes(self._boxes, slots=self._wanted), Uids()
        self._held.push_async_callback(to_its_end, boxes.close)
        await to_its_end(boxes.open)
        # A program never takes the room of another's, in this engine or in any other.
        shares = await to_its_end(partial(boxes.share, self._wanted, most=self._room.disk))
        self._slots = shares.slots
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
        how = self._layers, self._allow_unconfined
        ground = Ground(boxes, proctor, self._caps, room, boxes.links(), Lock(), *how)
        all_slots = tuple(Slot(ground, uid) for uid in uids.reserve(shares.slots))
        for slot in all_slots:
            self._held.push_async_callback(to_its_end, slot.standing.close)
        threads = ThreadPoolExecutor(shares.slots, thread_name_prefix="ioi-eval-job")
        self._held.push_async_callback(to_its_end, threads.shutdown)
        found, chosen = tools.get("python3"), await self._python_in_a_sandbox(ground, all_slots[0], tools)
        if chosen is not None and chosen != found:
            tools["python3"] = chosen
            library = await self._library(tools, boxes.folder)
        read = tuple(dict.fromkeys(place for tool in tools.values() for place in tool.read))
        own = (Blob.of_file(proctor), *(() if library is None else (library,)))
        ground = msgspec.structs.replace(ground, read=read, own=frozenset(blob.sha256 for blob in own))
        capabilities = Capabilities(
            name=ENDPOINT,
            architecture=platform.machine(),
            confines=True,
            takes_paths=True,
            exclusive=True,
            bare=CLASSIC,
            toolchains=tools,
            runtimes=names_of(packages),
            proctor=own[0],
            waiting=library,
            max_output=self._caps.stdout,
        )
        return _Running(ground, capabilities, packages, threads, all_slots, Slots(all_slots), set())

    async def _python_in_a_sandbox(
        self, ground: Ground, slot: Slot, tools: Mapping[str, Toolchain]
    ) -> Toolchain | None:
        """Return the Python for submissions; the one that was found is asked in a sandbox first."""
        python = tools.get("python3")
        if python is None or not python.read or python.refusal:
            return python
        limits = SandboxLimits(hard_ms=int(_ASKED * 1000))
        stage = StagePlan(argv=question_for(python), profile="tool", limits=limits)
        plan, leash = JobPlan(compile=None, run=stage, read=python.read), KillSwitch()
        work = partial(run_job, ground, Job(files=()), plan, slot, leash)
        end = (await to_its_end(work, hurry=leash.cut, undo=drop)).run
        if end.limit == "hard":
            raise EngineOverloaded(f"{python.path} did not answer in a sandbox within {_ASKED:.0f} s")
        failure = (end.message or "") if end.status is StageStatus.XX else ""
        choose = partial(as_sandboxes_have_it, python, self._python, end.stdout, failure or end.stderr)
        return await to_its_end(choose)

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


# --- slots -------------------------------------------------------------------------------------------


class Slots:
    """The slots of an engine. A job holds one slot until it ends, whatever its programs do."""

    def __init__(self, slots: Iterable[Slot]) -> None:
        self._lock = SharedExclusiveLock()
        self._free: asyncio.LifoQueue[Slot] = asyncio.LifoQueue()
        for slot in slots:
            self._free.put_nowait(slot)

    @asynccontextmanager
    async def take(self, *, exclusive: bool = False) -> AsyncIterator[Slot]:
        """Hold a slot inside `async with`; if `exclusive`, while no other job holds one."""
        async with self._lock.hold(exclusive=exclusive):
            slot = await self._free.get()
            try:
                yield slot
            finally:
                self._free.put_nowait(slot)
