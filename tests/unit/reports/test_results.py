"""The results of a run as data frames."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from run_samples import SUM, TESTS, problem, result, submission, write_run
from support.runs import failure_row, result_row

from ioi_eval import Results
from ioi_eval.errors import InputError, JudgeFailure
from ioi_eval.models import Verdict
from ioi_eval.reports import write_reports
from ioi_eval.reports.comparison import find_differences

PLAIN = problem("plain", subtasks=False)


@pytest.fixture
def some(tmp_path: Path) -> Results:
    first = submission("a", target_subtask="01-small", row={"model_kwargs": {"model": "m"}, "seed": 7})
    other = submission("b", problem_id="plain", row={"model": "m"})
    rows = [
        result_row(first, SUM, result(first, {"3-a": Verdict.PA})),
        result_row(other, PLAIN, result(other, {"1-a": Verdict.TLE}, problem=PLAIN)),
    ]
    failed = [failure_row(submission(key, row={"model": "m"}), JudgeFailure("why")) for key in ("a", "c")]
    return Results.open(write_run(tmp_path / "run", rows, failed))


def test_results_data_frame_has_a_row_for_each_submission(some: Results) -> None:
    frame = some.to_frame().set_index("key")
    assert list(frame.index) == ["a", "b", "c"], "a row judged after a failure occurs once"
    assert list(frame["judged"]) == [True, True, False]
    assert list(frame["verdict"].dropna()) == ["PA", "TLE"]
    assert frame.loc["a", "points"] == pytest.approx(50.5 + 49.5 / 3)
    assert frame.loc["b", "points"] == 0.75
    assert frame.loc["c", "reason"] == "why"
    assert set(frame["model"]) == {"m"}
    assert (frame.loc["a", "seed"], frame.loc["a", "target_subtask_score"]) == (7, 1)
    assert "all_subtasks_results" not in frame.columns


def test_results_data_frame_mean_ignores_unjudged_submissions(some: Results) -> None:
    points = some.to_frame()["points"]
    assert points.isna().sum() == 1
    assert points.mean() == pytest.approx((50.5 + 49.5 / 3 + 0.75) / 2)


def test_subtasks_frame_has_row_for_each_subtask(some: Results) -> None:
    frame = some.subtasks_frame()
    assert list(frame["subtask"]) == ["01-small", "02-middle", "03-all"]
    assert list(frame["weighted_score"]) == [20, 30.5, 16.5]
    assert list(frame["verdict"]) == ["AC", "AC", "PA"]
    assert set(frame["key"]) == {"a"}


def test_tests_frame_has_row_for_each_test(some: Results) -> None:
    frame = some.tests_frame()
    assert len(frame) == 2 * len(TESTS)
    assert frame.groupby("key")["score"].sum().to_dict() == pytest.approx({"a": 3 + 1 / 3, "b": 3})
    assert {"feedback", "cpu_time", "wall_time", "memory"} <= set(frame.columns)
    assert frame.groupby("key")["verdict"].last().to_dict() == {"a": "PA", "b": "AC"}


def test_every_frame_names_the_verdict_alike(some: Results) -> None:
    for frame in (some.to_frame(), some.subtasks_frame(), some.tests_frame()):
        assert "verdict" in frame.columns and "status" not in frame.columns


def test_result_data_frames_agree_with_the_summary(some: Results) -> None:
    (model,) = some.summary().models
    frame = some.to_frame()
    assert (model.scored, model.unscored) == (frame["judged"].sum(), (~frame["judged"]).sum())
    assert [entry.key for entry in some] == ["a", "b"]


def test_data_frames_of_empty_run_have_columns(tmp_path: Path) -> None:
    nothing = Results.open(write_run(tmp_path / "run", []))
    assert {"key", "judged", "points"} <= set(nothing.to_frame().columns)
    assert {"subtask", "weighted_score"} <= set(nothing.subtasks_frame().columns)
    assert {"test_name", "memory"} <= set(nothing.tests_frame().columns)


def test_folder_without_run_is_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no run in this folder"):
        Results.open(tmp_path)
    with pytest.raises(InputError, match="no such file or folder"):
        Results.open(tmp_path / "rows.jsonl")


@pytest.mark.parametrize("name", ["results.jsonl", "failures.jsonl"])
@pytest.mark.parametrize("broken", ['{"problem_id": "sum"}', '{"key": ["a"]}', "[1]"])
def test_row_without_key_is_input_error_with_line(some: Results, name: str, broken: str) -> None:
    """For example after manual edits. `score` reports the line too."""
    path = some.folder / name
    path.write_text(path.read_text() + broken + "\n")
    for call in (some.to_frame, some.summary, lambda: write_reports(some.folder)):
        with pytest.raises(InputError, match="the line is not a valid result") as caught:
            call()
        assert (caught.value.where, caught.value.row) == (str(path), 3)


@pytest.mark.parametrize(
    ("column", "value", "field"),
    [
        ("problem_id", ["a"], "problem_id"),
        ("code_compiles", None, "code_compiles"),
        ("compile_output", True, "compile_output"),
        ("all_subtasks_points", "x", "all_subtasks_points"),
        ("all_subtasks_points", 1e308, "all_subtasks_points"),
        ("all_subtasks_results", None, "all_subtasks_results"),
        ("all_subtasks_results", [{"subtask": "1"}], "all_subtasks_results"),
        ("confinement", 3, "confinement"),
        ("repairs", [None], "repairs[0]"),
        ("repeats", ["a"], "repeats"),
        ("submission_sha256", ["a"], "submission_sha256"),
        ("test_columns", {"test_name": ["1"], "score": "x", "status": "AC"}, "test_columns.score"),
        (
            "test_columns",
            {"test_name": ["1"], "score": 1, "status": "AC", "cpu_time": [1e308]},
            "test_columns",
        ),
        ("test_columns", {"test_name": ["1"], "score": 1, "status": "AC", "memory": 10**30}, "test_columns"),
    ],
)
def test_invalid_result_value_is_input_error_with_field(
    some: Results, column: str, value: Any, field: str
) -> None:
    """Each call that reads results reports file, line and column."""
    path = some.folder / "results.jsonl"
    first, second = (json.loads(line) for line in path.read_text().splitlines())
    path.write_text(f"{json.dumps(second)}\n{json.dumps({**first, column: value})}\n")
    compare_again = partial(find_differences, some.folder, some.folder)
    for call in (
        some.to_frame,
        some.tests_frame,
        some.summary,
        partial(write_reports, some.folder),
        compare_again,
    ):
        with pytest.raises(InputError, match="is not a valid result") as caught:
            call()
        assert (caught.value.where, caught.value.row) == (str(path), 2)
        assert caught.value.field.startswith(field)


@pytest.mark.parametrize("points", [None, 7.0])
def test_rows_of_two_versions_of_problem_are_input_error(some: Results, points: float | None) -> None:
    """For example if rows of two runs are in the same file: subtasks or their points differ."""
    path = some.folder / "results.jsonl"
    row = json.loads(path.read_text().splitlines()[0])
    row["key"], subtask_results = "d", row["all_subtasks_results"]
    if points is None:
        subtask_results.pop(), row["all_subtasks_exact_scores"].pop()
    else:
        subtask_results[0]["points"] = points
    path.write_text(path.read_text() + json.dumps(row) + "\n")
    for call in (some.summary, partial(write_reports, some.folder)):
        with pytest.raises(InputError, match="'sum' has other subtasks or points here") as caught:
            call()
        assert (caught.value.where, caught.value.row) == (str(path), 3)


def test_incomplete_last_line_makes_a_warning(some: Results) -> None:
    path = some.folder / "results.jsonl"
    assert some.summary().warnings == ()
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    run_summary = some.summary()
    assert run_summary.scored == 1
    assert run_summary.warnings[0].startswith("The last line of results.jsonl is incomplete and in no number")


def test_pandas_is_loaded_for_frames_only(some: Results) -> None:
    code = (
        "import sys; from ioi_eval import Results\n"
        f"results = Results.open({str(some.folder)!r}); list(results); results.summary()\n"
        "assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert type(some.to_frame()).__module__.startswith("pandas")
