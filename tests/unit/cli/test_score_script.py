"""scripts/score_generations.py, on small packages."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from support.command_line import (
    BROKEN,
    PYTHON,
    RIGHT,
    SMALL,
    CommandLine,
    contents,
    results,
    row,
    write_dump,
    write_package,
)
from support.runs import Summary


def script(cli: CommandLine, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return cli.script("scripts/score_generations.py", *arguments)


def test_score_script_scores_a_dump_and_resumes(cli: CommandLine, problems: Path) -> None:
    dump = write_dump(cli.folder / "d.jsonl", [row("a", SMALL), row("b", RIGHT)])
    base = (dump, "--problems", problems, "--out", "run")
    first = script(cli, *base, "--limit", "1")
    assert first.returncode == 0, first.stderr
    result_rows = results(cli.folder / "run")
    assert len(result_rows) == 1
    points = {key: result_row["all_subtasks_points"] for key, result_row in result_rows.items()}
    for key, result_row in result_rows.items():
        assert f"{key}: {result_row['problem_id']} " in first.stdout
        assert f"{points[key]:g} points" in first.stdout
    summary = msgspec.json.decode((cli.folder / "run" / "summary.json").read_bytes(), type=Summary)
    (model,) = summary.models
    assert f"m: {model.points:g} of 100 points; pass@1 " in first.stdout
    assert first.stdout.splitlines()[-1] == "1 scored, 0 unscored. Report: run/report.html"
    assert {"report.md", "report.html"} <= contents(cli.folder / "run").keys()

    second_call = script(cli, *base, "--limit", "1")
    assert second_call.returncode == 0, second_call.stderr
    assert results(cli.folder / "run") == result_rows
    assert "points\n" not in second_call.stdout.partition("problem_id")[0], "no row is judged twice"


def test_score_script_uses_language_of_benchmark(cli: CommandLine) -> None:
    problem = {"question_id": "a", "question_content": "Add.", "private_test_cases": ""}
    problem["public_test_cases"] = json.dumps([{"input": "1 2", "output": "3", "testtype": "stdin"}])
    dump = write_dump(cli.folder / "d.jsonl", [{"uuid": "x", "problem_id": "a", "code": PYTHON}])
    write_dump(cli.folder / "test.jsonl", [problem])
    arguments = (dump, "--problems", "livecodebench", "--data-dir", cli.folder, "--packages", "none")
    completed = script(cli, *arguments, "--out", "run")
    assert completed.returncode == 0, completed.stderr
    assert "x: a AC, 1 points" in completed.stdout


def test_score_script_excludes_unjudged_rows_from_numbers(cli: CommandLine) -> None:
    broken = write_package(cli.folder / "broken" / "add", checker="int main() {}\n")
    dump = write_dump(cli.folder / "d.jsonl", [row("a", RIGHT), row("b", BROKEN)])
    completed = script(cli, dump, "--problems", broken.parent, "--out", "run")
    assert completed.returncode == 3, completed.stderr
    assert "a: add not judged: " in completed.stdout
    assert "m: 0 of 100 points; pass@1 0.0%" in completed.stdout, "from the submission that does not compile"
    assert completed.stdout.splitlines()[-1] == "1 scored, 1 unscored. Report: run/report.html"


def test_score_script_prints_one_error_line_for_bad_input(cli: CommandLine, problems: Path) -> None:
    dump = write_dump(cli.folder / "d.jsonl", [{"problem_id": "add"}])
    completed = script(cli, dump, "--problems", problems, "--out", "run")
    assert (completed.returncode, completed.stderr.count("\n")) == (2, 1)
    assert completed.stderr.startswith(f"error: {dump}, line 1: ")


@pytest.mark.parametrize("given_by", ["option", "environment"])
def test_score_script_judges_on_named_servers(cli: CommandLine, problems: Path, given_by: str) -> None:
    """The server does not exist. If the row were judged on this machine, it would have points."""
    dump, nobody = write_dump(cli.folder / "d.jsonl", [row("a", RIGHT)]), "http://127.0.0.1:1"
    arguments = (dump, "--problems", problems, "--out", "run")
    if given_by == "option":
        completed = script(cli, *arguments, "--engine", nobody)
    else:
        completed = script(replace(cli, environment={"PISTON_ENDPOINTS": nobody}), *arguments)
    assert (completed.returncode, f"{nobody} cannot be reached" in completed.stderr) == (2, True), (
        completed.stderr
    )
    assert f"The engine that judges: {nobody}" in completed.stdout
