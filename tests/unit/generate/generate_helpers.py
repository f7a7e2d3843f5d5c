"""Asks for problems that are not there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from support.asks import Ask


def ask(key: str = "p#0", **fields: object) -> Ask:
    values = {"problem_id": "p", "prompt": "Solve it.", "language": "python", "number": 0, **fields}
    return Ask(key=key, **values)  # type: ignore[arg-type]


async def until(done: Callable[[], bool]) -> None:
    """What happens in other threads and processes sets no event here."""
    while not done():  # noqa: ASYNC110
        await asyncio.sleep(0.005)
