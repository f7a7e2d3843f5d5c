"""Fixtures of the benchmarks' tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from loopback_hub import Hub, serve
from support.command_line import CommandLine

from ioi_eval import EmbeddedEngine, JudgeOptions, Scorer, Store


@pytest.fixture
async def scorer(store: Store) -> AsyncIterator[Scorer]:
    engine = EmbeddedEngine(store=store, slots=2)
    async with Scorer(engine, store=store, options=JudgeOptions(all_tests=True)) as opened:
        yield opened


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    (tmp_path / "hub").mkdir()
    with serve(tmp_path / "hub") as opened:
        yield opened


@pytest.fixture
def cli(shared_cache: Path, tmp_path: Path) -> CommandLine:
    """Return a command line that uses neither the hub nor the user's home."""
    offline = {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1", "HF_TOKEN": ""}
    return CommandLine(folder=tmp_path, cache=shared_cache, environment=offline)
