"""Solutions of known worth: what is judged, and what is expected of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from ioi_eval.expectations import Expectation, expectations
from ioi_eval.models import Problem, Solution, Submission, Value


class ExpectedScore(Value, kw_only=True):
    """A score for the whole problem, as a list of solutions gives it."""

    value: float
    fraction: bool = False  # of the problem's points; otherwise in points
    digits: int = 2  # after the point: what is less than half of the last one is rounding


class Case(Value, kw_only=True):
    """What is expected of the submission of this key."""

    key: str
    problem: str  # label
    solution: str  # its name, for people
    expected: str = ""  # of the whole, as it was given
    words: tuple[Expectation, ...] = ()
    score: ExpectedScore | None = None


def max_points(problem: Problem) -> float:
    """What full marks are worth; without subtasks points are the share of tests, so 1."""
    return sum(subtask.points for subtask in problem.subtasks) if problem.subtasks else 1.0


def of_packages(problems: Mapping[str, Problem]) -> tuple[list[Submission], list[Case]]:
    """The solutions that packages bring, each under the key problem/expected/name."""
    submissions, cases = list[Submission](), list[Case]()
    for label, problem in problems.items():
        for key, solution in _keyed(label, problem):
            submissions.append(_submission(key, label, problem, solution))
            cases.append(_case(key, label, problem, solution))
    return submissions, cases


def _keyed(label: str, problem: Problem) -> Iterator[tuple[str, Solution]]:
    seen = Counter[str]()
    for solution in problem.solutions:
        key = "/".join(part for part in (label, solution.expected, solution.name) if part)
        seen[key] += 1
        yield key if seen[key] == 1 else f"{key} ({seen[key]})", solution


def _submission(key: str, label: str, problem: Problem, solution: Solution) -> Submission:
    return Submission(
        key=key,
        problem_id=label,
        code=solution.code or None,  # files alone: no program
        language=solution.language,
        outputs=solution.outputs,
        files=solution.files,
        year=problem.year,
        row={"solution": solution.name, "expected": solution.expected},
    )


def _case(key: str, label: str, problem: Problem, solution: Solution) -> Case:
    words = expectations(problem, solution)
    whole = next((word.word for word in words if not word.subtask), "")
    return Case(key=key, problem=label, solution=solution.name, expected=whole, words=words)


def score_class(case: Case, problem: Problem) -> str:
    """A class of scores for the confusion matrix, where a number is expected and no word."""
    assert case.score is not None, "only for cases with a score"
    whole = 1.0 if case.score.fraction else max_points(problem)
    if case.score.value <= 0:
        return "no points"
    return "full marks" if case.score.value >= whole else "part of it"
