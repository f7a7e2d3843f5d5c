"""`ioi-eval score DUMP --problems apps`, from the dataset's rows to verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.command_line import CommandLine, contents, results, write_dump

ADD = "a, b = map(int, input().split())\nprint(a + b)\n"
TEXT = f"<think>easy</think>\nHere:\n```python\n{ADD}```\n"


def problem(number: int, **columns: Any) -> dict[str, Any]:
    tests = {"inputs": ["1 2", "3 4"], "outputs": ["3", "7"]}
    return {
        "problem_id": number,
        "question": "Add.",
        "solutions": json.dumps([ADD]),
        "input_output": json.dumps(tests),
        "difficulty": "introductory",
        "starter_code": "",
        **columns,
    }


@pytest.fixture(scope="session")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a copy of the benchmark. Its conversion is cached, so it is the same folder for all tests."""
    folder = tmp_path_factory.mktemp("apps-copies")
    rows = [
        problem(100),
        problem(101, difficulty="interview"),
        problem(102, input_output=""),
        problem(103, input_output=json.dumps({"inputs": [[[1, 2]]], "outputs": [[3]], "fn_name": "add"})),
    ]
    (folder / "apps").mkdir()
    pq.write_table(pa.Table.from_pylist(rows), folder / "apps" / "test.parquet")
    return folder


def test_score_command_judges_apps_rows(cli: CommandLine, copies: Path, tmp_path: Path) -> None:
    rows = [
        {"uuid": "text", "problem_id": "apps_0", "generation": TEXT},
        {"uuid": "half", "problem_id": 100, "code": "print(3)"},
        {"uuid": "other level", "problem_id": 101, "code": ADD},
        {"uuid": "no tests", "problem_id": "102", "code": ADD},
        {
            "uuid": "function",
            "problem_id": 103,
            "code": "def add(xs): return sum(xs)",
        },
        {"uuid": "no code", "problem_id": 103, "generation": "I cannot."},
    ]
    dump = write_dump(tmp_path / "dump.jsonl", rows)
    command = ("score", dump, "--problems", "apps", "--data-dir", copies, "--difficulty", "introductory")
    command = (*command, "--packages", "none")
    completed = cli(*command, "--out", "run")
    assert completed.returncode == 3, completed.stderr
    assert "not judged: no tests: No test cases provided" in completed.stderr
    assert "no other try helps" in completed.stderr and "retries" not in completed.stderr
    (failure,) = map(json.loads, (tmp_path / "run" / "failures.jsonl").read_text().splitlines())
    assert failure["final"] is True
    assert "Another try cannot help" in (tmp_path / "run" / "report.md").read_text()
    result_rows = results(tmp_path / "run")
    shown = {key: (row["problem_id"], row["resolved"], row["pass_rate"]) for key, row in result_rows.items()}
    assert shown == {
        "text": ("apps_0", True, 1),
        "half": ("apps_0", False, 0.5),
        "function": ("apps_3", True, 1),
        "no code": ("apps_3", False, 0),
    }
    assert [result_rows[key]["checker"] for key in ("text", "function")] == ["stripped", "json-wrapped"]
    results_before = contents(tmp_path / "run")["results.jsonl"]
    second_call = cli(*command, "--out", "run")
    assert (second_call.returncode, contents(tmp_path / "run")["results.jsonl"]) == (3, results_before)


@pytest.mark.nightly
def test_checker_option_of_score_command_changes_output_comparison(
    cli: CommandLine, copies: Path, tmp_path: Path
) -> None:
    """Functions are not affected. Rows are judged again with the new comparison."""
    as_floats = {"uuid": "floats", "problem_id": 100, "code": ADD.replace("print(", "print(0.0 + ")}
    called = {"uuid": "called", "problem_id": 103, "code": "def add(xs): return sum(xs)"}
    dump = write_dump(tmp_path / "dump.jsonl", [as_floats, called])
    command = ("score", dump, "--problems", "apps", "--data-dir", copies, "--packages", "none")
    settings = cli.folder / "ioi-eval.toml"
    for options, resolved, checker in (
        ("", False, "stripped"),
        ('checker = "apps"', True, "apps"),
        ('checker = "float-lines"', True, "float-lines"),
    ):
        settings.write_text(options)
        completed = cli(*command, "--out", checker)
        assert completed.returncode == 0, completed.stderr
        result_rows = results(tmp_path / checker)
        assert {key: row["resolved"] for key, row in result_rows.items()} == {
            "floats": resolved,
            "called": True,
        }
        assert [result_rows[key]["checker"] for key in ("floats", "called")] == [checker, "json-wrapped"]
    settings.unlink()
    other = cli(*command, "--out", "float-lines")
    assert (other.returncode, "judged again" in other.stderr) == (0, True)
    assert results(tmp_path / "float-lines")["floats"]["resolved"] is False
    settings.write_text('checker = "float"')
    wrong = cli(*command)
    assert wrong.returncode == 2 and "unknown comparison 'float'" in wrong.stderr
    assert "There are white-diff, stripped," in wrong.stderr


