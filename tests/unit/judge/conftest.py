"""What these tests share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import stamina

from ioi_eval import EmbeddedEngine, JudgeOptions, Scorer, Store


@pytest.fixture
async def scorer(store: Store) -> AsyncIterator[Scorer]:
    """Judges on this machine, every test."""
    engine = EmbeddedEngine(store=store, slots=2)
    async with Scorer(engine, store=store, options=JudgeOptions(all_tests=True)) as opened:
        yield opened


@pytest.fixture
def no_waiting() -> Iterator[None]:
    """Whatever is tried again is tried at once, four times in all."""
    with stamina.set_testing(True, attempts=4, cap=True):
        yield
