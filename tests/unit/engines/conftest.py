"""What the engines' tests share. Being here also lets them import `engine_helpers` beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_helpers import folder_for_boxes

from ioi_eval import Store


@pytest.fixture(scope="session")
def store(shared_cache: Path) -> Store:
    return Store(shared_cache)


@pytest.fixture
def base() -> Iterator[Path]:
    with folder_for_boxes() as folder:
        yield folder
