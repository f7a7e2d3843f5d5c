"""USACO: the authors' unpacked archive with its test files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hub_rows import ADD, contents
from support.command_line import CommandLine
from support.datasets import BenchmarkOptions, LoadedProblems, find_benchmark, load

from ioi_eval import Scorer
from ioi_eval.errors import InputError
from ioi_eval.models import CheckerKind, Submission
from ioi_eval.models import Verdict as V

NAME = "1333_bronze_add"


def write(folder: Path, **columns: Any) -> Path:
    problem = {
        "problem_id": NAME,
        "name": "Add",
        "problem_level": "bronze",
        "description": "Add two numbers.",
        "description_no_samples": "Add.",
        "runtime_limit": 4,
        "memory_limit": 256,
        "num_tests": 2,
        "solution_python3": ADD,
        "samples": [{"input": "1 2", "output": "3", "explanation": ""}],
        **columns,
    }
    datasets = folder / "data" / "datasets"
    tests = datasets / "usaco_v3" / "tests" / NAME
    tests.mkdir(parents=True, exist_ok=True)
    (datasets / "usaco_subset307_dict.json").write_text(json.dumps({NAME: problem}))
    files = {"1.in": "1 2\n", "1.out": "3\n\n", "I.2": "30 4\n", "O.2": "34"}
    for name, content in files.items():
        (tests / name).write_text(content)
    return folder


def loaded(folder: Path, **columns: Any) -> LoadedProblems:
    options = BenchmarkOptions(data_dir=str(write(folder, **columns)))
    return load(find_benchmark("usaco"), options, cache=folder / "cache")


async def test_usaco_test_files_of_both_naming_schemes_are_read(scorer: Scorer, tmp_path: Path) -> None:
    problems = loaded(tmp_path)
    problem = problems[NAME]
    assert (problem.name, problem.difficulty, problem.checker.kind) == ("Add", "bronze", CheckerKind.STRIPPED)
    assert (problem.limits.cpu_time, problem.limits.memory) == (4, 256_000_000)
    assert contents(problem) == [("1 2\n", "3\n\n"), ("30 4\n", "34")]
    [reference] = problems.read_references(NAME)
    for code, verdict in ((reference.code, V.AC), (ADD.replace("+", "-"), V.WA)):
        submission = Submission(key="1", problem_id=NAME, code=code, language="python")
        result = await scorer.score(problem, submission)
        assert [test.status for test in result.tests] == [verdict, verdict]


def test_missing_usaco_files_are_reported(tmp_path: Path) -> None:
    assert loaded(tmp_path / "a", num_tests=3)[NAME].unusable.endswith("test 3 has no input or output file")
    for name in ("3.in", "3.out"):
        (tmp_path / "a" / "data" / "datasets" / "usaco_v3" / "tests" / NAME / name).write_text("7\n")
    assert not loaded(tmp_path / "a", num_tests=3)[NAME].unusable, "the files exist now"
    assert loaded(tmp_path / "b", num_tests=0)[NAME].unusable == "No test cases provided"
    for folder in ("", str(tmp_path / "nothing")):
        with pytest.raises(InputError, match=r"no file .*usaco_subset307_dict.json.*data.zip"):
            load(find_benchmark("usaco"), BenchmarkOptions(data_dir=folder), cache=tmp_path / "c")


def test_usaco_file_of_wrong_shape_is_input_error(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "data" / "datasets" / "usaco_subset307_dict.json").write_text("[]")
    with pytest.raises(InputError, match="the file is not a JSON object of problems"):
        load(find_benchmark("usaco"), BenchmarkOptions(data_dir=str(tmp_path)), cache=tmp_path / "c")


def test_problems_command_lists_usaco(cli: CommandLine, tmp_path: Path) -> None:
    completed = cli("problems", "usaco", "--data-dir", write(tmp_path), "--difficulty", "bronze")
    assert completed.returncode == 0 and NAME in completed.stdout, completed.stderr
