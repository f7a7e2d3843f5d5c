"""What an engine is asked for, and what it answers."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from ioi_eval.model.errors import JobRejected
from ioi_eval.model.job import JobFile, Toolchain
from ioi_eval.model.options import BuildLimits, JudgeOptions
from ioi_eval.model.protocol import Line, PlanChecker, PlanManager, PlanSubmission
from ioi_eval.model.values import Blob, NamedBlob, Problem, Value
from ioi_eval.rules.plan import PlannedTest

SUBMISSION = "submission"
KEY_VERSION = 1
_NAME_BYTES, _PATH_BYTES = 255, 1024


class Profile(Value):
    """What an engine can do."""

    name: str
    architecture: str
    takes_paths: bool = False
    confines: bool = False  # every stage, as the proctor does; where not, builds of submissions bring one
    toolchains: Mapping[str, Toolchain] = {}  # by command
    runtimes: tuple[str, ...] = ()
    proctor: Blob | None = None  # where the engine has built one already
    waiting: Blob | None = None  # the library that an interpreter waits with; None: every test starts its own
    max_files: int = 500  # tests in one job
    max_run_time: int | None = None  # ms, wall clock
    max_compile_time: int | None = None  # ms, wall clock
    max_run_cpu_time: int | None = None  # ms
    strict: bool = False  # its wall clocks run on while programs wait for a processor
    max_output: int | None = None  # bytes of stdout
    max_body: int | None = None  # bytes of one request
    by_endpoint: Mapping[str, Mapping[str, Toolchain]] = {}  # endpoint -> its toolchains by command


# --- builds ------------------------------------------------------------------------------------------


class Recipe(Value):
    """One build: everything that decides what its artifact is, and nothing that does not."""

    kind: str  # proctor, checker, submission, header, object
    output: str  # the artifact's name in the folder of the job
    command: tuple[str, ...]
    sources: tuple[NamedBlob, ...]  # what the build is about comes last
    control: NamedBlob  # a program that any working compiler takes: tells broken machines from broken sources
    limits: BuildLimits
    refusals: tuple[int, ...] = (1,)  # exit codes of the command for an error in the source
    header: str = ""  # the language's big header, worth having precompiled; empty: there is none
    precompile: tuple[str, ...] = ()  # the command that precompiles it with the same flags
    shared: str = ""  # the name of a source that many builds have in common; empty: there is none
    tells_program: bool = False  # what the command prints first is a hash of what the program does
    proctor: Blob | None = None  # confines the build, where the engine does not; it changes nothing else

    @property
    def main(self) -> NamedBlob:
        return self.sources[-1]

    @property
    def tool(self) -> str:
        """The toolchain's command, by which engines know it."""
        return self.command[0]

    def key(self, architecture: str, toolchain: Toolchain) -> str:
        return artifact_key(self.kind, architecture, toolchain, self.command, self.sources)


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


class Built(Value):
    """What a build made."""

    artifact: Blob
    log: str = ""
    compiler: str = ""
    confinement: Mapping[str, Any] = {}  # where the build brought its own proctor
    program: str = ""  # a hash of what the artifact does, where other artifacts may do the same; empty: none


class Rejected(Value):
    """The source is at fault, never the machine: that is a JudgeFailure."""

    log: str = ""
    compiler: str = ""
    confinement: Mapping[str, Any] = {}
    lasting: bool = True  # False: under other load it might end otherwise, so it is not remembered


# --- batches -----------------------------------------------------------------------------------------


class Program(Value):
    """Everything that judging one submission takes, whatever the test.

    A command begins with the name of one of `files`, or with the command of a toolchain (`python3`), which
    the engine finds where it runs.
    """

    proctor: Blob
    submission: PlanSubmission
    checker: PlanChecker
    files: tuple[JobFile, ...]  # the artifacts that these name
    manager: PlanManager | None = None
    outputs: Mapping[str, Blob] = {}  # what was handed in, by the test's name


class Batch(Value):
    """Tests of one submission, in the order in which to run them."""

    problem: Problem  # with the limits of the submission's language
    program: Program
    tests: tuple[PlannedTest, ...]
    options: JudgeOptions = JudgeOptions()
    alone: bool = False  # on this machine nothing else that the engine runs goes on meanwhile


class Answers(Value):
    """What was found out. A test that was skipped, or was not come to, has no line."""

    lines: Mapping[str, Line]  # by the test's name
    confinement: Mapping[str, Any] = {}


def least(*limits: int | None) -> int | None:
    """Return the tightest of some limits; None is no limit."""
    return min((limit for limit in limits if limit is not None), default=None)


def check_names(names: Iterable[str]) -> None:
    """Raises JobRejected for files that a box or a server cannot have."""
    seen = set[str]()
    for name in names:
        parts = name.split("/")
        if (
            "\0" in name
            or len(os.fsencode(name)) > _PATH_BYTES
            or any(part in ("", ".", "..") or len(os.fsencode(part)) > _NAME_BYTES for part in parts)
        ):
            raise JobRejected(f"{name!r} cannot be a file's name: names are relative and stay in the box")
        if name in seen:
            raise JobRejected(f"{name!r} is there twice")
        seen.add(name)
