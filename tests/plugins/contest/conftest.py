"""Fixtures for tests of contests."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import CommandLine, write_package


@pytest.fixture
def cli(shared_cache: Path, tmp_path: Path) -> CommandLine:
    return CommandLine(folder=tmp_path, cache=shared_cache)


@pytest.fixture(autouse=True)
def over_http(no_certificates: None) -> None:
    """Skip loading TLS certificates, because no test here uses TLS."""


@pytest.fixture
def problems(tmp_path: Path) -> Path:
    """A folder with a package, `add`: two numbers, four tests, two subtasks of 40 and 60 points."""
    write_package(tmp_path / "problems" / "add")
    return tmp_path / "problems"
