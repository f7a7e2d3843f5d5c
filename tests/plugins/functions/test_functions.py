"""Rows of HumanEval, MBPP, KodCode and EvalPlus become problems whose tests are calls of a function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hub_rows import contents
from judged import statuses
from support.datasets import BenchmarkOptions, find_benchmark, load
from test_entries import TOTAL, made, written

from ioi_eval import Scorer
from ioi_eval.models import Problem
from ioi_eval.models import Verdict as V

CHECK = """
METADATA = {}

def check(candidate):
    assert True, "This prints if this assert fails"
    assert candidate([1, 2]) == 3
    assert candidate([2, 3]) == 5
    assert candidate([3, 4]) == 7
    numbers = [0] * 3
    assert abs(candidate(numbers) - 0) < 1e-6, f"{numbers}"
"""
HUMANEVAL = {
    "task_id": "HumanEval/7",
    "prompt": "def total(numbers):\n    '''Add.'''\n",
    "canonical_solution": "    return sum(numbers)\n",
    "entry_point": "total",
    "test": CHECK,
}
MBPP = {
    "task_id": 11,
    "text": "Add.",
    "code": TOTAL,
    "test_list": ["assert total((1, 2)) == 3", "assert total([]) == 0"],
    "test_setup_code": "",
    "challenge_test_list": [],
}
EVALPLUS = {
    "task_id": "Mbpp/2",
    "prompt": '"""\nShared.\n"""\n',
    "entry_point": "similar_elements",
    "canonical_solution": "def similar_elements(a, b):\n    return tuple(set(a) & set(b))\n",
    "base_input": [[[3, 4], [4, 5]]],
    "plus_input": [[["a", 1], [1]], [[1.5], []]],
    "atol": 0,
}
# (benchmark, row, id, a right program, a wrong program, number of tests)
ROWS: dict[str, tuple[dict[str, Any], str, str, str, int]] = {
    "humaneval": (HUMANEVAL, "HumanEval/7", TOTAL, TOTAL.replace("numbers)\n ", "numbers): return 3 #"), 4),
    "mbpp": (MBPP, "Mbpp/11", TOTAL, TOTAL.replace("sum", "len"), 2),
    "kodcode": (
        {
            "question_id": "Leetcode_7_C",
            "question": "Add.",
            "solution": TOTAL,
            "test_code": "from solution import total\n\ndef test_it():\n    assert total([1, 2]) == 3\n",
            "gpt_difficulty": "easy",
            "subset": "Leetcode",
            "style": "complete",
        },
        "Leetcode_7_C",
        TOTAL,
        TOTAL.replace("sum", "len"),
        1,
    ),
}


@pytest.mark.parametrize("name", ROWS)
async def test_benchmark_row_becomes_a_function_problem(scorer: Scorer, tmp_path: Path, name: str) -> None:
    row, label, right, wrong, number = ROWS[name]
    problem = made(tmp_path, name, row)
    assert (problem.id, len(problem.tests), problem.unusable) == (label, number, "")
    assert set(await statuses(scorer, problem, right, "python")) == {V.AC}
    assert V.AC not in await statuses(scorer, problem, wrong, "python") or number > 1


@pytest.mark.parametrize("name", ROWS)
def test_reference_solutions_of_benchmark_rows_are_read(name: str, tmp_path: Path) -> None:
    row, label, *_ = ROWS[name]
    options = BenchmarkOptions(dataset=str(written(tmp_path / "rows.jsonl", row)))
    loaded = load(find_benchmark(name), options, cache=tmp_path / "cache")
    reference_code = HUMANEVAL["prompt"] + HUMANEVAL["canonical_solution"] if name == "humaneval" else TOTAL
    assert [reference.code for reference in loaded.read_references(label)] == [reference_code]


@pytest.mark.parametrize("name", ["11", "Mbpp/11"])
def test_mbpp_problem_is_found_by_number_and_by_problem_id(tmp_path: Path, name: str) -> None:
    rows = written(tmp_path / "rows.jsonl", MBPP, MBPP | {"task_id": 12})
    problems = load(find_benchmark("mbpp"), BenchmarkOptions(dataset=str(rows)), cache=tmp_path / "cache")
    assert problems.find(name).id == "Mbpp/11"


# Tests of HumanEval with a loop, as the dataset has them, and programs that pass them.
LOOPS = {
    "HumanEval/32": (
        """
    import math
    import random
    rng = random.Random(42)
    import copy
    for _ in range(100):
        ncoeff = 2 * rng.randint(1, 4)
        coeffs = []
        for _ in range(ncoeff):
            coeff = rng.randint(-10, 10)
            if coeff == 0:
                coeff = 1
            coeffs.append(coeff)
        solution = candidate(copy.deepcopy(coeffs))
        assert math.fabs(poly(coeffs, solution)) < 1e-4
""",
        """
