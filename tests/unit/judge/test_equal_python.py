"""Python programs are equal only if their sources are equal."""

from __future__ import annotations

from pathlib import Path

import pytest
from judge_samples import scored

from ioi_eval import Store
from ioi_eval.models import Blob, Limits, Problem, Test

SUM = "def add(a, b):\n    return a + b\n\n\nprint(add(*map(int, input().split())))\n"

SETS = "for first in {{{}}}:\n    break\nprint(3 + first)\n"

# Constants that Python prints as `nan`, whatever their sign.
NANS = "import math\nnumber = {}\nprint(3 if math.copysign(1, number) > 0 else 0)\n"

LINES = """from functools import update_wrapper
found = []
class Wrapper:
    def __setattr__(self, name, value):
        found.append(value)
try:
    1 // 0
except Exception as error:
    update_wrapper(Wrapper(), error, ("_" + "_traceback_" + "_",), ())
update_wrapper(Wrapper(), found[0], ("tb_lineno",), ())
print(found[2] - 4)
"""

TYPES = """from typing import List, get_args
reference = get_args(List["lambda: open('submission').read()"])[0]
try:
    read = reference._evaluate({}, {}, recursive_guard=frozenset())
except AttributeError:
    read = reference.evaluate(globals={}, locals={})
print(3 + read().count("WRO" + "NG"))
"""

# The first of each pair is right; the second differs only in a value that a program can observe.
PAIRS = {
    "a set in another order": (SETS.format("0, 8"), SETS.format("8, 0")),
    "a NaN of another sign": (NANS.format("-(1e400 - 1e400)"), NANS.format("1e400 - 1e400")),
    "the number of a line": (LINES, "\n" + LINES),
    "text that typing evaluates": (TYPES, TYPES + "# WRONG\n"),
    "its source": (
        "print(3 + open(__file__).read().count('WRO' + 'NG'))\n",
        "print(3 + open(__file__).read().count('WRO' + 'NG'))  # WRONG\n",
    ),
}
ADDING = Problem(
    id="add",
    limits=Limits.contest(5.0, 256 << 20),
    tests=(Test(name="t", input=Blob.of("1 2\n"), answer=Blob.of("3\n")),),
)


@pytest.mark.nightly(unless="False")
@pytest.mark.parametrize("swapped", [False, True])
async def test_similar_python_programs_get_separate_verdicts(
    tmp_path: Path, store: Store, swapped: bool
) -> None:
    """In either order."""
    of = {f"{name}: {n}": code for name, pair in PAIRS.items() for n, code in enumerate(pair)}
    codes = dict(sorted(of.items(), key=lambda one: one[0][-1], reverse=swapped))
    call, result_rows, _ = await scored(tmp_path / "scored", store, ADDING, "python", codes)
    verdicts = {key: row["verdict"] for key, row in result_rows.items()}
    assert verdicts == {key: "WA" if key.endswith("1") else "AC" for key in codes}
    assert call.repeated == 0


async def test_python_programs_are_identical_only_if_their_text_is_equal(
    tmp_path: Path, store: Store
) -> None:
    codes = {
        "plain": SUM,
        "again": SUM,
        "commented": "# Adds.\n" + SUM,
        "spaced": SUM.replace("a + b", "a  +  b"),
        "broken": SUM + "print(\n",
    }
    call, result_rows, _ = await scored(tmp_path / "scored", store, ADDING, "python", codes)
    assert {key: row["repeats"] for key, row in result_rows.items()} == {
        **dict.fromkeys(codes),
        "again": "plain",
    }
    assert call.repeated == 1
    assert [result_rows[key]["verdict"] for key in codes] == ["AC"] * 4 + ["CE"]
    assert "SyntaxError" in result_rows["broken"]["compile_output"]
    assert {row["compile_output"] for key, row in result_rows.items() if key != "broken"} == {""}
