"""Requests that are answered too late for their clients, told to come again, and answered then."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from ioi_eval.model.errors import EngineOverloaded
from ioi_eval.server.jobs import Visit

_AWAY = 10.0  # seconds that a client may stay away; verl's comes after 1 and 2


class TooLate(EngineOverloaded):
    """A request that is not answered yet, whose client would hang up."""

    def __init__(self) -> None:
        super().__init__(f"no answer yet: ask again within {_AWAY:g} s, this request keeps its place")


@dataclass(frozen=True, eq=False)
class _Work:
    task: asyncio.Task[bytes]
    visit: Visit  # in whose place it goes on


class Unanswered:
    """The work of requests. It goes on when one is told to come again, and answers the next one like it.

    So a client that comes three times and waits 28 s each time waits 84 s in one place of the queue, and what
    has begun late is not lost.
    """

    def __init__(self) -> None:
        self._left: dict[str, deque[_Work]] = {}  # whose clients are away, those that came first ahead
        self._tasks = set[asyncio.Task[bytes]]()

    async def answer(
        self, key: str, work: Callable[[], Coroutine[Any, Any, bytes]], visit: Visit, seconds: float
    ) -> bytes:
        """Return what comes of the work, or of what is left under the key.

        Raises TooLate where that takes more seconds.
        """
        mine = self._taken(key) or self._begun(work, visit)
        try:
            await asyncio.wait({mine.task}, timeout=seconds)
        except asyncio.CancelledError:
            mine.task.cancel()
            raise
        if not mine.task.done():
            self._leave(key, mine)
            raise TooLate
        return mine.task.result()

    async def close(self) -> None:
        """End all work."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begun(self, work: Callable[[], Coroutine[Any, Any, bytes]], visit: Visit) -> _Work:
        async def in_its_place() -> bytes:
            with visit.held():
                return await work()

        task = asyncio.create_task(in_its_place())
        self._tasks.add(task)
        task.add_done_callback(self._over)
        return _Work(task, visit)

    def _over(self, task: asyncio.Task[bytes]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # for whoever comes again

    def _leave(self, key: str, work: _Work) -> None:
        work.visit.expect_again()
        left = _Work(work.task, work.visit)  # another one each time
        self._left.setdefault(key, deque()).append(left)
        asyncio.get_running_loop().call_later(_AWAY, self._give_up, key, left)

    def _give_up(self, key: str, left: _Work) -> None:
        if left in self._left.get(key, ()):
            self._forget(key, left)
            left.task.cancel()

    def _taken(self, key: str) -> _Work | None:
        if key not in self._left:
            return None
        left = self._left[key][0]
        self._forget(key, left)
        return left

    def _forget(self, key: str, left: _Work) -> None:
        self._left[key].remove(left)
        if not self._left[key]:
            del self._left[key]
