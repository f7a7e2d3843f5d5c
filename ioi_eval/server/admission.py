"""Who runs, who waits, who is turned away. All is decided at once, between two awaits."""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType

from ioi_eval.model.errors import EngineOverloaded


class Draining(EngineOverloaded):
    """The server takes no more jobs: it ends when those that run are done."""


class Admission:
    """A bounded queue in front of a number of slots. `room`: bytes that all visits together may bring.

    A `Visit` is counted from the moment it comes: what it brings takes memory long before it runs.
    """

    def __init__(self, slots: int, queue: int, room: int) -> None:
        self._slots, self._queue, self._room = slots, queue, room
        self.running = 0
        self.brought = 0  # bytes
        self.visits = 0
        self.draining = False
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._empty = asyncio.Event()
        self._empty.set()

    @property
    def queued(self) -> int:
        return self.visits - self.running

    def visit(self) -> Visit:
        """Raises EngineOverloaded where nobody else may come in."""
        if self.draining:
            raise Draining("the server is ending and takes no more jobs")
        if self.visits >= self._slots + self._queue:
            raise EngineOverloaded(f"all {self._slots} slots are taken and {self._queue} requests wait")
        return Visit(self)

    def drain(self) -> None:
        """Lets nobody in from now on, and sends away who waits: another server may have room."""
        self.draining = True
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_exception(Draining("the server is ending and takes no more jobs"))

    async def until_empty(self) -> None:
        await self._empty.wait()

    # --- for visits ----------------------------------------------------------------------------------

    def come(self) -> None:
        self.visits += 1
        self._empty.clear()

    def bring(self, size: int, own: int) -> None:
        """`own`: what that visit has brought already. One that is alone may bring what it likes."""
        if self.brought > own and self.brought + size > self._room:
            raise EngineOverloaded(
                f"requests that run or wait hold {self.brought} bytes, and {self._room} are all they may"
            )
        self.brought += size

    def leave(self, brought: int) -> None:
        self.brought -= brought
        self.visits -= 1
        if self.visits == 0:
            self._empty.set()

    async def take(self) -> None:
        if self.draining:
            raise Draining("the server is ending and takes no more jobs")
        if self.running < self._slots:
            self.running += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn  # whoever gives a slot back hands it over: it stays counted as running
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.give_back()
            raise

    def give_back(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.running -= 1


class Visit:
    """One request's stay: `with` it is inside, after `slot` it has one."""

    def __init__(self, admission: Admission) -> None:
        self._admission, self._has_slot, self._brought = admission, False, 0

    def bring(self, size: int) -> None:
        """Counts bytes of the request. Raises EngineOverloaded where there is no room for them."""
        self._admission.bring(size, self._brought)
        self._brought += size

    async def slot(self) -> None:
        await self._admission.take()
        self._has_slot = True

    def __enter__(self) -> Visit:
        self._admission.come()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._has_slot:
            self._admission.give_back()
        self._admission.leave(self._brought)
