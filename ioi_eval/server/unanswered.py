"""Requests that are answered too late for their clients, told to come again, and answered then."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from ioi_eval.model.errors import EngineOverloaded
from ioi_eval.server.jobs import AWAY, Visit
from ioi_eval.store.memory import Bounded

_ANSWERS = 64 << 20  # bytes of answers whose clients are away, which hold no slot


class TooLate(EngineOverloaded):
    """A request that is not answered yet, whose client would hang up."""

    def __init__(self) -> None:
        super().__init__(f"no answer yet: ask again within {AWAY:g} s, this request keeps its place")


@dataclass(eq=False)
class _Work:
    task: asyncio.Task[bytes]
    visit: Visit  # in whose place it goes on
    away: asyncio.TimerHandle | None = None  # ends it, while its client is away


class Unanswered:
    """The work of requests. It goes on when one is told to come again, and answers the next one like it.

    So a client that comes three times and waits 28 s each time waits 84 s in one place of the queue, and what
    has begun late is not lost.
    """

    def __init__(self) -> None:
        self._left: dict[str, deque[_Work]] = {}  # whose clients are away, those that came first ahead
        self._tasks = set[asyncio.Task[bytes]]()
        self._answers: Bounded[tuple[str, _Work]] = Bounded(_ANSWERS, lambda left: self._forget(*left))

    async def answer(
        self, key: str, work: Callable[[], Coroutine[Any, Any, bytes]], visit: Visit, seconds: float
    ) -> bytes:
        """Return what comes of the work, or of what is left under the key.

        Raises TooLate where that takes more seconds.
        """
        mine = self._taken(key) or self._begun(key, work, visit)
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

    def _begun(self, key: str, work: Callable[[], Coroutine[Any, Any, bytes]], visit: Visit) -> _Work:
        async def in_its_place() -> bytes:
            with visit.held():
                return await work()

        begun = _Work(asyncio.create_task(in_its_place()), visit)
        self._tasks.add(begun.task)
        begun.task.add_done_callback(lambda _: self._over(key, begun))
        return begun

    def _over(self, key: str, work: _Work) -> None:
        """Keep what came of it for whoever comes again: an answer at the cost of older ones."""
        self._tasks.discard(work.task)
        if not work.task.cancelled() and work.task.exception() is None and work.away is not None:
            self._answers.keep(str(id(work)), (key, work), len(work.task.result()))

    def _leave(self, key: str, work: _Work) -> None:
        work.visit.expect_again()
        self._left.setdefault(key, deque()).append(work)
        work.away = asyncio.get_running_loop().call_later(AWAY, self._give_up, key, work)

    def _give_up(self, key: str, work: _Work) -> None:
        self._forget(key, work)
        work.task.cancel()

    def _taken(self, key: str) -> _Work | None:
        if key not in self._left:
            return None
        left = self._left[key][0]
        self._forget(key, left)
        return left

    def _forget(self, key: str, work: _Work) -> None:
        if work.away is None:
            return
        work.away.cancel()
        work.away = None
        self._answers.forget([str(id(work))])
        self._left[key].remove(work)
        if not self._left[key]:
            del self._left[key]
