"""Asks become generations: so many at a time, each kept when it comes, given on as it comes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from ioi_eval.generate.asking import Ask, Author, GenerationFailed, OutOfBudget
from ioi_eval.generate.keeping import Generations
from ioi_eval.models import Value


class Written(Value):
    key: str  # its row is in the dump
    kept: bool = False  # since an earlier call


class Failed(Value):
    key: str
    reason: str


class _End(Value):
    """One writer has nothing more to do. `error`: and nobody else has."""

    error: BaseException | None = None


class Producing:
    """The news of a dump that is being written: first what is kept already, then what comes.

        async with Producing(asks, author, generations, at_once=8) as news:
            async for one in news: ...

    Whoever leaves the block ends what is under way. Any task may take the next piece of news. Nobody waits
    for who takes them slowly: the dump is on disk, and news are short.
    """

    def __init__(
        self, asks: Sequence[Ask], author: Author, generations: Generations, *, at_once: int
    ) -> None:
        self._author, self._generations, self._at_once = author, generations, at_once
        self._kept = deque(ask.key for ask in asks if ask.key in generations)
        self._waiting = deque(ask for ask in asks if ask.key not in generations)
        self._news = asyncio.Queue[Written | Failed | _End]()
        self._crew: list[asyncio.Task[None]] = []
        self._writing = 0

    async def __aenter__(self) -> Self:
        self._writing = min(self._at_once, len(self._waiting))
        self._crew = [asyncio.create_task(self._write()) for _ in range(self._writing)]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._crew:
            task.cancel()
        await asyncio.gather(*self._crew, return_exceptions=True)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Written | Failed:
        if self._kept:
            return Written(key=self._kept.popleft(), kept=True)
        while self._writing:
            one = await self._news.get()
            if not isinstance(one, _End):
                return one
            self._writing -= 1
            if one.error is not None:
                raise one.error
        raise StopAsyncIteration

    async def _write(self) -> None:
        """One writer. What no other attempt can mend, it gives to whoever takes the news."""
        try:
            while self._waiting:
                self._news.put_nowait(await self._written(self._waiting.popleft()))
        except BaseException as error:
            if not isinstance(error, asyncio.CancelledError):
                self._news.put_nowait(_End(error=error))
            raise
        self._news.put_nowait(_End())

    async def _written(self, ask: Ask) -> Written | Failed:
        try:
            text = await self._author.write(ask)
        except (GenerationFailed, OutOfBudget) as error:
            return Failed(key=ask.key, reason=str(error))
        self._generations.add(ask, text)
        return Written(key=ask.key)
