"""What engines are, and the values between the judge, `Builder` and `TestRunner`."""

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
from ioi_eval.model.languages import remedy
from ioi_eval.model.options import BuildLimits, JudgeOptions
from ioi_eval.model.protocol import PlanChecker, PlanManager, PlanSubmission, TestReport
from ioi_eval.model.values import Blob, NamedBlob, Problem, ServerState, Value
from ioi_eval.rules.plan import PlannedTest

SUBMISSION = "submission"
GENERATED = "generated"  # runs a package's own program, as a build does
KEY_VERSION = 1
HEADER, WRAPPER = "header", "wrapper.hpp"  # a precompiled header, and its source
BROUGHT_HEADERS = "IOI_EVAL_HEADERS"  # the variable that names the folder of those in a server's package
# A copy of the first is in that folder, by the second name: they were made of this version of the C library.
LIBRARY_HEADER, BROUGHT_LIBRARY = "/usr/include/features.h", "features.h.of"
DRIVERS = frozenset({"g++", "gcc"})  # commands that link what they compile
OTHER_MACHINE = "Run `ioi-eval doctor` to see which compilers the engine has"
_NAME_BYTES, _PATH_BYTES = 255, 1024

# --- what an engine can do ---------------------------------------------------------------------------

OWN = "ioi_eval"  # the runtime that starts a job's own `compile` and `run`
BASH = "bash"  # starts the job's first text file; there is no compile stage
CLASSIC = ("cms_ioi", "cms")  # one package, two names
_OTHER_CLASSIC = frozenset({"codeforces", "cf_python3", "cf_c++17"})
_INSTALL_A_SHELL = "Install Piston's package `bash` or ours, `ioi_eval`, on it"


class Capabilities(Value):
    """The abilities of an engine."""

    name: str
    architecture: str
    confines: bool = False  # every stage, as the proctor does; where not, builds of submissions bring one
    takes_paths: bool = False  # jobs name files by path, and it hands over the files that they keep
    # It starts `./proctor run` on a job's plan, also without `takes_paths`: files then travel as they are,
    # under the names in the plan. Otherwise a script of the job unpacks its files and starts the proctor.
    executes_plans: bool = False
    exclusive: bool = False  # it runs a job with `exclusive` while it runs no other job
    toolchains: Mapping[str, Toolchain] = {}  # by command
    runtimes: tuple[str, ...] = ()
    bare: tuple[
        str, ...
    ] = ()  # the ones of these without scripts: jobs bring theirs, as for runtimes unknown
    proctor: Blob | None = None  # where the engine has built one already
    waiting: Blob | None = None  # the library that an interpreter waits with; None: every test starts its own
    max_files: int = 500  # tests in one job
    max_run_time: int | None = None  # ms, wall clock
    max_compile_time: int | None = None  # ms, wall clock
    max_run_cpu_time: int | None = None  # ms
    max_run_memory: int | None = None  # bytes
    strict: bool = False  # its wall clocks run on while programs wait for a processor
    max_output: int | None = None  # bytes of stdout
    max_body: int | None = None  # bytes of one request
    offers: Mapping[str, tuple[Toolchain, ...]] = {}  # by command, where machines may have different ones

    def shell(self) -> str:
        """Return the runtime for build jobs and run jobs. JudgeFailure where the engine starts no scripts."""
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
        """Return a compiler or interpreter. JudgeFailure where it is missing, with the way to install it."""
        tool = self.toolchains.get(command)
        if tool is None:
            how = remedy(command)
            raise ToolMissing(
                f"engine {self.name} has no {command}, which {purpose} needs",
                phase="compiling",
                remedy=f"Install {command}{f': {how}' if how else ''}. {OTHER_MACHINE}",
            )
        return tool

    def offered(self, command: str) -> tuple[Toolchain, ...]:
        """Return the toolchains of that command, each once: servers may have different ones."""
        alone = (self.toolchains[command],) if command in self.toolchains else ()
        return self.offers.get(command, alone)


class HealthCheck(Value):
    """A line of the doctor's. `ok`: as it should be, not so (False), or worse than it could be (None)."""

    name: str
    ok: bool | None
    detail: str
    remedy: str = ""


# --- builds ------------------------------------------------------------------------------------------


