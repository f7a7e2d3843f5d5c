"""Implausible results cause a warning above each table."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from run_samples import SUM, submission, write_run
from support.command_line import PYTHON, CommandLine, row, write_dump
from support.runs import result_row, score_submission, summarize_run

from ioi_eval.models import TestResult, Verdict
from ioi_eval.reports import Summary, write_reports

MISSING = "main.cpp:1:10: fatal error: grader.h: No such file or directory"
NO_NUMPY = "Runtime error (exit code 1): ModuleNotFoundError: No module named 'numpy'"


def row_with_outcome(
    key: str, *, said: str = "", error: str = "", code: str | None = "x", model: str = "m1", why: str = ""
) -> Any:
    """Return a row that fails to compile with `said`, or fails each test with `error`, or else is right."""
    sent = submission(key, row={"model": model})
    sent = msgspec.structs.replace(sent, code=code, no_program=why)
    status = Verdict.RE if error else Verdict.AC
    tests = {
        test.name: TestResult(test_name=test.name, score=float(not error), status=status, feedback=error)
        for test in SUM.tests
    }
    compiles = not said and code is not None
    score = score_submission(SUM, sent, tests, compiles=compiles, compile_output=said)
    return result_row(sent, SUM, score)


def reported(folder: Path, rows: Iterable[Any]) -> Summary:
    return summarize_run(write_run(folder, rows))


@pytest.mark.parametrize(
    ("failure", "line", "message"),
    [
        ({"code": None}, "", "contain no program. Likely the replies are empty or cut off"),
        ({"said": f"\n{MISSING}\n  1 | #include"}, MISSING, "do not compile, with the same first line"),
        ({"error": f"{NO_NUMPY}\nTraceback"}, NO_NUMPY, "fail with the same first line"),
    ],
    ids=["no-program", "compiler", "error"],
)
def test_nine_of_ten_rows_with_the_same_error_are_suspicious(
    tmp_path: Path, failure: dict[str, Any], line: str, message: str
) -> None:
    rows = [*(row_with_outcome(f"bad{n}", **failure) for n in range(9)), row_with_outcome("right")]
    report = reported(tmp_path / "run", rows)
    (suspicion,) = report.suspicious
    assert (suspicion.model, suspicion.rows, suspicion.of, suspicion.line) == ("m1", 9, 10, line)
    (warning,) = report.warnings
    expected_start = f"These results are hardly plausible: 9 of the 10 scored submissions of m1 {message}"
    assert warning.startswith(expected_start) and warning.endswith(f"{suspicion.remedy}.")


_COMMAND = {"command": "ioi-eval"}  # each call of the command line has this setting


@pytest.mark.parametrize(
    ("settings", "has_agents", "expected"),
    [
        (_COMMAND, False, "code_column=NAME"),
        ({"author": "my-agent", **_COMMAND}, True, "does not write solution.py"),
        ({"contest": "problems", **_COMMAND}, True, "submits nothing over MCP: read an agent.log"),
        ({"author": "otter", **_COMMAND}, False, "look at one in the report"),
        ({"contest": "problems", **_COMMAND}, False, "look at one in the report"),
    ],
)
def test_remedy_for_missing_programs_depends_on_their_author(
    tmp_path: Path, settings: dict[str, str], has_agents: bool, expected: str
) -> None:
    run = write_run(tmp_path / "run", [row_with_outcome("a", code=None)])
    info = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**info, "settings": settings}))
    if has_agents:
        (run / "agents").mkdir()
    (suspicion,) = summarize_run(run).suspicious
    assert expected in suspicion.remedy
    assert ("code_column" in suspicion.remedy) == (settings == _COMMAND)


@pytest.mark.parametrize(
    "rows",
    [
        [row_with_outcome(f"bad{n}", said=MISSING) for n in range(9)],
        [
            *(row_with_outcome(f"bad{n}", said=MISSING) for n in range(9)),
            row_with_outcome("a"),
            row_with_outcome("b"),
        ],
        [row_with_outcome(f"bad{n}", said=f"main.cpp:{n}: error") for n in range(12)],
        [row_with_outcome(f"bad{n}", said=MISSING, model=f"m{n % 2}") for n in range(18)],
    ],
    ids=["nine-rows", "nine-of-eleven", "other-lines", "two-models"],
)
def test_plausible_rows_are_not_suspicious(tmp_path: Path, rows: list[Any]) -> None:
    report = reported(tmp_path / "run", rows)
    assert (report.suspicious, report.warnings) == ((), ())


NO_FENCE, EMPTY = "the reply has no fenced block", "the reply is empty"


def rows_without_program(number: int, *, model: str = "m1", why: str = NO_FENCE, of: int = 0) -> list[Any]:
    """Return rows without a program, and right rows up to a total of `of` rows."""
    bad = [row_with_outcome(f"{model}-{why}-{n}", code=None, model=model, why=why) for n in range(number)]
    return [*bad, *(row_with_outcome(f"{model}-right-{n}", model=model) for n in range(of - number))]


@pytest.mark.parametrize(
    ("rows", "warnings"),
    [
        (rows_without_program(1, of=21), []),
        (
            rows_without_program(1, of=20),
            [f"1 of 20 scored submissions (5.0 %) contain no program. The main reason: {NO_FENCE} (1)."],
        ),
        (
            [*rows_without_program(2, why=EMPTY), *rows_without_program(3, of=8)],
            [f"5 of 10 scored submissions (50.0 %) contain no program. The main reason: {NO_FENCE} (3)."],
        ),
        (
            [
                *rows_without_program(2, of=10, model="b", why=EMPTY),
                *rows_without_program(4, of=10, model="a"),
                *rows_without_program(0, of=20),
            ],
            [
                f"6 of 40 scored submissions (15.0 %) contain no program. The main reason: {NO_FENCE} (4)."
                " a: 4 of 10 scored submissions (40.0 %)."
                f" b: 2 of 10 scored submissions (20.0 %). The main reason: {EMPTY} (2)."
            ],
        ),
        (
            [*rows_without_program(1, of=4, model="a"), *rows_without_program(0, of=40)],
            [
                f"1 of 44 scored submissions (2.3 %) contain no program. The main reason: {NO_FENCE} (1)."
                " a: 1 of 4 scored submissions (25.0 %)."
            ],
        ),
    ],
    ids=["less", "five-percent", "two-reasons", "models", "one-model"],
)
def test_report_warns_if_five_percent_lack_a_program(
    tmp_path: Path, rows: list[Any], warnings: list[str]
) -> None:
    report = reported(tmp_path / "run", rows)
    assert (report.suspicious, list(report.warnings)) == ((), warnings)
    write_reports(tmp_path / "run")
    for name in ("report.md", "report.html"):
        assert ("contain no program" in (tmp_path / "run" / name).read_text()) is bool(warnings)


@pytest.mark.parametrize("number", [1, 3, 20])
def test_model_without_any_program_is_suspicious_at_any_number_of_rows(tmp_path: Path, number: int) -> None:
    report = reported(
        tmp_path / "run", [*rows_without_program(number), *rows_without_program(0, of=30, model="m2")]
    )
    (suspicion,) = report.suspicious
    assert (suspicion.model, suspicion.rows, suspicion.of, suspicion.line) == ("m1", number, number, NO_FENCE)
    assert f"of m1 contain no program (most often: {NO_FENCE})" in report.warnings[0]


def test_model_with_few_submissions_and_one_program_is_not_suspicious(tmp_path: Path) -> None:
    assert not reported(tmp_path / "run", rows_without_program(8, of=9)).suspicious


def test_models_with_similar_names_make_a_warning(tmp_path: Path) -> None:
    """Blanks around a name are removed. Other names that look alike in tables would split a model's rows."""
    names = ["gpt 4", " gpt 4\n", "gpt  4", "GPT 4", "other"]
    report = reported(
        tmp_path / "run", [row_with_outcome(f"k{n}", model=name) for n, name in enumerate(names)]
    )
    assert {model.model: model.submissions for model in report.models} == {
        "gpt 4": 2, "gpt  4": 1, "GPT 4": 1, "other": 1,
    }  # fmt: skip
    (warning,) = report.warnings
    assert warning.endswith(
        "differ only in case or white space are counted separately: 'GPT 4', 'gpt  4', 'gpt 4'."
    )
    assert not report.suspicious
    only = reported(tmp_path / "only", [row_with_outcome("a", model=" "), row_with_outcome("b", model="")])
    assert ([model.model for model in only.models], only.warnings) == ([""], ())


