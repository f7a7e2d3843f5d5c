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


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("np.int64(2 ** 62)", "4611686018427387904"),
        ("[(np.int32(1), np.bool_(True)), np.max([0.5])]", "[[1, true], 0.5]"),
        ("np.array(3)", "3"),
        ("np.array([1])", ""),
        ("np.float32('nan')", ""),
    ],
)
def test_numbers_of_numpy_are_equal_to_those_of_python(tmp_path: Path, value: str, said: str) -> None:
    """As in the harnesses of benchmarks that promise numpy: np.int64(5) == 5. An array equals no list."""
    (tmp_path / "program.py").write_text(f"import numpy as np\ndef f(): return {value}\n")
    command = [sys.executable, str(graders() / "python" / "harness.py"), "program.py", "f", "1"]
    done = subprocess.run(
        command, input="[]", cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == said, done.stderr
