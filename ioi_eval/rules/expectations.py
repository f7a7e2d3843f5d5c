"""An author's expectations of a solution, and their comparison with a judgement.

An expectation is one word about one scope: a subtask, or all that counts together. Its score is the minimum
over the scope's tests. The words are the packages' own:

    correct, model_solution           every test is right: 1
    partially_correct                 between 0 and 1
    incorrect, time_limit, failed, ... 0; how it fails depends on the machine and is evidence only
    accepted, wrong_answer, ...       folders of the ICPC's format: full points; or that status somewhere
    partially_accepted                the same: some of the points, and not all
    AC, WA, TLE, RTE, ...             its tags for single groups
    CORRECT, WRONG-ANSWER, ...        its tags for a whole submission; with commas, any one of them
    permitted AC TLE, required TLE    its rules: the statuses of all tests, of one at least

Any other word is told, and nothing is compared with it. A solution that does not compile agrees with nothing
but a compilation error: it says nothing of what its author had in mind.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from types import MappingProxyType

from ioi_eval.model.values import Grading, Problem, Solution, Submission, TestResult, Value, Verdict
from ioi_eval.rules.grading import Ungraded, grade

_ACCEPTED_GROUP = "ac"
_ROUNDING = 1e-9  # parts of a time resolution that arithmetic may add
_RIGHT = frozenset({"correct", "model_solution", "accepted"})
_PASSED = frozenset({Verdict.AC, Verdict.PA})
# The ICPC's format has no status for memory, nor for output: problemtools ends a program that exceeds these.
_CRASHED = frozenset({Verdict.RE, Verdict.MLE, Verdict.OLE})
_WRONG = frozenset({Verdict.WA, Verdict.PA})
# Folders and tags of the ICPC's format, small letters and underscores: the statuses of which one must occur.
_SHOWN: Mapping[str, frozenset[Verdict]] = MappingProxyType(
    {
        "wrong_answer": _WRONG,
        "wa": _WRONG,
        "no_output": _WRONG,
        "presentation_error": _WRONG,
        "time_limit_exceeded": frozenset({Verdict.TLE}),
        "timelimit": frozenset({Verdict.TLE}),
        "tle": frozenset({Verdict.TLE}),
        "run_time_error": _CRASHED,
        "run_error": _CRASHED,
        "rte": _CRASHED,
        "memory_limit_exceeded": frozenset({Verdict.MLE}),
        "mle": frozenset({Verdict.MLE}),
        "output_limit_exceeded": frozenset({Verdict.OLE}),
        "ole": frozenset({Verdict.OLE}),
    }
)
# Words of the contest system and of the preparation system for no points.
_NO_POINTS = frozenset(
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
_NOT_COMPILED = frozenset({"compile_error", "compiler_error", "compilation_error", "ce"})


_PERMITTED, _REQUIRED = _RULES = ("permitted", "required")
# The words of rules, each with the statuses that it stands for.
_CLASSES: Mapping[str, frozenset[Verdict]] = MappingProxyType(
    {
        "ac": _PASSED,
        "wa": frozenset({Verdict.WA}),
        "tle": frozenset({Verdict.TLE}),
        "rte": _CRASHED,
    }
)
_IN_PART = frozenset({_ACCEPTED_GROUP, "partially_correct", "partially_accepted", "rejected"})
_KNOWN = _RIGHT | _IN_PART | _NO_POINTS | _NOT_COMPILED | _SHOWN.keys()


class Expectation(Value, kw_only=True):
    """An author's word about the tests of one scope."""

    subtask: str  # empty: all that counts
    word: str
    tests: tuple[str, ...]
    grading: Grading | None = None  # decides whether the scope is accepted


