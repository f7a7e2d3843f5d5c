"""Engines execute jobs. They know nothing of problems and verdicts."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from ioi_eval.models import Job, JobResult, Profile


class Engine(Protocol):
    """All that the rest of the package knows of an engine.

    `execute` raises a subtype of `EngineError` when it could not execute the job; whatever the job's own
    programs did is in the result.
    """

    @property
    def slots(self) -> int:
        """How many jobs run at the same time."""
        ...

    async def profile(self) -> Profile: ...

    async def execute(self, job: Job) -> JobResult: ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
