"""Which Python programs count as equal: of one byte code, and blind to their text and its lines."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.datasets import Problems
from support.runs import read_rows

from ioi_eval import EmbeddedEngine, Store, score_dump
from ioi_eval.models import Blob, Limits, Problem, Test
from ioi_eval.runs import RunOptions
from ioi_eval.store.resources import graders

pytestmark = pytest.mark.once

BUILD = graders() / "python" / "build.py"


@pytest.fixture(scope="module")
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_of_python", BUILD)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def hashed(build: ModuleType, source: str) -> str:
    found = build.equality(source.encode(), "main.py", compile(source, "main.py", "exec"))
    assert isinstance(found, str)
    return found


USUAL = """
import sys, heapq
from collections import defaultdict, deque
from functools import lru_cache
from typing import *
import threading

input = sys.stdin.readline

def solve(values: List[int]) -> int:
    '''Sum.'''
    time = max(values)
    queue = deque(values)
    heapq.heappush(values, 3)
    return sum(queue) - 3 * (time == -1)

@lru_cache(None)
def main():
    try:
        print("{} {:>3}".format(solve([int(x) for x in input().split()]), 1), end="\\n")
    except ValueError as error:
        print(f"{error!r}", error.args)
    sys.stdout.write("x" if 1 == 1.0 else 'y')

if __name__ == "__main__":
    sys.setrecursionlimit(10 ** 6)
    threading.stack_size(1 << 27)
    t = threading.Thread(target=main)
    t.start()
    t.join()
"""


@pytest.mark.parametrize(
    "other",
    [
        USUAL.replace("\n", "\n\n"),
        USUAL.replace("\n", "  # a comment\n"),
        "# -*- coding: utf-8 -*-\n# A comment.\n" + USUAL,
        USUAL.replace("    ", "  "),
        USUAL.replace("'y'", '"y"'),
        USUAL.replace("10 ** 6", "(1000 * 1000)"),
        USUAL.replace("import sys, heapq", "import sys, \\\n   heapq"),
    ],
)
def test_layout_and_comments_make_no_other_program(build: ModuleType, other: str) -> None:
    assert other != USUAL and hashed(build, other) == hashed(build, USUAL) != ""


IN_A_CLASS = """
class Solution:
    def twice(self, value):
        self.time = value
        return 2 * self.time
