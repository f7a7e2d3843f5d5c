"""Benchmarks that are entries in a table or in a user's file: rows of the datasets' own columns, judged."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hub_rows import ADD, contents
from judged import statuses
from support.command_line import CommandLine
from support.datasets import BenchmarkOptions, find_benchmark, load

from ioi_eval import Scorer
from ioi_eval.benchmarks import benchmarks
from ioi_eval.benchmarks.entries import ENTRIES, ListedBenchmark, entry_in
from ioi_eval.errors import InputError
from ioi_eval.models import CheckerKind, Problem
from ioi_eval.models import Verdict as V
from ioi_eval.rules.assertions import read_assertions
from ioi_eval.rules.json_tests import CasesError
from ioi_eval.rules.row_tests import read_tests

pytestmark = pytest.mark.once

TOTAL = "def total(numbers):\n    return sum(numbers)\n"
PAIRS = [{"input": "1 2\n", "output": "3\n", "type": "stdin_stdout", "fn_name": None}]
CHECK = """
METADATA = {}

def check(candidate):
    assert True, "This prints if this assert fails"
    assert candidate([1, 2]) == 3
    for more in range(2, 4):
        assert candidate([more, more + 1]) == 2 * more + 1
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
CPP = '#include <cstdio>\nint main() { int a, b; if (scanf("%d%d", &a, &b) == 2) printf("%d", a + b); }'
LCB = [{"input": "[1, 2]", "output": "3", "testtype": "functional", "metadata": {"func_name": "total"}}]
# (benchmark, row, id, a right program, a wrong one, number of tests)
ROWS: dict[str, tuple[dict[str, Any], str, str, str, int]] = {
    "humaneval": (HUMANEVAL, "HumanEval/7", TOTAL, TOTAL.replace("numbers)\n ", "numbers): return 3 #"), 4),
    "mbpp": (MBPP, "Mbpp/11", TOTAL, TOTAL.replace("sum", "len"), 2),
    "deepcoder": (
        {"problem": "Add.", "tests": json.dumps(LCB), "starter_code": "", "solutions": [TOTAL]},
        "deepcoder_0",
        TOTAL,
        TOTAL.replace("sum", "len"),
        1,
    ),
    "verifiable_coding_problems": (
        {
            "problem_id": "vcp_3",
            "problem": "Add.",
            "gold_standard_solution": f"```python\n{ADD}```",
            "verification_info": {"language": "python", "test_cases": PAIRS},
            "metadata": {"difficulty": "EASY"},
            "source": "taco",
        },
        "vcp_3",
        ADD,
        ADD.replace("+", "-"),
        1,
    ),
    "synthetic_2": (
        {
            "problem_id": "prime_rl_code_1",
            "task_type": "prime_rl_code",
            "prompt": "Add.",
            "verification_info": json.dumps({"test_cases": PAIRS}),
        },
        "prime_rl_code_1",
        ADD,
        ADD.replace("+", "-"),
        1,
    ),
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
    "rstar_coder": (
        {
            "question_id": "seed_1",
            "question": "Add.",
            "starter_code": "",
            "inputs": json.dumps(["1 2\n"]),
            "outputs": json.dumps(["3\n"]),
        },
        "seed_1",
        ADD,
        ADD.replace("+", "-"),
        1,
    ),
    "code_contests_o": (
        {
            "name": "1575_A. Sum",
            "description": "Add.",
            "input_constraints_summary": "",
            "corner_cases": [{"input": {"stdin": "1 2\n"}, "output": {"stdout": "3\n"}}],
        },
        "1575_A. Sum",
        CPP,
        "int main() {}",
        1,
    ),
    "cf_div2_stepfun": (
        {"id": "2000/A", "description": "Add.", "test_cases": PAIRS, "time_limit": 1.5},
        "2000/A",
        CPP,
        "int main() {}",
        1,
    ),
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


def written(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def made(folder: Path, name: str, row: dict[str, Any], **options: Any) -> Problem:
    options |= {"dataset": str(written(folder / "rows.jsonl", row))}
    loaded = load(find_benchmark(name), BenchmarkOptions(**options), cache=folder / "cache")
    [problem] = loaded.values()
    return problem


@pytest.mark.parametrize("name", ROWS)
async def test_a_row_becomes_a_problem(scorer: Scorer, tmp_path: Path, name: str) -> None:
    row, label, right, wrong, number = ROWS[name]
    problem = made(tmp_path, name, row)
    assert (problem.id, len(problem.tests), problem.unusable) == (label, number, "")
    language = find_benchmark(name).language
    assert set(await statuses(scorer, problem, right, language)) == {V.AC}
    assert V.AC not in await statuses(scorer, problem, wrong, language) or number > 1


def test_the_own_solutions(tmp_path: Path) -> None:
    for name, (row, label, *_) in ROWS.items():
        folder = tmp_path / name
        folder.mkdir()
        options = BenchmarkOptions(dataset=str(written(folder / "rows.jsonl", row)))
        loaded = load(find_benchmark(name), options, cache=folder / "cache")
        codes = [one.code for one in loaded.references(label)]
        told = {
            "humaneval": [HUMANEVAL["prompt"] + HUMANEVAL["canonical_solution"]],
            "verifiable_coding_problems": [ADD],
        }
        assert codes == told.get(name, [TOTAL] if "code" in row or "solution" in json.dumps(row) else [])


def test_problems_of_humaneval_that_draw(tmp_path: Path) -> None:
    test = "def check(candidate):\n    for _ in range(100):\n        assert candidate(draw()) == 1\n"
    row = HUMANEVAL | {"task_id": "HumanEval/53", "entry_point": "add", "test": test}
    given, wanted = contents(made(tmp_path, "humaneval", row))[0]
    assert sum(map(int, given.strip("()").split(","))) == int(wanted)


async def test_sets_that_are_in_sets_and_keys(scorer: Scorer, tmp_path: Path) -> None:
    tests = (
        "assert f(1) == {frozenset('a'), ('b', frozenset())}",
        "assert f(2) == {frozenset('a'): [{1}]}",
    )
    code = "def f(x):\n    a = frozenset('a')\n    return {a, ('b', frozenset())} if x < 2 else {a: [{1}]}"
    problem = made(tmp_path, "mbpp", MBPP | {"test_list": tests})
    assert set(await statuses(scorer, problem, code)) == {V.AC}


def test_what_is_no_plain_assertion_is_said() -> None:
    for body, said in (
        ("assert f(1) == f(2)", "with several arguments"),
        ("assert f(x=1) == 2", "names its arguments"),
        ("assert f(g()) == 2", "no plain value"),
        ("with open('a') as b:\n        assert f(1)", "no plain assertion"),
        ("assert f(1); pytest.raises(ValueError, f, 2)", "no plain assertion"),
        ("assert f(1); self.assertEqual(f(2), 3)", "no plain assertion"),
        ("assert f(1); assert_close(f(2), 3)", "no plain assertion"),
        ("x = [1]; x.append(2); assert f(x) == 3", "may change what is asserted of"),
        ("x = 1; x += 1; assert f(x) == 3", "may change"),
        ("x = [1]; x[0] = 2; assert f(x) == 3", "may change"),
        ("x = f(1); x.sort(); assert x == [1]", "may change"),
        ("x = [1]; assert f(x) is None; assert x == []", "asserts nothing of a call"),
        ("assert f(1).val == 2", "asks of a result"),
        ("assert len(f(1)(2)) == 3", "asks of a result"),
        ("x = [1]; assert f(x) is not x", "asks of a result"),
        ("assert list(f({1: 2}).keys()) == [1]", "asks of a result"),
        ("assert next(iter(f({1: 2}).items())) == (1, 2)", "asks of a result"),
    ):
        with pytest.raises(CasesError, match=said):
            read_assertions(f"def check(candidate):\n    {body}\n", "f")
    with pytest.raises(CasesError, match="No test cases"):
        read_assertions("def check(candidate): pass", "f")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def g(x):\n    assert f(x) == 2\ndef test_a():\n    g(1)\n", "'g.1.' is no plain assertion"),
        ("def test_a():\n    def g():\n        assert f(1) == 2\n    g()\n", "'g..' is no plain assertion"),
        ("@pytest.mark.skip\ndef test_a():\n    assert f(1) == 2\n", "'test_a' may be skipped"),
        ("@pytest.mark.xfail(strict=True)\ndef test_a():\n    assert f(1) == 2\n", "is to fail"),
        ("async def test_a():\n    assert await f(1) == 2\n", "'test_a' is asynchronous"),
    ],
)
def test_assertions_that_are_run_otherwise_are_said(source: str, said: str) -> None:
    with pytest.raises(CasesError, match=said):
        read_assertions(f"{source}def test_b():\n    assert f(5) == 6\n", "f")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("assert f([0] * 9_999 * 9_999) == 1", "no plain value"),
        ("assert f(9_999 * 'a' * 9_999) == 1", "no plain value"),
        ("assert f(list(range(9_999)) * 9_999) == 1", "no plain value"),
        (f"assert f({' * '.join(['9'] * 900)}) == 1", "nested too deep"),
        (
            f"a = {[0] * 9_999}; b = [{'a, ' * 99}]; " + "assert f(b) == 1; " * 9,
            "'a' and other names stand for too much",
        ),
    ],
    ids=["list", "text", "range", "product", "names"],
)
def test_a_few_words_do_not_fill_the_memory(body: str, said: str) -> None:
    """A row of a benchmark could take all of the machine's, or minutes, or end in a traceback."""
    with pytest.raises(CasesError, match=said):
        read_assertions(f"def check(candidate):\n    {body}\n", "f")


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("def test_a():\n    import math\n    assert math.isclose(f(1), 2)\n", "math"),
        ("from solution import f, MOD\ndef test_a():\n    assert f(1) % MOD == 2\n", "MOD"),
        ("def g(x):\n    return x - f(2)\ndef test_a():\n    assert g(f(1)) == 2\n", "f"),
        ("class Node:\n    pass\ndef test_a():\n    assert isinstance(f(1), Node)\n", "Node"),
    ],
)
def test_names_that_nothing_defines_are_said(source: str, name: str) -> None:
    """A checker that stumbles over them would call every program wrong."""
    with pytest.raises(CasesError, match=f"nothing defines '{name}'"):
        read_assertions(source, "f")


