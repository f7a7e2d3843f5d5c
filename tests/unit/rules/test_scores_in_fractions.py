"""Score types, modes and rounding agree with a second implementation in exact fractions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.runs import ScoreMode

from ioi_eval.models import Blob, Problem, ScoreType, Submission, SubmissionResult, Subtask, Test, TestResult
from ioi_eval.rules import scoring, verdicts

NAMES = "abcd"
OUTCOMES = st.one_of(st.sampled_from([0.0, 0.1, 0.125, 0.3, 0.5, 2 / 3, 1.0]), st.floats(0, 1))
POINTS = st.one_of(st.integers(0, 100).map(float), st.sampled_from([2.675, 33.3, 0.5]))
KINDS = (ScoreType.SUM, ScoreType.GROUP_MIN, ScoreType.GROUP_MUL, ScoreType.GROUP_THRESHOLD)
SUBTASKS = st.builds(
    lambda kind, points, tests, threshold: (kind, points, "".join(sorted(tests)), threshold),
    st.sampled_from(KINDS),
    POINTS,
    st.sets(st.sampled_from(NAMES), min_size=1),
    st.sampled_from([0.1, 0.3, 0.5, 1.0]),
)
PROBLEMS = st.builds(
    lambda parts, precision: Problem(
        id="p",
        tests=tuple(Test(name=name, input=Blob.of(name)) for name in NAMES),
        subtasks=tuple(
            Subtask(name=str(place), score_type=kind, points=points, tests=tuple(tests), threshold=threshold)
            for place, (kind, points, tests, threshold) in enumerate(parts)
        ),
        score_precision=precision,
    ),
    st.lists(SUBTASKS, min_size=1, max_size=4),
    st.integers(0, 4),
)
RUNS = st.lists(OUTCOMES, min_size=len(NAMES), max_size=len(NAMES))


def share(subtask: Subtask, outcomes: Sequence[float]) -> Fraction:
    """Return the score of a subtask by CMS's definition, as a fraction."""
    exact = [Fraction(outcomes[NAMES.index(name)]) for name in subtask.tests]
    if subtask.score_type is ScoreType.SUM:
        return sum(exact, Fraction(0)) / len(exact)
    if subtask.score_type is ScoreType.GROUP_MIN:
        return sorted(exact)[0]
    if subtask.score_type is ScoreType.GROUP_MUL:
        numerators, denominators = zip(
            *((fraction.numerator, fraction.denominator) for fraction in exact), strict=True
        )
        return Fraction(math.prod(numerators), math.prod(denominators))
    return Fraction(not any(fraction == 0 or fraction > Fraction(subtask.threshold) for fraction in exact))


def rounded(number: float, digits: int) -> float:
    """Round the exact binary number to a number of digits; ties go to the even digit."""
    exact = Context(prec=2000)
    return float(Decimal(number).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN, exact))


def judged(problem: Problem, key: str, outcomes: Sequence[float]) -> SubmissionResult:
    tests = {
        name: TestResult(test_name=name, score=score, status=verdicts.convert_score_to_verdict(score))
        for name, score in zip(NAMES, outcomes, strict=True)
    }
    return scoring.score_submission(
        problem, Submission(key=key, problem_id="p", code="", language="c++"), tests
    )


@given(PROBLEMS, RUNS)
def test_submission_score_equals_exact_fractions(problem: Problem, outcomes: Sequence[float]) -> None:
    result = judged(problem, "k", outcomes)
    whole = Fraction(0)
    for subtask, subtask_result in zip(problem.subtasks, result.subtasks, strict=True):
        exact = share(subtask, outcomes)
        assert subtask_result.exact_score == pytest.approx(float(exact), rel=1e-12)
        assert subtask_result.score == rounded(subtask_result.exact_score, problem.score_precision)
        assert subtask_result.weighted_score == rounded(
            subtask_result.exact_score * subtask_result.points, problem.score_precision
        )
        whole += exact * Fraction(subtask.points)
    assert result.points == pytest.approx(float(whole), rel=1e-12)


@given(PROBLEMS, st.lists(st.tuples(RUNS, st.booleans()), min_size=1, max_size=6))
def test_points_of_modes_equal_exact_fractions(
    problem: Problem, handed_in: Sequence[tuple[Sequence[float], bool]]
) -> None:
    results = [judged(problem, f"k{index}", outcomes) for index, (outcomes, _) in enumerate(handed_in)]
    tokened = {f"k{index}" for index, (_, token) in enumerate(handed_in) if token}
    columns = zip(*(result.subtasks for result in results), strict=True)
    best = sum(
        Fraction(
            str(
                max(
                    rounded(subtask_result.exact_score * subtask_result.points, problem.score_precision)
                    for subtask_result in column
                )
            )
        )
        for column in columns
    )
    wholes = [result.points for result in results]
    counting = [whole for whole, (_, token) in zip(wholes, handed_in, strict=True) if token] + wholes[-1:]
    assert Fraction(str(scoring.compute_problem_points(ScoreMode.MAX_SUBTASK, results))) == best
    assert scoring.compute_problem_points(ScoreMode.MAX, results) == sorted(wholes)[-1]
    assert (
        scoring.compute_problem_points(ScoreMode.MAX_TOKENED_LAST, results, tokened) == sorted(counting)[-1]
    )
