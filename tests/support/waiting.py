"""Waits for conditions in tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def until(holds: Callable[[], object], every: float = 0.01) -> None:
    """Poll a condition, such as the state of another thread or process. Fail after 120 seconds."""
    for _ in range(int(120 / every)):
        if holds():
            return
        await asyncio.sleep(every)
    raise AssertionError("the condition did not become true within 120 s")


async def settle(turns: int = 20) -> None:
    """Let the event loop run all tasks that are ready."""
    for _ in range(turns):
        await asyncio.sleep(0)
