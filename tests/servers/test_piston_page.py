"""The commands of docs/piston.md, run on real servers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.command_line import results
from support.pages import ROOT, blocks

ROWS = 3  # of the example's dump
HOSTS = {"localhost": "raised", "a": "raised", "b": "old"}
RUNS = ("runs/generations", "one", "many", "listed", "named")


def test_commands_of_piston_page_score_example(desk: Any, real: dict[str, str]) -> None:
    environment = {**desk.cli.env, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def shell(code: str) -> str:
        completed = subprocess.run(
            ["bash", "-euo", "pipefail"], input=code, cwd=desk.folder, env=environment, capture_output=True,
            text=True,
        )  # fmt: skip
        assert completed.returncode == 0, f"{code}\n{completed.stdout}\n{completed.stderr}"
        return completed.stdout + completed.stderr

    shell("ioi-eval new mine --type examples")
    dump = desk.folder / "mine" / "generations.jsonl"
    dump.write_text("".join(dump.read_text().splitlines(keepends=True)[:ROWS]))
    page = [block for block in blocks("docs/piston.md") if block.run_by]
    assert page and all(ROOT / block.run_by == Path(__file__) for block in page)
    for block in page:
        code = re.sub(r"http://(localhost|a|b):2000", lambda found: real[HOSTS[found[1]]], block.code)
        output = shell(code.replace("https://judge.example.org/piston", real["raised"]))
    assert "Submissions can be judged on all 2 servers." in output and "many tests" in output
    result_rows = {run: results(desk.folder / run) for run in RUNS}
    points = [{key: row["all_subtasks_points"] for key, row in rows.items()} for rows in result_rows.values()]
    assert len(points[0]) == ROWS and all(run_points == points[0] for run_points in points)
