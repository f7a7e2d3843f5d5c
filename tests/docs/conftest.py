"""Fixtures of tests that compare the pages, tables and help of the whole project, plugins included."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import CommandLine
from support.unit_fixtures import empty_certificate_folder, no_certificates, no_retry_waits, recorded_run

__all__ = ["empty_certificate_folder", "no_certificates", "no_retry_waits", "recorded_run"]


@pytest.fixture
def cli(shared_cache: Path, tmp_path: Path) -> CommandLine:
    return CommandLine(folder=tmp_path, cache=shared_cache)
