"""Benchmarks that are entries in a table or in a user's file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hub_rows import ADD
from judged import statuses
from support.command_line import CommandLine
from support.datasets import BenchmarkOptions, find_benchmark, load

from ioi_eval import Scorer
from ioi_eval.benchmarks.entries import read_benchmark_entry
from ioi_eval.errors import InputError
from ioi_eval.models import CheckerKind, Problem
from ioi_eval.models import Verdict as V
from ioi_eval.rules.json_tests import CasesError
from ioi_eval.rules.row_tests import read_tests

TOTAL = "def total(numbers):\n    return sum(numbers)\n"
PAIRS = [{"input": "1 2\n", "output": "3\n", "type": "stdin_stdout", "fn_name": None}]
CPP = '#include <cstdio>\nint main() { int a, b; if (scanf("%d%d", &a, &b) == 2) printf("%d", a + b); }'
LCB = [{"input": "[1, 2]", "output": "3", "testtype": "functional", "metadata": {"func_name": "total"}}]
# (benchmark, row, id, a right program, a wrong program, number of tests)
ROWS: dict[str, tuple[dict[str, Any], str, str, str, int]] = {
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


def written(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def made(folder: Path, name: str, row: dict[str, Any], **options: Any) -> Problem:
    options |= {"dataset": str(written(folder / "rows.jsonl", row))}
    loaded = load(find_benchmark(name), BenchmarkOptions(**options), cache=folder / "cache")
    [problem] = loaded.values()
    return problem


@pytest.mark.parametrize("name", ROWS)
async def test_benchmark_entry_row_becomes_a_problem(scorer: Scorer, tmp_path: Path, name: str) -> None:
    row, label, right, wrong, number = ROWS[name]
    problem = made(tmp_path, name, row)
    assert (problem.id, len(problem.tests), problem.unusable) == (label, number, "")
    language = find_benchmark(name).language
    assert set(await statuses(scorer, problem, right, language)) == {V.AC}
    assert V.AC not in await statuses(scorer, problem, wrong, language) or number > 1


def test_reference_solutions_of_entries_are_read(tmp_path: Path) -> None:
    for name, (row, label, *_) in ROWS.items():
        folder = tmp_path / name
        folder.mkdir()
        options = BenchmarkOptions(dataset=str(written(folder / "rows.jsonl", row)))
        loaded = load(find_benchmark(name), options, cache=folder / "cache")
        codes = [reference.code for reference in loaded.read_references(label)]
        reference_codes = {
            "verifiable_coding_problems": [ADD],
        }
        assert codes == reference_codes.get(
            name, [TOTAL] if "code" in row or "solution" in json.dumps(row) else []
        )


def test_tests_are_read_in_all_supported_forms() -> None:
    for value in (
        {"inputs": ["1"], "outputs": ["2"]},
        {"input": ["1"], "output": ["2"]},
        [{"input": "1", "output": "2"}],
        "{'inputs': ['1'], 'outputs': ['2']}",
    ):
        assert read_tests(value).cases == (("1", "2"),)
    call = {"type": "function_call", "fn_name": "f", "input": [1, [2]], "output": [3]}
    parsed = read_tests([call])
    assert (parsed.function, parsed.wrapped, parsed.cases) == ("f", True, (("[1,[2]]", "[3]"),))
    for value, message in (
        ([{"input": "1", "output": "2", "testtype": "functional"}], "but its name is missing"),
        ([PAIRS[0], call], "several kinds"),
        ([call, call | {"fn_name": "g"}], "tests of several functions: f, g"),
        ([{**PAIRS[0], "type": "function_call", "metadata": "[1]"}], "but its name is missing"),
        ([1], "must be pairs or lists"),
        ("neither", "not a literal value"),
    ):
        with pytest.raises(CasesError, match=message):
            read_tests(value)


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ({"time_limit": 2000}, "2000 is too large for a limit in seconds"),
        ({"time_limit": "1.5", "memory_limit": 268435456}, "268435456 is too large for a limit in MiB"),
    ],
)
def test_limits_in_another_unit_are_refused(limit: dict[str, Any], message: str, tmp_path: Path) -> None:
    row, *_ = ROWS["cf_div2_stepfun"]
    with pytest.raises(InputError, match=message):
        made(tmp_path, "cf_div2_stepfun", row | limit)


PAGE = (Path(__file__).parents[3] / "docs" / "benchmarks.md").read_text()
ENTRY = PAGE.partition("```toml\n")[2].partition("```")[0]


def test_entry_file_describes_benchmark(cli: CommandLine, tmp_path: Path) -> None:
    entry = tmp_path / "sums.toml"
    entry.write_text(ENTRY)
    rows = written(tmp_path / "rows.jsonl", {"number": 5, "text": "Add.", "info": {"cases": PAIRS}})
    dump = written(tmp_path / "dump.jsonl", {"problem_id": "5", "code": ADD})
    completed = cli(
        "score", dump, "--benchmark-file", entry, "--set", f"dataset={rows}", "--out", tmp_path / "out"
    )
    assert completed.returncode == 0, completed.stderr
    problem = load(
        read_benchmark_entry(entry), BenchmarkOptions(dataset=str(rows)), cache=tmp_path / "cache"
    )["5"]
    assert (problem.limits.cpu_time, problem.checker.kind) == (2, CheckerKind.TOKENS)


def test_tags_column_of_benchmark_entry_may_contain_lists(tmp_path: Path) -> None:
    entry = tmp_path / "sums.toml"
    entry.write_text(f'{ENTRY}\ntags = ["labels", "source"]\n')
    row = {"text": "Add.", "info": {"cases": PAIRS}}
    rows = written(
        tmp_path / "rows.jsonl",
        {**row, "number": 5, "labels": ["greedy", "dp", "dp"], "source": "book"},
        {**row, "number": 6, "labels": [], "source": None},
    )
    loaded = load(read_benchmark_entry(entry), BenchmarkOptions(dataset=str(rows)), cache=tmp_path / "cache")
    assert (loaded["5"].tags, loaded["6"].tags) == (("greedy", "dp", "book"), ())
    options = BenchmarkOptions(dataset=str(rows), tags=frozenset({"dp"}))
    assert list(load(read_benchmark_entry(entry), options, cache=tmp_path / "cache")) == ["5"]


@pytest.mark.parametrize("requested", ["1900", "1900.0"])
def test_float_difficulty_is_read_as_integer(tmp_path: Path, requested: str) -> None:
    entry = tmp_path / "sums.toml"
    entry.write_text(f'{ENTRY}\ndifficulty = "rating"\n')
    row = {"text": "Add.", "info": {"cases": PAIRS}}
    of_two = [{**row, "number": 5, "rating": 1900.0}, {**row, "number": 6, "rating": None}]
    options = BenchmarkOptions(
        dataset=str(written(tmp_path / "rows.jsonl", *of_two)), difficulty=frozenset({requested})
    )
    [problem] = load(read_benchmark_entry(entry), options, cache=tmp_path / "cache").values()
    assert (problem.id, problem.difficulty) == ("5", "1900")


def test_invalid_benchmark_entry_is_an_input_error(tmp_path: Path) -> None:
    for toml, message in (
        (ENTRY.replace("comparison", "comparisn"), "Did you mean 'comparison'"),
        (ENTRY.replace("time_limit = 2", "time_limit = -2"), "time_limit"),
        (ENTRY.replace("tokens", "tokns"), "unknown comparison 'tokns'"),
        ("name = ", "the file is not valid TOML"),
    ):
        (tmp_path / "sums.toml").write_text(toml)
        with pytest.raises(InputError, match=message):
            read_benchmark_entry(tmp_path / "sums.toml")
