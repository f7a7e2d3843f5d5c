"""The harness that calls a function of a program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ioi_eval.rules.assertions import read_assertions
from ioi_eval.store.resources import graders_folder


@pytest.mark.parametrize(
    ("source", "printed"),
    [
        ("pass", ""),
        ("from math import gcd", "2"),
        ("gcd = gcd", "2"),
        ("def gcd(*a: List[int]):\n    return math.gcd(*a) if datetime else accumulate", "2"),
        ("class Solution:\n    def gcd(self, a, b): return reduce(lambda x, y: math.gcd(x, y), [a, b])", "2"),
    ],
)
def test_function_must_be_defined_by_program(tmp_path: Path, source: str, printed: str) -> None:
    """A built-in name does not count as the function."""
    (tmp_path / "program.py").write_text(source)
    command = [sys.executable, str(graders_folder() / "python" / "harness.py"), "program.py", "gcd", "1"]
    completed = subprocess.run(
        command, input="[4, 6]", cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert completed.stdout == printed, completed.stderr


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        ("np.int64(2 ** 62)", "4611686018427387904"),
        ("[(np.int32(1), np.bool_(True)), np.max([0.5])]", "[[1, true], 0.5]"),
        ("np.array(3)", "3"),
        ("np.array([1])", ""),
        ("np.float32('nan')", ""),
    ],
)
def test_numpy_numbers_equal_python_numbers(tmp_path: Path, value: str, printed: str) -> None:
    """As in benchmark harnesses: np.int64(5) == 5, but an array equals no list."""
    (tmp_path / "program.py").write_text(f"import numpy as np\ndef f(): return {value}\n")
    command = [sys.executable, str(graders_folder() / "python" / "harness.py"), "program.py", "f", "1"]
    completed = subprocess.run(
        command, input="[]", cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert completed.stdout == printed, completed.stderr


@pytest.mark.parametrize(
    ("returned", "asserted", "right"),
    [
        ("(n for n in [3, 1])", "sorted(candidate()) == [1, 3]", "1"),
        ("iter([3, 1])", "set(candidate()) == {1, 3}", "1"),
        ("{3: 0, 1: 0}.values()", "list(candidate()) == [0, 0]", "1"),
        ("range(3)", "list(candidate()) == [0, 1, 2] and len(candidate()) == 3", "1"),
        ("range(3)", "len(candidate()) == 3 and candidate() == [0, 1, 2]", "0"),
        ("iter([3, 1])", "[1] and candidate() == [3, 1]", "0"),
        ("{3: 0, 1: 0}.keys()", "[1] and candidate() == {1, 3}", "1"),
        ("b'a1'", "[1] and candidate() == b'a1'", "1"),
        ("b'12'", "[1] and candidate() == 12", "0"),
    ],
)
def test_assertion_checker_compares_values_that_json_cannot_store(
    tmp_path: Path, returned: str, asserted: str, right: str
) -> None:
    test = read_assertions(f"def check(candidate):\n    assert {asserted}\n", "f")
    source = test.checker.sources[0].content.read().decode()
    for name, content in (("program.py", f"def f(): return {returned}\n"), ("checker.py", source)):
        (tmp_path / name).write_text(content)
    command = [sys.executable, str(graders_folder() / "python" / "harness.py"), "program.py", "f", "1"]
    names = ("given", "wanted", "got")
    contents = (test.cases[0].input, test.cases[0].output, said_by(command, tmp_path, test.cases[0].input))
    for name, content in zip(names, contents, strict=True):
        (tmp_path / name).write_text(content)
    assert said_by([sys.executable, "checker.py", *names], tmp_path, "").strip() == right


def said_by(command: list[str], folder: Path, stdin: str) -> str:
    completed = subprocess.run(
        command, input=stdin, cwd=folder, capture_output=True, text=True, timeout=60, check=True
    )
    return completed.stdout