class BuildSpec(Value):
    """A build: everything that decides what its artifact is, and nothing else."""

    kind: str  # proctor, checker, submission, header, object
    output: str  # the artifact's name in the folder of the job
    command: tuple[str, ...]
    sources: tuple[NamedBlob, ...]  # what the build is about comes last
    control: NamedBlob  # a program that any working compiler takes: tells broken machines from broken sources
    limits: BuildLimits
    refusals: tuple[int, ...] = (1,)  # exit codes of the command for an error in the source
    precompile: tuple[str, ...] = ()  # the command that precompiles a header with the same flags; empty: none
    shared: str = ""  # the name of a source that many builds have in common; empty: there is none
    acts: bool = False  # the source may do to its build what it likes: only another one shows who is at fault
    proctor: Blob | None = None  # confines the build, where the engine does not; it changes nothing else

    @property
    def main(self) -> NamedBlob:
        return self.sources[-1]

    @property
    def tool(self) -> str:
        """The toolchain's command, by which engines know it."""
        return self.command[0]

    @property
    def sees_proc(self) -> bool:
        """True unless the compiler is one that needs no /proc, so that sources can name no open file."""
        return self.tool not in DRIVERS

    def key(self, architecture: str, toolchain: Toolchain) -> str:
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
    """docs/protocol.md, artifact key."""
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
    """A build's artifact, with its words."""

    artifact: Blob
    log: str = ""
    compiler: str = ""
    toolchain: str = ""  # the identity of what built it
    confinement: Mapping[str, Any] = {}  # where the build brought its own proctor


class RemoteArtifact(Blob, kw_only=True):
    """An artifact that lies where it was made, and what makes it again where that machine is gone."""

    spec: BuildSpec
    toolchain: str  # the identity of what made it


class WorkerArtifact(RemoteArtifact, kw_only=True):
    """A program that the worker that built it keeps: jobs there name it, others have it fetched."""

    at: str  # the worker's address


class ArtifactsLost(JobRejected):
    """Artifacts that a job needs are gone with the machine that had made them."""

    def __init__(self, artifacts: Sequence[RemoteArtifact]) -> None:
        self.artifacts = artifacts
        super().__init__("artifacts were lost with the machine that had made them")


class CompileError(Value):
    """The source is at fault, never the machine: that is a JudgeFailure."""

    log: str = ""
    compiler: str = ""
    confinement: Mapping[str, Any] = {}
    lasting: bool = True  # False: under other load it might end otherwise, so it is not remembered


Build = Callable[[BuildSpec], Awaitable[BuildSuccess | CompileError]]


# --- batches -----------------------------------------------------------------------------------------


class Program(Value):
    """The programs and files for judging one submission, whatever the test.

    A command begins with the name of one of `files`, or with the command of a toolchain (`python3`), which
    the engine finds where it runs.
    """

    proctor: Blob
    submission: PlanSubmission
    checker: PlanChecker
    files: tuple[JobFile, ...]  # the artifacts that these name
    manager: PlanManager | None = None
    interpreter: str = ""  # the identity of the one that has to run the submission; empty: any, or none does
    outputs: Mapping[str, Blob] = {}  # what was handed in, by the test's name


class Batch(Value):
    """Tests of one submission, in the order in which to run them."""

    problem: Problem  # with the limits of the submission's language
    program: Program
    tests: tuple[PlannedTest, ...]
    options: JudgeOptions = JudgeOptions()
    alone: bool = False  # its job is exclusive, if the engine can do that

    async def rebuilt(self, lost: Iterable[RemoteArtifact], build: Build) -> Self:
        """Return the batch with artifacts made again, by the same compiler and the same to the byte.

        Raises ToolchainGone where they are not: then all is begun anew.
        """
        files = self.program.files
        for far in lost:
            built = await build(far.spec)
            if (
                isinstance(built, CompileError)
                or built.toolchain != far.toolchain
                or built.artifact.sha256 != far.sha256
            ):
                raise ToolchainGone("a program was lost with the machine that had built it")
            files = tuple(
                msgspec.structs.replace(file, content=built.artifact)
                if file.content.sha256 == far.sha256
                else file
                for file in files
            )
        return msgspec.structs.replace(self, program=msgspec.structs.replace(self.program, files=files))


class StallOutcome(StrEnum):
    """The outcome of tests that were ended without a verdict, because they did something but got nowhere."""

    NONE = "none"
    ONCE = "once"  # alone, it ended otherwise
    AGAIN = "again"  # alone, too


class TestReports(Value):
    """The lines about tests. A test that was skipped, or not reached, has none."""

    __test__ = False

    lines: Mapping[str, TestReport]  # by the test's name
    stall: StallOutcome = StallOutcome.NONE
    confinement: Mapping[str, Any] = {}


def least(*limits: int | None) -> int | None:
    """Return the tightest of some limits; None is no limit."""
    return min((limit for limit in limits if limit is not None), default=None)


_USUAL_NAME = re.compile(r"(\w[\w.-]{,50}/){,2}\w[\w.-]{,50}", re.ASCII)


