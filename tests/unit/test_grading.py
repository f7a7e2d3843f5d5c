"""Trees of groups: what is not seen in points. tests/unit/problems/test_kattis_grading.py has the rest."""

from __future__ import annotations

import pytest

from ioi_eval.errors import JudgeFailure
from ioi_eval.models import Acceptance, Grading, Points, Problem, Solution, Subtask, TestResult, Verdict
from ioi_eval.rules.expectations import expectations, met
from ioi_eval.rules.grading import grade, most, share

pytestmark = pytest.mark.alike

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
def test_the_verdict_of_a_group(acceptance: Acceptance, statuses: list[Verdict], verdict: Verdict) -> None:
    group = Grading(parts=tuple("abcdef"[: len(statuses)]), acceptance=acceptance, stops=False)
    assert grade(group, judged(*statuses)).verdict is verdict


def test_what_is_behind_an_error_was_not_judged() -> None:
    group = Grading(parts=("a", "b", "c"), acceptance=Acceptance.WORST_ERROR, accept_score=10, stops=True)
    assert grade(group, judged(AC, WA, RE)) == (WA, 10)


def test_a_part_of_a_tests_points() -> None:
    group = Grading(parts=("a", "b"), accept_score=20)
    assert grade(group, judged(AC, PA, part=0.25)) == (AC, 25)
    assert share(group, judged(AC, PA, part=0.25)) == 25 / 40


def test_a_group_of_no_points_is_right_or_wrong() -> None:
    group = Grading(parts=("a",), accept_score=0)
    assert (most(group), share(group, judged(AC)), share(group, judged(WA))) == (0, 1, 0)


def test_more_points_than_there_are_is_no_score() -> None:
    group = Grading(parts=("a", "b"), accept_score=2)
    with pytest.raises(JudgeFailure, match=r"earned 5 points together, of 4 that there are"):
        share(group, judged(AC, PA, part=1.5))


NOTHING = Grading(parts=("b",), accept_score=0)


@pytest.mark.parametrize(
    ("group", "right", "wrong", "worth"),
    [
        # An average forgets what was not judged.
        (
            Grading(parts=("a", NOTHING), points=Points.AVERAGE, reject_score=0.9, accept_score=0.9),
            0.45,
            0.9,
            0.9,
        ),
        # So does the worst of several.
        (Grading(parts=("a", "b"), points=Points.LEAST, accept_score=0, reject_score=2), 0, 2, 2),
        # The points of what is rejected count only where the group earns them.
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
def test_the_most_is_what_wrong_answers_may_earn_too(
    group: Grading, right: float, wrong: float, worth: float
) -> None:
    assert grade(group, judged(AC, AC)).points == right
    assert grade(group, judged(WA, WA)).points == wrong
    assert most(group) == worth


def test_a_test_without_a_result_is_no_score() -> None:
    with pytest.raises(JudgeFailure, match="on test b: no result"):
        grade(BEST_OF, judged(AC, Verdict.SKIPPED))


@pytest.mark.parametrize(
    ("statuses", "word", "agrees"),
    [((AC, WA), "AC", True), ((WA, WA), "AC", False), ((CE, CE), "AC", False), ((WA, WA), "WA", True)],
)
def test_a_tag_speaks_of_what_the_group_is(
    statuses: tuple[Verdict, Verdict], word: str, agrees: bool
) -> None:
    subtask = Subtask(name="g", points=1, tests=("a", "b"), grading=BEST_OF)
    solution = Solution(name="s", expected="", exceptions={"g": word})
    (expectation,) = expectations(Problem(id="p", subtasks=(subtask,)), solution)
    assert met(expectation, judged(*statuses)) is agrees
