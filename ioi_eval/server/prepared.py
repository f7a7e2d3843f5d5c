"""Programs that a worker keeps: builds that requests share, and classic jobs that are built by them.

A classic job brings one test and all sources, and pipelines send one for every test. Here checker, manager
and grader are built once for all submissions and a submission once for all its tests, by builds that hold no
test. A build goes on when its client hangs up, so a client that waits for 30 s gets past one of 40 s. A job
that brings scripts of its own goes as it came: nobody knows what they do.
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

from ioi_eval.engines.contract import Capabilities, Check, artifact_key
from ioi_eval.engines.embedded.job import drop
from ioi_eval.engines.embedded.packages import LanguagePackage, find_package
from ioi_eval.model.job import Ending, Job, JobFile, JobResult
from ioi_eval.model.nesting import shallow
from ioi_eval.model.values import Blob, Value
from ioi_eval.rules.verdicts import lacks_library
from ioi_eval.server.jobs import PackagedEngine
from ioi_eval.server.queue import AWAY, entry_held
from ioi_eval.store import Store
from ioi_eval.store.memory import Shared, recalled, remembered
from ioi_eval.store.resources import graders

# --- how builds lie in the store: a folder per key with the stage that made it and its files ---------


_REFUSED = 1  # exit code: the submission does not compile
_PASSES = re.compile(
    r"\b(killed|signal|memory|space|resources?|unavailable)\b", re.I
)  # in words of one that might later


class CachedBuild(Value):
    """A build's words, and the files that it made for jobs to come."""

    stage: Ending
    files: tuple[JobFile, ...] = ()


class BuildCache:
    """Builds kept in a store, or nowhere. The methods block and may be called from several threads."""

    def __init__(self, store: Store | None) -> None:
        self._store = store

    def find(self, key: str) -> CachedBuild | None:
        if self._store is None:
            return None
        with self._store.pin(key):
            found = recalled(self._store, key, CachedBuild)
        if found is None:
            return None
        for content in (file.content for file in found[0].files):
            if Blob.of(content.read()).sha256 != content.sha256:  # a power cut or a disk has changed it
                self._store.remove(key)
                return None
        return found[0]

    def keep(self, key: str, stage: Ending, made: Mapping[str, str]) -> CachedBuild:
        """A time limit, or a compiler that broke, is not remembered: the next time may go better.

        g++ whose compiler the kernel killed ends as it does for a faulty program. Words that may mean either,
        or name a missing header, cost a build each time. Nor is what takes the room of many others.
        """
        words = stage.stdout + stage.stderr
        broke = stage.code == _REFUSED and (_PASSES.search(words) or lacks_library(words))
        if stage.code not in (0, _REFUSED) or broke:
            return CachedBuild(stage=stage)
        contents = {name: Blob.of(Path(path).read_bytes()) for name, path in made.items()}
        files = (JobFile(name=name, content=contents[name], executable=True, text=False) for name in made)
        kept = CachedBuild(stage=stage, files=tuple(files))
        size = sum(content.size for content in contents.values())
        if self._store is not None and size <= self._store.largest:
            with contextlib.suppress(OSError):  # as where its disk is full
                remembered(self._store, key, CachedBuild, lambda _: kept)
        return kept


# --- builds under way --------------------------------------------------------------------------------


class SharedBuilds:
    """Builds by key. One that has begun goes on when its clients hang up, and they ask again.

    Until it ends, or nobody has come for some seconds, it holds the place of the request that began it: no
    client gets more builds under way than it could have requests, nor slots for long by hanging up.
    """

    def __init__(self, store: Store | None) -> None:
        self._kept = BuildCache(store)
        self._builds: Shared[CachedBuild] = Shared(lasting=AWAY)

    def under_way(self, key: str) -> bool:
        return key in self._builds

    async def get(self, key: str, make: Callable[[], Awaitable[JobResult]]) -> CachedBuild:
        """Return the build under a key; `make` runs its job where it is not kept and not under way."""

        async def find_or_make() -> CachedBuild:
            with entry_held():
                if (kept := await asyncio.to_thread(self._kept.find, key)) is not None:
                    return kept
                result = await make()
                assert result.compile is not None, "the job has a compile script"
                try:
                    return await asyncio.to_thread(self._kept.keep, key, result.compile, result.kept)
                finally:
                    await asyncio.to_thread(drop, result)

        return await self._builds.call(key, find_or_make)

    async def close(self) -> None:
        """End the builds that nobody waits for any more."""
        await self._builds.close()


