"""Builds on an engine, and their cache. A build job never contains a test.

rules/verdicts.py classifies the ending of a build.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import re
import secrets
import shlex
import shutil
import threading
from collections.abc import Coroutine, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.engines.contract import (
    BUNDLED_HEADERS,
    BUNDLED_LIBRARY_HEADER,
    DRIVERS,
    GENERATED,
    LIBRARY_HEADER,
    OTHER_MACHINE,
    SUBMISSION,
    BuildSpec,
    BuildSuccess,
    Capabilities,
    CompileError,
    Engine,
    WorkerArtifact,
)
from ioi_eval.engines.jobs.headers import (
    BITS_STDCPP,
    MAX_HEADERS,
    PrebuiltFileUseCounter,
    find_leading_includes,
    make_header_file_name,
    make_header_options,
    make_precompiled_header_spec,
    min_builds_before_header,
)
from ioi_eval.engines.jobs.run import COMMAND, BuildResult, JobDelivery, attach_fork_server
from ioi_eval.model.doing import add_work_to_log_lines, log_step
from ioi_eval.model.errors import BrokenReply, FileEdited, JudgeFailure, ToolchainGone
from ioi_eval.model.job import Job, JobFile, Toolchain
from ioi_eval.model.options import BuildOptions
from ioi_eval.model.protocol import Plan, PlanChecker, PlanSubmission, PlanTest, decode_lines
from ioi_eval.model.retry import BUILD, PREBUILT, TOOLCHAIN
from ioi_eval.model.values import Blob, Value
from ioi_eval.rules.limits import make_plan_limits, to_milliseconds
from ioi_eval.rules.verdicts import (
    MACHINE_AT_FAULT,
    BuildEnding,
    classify_build,
    format_build_log,
    format_stop_message,
    mentions_missing_library,
    shows_lack_of_space,
)
from ioi_eval.store import Store
from ioi_eval.store.contents import StoreEntryPin, convert_store_errors
from ioi_eval.store.memory import LruCache, SharedCalls, SharedValueFile, read_cached, read_or_create_cached

# --- the script --------------------------------------------------------------------------------------


_log = logging.getLogger(__name__)
# Minimum free disk space for a compiler, in bytes. A file of this size tests the space, so it must be smaller
# than the 10 MB that every server allows for a file.
_MIN_FREE_BYTES = 8 << 20
_CODE, _CONTROL, _CONTROL_LOG = ".ioi-eval-code", "ioi-eval-control", ".ioi-eval-control.log"
_LOG = ".ioi-eval.log"
OBJECT = "ioi-eval-grader.o"
"""The last name of a grader's object in a job. Its folder, like a header's, is a secret of the job."""


def make_unguessable_path(name: str) -> str:
    """Return the path of a file `name` in a folder whose random name no source code can guess."""
    return f"{secrets.token_hex(16)}/{name}"


def make_compile_script(
    spec: BuildSpec,
    tool: Toolchain,
    *,
    uses_prebuilt_files: bool = False,
    has_bundled_precompiled_header: bool = False,
) -> str:
    """Return the script of a build job.

    Args:
        uses_prebuilt_files: the job may have the precompiled header of the source's first includes, or the
            object of the shared source. The names of their folders are not in the script, so no source can
            detect whether they exist. If a source could read the compiler's command in /proc, they are not
            used.
        has_bundled_precompiled_header: the server's package may bundle the precompiled header
            `bits/stdc++.h`.

    If a compiler fails or prints anything with such files, the source is compiled again without them, in the
    same state of the folder.
    """
    # With this option, the compiler does not exit with code 1 if its subprocess crashes. The option does not
    # change the artifact, so it is not part of the artifact's cache key.
    options = ["-pass-exit-codes"] if tool.command in DRIVERS else []
    build_lines = f"compile {shlex.join([tool.path, *options, *spec.command[1:]])}"
    leading_includes = find_leading_includes(spec)
    if (uses_prebuilt_files and (leading_includes or spec.shared)) or (
        has_bundled_precompiled_header and leading_includes == BITS_STDCPP
    ):
        arguments, prebuilt_path = shlex.join(spec.command[1:]), '"$begins"'
        if spec.shared:
            arguments_before, arguments_after = _split_arguments_at(spec.command[1:], spec.shared)
            arguments, prebuilt_path = (
                f'{shlex.join(arguments_before)} "$object" {shlex.join(arguments_after)}',
                '"$object"',
            )
        first_attempt = f"compile {shlex.join([tool.path, *options])} $begins {arguments}"
        lookup_lines = _make_prebuilt_lookup_script(
            spec,
            leading_includes,
            uses_prebuilt_files=uses_prebuilt_files,
            has_bundled_precompiled_header=has_bundled_precompiled_header and leading_includes == BITS_STDCPP,
        )
        build_lines = f"""{lookup_lines}
