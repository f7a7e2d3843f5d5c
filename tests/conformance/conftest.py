"""One store and one engine folder for all conformance tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ioi_eval.engines.embedded import EmbeddedEngine
from ioi_eval.store import Store


@pytest.fixture(scope="session")
def store(shared_cache: Path) -> Store:
    return Store(shared_cache)


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
async def engine(store: Store) -> AsyncIterator[EmbeddedEngine]:
    async with EmbeddedEngine(store=store) as opened:
        yield opened
