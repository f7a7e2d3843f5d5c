"""Compute the scores of subtasks, submissions and problems from test results, as the contest system does.

Rounding is Python's `round` on floats, as in the contest system. The exact binary value decides: 2.675 is
slightly smaller and becomes 2.67. A tie goes to the even digit: 0.125 becomes 0.12. Only subtasks are
rounded, and the best-of-subtasks total that adds them up.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

from ioi_eval.model.errors import InputError, JudgeFailure
from ioi_eval.model.values import (
    Problem,
    Reason,
    ScoreType,
    Submission,
    SubmissionResult,
    Subtask,
    SubtaskResult,
    TestResult,
    Value,
    Verdict,
    worst_verdict,
)
from ioi_eval.rules import grading, plan, verdicts

# --- a subtask ---------------------------------------------------------------------------------------


def compute_subtask_score(subtask: Subtask, scores: Sequence[float]) -> float:
    """Return the fraction of its points that a subtask earns, not rounded.

    `scores` are the scores of all its tests. For the score type Sum the fraction is their mean. For the score
    type GroupThreshold, scores are costs: all scores must be above 0 and at most the threshold.
    """
    if not scores:
        # A subtask without tests is allowed if it is worth 0 points, such as a subtask of samples that are
        # not in the package.
        if subtask.points:
            raise InputError(f"subtask {subtask.name!r} has points and no tests", field=subtask.name)
        return 0.0
    match subtask.score_type:
        case ScoreType.SUM:
            return math.fsum(scores) / len(scores)
        case ScoreType.GROUP_MIN:
            return min(scores)
        case ScoreType.GROUP_MUL:
            return math.prod(scores, start=1.0)
        case ScoreType.GROUP_THRESHOLD:
            return float(all(0 < score <= subtask.threshold for score in scores))


def score_subtask(
    problem: Problem,
    subtask: Subtask,
    tests: Mapping[str, TestResult],
    grader_answers: grading.GraderAnswers = grading.NO_GRADER_ANSWERS,
) -> SubtaskResult:
    """Return a subtask's result from the results of its tests.

    Args:
        problem: the subtask's problem.
        subtask: the subtask.
        tests: results by test name; a test without a result is SKIPPED and scores 0.
        grader_answers: answers of the problem's custom grader.

    Raises:
        JudgeFailure: if a missing result could change the score.
    """
    results = tuple(
        tests.get(name) or verdicts.make_skipped_result(name) for name in dict.fromkeys(subtask.tests)
    )
    status = worst_verdict(result.status for result in results)
    if subtask.grading is not None:  # compute_points_fraction reports missing results
        exact_score = grading.compute_points_fraction(
            subtask.grading, {result.test_name: result for result in results}, grader_answers
        )
        # If the subtask has full points, rejected tests do not count, and the subtask is accepted.
        if exact_score >= 1:
            status = Verdict.AC
    else:
        skipped_tests = [result.test_name for result in results if result.status is Verdict.SKIPPED]
        judged_scores = (result.score for result in results if result.status is not Verdict.SKIPPED)
        if skipped_tests and not any(plan.decides_subtask_score(subtask, score) for score in judged_scores):
            raise _make_missing_result_failure(
                skipped_tests[0], f"subtask {subtask.name} of problem {problem.id}"
            )
        exact_score = compute_subtask_score(subtask, [result.score for result in results])
        # In the score type GroupThreshold, a score up to the threshold is AC and a higher score is WA.
        if subtask.score_type is ScoreType.GROUP_THRESHOLD and status in (Verdict.PA, Verdict.AC):
            status = Verdict.AC if exact_score else Verdict.WA
    return SubtaskResult(
        problem=problem.id,
        subtask=subtask.name,
        points=subtask.points,
        score=round(exact_score, problem.score_precision),
        weighted_score=round(exact_score * subtask.points, problem.score_precision),
        exact_score=exact_score,
        score_precision=problem.score_precision,
        status=status,
        test_results=results,
    )


def _make_missing_result_failure(test_name: str, scored_item: str) -> JudgeFailure:
    """Return the failure for a test without a result whose score is needed."""
    return JudgeFailure(
        f"no result, but the score of {scored_item} depends on it", phase="scoring", test=test_name
    )


# --- a submission ------------------------------------------------------------------------------------


def score_submission(
    problem: Problem,
    submission: Submission,
    tests: Mapping[str, TestResult],
    *,
    compiles: bool = True,
    compile_output: str = "",
    checker: str = "",
    compiler: str = "",
    confinement: Mapping[str, Any] | None = None,
    grader_answers: grading.GraderAnswers = grading.NO_GRADER_ANSWERS,
) -> SubmissionResult:
    """Return a submission's score, with the results it is based on.

    The points are the sum over subtasks or, without subtasks, the mean over tests in [0, 1].

    Args:
        problem: the submission's problem.
        submission: the submission.
        tests: a result for each distinct test; duplicates share it. Ignored if the submission does not
            compile: every test is CE then.
        compiles: True if the submission compiled.
        compile_output: output of the compiler.
        checker: description of the checker.
        compiler: description of the compiler.
        confinement: description of the sandbox.
        grader_answers: answers of the problem's custom grader.

    Raises:
        JudgeFailure: if a missing result could change the score.
        InputError: if the problem lacks tests.
    """
    judged_subtasks = problem.subtasks
    if compiles:
        complete_results = {
            test.name: tests.get(test.name) or verdicts.make_skipped_result(test.name)
            for test in problem.tests
        }
        if any(result.status is Verdict.SKIPPED for result in complete_results.values()):
            results_with_duplicates = plan.add_duplicate_results(problem, tests)
            complete_results = {
                name: results_with_duplicates.get(name) or verdicts.make_skipped_result(name)
                for name in complete_results
            }
    else:
        feedback = verdicts.NO_CODE if submission.code is None else verdicts.COMPILATION_ERROR
        complete_results = {
            test.name: verdicts.make_uncompiled_result(test.name, feedback) for test in problem.tests
        }
        # Remove the rules of groups, which could accept rejected tests, because no test was judged.
        judged_subtasks = tuple(msgspec.structs.replace(subtask, grading=None) for subtask in judged_subtasks)
    subtasks = tuple(
        score_subtask(problem, subtask, complete_results, grader_answers) for subtask in judged_subtasks
    )
    if subtasks:
        points = sum(result.exact_score * result.points for result in subtasks)
    elif not complete_results:
        raise InputError(f"problem {problem.id!r} has no tests", where=problem.source)
    else:
        for name, result in complete_results.items():
            if result.status is Verdict.SKIPPED:
                raise _make_missing_result_failure(name, f"problem {problem.id}")
        points = math.fsum(result.score for result in complete_results.values()) / len(complete_results)
    return SubmissionResult(
        key=submission.key,
        problem_id=problem.id,
        compiles=compiles,
        compile_output=compile_output,
        points=points,
        subtasks=subtasks,
        tests=tuple(complete_results.values()),
        repairs=submission.repairs,
        checker=checker,
        compiler=compiler,
        confinement=confinement or {},
    )


def find_unjudged_reason(result: SubmissionResult) -> Reason | None:
    """Return why no test ran, or None if tests ran."""
    if result.compiles:
        return None
    is_empty_program = any(test.feedback == verdicts.NO_CODE for test in result.tests)
    return Reason.NO_PROGRAM if is_empty_program else Reason.NOT_COMPILED


def find_verdict_or_no_program(result: SubmissionResult) -> str:
    """Return the outcome under which reports count a submission: its verdict, or `no program`."""
    return Reason.NO_PROGRAM if find_unjudged_reason(result) is Reason.NO_PROGRAM else result.verdict


class PassRate(Value):
    """The number of tests that a submission passes, which is the score of problems without subtasks."""

    passed: int
    total: int

    @property
    def resolved(self) -> bool:
        """Return True if the submission passes all tests."""
        return self.passed == self.total > 0

    @property
    def pass_rate(self) -> float:
        """Return the fraction of tests that the submission passes."""
        return self.passed / self.total if self.total else 0.0

    @property
    def columns(self) -> dict[str, bool | int | float]:
        """Return the columns of a row."""
        return {name: getattr(self, name) for name in ("resolved", "passed", "total", "pass_rate")}


def pass_rate(result: SubmissionResult) -> PassRate:
    """Return how many tests the submission passed. Only a full score passes."""
    passed_count = sum(test.status is Verdict.AC for test in result.tests)
    return PassRate(passed=passed_count, total=len(result.tests))


# --- several submissions -----------------------------------------------------------------------------


class BestSubtask(Value):
    """The best result of any submission on a subtask."""

    subtask: str
    points: float  # maximum points of the subtask
    score: float  # score in [0, 1], rounded
    weighted_score: float  # points of the best result, rounded
    exact_score: float
    score_precision: int
    status: Verdict
    key: str  # key of the best submission; among equal submissions, the smallest key


_SubtaskT = TypeVar("_SubtaskT", SubtaskResult, BestSubtask)


def select_scored_subtasks(parts: Sequence[_SubtaskT]) -> Sequence[_SubtaskT]:
    """Return the subtasks with points, or all subtasks if none has points. Full marks depend on these."""
    return [subtask for subtask in parts if subtask.points] or parts


class BestOfSubtasks(Value):
    """The result of a problem by the rule `max_subtask`."""

    problem_id: str
    # Sum of the best rounded points of each subtask. Without subtasks, the points of the best submission.
    points: float
    max_points: float
    submissions: int
    subtasks: tuple[BestSubtask, ...]


class BestSubmission(Value):
    """The result of a problem by `max` or `max_tokened_last`: a submission's points, not rounded."""

    problem_id: str
    points: float
    key: str  # key of the best submission; among equal submissions, the smallest key


