"""LiveOIBench: its three files with the hub's layout, judged like LiveOIBench's judge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmark_tables import write_table
from hub_rows import contents
from support.command_line import CommandLine, results
from support.datasets import BenchmarkOptions, LoadedProblems, find_benchmark, load
from testlib_files import HALVES, HIDDEN, without_system_testlib, write_header

from ioi_eval import Scorer
from ioi_eval.benchmarks.olympiads import SCRIPTS
from ioi_eval.errors import InputError
from ioi_eval.models import CheckerKind, Submission
from ioi_eval.models import Verdict as V

NAME = "IOI-2024-contest-add-up"
ADD = (
    '#include <cstdio>\nint main() { long long a, b; if (scanf("%lld%lld", &a, &b) == 2) '
    'printf("%lld", a + b); }\n'
)
SMALL = ADD.replace("a + b", "(a < 10 ? a + b : 0)")
TESTS = {"1-a": {"input": "1 2\n", "output": "3\n"}, "2-b": {"input": "30 4\n", "output": "34"}}
SUBTASKS = {
    "1": {"task": "Small", "score": 30, "testcases": ["1-a"]},
    "2": {"task": "All", "score": 70, "testcases": ["1-a", "2-b"]},
}


def problem(name: str = NAME, **columns: Any) -> dict[str, Any]:
    return {
        "id": 0,
        "problem_id": name,
        "competition": name.partition("-")[0],
        "contest": "contest",
        "task_name": name.split("-", 3)[3],
        "setup_script": "",
        "evaluation_script": "",
        "problem_statement": "# Add\nAdd two numbers.",
        "time_limit": 1.5,
        "memory_limit": 250.0,
        "task_type": "batch",
        "difficulty": 12,
        "algorithms": '["greedy"]',
        "grader_code": "",
        "starter_code": "",
        **columns,
    }


def rubric(name: str = NAME, tests: Any = None, subtasks: Any = None) -> dict[str, Any]:
    written = {
        "tests": TESTS if tests is None else tests,
        "subtasks": SUBTASKS if subtasks is None else subtasks,
    }
    return {"id": 0, "problem_id": name, **{field: json.dumps(value) for field, value in written.items()}}


def write(folder: Path, problems: list[dict[str, Any]], tests: list[dict[str, Any]]) -> Path:
    write_table(folder / "LiveOIBench" / "data" / "liveoibench_v1.parquet", problems)
    for year in {row["problem_id"].split("-")[1] for row in tests}:
        rows = [row for row in tests if row["problem_id"].split("-")[1] == year]
        write_table(folder / "LiveOIBench_tests" / f"liveoibench_testcases_v1_{year}.parquet", rows)
    return folder


def loaded(folder: Path, *, tests: dict[str, Any] | None = None, **columns: Any) -> LoadedProblems:
    copies = write(folder / "copies", [problem(**columns)], [tests or rubric()])
    return load(find_benchmark("liveoibench"), BenchmarkOptions(data_dir=str(copies)), cache=folder / "cache")


async def points(
    scorer: Scorer, problems: LoadedProblems, code: str, language: str = "c++"
) -> tuple[float, list[V]]:
    submission = Submission(key="1", problem_id=NAME, code=code, language=language)
    result = await scorer.score(problems[NAME], submission)
    return result.points, [test.status for test in result.tests]


async def test_liveoibench_subtasks_have_rubric_points(scorer: Scorer, tmp_path: Path) -> None:
    problems = loaded(tmp_path)
    loaded_problem = problems[NAME]
    assert (loaded_problem.name, loaded_problem.year, loaded_problem.difficulty, loaded_problem.tags) == (
        "add-up",
        2024,
        "12",
        ("IOI",),
    )
    assert (loaded_problem.limits.cpu_time, loaded_problem.limits.memory) == (1.8, 300 << 20), (
        "LiveOIBench's judge adds a fifth"
    )
    assert (loaded_problem.checker.kind, loaded_problem.cpp_standard) == (CheckerKind.LINES, "gnu++17")
    assert contents(loaded_problem) == [("1 2\n", "3\n"), ("30 4\n", "34")]
    assert await points(scorer, problems, ADD) == (100, [V.AC, V.AC])
    assert await points(scorer, problems, SMALL) == (30, [V.AC, V.WA])


GRADER = '#include <cstdio>\n#include "add-up.h"\n' + ADD.partition("\n")[2].replace("a + b", "add(a, b)")
HEADER = "long long add(long long a, long long b);\n"
FUNCTION = '#include "add-up.h"\nlong long add(long long a, long long b) { return a + b; }\n'


@without_system_testlib
async def test_liveoibench_grader_is_compiled_with_submission(scorer: Scorer, tmp_path: Path) -> None:
    starter_files = {"add-up.h": HEADER, "add-up.cpp": "// yours\n"}
    code = {"grader_code": json.dumps({"grader.cpp": GRADER}), "starter_code": json.dumps(starter_files)}
    problems = loaded(tmp_path, **code)
    assert await points(scorer, problems, FUNCTION) == (100, [V.AC, V.AC])
    assert problems[NAME].starter_code == "// yours\n"
    alone = loaded(tmp_path / "alone", grader_code=json.dumps({"grader.cpp": GRADER}))
    assert not alone[NAME].grader_files, "its judge compiles none without a header"

    code["grader_code"] = json.dumps({"grader.cpp": '#include "testlib.h"\n' + GRADER})
    with pytest.raises(InputError, match=r"includes testlib\.h, which is missing"):
        loaded(tmp_path / "testlib", **code)
    write_header(tmp_path / "testlib" / "copies")
    names = [file.name for file in loaded(tmp_path / "testlib", **code)[NAME].grader_files]
    assert names == ["graders/grader.cpp", "graders/testlib.h", "graders/add-up.h"]


async def test_liveoibench_decimals_are_compared_with_tolerance(scorer: Scorer, tmp_path: Path) -> None:
    tests = {"1-a": {"input": "1 2\n", "output": "3.0\n"}, "2-b": {"input": "30 4\n", "output": "3.4e1"}}
    problems = loaded(tmp_path, tests=rubric(tests=tests))
    near = "print('%f' % (sum(map(int, input().split())) + 1e-7))"
    assert await points(scorer, problems, near, "python") == (100, [V.AC, V.AC])
    assert (await points(scorer, problems, near.replace("1e-7", "0.01"), "python"))[0] == 0


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        (rubric(tests={"1-a": TESTS["1-a"]}), "a subtask names the test '2-b', which does not exist"),
        (rubric(subtasks={"1": {"score": 1, "testcases": []}}), "a subtask has no tests"),
        (rubric(tests=[]), "Expected `object`"),
        (rubric(tests={"1-a": {"input": 5}, "2-b": {}}), "Expected `str`"),
        (rubric(tests={"1-a": [[[]]] * 200, "2-b": {}}), "Expected `object`"),
        ({**rubric(), "tests": "[" * 600}, "nested deeper"),
        (rubric(tests={}, subtasks={}), "No test cases provided"),
        (rubric("IOI-2024-contest-other"), "No test cases provided"),
    ],
)
def test_liveoibench_broken_tests_make_problem_unusable(
    tmp_path: Path, tests: dict[str, Any], message: str
) -> None:
    assert message in loaded(tmp_path, tests=tests)[NAME].unusable


def test_liveoibench_problem_without_subtasks_counts_every_test(tmp_path: Path) -> None:
    loaded_problem = loaded(tmp_path, tests=rubric(subtasks={}))[NAME]
    assert (len(loaded_problem.tests), loaded_problem.subtasks, loaded_problem.unusable) == (2, (), "")


@pytest.mark.parametrize("columns", [{"grader_code": "[1]"}, {"starter_code": "{"}, {"name": "IOI-2024"}])
def test_liveoibench_damaged_row_is_input_error(tmp_path: Path, columns: dict[str, str]) -> None:
    rows = [problem(**columns)] if "name" not in columns else [{**problem(), "problem_id": columns["name"]}]
    copies = write(tmp_path / "copies", rows, [rubric()])
    with pytest.raises(InputError, match="line 1"):
        load(find_benchmark("liveoibench"), BenchmarkOptions(data_dir=str(copies)), cache=tmp_path / "cache")


async def test_liveoibench_interactor_judges_problem(scorer: Scorer, tmp_path: Path) -> None:
    write_header(tmp_path / "copies")
    tests = rubric(tests={"1-a": {"input": "30\n", "output": ""}, "2-b": {"input": "99\n", "output": ""}})
    tests["grader_codes"] = json.dumps({"interactor.cpp": HIDDEN})
    problems = loaded(tmp_path, tests=tests, task_type="interactive")
    assert await points(scorer, problems, HALVES, "python") == (100, [V.AC, V.AC])
    assert await points(scorer, problems, HALVES.replace("// 2", "// 2000"), "python") == (0, [V.WA, V.WA])


def test_liveoibench_task_whose_script_starts_a_manager_is_excluded_with_remedy(tmp_path: Path) -> None:
    tests = rubric(tests={"1-a": {"input": "30\n", "output": ""}})
    tests["grader_codes"] = json.dumps({"manager.cpp": "int main() {}", "stub.cpp": "int main() {}"})
    scripts = {"setup_script": "g++ stub.cpp", "evaluation_script": "#!/bin/sh\nmkfifo in0 out0\n./manager"}
    problems = loaded(tmp_path, tests=tests, task_type="interactive", **scripts)
    assert list(problems.left_out) == [SCRIPTS]
    assert "problems=FOLDER" in SCRIPTS


def test_liveoibench_results_of_contestants_are_read(tmp_path: Path) -> None:
    """Each contest has columns of different names. Contests with two divisions are ignored."""
    ranking = [
        {"Rank": 1, "Add Up": "100", "Other": 30, "CF_Rating": 2100},
        {"Rank": 2, "Add Up": 40.5, "Other": None, "CF_Rating": 0},
    ]
    other, other_ranking = NAME.replace("add-up", "other"), [{"Recalculated_Total": 75, "Add Up": 1}]
    contests = [
        ("IOI-2024-contest", [NAME, other], ranking),
        ("IOI-2024-day1", [NAME], [{"Sum": 1}]),
        ("USACO-2024-x-combined", [NAME], ranking),
        ("CCO-2024-contest", [NAME], other_ranking),
    ]
    rows = [
        {"contest_id": name, "problems": json.dumps(ids), "contestants_ranking": json.dumps(people)}
        for name, ids, people in contests
    ]
    problems = loaded(tmp_path)
    with pytest.raises(InputError, match="no file 'data/contest_results"):
        problems.read_people()
    write_table(tmp_path / "copies" / "LiveOIBench_contestants" / "data" / "contest_results.parquet", rows)
    contest_people = loaded(tmp_path).read_people()
    assert contest_people is not None and contest_people.source == "LiveOIBench/LiveOIBench_contestants"
    assert [
        (contest.contest, contest.problems, contest.totals, contest.ratings)
        for contest in contest_people.contests
    ] == [
        ("IOI-2024-contest", (NAME, other), (130, 40.5), (2100, None)),
        ("CCO-2024-contest", (NAME,), (75,), (None,)),
    ]


def test_liveoibench_dump_is_guessed_and_interactive_tasks_excluded(cli: CommandLine, tmp_path: Path) -> None:
    interactive_id = "CEOI-2023-day1-guess"
    problems = [problem(), problem(interactive_id, task_type="interactive")]
    copies = write(tmp_path / "copies", problems, [rubric(), rubric(interactive_id)])
    listed = cli("problems", "liveoibench", "--data-dir", copies)
    assert listed.returncode == 0 and "1 of 1 package can be used" in listed.stdout, listed.stderr
    assert "1 problem left out: interactive" in listed.stdout
    rows = [
        {"uuid": "1", "problem_id": NAME, "code": ADD},
        {"uuid": "2", "problem_id": interactive_id, "code": ADD},
    ]
    dump = tmp_path / "d.jsonl"
    dump.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    completed = cli("score", dump, "--data-dir", copies, "--out", "run")
    assert completed.returncode == 0, completed.stderr
    assert "--problems liveoibench, as the dump's ids" in completed.stderr
    assert {key: row["points"] for key, row in results(tmp_path / "run").items()} == {"1": 100}
