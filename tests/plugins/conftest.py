"""Fixtures of the plugins' tests, which use helpers of tests/unit."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.unit_fixtures import (
    closing_reward_runtimes,
    empty_certificate_folder,
    no_certificates,
    no_retry_waits,
    problems,
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

__all__ = [
    "closing_reward_runtimes",
    "empty_certificate_folder",
    "no_certificates",
    "no_retry_waits",
    "problems",
    "recorded_run",
]


@pytest.fixture
def write_package(tmp_path: Path) -> Write:
    return Write(tmp_path / "packages")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a folder with testlib.h next to the data."""
    write_header(tmp_path / "copies")
    return tmp_path
