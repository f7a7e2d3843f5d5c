"""Fixtures of the command line tests. Each call is a process with an output and an exit code."""

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
    """Return a folder with the package `add`: two numbers, four tests, two subtasks of 40 and 60 points."""
    write_package(tmp_path / "problems" / "add")
    return tmp_path / "problems"
