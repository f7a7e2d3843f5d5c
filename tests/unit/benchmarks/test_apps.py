"""APPS: rows of its schema become problems, and what models wrote for them is judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dump_rows import write_jsonl
from hub_rows import ADD, apps, contents, loaded
from judged import statuses
from support.datasets import BenchmarkOptions, Selection, find_benchmark, load, open_dump

from ioi_eval import Scorer
from ioi_eval.errors import InputError, JudgeFailure
from ioi_eval.models import Verdict as V

MEAN = {"inputs": [[[1, 2]], [[]]], "outputs": [[1.5], [None]], "fn_name": "mean"}
SOLVED = "class Solution:\n    def mean(self, xs: List[int]): return sum(xs) / len(xs) if xs else None\n"


def test_apps_row_becomes_a_problem(tmp_path: Path) -> None:
    problem = loaded(tmp_path, "apps", [apps(7, starter_code="def add(): ...")])["apps_0"]
    assert problem.statement is not None and problem.statement.read() == b"Add two numbers."
    assert (problem.difficulty, problem.starter_code) == ("introductory", "def add(): ...")
    assert (problem.limits.cpu_time, problem.limits.memory) == (10, 512 << 20)
    assert problem.checker.kind == "stripped"
    assert contents(problem) == [("1 2\n", "3\n"), ("30 4", "34\n")]
    assert "row 1" in problem.source


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
    assert set(problems) == {"apps_1", "apps_2"}, "places count before any selection"
    assert problems.find("apps_1") is problems.find("7")
    assert problems.find("0").id == "apps_2"
    with pytest.raises(InputError, match="not selected"):
        problems.find("42")
    with pytest.raises(InputError, match="'8'"):
        problems.find("8")


def test_problem_option_accepts_id_and_alias(tmp_path: Path) -> None:
    rows = [apps(number) for number in (42, 7, 42)]
    assert set(loaded(tmp_path, "apps", rows, problems=frozenset({"7", "apps_0"}))) == {"apps_0", "apps_1"}
    with pytest.raises(InputError, match="no problem '42'"):  # two are called so
        loaded(tmp_path, "apps", rows, problems=frozenset({"42"}))


def test_dump_rows_name_problems_by_id_or_alias(tmp_path: Path) -> None:
    problems = loaded(tmp_path, "apps", [apps(5), apps(42)])
    dump = write_jsonl(
        tmp_path / "d.jsonl", [{"problem_id": name, "code": f"{name!r}"} for name in (42, "42", "apps_1", 5)]
    )
    found = [one.problem_id for one in open_dump([dump], problems=problems)]
    assert found == ["apps_1", "apps_1", "apps_1", "apps_0"]


@pytest.mark.parametrize("name", ["42", "apps_1"])
def test_dump_rows_are_selected_by_problem_id_or_alias(tmp_path: Path, name: str) -> None:
    problems = loaded(tmp_path, "apps", [apps(5), apps(42)])
    rows = [{"problem_id": one, "code": f"{one!r}"} for one in (42, "apps_1", 5, "of another dataset")]
    dump = write_jsonl(tmp_path / "d.jsonl", rows)
    found = open_dump([dump], problems=problems, selection=Selection(problems=frozenset({name})))
    assert [one.problem_id for one in found] == ["apps_1", "apps_1"]
    assert found.info.left_out == {"of another problem": 2}


# --- rows that are broken ----------------------------------------------------------------------------

UNUSABLE: dict[str, Any] = {
    "": "No test cases provided",
    "{}": "No test cases provided",
    '{"inputs": [], "outputs": []}': "No test cases provided",
    '{"inputs": ["1': "Could not parse test cases",
    '["1"]': "Could not parse test cases",
    '{"inputs": ["1"], "outputs": []}': "Could not parse test cases: 1 inputs and 0 outputs",
}


async def test_problem_without_tests_raises_judge_failure_with_the_reason(
    tmp_path: Path, scorer: Scorer
) -> None:
    rows = [apps(0, input_output=None), *(apps(1 + n, input_output=text) for n, text in enumerate(UNUSABLE))]
    problems = loaded(tmp_path, "apps", rows)
    reasons = ["No test cases provided", *UNUSABLE.values()]
    assert len(problems) == len(reasons)
    for problem, reason in zip(problems.values(), reasons, strict=True):
        for code in (ADD, None, "this is no Python"):
            with pytest.raises(JudgeFailure) as failure:
                await statuses(scorer, problem, code)
            assert failure.value.reason.startswith(reason)


def test_apps_row_with_null_columns_is_accepted(tmp_path: Path) -> None:
    columns = ("problem_id", "question", "solutions", "difficulty", "url", "starter_code")
    problems = loaded(tmp_path, "apps", [apps(1), apps(2, **dict.fromkeys(columns))])
    assert (problems["apps_1"].statement, problems["apps_1"].difficulty) == (None, "")
    assert problems.find("1").id == "apps_0", "a row without a number is known by its place alone"
    assert problems.references("apps_1") == ()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"problem_id": 1, "question": "Add."}], "missing column input_output"),
        ([apps(1, difficulty=["a"])], r"\['a'\] is not a text"),
        ([apps(1, input_output=5)], "field 'input_output': 5 is not a text"),
        ([apps(1, question=["a"])], r"\['a'\] is not a text"),
        ([apps(1, problem_id=1.5)], "1.5 is not a text or a whole number"),
    ],
)
def test_apps_row_of_wrong_schema_is_input_error(
    tmp_path: Path, rows: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        loaded(tmp_path, "apps", rows, schema=False)


def test_tests_may_be_an_object_instead_of_a_json_string(tmp_path: Path) -> None:
    tests = {"inputs": ["1 2"], "outputs": ["3"]}
    rows = [{**apps(3), "input_output": tests, "solutions": [ADD]}]
    path = write_jsonl(tmp_path / "rows.jsonl", rows)
    problems = load(find_benchmark("apps"), BenchmarkOptions(dataset=str(path)), cache=tmp_path / "cache")
    assert contents(problems["apps_0"]) == [("1 2", "3")]
    assert [solution.code for solution in problems.references("apps_0")] == [ADD]


# --- its own solutions -------------------------------------------------------------------------------


def test_apps_reference_solutions_are_read_on_demand(tmp_path: Path) -> None:
    problems = loaded(tmp_path, "apps", [apps(0), apps(1, solutions="")])
    first, second = problems.references("apps_0")
    assert (first.code, first.language, first.expected) == (ADD, "python", "correct")
    assert first.name != second.name and problems["apps_0"].solutions == ()
    assert problems.references("apps_1") == ()


@pytest.mark.parametrize("written", ["[", json.dumps("print()"), json.dumps([1])])
def test_solutions_that_are_not_strings_are_an_input_error(tmp_path: Path, written: str) -> None:
    problems = loaded(tmp_path, "apps", [apps(0, solutions=written)])
    with pytest.raises(InputError, match="field 'solutions'"):
        problems.references("apps_0")