def expectations(problem: Problem, solution: Solution) -> tuple[Expectation, ...]:
    """All that a solution's author says of it; nothing where the package says nothing.

    A word for all together is left out where words for single subtasks speak for each of them.
    """
    each = solution.each_subtask and bool(problem.subtasks)
    words = {subtask.name: solution.expected for subtask in problem.subtasks if each} | dict(
        solution.exceptions
    )
    found = [
        Expectation(
            subtask=subtask.name, word=words[subtask.name], tests=subtask.tests, grading=subtask.grading
        )
        for subtask in problem.subtasks
        if is_known(words.get(subtask.name, "")) and subtask.tests
    ]
    if is_known(solution.expected) and not each:
        found.append(Expectation(subtask="", word=solution.expected, tests=counting_tests(problem)))
    found += [
        Expectation(subtask=spoken.subtask, word=spoken.word, tests=spoken.tests) for spoken in solution.said
    ]
    return tuple(found)


def unknown_words(solution: Solution) -> tuple[str, ...]:
    """Return the author's words that are not known here."""
    words = dict.fromkeys((solution.expected, *solution.exceptions.values()))
    return tuple(word for word in words if word.strip() and not is_known(word))


def is_known(word: str) -> bool:
    """Return True if results can be compared with a word; with commas, with each."""
    either = _alternatives(word)
    return bool(either) and all(part in _KNOWN or _is_rule(part) for part in either)


def _is_rule(word: str) -> bool:
    rule, *verdicts = word.split()
    return rule in _RULES and _CLASSES.keys() >= set(verdicts)


def counting_tests(problem: Problem) -> tuple[str, ...]:
    """The tests of all subtasks, or all tests where there are none; each once, in the problem's order."""
    if not problem.subtasks:
        return tuple(test.name for test in problem.tests)
    counting = {name for subtask in problem.subtasks for name in subtask.tests}
    return tuple(test.name for test in problem.tests if test.name in counting)


def met(expectation: Expectation, results: Mapping[str, TestResult], *, share: float) -> bool:
    """Return True if the results of a run over all tests agree with an expectation.

    `share` is the share of all points that the submission earned. The ICPC's words for a whole are about it.
    """
    inside = [results[name] for name in expectation.tests]
    score = min((result.score for result in inside), default=0.0)
    statuses = {result.status for result in inside}
    if (
        expectation.grading is not None
        and expectation.word.strip().lower() == _ACCEPTED_GROUP
        and Verdict.CE not in statuses
    ):
        with suppress(Ungraded):  # what the problem's own grader said is not kept: the tests say enough
            return grade(expectation.grading, results).accepted
    in_part = bool(_IN_PART.intersection(_alternatives(expectation.word)))
    if in_part and any(result.points is not None for result in inside):
        score = min(score, 0.5)  # how much the points are is the grader's to say
    return agrees(expectation.word, score, statuses, share=score if expectation.subtask else share)


def agrees(word: str, score: float, statuses: Collection[Verdict], *, share: float) -> bool:
    """Return True if a scope's minimum score and the statuses of its tests agree with an author's word.

    `share` is the share of the scope's points. It may be 1 although not all tests have full scores.
    """
    either, seen = _alternatives(word), frozenset(statuses)
    return not either or any(_agrees(alternative, score, seen, share) for alternative in either)


def _alternatives(word: str) -> list[str]:
    """`WRONG-ANSWER, TIMELIMIT` is either; hyphens and case make no other word."""
    return [part.strip().lower().replace("-", "_") for part in word.split(",") if part.strip()]


def _agrees(word: str, score: float, seen: frozenset[Verdict], share: float) -> bool:
    full = share >= 1
    if word in _NOT_COMPILED or Verdict.CE in seen:
        return word in _NOT_COMPILED and seen == {Verdict.CE}
    if _is_rule(word):
        rule, *verdicts = word.split()
        named = frozenset[Verdict]().union(*(_CLASSES[verdict] for verdict in verdicts))
        return seen <= named if rule == _PERMITTED else not seen.isdisjoint(named)
    match word:
        case "accepted":
            return full
        case "correct" | "model_solution":
            return score >= 1
        case "ac":  # a group that its validator accepted, with however many points
            return score > 0 and seen <= _PASSED
        case "partially_correct":
            return 0 < score < 1
        case "partially_accepted":
            return 0 < share < 1
        case "rejected":  # not full marks, whatever the reason
            return not full
    if word in _NO_POINTS:
        return score <= 0
    return not full and not seen.isdisjoint(_SHOWN.get(word, ()))


