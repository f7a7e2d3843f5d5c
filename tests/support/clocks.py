"""Clocks that a test sets, so that it does not wait for minutes."""

from __future__ import annotations

import asyncio


class Clock:
    """A clock that changes only when a test sets `now`."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class FastForwardClock:
    """Makes the running event loop's clock faster than the real clock.

    The real time passes too, by seconds on a busy machine. A test that expects a timer not to fire yet has to
    leave that margin.
    """

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.ahead, real = 0.0, loop.time
        loop.time = lambda: real() + self.ahead  # type: ignore[method-assign]

    async def advance(self, seconds: float) -> None:
        """Advance the clock in 20 steps, and let the event loop run the timers that expire."""
        for _ in range(20):
            self.ahead += seconds / 20
            for _ in range(5):
                await asyncio.sleep(0)
