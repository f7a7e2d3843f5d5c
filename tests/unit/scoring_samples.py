"""Small tests, subtasks and test results for tests of plans and scores."""

from __future__ import annotations

from ioi_eval.models import Blob, ScoreType, SubmissionResult, Subtask, Test, TestResult, Verdict
from ioi_eval.rules import verdicts

SUM, MIN, MUL, THRESHOLD = ScoreType.SUM, ScoreType.GROUP_MIN, ScoreType.GROUP_MUL, ScoreType.GROUP_THRESHOLD


def make_test(name: str, content: str | None = None, size: int = 0, answer: str | None = "1") -> Test:
    padded = (name if content is None else content).ljust(size)
    return Test(name=name, input=Blob.of(padded), answer=None if answer is None else Blob.of(answer))


def make_subtask(tests: str, kind: ScoreType = MIN, *, points: float = 10, threshold: float = 0.5) -> Subtask:
    return Subtask(name=tests, points=points, tests=tuple(tests), score_type=kind, threshold=threshold)


def result(name: str, score: float, status: Verdict | None = None) -> TestResult:
    return TestResult(test_name=name, score=score, status=status or verdicts.convert_score_to_verdict(score))


def results(**scores: float) -> dict[str, TestResult]:
    return {name: result(name, score) for name, score in scores.items()}


def scores(result: SubmissionResult) -> list[object]:
    subtask_scores = [
        (subtask.exact_score, subtask.score, subtask.weighted_score) for subtask in result.subtasks
    ]
    return [result.points, *subtask_scores]
