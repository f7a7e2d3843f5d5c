"""The interface of engines, and the values that the judge, `Builder` and `TestRunner` exchange."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from types import TracebackType
from typing import Any, Protocol, Self, runtime_checkable

import msgspec

from ioi_eval.model.errors import JobRejected, JudgeFailure, ToolchainGone, ToolMissing
from ioi_eval.model.job import Job, JobFile, JobResult, Toolchain
from ioi_eval.model.languages import install_remedy
from ioi_eval.model.options import BuildLimits, JudgeOptions
from ioi_eval.model.protocol import PlanChecker, PlanManager, PlanSubmission, TestReport
from ioi_eval.model.values import Blob, NamedBlob, Problem, ServerState, Value
from ioi_eval.rules.plan import PlannedTest

SUBMISSION = "submission"
GENERATED = "generated"  # kind of a build that runs a program of the package
KEY_VERSION = 1
HEADER, WRAPPER = "header", "wrapper.hpp"  # kind of a precompiled header's build, and its source
# Variable with the folder of the precompiled headers that a server's package bundles
BROUGHT_HEADERS = "IOI_EVAL_HEADERS"
# A file of the C library, and the name of its copy in that folder, which shows for which version they are
LIBRARY_HEADER, BROUGHT_LIBRARY = "/usr/include/features.h", "features.h.of"
DRIVERS = frozenset({"g++", "gcc"})  # commands that compile and link
OTHER_MACHINE = "Run `ioi-eval doctor` to see which compilers the engine has"
_NAME_BYTES, _PATH_BYTES = 255, 1024

# --- capabilities of an engine -----------------------------------------------------------------------

OWN = "ioi_eval"  # runtime that starts the job's own scripts `compile` and `run`
BASH = "bash"  # runtime that starts the job's first text file, without a compile stage
CLASSIC = ("cms_ioi", "cms")  # two names of the same package
_OTHER_CLASSIC = frozenset({"codeforces", "cf_python3", "cf_c++17"})
_INSTALL_A_SHELL = "Install Piston's package `bash`, or the package `ioi_eval`, on it"


class Capabilities(Value):
    """The abilities of an engine."""

    name: str
    architecture: str
    confines: bool = (
        False  # each stage runs in a proctor's sandbox; otherwise builds of submissions contain the proctor
    )
    takes_paths: bool = False  # jobs and results may name files by path
    # It starts `./proctor run` on a job's plan, even without `takes_paths`. Otherwise the job's script does
    executes_plans: bool = False
    exclusive: bool = False  # it runs a job with `exclusive` while it runs no other job
    shares_builds: bool = False  # files of jobs may be a `SharedBuild`
    toolchains: Mapping[str, Toolchain] = {}  # by command
    runtimes: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()  # runtimes without scripts: jobs contain them, as for unknown runtimes
    proctor: Blob | None = None  # the proctor, if the engine has built it already
    waiting: Blob | None = None  # library of the fork server; without it, each test starts its interpreter
    max_files: int = 500  # tests of a job
    max_run_time: int | None = None  # ms, wall clock
    max_compile_time: int | None = None  # ms, wall clock
    max_run_cpu_time: int | None = None  # ms
    max_run_memory: int | None = None  # bytes
    strict: bool = False  # wall-clock limits include the time in which programs wait for a processor
    max_output: int | None = None  # bytes of stdout
    max_body: int | None = None  # bytes of a request
    offers: Mapping[str, tuple[Toolchain, ...]] = {}  # by command, if machines have different toolchains

    def shell(self) -> str:
        """Return the runtime for jobs with scripts. Raises JudgeFailure if the engine has none."""
        for runtime in (OWN, BASH):
            if runtime in self.runtimes:
                return runtime
        classic = not {*CLASSIC, *_OTHER_CLASSIC}.isdisjoint(self.runtimes)
        raise JudgeFailure(
            f"engine {self.name} has no runtime that starts a shell script",
            phase="preparing",
            remedy=f"{_INSTALL_A_SHELL}, or ask for classic jobs" if classic else _INSTALL_A_SHELL,
        )

    def tool(self, command: str, purpose: str) -> Toolchain:
        """Return a compiler or interpreter. Raises ToolMissing if the engine lacks it."""
        tool = self.toolchains.get(command)
        if tool is None:
            remedy = install_remedy(command)
            raise ToolMissing(
                f"engine {self.name} has no {command}, which {purpose} needs",
                phase="compiling",
                remedy=f"Install {command}{f': {remedy}' if remedy else ''}. {OTHER_MACHINE}",
            )
        return tool

    def offered(self, command: str) -> tuple[Toolchain, ...]:
        """Return the distinct toolchains of a command: servers may have different versions."""
        default = (self.toolchains[command],) if command in self.toolchains else ()
        return self.offers.get(command, default)


class HealthCheck(Value):
    """A line of `ioi-eval doctor`. `ok` is True, False, or None if the state could be better."""

    name: str
    ok: bool | None
    detail: str
    remedy: str = ""


# --- builds ------------------------------------------------------------------------------------------


class BuildSpec(Value):
    """The input of a build: everything that decides its artifact, and nothing else."""

    kind: str  # proctor, checker, submission, header, object
    output: str  # name of the artifact in the job's folder
    command: tuple[str, ...]
    sources: tuple[NamedBlob, ...]  # the main source comes last
    control: NamedBlob  # a program that every working compiler accepts; if it fails, the machine is at fault
    limits: BuildLimits
    refusals: tuple[int, ...] = (1,)  # exit codes of the command for an error in the source
    precompile: tuple[str, ...] = ()  # command that precompiles a header with the same flags
    shared: str = ""  # name of a source that many builds have in common, such as a grader
    acts: bool = False  # the source may run code during its build, so it may have caused any failure
    proctor: Blob | None = None  # confines the build if the engine does not; it is not part of the key

    @property
    def main(self) -> NamedBlob:
        return self.sources[-1]

    @property
    def tool(self) -> str:
        """The command of the toolchain."""
        return self.command[0]

    @property
    def sees_proc(self) -> bool:
        """False for compilers that need no /proc, so that their sources can name no open file."""
        return self.tool not in DRIVERS

    def key(self, architecture: str, toolchain: Toolchain) -> str:
        """Return the key of the artifact for a toolchain."""
        return artifact_key(self.kind, architecture, toolchain, self.command, self.sources)

    def keys(self, capabilities: Capabilities) -> tuple[str, ...]:
        """Return the artifact's key for each toolchain that may build it."""
        return tuple(self.key(capabilities.architecture, tool) for tool in capabilities.offered(self.tool))


