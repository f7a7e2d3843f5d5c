"""The built-in comparisons have the same names in Python and in the proctor."""

from __future__ import annotations

import re

from support.folders import graders_folder

from ioi_eval.models import CheckerKind


def test_comparison_names_in_cpp_and_python_agree() -> None:
    source = (graders_folder() / "proctor" / "compare.cpp").read_text()
    table = source.partition("Comparison find_comparison(")[2].partition("};")[0]
    rows = re.findall(r'^ +\{"([\w-]+)",', table, re.MULTILINE)
    assert sorted(rows) == sorted(kind.value for kind in CheckerKind if not kind.is_program)
