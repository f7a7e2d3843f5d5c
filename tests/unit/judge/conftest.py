"""Fixtures of the judge's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ioi_eval import EmbeddedEngine, JudgeOptions, Scorer, Store


@pytest.fixture
async def scorer(store: Store) -> AsyncIterator[Scorer]:
    """Return a scorer on the embedded engine that runs every test."""
    engine = EmbeddedEngine(store=store, slots=2)
    async with Scorer(engine, store=store, options=JudgeOptions(all_tests=True)) as opened:
        yield opened
