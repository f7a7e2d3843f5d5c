"""Unusable rows of a dump on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command_line import RIGHT, CommandLine, results, row, write_dump


@pytest.fixture
def dump(cli: CommandLine) -> Path:
    bad = [row(f"bad-{number}", RIGHT, year="soon") for number in range(25)]
    return write_dump(cli.folder / "d.jsonl", [row("good", RIGHT), *bad])


def listed(cli: CommandLine) -> list[int]:
    return [json.loads(line)["line"] for line in (cli.folder / "run/rejected.jsonl").read_text().splitlines()]


def test_first_bad_rows_are_printed_and_all_are_in_rejected_file(
    cli: CommandLine, problems: Path, dump: Path
) -> None:
    completed = cli("score", dump, "--problems", problems, "--out", "run")
    assert completed.returncode == 2, completed
    error_lines = completed.stderr.splitlines()
    assert len([line for line in error_lines if line.startswith("error: ")]) == 20
    assert f"error: {dump}, line 2, field 'year': \"soon\" is not a year" in error_lines[0]
    assert (
        error_lines[-1]
        == "25 rows cannot be used. All are in run/rejected.jsonl. --skip-bad-rows leaves them out."
    )
    assert listed(cli) == [*range(2, 27)]
    assert [path.name for path in (cli.folder / "run").iterdir()] == ["rejected.jsonl"]


def test_skip_bad_rows_scores_other_rows(cli: CommandLine, problems: Path, dump: Path) -> None:
    command = ("score", dump, "--problems", problems, "--out", "run")
    assert cli(*command).returncode == 2
    completed = cli(*command, "--skip-bad-rows")
    assert completed.returncode == 3, completed
    assert "Left out 25 rows that cannot be used: see rejected.jsonl" in completed.stdout
    assert [*results(cli.folder / "run")] == ["good"]
    assert listed(cli) == [*range(2, 27)]
    # The run continues after the rows are corrected: no row is judged again.
    write_dump(dump, [row("good", RIGHT)])
    second_call = cli(*command, "--fresh")
    assert second_call.returncode == 0, second_call
    assert not (cli.folder / "run/rejected.jsonl").exists()


def test_list_of_rejected_rows_is_not_written_into_folder_of_other_files(
    cli: CommandLine, problems: Path, dump: Path
) -> None:
    (cli.folder / "other").mkdir()
    (cli.folder / "other/thesis.tex").write_text("x")
    completed = cli("score", dump, "--problems", problems, "--out", "other")
    assert completed.returncode == 2 and "has no run" in completed.stderr, completed
    assert [path.name for path in (cli.folder / "other").iterdir()] == ["thesis.tex"]


def test_dump_files_of_unknown_format_are_listed(cli: CommandLine, problems: Path) -> None:
    """Otherwise the user would not notice that a model's rows are missing."""
    (cli.folder / "dumps").mkdir()
    write_dump(cli.folder / "dumps/a.jsonl", [row("good", RIGHT)])
    for name in ("b.tsv", "c.jsonl.xz", "d", "e", ".f", "state.json"):
        (cli.folder / "dumps" / name).touch()
    completed = cli("score", "dumps", "--problems", problems, "--out", "run")
    assert completed.returncode == 0, completed
    note = "Left out 4 files whose suffix is of no format of rows: "
    assert f"{note}dumps/b.tsv, dumps/c.jsonl.xz, dumps/d, ..." in " ".join(completed.stdout.split())
    assert note in (cli.folder / "run/report.md").read_text()
