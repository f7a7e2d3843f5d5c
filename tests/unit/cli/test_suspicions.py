"""A table that can hardly be true says so, above the table, wherever it is shown."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from run_samples import SUM, submission, write_run
from support.command_line import PYTHON, CommandLine, row, write_dump
from support.runs import result_row, submission_result, summary

from ioi_eval.models import TestResult, Verdict
from ioi_eval.reports import Summary, write_reports

pytestmark = pytest.mark.once

MISSING = "main.cpp:1:10: fatal error: grader.h: No such file or directory"
NO_NUMPY = "Runtime error (exit code 1): ModuleNotFoundError: No module named 'numpy'"


def ended(key: str, *, said: str = "", error: str = "", code: str | None = "x", model: str = "m1") -> Any:
    """A row: what the compiler said, or how each test ended, or all right."""
    sent = submission(key, row={"model": model})
    sent = msgspec.structs.replace(sent, code=code)
    status = Verdict.RE if error else Verdict.AC
    tests = {
        test.name: TestResult(test_name=test.name, score=float(not error), status=status, feedback=error)
        for test in SUM.tests
    }
    compiles = not said and code is not None
    found = submission_result(SUM, sent, tests, compiles=compiles, compile_output=said)
    return result_row(sent, SUM, found)


def reported(folder: Path, rows: Iterable[Any]) -> Summary:
    return summary(write_run(folder, rows))


@pytest.mark.parametrize(
    ("how", "line", "words"),
    [
        ({"code": None}, "", "hold no program. Likely the replies are empty or cut off"),
        ({"said": f"\n{MISSING}\n  1 | #include"}, MISSING, "do not compile, with the same first line"),
        ({"error": f"{NO_NUMPY}\nTraceback"}, NO_NUMPY, "fail with the same first line"),
    ],
    ids=["no-program", "compiler", "error"],
)
def test_nine_of_ten_rows_that_end_alike(tmp_path: Path, how: dict[str, Any], line: str, words: str) -> None:
    rows = [*(ended(f"bad{n}", **how) for n in range(9)), ended("right")]
    found = reported(tmp_path / "run", rows)
    (one,) = found.suspicious
    assert (one.model, one.rows, one.of, one.line) == ("m1", 9, 10, line)
    (warning,) = found.warnings
    said = f"This table can hardly be true: 9 of the 10 scored submissions of m1 {words}"
    assert warning.startswith(said) and warning.endswith(f"{one.remedy}.")


@pytest.mark.parametrize(
    "rows",
    [
        [ended(f"bad{n}", said=MISSING) for n in range(9)],
        [*(ended(f"bad{n}", said=MISSING) for n in range(9)), ended("a"), ended("b")],
        [ended(f"bad{n}", said=f"main.cpp:{n}: error") for n in range(12)],
        [ended(f"bad{n}", said=MISSING, model=f"m{n % 2}") for n in range(18)],
        [*(ended(f"a{n}", said=MISSING) for n in range(6)), *(ended(f"b{n}", code=None) for n in range(6))],
    ],
    ids=["nine-rows", "nine-of-eleven", "other-lines", "two-models", "two-reasons"],
)
def test_what_may_be_true(tmp_path: Path, rows: list[Any]) -> None:
    found = reported(tmp_path / "run", rows)
    assert (found.suspicious, found.warnings) == ((), ())


def test_models_whose_names_look_alike(tmp_path: Path) -> None:
    """Blanks around a name are none of it. Tables show the others alike, and each has a part of the rows."""
    names = ["gpt 4", " gpt 4\n", "gpt  4", "GPT 4", "other"]
    found = reported(tmp_path / "run", [ended(f"k{n}", model=name) for n, name in enumerate(names)])
    assert {model.model: model.submissions for model in found.models} == {
        "gpt 4": 2, "gpt  4": 1, "GPT 4": 1, "other": 1,
    }  # fmt: skip
    (warning,) = found.warnings
    assert warning.endswith("differ in case or blanks only are counted apart: 'GPT 4', 'gpt  4', 'gpt 4'.")
    assert not found.suspicious
    only = reported(tmp_path / "only", [ended("a", model=" "), ended("b", model="")])
    assert ([model.model for model in only.models], only.warnings) == ([""], ())


def test_it_stands_above_the_tables(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", [ended(f"bad{n}", said=MISSING) for n in range(10)])
    write_reports(folder)
    page, text = (folder / "report.html").read_text(), (folder / "report.md").read_text()
    for shown, table in ((page, "<table"), (text, "| Model")):
        assert 0 < shown.index("can hardly be true") < shown.index(table)
    kept = json.loads((folder / "summary.json").read_text())
    assert kept["suspicious"][0]["line"] == MISSING
    assert kept["suspicious"][0]["reason"] == "not compiled" and len(kept["warnings"]) == 1


def test_a_report_says_so_and_exits_with_4(cli: CommandLine) -> None:
    for name in ("one", "two"):
        write_run(cli.folder / name, [ended(f"bad{n}", said=MISSING) for n in range(10)])
    write_run(cli.folder / "fine", [ended(f"good{n}") for n in range(10)])
    alone = cli("report", "one")
    assert alone.returncode == 4, alone.stderr
    assert 0 <= alone.stdout.index("can hardly be true") < alone.stdout.index("points")
    several = cli("report", "one", "fine", "two")
    assert (several.returncode, several.stdout.count("can hardly be true")) == (4, 2)
    compared = (cli.folder / "runs/comparison/comparison.md").read_text()
    assert compared.count("can hardly be true") == 2
    quiet = cli("report", "one", "--json")
    assert (quiet.returncode, "can hardly be true" in quiet.stderr) == (4, True)
    allowed = cli("report", "one", "fine", "--allow-suspicious")
    assert (allowed.returncode, "can hardly be true" in allowed.stdout) == (0, True)
    assert cli("report", "fine").returncode == 0


def test_a_dump_in_another_language(cli: CommandLine, problems: Path) -> None:
    """Python programs as C++: 4, and again 4 without another try; what is not judged wins."""
    written = [row(f"p{n}", f"{PYTHON}{n}") for n in range(10)]
    dump = write_dump(cli.folder / "dump.jsonl", written)
    asked = ("score", dump, "--problems", problems, "--out", "run", "--language", "c++")
    first = cli(*asked)
    assert first.returncode == 4, first.stderr
    said = " ".join(first.stdout.split())
    assert "10 of the 10 scored submissions of m do not compile, with the same first line" in said
    assert "then say `--language NAME`" in said
    again = cli(*asked)
    assert (again.returncode, "Nothing new to do" in again.stdout) == (4, True)
    assert cli(*asked, "--allow-suspicious").returncode == 0
    assert cli(*asked, "--quiet").returncode == 4
    write_dump(dump, [*written, row("nobody", "x", problem_id="nothing")])
    worse = cli(*asked, "--skip-bad-rows")
    assert worse.returncode == 3, worse.stderr
