"""Rows in memory are judged like rows of a file, with a progress bar and data frames as results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pandas
import pytest

from ioi_eval import InputError, Scorer, Store, load_problems, score_dump
from ioi_eval.benchmarks import open_dump_paths
from ioi_eval.benchmarks.row_files import read_rows
from ioi_eval.runs import (
    EngineStopped,
    RunFinished,
    RunStarted,
    RunSummary,
    SubmissionFailed,
    forecast_dump,
    progress,
)
from ioi_eval.store.resources import examples_folder
from ioi_eval.testing import FakeEngine

ROWS: list[dict[str, Any]] = [
    {"uuid": "a", "problem_id": "lanterns", "code": "int a;", "model": "m", "sample": 1, "note": None},
    {"uuid": "b", "problem_id": "lanterns", "code": "int b;", "model": "m", "sample": 2, "note": "x"},
]
KINDS: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "list": list,
    "generator": iter,
    "pandas": pandas.DataFrame,
    "pandas, its index": lambda rows: pandas.DataFrame(rows, index=[7, 7]),
    "datasets": datasets.Dataset.from_list,
    "a stream": lambda rows: datasets.Dataset.from_list(rows).to_iterable_dataset(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_dataframe_rows_are_read_unchanged(kind: str) -> None:
    with open_dump_paths(KINDS[kind](ROWS)) as [dump_file]:
        assert [row.columns for row in read_rows(dump_file.path)] == ROWS  # type: ignore[union-attr]
    assert not dump_file.path.exists()  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", KINDS)
def test_frame_bytes_are_read_as_text(kind: str) -> None:
    """Pandas reads such columns from Parquet. In base64 all programs would score 0."""
    rows = [{"problem_id": b"sum", "code": "// ä".encode(), "generations": [b"x"], "image": b"\xff"}]
    with open_dump_paths(KINDS[kind](rows * 2)) as [dump_file]:
        row, _ = read_rows(dump_file.path)  # type: ignore[union-attr]
    assert row.columns == {"problem_id": "sum", "code": "// ä", "generations": ["x"], "image": "/w=="}


def test_missing_values_in_dataframe_are_null() -> None:
    frame = pandas.DataFrame(
        {
            "problem_id": ["a", "b"],
            "year": [2024, None],
            "when": [pandas.Timestamp("2024-09-01"), pandas.NaT],
            "n": pandas.array([1, None], dtype="Int64"),
            "generations": [["x", "y"], None],
        }
    )
    with open_dump_paths(frame) as [dump_file]:
        rows = [row.columns for row in read_rows(dump_file.path)]  # type: ignore[union-attr]
    assert rows[0]["generations"] == ["x", "y"] and rows[0]["n"] == 1
    assert rows[1] == {"problem_id": "b", "year": None, "when": None, "n": None, "generations": None}


@pytest.mark.parametrize(
    ("dumps", "message"),
    [
        ([], "rows: the dump has no rows"),
        (pandas.DataFrame(), "rows: the dump has no rows"),
        ([{"code": ""}, 7], "rows, line 2: a row must be a dict of columns, not int"),
        ([7], "rows, line 1: a row must be a dict of columns, not int"),
        (7, "rows: no rows can be read from the type int"),
        (pandas.Series([7]), "rows, line 1: a row must be a dict of columns, not int"),
        (
            pandas.DataFrame([["a", "", ""]], columns=["problem_id", "code", "code"]),
            "columns are called 'code'",
        ),
        (
            [{"code": "", "problem_id": "a"}, {"problem_id": "a", "code": b"\xe9"}],
            "rows, line 2, field 'code': the value contains bytes that are not UTF-8",
        ),
        (datasets.DatasetDict(train=datasets.Dataset.from_list(ROWS)), "from the type DatasetDict .train."),
    ],
)
async def test_object_without_rows_is_input_error(dumps: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        await score_dump(dumps, str(examples_folder() / "problems"), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


async def test_frame_is_scored_and_results_are_frames(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    problems = load_problems(examples_folder() / "problems" / "lanterns", cache=tmp_path / "cache")
    destination = {"out": tmp_path / "run", "store": Store(tmp_path / "store")}
    frame = pandas.DataFrame(ROWS)
    assert forecast_dump(frame, problems, **destination).judged == 2
    async with Scorer(FakeEngine(), store=destination["store"]) as scorer:
        scored = await score_dump(frame, problems, engine=scorer, on_event=progress(), **destination)
        second_run = await score_dump(ROWS, problems, engine=scorer, **destination)
    assert (scored.call.judged, second_run.call.skipped, second_run.call.judged) == (2, 2, 0)
    whole, tests = scored.to_frame(), scored.tests_frame()
    assert list(whole["key"]) == ["a", "b"] and list(whole["points"]) == [100, 100]
    assert list(whole["sample"]) == [1, 2]
    assert set(tests["key"]) == {"a", "b"} and len(tests) == 2 * len(problems["lanterns"].tests)
    printed = capsys.readouterr()
    assert "Rows: problem <- problem_id, program <- code, " in printed.out + printed.err
    assert "2/2" in printed.err


def test_progress_bar_counts_failures_and_ends_with_run(capsys: pytest.CaptureFixture[str]) -> None:
    tell = progress()
    tell(EngineStopped())  # before the bar was drawn
    tell(RunStarted(total=3, skipped=1))
    tell(SubmissionFailed(key="a", problem_id="p", reason="no compiler"))
    tell(RunFinished(summary=RunSummary(failed=1)))
    stderr = capsys.readouterr().err
    assert "2/3" in stderr and "failed=1" in stderr
    tell(EngineStopped())
    assert capsys.readouterr().err == ""
