"""Judging on a transport that its owner has opened, and closes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

from ioi_eval import JudgeOptions, Store, Transport
from ioi_eval.engines.contract import LocalTransport
from ioi_eval.engines.jobs.engine import JobEngine
from ioi_eval.judge import Judge
from ioi_eval.judge.programs import Artifacts
from ioi_eval.model.job import Ended
from ioi_eval.models import BuildOptions, Job, JobResult, Profile


class Lent:
    """Another's transport: entering and leaving it changes nothing."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def slots(self) -> int:
        return self._transport.slots

    async def profile(self) -> Profile:
        return await self._transport.profile()

    async def execute(self, job: Job) -> JobResult:
        return await self._transport.execute(job)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class LentHere(Lent):
    """The same on this machine."""

    _transport: LocalTransport

    async def run(self, job: Job) -> Ended:
        return await self._transport.run(job)


def lent(transport: Transport) -> Lent:
    return (LentHere if isinstance(transport, LocalTransport) else Lent)(transport)


@asynccontextmanager
async def artifacts_on(
    transport: Transport,
    store: Store,
    builds: BuildOptions | None = None,
    *,
    trusted: Transport | None = None,
) -> AsyncIterator[Artifacts]:
    async with JobEngine(lent(transport), store, builds) as engine:
        if trusted is None:
            yield Artifacts(engine)
        else:
            async with JobEngine(lent(trusted), store, builds) as other:
                yield Artifacts(engine, trusted=other)


@asynccontextmanager
async def judge_on(
    transport: Transport,
    store: Store,
    options: JudgeOptions | None = None,
    *,
    trusted: Transport | None = None,
) -> AsyncIterator[Judge]:
    async with artifacts_on(transport, store, trusted=trusted) as artifacts:
        yield Judge(artifacts.engine, artifacts, options)
