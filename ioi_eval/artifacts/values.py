"""What is built, how, and what comes out of it."""

from __future__ import annotations

import hashlib

import msgspec

from ioi_eval.errors import InputError
from ioi_eval.models import Blob, JobFile, NamedBlob, Toolchain, Value

KEY_VERSION = 1


class ProgramBroken(InputError):
    """A program of the problem does not compile: nothing can be judged. `log` has the compiler's words."""

    def __init__(self, problem: str, *, where: str, log: str, remedy: str) -> None:
        self.log = log
        super().__init__(problem, where=where, remedy=remedy)


class CheckerBroken(ProgramBroken):
    """The problem's checker does not compile."""


class ManagerBroken(ProgramBroken):
    """The problem's manager, or its interactor, does not compile."""


class BuildLimits(Value):
    """Of one build job. Times in seconds, sizes in bytes; `None` means no limit."""

    wall_time: float | None = 30.0
    cpu_time: float | None = 30.0
    memory: int | None = 2 << 30
    log: int = 64 << 10  # of what the compiler prints, the rest is dropped

    def at_least(self, seconds: float) -> BuildLimits:
        """For our own sources and a problem's: what is trusted may take its time."""
        return msgspec.structs.replace(
            self,
            wall_time=None if self.wall_time is None else max(self.wall_time, seconds),
            cpu_time=None if self.cpu_time is None else max(self.cpu_time, seconds),
        )


class BuildOptions(Value):
    limits: BuildLimits = BuildLimits()
    attempts: int = 4  # of one job, where the engine and not the job is at fault
    precompile_after: int | None = 8  # builds with the same flags; None: never precompile a header


class Recipe(Value):
    """One build: everything that decides what its artifact is, and nothing that does not."""

    kind: str  # proctor, checker, submission, header
    output: str  # the artifact's name in the folder of the job
    command: tuple[str, ...]
    sources: tuple[NamedBlob, ...]  # what the build is about comes last
    control: NamedBlob  # a program that any working compiler takes: tells broken machines from broken sources
    limits: BuildLimits
    refusals: tuple[int, ...] = (1,)  # exit codes of the command for an error in the source
    header: str = ""  # the language's big header, worth having precompiled; empty: there is none
    precompile: tuple[str, ...] = ()  # the command that precompiles it with the same flags

    @property
    def main(self) -> NamedBlob:
        return self.sources[-1]

    @property
    def tool(self) -> str:
        """The toolchain's command, by which engines know it."""
        return self.command[0]

    def key(self, architecture: str, toolchain: Toolchain) -> str:
        """docs/protocol.md, artifact key."""
        document = {
            "v": KEY_VERSION,
            "kind": self.kind,
            "architecture": architecture,
            "toolchain": toolchain.identity,
            "command": self.command,
            "sources": sorted([source.name, source.content.sha256] for source in self.sources),
        }
        return hashlib.sha256(msgspec.json.encode(document, order="deterministic")).hexdigest()


class Trusted(Value):
    """A program that belongs to a problem and judges: its file in a job, and how a plan starts it."""

    file: JobFile
    argv: tuple[str, ...]


class Built(Value):
    """How a build ended. Not ok: the source is at fault, never the machine (that is a JudgeFailure)."""

    ok: bool
    artifact: Blob | None = None
    log: str = ""
    compiler: str = ""
    lasting: bool = True  # False: under other load it might end otherwise, so it is not remembered
