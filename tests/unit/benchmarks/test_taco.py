"""TACO: rows with APPS' schema, tags and dates, which are distinguished from APPS."""

from __future__ import annotations

import json
from pathlib import Path

from hub_rows import ADD, apps, contents, listed, loaded, taco
from judged import statuses
from support.command_line import CommandLine
from support.datasets import detect_benchmark

from ioi_eval import Scorer
from ioi_eval.models import CheckerKind
from ioi_eval.models import Verdict as V


async def test_taco_row_becomes_a_program_problem(scorer: Scorer, tmp_path: Path) -> None:
    problem = loaded(tmp_path, "taco", [taco()], schema=False).find("0")
    assert (problem.id, problem.difficulty, problem.year) == ("taco_0", "MEDIUM_HARD", 2019)
    assert problem.tags == ("codeforces", "Mathematics", "Greedy algorithms")
    assert (problem.limits.cpu_time, problem.checker.kind) == (4, CheckerKind.STRIPPED)
    assert contents(problem)[0] == ("1 2\n", "3\n")
    assert await statuses(scorer, problem, ADD) == [V.AC, V.AC]
    assert await statuses(scorer, problem, ADD.replace("+", "-")) == [V.WA, V.WA]


async def test_taco_function_problem_is_judged(scorer: Scorer, tmp_path: Path) -> None:
    written = {"fn_name": "add", "inputs": [[1, 2]], "outputs": [3]}
    row = taco(input_output=json.dumps(written), date=None, tags=None, skill_types="[]", source="leetcode")
    problem = loaded(tmp_path, "taco", [row], schema=False)["taco_0"]
    assert (problem.year, problem.tags) == (None, ("leetcode",))
    assert await statuses(scorer, problem, "def add(a, b): return a + b") == [V.AC]
    assert await statuses(scorer, problem, "def add(a, b): return a - b") == [V.WA]


def test_problems_command_lists_taco(cli: CommandLine, tmp_path: Path) -> None:
    listing = listed(cli, tmp_path, "taco", [taco(), taco(difficulty="EASY")], "--difficulty", "easy")
    assert "taco_1" in listing and "stripped" in listing and "taco_0" not in listing


def test_taco_is_distinguished_from_apps_by_its_columns() -> None:
    assert detect_benchmark(taco(), where="rows").name == "taco"
    assert detect_benchmark(apps(0), where="rows").name == "apps"
