"""Recorded runs in tests/data/runs:

their summary.json and report.md. `pytest --update` on this file writes both next to the run for a reviewer.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.goldens import golden

from ioi_eval.reports import write_reports

FOLDER = Path(__file__).parents[2] / "data" / "runs"
GOLDENS = ("summary.json", "report.md")


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.iterdir()))
def test_reports_of_a_run_are_as_expected(name: str, tmp_path: Path) -> None:
    run = tmp_path / name
    shutil.copytree(FOLDER / name, run, ignore=shutil.ignore_patterns(*GOLDENS))
    write_reports(run)
    for report in GOLDENS:
        assert (run / report).read_text() == golden(FOLDER / name / report)
