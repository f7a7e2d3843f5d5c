"""Work in a thread that no cancellation can leave half done."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

T = TypeVar("T")


def _nothing(*_: object) -> None:
    pass


async def to_its_end(
    work: Callable[[], T],
    *,
    executor: Executor | None = None,
    hurry: Callable[[], None] = _nothing,
    undo: Callable[[T], None] = _nothing,
) -> T:
    """Runs `work` in a thread.

    Cancelled, it calls `hurry`, waits for the thread all the same, calls `undo` with what came of it, and
    only then gives way.
    """
    running = asyncio.get_running_loop().run_in_executor(executor, work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        hurry()
        while not running.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({running})
        if not running.cancelled() and running.exception() is None:
            undo(running.result())
        raise
    except GeneratorExit:  # the event loop is gone, and with it all waiting
        hurry()
        raise