def test_methods_of_the_program_s_own_classes_are_said() -> None:
    """`add` is also what a set has, and MBPP's functions begin with capitals, too."""
    for name, words in (("Bag", "Bag().add(1, 2) == 3"), ("Solution", "Solution().count([1], 2) == 3")):
        with pytest.raises(CasesError, match="asks of a result"):
            read_assertions(f"from solution import {name}\ndef test_a():\n    assert {words}\n")
    assert read_assertions("assert Find_Max([1]) == 1").function == "Find_Max"


def test_a_function_that_assertions_know_by_its_result() -> None:
    """As KodCode has it: the call stands in a line of its own, and the row does not name the function."""
    source = "import solution\nfrom solution import f\ndef test_a():\n    r = f(1)\n    assert r == 2\n"
    source += "def test_b():\n    xs = [3]\n    r = f(xs)\n    assert r == [4]\n    assert f(5) == 6\n"
    read = read_assertions(source)
    assert (read.function, [case.input for case in read.cases]) == ("f", ["(1,)", "([3],)", "(5,)"])
    with pytest.raises(CasesError, match="no function that all assertions call"):
        read_assertions(source + "def test_c():\n    r = g(1)\n    assert r == 2\n")


def test_what_is_asked_of_plain_results() -> None:
    for asked in (
        "f(1).upper() == 'A' and f(1) is not None and True is f(1)",
        "sorted(f(1).keys()) == [1] and len(f(1).items()) == 1 and type(f(1)) is dict",
        "f(1).real == 1 and next(f(1)) == 2 and isinstance(f(1), list)",
    ):
        assert len(read_assertions(f"assert {asked}", "f").cases) == 1


