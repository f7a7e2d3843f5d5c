"""What the engines' tests share. Being here also lets them import `engine_helpers` beside it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ioi_eval import Store
from ioi_eval.engines.embedded.boxes import remove_tree


@pytest.fixture(scope="session")
def store(shared_cache: Path) -> Store:
    return Store(shared_cache)


@pytest.fixture
def base() -> Iterator[Path]:
    """A folder for boxes that other users may pass through, as boxes started by root need it."""
    folder = Path(tempfile.mkdtemp(prefix="ioi-eval-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    remove_tree(folder)
