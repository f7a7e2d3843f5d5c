"""Single flight: one piece of work for all callers that ask for it at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass
class _Call(Generic[T]):
    task: asyncio.Task[T]
    waiting: int = 0


class Shared(Generic[T]):
    """Calls by key. A caller that is cancelled leaves; when the last one does, the work is cancelled too."""

    def __init__(self) -> None:
        self._calls: dict[str, _Call[T]] = {}

    def __len__(self) -> int:
        return len(self._calls)

    async def call(self, key: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        call = self._calls.get(key)
        if call is None:
            call = self._calls[key] = _Call(asyncio.ensure_future(work()))
        call.waiting += 1
        try:
            return await asyncio.shield(call.task)
        finally:
            call.waiting -= 1
            await self._leave(key, call)

    async def _leave(self, key: str, call: _Call[T]) -> None:
        if call.waiting and not call.task.done():
            return
        if self._calls.get(key) is call:  # a new caller must not join what is over or being cancelled
            del self._calls[key]
        if not call.task.done():
            call.task.cancel()
            await asyncio.wait([call.task])
