"""The things that all our jobs have in common: what carries them, and being executed until one is sound."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import stamina

from ioi_eval.engines import Transport
from ioi_eval.engines.contract import ArtifactsLost, Batch, Profile, Recipe
from ioi_eval.engines.jobs.piston_api import BODY
from ioi_eval.engines.jobs.run import BODY_REMEDY, JobTests
from ioi_eval.model.errors import (
    BrokenReply,
    EngineError,
    EngineOverloaded,
    EngineUnavailable,
    JobTooLarge,
    JudgeFailure,
    ToolchainGone,
)
from ioi_eval.model.job import Ended, Job, JobFile, JobResult, StageStatus, Toolchain
from ioi_eval.model.values import Blob, Value


def brings_scripts(profile: Profile, runtime: str) -> bool:
    """Return True if a job in this runtime has to bring its own `compile` and `run`."""
    return bool(profile.bare) and (runtime in profile.bare or runtime not in profile.runtimes)


# --- what carries a job to a transport and back ------------------------------------------------------


class Made(Value):
    """A build's ending and artifact."""

    ended: Ended  # its kept files are the caller's to discard
    tool: Toolchain  # that really built it
    content: Blob | None = None
    confinement: Mapping[str, Any] = {}  # of the build, where a box of ours was made for it alone
    by_transport: bool = False  # it is this one's limit that refused what was made

    def discard(self) -> None:
        for path in self.ended.kept.values():
            Path(path).unlink(missing_ok=True)


class Carrier(Protocol):
    """The way of builds and batches to a transport, and of what came of them back.

    There are two, and each transport has one: paths to boxes on this machine, parcels to all others.
    """

    is_here: bool
    """Jobs run on this machine: large files cost nothing, and jobs can wait for each other."""

    async def build(
        self,
        recipe: Recipe,
        ahead: Sequence[JobFile] | None,
        profile: Profile,
        *,
        alone: bool,
        may_stay: bool,
        attempts: int,
    ) -> Made:
        """Execute a build job. JudgeFailure where the engine or a limit of it is at fault, not the source.

        `ahead`: what was made ahead; None: nothing at all is to be. `may_stay`: the artifact may be left
        where it was made. Raises ToolchainGone where another job may be executed.
        """
        ...

    @property
    def refusal(self) -> Callable[[Blob, Profile], Awaitable[str]] | None:
        """A function that returns why a submission's program cannot travel with its tests; empty: it can.

        None where programs need not travel.
        """
        ...

    def job(self, batch: Batch, chosen: JobTests, profile: Profile) -> Job:
        """Return the job of these tests."""
        ...

    async def run(self, job: Job, profile: Profile, *, attempts: int, phase: str) -> Ended:
        """Execute such a job. JudgeFailure where no try helps."""
        ...


# --- executing a job until it has really been executed, a bounded number of times --------------------


PASSING = (EngineUnavailable, EngineOverloaded, BrokenReply)
"""What may be otherwise next time. A rejected job is rejected again, so it is not in here."""

_FIRST_WAIT = 0.2  # seconds

T = TypeVar("T")


async def execute(engine: Transport, job: Job, *, attempts: int, phase: str) -> JobResult:
    """The result of a job whose stages all had a sound box. JudgeFailure where there is none to be had."""

    async def once() -> JobResult:
        return sound(await engine.execute(job))

    return await persist(once, attempts=attempts, phase=phase)


async def persist(once: Callable[[], Awaitable[T]], *, attempts: int, phase: str) -> T:
    """Return what comes of executing a job; a failure that passes, or a broken reply, is tried again.

    Raises JudgeFailure where no try helps, and ToolchainGone or ArtifactsLost where another job may.
    """
    try:
        retries = stamina.retry_context(on=PASSING, attempts=attempts, timeout=None, wait_initial=_FIRST_WAIT)
        async for attempt in retries:
            with attempt:
                return await once()
    except JobTooLarge as error:
        # What a self-hoster changes. Limits of a server are named as its variables are.
        variable = f"Raise PISTON_{error.limit.upper()} on the server" if error.limit else ""
        remedy = BODY_REMEDY if error.limit == BODY else variable
        raise JudgeFailure(f"the job is too large: {error}", phase=phase, remedy=remedy) from error
    except (ToolchainGone, ArtifactsLost):
        raise  # the caller makes another job
    except EngineError as error:
        raise JudgeFailure(f"{type(error).__name__}: {error}", phase=phase) from error
    raise AssertionError("stamina either returns a result or raises")


def sound(result: JobResult) -> JobResult:
    """The result itself. EngineUnavailable where the box of a stage failed: that says nothing of the job."""
    for stage in (result.compile, result.run):
        if stage is not None and stage.status is StageStatus.XX:
            where = f" on {result.endpoint}" if result.endpoint else ""
            raise EngineUnavailable(f"the box failed{where}: {stage.message or 'no reason given'}")
    return result
