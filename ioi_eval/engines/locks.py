"""A lock for work that may run together with other work, or must run alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


class SharedExclusiveLock:
    """A shared/exclusive lock. Tasks get it in the order in which they ask for it.

    An exclusive task waits until all earlier tasks have released the lock. Later tasks wait for it.
    """

    def __init__(self) -> None:
        self._entry, self._free, self._holders = asyncio.Lock(), asyncio.Event(), 0
        self._free.set()

    @asynccontextmanager
    async def hold(
        self, *, exclusive: bool = False, max_wait_for_others_s: float = 0.0
    ) -> AsyncIterator[None]:
        """Hold the lock inside `async with`.

        `max_wait_for_others_s`: maximum seconds during which all other tasks, including later tasks, go
        first.
        """
        if max_wait_for_others_s:
            with suppress(TimeoutError):
                async with asyncio.timeout(max_wait_for_others_s):
                    await self._free.wait()
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
