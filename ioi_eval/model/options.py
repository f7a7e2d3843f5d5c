"""Options of judging and of builds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec

from ioi_eval.model.values import Value

Count = Annotated[int, msgspec.Meta(ge=1)]


class CliOption(Value):
    """A field as an option for users: `Annotated[int | None, CliOption("Jobs at the same time.", ...)]`.

    Bounds come from the type's msgspec.Meta. cli/groups.py creates command-line options from such fields. If
    a field of another value has the same meaning, it uses the same type, and a second `CliOption` with only
    the differences.
    """

    help: str = ""
    name: str = ""  # name of the option (default: the field's name)
    short: str = ""  # short option of a single letter
    also: tuple[str, ...] = ()  # further names that work but are not shown: `-b`, `--benchmark`
    metavar: str = ""
    unset: str = ""  # description of the default
    default: Any = None  # default in the form that users type, if it differs from the field's
    panel: str = ""  # heading in a help page, if it differs from the group's
    key_only: bool = False  # only a key for --set and ioi-eval.toml, not an option
    typed: Any = None  # type of the option's argument, if it differs from the field's
    least: float | None = None  # bounds of the argument, if they differ from the type's or the type has none
    most: float | None = None
    read: Callable[[Any], Any] | None = None  # converts the argument to the field's value; raises InputError


# Types of fields that several values share.
AllTests = Annotated[
    bool, CliOption(help="Also run tests that can no longer change a score.", panel="Judging")
]
Slots = Annotated[Count | None, CliOption(metavar="N", help="Jobs at the same time.")]
Interpreter = Annotated[
    str,  # a path, a version, or `caller`
    CliOption(
        metavar="PATH|VERSION",
        help="Python for submissions on this machine; caller: the one running ioi-eval.",
    ),
]

# Maximum time for the proctor, a checker or a header, in seconds; each is built once
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

    cpu_time: float = 10.0  # seconds; more if the submission's processes may take longer
    more_time: float = 10.0  # seconds that the wall clock exceeds the submission's
    memory: int = 4 << 30  # bytes


class Borderline(Value):
    """A band around the CPU limit, as fractions of the limit.

    Programs are stopped at the band's upper bound, or at 1.6 times the limit on a crowded machine. If a test
    with points exceeded the limit, it runs again alone and is stopped at the band's upper bound. The shortest
    time is compared with the limit itself. Below the limit a second measurement cannot change the verdict. So
    the lower bound, which the notation includes, has no effect.
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
        help="Measure times in this band of the limit again; 1:1 switches it off.",
    ),
]


class JudgeOptions(Value):
    """Options of judging that apply to all problems of a run."""

    # batched: many tests per job; classic: one test; auto: whatever the engine supports
    job: JobShape = "auto"
    all_tests: AllTests = False
    in_order: bool = False  # run tests in the problem's order instead of the order that fails fastest
    allow_unconfined: bool = False  # judge even if the kernel does not support confinement
    max_tests: int = 500  # maximum number of tests in a job; engines may allow fewer
    # Maximum duration of a job, in seconds; the remaining tests run in a new job
    max_job_time: float = 3600.0
    checker: CheckerLimits = CheckerLimits()
    manager: ManagerLimits = ManagerLimits()
    borderline: Band = None  # None: tests that exceed the limit are not measured again
    echo: int = 0  # bytes of a wrong output that its result contains
    show: bool = False  # results contain the start of any output and of the error text
    # For tests: active layers of the confinement, see docs/protocol.md. None means all.
    layers: tuple[str, ...] | None = None


class BuildLimits(Value):
    """Limits of a build job, in seconds and bytes. `None` means no limit."""

    wall_time: float | None = 30.0
    cpu_time: float | None = 30.0
    memory: int | None = 2 << 30
    file_size: int = 256 << 20  # maximum size of each file that the build writes, including the program
    log: int = 64 << 10  # maximum size of the compiler's output; the rest is dropped

    @property
    def trusted(self) -> BuildLimits:
        """Return the limits for trusted sources (this package's and the problem's), which get more time."""
        return msgspec.structs.replace(
            self,
            wall_time=None if self.wall_time is None else max(self.wall_time, _TRUSTED_SECONDS),
            cpu_time=None if self.cpu_time is None else max(self.cpu_time, _TRUSTED_SECONDS),
        )


class BuildOptions(Value):
    """Options of builds."""

    limits: BuildLimits = BuildLimits()
    precompile: bool = True  # precompile common headers and graders
