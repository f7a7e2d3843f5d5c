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
    return cli.script("score_generations.py", *arguments)


def test_score_script_scores_a_dump_and_resumes(cli: CommandLine, problems: Path) -> None:
    dump = write_dump(cli.folder / "d.jsonl", [row("a", SMALL), row("b", RIGHT)])
    base = (dump, "--problems", problems, "--out", "run")
    first = script(cli, *base, "--limit", "1")
    assert first.returncode == 0, first.stderr
    judged = results(cli.folder / "run")
    assert len(judged) == 1
    points = {key: found["all_subtasks_points"] for key, found in judged.items()}
    for key, found in judged.items():
        assert f"{key}: {found['problem_id']} " in first.stdout
        assert f"{points[key]:g} points" in first.stdout
    summary = msgspec.json.decode((cli.folder / "run" / "summary.json").read_bytes(), type=Summary)
    (model,) = summary.models
    assert f"m: {model.points:g} of 100 points; pass@1 " in first.stdout
    assert first.stdout.splitlines()[-1] == "1 scored, 0 unscored. Report: run/report.html"
    assert {"report.md", "report.html"} <= contents(cli.folder / "run").keys()

    again = script(cli, *base, "--limit", "1")
    assert again.returncode == 0, again.stderr
    assert results(cli.folder / "run") == judged
    assert "points\n" not in again.stdout.partition("problem_id")[0], "nothing is judged twice"


def test_score_script_uses_language_of_benchmark(cli: CommandLine) -> None:
    problem = {"question_id": "a", "question_content": "Add.", "private_test_cases": ""}
    problem["public_test_cases"] = json.dumps([{"input": "1 2", "output": "3", "testtype": "stdin"}])
    dump = write_dump(cli.folder / "d.jsonl", [{"uuid": "x", "problem_id": "a", "code": PYTHON}])
    write_dump(cli.folder / "test.jsonl", [problem])
    words = (dump, "--problems", "livecodebench", "--data-dir", cli.folder, "--packages", "none")
    done = script(cli, *words, "--out", "run")
    assert done.returncode == 0, done.stderr
    assert "x: a AC, 1 points" in done.stdout


def test_score_script_excludes_unjudged_rows_from_numbers(cli: CommandLine) -> None:
    broken = write_package(cli.folder / "broken" / "add", checker="int main() {}\n")
    dump = write_dump(cli.folder / "d.jsonl", [row("a", RIGHT), row("b", BROKEN)])
    done = script(cli, dump, "--problems", broken.parent, "--out", "run")
    assert done.returncode == 3, done.stderr
    assert "a: add not judged: " in done.stdout
    assert "m: 0 of 100 points; pass@1 0.0%" in done.stdout, "from the submission that does not compile"
    assert done.stdout.splitlines()[-1] == "1 scored, 1 unscored. Report: run/report.html"


def test_bad_input_prints_one_error_line(cli: CommandLine, problems: Path) -> None:
    dump = write_dump(cli.folder / "d.jsonl", [{"problem_id": "add"}])
    done = script(cli, dump, "--problems", problems, "--out", "run")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(f"error: {dump}, line 1: ")


@pytest.mark.parametrize("named", ["option", "environment"])
def test_score_script_judges_on_named_servers(cli: CommandLine, problems: Path, named: str) -> None:
    """The server does not exist. If the row were judged on this machine, it would have points."""
    dump, nobody = write_dump(cli.folder / "d.jsonl", [row("a", RIGHT)]), "http://127.0.0.1:1"
    words = (dump, "--problems", problems, "--out", "run")
    if named == "option":
        done = script(cli, *words, "--engine", nobody)
    else:
        done = script(replace(cli, environment={"PISTON_ENDPOINTS": nobody}), *words)
    assert (done.returncode, f"{nobody} cannot be reached" in done.stderr) == (2, True), done.stderr
    assert f"Judged on: {nobody}" in done.stdout