def collect_best_subtasks(results: Iterable[SubmissionResult]) -> dict[str, BestOfSubtasks]:
    """Return each problem's points by `max_subtask` (IOI since 2017): the sum of each subtask's rounded best.

    Results are read one by one and not stored. The order of results and problems does not matter.
    """
    bests_by_problem: dict[str, dict[str, BestSubtask]] = {}
    best_submissions: dict[str, BestSubmission] = {}
    submission_counts_by_problem: Counter[str] = Counter()
    for result in results:
        problem = result.problem_id
        submission_counts_by_problem[problem] += 1
        best_submissions[problem] = _select_better_submission(best_submissions.get(problem), result)
        best_subtasks = bests_by_problem.setdefault(problem, {})
        for subtask in result.subtasks:
            result_fields = {
                name: getattr(subtask, name) for name in BestSubtask.__struct_fields__ if name != "key"
            }
            new_best = BestSubtask(**result_fields, key=result.key)
            # In a subtask without points all submissions have 0 points, so their scores are compared too.
            best_subtasks[subtask.subtask] = min(
                best_subtasks.get(subtask.subtask, new_best),
                new_best,
                key=lambda best: (-best.weighted_score, -best.exact_score, best.key),
            )
    best_by_problem = dict[str, BestOfSubtasks]()
    for problem in sorted(best_submissions):
        subtask_bests = tuple(bests_by_problem[problem].values())
        # The points of subtasks are rounded. Their sum is rounded again, because binary addition is not
        # exact, as in 0.1 + 0.2.
        decimals = max((best.score_precision for best in subtask_bests), default=0)
        points = round(math.fsum(best.weighted_score for best in subtask_bests), decimals)
        best_by_problem[problem] = BestOfSubtasks(
            problem_id=problem,
            points=points if subtask_bests else best_submissions[problem].points,
            max_points=math.fsum(best.points for best in subtask_bests) if subtask_bests else 1.0,
            submissions=submission_counts_by_problem[problem],
            subtasks=subtask_bests,
        )
    return best_by_problem


