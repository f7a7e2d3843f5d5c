"""Filters and samples of a benchmark's problems."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.datasets import ProblemCandidate
from support.plugins import needs_plugin

from ioi_eval.benchmarks import BENCHMARKS, BenchmarkOptions, detect_benchmark, find_benchmark
from ioi_eval.benchmarks.loaded import sample_candidates, select_candidates
from ioi_eval.errors import InputError
from ioi_eval.sources import benchmark_of

MANY = [
    ProblemCandidate(id=f"p{n}", rows=(n,), year=2020 + n % 3, difficulty=("easy", "Hard")[n % 2])
    for n in range(30)
]


def ids(candidates: list[ProblemCandidate]) -> list[str]:
    return [candidate.id for candidate in candidates]


@given(st.integers(1, 35), st.integers(0, 5), st.randoms())
def test_sample_depends_on_seed_and_not_on_order(size: int, seed: int, order: random.Random) -> None:
    shuffled = order.sample(MANY, len(MANY))
    chosen = sample_candidates(shuffled, size, seed)
    assert set(ids(chosen)) == set(ids(sample_candidates(MANY, size, seed)))
    assert len(chosen) == min(size, len(MANY))
    assert set(ids(chosen)) <= set(ids(sample_candidates(MANY, size + 1, seed))), "a larger sample only adds"


def test_another_seed_selects_another_sample() -> None:
    assert len({frozenset(ids(sample_candidates(MANY, 5, seed))) for seed in range(10)}) > 5


def test_sample_contains_only_usable_candidates() -> None:
    bad = [ProblemCandidate(id=f"b{n}", rows=(n,), unusable="no tests") for n in range(30)]
    assert set(ids(sample_candidates([*bad, *MANY], 30, 0))) == set(ids(MANY))


def test_sample_is_selected_after_the_other_problem_filters() -> None:
    options = BenchmarkOptions(difficulty=frozenset({"HARD"}), years=frozenset({2021, 2022}))
    selected = select_candidates(MANY, options)
    assert ids(selected) == [
        problem.id for problem in MANY if problem.difficulty == "Hard" and problem.year in (2021, 2022)
    ]
    some = select_candidates(
        MANY, BenchmarkOptions(difficulty=frozenset({"hard"}), years=frozenset({2021}), sample=3)
    )
    assert len(some) == 3 and {problem.year for problem in some} == {2021}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (BenchmarkOptions(difficulty=frozenset({"haard"})), "no problem with the difficulty 'haard'"),
        (BenchmarkOptions(years=frozenset({1999})), "no problem with the year '1999'"),
        (BenchmarkOptions(problems=frozenset({"p"})), "no problem 'p'"),
        (BenchmarkOptions(date_from="2024-01-01"), "the benchmark's problems have no dates"),
        (BenchmarkOptions(date_to="last year"), "'last year' is not a date"),
    ],
)
def test_unknown_value_of_a_problem_filter_is_an_input_error(options: BenchmarkOptions, message: str) -> None:
    with pytest.raises(InputError, match=message):
        select_candidates(MANY, options)


def test_problem_filter_fails_only_if_no_value_matches() -> None:
    options = BenchmarkOptions(difficulty=frozenset({"hard", "introductory"}), years=frozenset({2021, 1999}))
    selected = select_candidates(MANY, options)
    assert selected and {(problem.difficulty, problem.year) for problem in selected} == {("Hard", 2021)}
    with pytest.raises(InputError, match="no problem with the difficulty 'interview'"):
        select_candidates(MANY, BenchmarkOptions(difficulty=frozenset({"introductory", "interview"})))


def test_misspelled_value_next_to_a_correct_value_is_refused() -> None:
    options = BenchmarkOptions(difficulty=frozenset({"hard", "eassy"}))
    with pytest.raises(InputError, match=r"no problem with the difficulty 'eassy'\. Did you mean 'easy'"):
        select_candidates(MANY, options)


def test_benchmarks_are_found_by_name_and_by_their_columns() -> None:
    for benchmark in BENCHMARKS:
        assert find_benchmark(benchmark.name.upper().replace("_", "-")) is benchmark
        assert detect_benchmark([*benchmark.columns, "more"], where="x") is benchmark
    with pytest.raises(InputError, match="Did you mean 'codeforces'"):
        find_benchmark("codeforce")
    with pytest.raises(InputError, match="the rows fit no known benchmark"):
        detect_benchmark(["problem_id", "code"], where="x.jsonl")


@needs_plugin("functions")
def test_first_row_distinguishes_humaneval_from_humaneval_plus(tmp_path: Path) -> None:
    """Their files have the same columns."""
    check = "\n\nMETADATA = {}\n\n\ndef check(candidate):\n    assert candidate(1) == 2\n"
    plus = "def check(candidate):\n    inputs = [[1]]\n    results = [2]\n"
    row = {"task_id": "HumanEval/0", "prompt": "def f(n):\n", "entry_point": "f"}
    row["canonical_solution"] = "    return n + 1\n"
    evalplus_row = {**row, "base_input": [[1]], "plus_input": [[2]], "contract": "", "atol": 0}
    files = {
        "humaneval": {**row, "test": check},
        "humaneval_plus": {**row, "test": plus},
        "evalplus": evalplus_row,
    }
    for name, columns in files.items():
        path = tmp_path / f"{name}.jsonl"
        path.write_text(json.dumps(columns) + "\n")
        benchmark = benchmark_of(str(path))
        assert benchmark is not None and benchmark.name == name
