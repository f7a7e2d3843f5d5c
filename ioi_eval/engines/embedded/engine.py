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
    JobEnvironment,
    JobPlan,
    JobSlot,
    StageEndings,
    StagePlan,
    make_job_plan,
    remove_kept_files,
    run_job,
)
from ioi_eval.engines.embedded.packages import LanguagePackage, list_package_names, load_packages
from ioi_eval.engines.embedded.proctor import find_fork_server_library, get_proctor_binary
from ioi_eval.engines.embedded.sandbox import KillSwitch, OutputLimits, SandboxLimits
from ioi_eval.engines.embedded.sandboxes import Sandboxes, SandboxUidPool
from ioi_eval.engines.embedded.toolchains import (
    check_python_in_sandbox,
    find_toolchains,
    make_python_inspection_command,
)
from ioi_eval.engines.locks import SharedExclusiveLock
from ioi_eval.engines.threads import run_in_thread_to_end
from ioi_eval.model.doing import log_step, mark_step_executing
from ioi_eval.model.errors import EngineOverloaded, EngineUnavailable
from ioi_eval.model.job import Job, JobResult, StageStatus, Toolchain
from ioi_eval.model.values import Blob
from ioi_eval.store import Store
from ioi_eval.store.compiling import WAITING
from ioi_eval.store.resources import graders_folder

_log = logging.getLogger(__name__)
_MAX_PYTHON_S = 60.0  # maximum seconds for a script that inspects Python, which normally needs milliseconds
# Resource limits whose hard limit only root can raise. Programs inherit these limits.
_INHERITED = {
    "-Hs": resource.RLIMIT_STACK,
    "-Hv": resource.RLIMIT_AS,
    "-Hd": resource.RLIMIT_DATA,
    "-Ht": resource.RLIMIT_CPU,
    "-Hf": resource.RLIMIT_FSIZE,
}


class _EngineResources(msgspec.Struct, frozen=True):
    """The resources of an open engine."""

    environment: JobEnvironment
    capabilities: Capabilities
    packages: tuple[LanguagePackage, ...]
    threads: ThreadPoolExecutor
    all_slots: tuple[JobSlot, ...]
    slots: JobSlotPool
    kill_switches: set[KillSwitch]  # kill switches of the jobs that run now


