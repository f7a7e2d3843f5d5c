"""Runtimes that end with the test that used them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ioi_eval.integrations.runtime import close_all


@pytest.fixture
def own_runtimes(shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("IOI_EVAL_CACHE", str(shared_cache))
    yield
    close_all()
