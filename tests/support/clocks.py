"""Clocks that a test turns: what would take minutes is over at once."""

from __future__ import annotations

import asyncio


class Clock:
    """A clock that stands until a test sets it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Ahead:
    """The running loop's clock, ahead of the real one by the seconds that a test has turned it.

    The real one goes on, by seconds where the machine is busy: what must not be due yet needs so much room.
    """

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.ahead, real = 0.0, loop.time
        loop.time = lambda: real() + self.ahead  # type: ignore[method-assign]

    async def turn(self, seconds: float) -> None:
        """Let the seconds pass in steps, with all that falls due meanwhile."""
        for _ in range(20):
            self.ahead += seconds / 20
            for _ in range(5):
                await asyncio.sleep(0)