@pytest.mark.nightly
def test_references_key_judges_benchmark_solutions_first(cli: CommandLine, tmp_path: Path) -> None:
    copies = tmp_path / "copies"
    rows = [problem(0), problem(1, solutions=json.dumps([ADD, "print(3)"])), problem(2, solutions="")]
    (copies / "apps").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), copies / "apps" / "test.parquet")
    dump = write_dump(
        tmp_path / "dump.jsonl", [{"uuid": str(n), "problem_id": n, "code": ADD} for n in range(3)]
    )
    command = ("score", dump, "--problems", "apps", "--data-dir", copies, "--packages", "none")
    command = (*command, "--set", "references=3")
    completed = cli(*command, "--out", "all")
    assert completed.returncode == 0, completed.stderr
    assert "Judging up to 3 own solutions of 3 problems" in completed.stderr
    assert (
        "3 problems judged: 1 reliable, 1 unreliable, 1 unknown; see all/references.json" in completed.stdout
    )
    assert "1: WA on test 1" in completed.stdout and "the dataset has none" in completed.stdout
    assert len(results(tmp_path / "all")) == 3
    written = json.loads((tmp_path / "all" / "references.json").read_text())
    assert [entry["reliability"] for entry in written["problems"]] == ["reliable", "unreliable", "unknown"]

    cli.set_keys(skip_unreliable=True)
    completed = cli(*command, "--json", "--out", "some")
    validation_report = json.loads(completed.stdout)
    assert (completed.returncode, validation_report["dump"]["left_out"]) == (
        0,
        {"its solutions do not pass": 1},
    )
    assert validation_report["references"] == written, "nothing was judged twice, or it would not be the same"
    assert set(results(tmp_path / "some")) == {"0", "2"}
    report = (tmp_path / "some" / "report.md").read_text()
    assert "1 reliable, 1 unreliable (left out), 1 unknown" in report
    cli.set_keys()
    refused = cli(*command, "--out", "some")
    assert refused.returncode == 2 and "--fresh" in refused.stderr


def test_key_skip_unreliable_is_refused_if_problems_are_packages(
    cli: CommandLine, tmp_path: Path, problems: Path
) -> None:
    dump = write_dump(tmp_path / "dump.jsonl", [{"uuid": "1", "problem_id": "add", "code": ""}])
    cli.set_keys(skip_unreliable=True)
    completed = cli("score", dump, "--problems", problems)
    assert completed.returncode == 2 and "ioi-eval validate" in completed.stderr


@pytest.mark.nightly
def test_apps_benchmark_is_validated_with_its_own_solutions(cli: CommandLine, tmp_path: Path) -> None:
    tests = {"input": ["1 2", "3 4"], "output": ["3", "7"]}
    shared = {"description": "Add.", "public_tests": tests, "private_tests": {"input": [], "output": []}}
    python2_code = "print sum(map(int, raw_input().split()))"
    rows = [
        {
            "name": "add",
            **shared,
            "solutions": {"language": [1, 3], "solution": [python2_code, ADD]},
            "incorrect_solutions": {"language": [3], "solution": ["print(3)"]},
        },
        {**shared, "name": "no tests", "public_tests": shared["private_tests"]},
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    command = ("validate", "code_contests", "--set", f"dataset={tmp_path / 'rows.parquet'}", "--out", "run")
    completed = cli(*command)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert "No difference: 2 expectations of 2 solutions met" in completed.stdout
    left_out = "problems (No test cases provided): 1; solutions in an unsupported language: 1"
    assert f"Left out: {left_out}" in completed.stdout
    validated = json.loads((tmp_path / "run" / "validation.json").read_text())
    assert validated["confusion"] == {"correct": {"AC": 1}, "rejected": {"WA": 1}}
    assert "Nothing new to do" in cli(*command).stdout


def test_filters_matching_no_problem_exit_with_2(cli: CommandLine, copies: Path) -> None:
    base = ("problems", "apps", "--data-dir", copies)
    none = cli(*base, "--problem", "apps_0", "--difficulty", "interview")
    assert none.returncode == 2 and "no problem matches the filters. Give fewer filters" in none.stderr
    without_tests = cli(*base, "--problem", "apps_2")
    assert without_tests.returncode == 2 and "0 of 1 package can be used" in without_tests.stdout
    unknown = cli(*base, "--problem", "aps_0")
    assert unknown.returncode == 2
    assert "--problem: no problem 'aps_0'. Did you mean 'apps_0'" in unknown.stderr
