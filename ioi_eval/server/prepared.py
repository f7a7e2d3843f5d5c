"""Builds that a worker caches and shares between requests, and an engine that uses them for classic jobs.

A classic job contains one test and all sources, and clients send one job per test. The checker, the manager
and the grader are built once for all submissions, and a submission once for all its tests; these builds do
not contain the test. A build continues if its client disconnects, so that a client with a timeout of 30 s
gets the result of a build of 40 s when it asks again. Jobs with scripts are executed unchanged.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from ioi_eval.engines.contract import Capabilities, Check, make_artifact_key
from ioi_eval.engines.embedded.job import remove_kept_files
from ioi_eval.engines.embedded.packages import LanguagePackage, find_package
from ioi_eval.model.job import Ending, Job, JobFile, JobResult
from ioi_eval.model.nesting import require_shallow
from ioi_eval.model.values import Blob, Value
from ioi_eval.rules.verdicts import mentions_missing_library
from ioi_eval.server.jobs import LanguagePackageEngine
from ioi_eval.server.queue import MAX_ABSENCE_S, keep_current_request_in_queue
from ioi_eval.store import Store
from ioi_eval.store.memory import SharedCalls, read_cached, read_or_create_cached
from ioi_eval.store.resources import graders_folder

# --- builds in the store: a folder for each key, with the compiler's exit status and the files -------


_COMPILE_ERROR_CODE = 1  # exit code of the compile script if the submission does not compile
# Pattern of words in the output of a compiler whose failure may be temporary.
_TEMPORARY = re.compile(r"\b(killed|signal|memory|space|resources?|unavailable)\b", re.I)


class CachedBuild(Value):
    """How a build's compiler ended, and the files that the compiler wrote for later jobs."""

    stage: Ending
    files: tuple[JobFile, ...] = ()


class BuildCache:
    """Caches builds in a store, or nothing without a store. Its methods block. Several threads may use it."""

    def __init__(self, store: Store | None) -> None:
        self._store = store

    def find(self, key: str) -> CachedBuild | None:
        """Return the cached build, or `None`. A build with a damaged file is removed."""
        if self._store is None:
            return None
        with self._store.pin(key):
            cached_entry = read_cached(self._store, key, CachedBuild)
        if cached_entry is None:
            return None
        build, _ = cached_entry
        for content in (file.content for file in build.files):
            # The file was damaged by a power cut or the disk.
            if Blob.of(content.read()).sha256 != content.sha256:
                self._store.remove(key)
                return None
        return build

    def add(self, key: str, build_ending: Ending, paths: Mapping[str, str]) -> CachedBuild:
        """Return the build with the compiler's exit and its files. Cache it if the result is final.

        Failures that may be temporary are not cached: a time limit, a crashed compiler, or output that
        matches `_TEMPORARY` or names a missing header. (If the kernel kills the compiler proper, g++ exits as
        for an invalid program.) Very large builds are not cached either.
        """
        output = build_ending.stdout + build_ending.stderr
        may_be_temporary = build_ending.code == _COMPILE_ERROR_CODE and (
            _TEMPORARY.search(output) or mentions_missing_library(output)
        )
        if build_ending.code not in (0, _COMPILE_ERROR_CODE) or may_be_temporary:
            return CachedBuild(stage=build_ending)
        contents = {name: Blob.of(Path(path).read_bytes()) for name, path in paths.items()}
        files = (JobFile(name=name, content=contents[name], executable=True, text=False) for name in paths)
        build = CachedBuild(stage=build_ending, files=tuple(files))
        total_bytes = sum(content.size for content in contents.values())
        if self._store is not None and total_bytes <= self._store.largest:
            with contextlib.suppress(OSError):  # storing the build may fail, for example on a full disk
                read_or_create_cached(self._store, key, CachedBuild, lambda _: build)
        return build


# --- running builds ----------------------------------------------------------------------------------


class SharedBuilds:
    """Builds by key, each shared by all requests for it.

    A running build continues if its clients disconnect, because they usually ask again. It occupies the queue
    entry of the request that started it until it is finished, or until no client has asked for some seconds.
    So a client cannot have more running builds than requests, and cannot occupy slots by disconnecting.
    """

    def __init__(self, store: Store | None) -> None:
        self._cache = BuildCache(store)
        self._builds: SharedCalls[CachedBuild] = SharedCalls(seconds_without_callers=MAX_ABSENCE_S)

    def is_running(self, key: str) -> bool:
        return key in self._builds

    async def get_build(self, key: str, run_job: Callable[[], Awaitable[JobResult]]) -> CachedBuild:
        """Return the build with a key. If it is neither cached nor running, `run_job` executes its job."""

        async def find_or_build() -> CachedBuild:
            with keep_current_request_in_queue():
                if (cached_build := await asyncio.to_thread(self._cache.find, key)) is not None:
                    return cached_build
                result = await run_job()
                assert result.compile is not None, "the job has a compile script"
                try:
                    return await asyncio.to_thread(self._cache.add, key, result.compile, result.kept)
                finally:
                    await asyncio.to_thread(remove_kept_files, result)

        return await self._builds.call(key, find_or_build)

    async def close(self) -> None:
        """Cancel the builds that no client waits for."""
        await self._builds.close()


# --- classic jobs ------------------------------------------------------------------------------------


