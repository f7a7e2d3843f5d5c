"""Files of solutions with reference scores: the column of the scores, and their scale."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.datasets import Problems, Selection, open_dump

from ioi_eval.benchmarks import ReferenceScores, read_reference_scores
from ioi_eval.errors import InputError
from ioi_eval.models import Blob, Problem, Subtask, Test

PROBLEMS = Problems(
    [
        Problem(
            id="nile",
            year=2024,
            tests=tuple(Test(name=name, input=Blob.of(name)) for name in "ab"),
            subtasks=(
                Subtask(name="01-one", points=40, tests=("a",)),
                Subtask(name="02-two", points=60, tests=("a", "b")),
            ),
        ),
        Problem(id="plain", year=2024, tests=(Test(name="a", input=Blob.of("a")),)),
    ]
)


def write(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "solutions.jsonl"
    shared = {"year": 2024, "problem_id": "nile", "code": "int main() {}"}
    path.write_text("".join(json.dumps({**shared, **row}) + "\n" for row in rows))
    return path


def official(
    folder: Path, *rows: dict[str, Any], column: str | None = None, scale: str | None = None
) -> ReferenceScores:
    dump = open_dump([write(folder, *rows)], problems=PROBLEMS)
    return read_reference_scores(dump, PROBLEMS, column=column, scale=scale)


def test_score_and_label_columns_are_read(tmp_path: Path) -> None:
    scores = official(
        tmp_path, {"label": "model_solution", "score": 100.0}, {"label": "time_limit", "score": 40.5}
    )
    assert (scores.column, scores.kind) == ("score", "points")
    first, second = scores.cases
    assert (first.problem, first.solution, first.expected) == (
        "nile",
        "solutions.jsonl:1 model_solution",
        "100.0",
    )
    assert first.score is not None and second.score is not None
    assert (first.score.value, first.score.fraction, first.score.digits) == (100, False, 2)
    assert (second.score.value, second.words) == (40.5, ())
    assert first.key != second.key


def test_scores_up_to_one_are_fractions_unless_scale_is_points(tmp_path: Path) -> None:
    rows = ({"score": 0.125}, {"score": 1})
    scores = official(tmp_path, *rows)
    assert scores.kind == "fractions"
    assert all(case.score is not None and case.score.fraction for case in scores.cases)
    assert [case.score and case.score.digits for case in scores.cases] == [3, 3]
    points = official(tmp_path, *rows, scale="points")
    assert points.kind == "points"
    assert all(case.score is not None and not case.score.fraction for case in points.cases)


def test_score_scale_is_decided_by_whole_column(tmp_path: Path) -> None:
    """Even if only some rows are selected."""
    path = write(tmp_path, {"id": "x", "score": 1}, {"id": "y", "score": 40})
    dump = open_dump([path], problems=PROBLEMS, selection=Selection(keys=frozenset({"x"})))
    scores = read_reference_scores(dump, PROBLEMS)
    assert [case.key for case in scores.cases] == ["x"]
    assert scores.kind == "points"


def test_verdict_column_gives_expected_results(tmp_path: Path) -> None:
    verdicts = ["OK", "WRONG_ANSWER", "time-limit-exceeded", "AC", "PA", "RE", "incorrect"]
    scores = official(tmp_path, *({"verdict": verdict} for verdict in verdicts))
    assert scores.kind == "verdicts"
    assert [case.words[0].word for case in scores.cases] == [
        "accepted",
        "wrong_answer",
        "time_limit_exceeded",
        "accepted",
        "partially_correct",
        "run_time_error",
        "incorrect",
    ]
    assert {case.words[0].tests for case in scores.cases} == {("a", "b")}
    assert [case.expected for case in scores.cases] == verdicts


def test_label_is_the_expected_result_if_there_is_no_score(tmp_path: Path) -> None:
    scores = official(tmp_path, {"label": "incorrect"})
    assert (scores.column, scores.cases[0].solution) == ("label", "solutions.jsonl:1")


def test_numeric_string_in_score_column_is_a_score(tmp_path: Path) -> None:
    assert official(tmp_path, {"score": "37.5"}).cases[0].score is not None


@pytest.mark.parametrize(
    ("row", "column", "message"),
    [
        ({"score": 1, "points": 2}, None, "several columns.*score, points"),
        ({"other": 1}, None, "no column that looks like.*column=NAME"),
        ({"score": 1}, "worth", "no column 'worth'.*score"),
        ({"score": None}, None, "line 1, field 'score': nothing is neither"),
        ({"score": True}, None, "True is neither a score nor a verdict"),
        ({"score": -1}, None, "-1 is not a score between 0 and 1"),
        ({"score": 101}, None, "101 is not a score between 0 and 100"),
        ({"score": 60, "problem_id": "plain"}, None, "60 is not a score between 0 and 1"),
    ],
)
def test_invalid_reference_score_is_an_input_error(
    tmp_path: Path, row: dict[str, Any], column: str | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        official(tmp_path, row, column=column)
