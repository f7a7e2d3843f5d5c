"""Differences between two runs of the same submissions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from run_samples import SUM, problem, result, submission, write_run
from support.runs import Fingerprint, result_row

from ioi_eval.models import Problem, Verdict
from ioi_eval.reports import Summary, summarize_run
from ioi_eval.reports.comparison import (
    Differences,
    describe_differences,
    find_differences,
    make_paired_sections,
    pair_models,
)
from ioi_eval.reports.records import Measure
from ioi_eval.runs import report_sync

PLAIN = problem("plain", subtasks=False)
OLD = Fingerprint(dump="d", problems={"sum": "1", "plain": "1"}, options={"all_tests": False})
Judged = Mapping[str, Mapping[str, Verdict]]


def run(folder: Path, verdicts_by_key: Judged, made_of: Fingerprint = OLD, **fields: Any) -> Path:
    """Write a run of submissions by key, with their failed tests.

    Keys `plain-...` belong to the problem `plain`.
    """
    rows = []
    for key, wrong in verdicts_by_key.items():
        of: Problem = PLAIN if key.startswith("plain") else SUM
        sent = submission(key, problem_id=of.id, row={"model": "m"})
        rows.append(result_row(sent, of, result(sent, wrong, problem=of, **fields)))
    return write_run(folder, rows, made_of=made_of)


def compared(
    tmp_path: Path, verdicts_before: Judged, verdicts_after: Judged, made_of: Fingerprint = OLD, **fields: Any
) -> Differences:
    return find_differences(
        run(tmp_path / "a", verdicts_before), run(tmp_path / "b", verdicts_after, made_of, **fields)
    )


def test_equal_runs_have_no_differences(tmp_path: Path) -> None:
    both: Judged = {"a": {}, "plain-a": {"1-a": Verdict.WA}}
    difference = compared(tmp_path, both, both)
    assert (difference.shared, difference.changed, difference.only_before, difference.only_after) == (
        2,
        (),
        0,
        0,
    )
    assert describe_differences(difference) == "The same result for all 2 submissions of both runs"
    assert difference.models[0].difference.mean == 0


def test_differences_list_changed_submissions_and_model_means(tmp_path: Path) -> None:
    verdicts_before: Judged = {
        "a": {},
        "b": {"1-a": Verdict.WA, "3-a": Verdict.TLE},
        "gone": {},
        "plain-a": {"1-a": Verdict.WA},
    }
    verdicts_after: Judged = {"a": {"3-a": Verdict.TLE}, "b": {"3-a": Verdict.RE}, "new": {}, "plain-a": {}}
    difference = compared(tmp_path, verdicts_before, verdicts_after)
    assert (difference.shared, difference.only_before, difference.only_after) == (3, 1, 1)
    changed = {change.key: change for change in difference.changed}
    assert changed["a"].why == ("test 3-a: AC -> TLE",)
    assert (changed["a"].before, changed["a"].after) == (Verdict.AC, Verdict.TLE)
    assert (changed["a"].points_before, changed["a"].points_after) == (100, 50.5)
    assert changed["b"].why == ("test 1-a: WA -> AC",) and changed["plain-a"].points_after == 1
    (model,) = difference.models
    assert (model.submissions, model.a_better, model.b_better) == (3, 1, 2)
    of_sum, of_plain = ((1 - 0.505) + (0 - 0.505)) / 2, 3 / 4 - 1
    assert model.difference.mean == pytest.approx((of_sum + of_plain) / 2)
    assert difference.confusion[Verdict.AC] == {Verdict.TLE: 1}


def test_models_are_paired_problem_by_problem(tmp_path: Path) -> None:
    verdicts_before: Judged = {"a": {}, "b": {"1-a": Verdict.WA}, "plain-a": {}}
    verdicts_after: Judged = {
        "a": {"3-a": Verdict.TLE},
        "b": {"1-a": Verdict.WA},
        "plain-new": {"1-a": Verdict.WA},
    }
    [pair] = pair_models(
        summarize_run(run(tmp_path / "a", verdicts_before)),
        summarize_run(run(tmp_path / "b", verdicts_after)),
    )
    assert [(pair_problem.problem, pair_problem.a, pair_problem.b) for pair_problem in pair.problems] == [
        ("plain", 1, 0),
        ("sum", 0.5, 0),
    ]
    mean_difference = pair.difference
    assert (pair.measure, mean_difference.mean, mean_difference.low, mean_difference.number) == (
        Measure.PASS_AT_1,
        0.75,
        None,
        2,
    )
    assert pair.comparison_sentence == (
        "m: No difference is shown in pass@1: fewer than 6 problems cannot show one. A minus B is +75.0 "
        "percentage points, over 2 problems."
    )


def test_problems_with_subtasks_are_compared_by_points(tmp_path: Path) -> None:
    folders = [run(tmp_path / name, {"a": wrong}) for name, wrong in (("a", {}), ("b", {"3-a": Verdict.TLE}))]
    [pair] = pair_models(*map(summarize_run, folders))
    assert (pair.measure, pair.difference.mean) == (Measure.POINTS, pytest.approx(0.495))


def test_single_models_of_two_runs_are_paired(tmp_path: Path) -> None:
    def of(name: str, *models: str) -> Summary:
        sent = [submission(f"{model}-1", row={"model": model}) for model in models]
        return summarize_run(
            write_run(
                tmp_path / name,
                [result_row(submission_of, SUM, result(submission_of)) for submission_of in sent],
            )
        )

    older, newer = of("old", "old"), of("new", "new")
    [pair] = pair_models(older, newer)
    assert (pair.names, pair.name, pair.difference.mean) == (("old", "new"), "old and new", 0)
    both, shifted = of("both", "a", "b"), of("others", "b", "c")
    assert [paired_model.name for paired_model in pair_models(both, shifted)] == ["b"]
    assert pair_models(both, newer) == ()
    assert list(make_paired_sections([])) == []


def test_difference_reasons_include_problem_compiler_and_options(tmp_path: Path) -> None:
    made_of = Fingerprint(dump="d", problems={"sum": "2", "plain": "1"}, options={"all_tests": True})
    difference = compared(tmp_path, {"a": {}}, {"a": {"1-a": Verdict.WA}}, made_of, compiler="g++ 13")
    (change,) = difference.changed
    assert change.why == ("the problem has changed", "\N{EN DASH} -> g++ 13", "test 1-a: AC -> WA")
    assert difference.options == ("option all-tests: false -> true",)


def test_skipped_test_is_not_a_reason_for_difference(tmp_path: Path) -> None:
    """Another test is the reason why it was skipped."""
    skipped: Judged = {"a": {"2-a": Verdict.SKIPPED, "2-b": Verdict.WA}}
    (change,) = compared(tmp_path, {"a": {}}, skipped).changed
    assert change.why == ("test 2-b: AC -> WA",)


def test_different_programs_with_same_key_are_not_paired(tmp_path: Path) -> None:
    a, b = submission("k", "first"), submission("k", "second")
    folders = [
        write_run(tmp_path / sent.code, [result_row(sent, SUM, result(sent))], made_of=OLD) for sent in (a, b)
    ]
    difference = find_differences(*folders)
    assert (difference.shared, difference.only_before, difference.only_after) == (0, 1, 1)
    assert describe_differences(difference) == "No submission is in both runs"


def from_elsewhere(folder: Path, first: list[Any], second: list[Any]) -> Differences:
    """Compare two files of foreign rows."""
    for name, rows in (("first", first), ("second", second)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    comparison_report = report_sync(
        [folder / "first.jsonl", folder / "second.jsonl"], out=folder / "runs" / "both"
    )
    assert comparison_report.differences is not None
    return comparison_report.differences


def test_other_judges_rows_without_keys_are_compared_by_problem_only(tmp_path: Path) -> None:
    rows = [{"problem_id": name, "model": "m", "passed": name == "a"} for name in "abc"]
    difference = from_elsewhere(tmp_path, rows, rows[::-1])
    assert (difference.shared, difference.only_before, difference.only_after, difference.models) == (
        0,
        3,
        3,
        (),
    )
    assert [problem.value_difference for problem in difference.paired[0].problems] == [0, 0, 0]


@pytest.mark.parametrize(
    "columns, equal_rows",
    [
        ({}, 1),
        ({"problem_id": "b"}, 0),
        ({"model": "n"}, 0),
        ({"generation": "another"}, 0),
        ({"code": "another"}, 0),
        ({"passed": False}, 1),
    ],
)
def test_foreign_rows_are_paired_only_if_all_columns_agree(
    tmp_path: Path, columns: dict[str, Any], equal_rows: int
) -> None:
    row = {"id": 1, "problem_id": "a", "model": "m", "generation": "a program", "passed": True}
    assert from_elsewhere(tmp_path, [row], [{**row, **columns}]).shared == equal_rows


def test_two_runs_are_compared_row_by_row_and_three_are_not(tmp_path: Path) -> None:
    folders = [run(tmp_path / name, {"a": {"1-a": Verdict.WA} if name == "y" else {}}) for name in "xyz"]
    reported = report_sync(folders[:2], out=tmp_path / "out")
    assert reported.differences is not None and len(reported.differences.changed) == 1
    page = (tmp_path / "out" / "comparison.md").read_text()
    assert "Different results for 1 of 1 submission of both runs" in page and "test 1-a: AC -\\> WA" in page
    written = json.loads((tmp_path / "out" / "differences.json").read_text())
    assert written["changed"][0]["key"] == "a" and written["confusion"] == {"AC": {"WA": 1}}
    assert report_sync(folders, out=tmp_path / "three").differences is None