def _select_better_submission(best: BestSubmission | None, result: SubmissionResult) -> BestSubmission:
    """Return the better of the best submission so far and a new result."""
    new_best = BestSubmission(problem_id=result.problem_id, points=result.points, key=result.key)
    return min(best or new_best, new_best, key=lambda submission: (-submission.points, submission.key))


def select_best_submissions(results: Iterable[SubmissionResult]) -> dict[str, BestSubmission]:
    """Return each problem's points by `max` (IOI 2013 to 2016): the best single submission."""
    best_submissions: dict[str, BestSubmission] = {}
    for result in results:
        best_submissions[result.problem_id] = _select_better_submission(
            best_submissions.get(result.problem_id), result
        )
    return dict(sorted(best_submissions.items()))


def select_best_tokened_or_last(
    results: Iterable[SubmissionResult], tokened_keys: Collection[str]
) -> dict[str, BestSubmission]:
    """Return each problem's points by `max_tokened_last`: the best of the last and the tokened submissions.

    `results` must be in the order of submission. `tokened_keys` holds the keys of tokened submissions.
    """
    best_submissions: dict[str, BestSubmission] = {}
    last_submissions: dict[str, SubmissionResult] = {}
    for result in results:
        last_submissions[result.problem_id] = result
        if result.key in tokened_keys:
            best_submissions[result.problem_id] = _select_better_submission(
                best_submissions.get(result.problem_id), result
            )
    return {
        problem: _select_better_submission(best_submissions.get(problem), last_submissions[problem])
        for problem in sorted(last_submissions)
    }


class ScoreMode(StrEnum):
    """The rule by which a problem's points are computed from several submissions."""

    MAX_SUBTASK = "max_subtask"
    MAX = "max"
    MAX_TOKENED_LAST = "max_tokened_last"


def compute_problem_points(
    mode: ScoreMode, results: Sequence[SubmissionResult], tokened_keys: Collection[str] = ()
) -> float:
    """Return a problem's points from its submissions in the order of submission, or 0 without submissions."""
    best_results: Mapping[str, BestOfSubtasks | BestSubmission]
    match mode:
        case ScoreMode.MAX_SUBTASK:
            best_results = collect_best_subtasks(results)
        case ScoreMode.MAX:
            best_results = select_best_submissions(results)
        case ScoreMode.MAX_TOKENED_LAST:
            best_results = select_best_tokened_or_last(results, tokened_keys)
    return math.fsum(best.points for best in best_results.values())
