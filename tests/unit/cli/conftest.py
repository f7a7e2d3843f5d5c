"""Every test calls the command line as a user does: another process, its output, its exit code."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cli_helpers import CommandLine, write_package

from ioi_eval.store import private_folder


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests, in whichever worker, so that the proctor is built once."""
    base = tmp_path_factory.getbasetemp()
    return private_folder(base.parent if "PYTEST_XDIST_WORKER" in os.environ else base)


@pytest.fixture
def cli(cache: Path, tmp_path: Path) -> CommandLine:
    return CommandLine(folder=tmp_path, cache=cache)


@pytest.fixture
def problems(tmp_path: Path) -> Path:
    """A folder with one package, `add`: two numbers, four tests, two subtasks of 40 and 60 points."""
    write_package(tmp_path / "problems" / "add")
    return tmp_path / "problems"