def artifact_key(
    kind: str,
    architecture: str,
    toolchain: Toolchain,
    command: Iterable[str],
    sources: Iterable[NamedBlob | JobFile],
) -> str:
    """Return the key of an artifact. docs/protocol.md, "Artifact key", is the reference."""
    document = {
        "v": KEY_VERSION,
        "kind": kind,
        "architecture": architecture,
        "toolchain": toolchain.identity,
        "command": tuple(command),
        "sources": sorted([source.name, source.content.sha256] for source in sources),
    }
    return hashlib.sha256(msgspec.json.encode(document, order="deterministic")).hexdigest()


class BuildSuccess(Value):
    """The artifact of a build, and the compiler's output."""

    artifact: Blob
    log: str = ""
    compiler: str = ""
    toolchain: str = ""  # identity of the toolchain that built it
    confinement: Mapping[str, Any] = {}  # if the build contained the proctor


class RemoteArtifact(Blob, kw_only=True):
    """An artifact on another machine, and the build that repeats it if that machine is lost."""

    spec: BuildSpec
    toolchain: str  # identity of the toolchain that built it


class WorkerArtifact(RemoteArtifact, kw_only=True):
    """A program on the worker that built it. Jobs there name it; for jobs elsewhere it is downloaded."""

    at: str  # the worker's address


class SharedBuild(Blob, kw_only=True):
    """A file that each worker may build for later jobs, such as a precompiled header.

    The file makes jobs quicker and changes nothing else, so a worker without it executes jobs without it.
    After `min_uses` such jobs, the engine may have the worker build it. Only engines with the capability
    `shares_builds` get such files. `sha256` is the hash of all inputs of the build.
    """

    size: int = 0  # of the content; 0 before the build
    build: Job  # its `keep` has a single file
    min_uses: int


class ArtifactsLost(JobRejected):
    """Artifacts that a job needs were lost with the machine that built them."""

    def __init__(self, artifacts: Sequence[RemoteArtifact]) -> None:
        self.artifacts = artifacts
        super().__init__("artifacts were lost with the machine that had built them")


