"""`ioi-eval score --shard I/N`, and `ioi-eval report` of the shards' folders."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.command_line import PYTHON, CommandLine, write_dump

from ioi_eval.store.folder import read_rows

Score = Callable[..., subprocess.CompletedProcess[str]]
PROGRAMS = [PYTHON, "", "print(1", "print(0)"]


@pytest.fixture
def score(cli: CommandLine, problems: Path) -> Score:
    """Return the result of `score` for a dump of distinct programs."""
    rows = [
        {"id": f"r{number}", "problem_id": "add", "model": "m", "code": code, "language": "python"}
        for number, code in enumerate(PROGRAMS)
    ]
    dump = write_dump(cli.folder / "mine.jsonl", rows)
    return lambda *options: cli("score", dump, "--problems", problems, "--quiet", *options)


def summary_but_for_times(folder: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    del summary["settings"]["given"]["command"], summary["date"]
    for model in summary["models"]:
        del model["uses"]  # shares of the time and memory limits
    return summary


def test_merged_shards_equal_one_run(cli: CommandLine, score: Score) -> None:
    folders = [f"runs/mine-shard-{index}-of-2" for index in (1, 2)]
    for index in (1, 2):
        completed = score("--shard", f"{index}/2")
        assert completed.returncode == 0, completed.stderr
    keys = [row["key"] for folder in folders for row in read_rows(cli.folder / folder)]
    assert sorted(keys) == [f"r{number}" for number in range(len(PROGRAMS))]

    incomplete = cli("report", folders[0])
    assert incomplete.returncode == 3
    assert "shard 2 of 2 is missing" in incomplete.stdout + incomplete.stderr
    assert "shard 2 of 2 is missing" in (cli.folder / folders[0] / "report.html").read_text()

    completed = cli("report", *folders)
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.splitlines()[-1].startswith("Report: runs/mine-merged/report.md")
    assert score("--out", "whole").returncode == 0
    merged = cli.folder / "runs" / "mine-merged"
    assert summary_but_for_times(merged) == summary_but_for_times(cli.folder / "whole")


def test_shards_of_two_runs_are_refused(cli: CommandLine, score: Score) -> None:
    first_shard, two = ("runs/mine-shard-1-of-2", "copy")
    assert score("--shard", "1/2").returncode == 0
    shutil.copytree(cli.folder / first_shard, cli.folder / two)
    for folders in ((first_shard, two), (first_shard, first_shard)):
        twice = cli("report", *folders)
        assert twice.returncode == 2 and f"shard 1/2 is in {first_shard} already" in twice.stderr
    assert score("--shard", "2/2", "--all-tests").returncode == 0
    other = cli("report", first_shard, "runs/mine-shard-2-of-2")
    assert other.returncode == 2 and "option all-tests: false -> true" in other.stderr
    refused = score("--shard", "2/2", "--out", first_shard)
    assert refused.returncode == 2
    assert f"{first_shard}: the folder holds shard 1/2, but this call is for shard 2/2" in refused.stderr
    assert "Choose another --out folder, or give --fresh" in refused.stderr


@pytest.mark.parametrize(
    ("shard", "message"), [("5/4", "the shard 5/4 does not exist"), ("half", "'half' is not a valid shard")]
)
def test_invalid_shard_option_is_refused(cli: CommandLine, score: Score, shard: str, message: str) -> None:
    completed = score("--shard", shard)
    assert (
        completed.returncode == 2 and f"--shard: {message}. Give I/N with I from 1 to N" in completed.stderr
    )
    assert not (cli.folder / "runs").exists()
