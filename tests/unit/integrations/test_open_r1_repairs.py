"""Repairs of programs by open-r1's pipelines."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ioi_eval.integrations.open_r1 import add_includes, patch_code

# --- repairs -----------------------------------------------------------------------------------------


def test_missing_includes_are_added() -> None:
    assert (
        add_includes("int x;", "sum")
        == '#include <bits/stdc++.h>\n#include "sum.h"\nusing namespace std;\nint x;'
    )
    whole = '#include <bits/stdc++.h>\n#include "sum.h"\nstd::string x;'
    assert add_includes(whole, "sum") == whole
    assert add_includes("", "sum") == ""
    assert patch_code("int x;", "C++17 (GCC 7-32)").startswith(
        "#include <bits/stdc++.h>\nusing namespace std;\n"
    )


@pytest.mark.parametrize(
    ("source", "lang"), [("", "python"), ("class A {}", "java"), ("x", "nonsense"), ("x", "")]
)
def test_patch_code_leaves_other_code_unchanged(source: str, lang: str) -> None:
    assert patch_code(source, lang) == source


OLD = '''"""About."""
from __future__ import annotations
from fractions import Fraction, gcd
from collections import deque, Mapping
import collections, time, sys
time.clock()
print(gcd(12, 18), isinstance({}, collections.Mapping), Fraction(1, 2), len(str(10 ** 5000)))
'''


@pytest.mark.parametrize("source", [OLD, OLD.partition("\n")[2], OLD.split("\n", 2)[2]])
def test_patched_code_for_older_python_versions_runs(source: str) -> None:
    completed = subprocess.run(
        [sys.executable, "-c", patch_code(source, "python")], capture_output=True, text=True, check=False
    )
    assert completed.stdout == "6 True 1/2 5001\n", completed.stderr


def test_patch_code_keeps_invalid_python() -> None:
    assert patch_code("print 'x'", "python3") == "print 'x'"
