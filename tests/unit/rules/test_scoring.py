"""Scores of subtasks, submissions and problems."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scoring_samples import result, results

from ioi_eval.errors import InputError, JudgeFailure
from ioi_eval.models import Blob, Problem, ScoreType, Submission, SubmissionResult, Subtask, Test, Verdict
from ioi_eval.rules import scoring, verdicts

SUM, MIN, MUL, THRESHOLD = ScoreType.SUM, ScoreType.GROUP_MIN, ScoreType.GROUP_MUL, ScoreType.GROUP_THRESHOLD

SCORES = st.one_of(st.sampled_from([0.0, 0.25, 0.3, 0.5, 1.0]), st.floats(0, 1))


def subtask(
    kind: ScoreType = MIN, *, points: float = 100, tests: str = "ab", threshold: float = 1.0
) -> Subtask:
    return Subtask(name="s", points=points, tests=tuple(tests), score_type=kind, threshold=threshold)


def problem(*subtasks: Subtask, tests: str = "abcd", precision: int = 2) -> Problem:
    tests_made = tuple(Test(name=name, input=Blob.of(name)) for name in tests)
    return Problem(id="p", tests=tests_made, subtasks=subtasks, score_precision=precision)


def submission(key: str = "k", code: str | None = "int main(){}") -> Submission:
    return Submission(key=key, problem_id="p", code=code, language="c++")


# --- a subtask: score types --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "threshold", "scores", "share"),
    [
        (SUM, 1.0, [1, 1, 1], 1.0),
        (SUM, 1.0, [1, 0, 0, 0], 0.25),
        (SUM, 1.0, [0.5, 0.25], 0.375),
        (SUM, 1.0, [0.1] * 10, 0.1),
        (MIN, 1.0, [1, 1], 1.0),
        (MIN, 1.0, [1, 0.3, 0.7], 0.3),
        (MIN, 1.0, [1, 0], 0.0),
        (MUL, 1.0, [1, 1], 1.0),
        (MUL, 1.0, [0.5, 0.5, 0.5], 0.125),
        (MUL, 1.0, [0.5, 0], 0.0),
        (THRESHOLD, 0.5, [0.5, 0.1], 1.0),
        (THRESHOLD, 0.5, [0.5, 0.51], 0.0),
        (THRESHOLD, 0.5, [0.5, 0], 0.0),
        (THRESHOLD, 0.5, [1.0], 0.0),
        (THRESHOLD, 1.0, [1.0, 1e-9], 1.0),
    ],
)
def test_subtask_score_follows_its_score_type(
    kind: ScoreType, threshold: float, scores: list[float], share: float
) -> None:
    assert scoring.compute_subtask_score(subtask(kind, threshold=threshold), scores) == share


@given(st.sampled_from(ScoreType), st.floats(0.01, 1), st.lists(SCORES, min_size=1))
def test_subtask_score_is_between_zero_and_one(
    kind: ScoreType, threshold: float, scores: list[float]
) -> None:
    assert 0 <= scoring.compute_subtask_score(subtask(kind, threshold=threshold), scores) <= 1


@given(st.sampled_from([SUM, MIN, MUL, THRESHOLD]), st.lists(SCORES, min_size=1), st.data())
def test_subtask_score_never_rises_when_test_score_falls(
    kind: ScoreType, scores: list[float], data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(scores) - 1))
    lower = [*scores]
    lower[index] = data.draw(st.floats(0, scores[index]))
    group = subtask(kind)
    assert scoring.compute_subtask_score(group, lower) <= scoring.compute_subtask_score(group, scores)


@given(st.floats(0.01, 1), st.lists(SCORES, min_size=1), st.data())
def test_threshold_subtask_score_never_rises_when_test_fails(
    threshold: float, scores: list[float], data: st.DataObject
) -> None:
    failed = [*scores]
    failed[data.draw(st.integers(0, len(scores) - 1))] = 0.0
    group = subtask(THRESHOLD, threshold=threshold)
    assert scoring.compute_subtask_score(group, failed) <= scoring.compute_subtask_score(group, scores)


def test_score_above_threshold_earns_less_than_score_below_it() -> None:
    group = subtask(THRESHOLD, threshold=0.5)
    assert scoring.compute_subtask_score(group, [0.6]) < scoring.compute_subtask_score(group, [0.4])


def test_points_without_tests_are_refused_and_samples_without_tests_are_not() -> None:
    with pytest.raises(InputError, match="no tests"):
        scoring.compute_subtask_score(subtask(tests=""), [])
    assert scoring.compute_subtask_score(subtask(tests="", points=0), []) == 0


# --- a subtask: rounding and statuses ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("points", "share", "precision", "score", "weighted"),
    [
        (30, 1 / 3, 2, 0.33, 10.0),
        (100, 1 / 3, 2, 0.33, 33.33),
        (100, 2 / 3, 2, 0.67, 66.67),
        (100, 2 / 3, 0, 1.0, 67.0),
        (100, 2 / 3, 4, 0.6667, 66.6667),
        (1, 0.125, 2, 0.12, 0.12),  # a true tie: to the even digit
        (1, 0.375, 2, 0.38, 0.38),
        (2.675, 1, 2, 1.0, 2.67),  # no tie: the nearest binary number is a little less
        (5, 0.5, 0, 0.0, 2.0),
        (7, 0.5, 0, 0.0, 4.0),
        (0, 0.5, 2, 0.5, 0.0),
    ],
)
def test_subtask_scores_are_rounded_to_precision(
    points: float, share: float, precision: int, score: float, weighted: float
) -> None:
    group = subtask(points=points, tests="a")
    scored = scoring.score_subtask(problem(group, precision=precision), group, results(a=share))
    assert (scored.exact_score, scored.score, scored.weighted_score) == (share, score, weighted)
    assert (scored.points, scored.score_precision, scored.problem, scored.subtask) == (
        points,
        precision,
        "p",
        "s",
    )


def test_weighted_score_is_rounded_from_exact_score() -> None:
    group = subtask(points=60, tests="a")
    scored = scoring.score_subtask(problem(group), group, results(a=0.005))
    assert (scored.score, scored.weighted_score) == (0.01, 0.3)


@pytest.mark.parametrize(
    ("kind", "scores", "status"),
    [
        (MIN, {"a": 1, "b": 1}, "AC"),
        (MIN, {"a": 1, "b": 0.5}, "PA"),
        (MIN, {"a": 0.5, "b": 0}, "WA"),
        (SUM, {"a": 1, "b": 0}, "WA"),
        (THRESHOLD, {"a": 0.5, "b": 0.5}, "AC"),
        (THRESHOLD, {"a": 1, "b": 1}, "WA"),
        (THRESHOLD, {"a": 0.5, "b": 0.75}, "WA"),
        (THRESHOLD, {"a": 0.5, "b": 0}, "WA"),
    ],
)
def test_subtask_status_follows_scores(kind: ScoreType, scores: dict[str, float], status: str) -> None:
    group = subtask(kind, threshold=0.5)
    assert scoring.score_subtask(problem(group), group, results(**scores)).status == status


def test_subtask_status_is_that_of_worst_judged_test() -> None:
    group = subtask(tests="abc")
    tests = {
        "a": result("a", 0, Verdict.TLE),
        "b": result("b", 0, Verdict.RE),
        "c": verdicts.make_skipped_result("c"),
    }
    scored = scoring.score_subtask(problem(group), group, tests)
    assert scored.status is Verdict.RE
    assert [test.status for test in scored.test_results] == ["TLE", "RE", "SKIPPED"]


def test_threshold_subtask_keeps_status_of_failed_test() -> None:
    group = subtask(THRESHOLD, tests="a")
    scored = scoring.score_subtask(problem(group), group, {"a": result("a", 0, Verdict.TLE)})
    assert scored.status is Verdict.TLE


def test_test_named_twice_in_subtask_counts_once() -> None:
    group = subtask(MUL, tests="aa")
    scored = scoring.score_subtask(problem(group), group, results(a=0.5))
    assert scored.exact_score == 0.5
    assert len(scored.test_results) == 1


# --- tests that did not run --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "scores"),
    [(MIN, {"a": 0}), (MUL, {"a": 0}), (THRESHOLD, {"a": 0}), (THRESHOLD, {"a": 0.75})],
)
def test_decided_subtask_skips_missing_tests(kind: ScoreType, scores: dict[str, float]) -> None:
    group = subtask(kind, threshold=0.5)
    scored = scoring.score_subtask(problem(group), group, results(**scores))
    assert scored.exact_score == 0
    assert [test.status for test in scored.test_results][1] is Verdict.SKIPPED


@pytest.mark.parametrize(
    ("kind", "scores"),
    [
        (MIN, {"a": 0.5}),
        (MUL, {"a": 0.5}),
        (THRESHOLD, {"a": 0.5}),
        (SUM, {"a": 0}),
        (SUM, {"a": 1}),
        (MIN, {}),
    ],
)
def test_missing_test_that_matters_is_judge_failure(kind: ScoreType, scores: dict[str, float]) -> None:
    group = subtask(kind, threshold=0.5)
    with pytest.raises(JudgeFailure, match="depends on it"):
        scoring.score_subtask(problem(group), group, results(**scores))
    skipped = results(**scores) | {"b": verdicts.make_skipped_result("b")}
    with pytest.raises(JudgeFailure, match="test b"):
        scoring.score_subtask(problem(group), group, {"a": result("a", 1)} | skipped)


def test_missing_test_result_without_subtasks_is_judge_failure() -> None:
    with pytest.raises(JudgeFailure, match="test d"):
        scoring.score_submission(problem(), submission(), results(a=0, b=0, c=0))


# --- a submission ------------------------------------------------------------------------------------


def test_submission_points_are_unrounded_sum() -> None:
    groups = [Subtask(name=name, points=10, tests=(name,)) for name in "abc"]
    scored = scoring.score_submission(
        problem(*groups, tests="abc"), submission(), results(a=1 / 3, b=1 / 3, c=1 / 3)
    )
    assert [subtask_result.weighted_score for subtask_result in scored.subtasks] == [3.33, 3.33, 3.33]
    assert scored.points == pytest.approx(10, abs=1e-12)


def test_subtask_results_share_tests_in_problem_order() -> None:
    groups = [
        Subtask(name="full", points=70, tests=("a", "b", "c")),
        Subtask(name="easy", points=30, tests=("a",)),
    ]
    scored = scoring.score_submission(problem(*groups, tests="abc"), submission(), results(c=0, a=1))
    assert [
        (subtask_result.subtask, subtask_result.weighted_score) for subtask_result in scored.subtasks
    ] == [("full", 0), ("easy", 30)]
    assert [test.test_name for test in scored.tests] == ["a", "b", "c"]
    assert scored.points == 30


def test_points_without_subtasks_are_mean_of_tests() -> None:
    scored = scoring.score_submission(problem(), submission(), results(a=1, b=1, c=0.5, d=0))
    assert (scored.points, scored.subtasks) == (0.625, ())
    passes = scoring.pass_rate(scored)
    assert (passes.passed, passes.total, passes.pass_rate, passes.resolved) == (2, 4, 0.5, False)


def test_result_is_resolved_if_every_test_passed() -> None:
    scored = scoring.score_submission(problem(tests="a"), submission(), results(a=1))
    assert scoring.pass_rate(scored).resolved
    empty = SubmissionResult(key="k", problem_id="p", compiles=True)
    assert (scoring.pass_rate(empty).resolved, scoring.pass_rate(empty).pass_rate) == (False, 0.0)


def test_problem_without_tests_is_input_error() -> None:
    with pytest.raises(InputError, match="no tests"):
        scoring.score_submission(problem(tests=""), submission(), {})


def test_tests_with_equal_content_share_result() -> None:
    twins = tuple(Test(name=name, input=Blob.of("same"), answer=Blob.of("1")) for name in "ab")
    scored = scoring.score_submission(Problem(id="p", tests=twins), submission(), results(a=0.5))
    assert [(test.test_name, test.score) for test in scored.tests] == [("a", 0.5), ("b", 0.5)]


@pytest.mark.parametrize(
    ("code", "feedback", "reason", "ending"),
    [
        ("int main(", "Compilation error", "not compiled", "CE"),
        (None, "no code found", "no program", "no program"),
    ],
    ids=["code", "none"],
)
def test_compile_error_is_ce_for_all_tests_and_subtasks(
    code: str | None, feedback: str, reason: str, ending: str
) -> None:
    group = subtask(SUM)
    scored = scoring.score_submission(
        problem(group), submission(code=code), {}, compiles=False, compile_output="expected ')'"
    )
    assert (scored.compiles, scored.points, scored.compile_output) == (False, 0, "expected ')'")
    assert {test.status for test in scored.tests} == {Verdict.CE}
    assert {test.feedback for test in scored.tests} == {feedback}
    assert [(subtask_result.status, subtask_result.weighted_score) for subtask_result in scored.subtasks] == [
        (Verdict.CE, 0)
    ]
    assert scored.verdict is Verdict.CE
    assert (scoring.find_unjudged_reason(scored), scoring.find_verdict_or_no_program(scored)) == (
        reason,
        ending,
    )


def test_result_keeps_repairs_checker_compiler_and_confinement() -> None:
    sent = Submission(key="k", problem_id="p", code="", language="c++", repairs=("header",))
    scored = scoring.score_submission(
        problem(tests="a"), sent, results(a=1), checker="cms", compiler="g++ 12", confinement={"landlock": 7}
    )
    assert (scored.key, scored.problem_id, scored.repairs) == ("k", "p", ("header",))
    assert (scored.checker, scored.compiler, scored.confinement) == ("cms", "g++ 12", {"landlock": 7})


@pytest.mark.parametrize(
    ("kind", "scores", "status"),
    [(MIN, {"a": 1, "b": 1}, "AC"), (MIN, {"a": 1, "b": 0.5}, "PA"), (MIN, {"a": 0}, "WA")],
)
def test_submission_status_follows_scores(kind: ScoreType, scores: dict[str, float], status: str) -> None:
    scored = scoring.score_submission(problem(subtask(kind)), submission(), results(**scores))
    assert scored.verdict == status


STATUSES = st.sampled_from([Verdict.WA, Verdict.TLE, Verdict.MLE, Verdict.OLE, Verdict.RE])


@given(st.sampled_from(ScoreType), st.lists(st.tuples(SCORES, STATUSES), min_size=1, max_size=6))
def test_subtask_status_agrees_with_score(kind: ScoreType, outcomes: list[tuple[float, Verdict]]) -> None:
    names = "abcdef"[: len(outcomes)]
    tests = {
        name: result(name, score, verdicts.convert_score_to_verdict(score) if score else status)
        for name, (score, status) in zip(names, outcomes, strict=True)
    }
    group = subtask(kind, tests=names, threshold=0.5)
    scored = scoring.score_subtask(problem(group, tests=names), group, tests)
    if scored.status is Verdict.AC:
        assert scored.exact_score == 1
    if scored.exact_score == 1:
        assert scored.status is Verdict.AC
    if scored.status is Verdict.PA:
        assert scored.exact_score < 1
    if kind is MIN and scored.exact_score == 0:
        assert scored.status not in {Verdict.AC, Verdict.PA}