def test_warning_about_implausible_results_is_above_the_tables(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", [row_with_outcome(f"bad{n}", said=MISSING) for n in range(10)])
    write_reports(folder)
    page, markdown = (folder / "report.html").read_text(), (folder / "report.md").read_text()
    for shown, table in ((page, "<table"), (markdown, "| Model")):
        assert 0 < shown.index("are hardly plausible") < shown.index(table)
    summary_json = json.loads((folder / "summary.json").read_text())
    assert summary_json["suspicious"][0]["line"] == MISSING
    assert summary_json["suspicious"][0]["reason"] == "not compiled" and len(summary_json["warnings"]) == 1


def test_suspicious_report_exits_with_4(cli: CommandLine) -> None:
    for name in ("one", "two"):
        write_run(cli.folder / name, [row_with_outcome(f"bad{n}", said=MISSING) for n in range(10)])
    write_run(cli.folder / "fine", [row_with_outcome(f"good{n}") for n in range(10)])
    alone = cli("report", "one")
    assert alone.returncode == 4, alone.stderr
    assert 0 <= alone.stdout.index("are hardly plausible") < alone.stdout.index("points")
    several = cli("report", "one", "fine", "two")
    assert (several.returncode, several.stdout.count("are hardly plausible")) == (4, 2)
    compared = (cli.folder / "runs/comparison/comparison.md").read_text()
    assert compared.count("are hardly plausible") == 2
    quiet = cli("report", "one", "--json")
    assert (quiet.returncode, "are hardly plausible" in quiet.stderr) == (4, True)
    (cli.folder / "ioi-eval.toml").write_text("allow-suspicious = true\n")
    allowed = cli("report", "one", "fine")
    assert (allowed.returncode, "are hardly plausible" in allowed.stdout) == (0, True)


def test_few_rows_without_any_program_exit_with_4(cli: CommandLine, problems: Path) -> None:
    replies = [("a", "I cannot."), ("b", "No."), ("c", "<think>So")]
    rows = [{**row(key, ""), "code": None, "generation": reply} for key, reply in replies]
    dump = write_dump(cli.folder / "dump.jsonl", rows)
    completed = cli("score", dump, "--problems", problems, "--out", "run")
    printed = " ".join(completed.stdout.split())
    assert (completed.returncode, f"contain no program (most often: {NO_FENCE})" in printed) == (4, True)
    right = {**row("d", ""), "code": None, "generation": f"```\n{PYTHON}\n```\n"}
    write_dump(dump, [*rows, right])
    mixed = cli("score", dump, "--problems", problems, "--out", "run")
    assert mixed.returncode == 0, mixed.stderr
    printed = " ".join(mixed.stdout.split())
    warning = f"3 of 4 scored submissions (75.0 %) contain no program. The main reason: {NO_FENCE} (2)."
    assert 0 <= printed.index(warning) < printed.index("points")
    result_rows = [json.loads(line) for line in (cli.folder / "run/results.jsonl").read_text().splitlines()]
    assert {
        kept_row["key"]: (kept_row["language_from"], kept_row["compile_output"]) for kept_row in result_rows
    } == {
        "a": ("default", NO_FENCE),
        "b": ("default", NO_FENCE),
        "c": ("default", "the reply is cut off in its reasoning"),
        "d": ("reply", ""),
    }


def test_suspicious_run_in_wrong_language_exits_with_4(cli: CommandLine, problems: Path) -> None:
    """A Python program was compiled as C++.

    A repeated call exits with 4 again, but unjudged rows exit with 3.
    """
    written = [row(f"p{n}", PYTHON) for n in range(10)]
    dump = write_dump(cli.folder / "dump.jsonl", written)
    arguments = ("score", dump, "--problems", problems, "--out", "run", "--language", "c++")
    first = cli(*arguments)
    assert first.returncode == 4, first.stderr
    printed = " ".join(first.stdout.split())
    assert "10 of the 10 scored submissions of m do not compile, with the same first line" in printed
    assert "then set `--language NAME`" in printed
    second_call = cli(*arguments)
    assert (second_call.returncode, "Nothing new to do" in second_call.stdout) == (4, True)
    (cli.folder / "ioi-eval.toml").write_text("allow-suspicious = true\n")
    assert cli(*arguments, "--quiet").returncode == 0
    (cli.folder / "ioi-eval.toml").unlink()
    assert cli(*arguments, "--quiet").returncode == 4
    write_dump(dump, [*written, row("nobody", "x", problem_id="nothing")])
    worse = cli(*arguments, "--skip-bad-rows")
    assert worse.returncode == 3, worse.stderr
