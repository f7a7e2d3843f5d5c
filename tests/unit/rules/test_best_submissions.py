"""The best of several submissions in every scoring mode."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scoring_samples import result

from ioi_eval.models import SubmissionResult, SubtaskResult
from ioi_eval.rules import scoring, verdicts

# --- several submissions -----------------------------------------------------------------------------


def scored(key: str, *weighted: float, problem_id: str = "p", precision: int = 2) -> SubmissionResult:
    """Return a result with subtasks s0, s1, ... of 100 points each that earned these unrounded points."""
    subtask_results = tuple(
        SubtaskResult(
            problem=problem_id,
            subtask=f"s{index}",
            points=100,
            score=round(earned / 100, precision),
            weighted_score=round(earned, precision),
            exact_score=earned / 100,
            score_precision=precision,
            status=verdicts.convert_score_to_verdict(earned / 100),
            test_results=(),
        )
        for index, earned in enumerate(weighted)
    )
    return SubmissionResult(
        key=key, problem_id=problem_id, compiles=True, points=sum(weighted), subtasks=subtask_results
    )


def plain(key: str, points: float) -> SubmissionResult:
    tests = (result("a", points),)
    return SubmissionResult(key=key, problem_id="plain", compiles=True, points=points, tests=tests)


def test_mode_max_subtask_sums_the_rounded_best_points() -> None:
    best = scoring.collect_best_subtasks(
        [scored("x", 33.333, 0), scored("y", 10, 66.666), scored("z", 0, 1)]
    )["p"]
    assert best.points == 100.0 == 33.33 + 66.67
    assert (best.max_points, best.submissions) == (200, 3)
    assert [(subtask.subtask, subtask.weighted_score, subtask.key) for subtask in best.subtasks] == [
        ("s0", 33.33, "x"),
        ("s1", 66.67, "y"),
    ]


def test_mode_max_subtask_rounds_points_and_mode_max_does_not() -> None:
    results = [scored("x", 10 / 3, 10 / 3, 10 / 3)]
    assert scoring.collect_best_subtasks(results)["p"].points == 9.99
    assert scoring.select_best_submissions(results)["p"].points == pytest.approx(10, abs=1e-12)
    assert scoring.select_best_tokened_or_last(results, ())["p"].points == pytest.approx(10, abs=1e-12)


def test_point_sums_have_no_rounding_error() -> None:
    assert 0.1 + 0.2 != 0.3
    assert scoring.collect_best_subtasks([scored("x", 0.1, 0.2)])["p"].points == 0.3


def test_max_mode_is_best_single_submission() -> None:
    results = [scored("x", 50, 0), scored("y", 0, 60), scored("z", 10, 10)]
    best = scoring.select_best_submissions(results)["p"]
    assert (best.points, best.key) == (60, "y")


@pytest.mark.parametrize(
    ("tokened", "points", "key"),
    [((), 20, "z"), (("y",), 60, "y"), (("x",), 50, "x"), (("x", "y"), 60, "y"), (("z",), 20, "z")],
)
def test_max_tokened_last_mode_counts_tokened_or_last(
    tokened: tuple[str, ...], points: float, key: str
) -> None:
    results = [scored("x", 50, 0), scored("y", 0, 60), scored("z", 10, 10)]
    best = scoring.select_best_tokened_or_last(results, tokened)["p"]
    assert (best.points, best.key) == (points, key)


def test_last_submission_counts_even_if_it_does_not_compile() -> None:
    broken = SubmissionResult(key="y", problem_id="p", compiles=False, points=0)
    best = scoring.select_best_tokened_or_last([scored("x", 50), broken], ())["p"]
    assert (best.points, best.key) == (0, "y")


def test_best_submissions_are_listed_by_problem_in_the_order_of_names() -> None:
    results = [
        scored("x", 50, problem_id="q"),
        plain("w", 0.5),
        plain("v", 0.75),
        scored("y", 20, problem_id="o"),
    ]
    bests = scoring.collect_best_subtasks(results)
    assert [(name, best.points) for name, best in bests.items()] == [("o", 20), ("plain", 0.75), ("q", 50)]
    assert bests["plain"].max_points == 1
    assert (
        list(scoring.select_best_submissions(results))
        == list(scoring.select_best_tokened_or_last(results, ()))
        == list(bests)
    )


def test_submission_with_the_first_key_is_best_among_equal_scores() -> None:
    results = [scored("b", 50), scored("a", 50), scored("c", 50)]
    assert scoring.select_best_submissions(results)["p"].key == "a"
    assert scoring.collect_best_subtasks(results)["p"].subtasks[0].key == "a"


@given(
    st.lists(st.lists(st.floats(0, 100), min_size=3, max_size=3), min_size=1, max_size=8),
    st.randoms(use_true_random=False),
)
def test_best_submissions_do_not_depend_on_the_order_of_judging(
    earned: list[list[float]], chance: random.Random
) -> None:
    results = [scored(f"k{index}", *weighted_scores) for index, weighted_scores in enumerate(earned)]
    shuffled = [*results]
    chance.shuffle(shuffled)
    assert scoring.collect_best_subtasks(results) == scoring.collect_best_subtasks(shuffled)
    assert scoring.select_best_submissions(results) == scoring.select_best_submissions(shuffled)


@given(st.lists(st.lists(st.floats(0, 100), min_size=3, max_size=3), min_size=1, max_size=8))
def test_max_subtask_mode_sums_rounded_maxima(earned: Sequence[Sequence[float]]) -> None:
    results = [scored(f"k{index}", *weighted_scores) for index, weighted_scores in enumerate(earned)]
    expected = math.fsum(round(max(column), 2) for column in zip(*earned, strict=True))
    assert scoring.collect_best_subtasks(results)["p"].points == pytest.approx(expected, abs=1e-9)


def test_best_submissions_of_no_submissions_are_empty() -> None:
    assert not scoring.collect_best_subtasks([])
    assert not scoring.select_best_submissions([])
    assert not scoring.select_best_tokened_or_last([], ())
