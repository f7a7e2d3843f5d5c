"""Compare the results of a solution with its author's expectations.

An expectation is a keyword about a scope: a subtask, or all tests that count. The scope's score is the
minimum over its tests. The keywords come from the package formats:

    correct, model_solution           every test is right: score 1
    partially_correct                 score between 0 and 1
    incorrect, time_limit, failed, ... score 0; the kind of failure depends on the machine and is not compared
    accepted, wrong_answer, ...       folders of the ICPC format: full points; or that status in some test
    partially_accepted                ICPC: some points, but not all
    AC, WA, TLE, RTE, ...             ICPC tags of single groups
    CORRECT, WRONG-ANSWER, ...        ICPC tags of a whole submission; with commas, any one of them
    permitted AC TLE, required TLE    ICPC rules: the statuses of all tests; of at least one test

Any other keyword is shown, but not compared. A solution that does not compile agrees only with an expected
compilation error, because its run shows nothing that the author had in mind.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from types import MappingProxyType

from ioi_eval.model.fields import find_similar_names
from ioi_eval.model.values import Grading, Problem, Solution, Submission, TestResult, Value, Verdict
from ioi_eval.rules.grading import GraderAnswerMissing, compute_grade

_ACCEPTED_GROUP = "ac"
_ROUNDING = 1e-9  # maximum rounding error of a time, as a fraction of the time resolution
_RIGHT_KEYWORDS = frozenset({"correct", "model_solution", "accepted"})
_PASSED_STATUSES = frozenset({Verdict.AC, Verdict.PA})
# Statuses that problemtools reports as a run-time error. The ICPC format has no status for exceeding the
# memory or output limit.
_CRASHED_STATUSES = frozenset({Verdict.RE, Verdict.MLE, Verdict.OLE})
_WRONG_STATUSES = frozenset({Verdict.WA, Verdict.PA})
# Statuses by the name of a folder or tag of the ICPC format, in lower case with underscores. At least one
# test of the solution must have one of these statuses.
_REQUIRED_STATUSES: Mapping[str, frozenset[Verdict]] = MappingProxyType(
    {
        "wrong_answer": _WRONG_STATUSES,
        "wa": _WRONG_STATUSES,
        "no_output": _WRONG_STATUSES,
        "presentation_error": _WRONG_STATUSES,
        "time_limit_exceeded": frozenset({Verdict.TLE}),
        "timelimit": frozenset({Verdict.TLE}),
        "tle": frozenset({Verdict.TLE}),
        "run_time_error": _CRASHED_STATUSES,
        "run_error": _CRASHED_STATUSES,
        "rte": _CRASHED_STATUSES,
        "memory_limit_exceeded": frozenset({Verdict.MLE}),
        "mle": frozenset({Verdict.MLE}),
        "output_limit_exceeded": frozenset({Verdict.OLE}),
        "ole": frozenset({Verdict.OLE}),
    }
)
# Keywords of contest systems and preparation systems that mean a score of 0.
_ZERO_SCORE_KEYWORDS = frozenset(
    {
        "failed",
        "incorrect",
        "memory_limit",
        "output_limit",
        "protocol_violation",
        "runtime_error",
        "security_violation",
        "time_limit",
        "time_limit_and_runtime_error",
    }
)
_COMPILE_ERROR_KEYWORDS = frozenset({"compile_error", "compiler_error", "compilation_error", "ce"})


_PERMITTED, _REQUIRED = _RULES = ("permitted", "required")
# Statuses that a name of the ICPC format stands for in a rule.
_RULE_STATUSES: Mapping[str, frozenset[Verdict]] = MappingProxyType(
    {
        "ac": _PASSED_STATUSES,
        "wa": frozenset({Verdict.WA}),
        "tle": frozenset({Verdict.TLE}),
        "rte": _CRASHED_STATUSES,
    }
)
_PARTIAL_KEYWORDS = frozenset({_ACCEPTED_GROUP, "partially_correct", "partially_accepted", "rejected"})
_SUPPORTED_KEYWORDS = (
    _RIGHT_KEYWORDS
    | _PARTIAL_KEYWORDS
    | _ZERO_SCORE_KEYWORDS
    | _COMPILE_ERROR_KEYWORDS
    | _REQUIRED_STATUSES.keys()
)


class Expectation(Value, kw_only=True):
    """The keyword by which an author states the expected result of a solution on some of the tests."""

    subtask: str  # name of the subtask; empty means all tests that count
    word: str
    tests: tuple[str, ...]
    grading: Grading | None = None  # tree of groups that decides whether the tests are accepted


def list_expectations(problem: Problem, solution: Solution) -> tuple[Expectation, ...]:
    """Return all expectations of a solution's author; nothing if the package has none.

    The keyword for the whole solution is skipped if every subtask has a keyword.
    """
    is_per_subtask = solution.each_subtask and bool(problem.subtasks)
    keywords_by_subtask = {
        subtask.name: solution.expected for subtask in problem.subtasks if is_per_subtask
    } | dict(solution.exceptions)
    expectations = [
        Expectation(
            subtask=subtask.name,
            word=keywords_by_subtask[subtask.name],
            tests=subtask.tests,
            grading=subtask.grading,
        )
        for subtask in problem.subtasks
        if is_known_keyword(keywords_by_subtask.get(subtask.name, "")) and subtask.tests
    ]
    if is_known_keyword(solution.expected) and not is_per_subtask:
        expectations.append(
            Expectation(subtask="", word=solution.expected, tests=list_tests_that_count(problem))
        )
    expectations += [
        Expectation(subtask=test_keyword.subtask, word=test_keyword.keyword, tests=test_keyword.tests)
        for test_keyword in solution.test_keywords
    ]
    return tuple(expectations)


def list_unknown_keywords(solution: Solution) -> tuple[str, ...]:
    """Return the author's keywords that are not supported."""
    keywords = dict.fromkeys((solution.expected, *solution.exceptions.values()))
    return tuple(keyword for keyword in keywords if keyword.strip() and not is_known_keyword(keyword))


