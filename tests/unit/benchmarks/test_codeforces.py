"""open-r1/codeforces: rows become problems, and dumps of programs are judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from codeforces_rows import ADD, codeforces, generate, write
from dump_rows import write_jsonl
from hub_rows import contents
from support.datasets import BenchmarkOptions, LoadedProblems, find_benchmark, load, open_dump

from ioi_eval import Scorer
from ioi_eval.errors import InputError
from ioi_eval.models import Problem, Submission
from ioi_eval.models import Verdict as V

# Accepts any number above the sum.
ABOVE = """import sys
given, wanted, got = (open(path).read().split() for path in sys.argv[1:])
print(1 if len(got) == 1 and int(got[0]) > sum(map(int, given)) else 0)
"""


def loaded(folder: Path, *rows: dict[str, Any], **options: Any) -> LoadedProblems:
    choice = BenchmarkOptions(data_dir=str(write(folder, rows)), **options)
    return load(find_benchmark("codeforces"), choice, cache=folder / "cache")


async def judge_code(scorer: Scorer, problem: Problem, code: str) -> tuple[list[V], str]:
    submission = Submission(key="1", problem_id=problem.id, code=code, language="python")
    result = await scorer.score(problem, submission)
    return [test.status for test in result.tests], result.checker


def test_generated_tests_are_read_from_contest_file(tmp_path: Path) -> None:
    tests = [
        ("1/A", "5 5\n", "10\n"),
        ("1/B", "1 1", "2"),
        ("1/A", "30 4\n", "34\n"),
        ("1/A", "0 0\n", "0\n"),
    ]
    generate(tmp_path, "0001", *tests)
    rows = codeforces(generated_tests=3), codeforces("1/B", generated_tests=0)
    problems = loaded(tmp_path, *rows)
    names = ["example-001", "official-001", "generated-001", "generated-002"]
    assert [test.name for test in problems["1/A"].tests] == names
    assert contents(problems["1/A"])[2:] == [("5 5\n", "10\n"), ("0 0\n", "0\n")]
    assert len(problems["1/B"].tests) == 2, "the row declares no generated tests"
    assert len(loaded(tmp_path, *rows, generated_tests=False)["1/A"].tests) == 2
    choice = BenchmarkOptions(data_dir=str(tmp_path))  # without new rows
    for generated in (["5 5\n", "0 0\n"], ["6 6\n"]):
        loaded_problem = load(find_benchmark("codeforces"), choice, cache=tmp_path / "cache")["1/A"]
        assert [test_input for test_input, _ in contents(loaded_problem)[2:]] == generated, (
            "the file has changed"
        )
        generate(tmp_path, "0001", ("1/A", "6 6\n", "12\n"))


def test_missing_generated_tests_file_is_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"test_cases_0001.parquet.*generated_tests=False"):
        loaded(tmp_path, codeforces(generated_tests=3))


async def test_codeforces_without_checker_compares_tokens(scorer: Scorer, tmp_path: Path) -> None:
    problem = loaded(tmp_path, codeforces())["1/A"]
    assert await judge_code(scorer, problem, ADD) == ([V.AC, V.AC], "tokens")
    assert (await judge_code(scorer, problem, "print(' 3 ')"))[0] == [V.AC, V.WA]


async def test_generated_checker_judges_codeforces_problem(scorer: Scorer, tmp_path: Path) -> None:
    problem = loaded(tmp_path, codeforces(generated_checker=ABOVE))["1/A"]
    statuses, checker = await judge_code(scorer, problem, "print(20)")
    assert statuses == [V.AC, V.WA]
    assert checker.startswith("codeforces")


async def test_codeforces_problem_with_file_input_and_output_is_judged(
    scorer: Scorer, tmp_path: Path
) -> None:
    problem = loaded(tmp_path, codeforces(input_mode="file"))["1/A"]
    files = "a, b = map(int, open('input.txt').read().split())\nprint(a + b, file=open('output.txt', 'w'))\n"
    assert (await judge_code(scorer, problem, files))[0] == [V.AC, V.AC]
    assert (await judge_code(scorer, problem, ADD))[0] != [V.AC, V.AC]


def test_codeforces_id_without_slash_names_the_problem(tmp_path: Path) -> None:
    problems = loaded(tmp_path, codeforces(), codeforces(id="1/B"))
    dump = write_jsonl(tmp_path / "d.jsonl", [{"problem_id": "1B", "code": ADD, "language": "cpp"}])
    assert [submission.problem_id for submission in open_dump([dump], problems=problems)] == ["1/B"]


def test_dump_rows_of_excluded_problems_are_counted_with_the_reason(tmp_path: Path) -> None:
    rows = [codeforces(), codeforces("2/A", interaction_format="Ask.")]
    problems = loaded(tmp_path, *rows)
    dump = [{"problem_id": row["id"], "uuid": row["id"], "code": "x"} for row in rows]
    info = open_dump([write_jsonl(tmp_path / "d.jsonl", dump)], problems=problems).info
    assert tuple(info.keys) == ("1/A",)
    assert info.left_out == problems.left_out
