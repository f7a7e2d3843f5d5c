"""Grading trees, except for points, which tests/unit/problems/test_kattis_grading.py covers."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioi_eval.errors import JudgeFailure
from ioi_eval.models import Acceptance, Grading, Points, Problem, Solution, Subtask, TestResult, Verdict
from ioi_eval.rules.expectations import is_expectation_met, list_expectations
from ioi_eval.rules.grading import (
    Grade,
    GraderQuestion,
    PointBounds,
    compute_grade,
    compute_max_group_points,
    compute_point_bounds,
    compute_points_fraction,
    list_undecided_tests,
)
from ioi_eval.rules.grading import list_tests as all_of

AC, PA, WA, TLE, RE, CE = Verdict.AC, Verdict.PA, Verdict.WA, Verdict.TLE, Verdict.RE, Verdict.CE
MLE, OLE = Verdict.MLE, Verdict.OLE
BEST_OF = Grading(parts=("a", "b"), points=Points.MOST, any_accepted=True, stops=False)


def judged(*statuses: Verdict, part: float = 0.5) -> dict[str, TestResult]:
    scores = {AC: 1.0, PA: part}
    return {
        name: TestResult(test_name=name, score=scores.get(status, 0.0), status=status)
        for name, status in zip("abcdef", statuses, strict=False)
    }


@pytest.mark.parametrize(
    ("acceptance", "statuses", "verdict"),
    [
        (Acceptance.WORST_ERROR, [AC, WA, OLE, TLE, MLE, RE], RE),
        (Acceptance.WORST_ERROR, [AC, WA, OLE, TLE, MLE], MLE),
        (Acceptance.WORST_ERROR, [AC, WA, OLE, TLE], TLE),
        (Acceptance.WORST_ERROR, [AC, WA, OLE], OLE),
        (Acceptance.WORST_ERROR, [AC, PA], AC),
        (Acceptance.FIRST_ERROR, [AC, WA, RE], WA),
        (Acceptance.ALWAYS, [WA, RE], AC),
    ],
)
def test_group_verdict_follows_acceptance_rule(
    acceptance: Acceptance, statuses: list[Verdict], verdict: Verdict
) -> None:
    group = Grading(parts=tuple("abcdef"[: len(statuses)]), acceptance=acceptance, stops=False)
    assert compute_grade(group, judged(*statuses)).verdict is verdict


def test_kattis_first_error_grading_ignores_later_tests() -> None:
    group = Grading(parts=("a", "b", "c"), acceptance=Acceptance.WORST_ERROR, accept_score=10, stops=True)
    assert compute_grade(group, judged(AC, WA, RE)) == (WA, 10)


def test_partial_test_score_earns_part_of_points() -> None:
    group = Grading(parts=("a", "b"), accept_score=20)
    assert compute_grade(group, judged(AC, PA, part=0.25)) == (AC, 25)
    assert compute_points_fraction(group, judged(AC, PA, part=0.25)) == 25 / 40


def test_grading_group_without_points_has_share_0_or_1() -> None:
    group = Grading(parts=("a",), accept_score=0)
    assert (
        compute_max_group_points(group),
        compute_points_fraction(group, judged(AC)),
        compute_points_fraction(group, judged(WA)),
    ) == (
        0,
        1,
        0,
    )


def test_points_above_group_maximum_are_judge_failure() -> None:
    group = Grading(parts=("a", "b"), accept_score=2)
    with pytest.raises(JudgeFailure, match=r"earned 5 points, but the maximum is 4"):
        compute_points_fraction(group, judged(AC, PA, part=1.5))


NOTHING = Grading(parts=("b",), accept_score=0)


@pytest.mark.parametrize(
    ("group", "right", "wrong", "worth"),
    [
        # An average ignores tests that were not judged.
        (
            Grading(parts=("a", NOTHING), points=Points.AVERAGE, reject_score=0.9, accept_score=0.9),
            0.45,
            0.9,
            0.9,
        ),
        # The minimum ignores them as well.
        (Grading(parts=("a", "b"), points=Points.LEAST, accept_score=0, reject_score=2), 0, 2, 2),
        # The points of rejected parts count only if the group earns them.
        (Grading(parts=("a", "b"), reject_score=5, rejected_earns=False), 2, 0, 2),
        (Grading(parts=("a", "b"), reject_score=5, stops=False), 2, 10, 10),
        (
            Grading(parts=("a", "b"), points=Points.LEAST, stops=False, any_accepted=True, reject_score=5),
            1,
            5,
            5,
        ),
    ],
)
def test_group_maximum_includes_points_for_wrong_answers(
    group: Grading, right: float, wrong: float, worth: float
) -> None:
    assert compute_grade(group, judged(AC, AC)).points == right
    assert compute_grade(group, judged(WA, WA)).points == wrong
    assert compute_max_group_points(group) == worth


@pytest.mark.parametrize(("earns", "points"), [(True, 30), (False, 0)])
def test_group_rejected_by_package_grader_earns_configured_points(earns: bool, points: float) -> None:
    group = Grading(parts=("a", "b"), stops=False, flags=(), full=100, rejected_earns=earns)
    answers = {GraderQuestion((), "AC 1.0\nWA 0.0\n"): Grade(WA, 30)}
    assert compute_grade(group, judged(AC, WA), answers) == Grade(WA, points)


def test_skipped_test_without_result_is_judge_failure() -> None:
    with pytest.raises(JudgeFailure, match="on test b: no result"):
        compute_grade(BEST_OF, judged(AC, Verdict.SKIPPED))


@pytest.mark.parametrize(
    ("statuses", "keyword", "agrees"),
    [((AC, WA), "AC", True), ((WA, WA), "AC", False), ((CE, CE), "AC", False), ((WA, WA), "WA", True)],
)
def test_subtask_expectation_uses_group_verdict(
    statuses: tuple[Verdict, Verdict], keyword: str, agrees: bool
) -> None:
    subtask = Subtask(name="g", points=1, tests=("a", "b"), grading=BEST_OF)
    solution = Solution(name="s", expected="", exceptions={"g": keyword})
    (expectation,) = list_expectations(Problem(id="p", subtasks=(subtask,)), solution)
    assert is_expectation_met(expectation, judged(*statuses), points_fraction=0) is agrees


# --- bounds ------------------------------------------------------------------------------------------

RULES = {
    "points": st.sampled_from([Points.SUM, Points.AVERAGE, Points.LEAST, Points.MOST]),
    "acceptance": st.sampled_from(list(Acceptance)),
    "any_accepted": st.booleans(),
    "last_counts": st.booleans(),
    "stops": st.booleans(),
    "accept_score": st.sampled_from([0.0, 1.0, 5.0]),
    "reject_score": st.sampled_from([0.0, 0.0, 2.0]),
    "rejected_earns": st.booleans(),
}


@st.composite
def trees(draw: st.DrawFn) -> Grading:
    """Draw trees of up to six tests, each used once."""
    names = iter("abcdef"[: draw(st.integers(1, 6))])

    def group(deep: int) -> Grading | None:
        members: list[str | Grading] = []
        for _ in range(draw(st.integers(1, 4))):
            member = group(deep - 1) if deep and draw(st.booleans()) else next(names, None)
            members += [] if member is None else [member]
        return (
            Grading(parts=tuple(members), **{key: draw(rule) for key, rule in RULES.items()})
            if members
            else None
        )

    tree = group(2)
    assert tree is not None
    return tree


def outcomes(group: Grading, known_results: dict[str, TestResult]) -> list[dict[str, TestResult]]:
    """Yield all outcomes, right or wrong, of the tests without a result."""
    remaining_names = [name for name in all_of(group) if name not in known_results]
    return [
        known_results
        | {
            name: TestResult(test_name=name, score=float(status is AC), status=status)
            for name, status in zip(remaining_names, statuses, strict=True)
        }
        for statuses in product([AC, WA], repeat=len(remaining_names))
    ]


@given(tree=trees(), said=st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([AC, WA])))
def test_grading_bounds_equal_range_of_all_possible_scores(tree: Grading, said: dict[str, Verdict]) -> None:
    known_results = {
        name: TestResult(test_name=name, score=float(status is AC), status=status)
        for name, status in said.items()
        if name in all_of(tree)
    }
    grades = [compute_grade(tree, results) for results in outcomes(tree, known_results)]
    sides = [[grade.points for grade in grades if grade.accepted is side] for side in (True, False)]
    accepted, rejected = ((min(side), max(side)) if side else None for side in sides)
    assert compute_point_bounds(tree, known_results, allows_partial_points=False) == PointBounds(
        accepted, rejected
    )


@given(tree=trees(), said=st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([AC, WA])))
def test_skipping_unneeded_tests_keeps_score(tree: Grading, said: dict[str, Verdict]) -> None:
    known_results = {
        name: TestResult(test_name=name, score=float(status is AC), status=status)
        for name, status in said.items()
        if name in all_of(tree)
    }
    needed_names = set(list_undecided_tests(tree, known_results))
    assert needed_names.isdisjoint(known_results) and needed_names <= set(all_of(tree))
    skipped = {name: v for name, v in unknown(tree, known_results).items() if name not in needed_names}
    for results in outcomes(tree, known_results):
        fewer = {name: skipped.get(name, result) for name, result in results.items()}
        assert compute_points_fraction(tree, fewer) == pytest.approx(compute_points_fraction(tree, results))


def unknown(tree: Grading, known_results: dict[str, TestResult]) -> dict[str, TestResult]:
    """Return SKIPPED for every test without a result."""
    names = (name for name in all_of(tree) if name not in known_results)
    return {name: TestResult(test_name=name, score=0.0, status=Verdict.SKIPPED) for name in names}


def test_test_is_needed_while_it_can_change_points() -> None:
    least_points = Grading(
        parts=("a", "b", "c"), points=Points.LEAST, stops=False, acceptance=Acceptance.ALWAYS
    )
    assert set(list_undecided_tests(least_points, judged(AC))) == {"b", "c"}
    assert set(list_undecided_tests(least_points, judged(WA))) == set()
    assert compute_points_fraction(least_points, judged(WA, Verdict.SKIPPED, Verdict.SKIPPED)) == 0
    gate = Grading(parts=(Grading(parts=("a", "b")), Grading(parts=("c", "d"))))
    assert set(list_undecided_tests(gate, judged(WA))) == set(), "the tests after it are not judged"


def test_package_grader_leaves_every_test_without_result_undecided() -> None:
    tree = Grading(parts=("a", Grading(parts=("b", "c"), flags=(), full=5.0)), points=Points.LEAST)
    assert set(list_undecided_tests(tree, judged(WA))) == {"b", "c"}