class CompileError(Value):
    """The failure of a build by fault of the source. A fault of the machine is a JudgeFailure."""

    log: str = ""
    compiler: str = ""
    confinement: Mapping[str, Any] = {}
    lasting: bool = True  # False if the outcome may depend on the load, so it is not cached


Build = Callable[[BuildSpec], Awaitable[BuildSuccess | CompileError]]


# --- batches -----------------------------------------------------------------------------------------


class Program(Value):
    """The programs and files for judging a submission, the same for all tests.

    A command starts with a name in `files`, or with the command of a toolchain (`python3`), which the engine
    finds on the machine that runs the job.
    """

    proctor: Blob
    submission: PlanSubmission
    checker: PlanChecker
    files: tuple[JobFile, ...]  # the artifacts that the commands name
    manager: PlanManager | None = None
    interpreter: str = (
        ""  # identity of the interpreter that must run the submission; empty means any interpreter
    )
    outputs: Mapping[str, Blob] = {}  # submitted output files, by the test's name


class Batch(Value):
    """Tests of a submission, in the order in which to run them."""

    problem: Problem  # with the limits of the submission's language
    program: Program
    tests: tuple[PlannedTest, ...]
    options: JudgeOptions = JudgeOptions()
    alone: bool = False  # its job is exclusive, if the engine can do that

    async def rebuilt(self, lost: Iterable[RemoteArtifact], build: Build) -> Self:
        """Return the batch after its lost artifacts were built again.

        Raises ToolchainGone if an artifact was built by a different toolchain or has different bytes. The
        submission is then judged again.
        """
        files = self.program.files
        for artifact in lost:
            built = await build(artifact.spec)
            if (
                isinstance(built, CompileError)
                or built.toolchain != artifact.toolchain
                or built.artifact.sha256 != artifact.sha256
            ):
                raise ToolchainGone("a program was lost with the machine that had built it")
            files = tuple(
                msgspec.structs.replace(file, content=built.artifact)
                if file.content.sha256 == artifact.sha256
                else file
                for file in files
            )
        return msgspec.structs.replace(self, program=msgspec.structs.replace(self.program, files=files))


class StallOutcome(StrEnum):
    """Stalls of a job's tests: a stalled test made no progress and was stopped without a verdict."""

    NONE = "none"
    ONCE = "once"  # but not when they ran again alone
    AGAIN = "again"  # and again when they ran alone


class TestReports(Value):
    """The proctor's lines about tests. Skipped tests, and tests that did not run, are missing."""

    __test__ = False

    lines: Mapping[str, TestReport]  # by the test's name
    stall: StallOutcome = StallOutcome.NONE
    confinement: Mapping[str, Any] = {}


def least(*limits: int | None) -> int | None:
    """Return the minimum of some limits. `None` means no limit."""
    return min((limit for limit in limits if limit is not None), default=None)


def has_toolchains(job: Job, toolchains: Mapping[str, Toolchain], *, exactly: bool = True) -> bool:
    """Return True if a machine with these toolchains, by command, can execute a job.

    If not `exactly`, other versions of the toolchains that the job accepts are enough.
    """
    return all(
        command in toolchains and (not exactly or toolchains[command].identity in identities)
        for command, identities in job.accepted_toolchains.items()
    )


def require_toolchains(job: Job, toolchains: Mapping[str, Toolchain]) -> None:
    """Raise ToolchainGone if an engine with these toolchains has none that the job accepts."""
    if not has_toolchains(job, toolchains):
        raise ToolchainGone(f"the engine does not have the {', '.join(job.accepted_toolchains)} of the job")


_USUAL_NAME = re.compile(r"(\w[\w.-]{,50}/){,2}\w[\w.-]{,50}", re.ASCII)


def check_names(names: Iterable[str]) -> None:
    """Raise JobRejected for names that files in a sandbox or on a server cannot have."""
    names_seen = set[str]()
    for name in names:
        if _USUAL_NAME.fullmatch(name) and name not in names_seen:
            names_seen.add(name)
            continue
        components = name.split("/")
        sizes = [
            len(component) if component.isascii() else len(component.encode(errors="surrogatepass"))
            for component in components
        ]
        if (
            "\0" in name
            or (not name.isascii() and any("\ud800" <= char <= "\udfff" for char in name))
            or sum(sizes) + len(sizes) - 1 > _PATH_BYTES
            or max(sizes) > _NAME_BYTES
            or not {"", ".", ".."}.isdisjoint(components)
        ):
            raise JobRejected(
                f"{name!r} cannot be a file's name: names must be relative and stay in the sandbox"
            )
        if name in names_seen:
            raise JobRejected(f"the file name {name!r} occurs twice")
        names_seen.add(name)


