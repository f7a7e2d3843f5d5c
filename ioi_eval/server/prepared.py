"""Classic jobs whose programs are kept: a job compiles only what no job before it has compiled.

A classic job brings one test and all sources, and pipelines send one for every test. Here checker, manager
and grader are built once for all submissions and a submission once for all its tests, by builds that hold no
test. A build goes on when its client hangs up, so a client that waits for 30 s gets past one of 40 s. A job
that brings scripts of its own goes as it came: nobody knows what they do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import partial
from types import TracebackType
from typing import Any, Self

import msgspec

from ioi_eval.engines.contract import Profile, artifact_key
from ioi_eval.engines.embedded.packages import LanguagePackage, find_package
from ioi_eval.model.job import Job, JobFile, JobResult, Toolchain
from ioi_eval.model.nesting import shallow
from ioi_eval.model.values import Blob, Value
from ioi_eval.server.builds import KeptBuild, SharedBuilds
from ioi_eval.server.jobs import Lender, PackagedEngine
from ioi_eval.store import Store
from ioi_eval.store.resources import graders

# --- the engine --------------------------------------------------------------------------------------


_PACKAGE = "ioi_eval_classic"
_CONFIG = "graders/grader_config.json"
_CHECKING = "cms_checker"
_OF_A_TEST = frozenset({"input.txt", "correct_output.txt", "user_output.txt", "output.txt"})
_OWN_SCRIPTS = frozenset({"compile", "run"})


class _Build(Value):
    """A build behind a classic job: one of two."""

    kind: str
    head: str  # ahead of the package's script
    makes: tuple[str, ...]


_TRUSTED = _Build(
    kind="classic-trusted",
    head="only=trusted\n",
    makes=("built/checker", "built/manager", "built/beside.o"),
)
_SUBMISSION = _Build(kind="classic-submission", head="", makes=("built/submission",))


class _Asked(Value):
    """A classic job, and what it is about."""

    job: Job
    package: LanguagePackage
    tool: Toolchain
    submission: str  # the name of its source, empty where it brings none

    @property
    def sources(self) -> tuple[JobFile, ...]:
        return tuple(file for file in self.job.files if file.name not in _OF_A_TEST)

    @property
    def trusted(self) -> tuple[JobFile, ...]:
        return tuple(file for file in self.sources if file.name != self.submission)


class Prepared:
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

    @property
    def lender(self) -> Lender | None:
        return self._engine.lender

    async def profile(self) -> Profile:
        return await self._engine.profile()

    async def execute(self, job: Job) -> JobResult:
        profile = await self._engine.profile()
        asked = _asked(job, self.packages, profile.toolchains)
        if asked is None:
            return await self._engine.execute(job)
        built = await self._trusted(asked, profile)
        if asked.package.language == _CHECKING:
            return await self._engine.execute(self._run_job(asked.job, built))
        submission = await self._built(_SUBMISSION, asked, (*asked.sources, *built), profile)
        if submission.stage.code != 0:
            return JobResult(
                run=submission.stage,
                compile=submission.stage,
                language=asked.package.language,
                version=asked.package.version,
            )
        result = await self._engine.execute(self._run_job(asked.job, (*built, *submission.files)))
        return msgspec.structs.replace(result, compile=submission.stage)

    async def _trusted(self, asked: _Asked, profile: Profile) -> tuple[JobFile, ...]:
        """Build the trusted programs; nothing if they do not compile: the job's own compile stage says so."""
        if asked.package.runtime != "cms_ioi":
            return ()
        kept = await self._built(_TRUSTED, asked, asked.trusted, profile)
        return kept.files if kept.stage.code == 0 else ()

    async def _built(
        self, build: _Build, asked: _Asked, files: tuple[JobFile, ...], profile: Profile
    ) -> KeptBuild:
        # All that a build depends on, as docs/protocol.md has it under "Artifact key".
        command = (asked.package.language, hashlib.sha256(self._script.encode()).hexdigest())
        key = artifact_key(build.kind, profile.architecture, asked.tool, command, files)

        scripts = (_script("compile", build.head + self._script), _script("run", ":\n"))
        limits = {"run_memory_limit": self._memory, "keep": build.makes}
        job = msgspec.structs.replace(asked.job, files=(*files, *scripts), **limits)
        return await self._builds.get(key, partial(self._engine.execute, job))

    def _run_job(self, job: Job, built: Iterable[JobFile]) -> Job:
        return msgspec.structs.replace(job, files=(*job.files, *built), run_memory_limit=self._memory)


def _asked(job: Job, packages: Iterable[LanguagePackage], tools: Mapping[str, Toolchain]) -> _Asked | None:
    """Return the classic job's facts; None for jobs that are passed on unchanged."""
    package = find_package(packages, job.runtime, job.version)
    if package is None or package.name != _PACKAGE or any(file.name in _OWN_SCRIPTS for file in job.files):
        return None
    submission = _submission(job, package)
    if submission is None:
        return None
    if package.language == "java":
        builder = JobFile(name="Build.java", content=Blob.of_file(graders() / "java" / "Build.java"))
        job = msgspec.structs.replace(job, files=(*job.files, builder))
    return _Asked(job=job, package=package, tool=tools[package.needs], submission=submission)


def _submission(job: Job, package: LanguagePackage) -> str | None:
    """The name of the submission's source; None where the job does not say."""
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