def test_sums_that_python_refuses_are_said() -> None:
    for given in ("999.9 ** 1000", "10 ** 400 + 0.5", "{} + {}", "{1} * 2", "1000 ** 1000 * 1000 ** 1000"):
        with pytest.raises(CasesError, match="is no plain value"):
            read_assertions(f"assert f({given}) == 1", "f")


def test_helpers_that_no_python_runs_are_said() -> None:
    with pytest.raises(CasesError, match="no Python"):
        read_assertions("def g(x):\n    nonlocal y\n    return x\nassert g(f(1)) == 2\n", "f")


def test_names_that_are_defined_stay() -> None:
    read_assertions(
        "import os.path\nfrom math import isclose as near\nMOST = 7\n"
        "def g(x):\n    total = 0\n    for n in x:\n        total += near(n, MOST)\n    return total\n"
        "assert g([n for n in [f(1)] if (m := n)]) < MOST and os.path and (lambda x: x)(f(1))\n",
        "f",
    )
    read_assertions("from math import *\nassert isclose(f(1), 2)", "f")


def test_a_function_that_is_imported_by_another_name() -> None:
    test = read_assertions("from solution import total as add\ndef test_a():\n    assert add([1]) == 1\n")
    assert (test.function, test.cases) == ("total", (("([1],)", "1"),))


