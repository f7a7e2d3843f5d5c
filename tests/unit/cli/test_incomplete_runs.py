"""Every page and table of a run with missing results reports that the run is incomplete."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from run_samples import SUM, result, submission, write_run
from support.command_line import (
    CommandLine,
    adopt_orphans,
    children,
    row,
    wait_for_rows,
    wait_until_gone,
    write_dump,
)
from support.runs import Fingerprint, ResultLog, result_row, summarize_run

SLOW = "import time\na, b = map(int, input().split())\nprint(a + b)\nif a == 30: time.sleep(0.4)\n"
NUMBER = 8


def finished_row(key: str) -> dict[str, Any]:
    sent = submission(key)
    return result_row(sent, SUM, result(sent))


@pytest.fixture
def dump(cli: CommandLine) -> Path:
    """Write slow and distinct submissions: first those by `m1`, then those by `m2`."""
    models = ["first"] * (NUMBER // 2) + ["second"] * (NUMBER // 2)
    rows = [row(f"row-{n}", f"own = {n}\n{SLOW}", language="python") for n in range(NUMBER)]
    return write_dump(
        cli.folder / "d.jsonl", [{**dump_row, "model": m} for dump_row, m in zip(rows, models, strict=True)]
    )


@pytest.fixture
def asked(dump: Path, problems: Path) -> tuple[Any, ...]:
    return ("score", dump, "--problems", problems, "--workers", "1", "--out", "run")


def stop_after_first_model(cli: CommandLine, arguments: tuple[Any, ...]) -> subprocess.Popen[str]:
    """Start a run, and stop its process when it has results of the first model only."""
    process = cli.start(*arguments)
    wait_for_rows(cli.folder / "run", 2, process)
    process.send_signal(signal.SIGSTOP)
    return process


def shown(cli: CommandLine, *folders: str) -> tuple[int, str]:
    completed = cli("report", *folders)
    return completed.returncode, " ".join(completed.stdout.split())


def test_killed_run_is_incomplete_until_it_is_resumed(cli: CommandLine, asked: tuple[Any, ...]) -> None:
    adopt_orphans()
    children_before = children()
    process = stop_after_first_model(cli, asked)
    code, printed = shown(cli, "run")
    assert code == 3 and "A process is judging this run now" in printed
    process.kill()
    process.communicate()
    wait_until_gone(children_before)

    code, printed = shown(cli, "run")
    run_summary = json.loads((cli.folder / "run/summary.json").read_text())
    assert (run_summary["complete"], run_summary["of"]) == (False, NUMBER) and 2 <= run_summary[
        "judged"
    ] < NUMBER
    warning = f"This run is incomplete: {run_summary['judged']} of {NUMBER} submissions judged."
    assert code == 3
    assert 0 <= printed.index(warning) < printed.index("points")
    assert "Repeat the command that made the run" in printed, printed
    for name, table in (("report.md", "| Model"), ("report.html", "<table")):
        content = (cli.folder / "run" / name).read_text()
        assert 0 < content.index(warning) < content.index(table)
    (cli.folder / "ioi-eval.toml").write_text("allow-suspicious = true\n")
    quiet = cli("report", "run", "--json")
    assert (quiet.returncode, warning in quiet.stderr) == (3, True)
    assert json.loads(quiet.stdout)["run"]["complete"] is False

    # A call with only finished rows does not complete the run.
    some = cli(*asked, "--limit", "1")
    assert some.returncode == 0 and warning in " ".join(some.stdout.split()), some.stderr
    assert shown(cli, "run")[0] == 3

    assert cli(*asked).returncode == 0
    code, printed = shown(cli, "run")
    assert (code, "incomplete" in printed) == (0, False)
    run_summary = json.loads((cli.folder / "run/summary.json").read_text())
    assert (run_summary["complete"], run_summary["judged"], run_summary["of"]) == (True, NUMBER, NUMBER)


def test_comparison_names_incomplete_run(cli: CommandLine) -> None:
    write_run(cli.folder / "whole", [finished_row("a")])
    with ResultLog.open(cli.folder / "run", Fingerprint(dump="d")) as journal:
        journal.set_expected_keys(("a", "b"), ())
        journal.start_run()
        journal.record_result(finished_row("a"))
    code, printed = shown(cli, "whole", "run")
    assert (code, printed.count("This run is incomplete")) == (3, 1)
    assert "run: This run is incomplete" in printed
    compared = (cli.folder / "runs/comparison/comparison.md").read_text()
    assert compared.count("This run is incomplete") == 1


def test_partly_read_dump_makes_run_incomplete(tmp_path: Path) -> None:
    with ResultLog.open(tmp_path / "run", Fingerprint(dump="d")) as journal:
        journal.set_expected_count(None)
        journal.record_result(finished_row("a"))
    run_summary = summarize_run(tmp_path / "run")
    assert (run_summary.complete, run_summary.judged, run_summary.of) == (False, 1, None)
    assert "1 submission judged, and its dump is not read to the end" in run_summary.warnings[0]


def test_added_and_removed_rows_change_expected_submissions(tmp_path: Path) -> None:
    def opened(*keys: str, others: tuple[str, ...] = (), record: str = "") -> int | None:
        with ResultLog.open(tmp_path / "run", Fingerprint(dump="d")) as journal:
            journal.set_expected_keys(keys, others)
            for key in record:
                journal.record_result(finished_row(key))
            journal.start_run()
        return summarize_run(tmp_path / "run").of

    assert opened("a", "b", "c", "d", record="ab") == 4
    assert opened("a", others=("b", "c", "d", "x")) == 4, "earlier calls expected c and d"
    assert opened("c", others=("a", "b", "d", "x"), record="c") == 4
    assert opened("x", others=("a", "b", "c", "d"), record="x") == 4 + 1
    assert not summarize_run(tmp_path / "run").complete, "d has no result"
    assert opened("y", others=("a", "b", "c", "x")) == 4 + 1, "d is no longer in the dump"
    assert opened("a", "b", "c", "x") == 4
    assert summarize_run(tmp_path / "run").complete


def test_run_without_expected_number_is_complete(tmp_path: Path) -> None:
    run_summary = summarize_run(write_run(tmp_path / "run", [finished_row("a")]))
    assert (run_summary.complete, run_summary.judged, run_summary.of, run_summary.warnings) == (
        True,
        1,
        None,
        (),
    )
