"""Engines build and judge; most of them stand on a transport, which executes jobs.

The exported names are public: what an engine is given and gives, and engines by the name that a user says.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

from ioi_eval.engines.values import Answers, Batch, Built, Profile, Recipe, Rejected
from ioi_eval.model.job import Job, JobResult
from ioi_eval.model.lazy import shown_in
from ioi_eval.model.protocol import VERSION, Line

if TYPE_CHECKING:
    from ioi_eval.engines.piston.discovery import Discovery
    from ioi_eval.engines.registry import EngineSetup, find_engine
else:
    # These stand on what is defined below.
    __getattr__ = shown_in(
        __name__,
        {
            "Discovery": "engines.piston.discovery.Discovery",
            "EngineSetup": "engines.registry.EngineSetup",
            "find_engine": "engines.registry.find_engine",
        },
    )

__all__ = [
    "VERSION",
    "Answers",
    "Batch",
    "Built",
    "Discovery",
    "Engine",
    "EngineSetup",
    "Line",
    "Recipe",
    "Rejected",
    "Transport",
    "find_engine",
]


class _Opened(Protocol):
    """What engines and transports have in common: they are opened and closed, and say what they can do."""

    @property
    def slots(self) -> int:
        """How many builds, batches or jobs run at the same time."""
        ...

    async def profile(self) -> Profile: ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@runtime_checkable
class Engine(_Opened, Protocol):
    """What the judge speaks to. How a batch is split, packed, sent and tried again is the engine's business.

    Both calls raise JudgeFailure where the engine, and not a source or a submission, is at fault.
    """

    async def build(self, recipe: Recipe) -> Built | Rejected:
        """Return what a build made, as content that any engine can use, or the compiler's refusal."""
        ...

    async def judge(self, batch: Batch) -> Answers:
        """Answer for at least one test: for all of the batch, or for a first part of it."""
        ...


class Transport(_Opened, Protocol):
    """What executes jobs: boxes on this machine, Piston servers. `JobEngine` makes an engine of any.

    `execute` raises a subtype of `EngineError` when it could not execute the job; whatever the job's own
    programs did is in the result.
    """

    async def execute(self, job: Job) -> JobResult: ...
