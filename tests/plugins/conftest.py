"""Fixtures of the plugins' tests, which use helpers of tests/unit."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.command_line import CommandLine
from support.unit_fixtures import (
    closing_reward_runtimes,
    empty_certificate_folder,
    no_certificates,
    no_retry_waits,
    recorded_run,
)

# Pytest adds this folder to sys.path. Its folders `ray` and `dmoj` would hide the packages of these names.
sys.path.remove(str(Path(__file__).parent))
sys.path.extend(
    str(Path(__file__).parents[1] / "unit" / name)
    for name in ("", "problems", "benchmarks", "engines", "engines/piston", "server")
)

from package_files import Write  # these imports need the path above
from testlib_files import write_header

from ioi_eval import EmbeddedEngine, JudgeOptions, Scorer, Store

__all__ = [
    "closing_reward_runtimes",
    "empty_certificate_folder",
    "no_certificates",
    "no_retry_waits",
    "recorded_run",
]


@pytest.fixture
def write_package(tmp_path: Path) -> Write:
    return Write(tmp_path / "packages")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
async def scorer(store: Store) -> AsyncIterator[Scorer]:
    engine = EmbeddedEngine(store=store, slots=2)
    async with Scorer(engine, store=store, options=JudgeOptions(all_tests=True)) as opened:
        yield opened


@pytest.fixture
def cli(shared_cache: Path, tmp_path: Path) -> CommandLine:
    """Return a command line that uses neither the Hugging Face hub nor the user's home."""
    offline = {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1", "HF_TOKEN": ""}
    return CommandLine(folder=tmp_path, cache=shared_cache, environment=offline)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a folder with testlib.h next to the data."""
    write_header(tmp_path / "copies")
    return tmp_path
