"""The harness that calls a function of a program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ioi_eval.store.resources import graders


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("pass", ""),
        ("from math import gcd", "2"),
        ("gcd = gcd", "2"),
        ("def gcd(*a: List[int]):\n    return math.gcd(*a) if datetime else accumulate", "2"),
        ("class Solution:\n    def gcd(self, a, b): return reduce(lambda x, y: math.gcd(x, y), [a, b])", "2"),
    ],
)
def test_a_problems_function_is_written_by_the_program(tmp_path: Path, source: str, said: str) -> None:
    """Programs may use names that need no import; such a name alone is no answer."""
    (tmp_path / "program.py").write_text(source)
    command = [sys.executable, str(graders() / "python" / "harness.py"), "program.py", "gcd", "1"]
    done = subprocess.run(
        command, input="[4, 6]", cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == said, done.stderr
