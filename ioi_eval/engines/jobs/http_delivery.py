"""The delivery of jobs to servers: a request has the whole job, and the reply has a build's program as text.

A request may contain compressed files. docs/protocol.md, "Delivery", is the reference for the output of a
build. Only the job's script writes this output. It contains a compiler's messages only encoded, because a
source can make a compiler print anything.

In a server's sandbox a compiler can read too many files, which a source could include. So if the engine does
not confine stages, the build of a submission contains the proctor: the sources and the compile script are in
a separate folder, and the job's only script starts `proctor box` on it. The ending of the build is read from
the proctor's report, never from a compiler's output.
"""

from __future__ import annotations

import asyncio
import binascii
import gzip
import logging
import math
import shlex
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec

from ioi_eval.engines.contract import (
    BUNDLED_HEADERS,
    DRIVERS,
    OWN,
    SUBMISSION,
    Batch,
    BuildSpec,
    Capabilities,
    Engine,
    RemoteArtifact,
    SharedBuild,
    WorkerArtifact,
    min_limit,
)
from ioi_eval.engines.embedded.sandbox import SandboxLimits, SandboxSpec, decode_sandbox_report
from ioi_eval.engines.jobs.build import OBJECT, list_source_files, make_compile_script, make_unguessable_path
from ioi_eval.engines.jobs.headers import (
    BITS_STDCPP,
    find_leading_includes,
    make_header_file_name,
    make_precompiled_header_spec,
    min_builds_before_header,
)
from ioi_eval.engines.jobs.piston_api import GzipBlob
from ioi_eval.engines.jobs.run import (
    COMMAND,
    PLAN,
    PROCTOR_MEMORY,
    RUN_SCRIPT,
    WHICH,
    BuildResult,
    JobTests,
    compute_max_program_bytes,
    execute,
    explain_machine_fault,
    find_program_interpreters,
    make_plan_path,
    make_test_job,
)
from ioi_eval.model.errors import BrokenReply, JudgeFailure, MachineAtFault
from ioi_eval.model.job import (
    Ending,
    Job,
    JobFile,
    JobResult,
    StageStatus,
    Toolchain,
)
from ioi_eval.model.retry import WORKER_PROGRAM
from ioi_eval.model.values import Blob, Value
from ioi_eval.rules.limits import (
    compute_compiler_idle_ms,
    compute_hard_stop,
    count_processes,
    to_milliseconds,
)
from ioi_eval.rules.verdicts import BuildEnding, classify_build
from ioi_eval.store.memory import LruCache, SharedCalls

_log = logging.getLogger(__name__)


