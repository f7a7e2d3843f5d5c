"""The embedded engine: it executes jobs like a Piston server, in this process and without Docker or root."""

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

from ioi_eval.engines.contract import CLASSIC, Capabilities, Check, require_toolchains
from ioi_eval.engines.embedded.job import (
    BUILT_IN,
    ENDPOINT,
    JobEndings,
    JobEnvironment,
    JobPlan,
    Slot,
    StagePlan,
    make_job_plan,
    remove_kept_files,
    run_job,
)
from ioi_eval.engines.embedded.packages import LanguagePackage, list_package_names, load_packages
from ioi_eval.engines.embedded.proctor import find_fork_server_library, get_proctor_binary
from ioi_eval.engines.embedded.sandbox import KillSwitch, OutputCaps, SandboxLimits
from ioi_eval.engines.embedded.sandboxes import Sandboxes, Uids
from ioi_eval.engines.embedded.toolchains import check_in_sandbox, description_command, toolchains
from ioi_eval.engines.locks import SharedExclusiveLock
from ioi_eval.engines.threads import run_to_end
from ioi_eval.model.doing import log_step, mark_executing
from ioi_eval.model.errors import EngineOverloaded, EngineUnavailable
from ioi_eval.model.job import Job, JobResult, StageStatus, Toolchain
from ioi_eval.model.values import Blob
from ioi_eval.store import Store
from ioi_eval.store.compiling import WAITING
from ioi_eval.store.resources import graders_folder

_log = logging.getLogger(__name__)
_MAX_PYTHON_S = 60.0  # maximum seconds for a question to Python, which normally needs milliseconds
# Resource limits whose hard limit only root can raise. Programs inherit these limits.
_INHERITED = {
    "-Hs": resource.RLIMIT_STACK,
    "-Hv": resource.RLIMIT_AS,
    "-Hd": resource.RLIMIT_DATA,
    "-Ht": resource.RLIMIT_CPU,
    "-Hf": resource.RLIMIT_FSIZE,
}


class _Running(msgspec.Struct, frozen=True):
    """The parts of an open engine."""

    environment: JobEnvironment
    capabilities: Capabilities
    packages: tuple[LanguagePackage, ...]
    threads: ThreadPoolExecutor
    all_slots: tuple[Slot, ...]
    slots: Slots
    kill_switches: set[KillSwitch]  # kill switches of the jobs that run now


@cache  # warn once
def _warn_of_limits() -> None:
    """Log a warning if this process has limits, which programs inherit: a right program may exceed them."""
    limits = {option: resource.getrlimit(kind)[1] for option, kind in _INHERITED.items()}
    finite = [f"ulimit {option}" for option, limit in limits.items() if limit != resource.RLIM_INFINITY]
    if finite:
        _log.warning(
            "programs inherit the hard limits of this shell (%s), and a right program that needs more fails."
            " Start ioi-eval from a shell without these limits",
            ", ".join(finite),
        )


