"""What these tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from ioi_eval import Store


@pytest.fixture(scope="session")
def store(shared_cache: Path) -> Store:
    return Store(shared_cache)
