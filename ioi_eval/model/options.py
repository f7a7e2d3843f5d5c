"""Options of a judge and of builds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec

from ioi_eval.model.values import Value

Count = Annotated[int, msgspec.Meta(ge=1)]


class Said(Value):
    """A field as users meet it: `Annotated[int | None, Said("Jobs at the same time.", ...)]`.

    Bounds are the type's own, by msgspec.Meta. A command line makes options of such fields (cli/groups.py).
    A field of another value that means the same takes the type, and says in a second one only what differs.
    """

    help: str = ""
    name: str = ""  # of the option, where it is not the field's
    short: str = ""  # one letter
    also: tuple[str, ...] = ()  # names that work and are not shown: `-b`, `--benchmark`
    metavar: str = ""
    unset: str = ""  # the words for what holds where nobody gives it
    default: Any = None  # as it is typed, where it can be shown so and is not the field's
    panel: str = ""  # heading above it in a help page, where it is not its group's
    typed: Any = None  # the type of what is typed, where it is not the field's
    least: float | None = None  # bounds of what is typed, where the type's are wider, or there are none
    most: float | None = None
    read: Callable[[Any], Any] | None = None  # from what is typed to the field's value; raises InputError


# Types of fields that several values have, with the words for them.
AllTests = Annotated[bool, Said(help="Also run tests that can no longer change a score.", panel="Judging")]
Slots = Annotated[Count | None, Said(metavar="N", help="Jobs at the same time.")]
Interpreter = Annotated[
    str,  # its path or version, or `caller`
    Said(metavar="PATH|VERSION", help="The Python for submissions, here; caller: the one that runs this."),
]

_TRUSTED_SECONDS = 300.0  # what the proctor, a checker or a header may take: they are built once

JobShape = Literal["auto", "batched", "classic"]


class CheckerLimits(Value):
    """A checker's limits on one test, in seconds and bytes. Over them it has failed: a judge failure."""

    cpu_time: float = 10.0
    wall_time: float = 20.0
    memory: int = 4 << 30


class ManagerLimits(Value):
    """A manager's or interactor's limits on one test. Over them it has failed: a judge failure.

    It waits for the submission, so it gets more of everything: who is slow is to be found out, not who waits.
    """

    cpu_time: float = 10.0  # seconds; more where that many processes may take longer themselves
    more_time: float = 10.0  # seconds on the wall clock, beyond what the submission has
    memory: int = 4 << 30  # bytes


class Borderline(Value):
    """A band around the limit of CPU time, in shares of it.

    Programs are ended at its upper end, on a crowded machine at 1.6 times the limit. A test with points that
    took as long as the limit runs again alone, where the band ends it. The least time counts, against the
    limit itself. Below the limit nothing hangs on a second measurement, so the lower end, by which people
    write such a band, changes no verdict.
    """

    low: float = 0.9
    high: float = 1.15

    def __str__(self) -> str:
        return f"{self.low:g}:{self.high:g}"


Band = Annotated[
    Borderline | None,
    Said(typed=str, metavar="LOW:HIGH", help="Measure times in this band of the limit again. Off: 1:1."),
]


class JudgeOptions(Value):
    job: JobShape = "auto"  # batched: many tests a job; classic: one; auto: what the engine can
    all_tests: AllTests = False
    in_order: bool = False  # as the problem has them, not those first that fail fastest
    allow_unconfined: bool = False  # judge even where the kernel offers no confinement
    max_tests: int = 500  # in one job; engines may allow fewer
    max_job_time: float = 3600.0  # seconds; a job that needs longer goes on in a new one
    checker: CheckerLimits = CheckerLimits()
    manager: ManagerLimits = ManagerLimits()
    borderline: Band = None  # None: what is over the limit is not measured again
    echo: int = 0  # bytes of a wrong output that its result repeats
    show: bool = False  # results repeat so many bytes of any output, and of the error text
    layers: tuple[str, ...] | None = None  # of the confinement, docs/protocol.md; None: all. For tests


class BuildLimits(Value):
    """Limits of one build job. Times in seconds, sizes in bytes; `None` means no limit."""

    wall_time: float | None = 30.0
    cpu_time: float | None = 30.0
    memory: int | None = 2 << 30
    file_size: int = 256 << 20  # of each file that is made, the program among them
    log: int = 64 << 10  # of what the compiler prints, the rest is dropped

    @property
    def trusted(self) -> BuildLimits:
        """The limits for our own sources and a problem's: what is trusted may take its time."""
        return msgspec.structs.replace(
            self,
            wall_time=None if self.wall_time is None else max(self.wall_time, _TRUSTED_SECONDS),
            cpu_time=None if self.cpu_time is None else max(self.cpu_time, _TRUSTED_SECONDS),
        )


class BuildOptions(Value):
    limits: BuildLimits = BuildLimits()
    precompile: bool = True  # headers that sources begin with, and graders