def test_of_two_tests_of_one_name_the_last_is_run() -> None:
    test = read_assertions(
        "def test_a():\n    assert f(1) == 5\n"
        "class TestB:\n    def test_a(self):\n        assert f(2) == 2\n"
        "def test_a():\n    assert f(3) == 3\n"
    )
    assert sorted(case.input for case in test.cases) == ["(2,)", "(3,)"]


def test_names_that_an_expression_binds_stay() -> None:
    test = read_assertions("x = 5\nassert [y := f(x)] and all(x > 2 for x in f(5)), x\nassert True", "f")
    assert [case.output for case in test.cases] == ["assert [(y := out)] and all((x > 2 for x in out))"]


def test_forms_of_tests() -> None:
    for value in (
        {"inputs": ["1"], "outputs": ["2"]},
        {"input": ["1"], "output": ["2"]},
        [{"input": "1", "output": "2"}],
        "{'inputs': ['1'], 'outputs': ['2']}",
    ):
        assert read_tests(value).cases == (("1", "2"),)
    call = {"type": "function_call", "fn_name": "f", "input": [1, [2]], "output": [3]}
    found = read_tests([call])
    assert (found.function, found.wrapped, found.cases) == ("f", True, (("[1,[2]]", "[3]"),))
    for value, said in (
        ([{"input": "1", "output": "2", "testtype": "functional"}], "nothing says which"),
        ([PAIRS[0], call], "several kinds"),
        ([call, call | {"fn_name": "g"}], "several functions in one problem: f, g"),
        ([{**PAIRS[0], "type": "function_call", "metadata": "[1]"}], "nothing says which"),
        ([1], "neither pairs"),
        ("neither", "no plain value"),
    ):
        with pytest.raises(CasesError, match=said):
            read_tests(value)


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ({"time_limit": 2000}, "2000 is too much; it counts seconds"),
        ({"time_limit": "1.5", "memory_limit": 268435456}, "268435456 is too much; it counts MiB"),
    ],
)
def test_limits_in_another_unit_are_refused(limit: dict[str, Any], said: str, tmp_path: Path) -> None:
    row, *_ = ROWS["cf_div2_stepfun"]
    with pytest.raises(InputError, match=said):
        made(tmp_path, "cf_div2_stepfun", row | limit)


async def test_files_of_evalplus(scorer: Scorer, tmp_path: Path) -> None:
    problem = made(tmp_path, "evalplus", EVALPLUS)
    assert [given for given, _ in contents(problem)] == [
        "((3, 4), (4, 5))",
        "(('a', 1), (1,))",
        "((1.5,), ())",
    ]
    assert set(await statuses(scorer, problem, EVALPLUS["canonical_solution"])) == {V.AC}
    as_list = "def similar_elements(a, b):\n    return [x for x in a if x in b]\n"
    assert set(await statuses(scorer, problem, as_list)) == {V.AC}, "compared as sets"
    assert V.WA in await statuses(scorer, problem, "def similar_elements(a, b): return a")
    only_base = made(tmp_path, "evalplus", EVALPLUS, generated_tests=False)
    assert len(only_base.tests) == 1


PAGE = (Path(__file__).parents[3] / "docs" / "benchmarks.md").read_text()
ENTRY = PAGE.partition("```toml\n")[2].partition("```")[0]


