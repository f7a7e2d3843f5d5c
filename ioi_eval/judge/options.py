"""What a judge may be told."""

from __future__ import annotations

from typing import Literal

from ioi_eval.models import Value

JobShape = Literal["auto", "batched", "classic"]


class CheckerLimits(Value):
    """Of a checker on one test. Over them it has failed, which is a judge failure. Seconds and bytes."""

    cpu_time: float = 10.0
    wall_time: float = 20.0
    memory: int = 4 << 30


class ManagerLimits(Value):
    """Of a manager or an interactor on one test. Over them it has failed, which is a judge failure.

    It waits for the submission, so it gets more of everything: who is slow is to be found out, not who waits.
    """

    cpu_time: float = 10.0  # seconds; more where that many processes may take longer themselves
    more_time: float = 10.0  # seconds on the wall clock, beyond what the submission has
    memory: int = 4 << 30  # bytes


class JudgeOptions(Value):
    job: JobShape = "auto"  # batched: many tests a job; classic: one; auto: what the engine can
    all_tests: bool = False  # run tests that can no longer change a score, too
    allow_unconfined: bool = False  # judge even where the kernel offers no confinement
    max_tests: int = 500  # in one job; engines may allow fewer
    max_job_time: float = 3600.0  # seconds; a job that needs longer goes on in a new one
    attempts: int = 4  # of one job, where the engine and not the job is at fault
    checker: CheckerLimits = CheckerLimits()
    manager: ManagerLimits = ManagerLimits()
    echo: int = 0  # bytes of a wrong output that its result repeats
    layers: tuple[str, ...] | None = None  # of the confinement, docs/protocol.md; None: all. For tests