def find_similar_keyword(keyword: str) -> str:
    """Return the supported keyword that is most similar to an unknown keyword, or "" if none is similar."""
    name, keywords = keyword.lower().replace("-", "_"), sorted(_SUPPORTED_KEYWORDS)
    beginnings = (known for known in keywords if known.startswith(f"{name}_"))
    return next(iter(find_similar_names(name, keywords)), "") or next(beginnings, "")


def is_known_keyword(keyword: str) -> bool:
    """Return True if a keyword is supported, that is, results can be compared with it."""
    alternatives = _split_keyword_alternatives(keyword)
    return bool(alternatives) and all(
        alternative in _SUPPORTED_KEYWORDS or _is_status_rule(alternative) for alternative in alternatives
    )


def _is_status_rule(keyword: str) -> bool:
    """Return True for a valid rule about the statuses of all tests, such as `permitted AC TLE`."""
    rule, *verdicts = keyword.split()
    return rule in _RULES and _RULE_STATUSES.keys() >= set(verdicts)


def list_tests_that_count(problem: Problem) -> tuple[str, ...]:
    """Return the names of the tests in subtasks, or of all tests if the problem has no subtasks."""
    if not problem.subtasks:
        return tuple(test.name for test in problem.tests)
    counting_names = {name for subtask in problem.subtasks for name in subtask.tests}
    return tuple(test.name for test in problem.tests if test.name in counting_names)