def check_names(names: Iterable[str]) -> None:
    """Raises JobRejected for files that a box or a server cannot have."""
    seen = set[str]()
    for name in names:
        if _USUAL_NAME.fullmatch(name) and name not in seen:
            seen.add(name)
            continue
        parts = name.split("/")
        sizes = [len(part) if part.isascii() else len(part.encode(errors="surrogatepass")) for part in parts]
        if (
            "\0" in name
            or (not name.isascii() and any("\ud800" <= char <= "\udfff" for char in name))
            or sum(sizes) + len(sizes) - 1 > _PATH_BYTES
            or max(sizes) > _NAME_BYTES
            or not {"", ".", ".."}.isdisjoint(parts)
        ):
            raise JobRejected(f"{name!r} cannot be a file's name: names are relative and stay in the box")
        if name in seen:
            raise JobRejected(f"{name!r} is there twice")
        seen.add(name)


# --- engines -----------------------------------------------------------------------------------------


class Check(Protocol):
    """A function that returns a job's result, or raises EngineError if its machine failed the job."""

    def __call__(self, result: JobResult, /) -> Awaitable[JobResult]: ...


@runtime_checkable
class Engine(Protocol):
    """What executes jobs: this machine, Piston servers, a fake, a plugin. Used inside `async with`."""

    @property
    def slots(self) -> int:
        """The number of jobs that run at the same time."""
        ...

    async def capabilities(self) -> Capabilities:
        """Return what the engine can do."""
        ...

    async def execute(self, job: Job, check: Check | None = None) -> JobResult:
        """Execute a job. Whatever its programs did is in the result.

        Raises a subtype of `EngineError` if the job could not be executed. `check`: an engine of several
        machines calls it, and tries another machine if it raises; other engines may ignore it.
        """
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


# --- engines of many servers -------------------------------------------------------------------------


class Change(StrEnum):
    LOST = "lost"  # it cannot be reached, or answers nothing that can be used
    SLOW = "slow"  # it is there, and does not answer
    FULL = "full"  # it turns jobs away
    REPLACED = "replaced"  # it is another server than the one that was probed
    LEFT_OUT = "left out"  # it gets no jobs, for what it is
    TRIAL = "on trial"  # it answers again, and gets one job at a time until one is answered
    BACK = "back"  # it takes jobs again, after any of these
    JOINED = "joined"
    GONE = "gone"  # not found any more


class ServerChanged(Value, kw_only=True):
    """A server's change. A lost, slow, full or replaced one gets no jobs until it is back."""

    url: str
    change: Change
    reason: str = ""
    usable: int  # servers that get jobs now
    slots: int  # of theirs


class JobsWait(Value):
    """No server can be used. Jobs wait for one, and are given up after that time."""

    seconds: float


ServerEvent = ServerChanged | JobsWait
OnServer = Callable[[ServerEvent], None]


def ignore(event: ServerEvent) -> None:
    """Take an event where nobody listens."""


class Servers(Value):
    """The servers, or nodes, of an engine that was entered, as they are now."""

    found: int
    slots: int
    used: Mapping[
        str, tuple[HealthCheck, ...]
    ]  # by address: what the doctor says of each, where it was asked
    left_out: Mapping[str, str] = {}  # servers that can be reached and get no jobs, and why
    unreachable: Mapping[str, str] = {}  # and why
    differences: tuple[HealthCheck, ...] = ()  # tools that are not the same on all
    standings: tuple[ServerState, ...] = ()  # of those that ever got jobs
    uses: str = ""  # how many of each kind are used, and for what; empty: all are alike
    jobs: str = ""  # how tests are judged there: many a job, or one; empty: many
    cores: int = 0  # of all that are used, if they are more than the jobs that these get by default

    def now(self) -> tuple[ServerState, ...]:
        """Return how each server does, by address: those that never got jobs, too."""
        absent = (("left out", self.left_out), ("unreachable", self.unreachable))
        found = {
            url: ServerState(url=url, state=state, why=why)
            for state, those in absent
            for url, why in those.items()
        }
        found |= {standing.url: standing for standing in self.standings}
        return tuple(found[url] for url in sorted(found))


@runtime_checkable
class Cluster(Protocol):
    """An engine on servers that come and go. Other engines lack both members."""

    tell: OnServer
    """Hears of servers that are lost, slow, full or back."""

    def servers(self) -> Servers: ...


def cluster_of(engine: Engine) -> Cluster | None:
    """Return the engine's servers to watch; None where it stands on none."""
    return engine if isinstance(engine, Cluster) else None
