"""HumanEval+ and MBPP+: test programs are parsed into inputs, results and comparisons, and not executed."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from evalplus_rows import PLAIN, SUMS, checked, humaneval
from hub_rows import contents, listed, loaded
from hypothesis import given
from hypothesis import strategies as st
from judged import statuses
from support.command_line import CommandLine
from support.datasets import CasesError
from support.function_harness import load_function_harness

from ioi_eval import Scorer
from ioi_eval.models import CheckerKind, Problem
from ioi_eval.models import Verdict as V
from ioi_eval.rules.assertions import read_evalplus_test
from ioi_eval.rules.json_tests import evaluate_literal, format_arguments, format_result
from ioi_eval.runs.sources import benchmark_of

# Reduced from the dataset's rows to the relevant columns.
AS_SETS = "def assertion(out, exp, atol):\n    exact_match = set(out) == set(exp)\n    assert exact_match\n"
NOT_NONE = """
def assertion(out, exp, atol):
    if isinstance(out, bool):
        exact_match = out == exp
    else:
        exact_match = exp == (out is not None)
"""


def looped(name: str, inputs: str, results: str, *, head: str = PLAIN) -> str:
    """Return a test of MBPP+."""
    return f"""from math import inf
{head}
inputs = {inputs}
results = {results}
for i, (inp, exp) in enumerate(zip(inputs, results)):
    assertion({name}(*inp), exp, 0)
