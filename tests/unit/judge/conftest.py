"""One store for the whole session: the proctor is built once."""

from __future__ import annotations

from pathlib import Path

import pytest

from ioi_eval.store import Store


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(Path(tmp_path_factory.mktemp("store")))
