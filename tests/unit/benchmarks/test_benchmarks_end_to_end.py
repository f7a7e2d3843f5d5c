"""Benchmarks from rows to results on the command line.

Parquet rows are scored first, and a JSON dump continues.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmark_tables import EXAMPLES, IOI_ROWS, ioi_rows, ioi_tests, write_table
from dump_rows import write_json, write_jsonl
from hub_rows import ADD, code_contests, lcb_tests, livecodebench, write_rows
from support.command_line import CommandLine, results, write_dump

# --- a contest: a grader and a checker, a manager ----------------------------------------------------

# Like the contest system's checkers: half the points for a wrong number.
HALF = """#include <cstdio>
int main(int, char **argv) {
  long long wanted, got;
  fscanf(fopen(argv[2], "r"), "%lld", &wanted);
  if (fscanf(fopen(argv[3], "r"), "%lld", &got) != 1) got = -1;
  printf("%g\\n", got == wanted ? 1.0 : got < 0 ? 0.0 : 0.5);
  fputs(got == wanted ? "translate:success" : "another number", stderr);
}
"""


def write_contest(folder: Path) -> Path:
    """Write the tables of a year: a Batch problem with grader and checker, and a Communication problem."""
    rows = [row for name in ("lanterns", "cairn") for row in ioi_rows(EXAMPLES / name, 2024)]
    for row in rows:
        if row["id"] == "lanterns":
            row["grader_files"] = [*row["grader_files"], ["checker/checker.cpp", HALF]]
    write_table(folder / "ioi" / "data" / "test-00000-of-00001.parquet", rows, IOI_ROWS)
    tests = [row for name in ("lanterns", "cairn") for row in ioi_tests(EXAMPLES / name, 2024)]
    write_table(folder / "ioi-test-cases" / "2024" / "train-00000-of-00001.parquet", tests)
    return folder


def solution(problem: str, path: str, **columns: Any) -> dict[str, Any]:
    code = (EXAMPLES / problem / "solutions" / path).read_text()
    return {"uuid": path, "problem_id": problem, "model": path.split("/")[0], "code": code, **columns}


@pytest.mark.nightly
def test_contest_checkers_and_managers_judge_dump(cli: CommandLine, tmp_path: Path) -> None:
    copies = write_contest(tmp_path / "copies")
    first = [
        solution("lanterns", "model_solution/deque.cpp", year=2024, subtask="04-full"),
        solution("lanterns", "incorrect/window_too_long.cpp"),
    ]
    second = [solution("cairn", "model_solution/slope.cpp"), solution("cairn", "incorrect/walks.cpp")]
    dumps = write_dump(tmp_path / "first.jsonl", first), write_json(tmp_path / "second.json", second)
    command = ("score", *dumps, "--problems", "ioi", "--data-dir", copies, "--out", "run", "--all-tests")
    alone = cli(*command, "--problem", "lanterns")
    assert (alone.returncode, "Left out 2 rows" in alone.stdout) == (0, False), alone.stderr
    assert len(results(tmp_path / "run")) == 2

    completed = cli(*command)
    assert completed.returncode == 0, completed.stderr
    assert "2 were scored by earlier calls" in completed.stdout
    result_rows = results(tmp_path / "run")
    points = {key: row["all_subtasks_points"] for key, row in result_rows.items()}
    assert points == {
        "model_solution/deque.cpp": 100,
        "incorrect/window_too_long.cpp": 50,
        "model_solution/slope.cpp": 100,
        "incorrect/walks.cpp": 30,
    }
    checkers = {row["problem_id"]: row["checker"] for row in result_rows.values()}
    assert checkers == {
        "lanterns": "cms checker checker/checker.cpp",
        "cairn": "cms manager graders/manager.cpp",
    }
    test_results = result_rows["incorrect/window_too_long.cpp"]["all_subtasks_results"][-1]["test_results"]
    assert {test["feedback"] for test in test_results if test["status"] == "PA"} == {"another number"}


# --- single problems ---------------------------------------------------------------------------------

METHOD = "class Solution:\n    def add(self, a, b): return a + b\n"
FUNCTION = {
    "starter_code": "class Solution:\n    def add(self, a: int, b: int) -> int:\n        ",
    "metadata": '{"func_name": "add"}',
    "public_test_cases": lcb_tests(("2\n3", "5"), kind="functional"),
    "private": "",
}
FILES = "a = open('a.in').read().split()\nopen('a.out', 'w').write(str(int(a[0]) + int(a[1])))"
NO_TESTS = dict.fromkeys(("public_tests", "private_tests", "generated_tests"))


def hard_ones(name: str) -> tuple[str, list[dict[str, Any]], str]:
    """Return the name of hard problems, an easy, a hard and a broken problem, and a solution."""
    if name == "livecodebench":
        broken = livecodebench("broken", difficulty="hard", public_test_cases="[{")
        called = livecodebench("hard", difficulty="hard", **FUNCTION)
        return "hard", [livecodebench("read"), called, broken], METHOD
    files = code_contests("hard", difficulty=8, input_file="a.in", output_file="a.out")
    return "B", [code_contests("read"), files, code_contests("broken", difficulty=8, **NO_TESTS)], FILES


@pytest.mark.nightly(unless="livecodebench")
@pytest.mark.parametrize(
    ("name", "write", "checkers"),
    [
        ("livecodebench", write_json, {"read": "lines", "hard": "json"}),
        ("code_contests", write_jsonl, {"read": "tokens", "hard": "tokens"}),
    ],
)
def test_benchmark_rows_are_scored_and_reported(
    cli: CommandLine, tmp_path: Path, name: str, write: Callable[..., Path], checkers: dict[str, str]
) -> None:
    difficulty, rows, solved = hard_ones(name)
    codes = {"easy": ("read", ADD), "hard": ("hard", solved), "wrong": ("hard", solved.replace("+", "-"))}
    codes["broken"] = ("broken", ADD)
    dump_rows = [
        {"uuid": key, "problem_id": of, "generation": f"```python\n{code}\n```", "language": "python"}
        for key, (of, code) in codes.items()
    ]
    dump = write_dump(tmp_path / "d.jsonl", dump_rows)
    copies = write_rows(tmp_path / "copies", name, rows)
    base = ("score", dump, "--out", "run", "--packages", "none", "--problems")
    first = cli(*base, name, "--data-dir", copies, "--difficulty", difficulty)
    assert first.returncode == 3, first.stderr
    assert "Left out 1 row: not selected" in first.stdout
    shown = {key: row["pass_rate"] for key, row in results(tmp_path / "run").items()}
    assert shown == {"hard": 1, "wrong": 0}

    extended = cli(*base, write(tmp_path / "rows.json", rows))
    assert (extended.returncode, "2 were scored by earlier calls" in extended.stdout) == (3, True), (
        extended.stderr
    )
    assert "not judged: broken: " in extended.stderr
    result_rows = results(tmp_path / "run")
    assert {key: row["resolved"] for key, row in result_rows.items()} == {
        "easy": True,
        "hard": True,
        "wrong": False,
    }
    assert {row["problem_id"]: row["checker"] for row in result_rows.values()} == checkers
    assert result_rows["hard"]["difficulty"] == difficulty