def f(xs):
    poly = lambda x: sum(c * x ** i for i, c in enumerate(xs))
    low, high = -1, 1
    while poly(low) * poly(high) > 0:
        low, high = 2 * low, 2 * high
    while high - low > 1e-10:
        middle = (low + high) / 2
        low, high = (middle, high) if poly(middle) * poly(low) > 0 else (low, middle)
    return low
""",
        100,
    ),
    "HumanEval/38": (
        """
    from random import randint, choice
    import string

    letters = string.ascii_lowercase
    for _ in range(100):
        str = ''.join(choice(letters) for i in range(randint(10, 20)))
        encoded_str = encode_cyclic(str)
        assert candidate(encoded_str) == str
""",
        """
def f(s):
    groups = [s[i:i + 3] for i in range(0, len(s), 3)]
    return ''.join(g[2] + g[:2] if len(g) == 3 else g for g in groups)
""",
        100,
    ),
    "HumanEval/44": (
        """
    assert candidate(8, 3) == "22"
    for x in range(2, 8):
        assert candidate(x, x + 1) == str(x)
""",
        """
def f(x, base):
    return (f(x // base, base) if x >= base else '') + str(x % base)
""",
        7,
    ),
    "HumanEval/50": (
        """
    from random import randint, choice
    import copy
    import string

    letters = string.ascii_lowercase
    for _ in range(100):
        str = ''.join(choice(letters) for i in range(randint(10, 20)))
        encoded_str = encode_shift(str)
        assert candidate(copy.deepcopy(encoded_str)) == str
""",
        """
def f(s):
    return ''.join(chr((ord(c) - 5 - 97) % 26 + 97) for c in s)
""",
        100,
    ),
    "HumanEval/53": (
        """
    import random

    assert candidate(0, 1) == 1

    for i in range(100):
        x, y = random.randint(0, 1000), random.randint(0, 1000)
        assert candidate(x, y) == x + y
""",
        """
def f(a, b):
    return a + b
""",
        101,
    ),
}


def problem_of_loop(folder: Path, name: str) -> Problem:
    body, _, number = LOOPS[name]
    row = HUMANEVAL | {"task_id": name, "entry_point": "f", "test": f"def check(candidate):{body}"}
    problem = made(folder, "humaneval", row)
    assert (len(problem.tests), problem.unusable) == (number, "")
    return problem


@pytest.mark.parametrize("name", LOOPS)
def test_humaneval_test_loop_is_expanded_to_separate_tests(tmp_path: Path, name: str) -> None:
    problem_of_loop(tmp_path, name)


@pytest.mark.nightly(unless="HumanEval/38")
@pytest.mark.parametrize("name", LOOPS)
async def test_tests_from_humaneval_loop_accept_right_and_reject_wrong_program(
    scorer: Scorer, tmp_path: Path, name: str
) -> None:
    problem, (_, program, _) = problem_of_loop(tmp_path, name), LOOPS[name]
    problem = msgspec.structs.replace(problem, tests=problem.tests[-5:])  # all are of the loop
    assert set(await statuses(scorer, problem, program)) == {V.AC}
    assert V.AC not in await statuses(scorer, problem, "def f(*args): return 'no'")


def test_unknown_loop_in_humaneval_test_makes_problem_unusable(tmp_path: Path) -> None:
    test = "def check(candidate):\n    for x in range(2, 9):\n        assert candidate(x, x + 1) == str(x)\n"
    row = HUMANEVAL | {"task_id": "HumanEval/44", "entry_point": "f", "test": test}
    problem = made(tmp_path, "humaneval", row)
    assert "is not a plain assertion; write an assertion for each value" in problem.unusable


async def test_nested_sets_in_assertions_are_compared(scorer: Scorer, tmp_path: Path) -> None:
    tests = (
        "assert f(1) == {frozenset('a'), ('b', frozenset())}",
        "assert f(2) == {frozenset('a'): [{1}]}",
    )
    code = "def f(x):\n    a = frozenset('a')\n    return {a, ('b', frozenset())} if x < 2 else {a: [{1}]}"
    problem = made(tmp_path, "mbpp", MBPP | {"test_list": tests})
    assert set(await statuses(scorer, problem, code)) == {V.AC}


async def test_evalplus_file_is_judged_with_base_and_generated_tests(scorer: Scorer, tmp_path: Path) -> None:
    problem = made(tmp_path, "evalplus", EVALPLUS)
    assert [arguments for arguments, _ in contents(problem)] == [
        "((3, 4), (4, 5))",
        "(('a', 1), (1,))",
        "((1.5,), ())",
    ]
    assert set(await statuses(scorer, problem, EVALPLUS["canonical_solution"])) == {V.AC}
    as_list = "def similar_elements(a, b):\n    return [x for x in a if x in b]\n"
    assert set(await statuses(scorer, problem, as_list)) == {V.AC}, "outputs are compared as sets"
    assert V.WA in await statuses(scorer, problem, "def similar_elements(a, b): return a")
    only_base = made(tmp_path, "evalplus", EVALPLUS, generated_tests=False)
    assert len(only_base.tests) == 1