class HttpJobDelivery:
    """The delivery to engines without the capability `takes_paths`."""

    is_here = False

    def __init__(self, engine: Engine, *, precompiles: bool = False) -> None:
        self._engine, self.contents, self._precompiles = engine, GzipCache(), precompiles

    async def count_request_bytes(self, content: Blob) -> int:
        return await self.contents.count_request_bytes(content)

    async def build(
        self,
        spec: BuildSpec,
        prebuilt_files: Sequence[JobFile] | None,
        capabilities: Capabilities,
        *,
        may_leave_artifact_on_worker: bool,
    ) -> BuildResult:
        tool = capabilities.require_tool(spec.toolchain_command, f"building a {spec.kind}")
        if spec.kind == SUBMISSION and (
            reason := await self.explain_too_large_program(spec.main_source.content, capabilities)
        ):
            return BuildResult(ended=Ending(), tool=tool, too_large=reason)
        # A Python program must not stay on the worker if the engine has a fork server: this machine reads the
        # program to list the modules that the fork server imports.
        may_leave_artifact_on_worker = may_leave_artifact_on_worker and not (
            spec.toolchain_command == COMMAND and capabilities.waiting
        )
        artifact_stays = (
            may_leave_artifact_on_worker
            and spec.kind == SUBMISSION
            and spec.proctor is None
            and capabilities.find_shell_runtime() == OWN
        )
        if artifact_stays and prebuilt_files is not None:
            prebuilt_files = (*prebuilt_files, *self._list_precompiled_headers(spec, tool, capabilities))
        job = msgspec.structs.replace(
            make_build_job(spec, tool, prebuilt_files, capabilities),
            accepted_toolchains={
                spec.toolchain_command: tuple(
                    toolchain.identity for toolchain in capabilities.list_toolchains(spec.toolchain_command)
                )
            },
            keep=(spec.output,) if artifact_stays else (),
        )
        job = await self.contents.prepare_job_for_sending(job, capabilities)

        result_reader = _BuildResultReader(partial(_read_build_result, spec, tool, capabilities))

        async def check(result: JobResult) -> JobResult:
            try:
                compiler_ending = (await result_reader.read(result))[0].ended
            except TooLarge:
                return result
            except JudgeFailure as failure:
                raise MachineAtFault(str(failure), result) from failure
            compiler_output = " ".join((compiler_ending.stderr or compiler_ending.stdout).split())[
                -_MAX_ERROR_CHARS:
            ]
            match classify_build(compiler_ending, spec.refusals):
                case BuildEnding.MACHINE:
                    raise MachineAtFault(
                        f"the compiler cannot build an empty program: {compiler_output}", result
                    )
                case BuildEnding.KILLED:
                    reason = compiler_output or compiler_ending.message or compiler_ending.signal
                    raise MachineAtFault(f"the compiler was killed: {reason}", result)
                case _:
                    return result

        try:
            result = await execute(self._engine, job, phase="compiling", check=check)
            build_result, packed_program = await result_reader.read(result)
        except MachineAtFault as fault:
            build_result, packed_program = await result_reader.read(fault.answer)
            # Do not name the server if the source may run code during the build: the source may then be at
            # fault, and the output becomes the submission's log.
            server_note = f" (on {fault.where})" if fault.where and not spec.acts else ""
            compiler_output = (build_result.ended.stderr or build_result.ended.stdout) + server_note
            build_result = msgspec.structs.replace(
                build_result, ended=msgspec.structs.replace(build_result.ended, stderr=compiler_output)
            )
        except TooLarge as failure:
            # If a submission's program is too large, the source is the reason, so this is a compile error.
            if spec.kind != SUBMISSION:
                raise
            return BuildResult(ended=Ending(), tool=tool, too_large=failure.reason)
        if not build_result.confinement and classify_build(build_result.ended) in _BY_LIMITS:
            _check_server_limits(spec, capabilities)
        if isinstance(build_result.content, RemoteArtifact) and await self.explain_too_large_program(
            build_result.content, capabilities
        ):
            # The program may fit if it is compressed, so build it again and have it sent to this machine.
            WORKER_PROGRAM.log(_log, "the program is too large for the jobs of its tests")
            return await self.build(spec, prebuilt_files, capabilities, may_leave_artifact_on_worker=False)
        if build_result.content is not None and packed_program:
            self.contents.cache_gzip_form(build_result.content, packed_program)
        return build_result

    def _list_precompiled_headers(
        self, spec: BuildSpec, tool: Toolchain, capabilities: Capabilities
    ) -> Iterator[JobFile]:
        """Yield the file of the precompiled header. Workers build it themselves: it is too large to send."""
        leading_includes = find_leading_includes(spec)
        if not (self._precompiles and leading_includes and capabilities.shares_builds):
            return
        if len(capabilities.list_toolchains(spec.toolchain_command)) == 1:
            header_build = make_precompiled_header_spec(spec, leading_includes)
            shared_build = SharedBuild(
                sha256=header_build.make_cache_key(capabilities.architecture, tool),
                build=msgspec.structs.replace(
                    make_build_job(header_build, tool, None, capabilities), keep=(header_build.output,)
                ),
                min_uses=min_builds_before_header(leading_includes),
            )
            yield JobFile(
                name=make_unguessable_path(make_header_file_name(leading_includes)), content=shared_build
            )

    async def explain_too_large_program(self, program: Blob, capabilities: Capabilities) -> str:
        request_bytes, max_bytes = (
            await self.contents.count_request_bytes(program),
            compute_max_program_bytes(capabilities),
        )
        if request_bytes <= max_bytes:
            return ""
        return (
            f"The program needs {request_bytes} bytes of a request,"
            f" and {capabilities.name} accepts {max_bytes}."
        )

    def make_job(self, batch: Batch, job_tests: JobTests, capabilities: Capabilities) -> Job:
        job, problem, program = make_test_job(batch, job_tests, capabilities), batch.problem, batch.program
        # The job's script replaces paths of interpreters in the plan that are unknown here.
        interpreter_paths = sorted(
            make_plan_path(tool) for tool in find_program_interpreters(program, capabilities).values()
        )
        unknown_paths = [path for path in interpreter_paths if path.startswith(WHICH)]
        sed_options = "".join(
            f' -e "s#{path}#$(command -v {path.removeprefix(WHICH)})#"' for path in unknown_paths
        )
        path_script = f"sed -i{sed_options} {PLAN}\n" if sed_options else ""
        max_output_bytes = problem.limits.output
        limit_script = (
            "" if max_output_bytes is None else _CHECK_ROOM.format(blocks=-(-max_output_bytes // 1024))
        )
        # The server's memory limit counts proctor, checker and submission together, so it is only a second
        # limit. On older servers it limits the address space. So the limit includes the address space that
        # programs may reserve, and is unset if programs may reserve any address space.
        memory_limit_bytes = None
        if problem.limits.memory is not None and program.submission.address_space:
            judge_memory_limits = [
                program.checker.limits.memory,
                program.manager and program.manager.limits.memory,
            ]
            extra_bytes = max(_RESERVED, *(limit or 0 for limit in judge_memory_limits))
            memory_limit_bytes = (
                count_processes(problem) * problem.limits.memory + extra_bytes + PROCTOR_MEMORY
            )
        # The limit for the CPU time of all processes together. The servers' default is three seconds.
        cpu_time_ms = None if job.run_timeout is None else job.run_timeout * (count_processes(problem) + 1)
        return msgspec.structs.replace(
            job,
            files=(JobFile(name="run", content=Blob.of(limit_script + path_script + RUN_SCRIPT)), *job.files),
            run_cpu_time=min_limit(cpu_time_ms, capabilities.max_run_cpu_time),
            run_memory_limit=memory_limit_bytes,
            # If a script must first insert the interpreters' paths into the plan, the script starts the
            # proctor on the plan, and not the engine.
            plan=job.plan if capabilities.executes_plans and not sed_options else "",
        )

    async def run_test_job(
        self, job: Job, capabilities: Capabilities, *, nonce: str, phase: str
    ) -> tuple[Ending, str]:
        job = await self.contents.prepare_job_for_sending(job, capabilities)

        async def check(result: JobResult) -> JobResult:
            if fault := explain_machine_fault(result.run, nonce):
                raise MachineAtFault(fault, result)
            return result

        try:
            return (await execute(self._engine, job, phase=phase, check=check)).run, ""
        except MachineAtFault as fault:
            failed_result: JobResult = fault.answer
            return failed_result.run, fault.where


class _BuildResultReader:
    """Reads results of a build job. It reads the last result only once."""

    def __init__(self, read_result: Callable[[JobResult], tuple[BuildResult, bytes]]) -> None:
        self._read_result = read_result
        self._last_result: tuple[JobResult, tuple[BuildResult, bytes]] | None = None

    async def read(self, result: JobResult) -> tuple[BuildResult, bytes]:
        if self._last_result is not None and self._last_result[0] is result:
            return self._last_result[1]
        if len(result.run.stdout) < _MIN_PACKED_BYTES:
            build_result = self._read_result(result)
        else:
            build_result = await asyncio.to_thread(self._read_result, result)
        self._last_result = result, build_result
        return build_result


# --- builds ------------------------------------------------------------------------------------------


_MAX_ERROR_CHARS = 300  # maximum characters of a compiler's output about an empty program
_BY_LIMITS = frozenset({BuildEnding.CUT_SHORT, BuildEnding.STOPPED})


def _read_build_result(
    spec: BuildSpec, tool: Toolchain, capabilities: Capabilities, result: JobResult
) -> tuple[BuildResult, bytes]:
    """Return the result of a build job, and the program in the compressed form that was sent."""
    tool, run_ending = result.toolchains.get(tool.command, tool), result.run
    is_sandboxed = spec.proctor is not None
    in_two_stages = not is_sandboxed and capabilities.find_shell_runtime() == OWN
    compiler_ending = None
    if in_two_stages:
        if result.compile is None:
            raise BrokenReply("the server's package has no compile stage")
        compiler_ending = result.compile
        if classify_build(compiler_ending) is not BuildEnding.BUILT:
            return BuildResult(ended=compiler_ending, tool=tool), b""
    elif was_killed_while_compiling(run_ending) and not (
        is_sandboxed and run_ending.status is StageStatus.TO
    ):
        # The sandbox itself stops a compiler at its limits. If the server stopped it earlier, the server is
        # at fault.
        return BuildResult(ended=msgspec.structs.replace(run_ending, stdout="", stderr=""), tool=tool), b""
    if (worker_file := result.stayed.get(spec.output)) is not None and compiler_ending is not None:
        artifact = WorkerArtifact(
            sha256=worker_file.sha256,
            size=worker_file.size,
            at=result.endpoint,
            spec=spec,
            toolchain=tool.identity,
        )
        return BuildResult(ended=compiler_ending, tool=tool, content=artifact), b""
    delivered_build = parse_build_output(run_ending)
    if is_sandboxed and delivered_build.confinement is None:
        raise BrokenReply("the reply to a build job has no report of its sandbox")
    compiler_ending = compiler_ending or delivered_build.stage
    if compiler_ending is None:
        raise BrokenReply("the reply to a build job has no report of the compiler")
    if delivered_build.artifact is None and classify_build(compiler_ending) is BuildEnding.BUILT:
        raise BrokenReply(f"the reply to a build job does not contain {spec.output}")
    build_result = BuildResult(
        ended=compiler_ending,
        tool=tool,
        content=delivered_build.artifact,
        confinement=delivered_build.confinement or {},
    )
    return build_result, delivered_build.packed


def _check_server_limits(spec: BuildSpec, capabilities: Capabilities) -> None:
    """Raise JudgeFailure if the server's limits are lower than the build's limits.

    In this case, a build that was stopped may have been stopped by the server.
    """
    limits, wall_time_s = spec.limits, spec.limits.wall_time
    if capabilities.find_shell_runtime() == OWN:
        needed_time_s = (
            compute_hard_stop(wall_time_s) if wall_time_s is not None and capabilities.strict else wall_time_s
        )
        variables, option = "PISTON_COMPILE_TIMEOUT and PISTON_COMPILE_CPU_TIME", "compile-timeout"
        wall_time_check = (capabilities.max_compile_time, needed_time_s, variables)
        cpu_time_check = (capabilities.max_compile_time, limits.cpu_time, variables)
    else:
        needed_time_s, option = (
            None if wall_time_s is None else compute_hard_stop(wall_time_s) + DELIVERY_SECONDS,
            "run-timeout",
        )
        wall_time_check = (capabilities.max_run_time, needed_time_s, "PISTON_RUN_TIMEOUT")
        cpu_time_check = (capabilities.max_run_cpu_time, limits.cpu_time, "PISTON_RUN_CPU_TIME")
    for limit_ms, needed_s, variable in (wall_time_check, cpu_time_check):
        if limit_ms is not None and (needed_s is None or limit_ms < needed_s * 1000):
            suggested_s = needed_s or 60
            raise JudgeFailure(
                f"the server stopped the build of a {spec.kind} at its limit of {limit_ms / 1000:g} s",
                phase="compiling",
                remedy=f"Raise {variable} on it to {round(suggested_s * 1000)} or more,"
                f" on a worker --set {option}={math.ceil(suggested_s)}",
            )


# --- batches -----------------------------------------------------------------------------------------


# Bytes of address space that a program may reserve beyond its memory limit, as in graders/proctor.
_RESERVED = 4 << 30


# A script that checks the server's limit for files that programs write. Servers do not report this limit, and
# jobs cannot raise it.
_CHECK_ROOM = """limit=$(ulimit -H -f)
if [ "$limit" != unlimited ] && [ "$limit" -lt {blocks} ]; then
    echo "programs may write $limit kB here, the problem allows {blocks}: raise PISTON_MAX_FILE_SIZE" >&2
    exit 93
fi
"""


# --- build jobs, for each kind of server ------------------------------------------------------------


_BUILD = "build"
# The environment is the same as in the embedded engine's sandboxes, so that compilers print the same messages
# and have a home folder.
_ENVIRONMENT = 'export LANG=C.UTF-8 HOME="${HOME:-$PWD}"\n'
DELIVERY_SECONDS = 30.0  # seconds for compressing and printing the program after a build

# Name of the sandbox's folder, names of two files in a build job, and the descriptor for the report.
_BOX, _PROCTOR, _SPEC, _REPORT = "box", "proctor", "box.json", 3
# Limits of the sandbox for a build, as in the embedded engine.
_PROCESSES, _DISK, _NAMES = 256, 4 << 30, 100_000


def make_build_job(
    spec: BuildSpec, tool: Toolchain, prebuilt_files: Sequence[JobFile] | None, capabilities: Capabilities
) -> Job:
    """Return the job of a build: the script and the sources, with the main source last.

    The job never contains a test.

    Args:
        spec: What is built: the sources, the command and the limits.
        tool: The compiler or interpreter that the command starts.
        prebuilt_files: Files that speed up the build. None means that no prebuilt file is used, not even the
            server's.
        capabilities: What the servers offer, with the limits that the job must not exceed.
    """
    # If servers have the command at different paths, use its name instead of its path.
    if {toolchain.path for toolchain in capabilities.list_toolchains(tool.command)} != {tool.path}:
        tool = msgspec.structs.replace(tool, path=tool.command)
    if capabilities.max_output is not None:
        max_log_bytes = max(0, min(spec.limits.log, capabilities.max_output // 2))
        spec = msgspec.structs.replace(spec, limits=msgspec.structs.replace(spec.limits, log=max_log_bytes))
    if spec.proctor is not None:
        return _make_sandboxed_build_job(spec, tool, capabilities, spec.proctor, prebuilt_files)
    # Piston servers without isolate limit the address space. Compilers other than g++ and gcc reserve more
    # address space than they use, so they get no memory limit there.
    memory_limit_bytes = spec.limits.memory if capabilities.confines or tool.command in DRIVERS else None
    if capabilities.find_shell_runtime() != OWN:
        return _make_one_stage_build_job(spec, tool, capabilities, prebuilt_files, memory_limit_bytes)
    script = _ENVIRONMENT + make_compile_script(spec, tool, uses_prebuilt_files=prebuilt_files is not None)
    delivery_ms = min_limit(to_milliseconds(DELIVERY_SECONDS), capabilities.max_run_time)
    return Job(
        files=(
            JobFile(name="compile", content=Blob.of(script)),
            JobFile(
                name="run",
                content=Blob.of(make_artifact_printing_script(spec.output, capabilities.max_output)),
            ),
            *(prebuilt_files or ()),
            *list_source_files(spec),
        ),
        compile_timeout=min_limit(to_milliseconds(spec.limits.wall_time), capabilities.max_compile_time),
        compile_cpu_time=min_limit(to_milliseconds(spec.limits.cpu_time), capabilities.max_compile_time),
        compile_memory_limit=memory_limit_bytes,
        run_timeout=delivery_ms,
        run_cpu_time=min_limit(delivery_ms, capabilities.max_run_cpu_time),
        without_proc=capabilities.confines and not spec.needs_proc_filesystem,
    )


def _make_one_stage_build_job(
    spec: BuildSpec,
    tool: Toolchain,
    capabilities: Capabilities,
    prebuilt_files: Sequence[JobFile] | None,
    memory_limit_bytes: int | None,
) -> Job:
    limits = spec.limits
    script = make_one_stage_build_script(
        spec.output,
        capabilities.max_output,
        hard_stop_s=None if limits.wall_time is None else compute_hard_stop(limits.wall_time),
        cpu_time_s=limits.cpu_time,
    )
    build_script = make_compile_script(spec, tool, uses_prebuilt_files=prebuilt_files is not None)
    wall_ms = None if limits.wall_time is None else to_milliseconds(limits.wall_time + DELIVERY_SECONDS)
    cpu_ms = None if limits.cpu_time is None else to_milliseconds(2 * limits.cpu_time + DELIVERY_SECONDS)
    return Job(
        files=(
            JobFile(name=_BUILD, content=Blob.of(script)),
            JobFile(name="compile", content=Blob.of(_ENVIRONMENT + build_script)),
            *(prebuilt_files or ()),
            *list_source_files(spec),
        ),
        run_timeout=min_limit(wall_ms, capabilities.max_run_time),
        run_cpu_time=min_limit(cpu_ms, capabilities.max_run_cpu_time),
        run_memory_limit=memory_limit_bytes,
    )


# --- builds in a sandbox of the proctor ------------------------------------------------------------------


def _make_sandboxed_build_job(
    spec: BuildSpec,
    tool: Toolchain,
    capabilities: Capabilities,
    proctor: Blob,
    prebuilt_files: Sequence[JobFile] | None,
) -> Job:
    """Return a build job that contains the proctor, whose sandbox confines the compiler."""
    limits, uses_prebuilt_files = spec.limits, prebuilt_files is not None
    # A compiler outside of the system's folders, as in a Piston package, is visible with its whole folder.
    script = f"""compiler=$(readlink -f "$(command -v {shlex.quote(tool.path)})")
case $compiler in /usr/* | /bin/* | /lib*) compiler= ;; esac
sed -i -e "s#@FOLDER@#$PWD/{_BOX}#" -e "s#@PATH@#$PATH#" -e "s#@LIBRARIES@#${{LD_LIBRARY_PATH:-}}#" \\
    -e "s#@COMPILER@#${{compiler%/*/*}}#" -e "s#@HEADERS@#${{{BUNDLED_HEADERS}:-}}#g" {_SPEC}
./{_PROCTOR} box {_SPEC} {_REPORT}> .ioi-eval-report > .ioi-eval-log 2>&1 < /dev/null
""" + make_sandboxed_printing_script(f"{_BOX}/{spec.output}", capabilities.max_output)
    build_script = make_compile_script(
        spec,
        tool,
        uses_prebuilt_files=uses_prebuilt_files,
        has_bundled_precompiled_header=uses_prebuilt_files,
    )
    sandbox_files = (
        JobFile(name="compile", content=Blob.of(build_script)),
        *(prebuilt_files or ()),
        *list_source_files(spec),
    )
    wall_s = None if limits.wall_time is None else compute_hard_stop(limits.wall_time) + DELIVERY_SECONDS
    cpu_s = None if limits.cpu_time is None else 2 * limits.cpu_time + DELIVERY_SECONDS
    return Job(
        files=(
            JobFile(name="run", content=Blob.of(script)),
            JobFile(name=_PROCTOR, content=proctor, executable=True),
            JobFile(
                name=_SPEC,
                content=Blob.of(
                    msgspec.json.encode(
                        _make_sandbox_spec(spec, has_bundled_precompiled_header=uses_prebuilt_files)
                    )
                ),
            ),
            *(msgspec.structs.replace(file, name=f"{_BOX}/{file.name}") for file in sandbox_files),
        ),
        run_timeout=min_limit(to_milliseconds(wall_s), capabilities.max_run_time),
        run_cpu_time=min_limit(to_milliseconds(cpu_s), capabilities.max_run_cpu_time),
    )


def _make_sandbox_spec(spec: BuildSpec, *, has_bundled_precompiled_header: bool) -> SandboxSpec:
    """Return the spec of a build's sandbox. The job's script replaces placeholders such as @PATH@.

    If `has_bundled_precompiled_header`, the compiler may read the precompiled header of the server's
    package, if the source includes it.
    """
    limits, header_folders = (
        spec.limits,
        ("@HEADERS@",)
        if has_bundled_precompiled_header and find_leading_includes(spec) == BITS_STDCPP
        else (),
    )
    wall_ms, cpu_ms = to_milliseconds(limits.wall_time), to_milliseconds(limits.cpu_time)
    return SandboxSpec(
        argv=("/bin/bash", "compile"),
        env={
            "PATH": "@PATH@",
            "LD_LIBRARY_PATH": "@LIBRARIES@",
            **({BUNDLED_HEADERS: header_folders[0]} if header_folders else {}),
            "HOME": "/tmp",
            "LANG": "C.UTF-8",
        },
        dir="@FOLDER@",
        read=("@COMPILER@", *header_folders),
        profile="tool",
        proc=spec.needs_proc_filesystem,
        limits=SandboxLimits(
            wall_ms=compute_compiler_idle_ms(wall_ms, cpu_ms),
            hard_ms=None if wall_ms is None else compute_hard_stop(wall_ms),
            cpu_ms=cpu_ms,
            memory=limits.memory,
            file_size=limits.file_size,
            processes=_PROCESSES,
            disk=_DISK,
            names=_NAMES,
        ),
        report_fd=_REPORT,
        leash_fd=-1,
        # The proctor runs in the server's own sandbox. Its report names the layers that are in force.
        allow_unconfined=True,
    )


_MIN_PACKED_BYTES = 2048  # minimum size in bytes of a content that is sent compressed
# Minimum size in bytes of a content that is compressed at the fastest level. Programs
# and large tests are of this size; the proctor and ordinary tests are smaller.
_FAST_FROM_BYTES = 1 << 20
_PER_FILE_BYTES = 80  # bytes that each file adds to a request, in addition to the file's content
# Names of files that a shell reads, which are never compressed.
_SCRIPTS = frozenset({"compile", "run", "build"})


class EncodedContent(Value):
    """A content as it is sent in requests: plain or compressed."""

    data: bytes
    is_gzip: bool
    request_bytes: int  # number of bytes that the content adds to a request


class GzipCache:
    """Compresses contents, and caches their gzip forms: a problem's tests are sent with every submission."""

    def __init__(self, max_cached_bytes: int = 256 << 20) -> None:
        self._cache = LruCache[EncodedContent](max_cached_bytes)
        self._running_compressions: SharedCalls[EncodedContent] = SharedCalls()

    async def prepare_job_for_sending(self, job: Job, capabilities: Capabilities) -> Job:
        """Return a job in the form that is sent to servers.

        Its files are compressed, unless the engine executes plans itself. Its first script marks the programs
        as executable, because not all servers do that.
        """
        script, *other_files = job.files
        program_names = [file.name for file in other_files if file.executable]
        mark_script = f"chmod +x -- {shlex.join(program_names)}\n" if program_names else ""
        script = msgspec.structs.replace(
            script, content=Blob.of(mark_script.encode() + script.content.read())
        )
        # On older servers, programs may only enter folders that contain a file of the job. So a folder that
        # contains only folders gets an empty file.
        sent_files = (file for file in job.files if not isinstance(file.content, SharedBuild))
        folders = {file.name.rpartition("/")[0] for file in sent_files}
        parent_folders = {
            folder[:end] for folder in folders for end, letter in enumerate(folder) if letter == "/"
        }
        placeholders = (
            JobFile(name=f"{parent_folder}/.ioi-eval", content=Blob.of(""))
            for parent_folder in sorted(parent_folders - folders)
        )
        if not capabilities.executes_plans:
            other_files = [await self._compress_file(file) for file in other_files]
        return msgspec.structs.replace(
            job, files=(script, *other_files, *placeholders), runtime=capabilities.find_shell_runtime()
        )

    async def _compress_file(self, file: JobFile) -> JobFile:
        # Do not compress an object file: its path is a secret of the job, so no script could decompress it.
        if file.name in _SCRIPTS or file.name.endswith(f"/{OBJECT}"):
            return file
        return msgspec.structs.replace(file, content=await self.compress_content(file.content))

    async def count_request_bytes(self, content: Blob) -> int:
        """Return the bytes that a file with this content adds to a request."""
        if isinstance(content, RemoteArtifact):
            return _compute_base64_size(content.size) + _PER_FILE_BYTES
        return (await self._get_encoded_content(content)).request_bytes + _PER_FILE_BYTES

    def cache_gzip_form(self, content: Blob, gzip_form: bytes) -> None:
        """Cache the gzip form of a content that a server sent in this form."""
        request_bytes = _compute_base64_size(len(gzip_form))
        if content.size >= _MIN_PACKED_BYTES and request_bytes < _compute_base64_size(content.size):
            encoded_content = EncodedContent(data=gzip_form, is_gzip=True, request_bytes=request_bytes)
            self._cache.put(content.sha256, encoded_content, len(gzip_form))

    async def compress_content(self, content: Blob) -> Blob:
        """Return a content in memory, or with its gzip form if that is smaller in a request."""
        if isinstance(content, RemoteArtifact | SharedBuild):
            return content
        encoded_content = await self._get_encoded_content(content)
        if not encoded_content.is_gzip:
            return msgspec.structs.replace(content, data=encoded_content.data)
        return GzipBlob(**msgspec.structs.asdict(content), gzip=encoded_content.data)

    async def _get_encoded_content(self, content: Blob) -> EncodedContent:
        """Return a content in the form in which requests contain it: compressed or as it is."""
        encoded_content = self._cache.get(content.sha256)
        if encoded_content is None:
            if content.data is not None and content.size < _MIN_PACKED_BYTES:
                encoded_content = encode_content_for_request(content)
            else:
                encoded_content = await self._running_compressions.call(
                    content.sha256, lambda: asyncio.to_thread(encode_content_for_request, content)
                )
            self._cache.put(content.sha256, encoded_content, len(encoded_content.data))
        return encoded_content


def encode_content_for_request(content: Blob) -> EncodedContent:
    """Return a content, compressed if that is smaller. In JSON, bytes grow by a third."""
    data = content.read()
    try:
        plain_bytes = len(msgspec.json.encode(data.decode()))
    except UnicodeDecodeError:
        plain_bytes = _compute_base64_size(len(data))
    if len(data) >= _MIN_PACKED_BYTES:
        compressed_data = gzip.compress(data, 6 if len(data) < _FAST_FROM_BYTES else 1, mtime=0)
        if (request_bytes := _compute_base64_size(len(compressed_data))) < plain_bytes:
            return EncodedContent(data=compressed_data, is_gzip=True, request_bytes=request_bytes)
    return EncodedContent(data=data, is_gzip=False, request_bytes=plain_bytes)


def _compute_base64_size(size: int) -> int:
    return (size + 2) // 3 * 4


# --- the output of a build job ---------------------------------------------------------


VERSION = 1
_LINE_PREFIX = f"ioi-eval {VERSION}"
_PACKED_FILE = ".ioi-eval-packed"
_MAX_ARTIFACT_BYTES = 1 << 30  # maximum bytes of an artifact, as in the embedded engine
_OUTPUT_LIMIT = "PISTON_OUTPUT_MAX_SIZE"
ENOUGH = 64_000_000  # bytes of output that are enough for any reasonable program
_GZIP = 31  # value of zlib's `wbits` for the gzip format
_STOPPED = 124  # exit code of the command `timeout` when it stops a program


class TooLarge(JudgeFailure):
    """The artifact exceeds the output limit of a server with the documented settings."""


class ReceivedBuild(Value):
    # Ending of the compiler; `None` if the job has a compile stage, whose ending the reply contains.
    stage: Ending | None
    artifact: Blob | None
    packed: bytes = b""  # the compressed artifact, as the server sent it
    # Confinement of the build's sandbox; `None` if the build had no sandbox.
    confinement: Mapping[str, Any] | None = None


# --- the scripts -------------------------------------------------------------------------------------


def make_artifact_printing_script(output_name: str, max_output: int | None) -> str:
    """Return the script that prints a file. `max_output` is the engine's limit in bytes, or `None`."""
    print_line = _make_print_command("artifact", output_name, max_output)
    return f"{_PRINT}{print_line}printf '%s end\\n' {shlex.quote(_LINE_PREFIX)}\n"


def make_one_stage_build_script(
    output_name: str, max_output: int | None, *, hard_stop_s: float | None, cpu_time_s: float | None
) -> str:
    """Return the script that builds a program in the run stage, for servers without a compile stage.

    The script compiles under limits, and prints the compiler's output and the program.

    Args:
        output_name: The file name of the program.
        max_output: Maximum bytes of output that the server sends. For a file that needs more, the script
            prints the length and ends. None means no limit.
        hard_stop_s: Seconds of elapsed time after which the build is stopped. None means no limit.
        cpu_time_s: Seconds of CPU time, rounded to whole seconds, but at least 1. None means no limit.
    """
    timeout_prefix = f"timeout -k 5 {hard_stop_s:.3f} " if hard_stop_s is not None else ""
    ulimit_prefix = f"ulimit -t {max(1, round(cpu_time_s))}; " if cpu_time_s is not None else ""
    log_name = ".ioi-eval-log"
    return f"""{_PRINT}({ulimit_prefix}exec {timeout_prefix}bash compile) > {log_name} 2>&1 < /dev/null
code=$?
printf '%s code %s\\n' {shlex.quote(_LINE_PREFIX)} "$code"
{_make_print_command("log", log_name, max_output)}if [ "$code" = 0 ]; then
{_make_print_command("artifact", output_name, max_output)}fi
printf '%s end\\n' {shlex.quote(_LINE_PREFIX)}
"""


def make_sandboxed_printing_script(output_name: str, max_output: int | None) -> str:
    """Return the script that prints a sandbox's report and the built file, unless the file is a link."""
    log_name, quoted_output = ".ioi-eval-log", shlex.quote(output_name)
    return f"""{_PRINT}[ -s .ioi-eval-report ] || {{ head -c 300 {log_name} >&2; exit 91; }}
report=$(cat .ioi-eval-report)
printf '%s box %s\\n' {shlex.quote(_LINE_PREFIX)} "$report"
{_make_print_command("log", log_name, max_output)}case $report in
*'"code":0,"signal":0,"killed":""'*) if [ -f {quoted_output} ] && [ ! -L {quoted_output} ]; then
{_make_print_command("artifact", output_name, max_output)}fi ;;
esac
printf '%s end\\n' {shlex.quote(_LINE_PREFIX)}
"""


_PRINT = f"""# print KIND FILE MAX_BYTES: size, SHA-256 and length, then the file, compressed and as base64.
print() {{
    gzip -1 -n -c -- "$2" | base64 > {_PACKED_FILE} && [ -s {_PACKED_FILE} ] || exit 91
    length=$(wc -c < {_PACKED_FILE})
    size=$(wc -c < "$2")
    if [ -n "$3" ] && [ "$length" -gt "$3" ]; then
        echo "{_LINE_PREFIX} too-large $1 $((length))"
        exit 0
    fi
    echo "{_LINE_PREFIX} $1 $((size)) $(sha256sum < "$2" | cut -c 1-64) $((length))"
    cat {_PACKED_FILE}
}}
"""
_MAX_HEADER_BYTES = 512  # maximum bytes that the script prints in addition to a file


def _make_print_command(file_kind: str, file_name: str, max_output: int | None) -> str:
    max_file_bytes = "" if max_output is None else str(max(0, max_output - _MAX_HEADER_BYTES))
    return f"print {file_kind} {shlex.quote(file_name)} {shlex.quote(max_file_bytes)}\n"


# --- reading the output -------------------------------------------------------------------------------


def parse_build_output(run_ending: Ending) -> ReceivedBuild:
    """Return the build that the output of a script describes.

    Raises BrokenReply for damaged output, and JudgeFailure if the server cannot send the whole program.
    """
    stage: Ending | None = None
    confinement: Mapping[str, Any] | None = None
    sent_files: dict[str, _ReceivedFile] = {}
    output, position = run_ending.stdout, 0
    while (line_end := output.find("\n", position)) >= 0:
        line, position = output[position:line_end], line_end + 1
        match line.removeprefix(_LINE_PREFIX).split() if line.startswith(_LINE_PREFIX) else ():
            case ["code", number]:
                exit_code = _parse_number(number)
                stage = Ending.by_limit("hard") if exit_code == _STOPPED else Ending(code=exit_code)
            case ["box", *_]:
                stage, confinement = decode_sandbox_report(line.removeprefix(f"{_LINE_PREFIX} box ").encode())
                if stage.status is StageStatus.XX and stage.signal is None:
                    raise BrokenReply(f"the sandbox of a build failed: {stage.message}")
            case ["too-large", file_kind, length]:
                raise _make_too_large_error(file_kind, _parse_number(length))
            case ["end"]:
                artifact, log = sent_files.get("artifact", _NO_FILE), sent_files.get("log", _NO_FILE)
                log_text = log.content.read().decode(errors="replace") if log.content else ""
                if stage is not None:
                    stage = msgspec.structs.replace(stage, stdout=log_text)
                if confinement is not None:
                    confinement = {name: value for name, value in confinement.items() if name != "uid"}
                return ReceivedBuild(
                    stage=stage,
                    artifact=artifact.content,
                    packed=artifact.packed,
                    confinement=confinement,
                )
            case [file_kind, size, digest, length]:
                packed_length = _parse_number(length)
                packed_text = output[position : position + packed_length]
                sent_files[file_kind] = _read_received_file(
                    file_kind, _parse_number(size), digest, packed_length, packed_text, run_ending
                )
                position += packed_length
    raise _make_incomplete_output_error(run_ending, len(output))


def was_killed_while_compiling(run_ending: Ending) -> bool:
    """Return True if a run stage that builds a program was killed before the compiler exited.

    The stage must have run `make_one_stage_build_script`, or a build in a sandbox.
    """
    return run_ending.code is None and not run_ending.stdout.startswith(
        (f"{_LINE_PREFIX} code ", f"{_LINE_PREFIX} box ")
    )


class _ReceivedFile(NamedTuple):
    content: Blob | None
    packed: bytes


_NO_FILE = _ReceivedFile(None, b"")


def _parse_number(digits: str) -> int:
    if not digits.isdecimal():
        raise BrokenReply(f"the output of a build job is damaged: {digits[:20]!r} is not a number")
    return int(digits)


def _read_received_file(
    file_kind: str, size: int, digest: str, packed_length: int, packed_text: str, run_ending: Ending
) -> _ReceivedFile:
    """Return a file in the output of a build job.

    Args:
        file_kind: kind of the file, for messages.
        packed_text: the compressed file, as base64.
        run_ending: ending of the stage that printed the file.
    """
    received_file = (
        _decode_received_file(packed_text, size) if len(packed_text) == packed_length else _NO_FILE
    )
    if received_file.content is not None and received_file.content.sha256 == digest:
        return received_file
    if _was_killed(run_ending):
        raise _make_incomplete_output_error(run_ending, packed_length)
    raise BrokenReply(f"the {file_kind} in the reply to a build job is damaged")


def _decode_received_file(packed_text: str, size: int) -> _ReceivedFile:
    """Return the file of `size` bytes in `packed_text`, or `_NO_FILE` if the string is damaged."""
    if size > _MAX_ARTIFACT_BYTES:
        raise JudgeFailure(
            f"the built program has {size} bytes, which is too large to send", phase="compiling"
        )
    unpacker = zlib.decompressobj(_GZIP)
    try:
        packed_bytes = binascii.a2b_base64(packed_text.replace("\n", ""), strict_mode=True)
        data = unpacker.decompress(packed_bytes, size + 1)
    except (ValueError, zlib.error):  # a ValueError means that the output is not base64 or not ASCII
        return _NO_FILE
    is_complete = len(data) == size and unpacker.eof and not unpacker.unused_data
    return _ReceivedFile(Blob.of(data), packed_bytes) if is_complete else _NO_FILE


def _was_killed(run_ending: Ending) -> bool:
    """Return True if a limit, possibly of output, may have stopped a stage.

    Older servers do not report which limit stopped a stage.
    """
    return run_ending.status is StageStatus.OL or run_ending.signal == "SIGKILL"


def _make_incomplete_output_error(run_ending: Ending, packed_length: int) -> BrokenReply | JudgeFailure:
    """Return the error of a build job whose output ends before its program is complete.

    `packed_length`: length of the compressed program, as far as it is known.
    """
    if not _was_killed(run_ending):
        exit_reason = (
            f"exit code {run_ending.code}"
            if run_ending.code is not None
            else f"killed by {run_ending.signal}"
        )
        stderr = " ".join(run_ending.stderr.split())[-300:]
        return BrokenReply(f"a build job sent no complete program ({exit_reason}{stderr and f': {stderr}'})")
    if run_ending.status is StageStatus.TO and packed_length <= ENOUGH:
        return JudgeFailure(
            "a build job ran out of time before it had sent its program",
            phase="compiling",
            remedy="Raise PISTON_RUN_TIMEOUT and PISTON_RUN_CPU_TIME on the server,"
            " on a worker --set run-timeout=SECONDS",
        )
    return _make_too_large_error("artifact", packed_length)


def _make_too_large_error(file_kind: str, packed_length: int) -> JudgeFailure:
    error_type = TooLarge if file_kind == "artifact" and packed_length > ENOUGH else JudgeFailure
    return error_type(
        f"the {file_kind} of a build job needs {packed_length} bytes of output or more;"
        " the server permits fewer",
        phase="compiling",
        remedy=f"Raise {_OUTPUT_LIMIT} on the server to {ENOUGH} or more, on a worker --set max-output=64mb",
    )
