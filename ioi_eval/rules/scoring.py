"""From test results to the scores of subtasks, submissions and problems, as the contest system computes them.

Rounding is Python's `round` on floats, which is what the contest system calls: the exact binary value
decides (2.675 is a little less than that and becomes 2.67) and a true tie goes to the even digit (0.125
becomes 0.12).
Only subtasks are rounded, and the best of subtasks, which adds them up; everything else stays exact.
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
    worst,
)
from ioi_eval.rules import grading, plan, verdicts

# --- one subtask -------------------------------------------------------------------------------------


def subtask_score(subtask: Subtask, scores: Sequence[float]) -> float:
    """Return the share of its points that a subtask earns, not rounded. `scores` are of all its tests.

    Sum is the mean: the points are what all tests together are worth. A threshold is for outcomes that
    are costs: there, and only there, a lower score above 0 may earn more.
    """
    if not scores:
        # Samples that a package announces and does not bring do no harm; points that nobody can earn do.
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


def subtask_result(
    problem: Problem,
    subtask: Subtask,
    tests: Mapping[str, TestResult],
    graded: grading.Graded = grading.NOTHING_GRADED,
) -> SubtaskResult:
    """Return the worth of a subtask. A test without a result is SKIPPED and counts as 0.

    That 0 must not be a guess: where a missing test could still change the score, it is a JudgeFailure.
    """
    results = tuple(tests.get(name) or verdicts.skipped(name) for name in dict.fromkeys(subtask.tests))
    status = worst(result.status for result in results)
    if subtask.grading is not None:  # a tree finds out itself what is missing
        exact = grading.share(subtask.grading, {result.test_name: result for result in results}, graded)
        if exact >= 1:  # where it has all its points, no test was wrong that counts
            status = Verdict.AC
    else:
        skipped = [result.test_name for result in results if result.status is Verdict.SKIPPED]
        ran = (result.score for result in results if result.status is not Verdict.SKIPPED)
        if skipped and not any(plan.settles(subtask, score) for score in ran):
            raise _no_result(skipped[0], f"subtask {subtask.name} of problem {problem.id}")
        exact = subtask_score(subtask, [result.score for result in results])
        # A threshold reads scores its own way: within it is AC.
        if subtask.score_type is ScoreType.GROUP_THRESHOLD and status in (Verdict.PA, Verdict.AC):
            status = Verdict.AC if exact else Verdict.WA
    return SubtaskResult(
        problem=problem.id,
        subtask=subtask.name,
        points=subtask.points,
        score=round(exact, problem.score_precision),
        weighted_score=round(exact * subtask.points, problem.score_precision),
        exact_score=exact,
        score_precision=problem.score_precision,
        status=status,
        test_results=results,
    )


def _no_result(test_name: str, of: str) -> JudgeFailure:
    return JudgeFailure(f"no result, and the score of {of} depends on it", phase="scoring", test=test_name)


# --- one submission ----------------------------------------------------------------------------------


def submission_result(
    problem: Problem,
    submission: Submission,
    tests: Mapping[str, TestResult],
    *,
    compiles: bool = True,
    compile_output: str = "",
    checker: str = "",
    compiler: str = "",
    confinement: Mapping[str, Any] | None = None,
    graded: grading.Graded = grading.NOTHING_GRADED,
) -> SubmissionResult:
    """Return the worth of a submission. `tests` holds a result for each distinct test; twins share it.

    Its points are the sum over subtasks; without subtasks the mean over tests, in [0, 1]. Where it does not
    compile, `tests` is not looked at and every test is a CE.
    """
    judged = problem.subtasks
    if compiles:
        complete = {test.name: tests.get(test.name) or verdicts.skipped(test.name) for test in problem.tests}
        if any(result.status is Verdict.SKIPPED for result in complete.values()):
            shared = plan.spread(problem, tests)
            complete = {name: shared.get(name) or verdicts.skipped(name) for name in complete}
    else:
        feedback = verdicts.NO_CODE if submission.code is None else verdicts.COMPILATION_ERROR
        complete = {test.name: verdicts.not_compiled(test.name, feedback) for test in problem.tests}
        # Groups may accept what was rejected, but nothing was judged.
        judged = tuple(msgspec.structs.replace(subtask, grading=None) for subtask in judged)
    subtasks = tuple(subtask_result(problem, subtask, complete, graded) for subtask in judged)
    if subtasks:
        points = sum(result.exact_score * result.points for result in subtasks)
    elif not complete:
        raise InputError(f"problem {problem.id!r} has no tests", where=problem.source)
    else:
        for name, result in complete.items():
            if result.status is Verdict.SKIPPED:
                raise _no_result(name, f"problem {problem.id}")
        points = math.fsum(result.score for result in complete.values()) / len(complete)
    return SubmissionResult(
        key=submission.key,
        problem_id=problem.id,
        compiles=compiles,
        compile_output=compile_output,
        points=points,
        subtasks=subtasks,
        tests=tuple(complete.values()),
        repairs=submission.repairs,
        checker=checker,
        compiler=compiler,
        confinement=confinement or {},
    )


def reason(result: SubmissionResult) -> Reason | None:
    """Return why nothing ran; None where something did."""
    if result.compiles:
        return None
    empty = any(test.feedback == verdicts.NO_CODE for test in result.tests)
    return Reason.NO_PROGRAM if empty else Reason.NOT_COMPILED


def ending(result: SubmissionResult) -> str:
    """Return the word that reports count a submission by: its verdict, unless there was no program."""
    return Reason.NO_PROGRAM if reason(result) is Reason.NO_PROGRAM else result.verdict


class PassRate(Value):
    """The number of tests that a submission passes: the score where a problem has no subtasks."""

    passed: int
    total: int

    @property
    def resolved(self) -> bool:
        return self.passed == self.total > 0

    @property
    def pass_rate(self) -> float:
        return self.passed / self.total if self.total else 0.0

    @property
    def columns(self) -> dict[str, bool | int | float]:
        """As rows have them."""
        return {name: getattr(self, name) for name in ("resolved", "passed", "total", "pass_rate")}


def pass_rate(result: SubmissionResult) -> PassRate:
    """A test is passed with a full score only."""
    passed = sum(test.status is Verdict.AC for test in result.tests)
    return PassRate(passed=passed, total=len(result.tests))


# --- several submissions -----------------------------------------------------------------------------


class BestSubtask(Value):
    """The best that any submission earned on one subtask."""

    subtask: str
    points: float  # what the subtask is worth
    score: float  # in [0, 1], rounded
    weighted_score: float  # rounded
    exact_score: float
    score_precision: int
    status: Verdict
    key: str  # the submission that earned it; of equals, the one whose key sorts first


_Part = TypeVar("_Part", SubtaskResult, BestSubtask)


def worth_points(parts: Sequence[_Part]) -> Sequence[_Part]:
    """Return the subtasks that full points depend on: those that are worth any, or all where none is."""
    return [part for part in parts if part.points] or parts


class BestOfSubtasks(Value):
    """`max_subtask` of one problem."""

    problem_id: str
    points: float  # the sum of the rounded bests; without subtasks the best submission's points
    max_points: float
    submissions: int
    subtasks: tuple[BestSubtask, ...]


class BestSubmission(Value):
    """`max` or `max_tokened_last` of one problem: the points of a single submission, not rounded."""

    problem_id: str
    points: float
    key: str  # of equals, the one that sorts first


def best_of_subtasks(results: Iterable[SubmissionResult]) -> dict[str, BestOfSubtasks]:
    """`max_subtask` per problem (IOI since 2017): the best of each subtask, rounded, summed.

    Results are looked at one by one and let go. Neither their order nor that of problems shows.
    """
    columns: dict[str, dict[str, BestSubtask]] = {}
    wholes: dict[str, BestSubmission] = {}
    numbers: Counter[str] = Counter()
    for result in results:
        problem = result.problem_id
        numbers[problem] += 1
        wholes[problem] = _better_submission(wholes.get(problem), result)
        bests = columns.setdefault(problem, {})
        for part in result.subtasks:
            shared = {name: getattr(part, name) for name in BestSubtask.__struct_fields__ if name != "key"}
            new = BestSubtask(**shared, key=result.key)
            # The points alone would not do: subtasks of no points have a best submission too.
            bests[part.subtask] = min(
                bests.get(part.subtask, new),
                new,
                key=lambda best: (-best.weighted_score, -best.exact_score, best.key),
            )
    found = dict[str, BestOfSubtasks]()
    for problem in sorted(wholes):
        subtasks = tuple(columns[problem].values())
        # The parts have that many digits already; this only takes away what binary addition adds: 0.1 + 0.2.
        precision = max((best.score_precision for best in subtasks), default=0)
        points = round(math.fsum(best.weighted_score for best in subtasks), precision)
        found[problem] = BestOfSubtasks(
            problem_id=problem,
            points=points if subtasks else wholes[problem].points,
            max_points=math.fsum(best.points for best in subtasks) if subtasks else 1.0,
            submissions=numbers[problem],
            subtasks=subtasks,
        )
    return found


def _better_submission(best: BestSubmission | None, result: SubmissionResult) -> BestSubmission:
    new = BestSubmission(problem_id=result.problem_id, points=result.points, key=result.key)
    return min(best or new, new, key=lambda submission: (-submission.points, submission.key))


def best_submission(results: Iterable[SubmissionResult]) -> dict[str, BestSubmission]:
    """`max` per problem (IOI 2013 to 2016): the best single submission."""
    bests: dict[str, BestSubmission] = {}
    for result in results:
        bests[result.problem_id] = _better_submission(bests.get(result.problem_id), result)
    return dict(sorted(bests.items()))


def best_tokened_or_last(
    results: Iterable[SubmissionResult], tokened: Collection[str]
) -> dict[str, BestSubmission]:
    """`max_tokened_last` per problem: the best of the last submission and those whose key is in `tokened`.

    `results` must be in the order of submitting.
    """
    bests: dict[str, BestSubmission] = {}
    last: dict[str, SubmissionResult] = {}
    for result in results:
        last[result.problem_id] = result
        if result.key in tokened:
            bests[result.problem_id] = _better_submission(bests.get(result.problem_id), result)
    return {problem: _better_submission(bests.get(problem), last[problem]) for problem in sorted(last)}


class Mode(StrEnum):
    """The rule by which several submissions make a problem's points."""

    MAX_SUBTASK = "max_subtask"
    MAX = "max"
    MAX_TOKENED_LAST = "max_tokened_last"


def points(mode: Mode, results: Sequence[SubmissionResult], tokened: Collection[str] = ()) -> float:
    """A problem's points by its submissions in the order of submitting; 0 where there is none."""
    bests: Mapping[str, BestOfSubtasks | BestSubmission]
    match mode:
        case Mode.MAX_SUBTASK:
            bests = best_of_subtasks(results)
        case Mode.MAX:
            bests = best_submission(results)
        case Mode.MAX_TOKENED_LAST:
            bests = best_tokened_or_last(results, tokened)
    return math.fsum(best.points for best in bests.values())