# Retry rule `{PREBUILT.name}`: {PREBUILT.max_attempts} attempts in all.
if [ -z {prebuilt_path} ] || ! {{ {first_attempt}; [ "$code" = 0 ] && [ ! -s {_LOG} ]; }}; then
    {build_lines}
fi"""
    control = shlex.join([tool.path, *make_control_program_command(spec)[1:]])
    quoted_output = shlex.quote(spec.output)
    # Disable cgo: Go would start a C compiler whose source is a pipe, and a source that includes that pipe
    # would make the compiler wait for itself.
    environment_line = "export CGO_ENABLED=0\n" if tool.command == "go" else ""
    return f"""# Builds the {spec.kind}, and stores the first {spec.limits.log} bytes of the output.
{environment_line}\
ulimit -f {spec.limits.file_size // 1024} 2> /dev/null  # kB; a server may allow even less
compile() {{
    rm -f -- "$0" {quoted_output} {_CODE} {_LOG}  # no source reads the script
    exec 8> {_LOG} 9< {_LOG}  # a generator may remove the file
    {{
        [ ! -e /dev/fd/1 ] || chmod a-r /dev/fd/1  # a source that names this pipe would wait for itself
        "$@" 8>&- 9<&-
        echo "$?" > {_CODE}
    }} 2>&1 < /dev/null | {{
        head -c {spec.limits.log} >&8
        exec cat > /dev/null
    }}
    read -r code < {_CODE} || exit {MACHINE_AT_FAULT}
}}
{build_lines}
cat <&9
if [ "$code" = 0 ]; then
    [ -f {quoted_output} ] && exit 0
    echo "the compiler made no file" && code=1
fi
for place in . "${{TMPDIR:-/tmp}}"; do
    [ -w "$place" ] || continue
    room=$(mktemp "$place/.ioi-eval-XXXXXX") || exit {MACHINE_AT_FAULT}
    printf '%{min(_MIN_FREE_BYTES, spec.limits.file_size // 2)}s' '' | cat > "$room"
    left=$?
    rm "$room"
    [ "$left" = 0 ] || exit {MACHINE_AT_FAULT}
done
{control} > {_CONTROL_LOG} 2>&1 < /dev/null || {{ head -c 4096 {_CONTROL_LOG} >&2; exit {MACHINE_AT_FAULT}; }}
exit "$code"
"""


def _split_arguments_at(arguments: Sequence[str], separator: str) -> tuple[Sequence[str], Sequence[str]]:
    """Return the arguments before `separator`, and the arguments after it."""
    index = arguments.index(separator)
    return arguments[:index], arguments[index + 1 :]


def _make_prebuilt_lookup_script(
    spec: BuildSpec,
    leading_includes: Sequence[str],
    *,
    uses_prebuilt_files: bool,
    has_bundled_precompiled_header: bool,
) -> str:
    """Return the lines of the build script that look for prebuilt files.

    The shell variable `begins` becomes the options for a precompiled header, and `object` the path of a
    grader's object file. Without such files, both are empty.

    Args:
        leading_includes: the headers that the main source includes first.
    """
    lines = ["begins= object="]
    if uses_prebuilt_files:
        lines.append(f'for found in */{OBJECT}; do [ ! -e "$found" ] || object=$found; done')
    if uses_prebuilt_files and leading_includes:
        header_name = make_header_file_name(leading_includes)
        begin_options = make_header_options(leading_includes, f"${{found%/{header_name}}}")
        lines.append(f'for found in */{header_name}; do [ ! -e "$found" ] || begins="{begin_options}"; done')
    if uses_prebuilt_files:
        lines.append('{ true < "/proc/$$/cmdline"; } 2> /dev/null && begins= object=')
    if has_bundled_precompiled_header:
        standard = next(option[5:] for option in spec.precompile if option.startswith("-std="))
        headers_folder = f"${BUNDLED_HEADERS}"
        # A compiler checks which compiler created a precompiled header, but not with which version of the C
        # library.
        library_test = f'cmp -s "{headers_folder}/{BUNDLED_LIBRARY_HEADER}" {LIBRARY_HEADER}'
        exists_test = f'[ -e "{headers_folder}/{standard}/{make_header_file_name(leading_includes)}" ]'
        lines.append(
            f"{exists_test} && {library_test} &&"
            f' begins="{make_header_options(leading_includes, f"{headers_folder}/{standard}")}"'
        )
    return "\n".join(lines)


def make_control_program_command(spec: BuildSpec) -> tuple[str, ...]:
    """Return the command that builds the control program with the flags of a build.

    The control program is a source that every working compiler accepts. If its build fails, the machine is
    at fault.
    """
    # The option -include is followed by the name of a source.
    source_names = {source.name for source in spec.sources} | {"-include"}
    # Some compilers expect the output's name as a part of the option.
    output_pattern = re.compile(rf"^(|-o./|-out:){re.escape(spec.output)}$")
    arguments = [
        output_pattern.sub(rf"\1{_CONTROL}", argument)
        for argument in spec.command
        if argument not in source_names
    ]
    source_position = next(
        (index for index, argument in enumerate(spec.command) if argument in source_names), len(arguments)
    )
    return (*arguments[:source_position], spec.control.name, *arguments[source_position:])


def _make_control_program_spec(spec: BuildSpec) -> BuildSpec:
    """Return a build like `spec` whose only source is the control program.

    `make_control_program_command` describes this program.
    """
    main_name, other_names = spec.main_source.name, {source.name for source in spec.sources[:-1]}
    return msgspec.structs.replace(
        spec,
        command=tuple(argument for argument in spec.command if argument not in other_names),
        sources=(msgspec.structs.replace(spec.control, name=main_name),),
        acts=False,
    )


def list_source_files(spec: BuildSpec) -> Iterable[JobFile]:
    return (JobFile(name=file.name, content=file.content) for file in (spec.control, *spec.sources))


# --- graders as object files -------------------------------------------------------------------------
# All submissions to a problem are compiled with the same grader, and compiling the grader may take longer
# than compiling the submission. The program is the same if the same compiler has built the grader before.


_GRADER_USES = 2  # number of builds with the same grader after which the grader's object file is built


def make_object_file_spec(spec: BuildSpec) -> BuildSpec:
    """Return the build spec of a grader's object file, with the flags of `spec`, a build with this grader."""
    other_names = {source.name for source in spec.sources} - {spec.shared}
    arguments = (
        OBJECT if name == spec.output else name for name in spec.command[1:] if name not in other_names
    )
    return BuildSpec(
        kind="object",
        output=OBJECT,
        command=(spec.command[0], "-c", *arguments),
        sources=tuple(sorted(spec.sources[:-1], key=lambda source: source.name == spec.shared)),
        control=spec.control,
        limits=spec.limits,
        proctor=spec.proctor,
    )


_SCRIPT, _SOURCE, _PLAN, _PROCTOR = "submission", "source", "plan.json", "proctor"
_ACCEPTED_LINE = "taken\n"
_MAX_ANSWER_BYTES = 1 << 10


async def check_python_source(
    delivery: JobDelivery, spec: BuildSpec, capabilities: Capabilities
) -> BuildSuccess | None:
    """Check a Python source quickly, and return its build if it is accepted, or None if a build is needed.

    The check only accepts programs with a single source. A persistent proctor runs it.
    """
    has_only_main_source = delivery.is_here and spec.kind == SUBMISSION and len(spec.sources) == 2
    if not has_only_main_source or capabilities.waiting is None or capabilities.proctor is None:
        return None
    tool, nonce = capabilities.require_tool(COMMAND, "checking a source"), secrets.token_hex(16)
    check_job = _make_source_check_job(
        spec, tool, nonce, proctor=capabilities.proctor, fork_server_library=capabilities.waiting
    )
    check_ending, _ = await delivery.run_test_job(check_job, capabilities, nonce=nonce, phase="compiling")
    return _parse_source_check_output(spec, tool, check_ending.stdout, nonce)


def _make_source_check_job(
    spec: BuildSpec, tool: Toolchain, nonce: str, *, proctor: Blob, fork_server_library: Blob
) -> Job:
    """Return a job that runs the check script of a build like a submission, with the source as its input."""
    check_script, source = spec.sources
    submission, fork_server_files = attach_fork_server(
        PlanSubmission(argv=(tool.path, "-I", _SCRIPT), files=(_SCRIPT,), env={"PATH": "/usr/bin:/bin"}),
        (),
        fork_server_library,
    )
    named_source = f"{source.name}\n".encode() + source.content.read()
    return Job(
        files=(
            JobFile(name=_PROCTOR, content=proctor, executable=True),
            JobFile(
                name=_PLAN,
                content=Blob.of(msgspec.json.encode(_make_check_plan(spec, tool, submission, nonce))),
            ),
            JobFile(name=_SCRIPT, content=check_script.content),
            JobFile(name=_SOURCE, content=Blob.of(named_source)),
            *fork_server_files,
        ),
        run_timeout=to_milliseconds(spec.limits.wall_time),
        plan=_PLAN,
    )


def _make_check_plan(spec: BuildSpec, tool: Toolchain, submission: PlanSubmission, nonce: str) -> Plan:
    limits = spec.limits
    return Plan(
        nonce=nonce,
        task_type="Batch",
        submission=submission,
        limits=make_plan_limits(
            cpu_time=limits.cpu_time,
            wall_time=limits.wall_time,
            memory=limits.memory,
            output=_MAX_ANSWER_BYTES,
        ),
        # The proctor's line contains the output, which is compared on this machine.
        checker=PlanChecker(kind="exact"),
        tests=(PlanTest(index=0, input=_SOURCE),),
        echo=_MAX_ANSWER_BYTES,
        read=tool.read,
    )


def _parse_source_check_output(
    spec: BuildSpec, tool: Toolchain, stdout: str, nonce: str
) -> BuildSuccess | None:
    try:
        lines = list(decode_lines(stdout, nonce))
    except BrokenReply:
        return None
    answer = next((line.output for line in lines if line.test == 0 and line.end == "ok"), "")
    if answer != _ACCEPTED_LINE:
        return None
    return BuildSuccess(artifact=spec.main_source.content, compiler=tool.name, toolchain=tool.identity)


# --- builds in the store, which has a folder for each cache key ------------------


_ARTIFACT = "artifact"
# Maximum bytes of an artifact whose hash is checked when it is read; only precompiled headers are larger.
_MAX_HASHED_BYTES = 64 << 20
# File that lists the programs that workers store. A folder for each of them would be too many folders.
_WORKER_PROGRAMS_FILE = "staying.txt"
_cache_failure = partial(JudgeFailure, phase="compiling")
# Maximum number of pinned artifacts, each with an open file; jobs use far fewer artifacts at a time.
_MAX_PINS = 128


class _CachedOutcome(Value):
    """The cached outcome of a build. The artifact is next to it in the store, or on a worker."""

    built: BuildSuccess | None = None
    rejected: CompileError | None = None
    at: str = ""  # address of the worker that stores the program


class BuildOutcomeCache:
    """Cached outcomes of builds, including failed builds, on disk. The last used outcomes are not evicted.

    `find` and `add` block. They are thread-safe.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pins = LruCache[StoreEntryPin](_MAX_PINS, StoreEntryPin.release)
        self._lock = threading.Lock()
        self._worker_programs = SharedValueFile(store.root / _WORKER_PROGRAMS_FILE, _CachedOutcome)

    def creation_lock(self, key: str) -> contextlib.AbstractAsyncContextManager[None]:
        """Return the lock of a key, with which only a single process at a time builds the key's artifact."""
        return self._store.creation_lock(key)

    def has_any(self, *keys: str) -> bool:
        """Return True if an outcome is cached for any of the keys. It is quick, so it needs no thread."""
        return any(self._store.get(key) is not None for key in keys)

    def find_on_worker(self, spec: BuildSpec, *keys: str) -> BuildSuccess | None:
        """Return the program of the first key whose program is stored on the worker that built it."""
        record = next(filter(None, map(self._worker_programs.get, keys)), None)
        if record is None or record.built is None:
            return None
        artifact_blob, tool = record.built.artifact, record.built.toolchain
        artifact = WorkerArtifact(
            sha256=artifact_blob.sha256, size=artifact_blob.size, at=record.at, spec=spec, toolchain=tool
        )
        return msgspec.structs.replace(record.built, artifact=artifact)

    def find_outcome(self, *keys: str) -> BuildSuccess | CompileError | None:
        """Return the first cached outcome of the keys."""
        for key in keys:
            if self._store.get(key) is None:
                continue  # do not pin the key: a pin creates a file, and most keys are not in the store
            self._pin(key)
            cached_record = read_cached(self._store, key, _CachedOutcome)
            outcome = cached_record and _read_outcome(*cached_record)
            if outcome is not None:
                return outcome
            if cached_record is not None:
                self._store.remove(key)
        return None

    def add(self, key: str, outcome: BuildSuccess | CompileError) -> BuildSuccess | CompileError:
        """Cache an outcome with a copy of its artifact, and return it with that copy."""
        outcome = self.reject_oversized_program(outcome)
        self._pin(key)
        with convert_store_errors(self._store, _cache_failure):
            stored_outcome = _read_outcome(
                *read_or_create_cached(
                    self._store, key, _CachedOutcome, lambda folder: _write_outcome(folder, outcome)
                )
            )
        assert stored_outcome is not None, "the store has just written it"
        return stored_outcome

    def add_on_worker(self, key: str, built: BuildSuccess, worker_url: str) -> None:
        """Cache the address of the worker that has a program. It is quick, so it needs no thread."""
        artifact_without_path = Blob(sha256=built.artifact.sha256, size=built.artifact.size)
        self._worker_programs.put(
            key,
            _CachedOutcome(
                built=msgspec.structs.replace(built, artifact=artifact_without_path), at=worker_url
            ),
        )

    def reject_oversized_program(self, outcome: BuildSuccess | CompileError) -> BuildSuccess | CompileError:
        """Return the outcome, or a compile error if the program is too large."""
        program_bytes, max_bytes = (
            outcome.artifact.size if isinstance(outcome, BuildSuccess) else 0,
            self._store.largest,
        )
        if program_bytes <= max_bytes:
            return outcome
        message = f"The program has {program_bytes} bytes, more than the maximum of {max_bytes}."
        log = f"{outcome.log}\n{message}".lstrip()
        return CompileError(log=log, compiler=outcome.compiler, confinement=outcome.confinement)

    def close(self) -> None:
        with self._lock:
            self._pins.clear()

    def _pin(self, key: str) -> None:
        with self._lock, convert_store_errors(self._store, _cache_failure):
            if self._pins.get(key) is None:
                self._pins.put(key, self._store.pin(key))


def _write_outcome(folder: Path, outcome: BuildSuccess | CompileError) -> _CachedOutcome:
    if isinstance(outcome, CompileError):
        return _CachedOutcome(rejected=outcome)
    artifact, artifact_path = outcome.artifact, folder / _ARTIFACT
    blob = Blob(sha256=artifact.sha256, size=artifact.size)
    success_without_path = msgspec.structs.replace(outcome, artifact=blob)
    if artifact.path is not None:
        shutil.copyfile(artifact.path, artifact_path)
    else:
        artifact_path.write_bytes(artifact.read())
    artifact_path.chmod(0o755)
    return _CachedOutcome(built=success_without_path)


def _read_outcome(record: _CachedOutcome, folder: Path) -> BuildSuccess | CompileError | None:
    """Return a cached outcome, or None if the artifact is missing or damaged, as after a power cut."""
    if record.built is None:
        return record.rejected
    artifact_path, artifact_blob = folder / _ARTIFACT, record.built.artifact
    if not artifact_path.is_file() or artifact_path.stat().st_size != artifact_blob.size:
        return None
    if artifact_blob.size <= _MAX_HASHED_BYTES and Blob.of_file(artifact_path).sha256 != artifact_blob.sha256:
        return None
    artifact = msgspec.structs.replace(artifact_blob, path=str(artifact_path))
    return msgspec.structs.replace(record.built, artifact=artifact)


# --- builds --------------------------------------------------------------------------


_RETRIED_ENDINGS = frozenset(
    {BuildEnding.CRASHED, BuildEnding.IDLED, BuildEnding.STOPPED, BuildEnding.KILLED}
)
# These endings are cached: the limits do not depend on the load, and a source that crashed a compiler twice
# will crash it again.
_LIMIT_ENDINGS = frozenset({BuildEnding.CUT_SHORT, BuildEnding.IDLED, BuildEnding.CRASHED})


class Builder:
    """Executes builds by jobs, and caches their outcomes in a store.

    Equal builds at the same time are executed once. Compile errors are cached, and so are exceeded limits,
    for the same limits. Outcomes that may depend on the load are not cached. An outcome has the key of the
    toolchain that executed the build, and is used while a server has that toolchain. Closing stops builds in
    the background.
    """

    def __init__(self, engine: Engine, delivery: JobDelivery, store: Store, options: BuildOptions) -> None:
        self.engine, self.delivery = engine, delivery
        self._cache = BuildOutcomeCache(store)
        self._running_builds: SharedCalls[BuildSuccess | CompileError] = SharedCalls()
        self._precompiles = options.precompile
        self._header_uses, self._grader_uses = PrebuiltFileUseCounter(MAX_HEADERS), PrebuiltFileUseCounter()
        self._background_builds: dict[str, asyncio.Task[BuildSuccess | CompileError]] = {}
        # Hashes of sources whose built programs must be sent to this machine, because their worker was lost.
        self._sources_to_send = set[str]()

    async def close(self) -> None:
        for task in self._background_builds.values():
            task.cancel()
        await asyncio.gather(*self._background_builds.values(), return_exceptions=True)
        self._background_builds.clear()
        self._cache.close()

    @property
    def is_busy(self) -> bool:
        """True while a build runs in the background."""
        return any(not task.done() for task in self._background_builds.values())

    async def capabilities(self) -> Capabilities:
        return await self.engine.capabilities()

    async def build(self, spec: BuildSpec) -> BuildSuccess | CompileError:
        """Return the artifact of a build as content that any engine can use, or the compiler's error.

        Raises JudgeFailure if the engine is at fault, and not the source.
        """
        for attempt in range(1, TOOLCHAIN.max_attempts + 1):
            capabilities = await self.engine.capabilities()
            # If the engine has no shell, report that instead of missing compilers.
            capabilities.find_shell_runtime()
            capabilities.require_tool(spec.toolchain_command, f"building a {spec.kind}")
            keys = spec.make_cache_keys(capabilities)
            try:
                find_or_build = partial(self._find_or_build, spec, capabilities, keys)
                with add_work_to_log_lines(_log, f"{spec.kind} build"):
                    outcome = await self._running_builds.call(" ".join(keys), find_or_build)
                    if _log.isEnabledFor(logging.DEBUG):
                        outcome_name = "built" if isinstance(outcome, BuildSuccess) else "does not compile"
                        log_step(_log, "%s, %s", outcome_name, outcome.compiler)
                refusal = self.delivery.explain_too_large_program if spec.kind == SUBMISSION else None
                if isinstance(outcome, CompileError) or refusal is None:
                    return outcome
                if not (reason := await refusal(outcome.artifact, capabilities)):
                    return outcome
                confinement = outcome.confinement
                return CompileError(
                    log=reason, compiler=outcome.compiler, confinement=confinement, lasting=False
                )
            except ToolchainGone as error:  # try again with the toolchains of the servers that are there now
                TOOLCHAIN.log(_log, error, attempt)
        exhaustion = TOOLCHAIN.describe_exhaustion(TOOLCHAIN.max_attempts)
        raise JudgeFailure(
            f"the servers' {spec.toolchain_command} changed repeatedly, {exhaustion}", phase="compiling"
        )

    async def build_anew(self, spec: BuildSpec) -> BuildSuccess | CompileError:
        """Build a program again that was lost with its worker, and have it sent to this machine."""
        self._sources_to_send.add(spec.main_source.content.sha256)
        return await self.build(spec)

    async def _find_or_build(
        self, spec: BuildSpec, capabilities: Capabilities, keys: Sequence[str]
    ) -> BuildSuccess | CompileError:
        if (cached_outcome := await self._find_cached(spec, keys)) is not None:
            log_step(_log, "in the cache")
            return cached_outcome
        if spec.kind == SUBMISSION:  # other processes build other submissions, so no lock is needed
            return await self._build_or_check(spec, capabilities, keys)
        async with self._cache.creation_lock(keys[0]):
            return await self._find_cached(spec, keys) or await self._build_or_check(spec, capabilities, keys)

    async def _find_cached(self, spec: BuildSpec, keys: Sequence[str]) -> BuildSuccess | CompileError | None:
        all_keys = [cache_key for key in keys for cache_key in (key, _make_exceeded_limits_key(key, spec))]
        if not self._cache.has_any(*all_keys):
            return None
        return await asyncio.to_thread(self._cache.find_outcome, *all_keys)

    async def _build_or_check(
        self, spec: BuildSpec, capabilities: Capabilities, keys: Sequence[str]
    ) -> BuildSuccess | CompileError:
        may_leave_artifact_on_worker, refusal = (
            spec.main_source.content.sha256 not in self._sources_to_send,
            self.delivery.explain_too_large_program,
        )
        worker_program = (
            self._cache.find_on_worker(spec, *keys)
            if may_leave_artifact_on_worker and refusal is not None
            else None
        )
        # If servers now accept only smaller requests, the program may have to be built again and compressed.
        if (
            worker_program is not None
            and refusal is not None
            and not await refusal(worker_program.artifact, capabilities)
        ):
            return worker_program
        if spec.toolchain_command == COMMAND:
            check_outcome = await check_python_source(self.delivery, spec, capabilities)
            # This outcome is not cached, because a source is rarely submitted twice.
            if check_outcome is not None:
                return check_outcome
        prebuilt_files = await self._collect_prebuilt_files(spec, capabilities) if self._precompiles else None
        build_program = partial(
            self.delivery.build, may_leave_artifact_on_worker=may_leave_artifact_on_worker
        )
        result = await build_program(spec, prebuilt_files, capabilities)
        if result.too_large:
            return CompileError(
                log=format_stop_message(result.too_large), compiler=result.tool.name, lasting=False
            )
        build_ending = classify_build(result.ended, spec.refusals)
        # With prebuilt files, the compiler may have run twice within the limits of a single build.
        may_have_run_twice = bool(prebuilt_files) or (
            not self.delivery.is_here and bool(find_leading_includes(spec))
        )
        if build_ending not in _RETRIED_ENDINGS and not (
            build_ending is BuildEnding.CUT_SHORT and may_have_run_twice
        ):
            return await self._cache_result(spec, capabilities, result, may_be_cached=True)
        result.discard()
        BUILD.log(_log, f"the build's outcome is {build_ending.value}")
        # Build again without prebuilt files. If the compiler crashes or is stopped again, the source is at
        # fault.
        result = await build_program(spec, None, capabilities)
        return await self._cache_result(spec, capabilities, result, may_be_cached=False)

    async def _cache_result(
        self, spec: BuildSpec, capabilities: Capabilities, result: BuildResult, *, may_be_cached: bool
    ) -> BuildSuccess | CompileError:
        key = spec.make_cache_key(capabilities.architecture, result.tool)
        build_ending = classify_build(result.ended, spec.refusals)
        outcome_fields: dict[str, Any] = {
            "log": format_build_log(result.ended, spec.limits),
            "compiler": result.tool.name,
            "confinement": result.confinement,
        }
        try:
            # If a source file changed during the build, the outcome belongs to neither of its contents.
            for source in spec.sources:
                if source.content.is_stale:
                    raise FileEdited(source.name)
            is_missing = build_ending is BuildEnding.BUILT and result.content is None
            is_machine_fault = is_missing or build_ending in (BuildEnding.MACHINE, BuildEnding.KILLED)
            if (
                is_machine_fault
                and spec.acts
                and await self._can_build(_make_control_program_spec(spec), capabilities)
            ):
                outcome_fields["log"] += (
                    "\nCode of the source that ran during the build has stopped the build."
                )
                return CompileError(**outcome_fields, lasting=False)
            if build_ending is BuildEnding.MACHINE:
                message = " ".join((result.ended.stderr or result.ended.stdout).split())[:1000]
                raise JudgeFailure(
                    f"{result.tool.name} cannot build even an empty program"
                    f" with the flags of this {spec.kind},"
                    f" or the disk is full: {message}",
                    phase="compiling",
                    remedy=OTHER_MACHINE,
                )
            was_stopped = build_ending is BuildEnding.KILLED or (
                build_ending in (BuildEnding.IDLED, BuildEnding.STOPPED) and spec.kind != SUBMISSION
            )
            # A GENERATED build runs a program of the problem package, which may kill its own sandbox.
            if was_stopped and spec.kind != GENERATED:
                raise JudgeFailure(
                    f"{result.tool.name} was killed or stopped twice while it built a {spec.kind};"
                    " the source is not the reason",
                    phase="compiling",
                    remedy="Give the machine or the server more memory and time, then run the command again",
                )
            if build_ending is BuildEnding.BUILT:
                if result.content is None:
                    raise JudgeFailure(f"the engine did not return {spec.output}", phase="compiling")
                build_success = BuildSuccess(
                    artifact=result.content,
                    toolchain=result.tool.identity,
                    **outcome_fields,
                )
                if not isinstance(result.content, WorkerArtifact):
                    return await asyncio.to_thread(self._cache.add, key, build_success)
                outcome = self._cache.reject_oversized_program(build_success)
                if outcome is build_success:
                    self._cache.add_on_worker(key, build_success, result.content.at)
                return outcome
            is_limit_exceeded = build_ending in _LIMIT_ENDINGS and not shows_lack_of_space(result.ended)
            may_be_cached = (
                may_be_cached
                and build_ending is BuildEnding.REFUSED
                and not mentions_missing_library(outcome_fields["log"])
            )
            compile_error = CompileError(**outcome_fields, lasting=is_limit_exceeded or may_be_cached)
            if not compile_error.lasting:
                return compile_error
            cache_key = _make_exceeded_limits_key(key, spec) if is_limit_exceeded else key
            return await asyncio.to_thread(self._cache.add, cache_key, compile_error)
        finally:
            result.discard()

    async def _can_build(self, spec: BuildSpec, capabilities: Capabilities) -> bool:
        """Return True if a build succeeds."""
        result = await self.delivery.build(spec, None, capabilities, may_leave_artifact_on_worker=False)
        result.discard()
        return classify_build(result.ended, spec.refusals) is BuildEnding.BUILT

    # --- files that many builds have in common, such as precompiled headers ---

    async def _collect_prebuilt_files(
        self, spec: BuildSpec, capabilities: Capabilities
    ) -> tuple[JobFile, ...]:
        """Return the prebuilt files for a build, as far as they exist.

        A build waits for its grader's object: compiling the grader itself would not be faster.
        """
        success_by_name = dict[str, BuildSuccess | None]()
        # A precompiled header is too large to be sent with every build.
        if self.delivery.is_here and (leading_includes := find_leading_includes(spec)):
            shared_spec, min_builds_before_prebuilding = (
                make_precompiled_header_spec(spec, leading_includes),
                min_builds_before_header(leading_includes),
            )
            success_by_name[make_header_file_name(leading_includes)] = await self._get_shared_artifact(
                shared_spec, capabilities, self._header_uses, min_builds_before_prebuilding
            )
        if spec.shared and len(capabilities.list_toolchains(spec.toolchain_command)) == 1:
            shared_spec = make_object_file_spec(spec)
            success_by_name[OBJECT] = await self._get_shared_artifact(
                shared_spec, capabilities, self._grader_uses, _GRADER_USES, waits_for_build=True
            )
        return tuple(
            JobFile(name=make_unguessable_path(name), content=built.artifact)
            for name, built in success_by_name.items()
            # A grader with a warning is not prebuilt, because the warning would be missing in the log.
            if built is not None and not built.log
        )

    async def _get_shared_artifact(
        self,
        spec: BuildSpec,
        capabilities: Capabilities,
        prebuilt_use_counter: PrebuiltFileUseCounter,
        min_builds_before_prebuilding: int,
        *,
        waits_for_build: bool = False,
    ) -> BuildSuccess | None:
        """Return the cached artifact of a build that many builds share, or None if there is none yet.

        The call counts as a use of the artifact. After enough uses, its build starts in the background.

        Args:
            spec: the build of the artifact, such as a precompiled header.
            prebuilt_use_counter: counts the uses of the artifact.
            min_builds_before_prebuilding: number of uses after which the artifact is built.
            waits_for_build: True if the call waits for a build of the artifact that is running.
        """
        [key] = spec.make_cache_keys(capabilities)
        cached_outcome = await asyncio.to_thread(self._cache.find_outcome, key)
        if (
            cached_outcome is None
            and prebuilt_use_counter.is_due_after_use(key, min_builds_before_prebuilding)
            and key not in self._background_builds
        ):
            self._start_in_background(
                key, self.build(msgspec.structs.replace(spec, limits=spec.limits.for_trusted_sources))
            )
        if cached_outcome is None and waits_for_build and key in self._background_builds:
            await asyncio.wait({self._background_builds[key]})
            cached_outcome = await asyncio.to_thread(self._cache.find_outcome, key)
        return cached_outcome if isinstance(cached_outcome, BuildSuccess) else None

    def _start_in_background(self, key: str, build: Coroutine[Any, Any, BuildSuccess | CompileError]) -> None:
        """Start the build of a shared artifact in the background.

        If it fails, it is not repeated, and other builds run without the artifact.
        """
        task = self._background_builds[key] = asyncio.create_task(build)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())


def _make_exceeded_limits_key(key: str, spec: BuildSpec) -> str:
    """Return the cache key for the outcome that a source exceeds the limits of its build."""
    return hashlib.sha256(key.encode() + msgspec.json.encode(spec.limits)).hexdigest()