class EmbeddedEngine:
    """Runs jobs on this machine, every stage confined by the proctor.

        async with EmbeddedEngine(store=store) as engine:
            result = await engine.execute(job)

    A job uses a slot and a thread. Cancelling `execute` returns only after the job's processes are dead, its
    files are removed and its slot is free.
    """

    def __init__(
        self,
        *,
        store: Store,
        slots: int | None = None,
        sandboxes: str | Path | None = None,
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
        """Args:
        slots: number of jobs that run at the same time; by default, the number of processors.
        sandboxes: folder for sandboxes, by default in memory.
        layers: active layers of the confinement, for tests; see docs/protocol.md.
        packages: folders of packages in Piston's layout. If two have the same package, the first folder wins.
        waiting: a fork server of Python forks a process for each test. Otherwise each test starts Python.
        python: path or version of the interpreter, by default the newest Python of the system. `caller` is
            the Python that runs this process, unless only the newest Python has the `promised` packages.
        """
        if slots is not None and slots < 1:
            raise ValueError(f"slots must be at least 1, not {slots}")
        self._wanted = self._slots = slots or len(os.sched_getaffinity(0))
        self._store, self._boxes = store, None if sandboxes is None else Path(sandboxes)
        self._layers, self._allow_unconfined = layers, allow_unconfined
        self._caps = OutputCaps(stdout=max_stdout, stderr=max_stderr)
        self._max_file, self._max_processes = max_file, max_processes
        self._max_disk, self._max_names = max_disk, max_names
        self._packages, self._waiting = tuple(map(Path, packages)), waiting
        self._python, self._promised = python, tuple(promised)
        self._held = AsyncExitStack()
        self._running: _Running | None = None

    @property
    def slots(self) -> int:
        return self._slots

    async def capabilities(self) -> Capabilities:
        return self._require_open().capabilities

    @property
    def packages(self) -> tuple[LanguagePackage, ...]:
        """The packages by which jobs find their language. Built-in packages come last."""
        return self._require_open().packages

    async def execute(self, job: Job, check: Check | None = None) -> JobResult:
        running, processes = self._require_open(), self._max_processes
        packages = running.packages
        require_toolchains(job, running.capabilities.toolchains)
        plan = make_job_plan(job, file_size=self._max_file, processes=processes, packages=packages)
        endings = await self._run(job, plan)
        return JobResult(
            run=endings.run,
            compile=endings.compile,
            language=plan.language,
            version=plan.version,
            endpoint=ENDPOINT,
            kept=endings.kept,
        )

    async def _run(self, job: Job, plan: JobPlan) -> JobEndings:
        running = self._require_open()
        log_step(_log, "queued")
        async with running.slots.hold_slot(exclusive=job.exclusive) as slot:
            if self._running is not running:
                raise EngineUnavailable("the embedded engine was closed while the job waited for a slot")
            try:
                kill_switch = KillSwitch()
            except OSError as error:
                raise EngineOverloaded(f"cannot start a sandbox now: {error.strerror}") from error
            slot_name = f"this machine, slot {running.all_slots.index(slot) + 1}"
            running.kill_switches.add(kill_switch)
            try:
                with mark_executing(slot_name, _log):
                    work = partial(run_job, running.environment, job, plan, slot, kill_switch)
                    return await run_to_end(
                        work, executor=running.threads, stop_early=kill_switch.cut, undo=remove_kept_files
                    )
            finally:
                running.kill_switches.discard(kill_switch)

    def close_inherited(self) -> None:
        """In a forked child, close inherited kill switches. They would let jobs outlive the parent."""
        running, self._running = self._running, None
        for kill_switch in tuple(running.kill_switches) if running else ():
            kill_switch.cut()
        for slot in running.all_slots if running else ():
            slot.proctor.close_inherited()

    def _require_open(self) -> _Running:
        if self._running is None:
            raise EngineUnavailable("the embedded engine must be used inside `async with`")
        return self._running

    # --- opening and closing the engine -----------------------------------------------------------------

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
        for kill_switch in tuple(running.kill_switches) if running else ():
            kill_switch.cut()
        await self._held.aclose()

    async def _open(self) -> _Running:
        """Open the engine. `_held` closes all parts in reverse order, even if opening fails."""
        _warn_of_limits()
        sandboxes, uids = Sandboxes(self._boxes, slots=self._wanted), Uids()
        self._held.push_async_callback(run_to_end, sandboxes.close)
        await run_to_end(sandboxes.open)
        # Each slot gets a share of the disk that leaves space for other engines.
        shares = await run_to_end(partial(sandboxes.reserve_space, self._wanted, max_bytes=self._max_disk))
        self._slots = shares.slots
        limits = SandboxLimits(
            file_size=self._max_file, processes=self._max_processes, disk=shares.each, names=self._max_names
        )
        tools = await run_to_end(partial(toolchains, self._python, self._promised))
        packages = await run_to_end(partial(self._find_packages, tools, sandboxes.folder))
        proctor = sandboxes.folder / "proctor"
        # If both the library and the proctor are missing, they are compiled at the same time.
        library_task = asyncio.create_task(self._prepare_library(tools, sandboxes.folder))
        try:
            binary = await get_proctor_binary(
                tools.get("g++"), graders_folder() / "proctor", self._store, sandboxes.folder
            )
            library = await library_task
        finally:
            library_task.cancel()
            await asyncio.wait({library_task})
        proctor.write_bytes(binary.content)
        proctor.chmod(0o755)
        self._held.callback(uids.release)
        confinement = self._layers, self._allow_unconfined
        environment = JobEnvironment(
            sandboxes, proctor, self._caps, limits, sandboxes.make_linked_files(), Lock(), *confinement
        )
        reserved = uids.reserve(shares.slots)
        system_python = tools.get("python3")
        chosen = await self._check_python_in_sandbox(environment, Slot(environment, reserved[0]), tools)
        if chosen is not None and chosen != system_python:
            tools["python3"] = chosen
            library = await self._prepare_library(tools, sandboxes.folder)
        readable_paths = tuple(dict.fromkeys(path for tool in tools.values() for path in tool.read))
        shared = {
            proctor.name: Blob.of_file(proctor),
            **({} if library is None else {WAITING: library}),
        }
        environment = msgspec.structs.replace(environment, read=readable_paths, shared=shared)
        all_slots = tuple(Slot(environment, uid) for uid in reserved)
        for slot in all_slots:
            self._held.push_async_callback(run_to_end, slot.proctor.close)
        threads = ThreadPoolExecutor(shares.slots, thread_name_prefix="ioi-eval-job")
        self._held.push_async_callback(run_to_end, threads.shutdown)
        capabilities = Capabilities(
            name=ENDPOINT,
            architecture=platform.machine(),
            confines=True,
            takes_paths=True,
            exclusive=True,
            bare=CLASSIC,
            toolchains=tools,
            runtimes=list_package_names(packages),
            proctor=shared[proctor.name],
            waiting=library,
            max_output=self._caps.stdout,
        )
        return _Running(environment, capabilities, packages, threads, all_slots, Slots(all_slots), set())

    async def _check_python_in_sandbox(
        self, environment: JobEnvironment, slot: Slot, tools: Mapping[str, Toolchain]
    ) -> Toolchain | None:
        """Return the Python for submissions, after its modules were looked up in a sandbox."""
        python = tools.get("python3")
        if python is None or not python.read or python.refusal:
            return python
        limits = SandboxLimits(hard_ms=int(_MAX_PYTHON_S * 1000))
        stage = StagePlan(argv=description_command(python), profile="tool", limits=limits)
        plan, kill_switch = JobPlan(compile=None, run=stage, read=python.read), KillSwitch()
        work = partial(run_job, environment, Job(files=()), plan, slot, kill_switch)
        end = (await run_to_end(work, stop_early=kill_switch.cut, undo=remove_kept_files)).run
        if end.limit == "hard":
            raise EngineOverloaded(f"{python.path} did not start in a sandbox within {_MAX_PYTHON_S:.0f} s")
        failure = (end.message or "") if end.status is StageStatus.XX else ""
        choose = partial(check_in_sandbox, python, self._python, end.stdout, failure or end.stderr)
        return await run_to_end(choose)

    async def _prepare_library(self, tools: Mapping[str, Toolchain], folder: Path) -> Blob | None:
        """Return the library of the fork server, or None. Without it, each test starts its interpreter."""
        if not self._waiting or "python3" not in tools:
            return None
        library = folder / WAITING
        try:
            binary = await find_fork_server_library(
                tools.get("g++"), tools["python3"], graders_folder(), self._store, folder
            )
            library.write_bytes(binary.content)
        except EngineUnavailable:
            return None
        return Blob.of_file(library)

    def _find_packages(self, tools: Collection[str], spare: Path) -> tuple[LanguagePackage, ...]:
        loaded_packages = (
            package
            for number, folder in enumerate(self._packages)
            for package in load_packages(folder, spare / f"packages-{number}")
        )
        return (
            *(loaded for loaded in loaded_packages if not loaded.needs or loaded.needs in tools),
            *BUILT_IN,
        )


# --- slots -------------------------------------------------------------------------------------------


class Slots:
    """The slots of an engine. A job holds a slot until it is finished."""

    def __init__(self, slots: Iterable[Slot]) -> None:
        self._lock = SharedExclusiveLock()
        self._free: asyncio.LifoQueue[Slot] = asyncio.LifoQueue()
        for slot in slots:
            self._free.put_nowait(slot)

    @asynccontextmanager
    async def hold_slot(self, *, exclusive: bool = False) -> AsyncIterator[Slot]:
        """Hold a slot inside `async with`. If `exclusive`, no other job holds a slot at the same time."""
        async with self._lock.hold(exclusive=exclusive):
            slot = await self._free.get()
            try:
                yield slot
            finally:
                self._free.put_nowait(slot)
