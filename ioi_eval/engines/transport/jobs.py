"""The things that all our jobs have in common: interpreters' paths, and being executed until one is sound."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import stamina

from ioi_eval.engines import Transport
from ioi_eval.engines.contract import Profile
from ioi_eval.engines.transport.replies import BODY
from ioi_eval.model.errors import (
    BrokenReply,
    EngineError,
    EngineOverloaded,
    EngineUnavailable,
    JobTooLarge,
    JudgeFailure,
    ToolchainGone,
)
from ioi_eval.model.job import Job, JobResult, StageStatus, Toolchain


def brings_scripts(profile: Profile, runtime: str) -> bool:
    """Return True if a job in this runtime has to bring its own `compile` and `run`."""
    return profile.takes_paths and (runtime == "cms_ioi" or runtime not in profile.runtimes)


# --- interpreters that lie in different places -------------------------------------------------------

_WHICH = "/ioi-eval-which/"  # stands for the path of what follows, where a job runs


def path_of(tool: Toolchain) -> str:
    """For a plan: the interpreter's path, or a word that `finding` replaces where endpoints do not agree."""
    return tool.path if "/" in tool.path else _WHICH + tool.path


def finding(argvs: Iterable[tuple[str, ...]], plan: str) -> str:
    """The line of a script that puts paths into a plan; empty where they are known."""
    names = sorted({argv[0].removeprefix(_WHICH) for argv in argvs if argv and argv[0].startswith(_WHICH)})
    changes = "".join(f' -e "s#{_WHICH}{name}#$(command -v {name})#"' for name in names)
    return f"sed -i{changes} {plan}\n" if changes else ""


# --- executing a job until it has really been executed, a bounded number of times --------------------


PASSING = (EngineUnavailable, EngineOverloaded, BrokenReply)
"""What may be otherwise next time. A rejected job is rejected again, so it is not in here."""

BODY_REMEDY = "Raise the limit of body_parser.json in src/index.js on the server to 512mb"
_FIRST_WAIT = 0.2  # seconds

T = TypeVar("T")


async def execute(engine: Transport, job: Job, *, attempts: int, phase: str) -> JobResult:
    """The result of a job whose stages all had a sound box. JudgeFailure where there is none to be had."""

    async def itself(result: JobResult) -> JobResult:
        return result

    return await read(engine, job, itself, attempts=attempts, phase=phase)


async def read(
    engine: Transport, job: Job, reader: Callable[[JobResult], Awaitable[T]], *, attempts: int, phase: str
) -> T:
    """Execute a job and return what `reader` makes of it. A broken reply is asked for again.

    Raises JudgeFailure where no try helps, and ToolchainGone where another job may.
    """
    try:
        retries = stamina.retry_context(on=PASSING, attempts=attempts, timeout=None, wait_initial=_FIRST_WAIT)
        async for attempt in retries:
            with attempt:
                return await reader(sound(await engine.execute(job)))
    except JobTooLarge as error:
        # What a self-hoster changes. Limits of a server are named as its variables are.
        variable = f"Raise PISTON_{error.limit.upper()} on the server" if error.limit else ""
        remedy = BODY_REMEDY if error.limit == BODY else variable
        raise JudgeFailure(f"the job is too large: {error}", phase=phase, remedy=remedy) from error
    except ToolchainGone:
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