_PACKAGE = "ioi_eval_classic"
_CONFIG = "graders/grader_config.json"
_CHECKER_LANGUAGE = "cms_checker"
_TEST_FILES = frozenset({"input.txt", "correct_output.txt", "user_output.txt", "output.txt"})
_SCRIPTS = frozenset({"compile", "run"})
# Kinds of builds: programs of the problem package, and submissions.
_TRUSTED, _SUBMISSION = "classic-trusted", "classic-submission"
_OUTPUTS = {  # names of the files that a build may write, by kind
    _TRUSTED: ("built/checker", "built/manager", "built/beside.o"),
    _SUBMISSION: ("built/submission",),
}


class ClassicJobEngine:
    """Executes jobs on another engine. Caches the builds of classic jobs, which contain a single test."""

    def __init__(
        self, engine: LanguagePackageEngine, store: Store, *, sandbox_memory_bytes: int | None = None
    ) -> None:
        """Create the engine.

        Args:
            engine: the engine that executes the jobs.
            store: cache for the builds.
            sandbox_memory_bytes: memory limit of a classic job. Its scripts limit the submission.
        """
        self._engine, self._sandbox_memory_bytes = engine, sandbox_memory_bytes
        self._compile_script = (graders_folder() / "classic" / "compile").read_text()
        self._builds = SharedBuilds(store)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._builds.close()

    @property
    def slots(self) -> int:
        return self._engine.slots

    @property
    def packages(self) -> tuple[LanguagePackage, ...]:
        return self._engine.packages

    async def capabilities(self) -> Capabilities:
        return await self._engine.capabilities()

    async def execute(self, job: Job, check: Check | None = None) -> JobResult:
        """Execute a job. `check` is not called, because there is only this machine."""
        capabilities = await self._engine.capabilities()
        package = find_package(self.packages, job.runtime, job.version)
        submission_name = None if package is None else _find_submission_name(job, package)
        if package is None or submission_name is None:
            return await self._engine.execute(job)
        if package.language == "java":
            builder = JobFile(
                name="Build.java", content=Blob.of_file(graders_folder() / "java" / "Build.java")
            )
            job = msgspec.structs.replace(job, files=(*job.files, builder))
        # A build may last longer than its request, after which the worker may remove the contents that the
        # request named.
        sources = [
            msgspec.structs.replace(file, content=Blob.of(await asyncio.to_thread(file.content.read)))
            if file.content.data is None
            else file
            for file in job.files
            if file.name not in _TEST_FILES
        ]
        trusted_programs: tuple[JobFile, ...] = ()
        if package.runtime == "cms_ioi":
            trusted_sources = [file for file in sources if file.name != submission_name]
            build = await self._get_cached_build(_TRUSTED, job, package, capabilities, trusted_sources)
            # If the build failed, the compile stage of the job itself reports the error.
            trusted_programs = build.files if build.stage.code == 0 else ()
        if package.language == _CHECKER_LANGUAGE:
            return await self._engine.execute(self._make_run_job(job, trusted_programs))
        build = await self._get_cached_build(
            _SUBMISSION, job, package, capabilities, [*sources, *trusted_programs]
        )
        if build.stage.code != 0:
            return JobResult(
                run=build.stage, compile=build.stage, language=package.language, version=package.version
            )
        result = await self._engine.execute(self._make_run_job(job, (*trusted_programs, *build.files)))
        return msgspec.structs.replace(result, compile=build.stage)

    async def _get_cached_build(
        self,
        build_kind: str,
        job: Job,
        package: LanguagePackage,
        capabilities: Capabilities,
        files: Sequence[JobFile],
    ) -> CachedBuild:
        # All inputs that a build depends on: see "Artifact key" in docs/protocol.md.
        language_and_script_hash = (
            package.language,
            hashlib.sha256(self._compile_script.encode()).hexdigest(),
        )
        key = make_artifact_key(
            build_kind,
            capabilities.architecture,
            capabilities.toolchains[package.needs],
            language_and_script_hash,
            files,
        )

        script_head = "only=trusted\n" if build_kind == _TRUSTED else ""
        scripts = (_make_script("compile", script_head + self._compile_script), _make_script("run", ":\n"))
        limits = {"run_memory_limit": self._sandbox_memory_bytes, "keep": _OUTPUTS[build_kind]}
        build_job = msgspec.structs.replace(job, files=(*files, *scripts), **limits)
        return await self._builds.get_build(key, partial(self._engine.execute, build_job))

    def _make_run_job(self, job: Job, programs: Iterable[JobFile]) -> Job:
        return msgspec.structs.replace(
            job, files=(*job.files, *programs), run_memory_limit=self._sandbox_memory_bytes
        )


def _find_submission_name(job: Job, package: LanguagePackage) -> str | None:
    """Return the file name of a classic job's submission.

    It is empty for a job without a submission, and `None` if the job is not a classic job.
    """
    if package.name != _PACKAGE or any(file.name in _SCRIPTS for file in job.files):
        return None
    if package.language == _CHECKER_LANGUAGE:
        return ""
    names = (file.name for file in job.files)
    if package.runtime == "codeforces":
        return next((name for name in names if name.startswith("main.")), None)
    config = next((file.content.read() for file in job.files if file.name == _CONFIG), b"")
    try:
        settings: Any = msgspec.json.decode(require_shallow(config))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    code = settings.get("code") if isinstance(settings, dict) else None
    return f"graders/{code.lower()}.cpp" if isinstance(code, str) else None


def _make_script(name: str, content: str) -> JobFile:
    return JobFile(name=name, content=Blob.of(content), text=True)
