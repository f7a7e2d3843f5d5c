"""Recorded runs in tests/data/runs:

their summary.json and report.md. `pytest --update` on this file writes both next to the run for a reviewer.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ioi_eval.reports import write_reports

FOLDER = Path(__file__).parents[2] / "data" / "runs"
GOLDENS = ("summary.json", "report.md")


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.iterdir()))
def test_reports_of_a_run_are_as_expected(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    run = tmp_path / name
    shutil.copytree(FOLDER / name, run, ignore=shutil.ignore_patterns(*GOLDENS))
    write_reports(run)
    for golden in GOLDENS:
        if request.config.getoption("--update"):
            shutil.copy(run / golden, FOLDER / name)
        assert (run / golden).read_text() == (FOLDER / name / golden).read_text()
