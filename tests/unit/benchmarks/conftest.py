"""What these tests share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ioi_eval.engines.embedded import EmbeddedEngine
from ioi_eval.judge import JudgeOptions, Scorer
from ioi_eval.store import Store


@pytest.fixture
async def scorer(shared_cache: Path) -> AsyncIterator[Scorer]:
    store = Store(shared_cache)
    engine = EmbeddedEngine(store=store, slots=2)
    async with Scorer(engine, store=store, options=JudgeOptions(all_tests=True)) as opened:
        yield opened
