"""The first step of `scripts/bench/million`: what it counts, and the memory that it takes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.once, pytest.mark.long]
BENCH = Path(__file__).parents[3] / "scripts" / "bench" / "million.py"


def test_a_hundred_thousand_rows_are_judged_from_the_first_ones_on() -> None:
    command = [sys.executable, str(BENCH), "--rows", "100000", "--judged", "500"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, seen, end = done.stdout.splitlines()
    assert "first result" in first and "enough results" in end
    assert (found := re.search(r"100,000 rows are seen, ([\d,]+) are judged", seen)) is not None
    assert int(found[1].replace(",", "")) > 1  # some, before all rows were seen
    assert all(int(one.replace(",", "")) < 300 for one in re.findall(r"([\d,]+) MB", done.stdout))
