"""What tests of plugins share: helpers of tests/unit, and fixtures."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.command_line import CommandLine
from support.unit_fixtures import no_authorities, no_waiting, nobody_certified, own_runtimes, recorded_run

# pytest puts this folder into the path: the folders `ray` and `dmoj` would pass for the packages of others.
sys.path.remove(str(Path(__file__).parent))
sys.path.extend(
    str(Path(__file__).parents[1] / "unit" / name)
    for name in ("", "problems", "benchmarks", "engines", "engines/piston", "server")
)

from package_files import Write  # only now can they be found
from testlib_files import write_header

from ioi_eval import EmbeddedEngine, JudgeOptions, Scorer, Store
from ioi_eval.problems import package

__all__ = ["no_authorities", "no_waiting", "nobody_certified", "own_runtimes", "recorded_run"]


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
    """Nothing of it reaches the hub, or anybody's home."""
    offline = {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1", "HF_TOKEN": ""}
    return CommandLine(folder=tmp_path, cache=shared_cache, environment=offline)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where testlib.h lies beside the data, and nowhere else."""
    monkeypatch.setattr(package, "_COMPILER_FOLDERS", ())
    write_header(tmp_path / "copies")
    return tmp_path