"""


def test_classes_are_no_hindrance(build: ModuleType) -> None:
    """Since 3.13 each keeps the number of its line."""
    commented = IN_A_CLASS.replace("\n", "  # a comment\n")
    assert hashed(build, commented) == hashed(build, IN_A_CLASS) != ""
    same = hashed(build, "\n\n" + IN_A_CLASS) == hashed(build, IN_A_CLASS)
    assert same == (sys.version_info < (3, 13))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("'''Sum.'''", "'''Add.'''"),
        ("1 == 1.0", "1 == 1"),
        ("1 == 1.0", "True == 1.0"),
        ("(None)", "(100)"),
        ("queue", "line"),
        ("[int(x) for x in", "[float(x) for x in"),
        ("-1", "-0.0"),
        ("3 *", "0.0 *"),
        ("{:>3}", "{:>4}"),
    ],
)
def test_all_else_does(build: ModuleType, old: str, new: str) -> None:
    assert old in USUAL and "" != hashed(build, USUAL.replace(old, new)) != hashed(build, USUAL)


@pytest.mark.parametrize(
    "seeing",
    [
        "print(open(__file__).read())",
        "print(open(0).read())",
        "import os\nprint(os.listdir('.'))",
        "import io\nio.open('x')",
        "import inspect, sys",
        "import traceback",
        "import linecache",
        "import collections.abc",
        "import math, numpy",
        "from . import other",
        "from other import thing",
        "import sys\nprint(sys.argv)",
        "import sys\nsys.stderr = sys.stdout\nraise SystemExit",
        "import sys\nprint(sys._getframe().f_lineno)",
        "from sys import _getframe",
        "from sys import *",
        "import sys\nsys.modules['os']",
        "import sys as system\nother = system\nother.modules",
        "import enum\nenum.sys.modules",
        "from dataclasses import inspect",
        "from dataclasses import sys as of_dataclasses",
        "import random\nrandom._os.open",
        "import random\nother = random\nother._os",
        "try:\n    1 / 0\nexcept Exception as e:\n    print(e.__traceback__.tb_lineno)",
        "try:\n    1 / 0\nexcept Exception as e:\n    print('{0.__traceback__.tb_lineno}'.format(e))",
        "form = '{0.x}'\nprint(form.format(3))",
        "print('{0.real}'.format(3))",
        "print('{0[0]}'.format([3]))",
        "print('{:{0.real}}'.format(3))",
        "print(str.format('{0.real}', 3))",
        "print('{x.real}'.format_map({'x': 3}))",
        "from string import Formatter",
        "from operator import attrgetter",
        "import operator\noperator.methodcaller('x')",
        "from operator import *\nprint(attrgetter('real')(3))",
        "getattr(print, 'x')",
        "setattr(print, 'x', 1)",
        "eval('1')",
        "exec('1')",
        "__import__('os')",
        "print(__builtins__)",
        "print(__doc__)",
        "print((lambda: 0).__code__.co_firstlineno)",
        "print((x for x in []).gi_frame.f_lineno)",
        "x = globals()['open']",
        "class A:\n    __match_args__ = ('__traceback__',)",
        "match 3:\n    case int(__class__=c):\n        pass",
        "print(type('A', (), {'__getattr__': print}))",
        "import sys\nprint(type(sys.stdin.buffer.raw)('x').read())",
        "from typing import get_type_hints",
        "def f(io):\n    return io",
        "import re\nsys = re.sys",
        "import datetime\nclass A:\n    sys = 1\nprint(A.sys)",
        "x = 1\n" * 40_000,
        "x = [" + "(" * 90 + "1" + ",)" * 90 + "]\nhelp(x)",
    ],
)
def test_programs_that_might_see_themselves_are_equal_to_no_other(build: ModuleType, seeing: str) -> None:
    assert hashed(build, seeing) == ""


def test_what_is_too_deep_to_look_through_is_still_handed_over(tmp_path: Path) -> None:
    depth = 4000 if sys.version_info < (3, 14) else 400_000
    (tmp_path / "main.py").write_text("x = " + "-" * depth + "1\n")
    deep = subprocess.run(
        [sys.executable, "-I", BUILD, "out", "main.py"], cwd=tmp_path, capture_output=True, text=True
    )
    if deep.returncode == 0:  # where the interpreter itself takes it
        assert deep.stdout == "\n"
        assert (tmp_path / "out").read_bytes() == (tmp_path / "main.py").read_bytes()
    else:
        assert "Error" in deep.stderr and not (tmp_path / "out").exists()


def test_the_first_line_is_no_sources_to_write(tmp_path: Path) -> None:
    forged = "0" * 64
    lines = ["open", f"x = 1 is 1  # {forged}", f"{forged} is 1", "x = '\\d\\", forged + "\\", "'", ""]
    (tmp_path / "main.py").write_text("\n".join(lines))
    made = subprocess.run(
        [sys.executable, "-I", BUILD, "out", "main.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert made.returncode == 0 and forged in made.stdout, "the interpreter warns and shows the line"
    assert made.stdout.startswith("\n")


# --- with a judge ------------------------------------------------------------------------------------

SUM = "def add(a, b):\n    return a + b\n\n\nprint(add(*map(int, input().split())))\n"
FAILING = "a, b = map(int, input().split())\nif a > 1:\n    print(a // 0)\nprint(a + b)\n"
# Right only where its own text says so.
QUINE = "a, b = map(int, input().split())\nprint(a + b + ('WRONG' + '!' in open(__file__).read()))\n"
CODES = {
    "plain": SUM,
    "commented": "# Adds.\n" + SUM.replace("return", "# so:\n    return"),
    "spaced": SUM.replace("a + b", "a  +  b").replace("\n\n\n", "\n"),
    "other": SUM.replace("a + b", "a - b"),
    "fails": FAILING,
    "fails later": "\n\n\n" + FAILING,
    "reads itself": QUINE,
    "reads itself, says otherwise": QUINE + "# WRONG!\n",
    "broken": SUM + "print(\n",
}
ADDING = Problem(
    id="add",
    limits=Limits.contest(5.0, 256 << 20),
    tests=tuple(
        Test(name=f"t{n}", input=Blob.of(f"{n} {n + 1}\n"), answer=Blob.of(f"{2 * n + 1}\n"))
        for n in range(3)
    ),
)


def dump(folder: Path) -> Path:
    folder.mkdir()
    rows = ({"problem_id": "add", "id": key, "code": code} for key, code in CODES.items())
    text = "".join(json.dumps({**row, "language": "python"}) + "\n" for row in rows)
    (folder / "dump.jsonl").write_text(text)
    return folder / "dump.jsonl"


async def scored(folder: Path, store: Store, *, share: bool) -> tuple[int, dict[str, dict[str, Any]]]:
    called = await score_dump(
        dump(folder),
        Problems([ADDING]),
        out=folder / "run",
        engine=EmbeddedEngine(store=store, slots=2),
        options=RunOptions(share=share),
        store=store,
    )
    return called.call.repeated, {row["key"]: row for row in read_rows(folder / "run")}


async def test_equal_byte_code_runs_once_and_verdicts_stay(tmp_path: Path, shared_cache: Path) -> None:
    store = Store(shared_cache)
    repeated, shared = await scored(tmp_path / "shared", store, share=True)
    none, each = await scored(tmp_path / "each", store, share=False)
    assert (repeated, none) == (3, 0)
    groups = [{"plain", "commented", "spaced"}, {"fails", "fails later"}]
    for key, row in shared.items():
        same = next((group for group in groups if key in group), {key})
        assert row["repeats"] is None or row["repeats"] in same - {key}
    outcomes = [
        {
            key: [(test["status"], test["score"], test["feedback"]) for test in row["test_results"]]
            for key, row in rows.items()
        }
        for rows in (shared, each)
    ]
    assert outcomes[0] == outcomes[1]
    assert [status for status, *_ in outcomes[0]["fails later"]] == ["AC", "AC", "RE"]
    assert {status for status, *_ in outcomes[0]["reads itself"]} == {"AC"}
    assert {status for status, *_ in outcomes[0]["reads itself, says otherwise"]} == {"WA"}
    assert {status for status, *_ in outcomes[0]["broken"]} == {"CE"}
    assert "SyntaxError" in shared["broken"]["compile_output"]
    assert {row["compile_output"] for key, row in shared.items() if key != "broken"} == {""}
