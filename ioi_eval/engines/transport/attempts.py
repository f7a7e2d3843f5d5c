"""Executing a job until an engine has really executed it, a bounded number of times."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import stamina

from ioi_eval.engines import Transport
from ioi_eval.engines.transport.replies import BODY
from ioi_eval.model.errors import (
    BrokenReply,
    EngineError,
    EngineOverloaded,
    EngineUnavailable,
    JobTooLarge,
    JudgeFailure,
)
from ioi_eval.model.values import Job, JobResult, StageStatus

PASSING = (EngineUnavailable, EngineOverloaded, BrokenReply)
"""What may be otherwise next time. A rejected job is rejected again, so it is not in here."""

BODY_REMEDY = "Raise the limit of body_parser.json in src/index.js on the server to 512mb"
_FIRST_WAIT = 0.2  # seconds

T = TypeVar("T")


async def execute(engine: Transport, job: Job, *, attempts: int, phase: str) -> JobResult:
    """The result of a job whose stages all had a sound box. JudgeFailure where there is none to be had."""
    return await read(engine, job, _itself, attempts=attempts, phase=phase)


async def read(
    engine: Transport, job: Job, reader: Callable[[JobResult], Awaitable[T]], *, attempts: int, phase: str
) -> T:
    """What `reader` makes of such a result. Where it finds the reply broken, the job is executed again."""
    try:
        retries = stamina.retry_context(on=PASSING, attempts=attempts, timeout=None, wait_initial=_FIRST_WAIT)
        async for attempt in retries:
            with attempt:
                return await reader(_sound(await engine.execute(job)))
    except JobTooLarge as error:
        raise JudgeFailure(f"the job is too large: {error}", phase=phase, remedy=_raise_it(error)) from error
    except EngineError as error:
        raise JudgeFailure(f"{type(error).__name__}: {error}", phase=phase) from error
    raise AssertionError("stamina either returns a result or raises")


def _raise_it(error: JobTooLarge) -> str:
    """What a self-hoster changes. Limits of a server are named as its variables are."""
    if error.limit == BODY:
        return BODY_REMEDY
    return f"Raise PISTON_{error.limit.upper()} on the server" if error.limit else ""


async def _itself(result: JobResult) -> JobResult:
    return result


def _sound(result: JobResult) -> JobResult:
    for stage in (result.compile, result.run):
        if stage is not None and stage.status is StageStatus.XX:
            raise EngineUnavailable(f"the box failed: {stage.message or 'no reason given'}")
    return result
