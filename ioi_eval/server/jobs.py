"""A request's body in, a result out: the job is checked, waits for its slot, and runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Protocol, TypeVar

import msgspec

from ioi_eval.engines import transport as piston
from ioi_eval.engines.embedded.packages import Package, find_package
from ioi_eval.engines.embedded.placing import check_names
from ioi_eval.engines.values import Profile
from ioi_eval.model.errors import EngineError, EngineOverloaded, JobRejected
from ioi_eval.model.values import Job, JobResult
from ioi_eval.server.admission import Visit
from ioi_eval.server.metrics import Metrics
from ioi_eval.server.options import ServerOptions

_ESCAPES = 2  # bytes of JSON for each that may be printed: a line break takes two, a NUL would take six
_IN_THREAD = 1 << 20  # bytes, from which on JSON is read and written beside the event loop

_T = TypeVar("_T")


class PackagedEngine(Protocol):
    """An engine that knows which languages its jobs can be in."""

    @property
    def slots(self) -> int: ...

    @property
    def packages(self) -> tuple[Package, ...]: ...

    async def profile(self) -> Profile: ...

    async def execute(self, job: Job) -> JobResult: ...


class FailedInside(EngineError):
    """A job that the server could not run. Piston tells its client nothing but that."""


class Jobs:
    """Runs what requests ask for, within the server's limits."""

    def __init__(
        self,
        engine: PackagedEngine,
        options: ServerOptions,
        metrics: Metrics,
        tell: Callable[[str], None],
    ) -> None:
        self._engine, self._metrics, self._tell = engine, metrics, tell
        self._limits, self._most = options.limits(), _ESCAPES * options.max_output

    async def read(self, body: bytes) -> Job:
        """The job that a request asks for, as it will run."""
        return self._ready(await _beside(len(body), partial(piston.decode_request, body)))

    async def run(self, job: Job, visit: Visit) -> JobResult:
        """Its result; a stream that JSON makes too much of is one that printed too much."""
        result = await self._run(job, visit)
        size = sum(len(stage.stdout) + len(stage.stderr) for stage in (result.run, result.compile) if stage)
        return await _beside(size, partial(self._bounded, result))

    def _bounded(self, result: JobResult) -> JobResult:
        compiled = piston.bounded(result.compile, self._most) if result.compile else None
        return msgspec.structs.replace(result, run=piston.bounded(result.run, self._most), compile=compiled)

    def _ready(self, job: Job) -> Job:
        """With every limit that it is to have."""
        package = find_package(self._engine.packages, job.runtime, job.version)
        if package is None:
            raise piston.Refused(f"{job.runtime}-{job.version} runtime is unknown")
        limits = {**self._limits, **_own_limits(package)}
        piston.check_limits(job, limits)
        missing = {name: value for name, value in limits.items() if value > 0 and getattr(job, name) is None}
        files = tuple({file.name: file for file in job.files}.values())  # of two under one name the last
        try:
            check_names(file.name for file in files)
        except JobRejected as error:
            raise FailedInside(str(error)) from error
        return msgspec.structs.replace(job, files=files, **missing)

    async def _run(self, job: Job, visit: Visit) -> JobResult:
        came = time.monotonic()
        await visit.slot()
        started = time.monotonic()
        self._metrics.waiting.observe(started - came)
        outcome = "cancelled"
        try:
            result = await self._engine.execute(job)
            outcome = result.run.status or "ok"
        except JobRejected as error:
            outcome = "refused"
            raise piston.Refused(str(error)) from error
        except EngineOverloaded:
            outcome = "overloaded"
            raise
        except EngineError as error:
            outcome = "failed"
            self._tell(f"a job in {job.runtime} failed: {error}")
            raise FailedInside(str(error)) from error
        finally:
            self._metrics.ended(outcome, time.monotonic() - started)
        return result


def _own_limits(package: Package) -> dict[str, int]:
    return {name: value for name, value in package.limits.items() if name in piston.LIMITS}


async def _beside(size: int, work: Callable[[], _T]) -> _T:
    """Large work in a thread, so that the server goes on answering."""
    return work() if size < _IN_THREAD else await asyncio.to_thread(work)
