"""`ioi-eval report` on existing rows."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pandas
import pytest
from run_samples import SUM, problem, result, submission, write_run
from support.command_line import CommandLine, contents
from support.runs import failure_row, result_row

from ioi_eval.benchmarks.exports import write_results
from ioi_eval.errors import JudgeFailure
from ioi_eval.models import Verdict
from ioi_eval.reports.headline import MINUS

WRONG = {"3-a": Verdict.WA}
HOSTILE = "\x1b[31mred\x1b]0;title\x07 [bold]x[/bold] \u202e <script>"


def run(folder: Path, **models: int) -> Path:
    """Write a run of the contest of 2024.

    Each model solves a number of its six problems, and all but the last subtask of the rest.
    """
    rows = []
    for model, solved in models.items():
        for n, name in enumerate(("nile", "message", "tree", "hieroglyphs", "mosaic", "sphinx")):
            of, difficulty = problem(name), "easy" if n < 3 else "hard"
            columns = {"model": model, "year": 2024, "difficulty": difficulty}
            sent = submission(f"{model}-{name}", problem_id=of.id, row=columns)
            rows.append(result_row(sent, of, result(sent, {} if n < solved else WRONG, problem=of)))
    return write_run(folder, rows)


@pytest.mark.parametrize(("better", "worse"), [("monday", "tuesday"), ("tuesday", "monday")])
def test_comparison_of_two_runs_prints_difference_a_minus_b_once(
    cli: CommandLine, better: str, worse: str
) -> None:
    run(cli.folder / better, m=6)
    run(cli.folder / worse, m=0)
    completed = cli("report", "monday", "tuesday", "--out", "both")
    assert completed.returncode == 0, completed.stderr
    sign = "+" if better == "monday" else MINUS
    for printed_text in (completed.stdout, (cli.folder / "both" / "comparison.md").read_text()):
        assert printed_text.count("percentage points (") == printed_text.count("A minus B is") == 1, (
            printed_text
        )
        assert f"A minus B is {sign}49.5 percentage points (95 % interval" in printed_text


def test_long_comparison_counts_models_that_are_not_printed(cli: CommandLine) -> None:
    run(cli.folder / "many", **{f"m{number:02}": number % 7 for number in range(14)})
    shown = re.search(r"^and (\d+) more models in the report$", cli("report", "many").stdout, re.MULTILINE)
    assert shown is not None and 0 < int(shown[1]) < 14


def test_report_of_one_run_prints_tables(cli: CommandLine) -> None:
    run(cli.folder / "run", m1=6, m2=0)
    completed = cli("report", "run")
    assert completed.returncode == 0, completed.stderr
    lines = completed.stdout.splitlines()
    [sentence] = [line for line in lines if len(line) > 80]
    assert sentence.startswith("The difference is real: m1 is better than m2") and len(lines) <= 40
    line_number = lines.index("Points by the number of submissions")
    assert [line.split() for line in lines[line_number + 1 : line_number + 4]] == [
        ["model", "all", "50", "one", "of"],
        ["m1", "600", "600", "600", "600"],
        ["m2", "303", "303", "303", "600"],
    ]
    line_number = lines.index("Medals")
    assert lines[line_number + 2].split() == ["m1", "2024", *["600", "gold"] * 3]
    assert lines[line_number + 3].split() == ["m2", "2024", *["303", "silver"] * 3]
    line_number = lines.index("By difficulty: share of points, %")
    assert lines[line_number + 2].split() == ["easy", "3", "100", "50.5"]
    assert "pass@5: 6 problems or subtasks have fewer than 5 scored submissions." in lines
    assert lines[-1] == "Report: run/report.md, for a browser run/report.html"
    assert {"summary.json", "report.md", "report.html"} <= contents(cli.folder / "run").keys()


@pytest.mark.skipif(os.geteuid() == 0, reason="may write everywhere")
def test_report_of_read_only_run_needs_out(cli: CommandLine) -> None:
    theirs, mine = run(cli.folder / "theirs", m1=6), run(cli.folder / "mine", m1=5)
    theirs.chmod(0o555)
    alone = cli("report", theirs)
    assert alone.returncode == 2 and "the folder cannot be written. Reports are" in alone.stderr
    together = cli("report", theirs, mine, "--out", "both")
    assert together.returncode == 0, together.stderr
    assert together.stderr.splitlines() == [
        f"{theirs}: 6 submissions read; its folder is read-only",
        f"{mine}: 6 submissions read, reports written",
    ]
    assert (mine / "report.md").exists() and not (theirs / "report.md").exists()
    nowhere = cli("report", theirs, mine, "--out", theirs / "both")
    assert nowhere.returncode == 2 and "both: cannot be written: Permission denied" in nowhere.stderr
    theirs.chmod(0o755)


def test_report_options_change_summary(cli: CommandLine) -> None:
    run(cli.folder / "run", m1=6)
    (cli.folder / "mine.toml").write_text("[2024]\ngold = 600\nsilver = 599\n")
    options = ("--mode", "max", "--k", 1, "--k", 3, "--medals", "mine.toml", "--submissions", 7, "--json")
    completed = cli("report", "run", *map(str, options))
    assert completed.returncode == 0, completed.stderr
    (summary,) = json.loads(completed.stdout).values()
    assert (summary["mode"], summary["submission_limit"]) == ("max", 7)
    (model,) = summary["models"]
    assert [entry["k"] for entry in model["pass_at"]] == [1, 3]
    assert {award["award"]["medal"] for award in model["awards"]} == {"gold"}
    assert json.loads((cli.folder / "run" / "summary.json").read_text()) == summary


def test_report_compares_several_runs(cli: CommandLine) -> None:
    run(cli.folder / "a", m1=2), run(cli.folder / "b", m1=4, m2=1)
    completed = cli("report", "a", "b", "a", "--out", "both")
    assert completed.returncode == 0, completed.stderr
    lines = completed.stdout.splitlines()
    line_number = lines.index("Headline: points")
    assert [line.split()[:4] for line in lines[line_number + 2 : line_number + 5]] == [
        ["b:", "m1", "1", "501"],
        ["a:", "m1", "1", "402"],
        ["b:", "m2", "1", "352.5"],
    ]
    assert lines[-1] == "Report: both/comparison.md, for a browser both/comparison.html"
    written = {f"comparison.{kind}" for kind in ("json", "md", "html")} | {"differences.json"}
    assert contents(cli.folder / "both").keys() == written
    assert "By difficulty" in (cli.folder / "both" / "comparison.md").read_text()
    assert (cli.folder / "b" / "report.html").exists()


def test_report_warns_of_runs_with_different_problems(cli: CommandLine) -> None:
    for name, problems in (("a", ("nile",)), ("b", ("nile", "tree"))):
        of = map(problem, problems)
        sent = [
            (own_problem, submission(f"m-{own_problem.id}", problem_id=own_problem.id)) for own_problem in of
        ]
        write_run(
            cli.folder / name,
            [
                result_row(sent_submission, own_problem, result(sent_submission, {}, problem=own_problem))
                for own_problem, sent_submission in sent
            ],
        )
    completed = cli("report", "a", "b", "--out", "both")
    assert completed.returncode == 0, completed.stderr
    assert (
        "The runs have different problems: 1 problem in all of these runs." in completed.stdout.splitlines()
    )


def test_report_open_option_starts_browser(cli: CommandLine) -> None:
    run(cli.folder / "run", m1=1)
    browser = cli.folder / "browser"
    browser.write_text(f"#!/bin/sh\necho \"$1\" > '{cli.folder}/opened'\n")
    browser.chmod(0o755)
    with_browser = CommandLine(folder=cli.folder, cache=cli.cache, environment={"BROWSER": f"{browser} %s"})
    assert with_browser("report", "run", "--open").returncode == 0
    assert (cli.folder / "opened").read_text().strip() == (cli.folder / "run" / "report.html").as_uri()
    nobody = CommandLine(
        folder=cli.folder,
        cache=cli.cache,
        environment={"BROWSER": "/nonexistent %s", "PATH": "", "DISPLAY": ""},
    )
    completed = nobody("report", "run", "--open")
    assert (completed.returncode, "cannot start a web browser" in completed.stderr) == (2, True)


def test_report_output_escapes_names_from_rows(cli: CommandLine) -> None:
    columns: dict[str, Any] = {"model": HOSTILE, "difficulty": HOSTILE, "tags": [HOSTILE]}
    sent = submission("k", row=columns)
    for name in ("a", "b" + "\x1b[31m"):
        row = result_row(sent, SUM, result(sent, feedback=HOSTILE))
        write_run(
            cli.folder / name, [row], [failure_row(submission("f", row=columns), JudgeFailure(HOSTILE))]
        )
    for folders in (["a"], ["a", "b\x1b[31m"]):
        shown = cli("report", *folders).stdout
        assert all(char.isprintable() or char == "\n" for char in shown)
        assert "[bold]" in shown, "markup in a name is shown as characters"


def test_report_of_result_file_equals_report_of_run(cli: CommandLine) -> None:
    run_folder = run(cli.folder / "here", m1=3)
    names = ["table.parquet", "lines.jsonl", "sheet.csv"]
    for name in names[:2]:
        write_results(run_folder, cli.folder / name)
    pandas.read_parquet(cli.folder / "table.parquet").to_csv(cli.folder / "sheet.csv")
    completed = cli("report", "here", *names, "--json")
    assert completed.returncode == 0, completed.stderr
    run_report, *file_reports = json.loads(completed.stdout).values()
    assert [file_report["models"] for file_report in file_reports] == [run_report["models"]] * 3
    assert all((cli.folder / "runs" / name / "report.html").is_file() for name in ("table", "lines", "sheet"))


@pytest.mark.parametrize(
    ("row", "points"),
    [
        ({"task_id": "a", "points": 30, "max_points": 40, "model": "m"}, 30),
        ({"problem_id": "a", "score": 0.5}, 0.5),
        ({"name": "a", "passed": True}, 1),
        ({"question_id": "a", "solved": False}, 0),
        ({"question_id": 0, "id": 0, "passed": "True"}, 1),
        ({"name": "a", "passed": True, "test_results": None, "compile_output": None}, 1),
        ({"name": "a", "passed": True, "code_compiles": "True", "confinement": "{'a': 'b'}"}, 1),
        ({"name": "a", "passed": True, "all_subtasks_results": ""}, 1),
        ({"name": "a", "passed": True, "verdict": 1, "submission_sha256": None}, 1),
        ({"name": "a", "passed": True, "generation": "\ud800"}, 1),
    ],
)
def test_report_reads_foreign_rows_with_few_columns(
    cli: CommandLine, row: dict[str, Any], points: float
) -> None:
    (cli.folder / "rows.jsonl").write_text(json.dumps(row) + "\n")
    completed = cli("report", "rows.jsonl", "--json")
    assert completed.returncode == 0, completed.stderr
    ((model_row,),) = [report["models"] for report in json.loads(completed.stdout).values()]
    assert model_row["points"] == points and model_row["model"] == row.get("model", "")


def test_report_rounds_incomplete_share_below_100_percent(cli: CommandLine) -> None:
    tests = [{"test_name": f"{n}", "score": 1.0, "status": "AC", "feedback": ""} for n in range(3000)]
    tests[-1] |= {"score": 0.0, "status": "WA"}
    row = {"problem_id": "a", "points": 2999 / 3000, "all_subtasks_results": [], "test_results": tests}
    row["all_subtasks_points"] = row["points"]
    (cli.folder / "rows.jsonl").write_text(json.dumps(row) + "\n")
    completed = cli("report", "rows.jsonl")
    assert completed.returncode == 0, completed.stderr
    assert "99%" in completed.stdout and "100%" not in completed.stdout
    report = (cli.folder / "runs" / "rows" / "report.md").read_text()
    assert "99.9 %" in report and report.count("100.0 %") == 1, "all programs compile"


def test_foreign_rows_of_a_problem_in_two_years_are_two_problems(cli: CommandLine) -> None:
    foreign_rows = [
        {"problem_id": "a", "year": 2023, "passed": True},
        {"problem_id": "a", "year": 2024, "points": 0},
    ]
    foreign_rows[1]["max_points"] = 100
    (cli.folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in foreign_rows))
    completed = cli("report", "rows.jsonl", "--json")
    assert completed.returncode == 0, completed.stderr
    (file_report,) = json.loads(completed.stdout).values()
    problems = {entry["problem_id"]: entry["solved"] for entry in file_report["models"][0]["problems"]}
    assert problems == {"a@2023": 1, "a@2024": 0}


def test_report_of_file_does_not_overwrite_run_of_same_name(cli: CommandLine) -> None:
    files_before = contents(run(cli.folder / "runs" / "rows", m1=6))
    (cli.folder / "rows.jsonl").write_text('{"problem_id": "a", "passed": true}\n')
    refused = cli("report", "rows.jsonl")
    assert refused.returncode == 2 and "the folder contains a run" in refused.stderr
    assert contents(cli.folder / "runs" / "rows") == files_before


@pytest.mark.parametrize("second", ["b/rows.jsonl", "a/rows.csv", "runs/rows"])
def test_report_refuses_two_files_for_same_folder(cli: CommandLine, second: str) -> None:
    """Otherwise the second would replace the first."""
    for name in ("a/rows.jsonl", "b/rows.jsonl", "a/rows.csv"):
        (cli.folder / name).parent.mkdir(exist_ok=True)
        csv = "problem_id,passed\na,false\n"
        (cli.folder / name).write_text(
            csv if name.endswith("csv") else '{"problem_id": "a", "passed": true}\n'
        )
    assert cli("report", "b/rows.jsonl").returncode == 0
    files_before = contents(cli.folder / "runs" / "rows")
    refused = cli("report", "a/rows.jsonl", second)
    assert (
        refused.returncode == 2
        and f"{second}: this file and a/rows.jsonl would both be converted to the folder runs/rows"
        in refused.stderr
    )
    assert contents(cli.folder / "runs" / "rows") == files_before


def test_report_refuses_missing_run_and_folder_for_one_run(cli: CommandLine) -> None:
    run(cli.folder / "run", m1=1)
    for arguments, message in (
        (("elsewhere",), "error: elsewhere: no such file or folder"),
        (("--out", "both"), "--out: the report of one run is written into its own folder"),
    ):
        refused = cli("report", "run", *arguments)
        assert refused.returncode == 2 and message in refused.stderr
