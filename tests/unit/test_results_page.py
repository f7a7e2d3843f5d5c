"""docs/results.md names every column and field of a run's folder."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
from run_samples import SUM, result, submission

from ioi_eval.errors import JudgeFailure
from ioi_eval.models import TestResult, Verdict
from ioi_eval.reports import Summary
from ioi_eval.reports.records import Validation
from ioi_eval.reports.tables import COLUMNS
from ioi_eval.store import folder
from ioi_eval.store.rows import RESULT_COLUMNS, failure_row, result_row

PAGE = (Path(__file__).parents[2] / "docs" / "results.md").read_text()
PARTS = dict(re.findall(r"^## `?([\w.]+).*?\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))


def named(table: str) -> set[str]:
    """Return the names in the first column."""
    cells = re.findall(r"^\| (`.*?) \|", table, re.M)
    return {name for cell in cells for name in re.findall(r"`([\w.]+)`", cell)}


def test_results_page_lists_result_columns() -> None:
    columns, _, tests = PARTS["results.jsonl"].partition("Fields of `test_columns`:")
    assert named(columns) == RESULT_COLUMNS | {"year", "difficulty", "tags"}
    assert named(tests) == set(TestResult.__struct_fields__) - {"output", "error"}


def test_results_page_lists_test_columns() -> None:
    assert named(PARTS["tests.parquet"]) == set(COLUMNS)
    assert set(COLUMNS) - {"key", "problem_id", "model", "subtasks"} == set(TestResult.__struct_fields__) - {
        "output",
        "error",
    }


def test_results_page_lists_columns_of_failures_file() -> None:
    of = submission("k", row={"model": "m", "model_kwargs": {}})
    labelled = msgspec.structs.replace(SUM, year=2024, difficulty="easy", tags=("dp",))
    assert named(PARTS["failures.jsonl"]) == set(
        failure_row(of, JudgeFailure("why", phase="engine"), labelled)
    )


def test_results_page_lists_files_and_their_fields() -> None:
    files = named(PARTS["Other"])
    documented_files = {
        folder.RUN,
        folder.REJECTED,
        folder.EARLIER,
        folder.LIMITS,
        "summary.json",
        "validation.json",
    }
    assert documented_files < files
    other = PARTS["Other"]
    for kind, name in ((Summary, "summary.json"), (Validation, "validation.json")):
        line = next(line for line in other.splitlines() if line.startswith(f"| `{name}`"))
        described_fields = set(re.findall(r"`(\w+)`", line.partition("|")[2].partition("|")[2]))
        nested = {"problems", "budgets", "pass_at", "groups", "awards", "validate"}
        assert described_fields - nested <= set(kind.__struct_fields__)


def test_result_row_has_verdict_points_and_solved() -> None:
    full, partial_row = (
        result_row(submission("k"), SUM, result(submission("k"), wrong))
        for wrong in ({}, {"2-b": Verdict.TLE})
    )
    assert (full["verdict"], full["solved"], full["points"], full["max_points"]) == ("AC", True, 100, 100)
    assert (partial_row["verdict"], partial_row["solved"], partial_row["points"]) == (
        "TLE",
        False,
        partial_row["all_subtasks_points"],
    )