# --- engines -----------------------------------------------------------------------------------------


class Check(Protocol):
    """A function that returns the result of a job, or raises EngineError if the machine failed the job."""

    def __call__(self, result: JobResult, /) -> Awaitable[JobResult]: ...


@runtime_checkable
class Engine(Protocol):
    """The interface of engines, which execute jobs: on this machine, on Piston servers, a fake, a plugin.

    Engines are used inside `async with`.
    """

    @property
    def slots(self) -> int:
        """The number of jobs that run at the same time."""
        ...

    async def capabilities(self) -> Capabilities:
        """Return the capabilities of the engine."""
        ...

    async def execute(self, job: Job, check: Check | None = None) -> JobResult:
        """Execute a job. The result describes how its programs ran.

        Raises a subtype of `EngineError` if the job could not be executed, such as ToolchainGone if the
        engine has none of its `accepted_toolchains` (see `require_toolchains`). An engine of several machines
        calls `check` on a result, and tries another machine if it raises. Other engines may ignore it.
        """
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


# --- engines of many servers -------------------------------------------------------------------------


class Change(StrEnum):
    """A change of a server's state."""

    LOST = "lost"  # cannot be reached, or its answers are useless
    SLOW = "slow"  # reachable, but does not answer
    FULL = "full"  # refuses jobs for lack of capacity
    REPLACED = "replaced"  # not the same server as when it was probed
    LEFT_OUT = "left out"  # unfit, so it gets no jobs
    TRIAL = "on trial"  # answers again; gets a single job at a time until it answers a job
    BACK = "back"  # gets jobs again, after any of these changes
    JOINED = "joined"
    GONE = "gone"  # missing in the last search


class ServerChanged(Value, kw_only=True):
    """Event: the state of a server changed.

    A lost, slow, full or replaced server gets no jobs until it is back.
    """

    url: str
    change: Change
    reason: str = ""
    usable: int  # number of servers that get jobs now
    slots: int  # of these servers


class JobsWait(Value):
    """Event: no server can be used. Jobs wait for a server, and fail after `seconds`."""

    seconds: float


ServerEvent = ServerChanged | JobsWait
OnServer = Callable[[ServerEvent], None]


def ignore(event: ServerEvent) -> None:
    """Ignore an event."""


class Servers(Value):
    """The servers, or nodes, of an open engine, and their state now."""

    found: int
    slots: int
    used: Mapping[str, tuple[HealthCheck, ...]]  # by address; health checks only if they were asked for
    left_out: Mapping[str, str] = {}  # reachable servers that get no jobs: address to reason
    unreachable: Mapping[str, str] = {}  # address to reason
    differences: tuple[HealthCheck, ...] = ()  # tools that differ between servers
    standings: tuple[ServerState, ...] = ()  # of servers that ever got jobs
    uses: str = ""  # number of servers of each kind, and their use; empty if all are equal
    jobs: str = ""  # whether a job has many tests or a single test; empty means many
    cores: int = 0  # of all used servers, if there are more cores than jobs by default

    def now(self) -> tuple[ServerState, ...]:
        """Return the state of each server, including servers that never got jobs, sorted by address."""
        absent = (("left out", self.left_out), ("unreachable", self.unreachable))
        states = {
            url: ServerState(url=url, state=state, why=reason)
            for state, reasons in absent
            for url, reason in reasons.items()
        }
        states |= {state.url: state for state in self.standings}
        return tuple(states[url] for url in sorted(states))


@runtime_checkable
class Cluster(Protocol):
    """An engine on servers that join and leave. Other engines lack both members."""

    on_event: OnServer
    """Receives the events of servers."""

    def servers(self) -> Servers: ...


def cluster_of(engine: Engine) -> Cluster | None:
    """Return `engine` if it is a cluster, and `None` otherwise."""
    return engine if isinstance(engine, Cluster) else None
