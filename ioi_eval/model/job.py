"""Jobs, their results, and the tools that an engine offers."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Self

from ioi_eval.model.values import Blob, Value


class JobFile(Value):
    """A file of a job: a name, and a content in memory, at a path, or on a worker.

    Contents on workers are `WorkerArtifact` and `SharedBuild`, for engines that have such workers.
    """

    name: str
    content: Blob
    executable: bool = False
    text: bool | None = None  # travels as utf8 and may be the main file; None means if its bytes are UTF-8


class Job(Value):
    """A request to an engine: the body of Piston's /execute as a value. Times in ms, sizes in bytes.

    The runtime `ioi_eval` starts the job's own files `compile`, if there is one, and `run` with bash.

    Fields after `keep` are not in Piston's request, and every engine reads them in the same way. Some are
    only set for engines with a capability: `plan` with `takes_paths` or `executes_plans`, `exclusive` with
    `exclusive`, `without_proc` with `confines`. If an engine has none of the `accepted_toolchains` of a
    command, it raises `ToolchainGone`.
    """

    files: tuple[JobFile, ...]
    runtime: str = "ioi_eval"
    version: str = "*"
    args: tuple[str, ...] = ()
    stdin: str = ""
    compile_timeout: int | None = None
    run_timeout: int | None = None
    compile_cpu_time: int | None = None
    run_cpu_time: int | None = None
    compile_memory_limit: int | None = None
    run_memory_limit: int | None = None
    keep: tuple[str, ...] = ()  # files that outlive the job; `run` prints them for engines that keep none
    plan: str = ""  # file of the plan on which the engine starts `./proctor run`, instead of scripts
    # By command, the identities of the toolchains that the job was made for. It needs one of them.
    accepted_toolchains: Mapping[str, tuple[str, ...]] = {}
    exclusive: bool = False  # the engine runs no other job at the same time
    without_proc: bool = False  # programs see no /proc, so they can name no open file and no other process


class StageStatus(StrEnum):
    """Piston's words for a bad ending."""

    RE = "RE"  # exit code
    SG = "SG"  # signal
    TO = "TO"  # time
    OL = "OL"  # stdout over the limit
    EL = "EL"  # stderr over the limit
    XX = "XX"  # the sandbox failed


CPU_LIMIT, HARD_STOP = "Time limit exceeded", "Time limit exceeded (hard stop)"
IDLED = "Time limit exceeded (wall clock)"
"""The messages of these endings; servers have others for their wall clocks."""
OWN_LIMITS = {
    "Memory limit exceeded": "memory",
    "Too many processes": "processes",
    "Too many or too large files": "disk",
}
"""The limits for which Piston has no word, by the message of an ending."""
_BY_LIMIT: Mapping[str, tuple[StageStatus, str]] = {
    "wall": (StageStatus.TO, IDLED),
    "hard": (StageStatus.TO, HARD_STOP),
    "cpu": (StageStatus.TO, CPU_LIMIT),
    **{limit: (StageStatus.SG, message) for message, limit in OWN_LIMITS.items()},
    "stdout": (StageStatus.OL, "stdout length exceeded"),
    "stderr": (StageStatus.EL, "stderr length exceeded"),
}
_BY_STREAM: Mapping[StageStatus | None, str] = {StageStatus.OL: "stdout", StageStatus.EL: "stderr"}
_BY_CLOCK = {CPU_LIMIT: "cpu", IDLED: "wall"}


class Ending(Value):
    """How one program or script ended, and what it printed. The fields are those of Piston's stages."""

    stdout: str = ""
    stderr: str = ""
    code: int | None = None  # None when killed
    signal: str | None = None  # SIGKILL, ...
    message: str | None = None
    status: StageStatus | None = None
    cpu_time: int | None = None  # ms
    wall_time: int | None = None  # ms
    memory: int | None = None  # bytes

    @classmethod
    def by_limit(cls, limit: str, **fields: Any) -> Self:
        """Return the ending of a program that a limit ended. An unknown one is the sandbox's failure."""
        status, message = _BY_LIMIT.get(limit, (StageStatus.XX, "the sandbox was killed from outside"))
        return cls(signal="SIGKILL", status=status, message=message, **fields)

    @property
    def exited(self) -> bool:
        """True if the program ended by itself, with an exit code."""
        return self.code is not None and self.status in (None, StageStatus.RE)

    @property
    def limit(self) -> str:
        """The limit that ended the program: wall, hard, cpu, memory, processes, disk, stdout, stderr, other.

        Empty if a signal ended it, or it ended by itself.
        """
        if self.exited:
            return ""
        if self.status is StageStatus.TO:
            return _BY_CLOCK.get(self.message or "", "hard")
        if self.status in _BY_STREAM:
            return _BY_STREAM[self.status]
        return "other" if self.signal is None else OWN_LIMITS.get(self.message or "", "")


PRECOMPILED = ".gch"
"""Suffix of a precompiled header. A job is built without the header if there is no space for it."""


class JobResult(Value):
    run: Ending
    compile: Ending | None = None
    language: str = ""
    version: str = ""
    endpoint: str = ""
    kept: Mapping[str, str] = {}  # file name -> path here; the caller owns and removes them
    stayed: Mapping[str, Blob] = {}  # file name -> what the worker keeps; without its bytes
    toolchains: Mapping[str, Toolchain] = {}  # by command: those of the server, where servers may differ


SHOW_OR_NAME = (
    "Let other users enter and read its folders (chmod o+x FOLDER), move it to a folder such as /opt, or name"
    " another one with python=PATH or IOI_EVAL_PYTHON (`ioi-eval doctor` lists them)"
)
"""The remedy if submissions cannot have a Python."""


class Toolchain(Value):
    """A compiler or interpreter that an engine offers."""

    command: str  # g++, python3
    path: str
    version: str
    identity: str  # changes when a build with it could differ: part of every artifact's key
    read: tuple[str, ...] = ()  # what a sandbox must be shown of it, beyond the system's folders
    modules: tuple[str, ...] | None = None  # of a Python, which of model/languages.py it has; None: unknown
    refusal: str = ""  # why it judges no submission, as a sentence; empty: it judges them

    @property
    def name(self) -> str:
        """The command and its version, for people."""
        return f"{self.command} {self.version}"