def is_expectation_met(
    expectation: Expectation, results: Mapping[str, TestResult], *, points_fraction: float
) -> bool:
    """Return True if a submission's results agree with an expectation. The results include all tests.

    `points_fraction` is the fraction of all points that the submission earned. ICPC keywords about a whole
    submission, such as `accepted`, are compared with it.
    """
    scope_results = [results[name] for name in expectation.tests]
    score = min((result.score for result in scope_results), default=0.0)
    statuses = {result.status for result in scope_results}
    if (
        expectation.grading is not None
        and expectation.word.strip().lower() == _ACCEPTED_GROUP
        and Verdict.CE not in statuses
    ):
        # If answers of the custom grader are missing, the results of the tests are compared.
        with suppress(GraderAnswerMissing):
            return compute_grade(expectation.grading, results).accepted
    is_partial = bool(_PARTIAL_KEYWORDS.intersection(_split_keyword_alternatives(expectation.word)))
    if is_partial and any(result.points is not None for result in scope_results):
        # Only the custom grader could compute the points, so a positive score is a partial score.
        score = min(score, 0.5)
    return agrees_with_keyword(
        expectation.word, score, statuses, points_fraction=score if expectation.subtask else points_fraction
    )


def agrees_with_keyword(
    keyword: str, score: float, statuses: Collection[Verdict], *, points_fraction: float
) -> bool:
    """Return True if the results of some tests agree with an author's keyword, such as `wrong_answer`.

    Args:
        keyword: the keyword.
        score: the minimum score of the tests.
        statuses: statuses of the tests.
        points_fraction: fraction of the tests' points; it may be 1 although some tests have partial scores.
    """
    alternatives, seen_statuses = _split_keyword_alternatives(keyword), frozenset(statuses)
    return not alternatives or any(
        _agrees_with_single_keyword(alternative, score, seen_statuses, points_fraction)
        for alternative in alternatives
    )


def _split_keyword_alternatives(keyword: str) -> list[str]:
    """Return the alternatives in a keyword such as `WRONG-ANSWER, TIMELIMIT`, as `wrong_answer`."""
    return [
        alternative.strip().lower().replace("-", "_")
        for alternative in keyword.split(",")
        if alternative.strip()
    ]


def _agrees_with_single_keyword(
    keyword: str, score: float, statuses: frozenset[Verdict], points_fraction: float
) -> bool:
    """Return True if results agree with a keyword without commas: see `agrees_with_keyword`."""
    has_full_points = points_fraction >= 1
    if keyword in _COMPILE_ERROR_KEYWORDS or Verdict.CE in statuses:
        return keyword in _COMPILE_ERROR_KEYWORDS and statuses == {Verdict.CE}
    if _is_status_rule(keyword):
        rule, *verdicts = keyword.split()
        rule_statuses = frozenset[Verdict]().union(*(_RULE_STATUSES[verdict] for verdict in verdicts))
        return statuses <= rule_statuses if rule == _PERMITTED else not statuses.isdisjoint(rule_statuses)
    match keyword:
        case "accepted":
            return has_full_points
        case "correct" | "model_solution":
            return score >= 1
        case "ac":  # the verdict of a group is AC, with any number of points
            return score > 0 and statuses <= _PASSED_STATUSES
        case "partially_correct":
            return 0 < score < 1
        case "partially_accepted":
            return 0 < points_fraction < 1
        case "rejected":  # the solution has less than full points
            return not has_full_points
    if keyword in _ZERO_SCORE_KEYWORDS:
        return score <= 0
    return not has_full_points and not statuses.isdisjoint(_REQUIRED_STATUSES.get(keyword, ()))


def must_be_right(keyword: str) -> bool:
    """Return True if an author's keyword states that the solution gets full marks, such as `accepted`."""
    failed_statuses = {Verdict.WA, Verdict.TLE, Verdict.RE}
    return agrees_with_keyword(keyword, 1.0, {Verdict.AC}, points_fraction=1.0) and not agrees_with_keyword(
        keyword, 0.0, failed_statuses, points_fraction=0.0
    )


def must_be_wrong(keyword: str) -> bool:
    """Return True if an author's keyword states that the solution gets less than full marks."""
    return is_known_keyword(keyword) and not agrees_with_keyword(
        keyword, 1.0, {Verdict.AC}, points_fraction=1.0
    )


def find_right_solution(problem: Problem) -> Solution | None:
    """Return the package's first program that must be right on all tests, or None."""
    right_solutions = (
        solution
        for solution in problem.solutions
        if must_be_right(solution.expected) and not solution.exceptions
    )
    return next((solution for solution in right_solutions if solution.code), None)