def must_be_right(word: str) -> bool:
    """Return True if only full marks agree with a word."""
    failed = {Verdict.WA, Verdict.TLE, Verdict.RE}
    return agrees(word, 1.0, {Verdict.AC}, share=1.0) and not agrees(word, 0.0, failed, share=0.0)


def must_be_wrong(word: str) -> bool:
    """Return True if full marks disagree with a word."""
    return is_known(word) and not agrees(word, 1.0, {Verdict.AC}, share=1.0)


def right_solution(problem: Problem) -> Solution | None:
    """Return the first program of the package that must be right on all tests."""
    right = (each for each in problem.solutions if must_be_right(each.expected) and not each.exceptions)
    return next((each for each in right if each.code), None)


def measured_limit(slowest: float, multiplier: float, resolution: float | None = None) -> float:
    """Return the time limit, in seconds, of a package that leaves it to its accepted solutions.

    Args:
        slowest: the time that the slowest accepted solution takes.
        multiplier: the package's factor for that time.
        resolution: the limit is the least multiple of it that is long enough. `None` means the nearest whole
            second, and at least one.
    """
    seconds = slowest * multiplier
    if resolution is None:
        return max(1.0, float(int(seconds + 0.5)))
    return round(max(1, math.ceil(seconds / resolution - _ROUNDING)) * resolution, 9)


# --- solutions of known worth ------------------------------------------------------------------------


class ExpectedScore(Value, kw_only=True):
    """A score for the whole problem, as a list of solutions gives it."""

    value: float
    most: float | None = None  # of a range that begins with the value
    fraction: bool = False  # of the problem's points; otherwise in points
    digits: int = 2  # after the point: what is less than half of the last one is rounding


class ExpectedSolution(Value, kw_only=True):
    """A solution, and what is expected of it as a whole."""

    key: str  # of its submission
    problem: str  # label
    solution: str  # its name, for people
    expected: str = ""  # as it was given; empty where nothing is expected of the whole


class KeyedExpectation(ExpectedSolution, kw_only=True):
    """All that is expected of a solution."""

    words: tuple[Expectation, ...] = ()
    unknown: tuple[str, ...] = ()  # words that nothing is compared with
    score: ExpectedScore | None = None


def max_points(problem: Problem) -> float:
    """Return the worth of full marks; without subtasks points are the share of tests, so 1."""
    return sum(subtask.points for subtask in problem.subtasks) if problem.subtasks else 1.0


def of_packages(problems: Mapping[str, Problem]) -> tuple[list[Submission], list[KeyedExpectation]]:
    """The solutions that packages bring, each under the key problem/expected/name."""
    submissions, cases, seen = list[Submission](), list[KeyedExpectation](), Counter[str]()
    for label, problem in problems.items():
        for solution in problem.solutions:
            key = "/".join(part for part in (label, solution.expected, solution.name) if part)
            seen[key] += 1
            key = key if seen[key] == 1 else f"{key} ({seen[key]})"
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
            words = expectations(problem, solution)
            whole = next((word.word for word in words if not word.subtask), "")
            cases.append(
                KeyedExpectation(
                    key=key,
                    problem=label,
                    solution=solution.name,
                    expected=whole or " to ".join(f"{end:g}" for end in dict.fromkeys(solution.score or ())),
                    words=words,
                    unknown=unknown_words(solution),
                    score=None
                    if solution.score is None
                    else ExpectedScore(value=solution.score[0], most=solution.score[1]),
                )
            )
    return submissions, cases


def score_class(case: KeyedExpectation, problem: Problem) -> str:
    """A class of scores for the confusion matrix, where a number is expected and no word."""
    assert case.score is not None, "only for cases with a score"
    whole = 1.0 if case.score.fraction else max_points(problem)
    if case.score.value <= 0:
        return "no points"
    return "full marks" if case.score.value >= whole else "part of it"
