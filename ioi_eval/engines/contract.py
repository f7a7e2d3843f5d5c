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
from ioi_eval.model.languages import find_install_command
from ioi_eval.model.options import BuildLimits, JudgeOptions
from ioi_eval.model.protocol import PlanChecker, PlanManager, PlanSubmission, TestReport
from ioi_eval.model.values import Blob, NamedBlob, Problem, ServerState, Value
from ioi_eval.rules.plan import PlannedTest

SUBMISSION = "submission"
GENERATED = "generated"  # kind of a build that runs a program of the problem package
KEY_VERSION = 1
# Kind of a build that precompiles a header, and the name of its source.
HEADER, WRAPPER = "header", "wrapper.hpp"
# Environment variable with the folder of the precompiled headers that a server's package bundles.
BUNDLED_HEADERS = "IOI_EVAL_HEADERS"
# A header of the C library, and the name of its copy in the folder of bundled headers. The copy shows for
# which version of the library the bundled headers are.
LIBRARY_HEADER, BUNDLED_LIBRARY_HEADER = "/usr/include/features.h", "features.h.of"
DRIVERS = frozenset({"g++", "gcc"})  # commands of compilers that also link
OTHER_MACHINE = "Run `ioi-eval doctor` to see which compilers the engine has"
_NAME_BYTES, _PATH_BYTES = 255, 1024

# --- capabilities of an engine -----------------------------------------------------------------------

OWN = "ioi_eval"  # runtime of our package, which starts the scripts `compile` and `run` in the job
BASH = "bash"  # runtime that starts the job's first text file, without a compile stage
CLASSIC = ("cms_ioi", "cms")  # two names of the same Piston package
_OTHER_CLASSIC = frozenset({"codeforces", "cf_python3", "cf_c++17"})
_INSTALL_A_SHELL = "Install Piston's package `bash`, or the package `ioi_eval`, on it"


class Capabilities(Value):
    """What an engine supports: its toolchains, limits and optional features."""

    name: str
    architecture: str
    # True if the engine runs each stage in a sandbox of the proctor. Otherwise build jobs of submissions
    # contain the proctor.
    confines: bool = False
    takes_paths: bool = False  # True if jobs and results may name files by path
    # True if the engine itself starts the proctor on a job's plan, even without `takes_paths`. Otherwise a
    # script in the job starts the proctor.
    executes_plans: bool = False
    exclusive: bool = False  # True if the engine can run a job alone, while it runs no other job
    shares_builds: bool = False  # True if files of jobs may be a `SharedBuild`
    toolchains: Mapping[str, Toolchain] = {}  # by command
    runtimes: tuple[str, ...] = ()
    # Runtimes without scripts of their own: their jobs must contain the scripts `compile` and `run`. If this
    # is not empty, jobs for unknown runtimes must contain these scripts too.
    bare: tuple[str, ...] = ()
    proctor: Blob | None = None  # the proctor, if the engine has already built it
    # Library of Python's fork server, which waits for tests. Without it, each test starts an interpreter.
    waiting: Blob | None = None
    max_files: int = 500  # maximum number of tests in a job
    max_run_time: int | None = None  # maximum wall-clock time of the run stage, in ms
    max_compile_time: int | None = None  # maximum wall-clock time of the compile stage, in ms
    max_run_cpu_time: int | None = None  # ms
    max_run_memory: int | None = None  # bytes
    strict: bool = False  # True if wall-clock limits include the time in which programs wait for a processor
    max_output: int | None = None  # maximum size of stdout, in bytes
    max_body: int | None = None  # maximum size of a request, in bytes
    # Toolchains by command, if the machines have different toolchains.
    offers: Mapping[str, tuple[Toolchain, ...]] = {}

    def find_shell_runtime(self) -> str:
        """Return the runtime for jobs with scripts. Raises JudgeFailure if the engine has none."""
        for runtime in (OWN, BASH):
            if runtime in self.runtimes:
                return runtime
        has_classic = not {*CLASSIC, *_OTHER_CLASSIC}.isdisjoint(self.runtimes)
        raise JudgeFailure(
            f"engine {self.name} has no runtime that starts a shell script",
            phase="preparing",
            remedy=f"{_INSTALL_A_SHELL}, or ask for classic jobs" if has_classic else _INSTALL_A_SHELL,
        )

    def require_tool(self, command: str, purpose: str) -> Toolchain:
        """Return a compiler or interpreter. Raises ToolMissing if the engine lacks it."""
        tool = self.toolchains.get(command)
        if tool is None:
            remedy = find_install_command(command)
            raise ToolMissing(
                f"engine {self.name} has no {command}, which {purpose} needs",
                phase="compiling",
                remedy=f"Install {command}{f': {remedy}' if remedy else ''}. {OTHER_MACHINE}",
            )
        return tool

    def list_toolchains(self, command: str) -> tuple[Toolchain, ...]:
        """Return the distinct toolchains of a command: servers may have different versions."""
        default_toolchains = (self.toolchains[command],) if command in self.toolchains else ()
        return self.offers.get(command, default_toolchains)