"""


def mbpp(test: str, code: str) -> dict[str, Any]:
    return {
        "task_id": 11,
        "code": code,
        "prompt": "Write a function.",
        "source_file": "x.ipynb",
        "test_imports": [],
        "test_list": ["assert True"],
        "test": test,
    }


def load_problem(folder: Path, row: dict[str, Any]) -> Problem:
    name = "mbpp_plus" if "code" in row else "humaneval_plus"
    problems = loaded(folder, name, [row], schema=False)
    [problem] = problems.values()
    assert not problem.unusable, problem.unusable
    return problem


async def test_humaneval_plus_row_becomes_a_function_problem(scorer: Scorer, tmp_path: Path) -> None:
    problems = loaded(tmp_path, "humaneval_plus", [SUMS], schema=False)
    problem = problems.find("HumanEval/7")
    assert problems.find("7") is problem
    assert problem.starter_code.startswith("def total") and problem.options.function == "total"
    assert contents(problem)[0] == ("([1, 2],)", "3")
    [reference] = problems.read_references("HumanEval/7")
    assert await statuses(scorer, problem, reference.code) == [V.AC] * 3
    assert await statuses(scorer, problem, "def total(numbers): return round(sum(numbers), 1)") == [V.AC] * 3
    assert await statuses(scorer, problem, "def total(numbers): return sum(numbers) + 0.001") == [V.WA] * 3


async def test_evalplus_tolerance_applies_only_to_floats(scorer: Scorer, tmp_path: Path) -> None:
    problem = load_problem(
        tmp_path, humaneval(checked("[[[10**15 - 1, 1]]]".replace("10**15 - 1", "9" * 15), "[10.5]"))
    )
    assert (problem.checker.absolute, problem.checker.relative) == (1e-6, 1e-7)
    exact = load_problem(tmp_path / "b", humaneval(checked("[[[1]]]", f"[{10**15}]", atol="0.01")))
    assert exact.checker.absolute == 0.01
    assert await statuses(scorer, exact, f"def total(numbers): return {10**15 + 1}") == [V.WA]
    assert await statuses(scorer, exact, f"def total(numbers): return {10**15}.001") == [V.AC]


async def test_evalplus_distinguishes_tuples_and_sets_from_lists(scorer: Scorer, tmp_path: Path) -> None:
    code = "def twice(pair, more): return {pair, pair + (max(more),)}"
    test = looped("twice", "[[(1, 2), {3, 4}], [(1,), {inf}]]", "[{(1, 2), (1, 2, 4)}, {(1,), (1, inf)}]")
    problem = load_problem(tmp_path, mbpp(test, code))
    assert problem.id == "Mbpp/11" and problem.options.function == "twice"
    assert await statuses(scorer, problem, code) == [V.AC, V.AC]
    assert await statuses(scorer, problem, code.replace("{pair, pair", "[pair, pair").replace("}", "]")) == [
        V.WA,
        V.WA,
    ]


async def test_evalplus_results_are_compared_as_sets_if_the_test_does(scorer: Scorer, tmp_path: Path) -> None:
    code = "def both(a, b): return tuple(set(a) & set(b))"
    problem = load_problem(
        tmp_path, mbpp(looped("both", "[((3, 4, 5), (5, 4))]", "[(4, 5)]", head=AS_SETS), code)
    )
    assert problem.checker.kind is CheckerKind.CODEFORCES and problem.checker.decides
    for result, status in (("[5, 4]", V.AC), ("(4, 5, 5)", V.AC), ("[4]", V.WA), ("7", V.WA)):
        assert await statuses(scorer, problem, f"def both(a, b): return {result}") == [status]


async def test_mbpp_plus_match_object_is_compared_with_none(scorer: Scorer, tmp_path: Path) -> None:
    code = "import re\ndef found(a): return re.search('b', a)"
    problem = load_problem(
        tmp_path, mbpp(looped("found", "[['abc'], ['xyz']]", "[True, False]", head=NOT_NONE), code)
    )
    assert await statuses(scorer, problem, "def found(a): return 'b' if 'b' in a else None") == [V.AC, V.AC]
    assert await statuses(scorer, problem, "def found(a): return None") == [V.WA, V.AC]


async def test_evalplus_answers_are_computed_by_reference_function(scorer: Scorer, tmp_path: Path) -> None:
    test = PLAIN.replace("import numpy as np\n", "") + (
        "def ref_func(numbers):\n    return sum(numbers)\n\ndef check(candidate):\n"
        "    inputs = [[[1, 2]], [[5]]]\n    for i, inp in enumerate(inputs):\n"
        "        assertion(candidate(*inp), ref_func(*inp), 0)\n"
    )
    problem = load_problem(tmp_path, humaneval(test))
    assert await statuses(scorer, problem, "def total(numbers): return sum(numbers)") == [V.AC, V.AC]
    assert await statuses(scorer, problem, "def total(numbers): return 3") == [V.AC, V.WA]


async def test_humaneval_plus_find_zero_accepts_any_root(scorer: Scorer, tmp_path: Path) -> None:
    head = "import math\ndef _poly(xs, x):\n    return sum(c * math.pow(x, i) for i, c in enumerate(xs))\n"
    test = checked("[[[-4, 0, 1]]]", "[2.0]", head=head).replace(
        "assertion(candidate(*inp), exp, 0)", "assert _poly(*candidate(*inp), inp) <= 0.0001"
    )
    problem = load_problem(tmp_path, humaneval(test))
    for root, status in (("2.0", V.AC), ("-2.0", V.AC), ("1.0", V.WA)):
        assert await statuses(scorer, problem, f"def total(xs): return {root}") == [status]


def test_problems_command_lists_humaneval_plus(cli: CommandLine, tmp_path: Path) -> None:
    listing = listed(cli, tmp_path, "humaneval_plus", [SUMS], "--problem", "7")
    assert "HumanEval/7" in listing and "Function" in listing and "json" in listing


@pytest.mark.nightly
def test_problems_command_lists_mbpp_plus(cli: CommandLine, tmp_path: Path) -> None:
    row = mbpp(looped("both", "[((3, 4), (4,))]", "[(4,)]", head=AS_SETS), "")
    listing = listed(cli, tmp_path, "mbpp_plus", [row])
    assert "Mbpp/11" in listing and "codeforces" in listing


# --- accepted and refused rows -----------------------------------------------------------------------

_plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.complex_numbers(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner) | st.sets(st.integers()) | st.dictionaries(st.text(), inner)
    ),
    max_leaves=5,
)


@given(_plain)
def test_evalplus_answers_have_the_result_format_of_the_harness(value: object) -> None:
    encode = json.JSONEncoder(allow_nan=False).encode
    assert encode(load_function_harness()["encode_with_type_tags"](value, encode)) == format_result(value)


@given(st.lists(_plain.filter(lambda value: "nan" not in repr(value))))
def test_formatted_arguments_evaluate_to_the_original_values(values: list[object]) -> None:
    assert ast.literal_eval(format_arguments(values)) == tuple(values)


def test_literal_values_printed_as_calls_are_evaluated() -> None:
    written = ast.parse("[Counter({'a': 2}), inf, -inf, set(), OrderedDict()]", mode="eval").body
    assert evaluate_literal(written) == [{"a": 2}, float("inf"), -float("inf"), set(), {}]
    assert evaluate_literal(ast.parse("OrderedDict([('a', 2), ('b', Counter())])", mode="eval").body) == {
        "a": 2,
        "b": {},
    }
    for counted in ("Counter('aab')", "Counter([1, 1])", "OrderedDict(['ab'])", "OrderedDict(zip('a', 'b'))"):
        with pytest.raises(CasesError, match="is not a literal value"):
            evaluate_literal(ast.parse(counted, mode="eval").body)


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("def check(", "not valid Python"),
        ("assert True", "no list `inputs`"),
        (checked("[[1], [2]]", "[1]"), "2 inputs and 1 result"),
        (checked("[[__import__('os').mkdir('trap')]]", "[1]"), "is not a literal value"),
        (checked("[[float('nan')]]", "[1]"), "is not a literal value"),
    ],
)
def test_unsupported_evalplus_test_is_refused_without_being_executed(
    test: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CasesError, match=message):
        read_evalplus_test(test, "f")
    problems = loaded(tmp_path, "humaneval_plus", [humaneval(test)], schema=False)
    assert message in problems["HumanEval/7"].unusable
    assert not (tmp_path / "trap").exists()


# HumanEval/134 starts like this: its first line is a blank.
AFTER_A_BLANK_LINE = " \n    return a + b\n"


@pytest.mark.parametrize("test", ["", "    inputs = [[1, 2]]\n    results = [3]\n"])
def test_humaneval_and_humaneval_plus_files_are_distinguished_by_their_tests(
    tmp_path: Path, test: str
) -> None:
    row = {"task_id": "HumanEval/0", "prompt": "def add(a, b):\n", "canonical_solution": "    return a + b\n"}
    row |= {"entry_point": "add", "test": f"def check(candidate):\n{test}    assert candidate(1, 2) == 3\n"}
    file = tmp_path / "HumanEval.jsonl"
    file.write_text(json.dumps(row) + "\n")
    benchmark = benchmark_of(str(file))
    assert benchmark is not None and benchmark.name == ("humaneval_plus" if test else "humaneval")


def test_completion_after_a_blank_line_is_appended_to_the_prompt(tmp_path: Path, cli: CommandLine) -> None:
    row = {"task_id": "HumanEval/0", "prompt": "def add(a, b):\n", "canonical_solution": AFTER_A_BLANK_LINE}
    row |= {"entry_point": "add", "test": "def check(candidate):\n    assert candidate(1, 2) == 3\n"}
    problems, dump = tmp_path / "HumanEval.jsonl", tmp_path / "samples.jsonl"
    problems.write_text(json.dumps(row) + "\n")
    dump.write_text(json.dumps({"task_id": "HumanEval/0", "completion": AFTER_A_BLANK_LINE}) + "\n")
    cli("score", dump, "--problems", problems, "--out", tmp_path / "run")
    (result,) = [json.loads(line) for line in (tmp_path / "run/results.jsonl").read_text().splitlines()]
    assert result["verdict"] == "AC"
