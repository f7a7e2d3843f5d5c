"""Scores in logs of inspect_ai, and metrics of them. tests/with_inspect_ai uses the real package."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec
import pytest

from ioi_eval.benchmarks.row_files import FileRow, read_rows_or_errors
from ioi_eval.benchmarks.row_schemas import find_schema
from ioi_eval.errors import FailedRequest, InputError
from ioi_eval.integrations.tasks import (
    compute_score_fraction,
    explain_result,
    make_result_metadata,
    summarize_scores,
)
from ioi_eval.models import (
    Blob,
    Problem,
    ScoreType,
    Submission,
    SubmissionResult,
    Subtask,
    Test,
    TestResult,
    Verdict,
)
from ioi_eval.rules.scoring import score_submission
from ioi_eval.rules.selection import Budget

NAMES = ("a1", "b1", "b2")
PLAIN = Problem(id="nile", tests=tuple(Test(name=name, input=Blob.of(name)) for name in NAMES))
PARTS = (
    Subtask(name="01-small", points=30, tests=("a1",)),
    Subtask(name="02-full", points=70, tests=("b1", "b2"), score_type=ScoreType.GROUP_MIN),
)
PROBLEM = msgspec.structs.replace(PLAIN, year=2024, subtasks=PARTS)


def result_of(problem: Problem, *scores: float, feedback: str = "") -> SubmissionResult:
    tests = {}
    for name, score in zip(NAMES, scores, strict=True):
        status = Verdict.AC if score == 1 else Verdict.PA if score else Verdict.WA
        tests[name] = TestResult(
            test_name=name, score=score, status=status, feedback=feedback, cpu_time=0.5, memory=1 << 20
        )
    return score_submission(
        problem, Submission(key="1", problem_id=problem.id, code="", language="c++"), tests
    )


def told(problem: Problem, epoch: int, *scores: float, length: int = 10) -> dict[str, object]:
    metadata = make_result_metadata(problem, result_of(problem, *scores), epoch=epoch, length=length)
    return json.loads(json.dumps(metadata))


def test_inspect_points_follow_submission_limit() -> None:
    scores = [told(PROBLEM, 1, 1, 0, 0), told(PROBLEM, 2, 0, 1, 0.5), told(PROBLEM, 3, 0, 1, 0.8, length=99)]
    every, first_only = (summarize_scores(scores, submissions=limit) for limit in (50, 1))
    assert every.budgets[Budget.LIMITED] == 30 + 56
    assert first_only.budgets[Budget.LIMITED] == 56, "the longest is submitted first"
    assert (every.max_points, every.problems_solved, every.scored) == (100, 0, 3)


def test_pass_at_k_counts_full_marks() -> None:
    scores = [
        told(PROBLEM, 1, 1, 1, 1),
        told(PROBLEM, 2, 0, 1, 1),
        told(PLAIN, 1, 1, 1, 1),
        told(PLAIN, 2, 1, 1, 1),
    ]
    summary = summarize_scores(scores, ks=(1, 2, 3))
    assert [estimate.value for estimate in summary.pass_at] == [0.75, 1.0, None]
    assert summary.problems_solved == 2, "two problems with the same id, only one with a year"


def test_only_full_marks_have_share_1() -> None:
    thirds = msgspec.structs.replace(
        PLAIN, subtasks=tuple(Subtask(name=name, points=100 / 3, tests=(name,)) for name in NAMES)
    )
    assert compute_score_fraction(result_of(thirds, 1, 1, 1)) == 1.0
    assert compute_score_fraction(result_of(thirds, 1, 1, 1 - 2e-16)) < 1.0
    assert compute_score_fraction(result_of(PLAIN, 1, 0, 1)) == pytest.approx(2 / 3)


def test_inspect_explanation_lists_points_and_failed_tests() -> None:
    wrong = result_of(PROBLEM, 1, 0.5, 0, feedback="```\n# not a heading of ours")
    assert explain_result(wrong) == (
        "**WA**: 30 of 100 points\n\n"
        "| subtask | points | of | verdict |\n|---|--:|--:|---|\n"
        "| 01-small | 30 | 30 | AC |\n| 02-full | 0 | 70 | WA |\n\n"
        "Tests: 1 WA, 1 PA, 1 AC. The first failed test: `b1` (PA, 0.500 s, 1.0 MiB)\n\n"
        "````\n```\n# not a heading of ours\n````"
    )
    assert explain_result(result_of(PLAIN, 1, 1, 1)) == "**AC**: 3 of 3 tests passed\n\nTests: 3 AC"


def test_foreign_inspect_score_is_input_error() -> None:
    with pytest.raises(InputError, match="ioi_eval/judged"):
        summarize_scores([None])


# --- rows of logs ------------------------------------------------------------------------------------

SAMPLE = {
    "inspect_ai": {"task": "contest"},
    "id": 7,
    "epoch": 2,
    "generation": "text",
    "scores": {},
    "error": None,
}


def test_inspect_log_sample_is_read_as_row() -> None:
    sample_columns = {
        **SAMPLE,
        "metadata": {"problem_id": "nile", "year": 2024, "language": "python", "colour": "blue"},
    }
    shape = find_schema(sample_columns)
    assert shape is not None and shape.name == "a log of inspect_ai"
    [row] = shape.convert_row(FileRow(1, sample_columns), "a.eval")
    assert {name: row.columns[name] for name in ("problem_id", "year", "language", "solution_number")} == {
        "problem_id": "nile",
        "year": 2024,
        "language": "python",
        "solution_number": 2,
    }
    [row] = shape.convert_row(FileRow(1, SAMPLE), "a.eval")
    assert row.columns["problem_id"] == "7"


def test_failed_inspect_sample_is_failed_request() -> None:
    failed = {**SAMPLE, "error": "no network"}
    shape = find_schema(failed)
    assert shape is not None
    with pytest.raises(
        FailedRequest, match=r"a\.eval, line 3, field 'error': the sample failed: no network.*eval-retry"
    ):
        list(shape.convert_row(FileRow(3, failed), "a.eval"))


def test_missing_inspect_ai_names_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    (tmp_path / "a.eval").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"pip install '\.\[inspect-ai\]'"):
        next(read_rows_or_errors(tmp_path / "a.eval"))
