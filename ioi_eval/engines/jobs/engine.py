"""What plugins/ray/node.py builds and judges with, until it executes jobs. Delete with that."""

from __future__ import annotations

from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

from ioi_eval.engines.contract import Answers, Batch, Built, Engine, Profile, Recipe, Rejected
from ioi_eval.engines.jobs.runner import TestRunner, opened
from ioi_eval.store import Store


class JobEngine:
    """A test runner and its builder, by the names that a Ray node has for them."""

    def __init__(self, engine: Engine, store: Store) -> None:
        self._engine, self._store, self._open = engine, store, AsyncExitStack()
        self._tests: TestRunner

    async def profile(self) -> Profile:
        return await self._tests.profile()

    async def build(self, recipe: Recipe) -> Built | Rejected:
        return await self._tests.builder.build(recipe)

    async def judge(self, batch: Batch) -> Answers:
        return await self._tests.run(batch)

    async def __aenter__(self) -> Self:
        self._tests = await self._open.enter_async_context(opened(self._engine, self._store))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._open.aclose()
