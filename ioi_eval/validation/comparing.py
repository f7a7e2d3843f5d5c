"""Results beside expectations. Pure; results must be of runs over all tests."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from ioi_eval import verdicts
from ioi_eval.errors import JudgeFailure
from ioi_eval.expectations import Expectation, counting_tests, met
from ioi_eval.models import (
    Problem,
    SubmissionResult,
    SubtaskResult,
    TestResult,
    Verdict,
)
from ioi_eval.rows import bounded
from ioi_eval.scoring import submission_status
from ioi_eval.validation.cases import Case, ExpectedScore, max_points, score_class
from ioi_eval.validation.limits import MeasuredLimit
from ioi_eval.validation.values import Check, SolutionCheck, SubtaskCheck, Unjudged, Validation

_SHOWN = 3  # tests that are evidence of a difference
_MAX_COMPILE_OUTPUT = 2000  # characters
_BINARY = 1e-9  # what adding binary fractions leaves


def validation(
    cases: Iterable[Case],
    problems: Mapping[str, Problem],
    results: Mapping[str, SubmissionResult],
    failures: Mapping[str, str],
    limits: Mapping[str, MeasuredLimit] | None = None,
) -> Validation:
    """All cases, in their order. `results` and `failures` (reasons) are by key; a case is in one of them."""
    judged, unjudged, counted = list[SolutionCheck](), list[Unjudged](), list[tuple[str, Check]]()
    for case in cases:
        problem = problems[case.problem]
        try:
            solution = compared(case, problem, _result(case, results, failures))
        except JudgeFailure as failure:
            unjudged.append(_unjudged(case, str(failure)))
        else:
            judged.append(solution)
            counted.extend((_word(case, problem, check), check) for check in solution.checks)
    return Validation(
        solutions=tuple(judged),
        unjudged=tuple(unjudged),
        expectations=len(counted),
        differences=sum(not check.agrees for _, check in counted),
        confusion=confusion(counted),
        limits=limits or {},
    )


def _result(
    case: Case, results: Mapping[str, SubmissionResult], failures: Mapping[str, str]
) -> SubmissionResult:
    if (result := results.get(case.key)) is None:
        raise JudgeFailure(failures.get(case.key, "it has no result"))
    return result


def _unjudged(case: Case, reason: str) -> Unjudged:
    return Unjudged(
        key=case.key, problem=case.problem, solution=case.solution, expected=case.expected, reason=reason
    )


def _word(case: Case, problem: Problem, check: Check) -> str:
    return score_class(case, problem) if case.score is not None else check.expected


def confusion(checks: Iterable[tuple[str, Check]]) -> dict[str, dict[Verdict, int]]:
    """How often each status was got where each word was expected. Words in order of the alphabet."""
    found: dict[str, dict[Verdict, int]] = {}
    for word, check in checks:
        row = found.setdefault(word, {})
        row[check.status] = row.get(check.status, 0) + 1
    best_first = verdicts.STATUS_ORDER[::-1]
    return {
        word: {status: found[word][status] for status in best_first if status in found[word]}
        for word in sorted(found)
    }


# --- one solution ------------------------------------------------------------------------------------


def compared(case: Case, problem: Problem, result: SubmissionResult) -> SolutionCheck:
    """A solution's result beside all that was expected of it."""
    tests = {test.test_name: test for test in result.tests}
    checks = [_word_check(word, tests) for word in case.words]
    if case.score is not None:
        checks.append(_score_check(case, case.score, problem, result, tests))
    by_subtask = {check.subtask: check for check in checks if check.subtask}
    return SolutionCheck(
        key=case.key,
        problem=case.problem,
        solution=case.solution,
        expected=case.expected,
        status=submission_status(result),
        compiles=result.compiles,
        compile_output="" if result.compiles else bounded(result.compile_output, _MAX_COMPILE_OUTPUT),
        points=result.points,
        max_points=max_points(problem),
        subtasks=tuple(_subtask(part, by_subtask.get(part.subtask)) for part in result.subtasks),
        checks=tuple(checks),
    )


def _subtask(part: SubtaskResult, check: Check | None) -> SubtaskCheck:
    return SubtaskCheck(
        subtask=part.subtask,
        expected=check.expected if check else "",
        status=part.status,
        score=part.score,
        weighted_score=part.weighted_score,
        points=part.points,
        agrees=check.agrees if check else True,
    )


def _word_check(word: Expectation, tests: Mapping[str, TestResult]) -> Check:
    inside = _ran(word.tests, tests)
    score = min((test.score for test in inside), default=0.0)
    return _check(word.subtask, word.word, inside, score=score, agrees=met(word, tests))


def _score_check(
    case: Case,
    expected: ExpectedScore,
    problem: Problem,
    result: SubmissionResult,
    tests: Mapping[str, TestResult],
) -> Check:
    inside = _ran(counting_tests(problem), tests)
    candidates = _scores(expected, problem, result)
    agrees = any(_equal(score, expected) for score in candidates)
    return _check("", case.expected, inside, score=candidates[0], agrees=agrees)


def _scores(expected: ExpectedScore, problem: Problem, result: SubmissionResult) -> tuple[float, ...]:
    """Points exact, and summed from rounded subtasks: lists are made of either."""
    rounded = math.fsum(part.weighted_score for part in result.subtasks) if result.subtasks else result.points
    whole = max_points(problem) if expected.fraction else 1.0
    return (result.points / whole, rounded / whole) if whole else (0.0,)


def _equal(score: float, expected: ExpectedScore) -> bool:
    return abs(score - expected.value) <= 0.5 * 0.1**expected.digits + _BINARY


def _ran(names: Iterable[str], tests: Mapping[str, TestResult]) -> list[TestResult]:
    """The results of tests that all ran: one that was left out would be taken for a wrong one."""
    inside = [tests[name] for name in names]
    for test in inside:
        if test.status is Verdict.SKIPPED:
            reason = "was skipped, so nothing can be compared"
            raise JudgeFailure(reason, phase="validation", test=test.test_name)
    return inside


def _check(subtask: str, expected: str, inside: Sequence[TestResult], *, score: float, agrees: bool) -> Check:
    return Check(
        subtask=subtask,
        expected=expected,
        status=verdicts.worst(test.status for test in inside),
        score=score,
        agrees=agrees,
        tests=len(inside),
        not_right=sum(test.status is not Verdict.AC for test in inside),
        evidence=() if agrees else _evidence(inside),
    )


def _evidence(inside: Sequence[TestResult]) -> tuple[TestResult, ...]:
    """The first tests that are not right; where all are, those that came nearest to a limit of time."""
    wrong = [test for test in inside if test.status is not Verdict.AC]
    slowest = sorted(inside, key=lambda test: -(test.cpu_time or 0.0))
    shown = wrong or slowest
    return tuple(shown[:_SHOWN])
