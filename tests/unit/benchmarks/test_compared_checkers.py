"""`validate --set compare-checkers=true` lists solutions whose result depends on the comparison."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hub_rows import code_contests, write_rows
from support.command_line import CommandLine

from ioi_eval import Scorer, Store
from ioi_eval.benchmarks import BenchmarkOptions
from ioi_eval.models import CheckerKind
from ioi_eval.runs.solutions import KINDS, compare_checkers

ROOT = Path(__file__).parents[3]


def problem(name: str, answer: str, right: str, *wrong: str) -> dict[str, Any]:
    tests = {"public_tests": {"input": ["1\n"], "output": [answer]}, "private_tests": None}
    return code_contests(
        name,
        **tests,
        generated_tests=None,
        solutions={"language": [3], "solution": [right]},
        incorrect_solutions={"language": [3] * len(wrong), "solution": list(wrong)},
    )


ROWS = [
    problem("case", "YES\n", "print('yes')", "print('no')"),
    problem("floats", "0.5\n", "print(0.500001)", "print(0.6)"),
    problem("plain", "7\n", "print(7)"),
]


async def test_compare_checkers_lists_differing_decisions(
    scorer: Scorer, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = write_rows(tmp_path / "copies", "code_contests", ROWS)
    assert KINDS[:2] == ("white-diff", "stripped") and "json" not in KINDS
    some = (CheckerKind.EXACT, CheckerKind.TOKENS, CheckerKind.FLOAT_LINES)
    monkeypatch.setattr("ioi_eval.runs.solutions.KINDS", some)
    _, decided = await compare_checkers(
        "code_contests",
        choice=BenchmarkOptions(data_dir=str(copies)),
        out=tmp_path / "c",
        engine=scorer,
        store=store,
    )
    check([(decision.checker, decision.problem, decision.accepts, decision.rejects) for decision in decided])


def check(decided: list[tuple[str, str, int, int]]) -> None:
    rejected = {(checker, problem): rejects for checker, problem, _, rejects in decided}
    assert all(accepts == 0 for _, _, accepts, _ in decided)
    assert {problem for _, problem in rejected} == {"case", "floats"}
    assert rejected["tokens", "case"] == rejected["exact", "case"] == rejected["tokens", "floats"] == 1
    assert ("float-lines", "floats") not in rejected, "within the tolerance of float-lines"


@pytest.mark.nightly
def test_compare_checkers_command_prints_json(cli: CommandLine, tmp_path: Path) -> None:
    copies = write_rows(tmp_path / "copies", "code_contests", ROWS)
    completed = cli(
        "validate",
        "code_contests",
        "--data-dir",
        copies,
        "--set",
        "compare-checkers=true",
        "--json",
        "--out",
        "c",
    )
    assert completed.returncode == 0, completed.stderr
    comparison = json.loads(completed.stdout)
    assert comparison["comparisons"] == list(KINDS)
    names = ("checker", "problem", "accepts", "rejects")
    check([tuple(decision[name] for name in names) for decision in comparison["decided_differently"]])


@pytest.mark.nightly
def test_compare_checkers_command_prints_table(cli: CommandLine, tmp_path: Path) -> None:
    copies = write_rows(tmp_path / "copies", "code_contests", ROWS)
    table = cli(
        "validate", "code_contests", "--data-dir", copies, "--set", "compare-checkers=true", "--out", "c"
    )
    assert table.returncode == 0 and "accepts fewer" in table.stdout, table.stderr
    shown = (
        (ROOT / "docs" / "benchmarks.md").read_text().partition("```text\ncomparison ")[2].partition("```")[0]
    )
    assert [line.split() for line in shown.splitlines()][1:] == [
        line.split() for line in table.stdout.splitlines() if line.split()[1:2] in (["case"], ["floats"])
    ], "as shown on the page"


def test_compare_checkers_refuses_checker_option(cli: CommandLine, tmp_path: Path) -> None:
    copies = write_rows(tmp_path / "copies", "code_contests", [code_contests("a")])
    command = (
        "validate",
        "code_contests",
        "--data-dir",
        copies,
        "--set",
        "compare-checkers=true",
        "--set",
        "checker=lines",
    )
    completed = cli(*command, "--out", "c")
    assert completed.returncode == 2 and "--set checker" in completed.stderr and not (tmp_path / "c").exists()
