"""CodeContests: rows of its schema become problems, with limits, files and solutions in several languages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hub_rows import ADD, code_contests, contents, loaded
from judged import statuses

from ioi_eval import Scorer
from ioi_eval.errors import InputError, JudgeFailure
from ioi_eval.models import Problem
from ioi_eval.models import Verdict as V

NAME = "1575_A. Add"


def one(folder: Path, **columns: Any) -> Problem:
    return loaded(folder, "code_contests", [code_contests(NAME, **columns)])[NAME]


def io(*pairs: tuple[str, str]) -> dict[str, list[str]]:
    return {"input": [given for given, _ in pairs], "output": [wanted for _, wanted in pairs]}


def test_code_contests_row_becomes_a_problem(tmp_path: Path) -> None:
    problem = one(tmp_path)
    assert problem.statement is not None and problem.statement.read() == b"Add two numbers."
    assert (problem.difficulty, problem.tags) == ("A", ("CODEFORCES", "math"))
    assert (problem.limits.cpu_time, problem.limits.wall_time) == (1.5, 4)
    assert problem.limits.memory == 256_000_000
    assert contents(problem) == [("1 2\n", "3\n"), ("30 4\n", "34\n"), ("5 5\n", "10\n")]
    assert problem.cpp_standard == "gnu++17"


def test_generated_tests_may_be_left_out(tmp_path: Path) -> None:
    row = code_contests(NAME)
    assert len(loaded(tmp_path, "code_contests", [row])[NAME].tests) == 3
    assert len(loaded(tmp_path, "code_contests", [row], generated_tests=False)[NAME].tests) == 2


@pytest.mark.parametrize("nothing", [None, {"seconds": None, "nanos": None}, {"seconds": 0, "nanos": 0}])
def test_missing_limits_default_to_those_of_dataset_runner(tmp_path: Path, nothing: Any) -> None:
    limits = one(tmp_path, time_limit=nothing, memory_limit_bytes=0 if nothing else None).limits
    assert (limits.cpu_time, limits.memory) == (10, 256 << 20)


async def test_code_contests_words_are_compared_case_insensitively(scorer: Scorer, tmp_path: Path) -> None:
    problem = one(tmp_path, public_tests=io(("1 2\n", "YES 3\n")), private_tests=io(("0 3", "Yes\n3")))
    assert problem.checker.absolute is None
    code = "print('yes'); print(sum(map(int, input().split())))"
    assert await statuses(scorer, problem, code) == [V.AC, V.AC, V.WA]
    assert await statuses(scorer, problem, "print('yes 3.0')") == [V.WA, V.WA, V.WA]


async def test_code_contests_decimal_answers_are_compared_with_tolerance(
    scorer: Scorer, tmp_path: Path
) -> None:
    problem = one(tmp_path, private_tests=io(("30 4\n", "34.00000\n")))
    assert problem.checker.absolute == 1e-5
    code = "print(sum(map(int, input().split())) + 0.000004)"
    assert await statuses(scorer, problem, code) == [V.AC, V.AC, V.AC]
    assert await statuses(scorer, problem, code.replace("4)", "4 * 5)")) == [V.WA, V.WA, V.WA]


async def test_code_contests_problem_with_file_input_and_output_is_judged(
    scorer: Scorer, tmp_path: Path
) -> None:
    problem = one(tmp_path, input_file="add.in", output_file="add.out")
    assert (problem.options.input_file, problem.options.output_file) == ("add.in", "add.out")
    code = "a = open('add.in').read().split()\nopen('add.out', 'w').write(str(int(a[0]) + int(a[1])))"
    assert await statuses(scorer, problem, code) == [V.AC, V.AC, V.AC]
    assert V.AC not in await statuses(scorer, problem, ADD)


# --- which problem -----------------------------------------------------------------------------------


def test_code_contests_problem_ids_are_names_or_codeforces_ids(tmp_path: Path) -> None:
    rows = [
        code_contests(NAME),
        code_contests("p00001 Sum", source=6, difficulty=0, cf_contest_id=0, cf_index="", cf_tags=None),
        code_contests("sum", source=1, difficulty=1, cf_contest_id=None, cf_index=None),
        code_contests("sum", source=3, difficulty=18, cf_contest_id=0, cf_index=""),
    ]
    problems = loaded(tmp_path, "code_contests", rows)
    assert set(problems) == {NAME, "p00001 Sum", "sum [CODECHEF 2]", "sum [HACKEREARTH 3]"}
    assert problems.find("1575/A").id == NAME
    found = [(problem.difficulty, problem.tags) for problem in problems.values()]
    assert found == [
        ("A", ("CODEFORCES", "math")),
        ("", ("AIZU",)),
        ("EASY", ("CODECHEF", "math")),
        ("L", ("HACKEREARTH", "math")),
    ]
    chosen = loaded(tmp_path, "code_contests", rows, difficulty=frozenset({"easy"}), tags=frozenset({"MATH"}))
    assert list(chosen) == ["sum [CODECHEF 2]"]


def test_code_contests_enumeration_columns_accept_names(tmp_path: Path) -> None:
    words = {"source": "ATCODER", "difficulty": "UNKNOWN_DIFFICULTY", "cf_tags": ["dp"]}
    row = code_contests(NAME, **words, solutions=[{"language": "CPP", "solution": "int main() {}"}])
    problems = loaded(tmp_path, "code_contests", [row], schema=False)
    assert (problems[NAME].difficulty, problems[NAME].tags) == ("", ("ATCODER", "dp"))
    assert problems.references(NAME)[0].language == "c++"


# --- its own solutions -------------------------------------------------------------------------------


def test_code_contests_solutions_have_expected_verdict_and_language(tmp_path: Path) -> None:
    solutions = {"language": [0, 1, 2, 3, 4], "solution": list("abcde")}
    row = code_contests(NAME, solutions=solutions, incorrect_solutions={"language": [2], "solution": ["f"]})
    found = loaded(tmp_path, "code_contests", [row]).references(NAME)
    assert [(one.code, one.language, one.expected) for one in found] == [
        ("a", "", "correct"),
        ("b", "python2", "correct"),
        ("c", "c++", "correct"),
        ("d", "python3", "correct"),
        ("e", "java", "correct"),
        ("f", "c++", "rejected"),
    ]
    assert len({one.name for one in found}) == 6


def test_code_contests_problem_without_solutions_has_no_references(tmp_path: Path) -> None:
    row = code_contests(NAME, solutions=None, incorrect_solutions={"language": [], "solution": []})
    assert loaded(tmp_path, "code_contests", [row]).references(NAME) == ()


# --- rows that are broken ----------------------------------------------------------------------------

EMPTY: dict[str, list[str]] = {"input": [], "output": []}
UNUSABLE: dict[str, dict[str, Any]] = {
    "No test cases provided": {"public_tests": None, "private_tests": EMPTY, "generated_tests": EMPTY},
    "Could not parse test cases: private_tests: 2 inputs and 1 outputs": {
        "private_tests": {"input": ["1", "2"], "output": ["1"]}
    },
    "Could not parse test cases: public_tests: a test without a text": {
        "public_tests": {"input": [None], "output": ["1"]}
    },
    "Could not parse test cases: 'a/b' is not a file name": {"input_file": "a/b"},
}


async def test_code_contests_problem_with_broken_tests_is_unusable(scorer: Scorer, tmp_path: Path) -> None:
    rows = [code_contests(str(number), **columns) for number, columns in enumerate(UNUSABLE.values())]
    problems = loaded(tmp_path, "code_contests", [*rows, code_contests("sound")])
    for number, reason in enumerate(UNUSABLE):
        with pytest.raises(JudgeFailure, match=reason):
            await statuses(scorer, problems[str(number)], ADD)
    assert not problems["sound"].unusable


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"description": 5}, "field 'description': 5 is not a text"),
        ({"time_limit": 2}, "field 'time_limit': 2 is not a time"),
        ({"time_limit": {"seconds": -1, "nanos": 0}}, "is not a time"),
        ({"memory_limit_bytes": "much"}, "'much' is not a number"),
        ({"difficulty": 1.5}, "1.5 is not a whole number"),
        ({"cf_tags": "math"}, "'math' is not a list of texts"),
    ],
)
def test_code_contests_row_with_wrong_types_is_input_error(
    tmp_path: Path, columns: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        loaded(tmp_path, "code_contests", [code_contests(NAME, **columns)], schema=False)


def test_code_contests_row_without_required_columns_is_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="missing column description, public_tests, private_tests"):
        loaded(tmp_path, "code_contests", [{"name": NAME}], schema=False)
    few = {"name": NAME, "description": "", "public_tests": io(("1 2", "3")), "private_tests": io()}
    problem = loaded(tmp_path, "code_contests", [few], schema=False)[NAME]
    assert (problem.statement, problem.limits.cpu_time, len(problem.tests)) == (None, 10, 1)
