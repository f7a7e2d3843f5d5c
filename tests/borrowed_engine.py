"""Judges on an engine that a fixture opens and closes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

from ioi_eval import Engine, JudgeOptions, Store
from ioi_eval.engines import Check
from ioi_eval.engines.jobs.runner import TestRunner, open_test_runner
from ioi_eval.judge import Judge
from ioi_eval.judge.programs import Artifacts
from ioi_eval.models import BuildOptions, Capabilities, Job, JobResult


class BorrowedEngine:
    """Wraps an engine so that `async with` neither opens nor closes it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def slots(self) -> int:
        return self._engine.slots

    async def capabilities(self) -> Capabilities:
        return await self._engine.capabilities()

    async def execute(self, job: Job, check: Check | None = None) -> JobResult:
        return await self._engine.execute(job, check)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@asynccontextmanager
async def runner_on(
    engine: Engine, store: Store, builds: BuildOptions | None = None
) -> AsyncIterator[TestRunner]:
    async with open_test_runner(BorrowedEngine(engine), store, builds) as tests:
        yield tests


@asynccontextmanager
async def artifacts_on(
    engine: Engine,
    store: Store,
    builds: BuildOptions | None = None,
    *,
    trusted: Engine | None = None,
) -> AsyncIterator[Artifacts]:
    async with runner_on(engine, store, builds) as tests:
        if trusted is None:
            yield Artifacts(tests.builder)
        else:
            async with runner_on(trusted, store, builds) as other:
                yield Artifacts(tests.builder, trusted=other.builder)


@asynccontextmanager
async def judge_on(
    engine: Engine,
    store: Store,
    options: JudgeOptions | None = None,
    *,
    trusted: Engine | None = None,
) -> AsyncIterator[Judge]:
    async with runner_on(engine, store) as tests:
        if trusted is None:
            yield Judge(tests, Artifacts(tests.builder), options)
        else:
            async with runner_on(trusted, store) as other:
                yield Judge(tests, Artifacts(tests.builder, trusted=other.builder), options)
