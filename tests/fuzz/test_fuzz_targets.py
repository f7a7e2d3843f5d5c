"""A short run of every fuzz target; scripts/fuzz makes the long ones."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
RUNS = 2000
_FINDS_CLANG = f"source {TOP}/scripts/common.sh; fuzzing_clang"


def has_clang() -> bool:
    return subprocess.run(["bash", "-c", _FINDS_CLANG], capture_output=True).returncode == 0


@pytest.mark.once
@pytest.mark.skipif(not has_clang(), reason="without clang and libFuzzer nothing is fuzzed")
def test_every_target_holds(tmp_path: Path) -> None:
    done = subprocess.run(
        [TOP / "scripts" / "fuzz", "--runs", str(RUNS)], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = dict(re.findall(r"^(\w+) +([0-9]+) executions", done.stdout, re.MULTILINE))
    assert set(found) == {folder.name for folder in (TOP / "tests" / "fuzz" / "corpus").iterdir()}
    assert all(int(runs) >= RUNS for runs in found.values()), done.stdout
