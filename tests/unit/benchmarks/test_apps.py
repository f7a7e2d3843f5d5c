"""APPS: rows become problems, and dumps of programs are judged."""

from __future__ import annotations

from pathlib import Path

import pytest
from dump_rows import write_jsonl
from hub_rows import ADD, apps, loaded
from judged import statuses
from support.datasets import Selection, open_dump

from ioi_eval import Scorer
from ioi_eval.errors import InputError, JudgeFailure
from ioi_eval.models import Verdict as V

MEAN = {"inputs": [[[1, 2]], [[]]], "outputs": [[1.5], [None]], "fn_name": "mean"}
SOLVED = "class Solution:\n    def mean(self, xs: List[int]): return sum(xs) / len(xs) if xs else None\n"


async def test_output_is_compared_without_white_space_at_its_ends(scorer: Scorer, tmp_path: Path) -> None:
    problem = loaded(tmp_path, "apps", [apps(7)])["apps_0"]
    assert await statuses(scorer, problem, f"print()\n{ADD}print()") == [V.AC, V.AC]
    assert await statuses(scorer, problem, "print(3)\nassert input() == '1 2'") == [V.AC, V.RE]
    assert await statuses(scorer, problem, "print('3 ', 4)") == [V.WA, V.WA]


async def test_function_result_in_a_list_of_one_element_is_accepted(scorer: Scorer, tmp_path: Path) -> None:
    problem = loaded(tmp_path, "apps", [apps(0, tests=MEAN)])["apps_0"]
    assert await statuses(scorer, problem, SOLVED) == [V.AC, V.AC]
    assert await statuses(scorer, problem, "mean = lambda xs: [sum(xs) / 2 if xs else 0]") == [V.AC, V.WA]


def test_problem_is_found_by_row_index_and_by_problem_id(tmp_path: Path) -> None:
    rows = [apps(42), apps(7, difficulty="interview"), apps(0, difficulty="interview")]
    problems = loaded(tmp_path, "apps", rows, difficulty=frozenset({"Interview"}), sample=2)
    assert set(problems) == {"apps_1", "apps_2"}, "ids count all rows before the selection"
    assert problems.find("apps_1") is problems.find("7")
    assert problems.find("0").id == "apps_2"
    with pytest.raises(InputError, match="not selected"):
        problems.find("42")
    with pytest.raises(InputError, match="'8'"):
        problems.find("8")


def test_dump_rows_name_problems_by_id_or_alias(tmp_path: Path) -> None:
    problems = loaded(tmp_path, "apps", [apps(5), apps(42)])
    dump = write_jsonl(
        tmp_path / "d.jsonl", [{"problem_id": name, "code": f"{name!r}"} for name in (42, "42", "apps_1", 5)]
    )
    problem_ids = [submission.problem_id for submission in open_dump([dump], problems=problems)]
    assert problem_ids == ["apps_1", "apps_1", "apps_1", "apps_0"]


@pytest.mark.parametrize("name", ["42", "apps_1"])
def test_dump_rows_are_selected_by_problem_id_or_alias(tmp_path: Path, name: str) -> None:
    problems = loaded(tmp_path, "apps", [apps(5), apps(42)])
    rows = [
        {"problem_id": problem_id, "code": f"{problem_id!r}"}
        for problem_id in (42, "apps_1", 5, "of another dataset")
    ]
    dump = write_jsonl(tmp_path / "d.jsonl", rows)
    selected = open_dump([dump], problems=problems, selection=Selection(problems=frozenset({name})))
    assert [problem_id.problem_id for problem_id in selected] == ["apps_1", "apps_1"]
    assert selected.info.left_out == {"of another problem": 2}


@pytest.mark.parametrize("code", [ADD, None, "this is no Python"])
async def test_submission_to_problem_without_tests_is_a_judge_failure(
    tmp_path: Path, scorer: Scorer, code: str | None
) -> None:
    problem = loaded(tmp_path, "apps", [apps(0, input_output="")])["apps_0"]
    with pytest.raises(JudgeFailure, match="No test cases provided"):
        await statuses(scorer, problem, code)
