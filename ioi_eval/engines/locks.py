"""A lock for work that may run together with other work, or must run alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class SharedExclusiveLock:
    """A shared/exclusive lock. Tasks get it in the order in which they ask for it.

    An exclusive task waits until all earlier tasks have released the lock. Later tasks wait for it.
    """

    def __init__(self) -> None:
        self._entry, self._free, self._holders = asyncio.Lock(), asyncio.Event(), 0
        self._free.set()

    async def until_free(self) -> None:
        """Wait until no task shares the lock, without taking it."""
        await self._free.wait()

    @asynccontextmanager
    async def hold(self, *, exclusive: bool = False) -> AsyncIterator[None]:
        """Hold the lock inside `async with`."""
        async with self._entry:
            if exclusive:
                await self._free.wait()
                yield
                return
            self._holders += 1
            self._free.clear()
        try:
            yield
        finally:
            self._holders -= 1
            if not self._holders:
                self._free.set()