def test_the_page_has_the_table_of_entries() -> None:
    """Rows of the code, word by word; where this fails it prints what belongs there."""
    lines = [
        "| name | problems | dataset | tests | compared by | language, seconds |",
        "|---|---|---|---|---|---|",
    ]
    for one in ENTRIES:
        told = one.columns
        place = " ".join(
            f"`{each}`" for each in (told.tests, told.inputs, told.outputs, told.assertions) if each
        )
        how = "assertions" if told.assertions else f"`{one.comparison}`"
        dataset = f"{one.dataset}{f', {one.config}' if one.config else ''}, {one.split}"
        place = place.replace("|", "` or `")
        limits = f"{one.language}, {one.time_limit:g}"
        lines.append(f"| `{one.name}` | {one.about} | {dataset} | {place} | {how} | {limits} |")
    assert "\n".join([*lines, ""]) in PAGE, "\n".join(lines)


def test_the_page_lists_every_benchmark() -> None:
    rows = PAGE.partition("| name | dataset | judged by | languages |")[2].partition("\n\n")[0].splitlines()
    listed = {name: row for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1] if row else "")}
    own = [one for one in benchmarks() if not isinstance(one, ListedBenchmark)]
    assert listed.keys() == {one.name for one in own}
    for one in own:
        assert "Python" not in listed[one.name].split("|")[4] or one.language == "python", one.name


def test_an_entry_in_a_file(cli: CommandLine, tmp_path: Path) -> None:
    entry = tmp_path / "sums.toml"
    entry.write_text(ENTRY)
    rows = written(tmp_path / "rows.jsonl", {"number": 5, "text": "Add.", "info": {"cases": PAIRS}})
    dump = written(tmp_path / "dump.jsonl", {"problem_id": "5", "code": ADD})
    done = cli("score", dump, "--benchmark-file", entry, "--dataset", rows, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    problem = load(entry_in(entry), BenchmarkOptions(dataset=str(rows)), cache=tmp_path / "cache")["5"]
    assert (problem.limits.cpu_time, problem.checker.kind) == (2, CheckerKind.TOKENS)


def test_a_column_of_tags_may_hold_a_list(tmp_path: Path) -> None:
    entry = tmp_path / "sums.toml"
    entry.write_text(f'{ENTRY}\ntags = ["labels", "source"]\n')
    row = {"text": "Add.", "info": {"cases": PAIRS}}
    rows = written(
        tmp_path / "rows.jsonl",
        {**row, "number": 5, "labels": ["greedy", "dp", "dp"], "source": "book"},
        {**row, "number": 6, "labels": [], "source": None},
    )
    found = load(entry_in(entry), BenchmarkOptions(dataset=str(rows)), cache=tmp_path / "cache")
    assert (found["5"].tags, found["6"].tags) == (("greedy", "dp", "book"), ())
    options = BenchmarkOptions(dataset=str(rows), tags=frozenset({"dp"}))
    assert list(load(entry_in(entry), options, cache=tmp_path / "cache")) == ["5"]


@pytest.mark.parametrize("asked", ["1900", "1900.0"])
def test_a_difficulty_that_a_table_made_a_float(tmp_path: Path, asked: str) -> None:
    entry = tmp_path / "sums.toml"
    entry.write_text(f'{ENTRY}\ndifficulty = "rating"\n')
    row = {"text": "Add.", "info": {"cases": PAIRS}}
    of_two = [{**row, "number": 5, "rating": 1900.0}, {**row, "number": 6, "rating": None}]
    options = BenchmarkOptions(
        dataset=str(written(tmp_path / "rows.jsonl", *of_two)), difficulty=frozenset({asked})
    )
    [problem] = load(entry_in(entry), options, cache=tmp_path / "cache").values()
    assert (problem.id, problem.difficulty) == ("5", "1900")


def test_a_wrong_entry(tmp_path: Path) -> None:
    for text, said in (
        (ENTRY.replace("comparison", "comparisn"), "Did you mean 'comparison'"),
        (ENTRY.replace("time_limit = 2", "time_limit = -2"), "time_limit"),
        (ENTRY.replace("tokens", "tokns"), "no such comparison: 'tokns'"),
        ("name = ", "no TOML"),
    ):
        (tmp_path / "sums.toml").write_text(text)
        with pytest.raises(InputError, match=said):
            entry_in(tmp_path / "sums.toml")
