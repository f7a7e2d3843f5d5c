from __future__ import annotations

from pathlib import Path

import pytest
from package_files import Write


@pytest.fixture
def write_package(tmp_path: Path) -> Write:
    return Write(tmp_path / "packages")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"
