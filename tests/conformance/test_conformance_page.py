"""docs/conformance.md lists the actual results of the examples' solutions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.judged_examples import judged_run

SCRIPT = Path(__file__).parents[2] / "tools" / "release" / "conformance"


@pytest.mark.nightly
def test_conformance_page_matches_results(shared: Path, shared_cache: Path) -> None:
    completed = subprocess.run(
        [sys.executable, SCRIPT, "--check", "--reuse", judged_run(shared, shared_cache)],
        env={**os.environ, "IOI_EVAL_CACHE": str(shared_cache)},
        capture_output=True,
        text=True,
    )
    assert completed.returncode == 0, completed.stderr
