"""`ioi-eval validate` on small packages with real compilers, proctor and sandboxes."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.command_line import (
    BROKEN,
    RIGHT,
    SMALL,
    WRONG,
    CommandLine,
    contents,
    results,
    row,
    write_dump,
    write_package,
)
from support.folders import default_cache_variables
from support.plugins import needs_plugin

from ioi_eval.model.languages import LANGUAGES

ROOT = Path(__file__).parents[3]
SPINDLE = ROOT / "tests" / "packages" / "spindle"
OFFICIAL = ROOT.parent / "shared" / "data" / "ioi-2024"


def add_solutions(package: Path, **solutions: str) -> Path:
    """Write solutions by the name of their folder, each in a file `<folder>.cpp`."""
    for folder, code in solutions.items():
        (package / "solutions" / folder).mkdir(parents=True)
        (package / "solutions" / folder / f"{folder}.cpp").write_text(code)
    return package


@pytest.fixture
def package(problems: Path) -> Path:
    return add_solutions(problems / "add", correct=RIGHT, incorrect=SMALL, compile_error=BROKEN)


def validation(folder: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((folder / "validation.json").read_text())
    return report


def test_validate_finds_no_difference_in_right_package(cli: CommandLine, package: Path) -> None:
    first = cli("validate", package)
    assert first.returncode == 0, first.stderr + first.stdout
    assert "No difference: 3 expectations of 3 solutions met" in first.stdout
    assert (
        first.stdout.splitlines()[-1]
        == "Report: runs/validate-add/report.md, for a browser runs/validate-add/report.html"
    )
    run = cli.folder / "runs" / "validate-add"
    report = validation(run)
    assert report["confusion"] == {"compile_error": {"CE": 1}, "correct": {"AC": 1}, "incorrect": {"WA": 1}}
    assert {"results.jsonl", "run.json", "summary.json", "report.md"} <= contents(run).keys()
    lead = "**No difference: 3 expectations of 3 solutions met.** Every test ran"
    assert lead in (run / "report.md").read_text()

    results_before = results(run)
    second = cli("validate", package)
    assert (second.returncode, "Nothing new to do" in second.stdout) == (0, True)
    assert results(run) == results_before


def test_validate_runs_all_tests(cli: CommandLine, problems: Path) -> None:
    """Otherwise the first wrong test would decide the subtask."""
    add_solutions(problems / "add", incorrect=WRONG)
    assert cli("validate", problems, "--out", "run").returncode == 0
    (result_row,) = results(cli.folder / "run").values()
    statuses = {
        test["status"] for subtask in result_row["all_subtasks_results"] for test in subtask["test_results"]
    }
    assert statuses == {"WA"}


def test_validate_shows_differences_and_exits_with_1(cli: CommandLine, package: Path) -> None:
    add_solutions(package, model_solution=SMALL, time_limit=RIGHT, runtime_error=BROKEN)
    completed = cli("validate", package, "--out", "run")
    assert completed.returncode == 1, completed.stderr + completed.stdout
    lines = completed.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    line_number = lines.index("add, model_solution.cpp: expected model_solution, got WA with a score of 0")
    assert lines[line_number + 1].strip() == "1 of 4 tests not right; the first:"
    assert lines[line_number + 2].strip().startswith("2-1 WA 0: ")
    assert " s CPU, " in lines[line_number + 2]
    line_number = lines.index("add, time_limit.cpp: expected time_limit, got AC with a score of 1")
    assert lines[line_number + 1].strip() == "all of its 4 tests are right; the slowest:"
    line_number = lines.index("add, runtime_error.cpp: expected runtime_error, got CE with a score of 0")
    assert "error" in "".join(lines[line_number + 1 : line_number + 6])
    assert "3 differences, in 3 of 6 solutions" in lines
    report = (cli.folder / "run" / "report.md").read_text()
    assert "### Differences" in report
    assert "expected model_solution, got WA" in report
    reported = cli("report", "run")
    assert reported.returncode == 0
    assert (cli.folder / "run" / "report.md").read_text() == report


def test_validate_selects_problems_and_solutions(cli: CommandLine, package: Path, problems: Path) -> None:
    write_package(problems / "other")
    base = ("validate", problems, "--out", "run")
    assert cli(*base, "--problem", "add", "--only", "correct.cpp").returncode == 0
    assert results(cli.folder / "run").keys() == {"add/correct/correct.cpp"}
    assert cli(*base, "--only", "add/incorrect/incorrect.cpp").returncode == 0
    assert len(results(cli.folder / "run")) == 2
    missing = cli(*base, "--only", "nothing.cpp")
    assert (missing.returncode, "no solution 'nothing.cpp'" in missing.stderr) == (2, True)


@pytest.mark.nightly
def test_validate_suggests_similar_solution_names(cli: CommandLine, package: Path) -> None:
    completed = cli("validate", package, "--only", "corect.cpp", "--out", "run")
    assert completed.returncode == 2
    assert completed.stderr.count("\n") == 1
    assert "--only: the source has no solution 'corect.cpp'. Did you mean 'correct.cpp'" in completed.stderr
    assert not (cli.folder / "run").exists()
    assert "There are: compile_error.cpp, correct.cpp, " in cli("validate", package, "--only", "zzz").stderr
    by_key = cli("validate", package, "--only", "add/correct/correc.cpp").stderr
    assert "Did you mean 'add/correct/correct.cpp'" in by_key


@pytest.fixture
def foreign() -> str:
    """Return the file suffix of a language without a compiler on this machine."""
    folders = "/usr/local/bin:/usr/bin:/bin"
    lacking = [
        language
        for language in LANGUAGES
        if language.suffixes and shutil.which(language.command, path=folders) is None
    ]
    if not lacking:
        pytest.skip("this machine has compilers for all languages")
    return lacking[0].suffixes[0]


def test_validate_exits_with_3_if_selection_cannot_be_judged(
    cli: CommandLine, package: Path, foreign: str
) -> None:
    file_name = f"old{foreign}"
    (package / "solutions" / "correct" / file_name).write_text("begin end.")
    completed = cli("validate", package, "--only", file_name, "--out", "run")
    assert completed.returncode == 3, completed.stderr
    assert f"not judged: add/correct/{file_name}: " in completed.stderr
    assert [entry["solution"] for entry in validation(cli.folder / "run")["unjudged"]] == [file_name]


@pytest.mark.nightly
def test_validate_judges_changed_solution_again(cli: CommandLine, package: Path) -> None:
    assert cli("validate", package, "--out", "run").returncode == 0
    (package / "solutions" / "correct" / "correct.cpp").write_text(WRONG)
    second = cli("validate", package, "--out", "run")
    assert second.returncode == 1
    assert "1 earlier result: judged again, because the program changed" in second.stderr
    (package / "solutions" / "correct" / "correct.cpp").unlink()
    third = cli("validate", package, "--out", "run")
    assert third.returncode == 0, third.stderr
    assert "Nothing new to do" in third.stdout


def test_json_option_prints_only_json(cli: CommandLine, package: Path) -> None:
    completed = cli("validate", package, "--out", "run", "--json")
    assert (completed.returncode, completed.stderr) == (0, "")
    printed = json.loads(completed.stdout)
    assert (printed["differences"], printed["expectations"], printed["report"]) == (0, 3, "run/report.md")
    report = validation(cli.folder / "run")
    assert {name: printed[name] for name in report} == report


def test_validate_checks_file_with_scores(cli: CommandLine, problems: Path) -> None:
    rows = [
        row("right", RIGHT, score=100),
        row("small", SMALL, score=40),
        row("wrong", WRONG, score=40, label="incorrect"),
    ]
    dump = write_dump(cli.folder / "official.jsonl", rows)
    completed = cli("validate", dump, "--problems", problems, "--out", "run")
    assert completed.returncode == 1, completed.stderr + completed.stdout
    assert "Column score has the expected points" in completed.stdout
    assert "add, official.jsonl:3 incorrect: expected 40, got WA with a score of 0" in completed.stdout
    report = validation(cli.folder / "run")
    assert report["confusion"] == {"full marks": {"AC": 1}, "part of it": {"WA": 2}}
    agreement = {
        solution["key"]: [check["agrees"] for check in solution["checks"]] for solution in report["solutions"]
    }
    assert agreement == {"right": [True], "small": [True], "wrong": [False]}


def test_validate_checks_file_with_verdicts(cli: CommandLine, problems: Path) -> None:
    rows = [row("right", RIGHT, kind="OK", score=7), row("small", SMALL, kind="WRONG_ANSWER", score=7)]
    dump = write_dump(cli.folder / "official.jsonl", rows)
    completed = cli("validate", dump, "--problems", problems, "--columns", "expected=kind")
    assert completed.returncode == 0, completed.stderr + completed.stdout
    assert (cli.folder / "runs" / "validate-official" / "validation.json").exists()


def test_validate_counts_unjudged_solution_apart_from_differences(
    cli: CommandLine, package: Path, foreign: str
) -> None:
    file_name = f"old{foreign}"
    (package / "solutions" / "correct" / file_name).write_text("begin end.")
    completed = cli("validate", package, "--out", "run")
    assert completed.returncode == 3, completed.stderr + completed.stdout
    assert f"not judged: add/correct/{file_name}: " in completed.stderr
    assert "1 solution could not be judged" in completed.stdout
    assert [entry["solution"] for entry in validation(cli.folder / "run")["unjudged"]] == [file_name]


def test_output_only_solution_without_matching_files_scores_zero(cli: CommandLine) -> None:
    files = {
        "problem.json": '{"code": "maze", "task_type": "OutputOnly"}',
        "tests/a.in": "1\n",
        "tests/a.out": "2\n",
        "subtasks/1.json": '{"score": 100, "testcases": ["a"]}',
        "solutions/incorrect/misnamed/output_A.txt": "2\n",
    }
    for name, content in files.items():
        (cli.folder / "maze" / name).parent.mkdir(parents=True, exist_ok=True)
        (cli.folder / "maze" / name).write_text(content)
    completed = cli("validate", "maze", "--out", "run")
    assert completed.returncode == 0, completed.stderr + completed.stdout
    (result_row,) = results(cli.folder / "run").values()
    assert (result_row["points"], result_row["verdict"]) == (0, "WA")


def test_validate_script_prints_same_differences(cli: CommandLine, package: Path) -> None:
    add_solutions(package, time_limit=RIGHT)
    completed = cli.script("scripts/validate_official.py", package)
    assert completed.returncode == 1, completed.stderr
    assert "add/correct/correct.cpp: verdict AC, 100 of 100 points" in completed.stdout
    assert "expected time_limit, got AC with a score of 1" in completed.stdout
    assert completed.stdout.splitlines()[-1] == "1 difference, in 1 of 4 solutions"


def test_validate_script_prints_table_of_packages(cli: CommandLine, package: Path, foreign: str) -> None:
    add_solutions(package, time_limit=RIGHT, unheard=RIGHT)
    (package / f"solutions/correct/best{foreign}").write_text("begin end.")
    broken = package.parent / "broken"
    broken.mkdir()
    (broken / "problem.json").write_text("{")
    completed = cli.script("scripts/validate_official.py", "--table", package.parent, "nowhere")
    assert completed.returncode == 1, completed.stderr
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in completed.stdout.splitlines()]
    assert lines[2][:6] == ["add", "ioi_eval/CMS", "yes", "6", "3 of 4", "1"] and " has no " in lines[2][6]
    assert lines[3][1:6] == ["ioi_eval/CMS", "no", "0", "0 of 0", "0"] and "broken JSON" in lines[3][6]
    assert lines[4][:3] == ["nowhere", "", "no"] and "no such file or folder" in lines[4][6]
    assert lines[5][:6] == ["1 of 3 packages can be used", "", "no", "6", "3 of 4", "1"]


@pytest.mark.parametrize("extras", ["", "[dev]"], ids=["without extras", "with extras"])
def test_validate_official_script_installs_missing_package(cli: CommandLine, extras: str) -> None:
    """Nothing is installed if the package exists, even with extras."""
    environment = cli.folder / "environment"
    python = environment / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    python.chmod(0o755)
    expected_hash = hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    (environment / f".installed{extras}").write_text(f"{expected_hash}  - {ROOT}{extras}\n")
    env = {**cli.env, **default_cache_variables(cli.cache), "IOI_EVAL_VENV": str(environment)}
    script = str(ROOT / "scripts" / "validate_official")
    refused = subprocess.run([script], env=env, capture_output=True, text=True, check=False)
    assert (refused.returncode, script.rpartition("/")[2] in refused.stderr) == (2, True)
    called = subprocess.run([script, "--generate", "x"], env=env, capture_output=True, text=True, check=True)
    assert called.stdout.splitlines() == [f"{script}.py", "--table", "--generate", "x"]


@needs_plugin("polygon")
def test_validate_official_script_generates_missing_tests(cli: CommandLine) -> None:
    generated = cli.script("scripts/validate_official.py", "--table", "--generate", SPINDLE)
    without = cli.script("scripts/validate_official.py", "--table", SPINDLE)
    for completed, line, code in (
        (generated, "| yes | 2 | 5 of 5 | 0 |  |", 0),
        (without, "| no | 0 | 0 of 0 | 0 |", 3),
    ):
        assert (completed.returncode, line in completed.stdout.splitlines()[2]) == (code, True), (
            completed.stderr
        )


@pytest.mark.skipif(not OFFICIAL.is_dir(), reason="the contest's packages are not next to this checkout")
@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "only", "solutions"),
    [("aplusb", (), 4), ("machine", ("sol.cpp", "sol_tle.cpp", "sol_rte.cpp", "sol_wa.cpp"), 4)],
)
def test_official_contest_packages_validate(
    cli: CommandLine, name: str, only: tuple[str, ...], solutions: int
) -> None:
    chosen = [argument for solution in only for argument in ("--only", solution)]  # all of them need minutes
    completed = cli("validate", OFFICIAL / f"{name}-CMS.zip", "--out", "run", "--json", *chosen)
    report = json.loads(completed.stdout)
    assert (completed.returncode, report["differences"], report["unjudged"]) == (0, 0, []), completed.stderr
    assert len(report["solutions"]) == solutions


SLOW = "import signal\nsignal.pause()\n"


def write_kattis(folder: Path) -> Path:
    """Write a package whose time limit is measured from its accepted solution."""
    files = {
        "problem.yaml": "name: Add\n",
        "data/secret/1.in": "1 2\n",
        "data/secret/1.ans": "3\n",
        "submissions/accepted/right.cpp": RIGHT,
        "submissions/wrong_answer/wrong.cpp": WRONG,
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def test_validate_measures_time_limit_from_accepted_solutions(cli: CommandLine) -> None:
    package = write_kattis(cli.folder / "kattis")
    first = cli("validate", package, "--out", "run")
    assert first.returncode == 0, first.stderr + first.stdout
    assert "kattis: time limit " in first.stderr
    limits = validation(cli.folder / "run")["limits"]
    assert limits["kattis"]["cpu_time"] >= 1
    assert limits["kattis"]["solution"] == "right.cpp"

    limits_before = (cli.folder / "run" / "limits.json").read_bytes()
    dump = write_dump(cli.folder / "d.jsonl", [row("slow", SLOW, problem_id="kattis", language="python")])
    scored = cli("score", dump, "--problems", package, "--out", "scored")
    assert scored.returncode == 0, scored.stderr
    assert [test["status"] for test in results(cli.folder / "scored")["slow"]["test_results"]] == ["TLE"]
    assert cli("validate", package, "--out", "run").returncode == 0
    assert (cli.folder / "run" / "limits.json").read_bytes() == limits_before


def test_validate_refuses_or_skips_bad_rows(cli: CommandLine) -> None:
    package = write_package(cli.folder / "add")
    rows = [row("right", RIGHT, score=100), row("of nothing", RIGHT, problem_id="none", score=1)]
    dump = write_dump(cli.folder / "d.jsonl", [*rows, {**row("no code", None, score=0), "code": 7}])
    command = ("validate", dump, "--problems", package, "--out", "run")
    refused = cli(*command)
    assert refused.returncode == 2, refused.stderr
    rejected = (cli.folder / "run" / "rejected.jsonl").read_text().splitlines()
    assert [json.loads(line)["line"] for line in rejected] == [2, 3]
    completed = cli(*command, "--skip-bad-rows")
    assert completed.returncode == 3, completed.stderr
    assert "Left out 2 rows that cannot be used: see rejected.jsonl" in completed.stdout
    assert (cli.folder / "run" / "rejected.jsonl").read_text().splitlines() == rejected
    assert len(results(cli.folder / "run")) == 1
    write_dump(dump, rows[:1])
    assert cli(*command).returncode == 0
    assert not (cli.folder / "run" / "rejected.jsonl").exists()
