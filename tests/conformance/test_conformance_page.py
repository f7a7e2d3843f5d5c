"""docs/conformance.md says of the examples what their solutions get."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "conformance"


@pytest.mark.long
@pytest.mark.once
def test_the_page_says_what_is_found(shared_cache: Path) -> None:
    environment = {**os.environ, "IOI_EVAL_CACHE": str(shared_cache)}
    done = subprocess.run(
        [sys.executable, SCRIPT, "--check"], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
