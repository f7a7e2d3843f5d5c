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
    # True if the file is sent as utf8, so that it may be the main file; None means True if its bytes are
    # UTF-8.
    text: bool | None = None


class Job(Value):
    """A request to an engine: the body of Piston's /execute as a value. Times in ms, sizes in bytes.

    The runtime `ioi_eval` starts the job's files `compile`, if it exists, and `run` with bash.

    Fields after `keep` are not in Piston's request. Three of them require a capability of the engine:

    - `plan`: the capability `takes_paths` or `executes_plans`
    - `exclusive`: the capability `exclusive`
    - `without_proc`: the capability `confines`

    If an engine has none of the `accepted_toolchains` of a command, it raises `ToolchainGone`.
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
    # Names of files to return after the job; if the engine cannot return files, `run` prints them.
    keep: tuple[str, ...] = ()
    # Name of the file with a plan, on which the engine starts `./proctor run` instead of scripts.
    plan: str = ""
    # Identities of the toolchains with which the job may run, by command.
    accepted_toolchains: Mapping[str, tuple[str, ...]] = {}
    exclusive: bool = False  # True if the engine may run no other job at the same time
    # True if programs see no /proc, so that they can name no open file and no other process.
    without_proc: bool = False


class StageStatus(StrEnum):
    """Piston's codes for programs that failed."""

    RE = "RE"  # exit code
    SG = "SG"  # signal
    TO = "TO"  # time
    OL = "OL"  # stdout exceeded its limit
    EL = "EL"  # stderr exceeded its limit
    XX = "XX"  # the sandbox itself failed


CPU_LIMIT, HARD_STOP = "Time limit exceeded", "Time limit exceeded (hard stop)"
IDLED = "Time limit exceeded (wall clock)"
"""The messages of these endings. Servers have different messages for their wall-clock limits."""
OWN_LIMITS = {
    "Memory limit exceeded": "memory",
    "Too many processes": "processes",
    "Too many or too large files": "disk",
}
"""The limits that Piston's codes do not distinguish, by the message of an ending."""
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
    """The exit and the output of a program or script. The fields are the same as in Piston's stages."""

    stdout: str = ""
    stderr: str = ""
    code: int | None = None  # exit code of the program; None if it was killed by a signal
    signal: str | None = None  # SIGKILL, ...
    message: str | None = None
    status: StageStatus | None = None
    cpu_time: int | None = None  # ms
    wall_time: int | None = None  # ms
    memory: int | None = None  # bytes

    @classmethod
    def by_limit(cls, limit: str, **fields: Any) -> Self:
        """Return the ending of a program that exceeded a limit.

        An unknown limit is a failure of the sandbox.
        """
        status, message = _BY_LIMIT.get(limit, (StageStatus.XX, "the sandbox was killed from outside"))
        return cls(signal="SIGKILL", status=status, message=message, **fields)

    @property
    def exited(self) -> bool:
        """True if the program exited by itself, with an exit code."""
        return self.code is not None and self.status in (None, StageStatus.RE)

    @property
    def limit(self) -> str:
        """The name of the exceeded limit: wall, hard, cpu, memory, processes, disk, stdout, stderr or other.

        Empty if the program exited by itself or was killed by a signal.
        """
        if self.exited:
            return ""
        if self.status is StageStatus.TO:
            return _BY_CLOCK.get(self.message or "", "hard")
        if self.status in _BY_STREAM:
            return _BY_STREAM[self.status]
        return "other" if self.signal is None else OWN_LIMITS.get(self.message or "", "")


PRECOMPILED = ".gch"
"""Suffix of a precompiled header. If it does not fit on the disk, a job is built without it."""


class JobResult(Value):
    run: Ending
    compile: Ending | None = None
    language: str = ""
    version: str = ""
    endpoint: str = ""
    kept: Mapping[str, str] = {}  # paths on this machine by file name; the caller must remove these files
    stayed: Mapping[str, Blob] = {}  # files that the worker stores, by name, without their data
    # Toolchains of the server by command, if servers may have different toolchains.
    toolchains: Mapping[str, Toolchain] = {}


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
    # String that changes when a build could lead to another artifact; it is a part of every artifact's key.
    identity: str
    read: tuple[str, ...] = ()  # further paths that a sandbox must show, in addition to the system's folders
    # Packages of model/languages.py that a Python interpreter has; None means unknown.
    modules: tuple[str, ...] | None = None
    refusal: str = ""  # reason why the toolchain cannot judge submissions, as a sentence; empty if it can

    @property
    def name(self) -> str:
        """The command and its version, for people."""
        return f"{self.command} {self.version}"
