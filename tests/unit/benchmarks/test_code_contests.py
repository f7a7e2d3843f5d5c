"""CodeContests: rows become problems with limits, files and solutions in several languages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hub_rows import ADD, code_contests, loaded
from judged import statuses

from ioi_eval import Scorer
from ioi_eval.models import Problem
from ioi_eval.models import Verdict as V

NAME = "1575_A. Add"


def load_problem(folder: Path, **columns: Any) -> Problem:
    return loaded(folder, "code_contests", [code_contests(NAME, **columns)])[NAME]


def io(*pairs: tuple[str, str]) -> dict[str, list[str]]:
    return {"input": [test_input for test_input, _ in pairs], "output": [answer for _, answer in pairs]}


async def test_code_contests_words_are_compared_case_insensitively(scorer: Scorer, tmp_path: Path) -> None:
    problem = load_problem(
        tmp_path, public_tests=io(("1 2\n", "YES 3\n")), private_tests=io(("0 3", "Yes\n3"))
    )
    assert problem.checker.absolute is None
    code = "print('yes'); print(sum(map(int, input().split())))"
    assert await statuses(scorer, problem, code) == [V.AC, V.AC, V.WA]
    assert await statuses(scorer, problem, "print('yes 3.0')") == [V.WA, V.WA, V.WA]


async def test_code_contests_decimal_answers_are_compared_with_tolerance(
    scorer: Scorer, tmp_path: Path
) -> None:
    problem = load_problem(tmp_path, private_tests=io(("30 4\n", "34.00000\n")))
    assert problem.checker.absolute == 1e-5
    code = "print(sum(map(int, input().split())) + 0.000004)"
    assert await statuses(scorer, problem, code) == [V.AC, V.AC, V.AC]
    assert await statuses(scorer, problem, code.replace("4)", "4 * 5)")) == [V.WA, V.WA, V.WA]


async def test_code_contests_problem_with_file_input_and_output_is_judged(
    scorer: Scorer, tmp_path: Path
) -> None:
    problem = load_problem(tmp_path, input_file="add.in", output_file="add.out")
    assert (problem.options.input_file, problem.options.output_file) == ("add.in", "add.out")
    code = "a = open('add.in').read().split()\nopen('add.out', 'w').write(str(int(a[0]) + int(a[1])))"
    assert await statuses(scorer, problem, code) == [V.AC, V.AC, V.AC]
    assert V.AC not in await statuses(scorer, problem, ADD)


def test_problem_is_found_by_codeforces_contest_and_index(tmp_path: Path) -> None:
    assert loaded(tmp_path, "code_contests", [code_contests(NAME)]).find("1575/A").id == NAME
