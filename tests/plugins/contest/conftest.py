"""Fixtures for tests of contests."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import CommandLine


@pytest.fixture
def cli(shared_cache: Path, tmp_path: Path) -> CommandLine:
    return CommandLine(folder=tmp_path, cache=shared_cache)


@pytest.fixture(autouse=True)
def over_http(no_certificates: None) -> None:
    """Skip loading TLS certificates, because no test here uses TLS."""
