"""Fixtures of the benchmarks' tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback_hub import Hub, serve


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    (tmp_path / "hub").mkdir()
    with serve(tmp_path / "hub") as opened:
        yield opened
