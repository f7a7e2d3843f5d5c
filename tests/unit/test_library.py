"""The public names as programs use them, without a custom engine."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from run_samples import SUM, problem, result, submission

from ioi_eval import InputError, Problem, Scorer, Store, Submission, Verdict, load_problems, run_sync
from ioi_eval.models import Limits
from ioi_eval.runs import BenchmarkOptions
from ioi_eval.store.resources import examples_folder
from ioi_eval.testing import FakeEngine


def test_problem_from_pairs_has_one_test_each() -> None:
    sum_problem = Problem.of(tests=[("1 2", "3"), (b"20 30", "50")], id="sum", difficulty="easy")
    assert [(test.name, test.input.read()) for test in sum_problem.tests] == [("1", b"1 2"), ("2", b"20 30")]
    assert (sum_problem.id, sum_problem.limits.cpu_time, sum_problem.difficulty) == ("sum", 2.0, "easy")


async def test_problem_made_from_pairs_of_input_and_output_is_judged() -> None:
    sum_problem = Problem.of(tests=[("1 2", "3"), ("20 30", "50")])
    async with Scorer(FakeEngine({0: 1.0, 1: 0.0})) as scorer:
        scored = await scorer.score(
            sum_problem, Submission(key="1", problem_id=sum_problem.id, code="any", language="c++")
        )
    assert (scored.verdict, scored.solved, scored.points, scored.max_points) == (Verdict.WA, False, 0.5, 1.0)


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        ("1 2", "tests must be a list of pairs, not str"),
        ({"1 2": "3"}, "tests must be a list of pairs, not dict"),
        (["1 2"], "test 1 is not a pair, but '1 2'"),
        ([("1 2", "3"), ("1", "2", "3")], "test 2 is not a pair, but ('1', '2', '3')"),
        ([(1, "3")], "test 1 must contain strings or bytes, not int and str"),
        ([], "tests is empty"),
    ],
)
def test_tests_that_are_not_pairs_are_input_error(tests: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Problem.of(tests=tests)
    assert message in str(caught.value) and '[("1 2", "3")]' in str(caught.value)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits.contest(0, 256 << 20), "the limit cpu_time must be above 0, not 0. Give a number above 0"),
        (Limits.contest(-1.0, None), "the limit cpu_time must be above 0, not -1.0"),
        (Limits.contest(math.nan, None), "the limit cpu_time must be above 0, not nan"),
        (Limits.contest(1.0, 0), "the limit memory must be above 0, not 0"),
        (Limits(output=0), "the limit output must be above 0, not 0"),
    ],
)
def test_problem_of_refuses_limits_that_are_not_above_0(limits: Limits, message: str) -> None:
    with pytest.raises(InputError, match=f"Problem.of, field 'limits': {message}"):
        Problem.of(tests=[("1", "1")], limits=limits)


def test_result_of_problem_with_subtasks_has_total_verdict_and_points() -> None:
    right, wrong = (result(submission("a"), tests) for tests in ({}, {"3-a": Verdict.TLE}))
    assert (right.verdict, right.solved, right.points, right.max_points) == (Verdict.AC, True, 100, 100)
    assert (wrong.verdict, wrong.solved, wrong.max_points) == (Verdict.TLE, False, 100)
    plain = problem("plain", subtasks=False)
    assert result(submission("a", problem_id="plain"), {}, problem=plain).max_points == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("lanterns", submission("a")), "problem must be a Problem, not str"),
        ((SUM, "int main() {}"), "submission must be a Submission, not str"),
        ((SUM, None), "submission must be a Submission, not NoneType"),
    ],
)
async def test_wrong_arguments_of_score_are_named(arguments: Any, message: str) -> None:
    async with Scorer(FakeEngine({})) as scorer:
        with pytest.raises(InputError, match=message):
            await scorer.score(*arguments)


def test_address_given_as_engine_is_input_error() -> None:
    engine: Any = "http://127.0.0.1:2000"
    with pytest.raises(
        InputError, match=r"the argument `engine` must be an engine, not 'http://127.0.0.1:2000'.*discovery"
    ):
        Scorer(engine)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    rows_file = tmp_path / "apps.jsonl"
    tests = {"inputs": ["1 2\n"], "outputs": ["3\n"]}
    row = {"question": "Add.", "input_output": json.dumps(tests), "difficulty": "interview"}
    rows_file.write_text(
        "".join(json.dumps({"solutions": "", "starter_code": "", **row}) + "\n" for _ in "ab")
    )
    return rows_file


def test_load_problems_accepts_every_source_of_score(tmp_path: Path, rows: Path) -> None:
    packages = load_problems(examples_folder() / "problems", only={"lanterns"}, cache=tmp_path / "cache")
    assert list(packages) == ["lanterns"]
    assert load_problems(packages) is packages
    of_rows = load_problems(str(rows), BenchmarkOptions(first=1), cache=tmp_path / "cache")
    assert [loaded_problem.difficulty for loaded_problem in of_rows.values()] == ["interview"]
    with pytest.raises(InputError, match="'appz' is not a folder, a file or the name of a benchmark"):
        load_problems("appz")


@pytest.mark.parametrize("source", [None, 3, {"a": SUM}])
def test_invalid_problem_source_is_input_error(source: Any) -> None:
    with pytest.raises(InputError, match=f"{type(source).__name__} is not a source of problems"):
        load_problems(source)


def adder(prompt: str) -> str:
    assert "Add." in prompt
    return "So:\n```python\nprint(sum(map(int, input().split())))\n```"


async def later(prompt: str) -> str:
    return adder(prompt)


@pytest.mark.parametrize("author", [adder, later, lambda prompt: adder(prompt)])
def test_run_calls_function_for_each_problem(tmp_path: Path, rows: Path, author: Any) -> None:
    store, out = Store(tmp_path / "store"), tmp_path / "run"
    choice = BenchmarkOptions(packages=())
    run_result = run_sync(rows, author, out=out, choice=choice, engine=FakeEngine({0: 1.0}), store=store)
    [model] = run_result.summary.headline.models
    assert (model.model, model.value) == ({"<lambda>": "function"}.get(author.__name__, author.__name__), 1.0)


def test_function_returning_no_string_is_input_error(tmp_path: Path, rows: Path) -> None:
    author: Any = dict
    with pytest.raises(InputError, match="dict is not an author"):
        run_sync(rows, author, out=tmp_path / "run")
    wrong: Any = len
    choice = BenchmarkOptions(packages=())
    with pytest.raises(InputError, match="the function len returned int, not a string"):
        run_sync(rows, wrong, out=tmp_path / "run", choice=choice, engine=FakeEngine({0: 1.0}))


@pytest.mark.parametrize("author", ["otter", None, 3])
def test_run_with_invalid_author_is_input_error(tmp_path: Path, rows: Path, author: Any) -> None:
    with pytest.raises(InputError, match=r"is not an author. Give ModelOptions\(...\), Agent"):
        run_sync(rows, author, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
