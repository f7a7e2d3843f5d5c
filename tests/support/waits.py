"""Waiting for an event: as long as any machine may need, and then the test fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def until(holds: Callable[[], object], every: float = 0.01) -> None:
    """Wait for what sets no event here, as in other threads and processes, and look at it so often."""
    for _ in range(int(120 / every)):
        if holds():
            return
        await asyncio.sleep(every)
    raise AssertionError("it never held")


async def settle(turns: int = 20) -> None:
    """Let all go on that waits for nothing but its turn of the loop."""
    for _ in range(turns):
        await asyncio.sleep(0)