class HealthCheck(Value):
    """A line of `ioi-eval doctor`. `ok` is True, False, or None if the state could be better."""

    name: str
    ok: bool | None
    detail: str
    remedy: str = ""


# --- builds ------------------------------------------------------------------------------------------


class BuildSpec(Value):
    """The input of a build: everything that decides its artifact, and nothing else."""

    kind: str  # kind of the artifact: proctor, checker, submission, header or object
    output: str  # file name of the artifact in the job's folder
    command: tuple[str, ...]
    sources: tuple[NamedBlob, ...]  # source files of the build; the main source is the last
    # Control program: a source that every working compiler accepts. If its build fails, too, the machine is
    # at fault, and not the submission.
    control: NamedBlob
    limits: BuildLimits
    refusals: tuple[int, ...] = (1,)  # exit codes with which the command reports an error in the source
    precompile: tuple[str, ...] = ()  # command that precompiles a header with the same flags as the build
    shared: str = ""  # name of a source that many builds have in common, such as a grader
    acts: bool = False  # True if the source may run code during its build, which may make the build fail
    # The proctor that confines the build if the engine does not; it is not part of the cache key.
    proctor: Blob | None = None

    @property
    def main_source(self) -> NamedBlob:
        return self.sources[-1]

    @property
    def toolchain_command(self) -> str:
        """The command of the toolchain."""
        return self.command[0]

    @property
    def needs_proc_filesystem(self) -> bool:
        """False for compilers that need no /proc, through which sources could read open files."""
        return self.toolchain_command not in DRIVERS

    def make_cache_key(self, architecture: str, toolchain: Toolchain) -> str:
        """Return the key of the artifact for a toolchain."""
        return make_artifact_key(self.kind, architecture, toolchain, self.command, self.sources)

    def make_cache_keys(self, capabilities: Capabilities) -> tuple[str, ...]:
        """Return the artifact's key for each toolchain that may build it."""
        return tuple(
            self.make_cache_key(capabilities.architecture, tool)
            for tool in capabilities.list_toolchains(self.toolchain_command)
        )


def make_artifact_key(
    kind: str,
    architecture: str,
    toolchain: Toolchain,
    command: Iterable[str],
    sources: Iterable[NamedBlob | JobFile],
) -> str:
    """Return the key of an artifact. docs/protocol.md, "Artifact key", is the reference.

    Args:
        kind: Kind of the artifact, such as proctor, checker or submission.
        architecture: Processor architecture for which the artifact is built, such as x86_64.
        toolchain: The compiler or interpreter that builds the artifact. Only its `identity` is in the key.
        command: Command of the build and its arguments, or other strings that decide the artifact.
        sources: Source files of the build, in any order. Their names and hashes are in the key.
    """
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
    toolchain: str = ""  # identity of the toolchain that built the artifact
    confinement: Mapping[str, Any] = {}  # restrictions of the build's sandbox that were in force


class RemoteArtifact(Blob, kw_only=True):
    """An artifact on another machine, and the build to repeat if that machine is lost."""

    spec: BuildSpec
    toolchain: str  # identity of the toolchain that built the artifact


class WorkerArtifact(RemoteArtifact, kw_only=True):
    """A program on the worker that built it. Jobs on that worker name it by hash; other jobs download it."""

    at: str  # address of the worker


