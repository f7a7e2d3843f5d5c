"""Being here lets the tests in this folder and below import the modules beside this file."""

from __future__ import annotations

from pathlib import Path

import pytest
from building import built_once
from support.runs import recorded


@pytest.fixture(scope="session")
def recorded_run(shared: Path) -> Path:
    """The run among the examples, with its report: one for the tests of all workers, who only read it."""
    return built_once(shared / "recorded", recorded)
