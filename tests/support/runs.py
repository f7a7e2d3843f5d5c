"""Internal names that tests of runs import, and the recorded example run."""

from __future__ import annotations

import tarfile
from pathlib import Path

from ioi_eval.reports import ReportOptions, Summary, summarize_run, write_reports
from ioi_eval.rules.scoring import ScoreMode, score_submission
from ioi_eval.runs.events import RunSummary
from ioi_eval.runs.runner import judge_all
from ioi_eval.store.folder import Fingerprint, read_failures, read_rows
from ioi_eval.store.resources import examples_folder
from ioi_eval.store.result_log import ResultLog
from ioi_eval.store.rows import as_json_value, failure_row, read_result, result_row

__all__ = [
    "Fingerprint",
    "ReportOptions",
    "ResultLog",
    "RunSummary",
    "ScoreMode",
    "Summary",
    "as_json_value",
    "extract_recorded_rows",
    "extract_recorded_run",
    "failure_row",
    "judge_all",
    "read_failures",
    "read_result",
    "read_rows",
    "result_row",
    "score_submission",
    "summarize_run",
]


def extract_recorded_rows(folder: Path) -> Path:
    """Extract the example run of 2,000 rows into a folder, and return the folder."""
    with tarfile.open(examples_folder() / "recorded.tar.xz") as archive:
        archive.extractall(folder)
    return folder


def extract_recorded_run(folder: Path) -> Path:
    """Extract the example run into a folder, write its report, and return the folder."""
    write_reports(extract_recorded_rows(folder))
    return folder