@cache  # warn once
def _warn_about_resource_limits() -> None:
    """Log a warning if this process has resource limits, which programs inherit and may exceed."""
    limits = {option: resource.getrlimit(resource_id)[1] for option, resource_id in _INHERITED.items()}
    finite_limits = [
        f"ulimit {option}" for option, limit in limits.items() if limit != resource.RLIM_INFINITY
    ]
    if finite_limits:
        _log.warning(
            "programs inherit the hard limits of this shell (%s), and a correct program that needs more"
            " fails. Start ioi-eval from a shell without these limits",
            ", ".join(finite_limits),
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
        promised_packages: Collection[str] = (),
    ) -> None:
        """Args:
        slots: number of jobs that run at the same time; by default, the number of processors.
        sandboxes: folder for sandboxes, by default in memory.
        layers: active layers of the confinement, for tests; see docs/protocol.md.
        max_names: maximum number of files, folders and links in a sandbox.
        packages: folders of packages in Piston's layout. If two have the same package, the first folder wins.
        waiting: True if a fork server, an interpreter that waits, forks a process for each test in Python.
            Otherwise each test starts a new interpreter.
        python: path or version of the interpreter, by default the newest Python of the system. `caller` is
            the Python that runs this process.
        promised_packages: names of modules that programs in Python may import. If `python` is `caller` and
            only the system's newest Python has all of them, the newest Python is used.
        """
        if slots is not None and slots < 1:
            raise ValueError(f"slots must be at least 1, not {slots}")
        self._requested_slots = self._slots = slots or len(os.sched_getaffinity(0))
        self._store, self._sandbox_folder = store, None if sandboxes is None else Path(sandboxes)
        self._layers, self._allow_unconfined = layers, allow_unconfined
        self._output_limits = OutputLimits(stdout=max_stdout, stderr=max_stderr)
        self._max_file, self._max_processes = max_file, max_processes
        self._max_disk, self._max_names = max_disk, max_names
        self._packages, self._uses_fork_server = tuple(map(Path, packages)), waiting
        self._python, self._promised_packages = python, tuple(promised_packages)
        self._exit_stack = AsyncExitStack()
        self._resources: _EngineResources | None = None

    @property
    def slots(self) -> int:
        return self._slots

    async def capabilities(self) -> Capabilities:
        return self._require_resources().capabilities

    @property
    def packages(self) -> tuple[LanguagePackage, ...]:
        """The language packages that jobs can name. Built-in packages come last."""
        return self._require_resources().packages

    async def execute(self, job: Job, check: Check | None = None) -> JobResult:
        resources, processes = self._require_resources(), self._max_processes
        packages = resources.packages
        require_toolchains(job, resources.capabilities.toolchains)
        plan = make_job_plan(job, max_file_bytes=self._max_file, max_processes=processes, packages=packages)
        endings = await self._run(job, plan)
        return JobResult(
            run=endings.run,
            compile=endings.compile,
            language=plan.language,
            version=plan.version,
            endpoint=ENDPOINT,
            kept=endings.kept,
        )

    async def _run(self, job: Job, plan: JobPlan) -> StageEndings:
        resources = self._require_resources()
        log_step(_log, "queued")
        async with resources.slots.hold_slot(exclusive=job.exclusive) as slot:
            if self._resources is not resources:
                raise EngineUnavailable("the embedded engine was closed while the job waited for a slot")
            try:
                kill_switch = KillSwitch()
            except OSError as error:
                raise EngineOverloaded(f"cannot start a sandbox now: {error.strerror}") from error
            slot_name = f"this machine, slot {resources.all_slots.index(slot) + 1}"
            resources.kill_switches.add(kill_switch)
            try:
                with mark_step_executing(slot_name, _log):
                    run_job_in_slot = partial(run_job, resources.environment, job, plan, slot, kill_switch)
                    return await run_in_thread_to_end(
                        run_job_in_slot,
                        executor=resources.threads,
                        stop_early=kill_switch.trigger,
                        undo=remove_kept_files,
                    )
            finally:
                resources.kill_switches.discard(kill_switch)

    def close_in_forked_child(self) -> None:
        """Close the kill switches in a forked child of this process.

        The child has copies of the kill switches. While the copies are open, the jobs outlive the parent.
        """
        resources, self._resources = self._resources, None
        for kill_switch in tuple(resources.kill_switches) if resources else ():
            kill_switch.trigger()
        for slot in resources.all_slots if resources else ():
            slot.proctor.close_in_forked_child()

    def _require_resources(self) -> _EngineResources:
        if self._resources is None:
            raise EngineUnavailable("the embedded engine must be used inside `async with`")
        return self._resources

    # --- opening and closing the engine -----------------------------------------------------------------

    async def __aenter__(self) -> Self:
        if self._resources is not None:
            raise EngineUnavailable("the embedded engine is in use already")
        try:
            self._resources = await self._open_resources()
        except BaseException:
            await self._exit_stack.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        resources, self._resources = self._resources, None
        for kill_switch in tuple(resources.kill_switches) if resources else ():
            kill_switch.trigger()
        await self._exit_stack.aclose()

    async def _open_resources(self) -> _EngineResources:
        """Open the engine. `_exit_stack` closes all parts in reverse order, even if opening fails."""
        _warn_about_resource_limits()
        sandboxes, uids = Sandboxes(self._sandbox_folder, slots=self._requested_slots), SandboxUidPool()
        self._exit_stack.push_async_callback(run_in_thread_to_end, sandboxes.close)
        await run_in_thread_to_end(sandboxes.open)
        # Each slot gets a share of the disk that leaves space for other engines.
        shares = await run_in_thread_to_end(
            partial(sandboxes.reserve_space, self._requested_slots, max_bytes=self._max_disk)
        )
        self._slots = shares.slots
        limits = SandboxLimits(
            file_size=self._max_file, processes=self._max_processes, disk=shares.each, names=self._max_names
        )
        tools = await run_in_thread_to_end(partial(find_toolchains, self._python, self._promised_packages))
        packages = await run_in_thread_to_end(partial(self._find_packages, tools, sandboxes.folder))
        proctor_path = sandboxes.folder / "proctor"
        # If both the library and the proctor are missing, they are compiled at the same time.
        library_task = asyncio.create_task(self._prepare_fork_server_library(tools, sandboxes.folder))
        try:
            binary = await get_proctor_binary(
                tools.get("g++"), graders_folder() / "proctor", self._store, sandboxes.folder
            )
            fork_server_library = await library_task
        finally:
            library_task.cancel()
            await asyncio.wait({library_task})
        proctor_path.write_bytes(binary.content)
        proctor_path.chmod(0o755)
        self._exit_stack.callback(uids.release)
        confinement_options = self._layers, self._allow_unconfined
        environment = JobEnvironment(
            sandboxes,
            proctor_path,
            self._output_limits,
            limits,
            sandboxes.make_file_linker(),
            Lock(),
            *confinement_options,
        )
        reserved_uids = uids.reserve(shares.slots)
        system_python = tools.get("python3")
        checked_python = await self._check_python_in_sandbox(
            environment, JobSlot(environment, reserved_uids[0]), tools
        )
        if checked_python is not None and checked_python != system_python:
            tools["python3"] = checked_python
            fork_server_library = await self._prepare_fork_server_library(tools, sandboxes.folder)
        readable_paths = tuple(dict.fromkeys(path for tool in tools.values() for path in tool.read))
        shared_files = {
            proctor_path.name: Blob.of_file(proctor_path),
            **({} if fork_server_library is None else {WAITING: fork_server_library}),
        }
        environment = msgspec.structs.replace(environment, read=readable_paths, shared=shared_files)
        all_slots = tuple(JobSlot(environment, uid) for uid in reserved_uids)
        for slot in all_slots:
            self._exit_stack.push_async_callback(run_in_thread_to_end, slot.proctor.close)
        threads = ThreadPoolExecutor(shares.slots, thread_name_prefix="ioi-eval-job")
        self._exit_stack.push_async_callback(run_in_thread_to_end, threads.shutdown)
        capabilities = Capabilities(
            name=ENDPOINT,
            architecture=platform.machine(),
            confines=True,
            takes_paths=True,
            exclusive=True,
            bare=CLASSIC,
            toolchains=tools,
            runtimes=list_package_names(packages),
            proctor=shared_files[proctor_path.name],
            waiting=fork_server_library,
            max_output=self._output_limits.stdout,
        )
        return _EngineResources(
            environment, capabilities, packages, threads, all_slots, JobSlotPool(all_slots), set()
        )

    async def _check_python_in_sandbox(
        self, environment: JobEnvironment, slot: JobSlot, tools: Mapping[str, Toolchain]
    ) -> Toolchain | None:
        """Return the Python for submissions, after its modules were looked up in a sandbox."""
        python = tools.get("python3")
        if python is None or not python.read or python.refusal:
            return python
        limits = SandboxLimits(hard_ms=int(_MAX_PYTHON_S * 1000))
        stage = StagePlan(argv=make_python_inspection_command(python), profile="tool", limits=limits)
        plan, kill_switch = JobPlan(compile=None, run=stage, read=python.read), KillSwitch()
        run_description = partial(run_job, environment, Job(files=()), plan, slot, kill_switch)
        ending = (
            await run_in_thread_to_end(
                run_description, stop_early=kill_switch.trigger, undo=remove_kept_files
            )
        ).run
        if ending.limit == "hard":
            raise EngineOverloaded(f"{python.path} did not start in a sandbox within {_MAX_PYTHON_S:.0f} s")
        failure = (ending.message or "") if ending.status is StageStatus.XX else ""
        check_python = partial(
            check_python_in_sandbox, python, self._python, ending.stdout, failure or ending.stderr
        )
        return await run_in_thread_to_end(check_python)

    async def _prepare_fork_server_library(self, tools: Mapping[str, Toolchain], folder: Path) -> Blob | None:
        """Return the library of the fork server, or None. Without it, each test starts its interpreter."""
        if not self._uses_fork_server or "python3" not in tools:
            return None
        library_path = folder / WAITING
        try:
            binary = await find_fork_server_library(
                tools.get("g++"), tools["python3"], graders_folder(), self._store, folder
            )
            library_path.write_bytes(binary.content)
        except EngineUnavailable:
            return None
        return Blob.of_file(library_path)

    def _find_packages(
        self, commands: Collection[str], package_copies_folder: Path
    ) -> tuple[LanguagePackage, ...]:
        packages = (
            package
            for index, folder in enumerate(self._packages)
            for package in load_packages(folder, package_copies_folder / f"packages-{index}")
        )
        return (
            *(package for package in packages if not package.needs or package.needs in commands),
            *BUILT_IN,
        )


# --- slots -------------------------------------------------------------------------------------------


class JobSlotPool:
    """The slots of an engine. A job holds a slot until it is finished."""

    def __init__(self, slots: Iterable[JobSlot]) -> None:
        self._lock = SharedExclusiveLock()
        self._free_slots: asyncio.LifoQueue[JobSlot] = asyncio.LifoQueue()
        for slot in slots:
            self._free_slots.put_nowait(slot)

    @asynccontextmanager
    async def hold_slot(self, *, exclusive: bool = False) -> AsyncIterator[JobSlot]:
        """Hold a slot inside `async with`. If `exclusive`, no other job holds a slot at the same time."""
        async with self._lock.hold(exclusive=exclusive):
            slot = await self._free_slots.get()
            try:
                yield slot
            finally:
                self._free_slots.put_nowait(slot)