class SharedBuild(Blob, kw_only=True):
    """A file that each worker may build for later jobs, such as a precompiled header.

    The file makes jobs quicker and changes nothing else, so a worker without it executes jobs without it.
    After `min_uses` such jobs, the engine may have the worker build it. Only engines with the capability
    `shares_builds` get such files. `sha256` is the hash of all inputs of the build.
    """

    size: int = 0  # size of the content in bytes; 0 before the build
    build: Job  # job that builds the file; its `keep` contains a single file
    min_uses: int


class ArtifactsLost(JobRejected):
    """Artifacts that a job needs were lost with the machine that built them."""

    def __init__(self, artifacts: Sequence[RemoteArtifact]) -> None:
        self.artifacts = artifacts
        super().__init__("artifacts were lost with the machine that had built them")


class CompileError(Value):
    """The failure of a build because of its source. If the machine is at fault, JudgeFailure is raised."""

    log: str = ""
    compiler: str = ""
    confinement: Mapping[str, Any] = {}
    lasting: bool = True  # False if the outcome may depend on the load and so must not be cached


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
    files: tuple[JobFile, ...]  # artifacts that the programs' commands name
    manager: PlanManager | None = None
    # Identity of the interpreter that must run the submission. Empty means any interpreter.
    interpreter: str = ""
    outputs: Mapping[str, Blob] = {}  # submitted output files, by the name of the test


class Batch(Value):
    """Tests of a submission, in the order in which to run them."""

    problem: Problem  # the problem, with the limits for the submission's language
    program: Program
    tests: tuple[PlannedTest, ...]
    options: JudgeOptions = JudgeOptions()
    alone: bool = False  # True if the tests' job must run alone, on engines that can run exclusive jobs

    async def with_rebuilt_artifacts(self, lost_artifacts: Iterable[RemoteArtifact], build: Build) -> Self:
        """Return the batch after its lost artifacts were built again.

        Raises ToolchainGone if an artifact was built by a different toolchain or has different bytes. The
        submission is then judged again.
        """
        files = self.program.files
        for artifact in lost_artifacts:
            build_result = await build(artifact.spec)
            if (
                isinstance(build_result, CompileError)
                or build_result.toolchain != artifact.toolchain
                or build_result.artifact.sha256 != artifact.sha256
            ):
                raise ToolchainGone("a built program was lost together with the server that had built it")
            files = tuple(
                msgspec.structs.replace(file, content=build_result.artifact)
                if file.content.sha256 == artifact.sha256
                else file
                for file in files
            )
        return msgspec.structs.replace(self, program=msgspec.structs.replace(self.program, files=files))


class StallOutcome(StrEnum):
    """How often tests of a job stalled: they made no progress and were stopped without a verdict."""

    NONE = "none"
    ONCE = "once"  # a test stalled, but did not stall in the repetition, in which it ran alone
    AGAIN = "again"  # a test stalled, and stalled again in the repetition, in which it ran alone


class TestReports(Value):
    """Reports about the tests of a job, without the tests that were skipped or did not run.

    The proctor, which runs the tests, writes a report about each.
    """

    __test__ = False

    lines: Mapping[str, TestReport]  # lines of the proctor, by the name of the test
    stall: StallOutcome = StallOutcome.NONE
    confinement: Mapping[str, Any] = {}


def min_limit(*limits: int | None) -> int | None:
    """Return the minimum of some limits. `None` means no limit."""
    return min((limit for limit in limits if limit is not None), default=None)


def has_toolchains(job: Job, toolchains: Mapping[str, Toolchain], *, same_versions: bool = True) -> bool:
    """Return True if a machine with these toolchains, by command, can execute a job.

    `same_versions`: True if the machine must have a version of each toolchain that the job accepts.
    """
    return all(
        command in toolchains and (not same_versions or toolchains[command].identity in identities)
        for command, identities in job.accepted_toolchains.items()
    )


def require_toolchains(job: Job, toolchains: Mapping[str, Toolchain]) -> None:
    """Raise ToolchainGone if an engine with these toolchains has none that the job accepts."""
    if not has_toolchains(job, toolchains):
        raise ToolchainGone(
            f"the engine does not have {', '.join(job.accepted_toolchains)}, which the job needs"
        )