def compute_time_limit(slowest_s: float, multiplier: float, resolution_s: float | None = None) -> float:
    """Return the time limit, in seconds, of a package that derives it from its accepted solutions.

    Args:
        slowest_s: time of the slowest accepted solution, in seconds.
        multiplier: the package's factor for that time.
        resolution_s: the limit is the smallest multiple of it that is long enough. `None` means the nearest
        whole second, but not 0.
    """
    time_limit_s = slowest_s * multiplier
    if resolution_s is None:
        return max(1.0, float(int(time_limit_s + 0.5)))
    return round(max(1, math.ceil(time_limit_s / resolution_s - _ROUNDING)) * resolution_s, 9)


# --- solutions with expected scores ------------------------------------------------------------------


class ExpectedScore(Value, kw_only=True):
    """An expected score for the whole problem, from a list of solutions."""

    value: float
    most: float | None = None  # maximum expected score, if `value` is the minimum of a range
    # True if `value` is a fraction of the problem's points, and not a number of points.
    fraction: bool = False
    digits: int = 2  # number of decimals that are compared


class ExpectedSolution(Value, kw_only=True):
    """A solution with the expectation for the whole solution."""

    key: str  # key of the solution's submission
    problem: str  # label of the solution's problem
    solution: str  # name of the solution, as reports show it
    expected: str = ""  # keyword for the expected result, as the package spells it; empty if there is none


class KeyedExpectation(ExpectedSolution, kw_only=True):
    """A solution with all expectations of its author."""

    words: tuple[Expectation, ...] = ()
    unknown: tuple[str, ...] = ()  # keywords of the solution that are not supported
    score: ExpectedScore | None = None


def compute_max_points(problem: Problem) -> float:
    """Return the points of full marks; 1 for a problem without subtasks."""
    return sum(subtask.points for subtask in problem.subtasks) if problem.subtasks else 1.0


def collect_package_solutions(
    problems: Mapping[str, Problem],
) -> tuple[list[Submission], list[KeyedExpectation]]:
    """Return the submissions and expectations of all solutions in packages.

    A submission's key is problem/expected/name.
    """
    submissions, solution_cases, key_counts = list[Submission](), list[KeyedExpectation](), Counter[str]()
    for label, problem in problems.items():
        for solution in problem.solutions:
            key = "/".join(component for component in (label, solution.expected, solution.name) if component)
            key_counts[key] += 1
            key = key if key_counts[key] == 1 else f"{key} ({key_counts[key]})"
            submissions.append(
                Submission(
                    key=key,
                    problem_id=label,
                    code=solution.program,
                    language=solution.language,
                    outputs=solution.outputs,
                    files=solution.files,
                    year=problem.year,
                    row={"solution": solution.name, "expected": solution.expected},
                )
            )
            expectation_list = list_expectations(problem, solution)
            whole_keyword = next(
                (expectation.word for expectation in expectation_list if not expectation.subtask), ""
            )
            solution_cases.append(
                KeyedExpectation(
                    key=key,
                    problem=label,
                    solution=solution.name,
                    expected=whole_keyword
                    or " to ".join(f"{bound:g}" for bound in dict.fromkeys(solution.score or ())),
                    words=expectation_list,
                    unknown=list_unknown_keywords(solution),
                    score=None
                    if solution.score is None
                    else ExpectedScore(value=solution.score[0], most=solution.score[1]),
                )
            )
    return submissions, solution_cases


def classify_expected_score(expectation: KeyedExpectation, problem: Problem) -> str:
    """Return which class of scores an author expects: no points, part of it, or full marks.

    The confusion matrix has these classes. The expectation must have a score.
    """
    assert expectation.score is not None, "only for cases with a score"
    full_score = 1.0 if expectation.score.fraction else compute_max_points(problem)
    if expectation.score.value <= 0:
        return "no points"
    return "full marks" if expectation.score.value >= full_score else "part of it"