# --- classic jobs ------------------------------------------------------------------------------------


_PACKAGE = "ioi_eval_classic"
_CONFIG = "graders/grader_config.json"
_CHECKING = "cms_checker"
_OF_A_TEST = frozenset({"input.txt", "correct_output.txt", "user_output.txt", "output.txt"})
_OWN_SCRIPTS = frozenset({"compile", "run"})
_TRUSTED, _SUBMISSION = "classic-trusted", "classic-submission"  # the kinds of builds
_MAKES = {
    _TRUSTED: ("built/checker", "built/manager", "built/beside.o"),
    _SUBMISSION: ("built/submission",),
}


class ClassicJobEngine:
    """An engine in front of another one, for classic jobs."""

    def __init__(self, engine: PackagedEngine, store: Store, *, memory: int | None = None) -> None:
        """`memory`: what boxes of classic jobs may have; their scripts limit the submission by themselves."""
        self._engine, self._memory = engine, memory
        self._script = (graders() / "classic" / "compile").read_text()
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
        """Execute a job. `check` is not called: there is one machine."""
        profile = await self._engine.capabilities()
        package = find_package(self.packages, job.runtime, job.version)
        submission = None if package is None else _submission(job, package)
        if package is None or submission is None:
            return await self._engine.execute(job)
        if package.language == "java":
            builder = JobFile(name="Build.java", content=Blob.of_file(graders() / "java" / "Build.java"))
            job = msgspec.structs.replace(job, files=(*job.files, builder))
        sources = [file for file in job.files if file.name not in _OF_A_TEST]
        built: tuple[JobFile, ...] = ()
        if package.runtime == "cms_ioi":
            trusted = [file for file in sources if file.name != submission]
            kept = await self._built(_TRUSTED, job, package, profile, trusted)
            built = kept.files if kept.stage.code == 0 else ()  # the job's own compile stage says so
        if package.language == _CHECKING:
            return await self._engine.execute(self._run_job(job, built))
        made = await self._built(_SUBMISSION, job, package, profile, [*sources, *built])
        if made.stage.code != 0:
            return JobResult(
                run=made.stage, compile=made.stage, language=package.language, version=package.version
            )
        result = await self._engine.execute(self._run_job(job, (*built, *made.files)))
        return msgspec.structs.replace(result, compile=made.stage)

    async def _built(
        self, kind: str, job: Job, package: LanguagePackage, profile: Capabilities, files: Sequence[JobFile]
    ) -> CachedBuild:
        # All that a build depends on, as docs/protocol.md has it under "Artifact key".
        command = (package.language, hashlib.sha256(self._script.encode()).hexdigest())
        key = artifact_key(kind, profile.architecture, profile.toolchains[package.needs], command, files)

        head = "only=trusted\n" if kind == _TRUSTED else ""
        scripts = (_script("compile", head + self._script), _script("run", ":\n"))
        limits = {"run_memory_limit": self._memory, "keep": _MAKES[kind]}
        own = msgspec.structs.replace(job, files=(*files, *scripts), **limits)
        return await self._builds.get(key, partial(self._engine.execute, own))

    def _run_job(self, job: Job, built: Iterable[JobFile]) -> Job:
        return msgspec.structs.replace(job, files=(*job.files, *built), run_memory_limit=self._memory)


def _submission(job: Job, package: LanguagePackage) -> str | None:
    """Return the name of a classic job's submission, empty if it brings none; None for any other job."""
    if package.name != _PACKAGE or any(file.name in _OWN_SCRIPTS for file in job.files):
        return None
    if package.language == _CHECKING:
        return ""
    names = (file.name for file in job.files)
    if package.runtime == "codeforces":
        return next((name for name in names if name.startswith("main.")), None)
    config = next((file.content.read() for file in job.files if file.name == _CONFIG), b"")
    try:
        settings: Any = msgspec.json.decode(shallow(config))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    code = settings.get("code") if isinstance(settings, dict) else None
    return f"graders/{code.lower()}.cpp" if isinstance(code, str) else None


def _script(name: str, text: str) -> JobFile:
    return JobFile(name=name, content=Blob.of(text), text=True)