_USUAL_NAME = re.compile(r"(\w[\w.-]{,50}/){,2}\w[\w.-]{,50}", re.ASCII)


def check_file_names(names: Iterable[str]) -> None:
    """Raise JobRejected for names that files in a sandbox or on a server cannot have."""
    names_seen = set[str]()
    for name in names:
        if _USUAL_NAME.fullmatch(name) and name not in names_seen:
            names_seen.add(name)
            continue
        components = name.split("/")
        component_sizes = [
            len(component) if component.isascii() else len(component.encode(errors="surrogatepass"))
            for component in components
        ]
        if (
            "\0" in name
            or (not name.isascii() and any("\ud800" <= char <= "\udfff" for char in name))
            or sum(component_sizes) + len(component_sizes) - 1 > _PATH_BYTES
            or max(component_sizes) > _NAME_BYTES
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
    """The interface of engines, which execute jobs: on this machine, on Piston servers, or in a plugin.

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


# --- engines with several servers --------------------------------------------------------------------


class Change(StrEnum):
    """A change of a server's state."""

    LOST = "lost"  # the server cannot be reached, or its answers are useless
    SLOW = "slow"  # the server can be reached, but does not answer
    FULL = "full"  # the server refuses jobs for lack of capacity
    REPLACED = "replaced"  # the address now belongs to another server than when it was probed
    LEFT_OUT = "left out"  # the server is unfit for jobs, so it gets no jobs
    TRIAL = "on trial"  # the server answers again, and gets a single job at a time until it completes a job
    BACK = "back"  # the server gets jobs again, after any of the changes above
    JOINED = "joined"
    GONE = "gone"  # the last search did not find the server


class ServerChanged(Value, kw_only=True):
    """Event: the state of a server changed.

    A lost, slow, full or replaced server gets no jobs until it is back.
    """

    url: str
    change: Change
    reason: str = ""
    usable: int  # number of servers that get jobs now
    slots: int  # number of slots on the usable servers


class JobsWait(Value):
    """Event: no server can be used. Jobs wait for a server, and fail after `seconds`."""

    seconds: float


ServerEvent = ServerChanged | JobsWait
OnServer = Callable[[ServerEvent], None]


def ignore_server_event(event: ServerEvent) -> None:
    """Ignore an event: the callback of a cluster whose events nobody receives."""


class ServerStates(Value):
    """The servers, or nodes, of an open engine, and their current states."""

    found: int
    slots: int
    # Health checks of the used servers, by address; empty unless health checks were requested.
    used: Mapping[str, tuple[HealthCheck, ...]]
    left_out: Mapping[str, str] = {}  # reason why a reachable server gets no jobs, by address
    unreachable: Mapping[str, str] = {}  # reason why a server cannot be reached, by address
    differences: tuple[HealthCheck, ...] = ()  # health checks about compilers that differ between servers
    standings: tuple[ServerState, ...] = ()  # states of the servers that have ever received jobs
    uses: str = ""  # number of servers of each kind, and their use; empty if all servers are of the same kind
    jobs: str = ""  # kind of the jobs: with many tests each, or with one test; empty means many tests
    # Number of cores of all used servers if the default number of jobs leaves cores idle, and 0 otherwise.
    cores: int = 0

    def list_states(self) -> tuple[ServerState, ...]:
        """Return the state of each server, including servers that never got jobs, sorted by address."""
        reasons_by_state = (("left out", self.left_out), ("unreachable", self.unreachable))
        states_by_url = {
            url: ServerState(url=url, state=state, why=reason)
            for state, reasons in reasons_by_state
            for url, reason in reasons.items()
        }
        states_by_url |= {state.url: state for state in self.standings}
        return tuple(states_by_url[url] for url in sorted(states_by_url))


@runtime_checkable
class ServerCluster(Protocol):
    """An engine on servers that join and leave. Other engines have neither `on_event` nor `servers`."""

    on_event: OnServer
    """Receives the events of servers."""

    def servers(self) -> ServerStates: ...


def as_server_cluster(engine: Engine) -> ServerCluster | None:
    """Return `engine` if it is a cluster, and `None` otherwise."""
    return engine if isinstance(engine, ServerCluster) else None
