"""Every test calls the command line as a user does: another process, its output, its exit code."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import CommandLine, write_package


@pytest.fixture(scope="session")
def cache(shared_cache: Path) -> Path:
    return shared_cache


@pytest.fixture
def cli(cache: Path, tmp_path: Path) -> CommandLine:
    return CommandLine(folder=tmp_path, cache=cache)


@pytest.fixture
def problems(tmp_path: Path) -> Path:
    """A folder with one package, `add`: two numbers, four tests, two subtasks of 40 and 60 points."""
    write_package(tmp_path / "problems" / "add")
    return tmp_path / "problems"
