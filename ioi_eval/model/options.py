"""Options of judging and of builds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec

from ioi_eval.model.values import Value

Count = Annotated[int, msgspec.Meta(ge=1)]


class CliOption(Value):
    """A field as an option for users: `Annotated[int | None, CliOption("Jobs at the same time.", ...)]`.

    cli/groups.py creates command-line options from such fields. Bounds come from the type's msgspec.Meta.
    Fields of several structs can share a type with a `CliOption`, such as `AllTests`. Such a field may add a
    second `CliOption` that contains only the differences.
    """

    help: str = ""
    name: str = ""  # name of the option (default: name of the field)
    short: str = ""  # short form of the option, a single letter
    also: tuple[str, ...] = ()  # further names of the option, which are not shown: `-b`, `--benchmark`
    metavar: str = ""
    unset: str = ""  # description of the default value
    default: Any = None  # default in the form that users type, if it differs from the default of the field
    panel: str = ""  # heading of the option on a help page, if it differs from the heading of its group
    key_only: bool = False  # True if this is only a key for --set and ioi-eval.toml, and not an option
    typed: Any = None  # type of the option's argument, if it differs from the type of the field
    # Minimum and maximum of the argument. None means the bound of the field's type.
    minimum: float | None = None
    maximum: float | None = None
    # Function that converts the argument to the field's value, or raises an InputError.
    read: Callable[[Any], Any] | None = None


# Types of fields that several structs share.
AllTests = Annotated[
    bool,
    CliOption(help="Run all tests, including tests that can no longer change the score.", panel="Judging"),
]
Slots = Annotated[
    Count | None, CliOption(metavar="N", help="Maximum number of jobs that run at the same time.")
]
Interpreter = Annotated[
    str,  # path or version of a Python interpreter, or `caller`
    CliOption(
        metavar="PATH|VERSION",
        help="Python interpreter for submissions on this machine. caller"
        " means the interpreter that runs ioi-eval.",
    ),
]

# Maximum seconds for building the proctor, a checker or a header. Each of these is built once.
_TRUSTED_SECONDS = 300.0

JobShape = Literal["auto", "batched", "classic"]


class CheckerLimits(Value):
    """A checker's limits on a test, in seconds and bytes. Exceeding them is a judge failure."""

    cpu_time: float = 10.0
    wall_time: float = 20.0
    memory: int = 4 << 30


class ManagerLimits(Value):
    """A manager's or interactor's limits on a test. Exceeding them is a judge failure.

    They are looser than the submission's, so a slow submission times out first.
    """

    cpu_time: float = 10.0  # maximum CPU time in seconds; more if the submission's processes may take longer
    more_time: float = 10.0  # seconds by which the wall-clock limit exceeds the submission's
    memory: int = 4 << 30  # bytes


class Borderline(Value):
    """A band of times around the CPU limit, as fractions of the limit.

    Programs are stopped at the band's upper bound, or at 1.6 times the limit on a crowded machine. If a test
    with points exceeded the limit, it runs again alone and is stopped at the band's upper bound. The shortest
    time is compared with the limit itself. `low` has no effect: a time below the limit is not measured again.
    """

    low: float = 0.9
    high: float = 1.15

    def __str__(self) -> str:
        return f"{self.low:g}:{self.high:g}"


Band = Annotated[
    Borderline | None,
    CliOption(
        typed=str,
        metavar="LOW:HIGH",
        help="Measure a time again if it is between LOW and HIGH times the time limit. 1:1 means never.",
    ),
]


class JudgeOptions(Value):
    """Options of judging that apply to all problems of a run."""

    # Kind of jobs. batched: many tests per job; classic: a single test; auto: what the engine supports.
    job: JobShape = "auto"
    all_tests: AllTests = False
    # True if tests run in the problem's order instead of the order in which failures are found fastest.
    in_order: bool = False
    # True if submissions are judged even if the kernel does not support confinement.
    allow_unconfined: bool = False
    max_tests: int = 500  # maximum number of tests in a job; engines may allow fewer
    # Maximum duration of a job, in seconds. The remaining tests run in another job.
    max_job_time: float = 3600.0
    checker: CheckerLimits = CheckerLimits()
    manager: ManagerLimits = ManagerLimits()
    # Range of times near the limit in which tests are measured again; None means no such range.
    borderline: Band = None
    echo: int = 0  # maximum bytes of a wrong output that a result contains
    show: bool = False  # True if results contain the start of every output and of the error text
    # Active layers of the sandbox (docs/protocol.md). Only tests of the judge set it. None means all layers.
    layers: tuple[str, ...] | None = None


class BuildLimits(Value):
    """Limits of a build job, in seconds and bytes. `None` means no limit."""

    wall_time: float | None = 30.0
    cpu_time: float | None = 30.0
    memory: int | None = 2 << 30
    file_size: int = 256 << 20  # maximum bytes of each file that the build writes, including the program
    log: int = 64 << 10  # maximum bytes of the compiler's output; the rest is discarded

    @property
    def for_trusted_sources(self) -> BuildLimits:
        """Return the limits for trusted sources (this package's and the problem's), which get more time."""
        return msgspec.structs.replace(
            self,
            wall_time=None if self.wall_time is None else max(self.wall_time, _TRUSTED_SECONDS),
            cpu_time=None if self.cpu_time is None else max(self.cpu_time, _TRUSTED_SECONDS),
        )


class BuildOptions(Value):
    """Options of builds."""

    limits: BuildLimits = BuildLimits()
    precompile: bool = True  # True if common headers and graders are precompiled
