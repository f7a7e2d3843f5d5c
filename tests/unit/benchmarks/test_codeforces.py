"""open-r1/codeforces: rows of its schema become problems, and what models wrote for them is judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from benchmark_tables import write_table
from codeforces_rows import ADD, codeforces, generate, write
from dump_rows import write_jsonl
from hub_rows import contents
from support.datasets import BenchmarkOptions, LoadedProblems, find_benchmark, load, open_dump

from ioi_eval import Scorer
from ioi_eval.errors import InputError
from ioi_eval.models import CheckerKind, Problem, Submission
from ioi_eval.models import Verdict as V

# Any number above the sum will do.
ABOVE = """import sys
given, wanted, got = (open(path).read().split() for path in sys.argv[1:])
print(1 if len(got) == 1 and int(got[0]) > sum(map(int, given)) else 0)
"""


def loaded(folder: Path, *rows: dict[str, Any], **options: Any) -> LoadedProblems:
    choice = BenchmarkOptions(data_dir=str(write(folder, rows)), **options)
    return load(find_benchmark("codeforces"), choice, cache=folder / "cache")


async def judged(scorer: Scorer, problem: Problem, code: str) -> tuple[list[V], str]:
    submission = Submission(key="1", problem_id=problem.id, code=code, language="python")
    result = await scorer.score(problem, submission)
    return [test.status for test in result.tests], result.checker


def test_codeforces_row_becomes_a_problem(tmp_path: Path) -> None:
    problem = loaded(tmp_path, codeforces())["1/A"]
    assert (problem.name, problem.year, problem.difficulty) == ("Sum", 2023, "800")
    assert problem.tags == ("math", "implementation")
    limits = problem.limits
    assert (limits.cpu_time, limits.wall_time, limits.memory) == (1.5, 4.0, 64 << 20)
    assert problem.checker.kind is CheckerKind.TOKENS
    assert [test.name for test in problem.tests] == ["example-001", "official-001"], "examples first, once"
    assert contents(problem) == [("1 2\n", "3\n"), ("30 4\n", "34\n")]
    statement = problem.statement
    assert statement is not None
    assert statement.read().decode().startswith("# Sum\n\nAdd two numbers.\n\n## Input\n\nTwo numbers.")


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
    assert len(problems["1/B"].tests) == 2, "it says that it has none"
    assert len(loaded(tmp_path, *rows, generated_tests=False)["1/A"].tests) == 2
    choice = BenchmarkOptions(data_dir=str(tmp_path))  # of the same rows
    for again in (["5 5\n", "0 0\n"], ["6 6\n"]):
        found = load(find_benchmark("codeforces"), choice, cache=tmp_path / "cache")["1/A"]
        assert [given for given, _ in contents(found)[2:]] == again, "the file is another one then"
        generate(tmp_path, "0001", ("1/A", "6 6\n", "12\n"))


def test_missing_generated_tests_file_is_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"test_cases_0001.parquet.*generated_tests=False"):
        loaded(tmp_path, codeforces(generated_tests=3))


def test_unjudgeable_problems_are_excluded_and_counted(tmp_path: Path) -> None:
    rows = [
        codeforces(),
        codeforces("2/A", interaction_format="Ask."),
        codeforces("2/B", interaction_format="Ask."),
        codeforces("3/A", executable=False),
        codeforces("4/A", official_tests=[], examples=None),
        codeforces("5/A", time_limit=None),
    ]
    problems = loaded(tmp_path, *rows)
    assert set(problems) == {"1/A"}
    assert problems.left_out == {
        "interactive, and the dataset has no interactor": 2,
        "the dataset says that it cannot be executed": 1,
        "no tests": 1,
        "no time limit": 1,
    }
    dump = [{"problem_id": row["id"], "uuid": row["id"], "code": "x"} for row in rows]
    info = open_dump([write_jsonl(tmp_path / "d.jsonl", dump)], problems=problems).info
    assert tuple(info.keys) == ("1/A",)
    assert info.left_out == problems.left_out


def test_codeforces_problems_are_selected_by_rating_tag_and_date(tmp_path: Path) -> None:
    later = 1_710_000_000  # 2024-03-09
    rows = [codeforces(), codeforces("2/A", rating=1900, tags=["dp"], contest_start=later)]
    assert set(loaded(tmp_path, *rows, difficulty=frozenset({"1900"}))) == {"2/A"}
    assert set(loaded(tmp_path, *rows, tags=frozenset({"DP"}))) == {"2/A"}
    assert set(loaded(tmp_path, *rows, date_from="2024-03-09")) == {"2/A"}
    assert set(loaded(tmp_path, *rows, date_to="2024-03-08")) == {"1/A"}
    with pytest.raises(InputError, match=r"difficulty '850'.*Did you mean '800'"):
        loaded(tmp_path, *rows, difficulty=frozenset({"850"}))


async def test_codeforces_without_checker_compares_tokens(scorer: Scorer, tmp_path: Path) -> None:
    problem = loaded(tmp_path, codeforces())["1/A"]
    assert await judged(scorer, problem, ADD) == ([V.AC, V.AC], "tokens")
    assert (await judged(scorer, problem, "print(' 3 ')"))[0] == [V.AC, V.WA]


async def test_generated_checker_judges_codeforces_problem(scorer: Scorer, tmp_path: Path) -> None:
    problem = loaded(tmp_path, codeforces(generated_checker=ABOVE))["1/A"]
    statuses, checker = await judged(scorer, problem, "print(20)")
    assert statuses == [V.AC, V.WA]
    assert checker.startswith("codeforces")


async def test_codeforces_problem_with_file_input_and_output_is_judged(
    scorer: Scorer, tmp_path: Path
) -> None:
    problem = loaded(tmp_path, codeforces(input_mode="file"))["1/A"]
    files = "a, b = map(int, open('input.txt').read().split())\nprint(a + b, file=open('output.txt', 'w'))\n"
    assert (await judged(scorer, problem, files))[0] == [V.AC, V.AC]
    assert (await judged(scorer, problem, ADD))[0] != [V.AC, V.AC]


@pytest.mark.parametrize(
    ("columns", "field", "words"),
    [
        ({"id": None}, "id", "None is not a text or a whole number"),
        ({"time_limit": 0.0}, "time_limit", "0.0 is not a number above 0"),
        (
            {"official_tests": [{"input": "1", "output": None}]},
            "official_tests",
            "without a text as its output",
        ),
        ({"contest_id": None, "generated_tests": 1}, "contest_id", "None is not a text"),
    ],
)
def test_row_with_invalid_column_is_input_error(
    tmp_path: Path, columns: dict[str, Any], field: str, words: str
) -> None:
    with pytest.raises(InputError) as caught:
        loaded(tmp_path, codeforces(), {**codeforces("2/A"), **columns})
    assert words in str(caught.value)
    assert (caught.value.row, caught.value.field) == (2, field)


def test_duplicate_problem_id_is_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a second problem '1/A'; the first is in row 1") as caught:
        loaded(tmp_path, codeforces(), codeforces("1/B"), codeforces())
    assert caught.value.row == 3


def test_missing_column_is_input_error(tmp_path: Path) -> None:
    write_table(tmp_path / "codeforces" / "test.parquet", [{"id": "1/A", "title": "x"}])
    with pytest.raises(InputError, match=r"missing column contest_id.*The columns are: id, title"):
        load(find_benchmark("codeforces"), BenchmarkOptions(data_dir=str(tmp_path)), cache=tmp_path / "c")
