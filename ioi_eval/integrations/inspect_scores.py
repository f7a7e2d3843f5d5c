"""A result as inspect_ai keeps it: what a score's metadata holds, what its reader sees, and back again."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from ioi_eval.errors import InputError
from ioi_eval.models import Problem, SubmissionResult, SubtaskResult, TestResult, Verdict
from ioi_eval.scoring import STATUS_ORDER, Attempt, json_value, submission_status

if TYPE_CHECKING:
    from ioi_eval.scoring import ModelSummary

_LOG = 2000  # characters of what a compiler or a checker said
_OF_THE_RESULT = ("compiles", "points", "checker", "compiler", "repairs")
_OF_A_SUBTASK = tuple(
    name for name in SubtaskResult.__struct_fields__ if name not in ("problem", "test_results")
)
_OF_A_TEST = ("test_name", "status", "score", "feedback", "cpu_time", "memory")


def most_points(result: SubmissionResult) -> float:
    """Without subtasks 1: the points are then the share of the tests."""
    return math.fsum(part.points for part in result.subtasks) if result.subtasks else 1.0


def share(result: SubmissionResult) -> float:
    """In [0, 1]; exactly 1 for full marks, whatever adding up leaves, and less for anything else."""
    if submission_status(result) is Verdict.AC:
        return 1.0
    most = most_points(result)
    return min(result.points / most, math.nextafter(1.0, 0.0)) if most else 0.0


# --- metadata ----------------------------------------------------------------------------------------


def metadata_of(problem: Problem, result: SubmissionResult, **more: Any) -> dict[str, Any]:
    """Points, subtasks and verdicts, as JSON has them; `more` says what the result does not know."""
    status = submission_status(result)
    columns = {
        **of_problem(problem),
        "verdict": status,
        "solved": status is Verdict.AC,
        "max_points": most_points(result),
        **{name: getattr(result, name) for name in _OF_THE_RESULT},
        "subtasks": [{name: getattr(part, name) for name in _OF_A_SUBTASK} for part in result.subtasks],
        "tests": [{name: getattr(test, name) for name in _OF_A_TEST} for test in result.tests],
        **more,
    }
    return {name: json_value(value) for name, value in columns.items()}


def of_problem(problem: Problem) -> dict[str, Any]:
    """The labels of a problem, in a sample and in its score."""
    return {"problem_id": problem.id, "year": problem.year}


def _attempt(metadata: Mapping[str, Any]) -> Attempt:
    problem_id, epoch = metadata["problem_id"], metadata["epoch"]
    parts = [{**part, "problem": problem_id, "test_results": ()} for part in metadata["subtasks"]]
    own = {name: metadata[name] for name in (*_OF_THE_RESULT, "problem_id", "tests")}
    result = msgspec.convert({**own, "key": str(epoch), "subtasks": parts}, SubmissionResult)
    return Attempt(result=result, number=epoch, length=metadata["length"])


def summary_of(scores: Iterable[Mapping[str, Any] | None], **choice: Any) -> ModelSummary:
    """Report on the submissions behind these metadata; `choice` are fields of ReportOptions."""
    from ioi_eval.runs import ReportOptions  # a scorer alone needs no reports
    from ioi_eval.scoring import summarise

    return summarise(map(_labelled, scores), ReportOptions(**choice))


def _labelled(metadata: Mapping[str, Any] | None) -> tuple[str, Attempt]:
    if metadata is None or "subtasks" not in metadata:
        problem = "a score without what the judge said of it"
        raise InputError(problem, field="metadata", remedy="Score it with ioi_eval/judged")
    problem_id, year = metadata["problem_id"], metadata["year"]
    return problem_id if year is None else f"{problem_id}@{year}", _attempt(metadata)


# --- for readers -------------------------------------------------------------------------------------


def explanation_of(result: SubmissionResult) -> str:
    """Markdown: the verdict and the points, each subtask, the first test that was not passed."""
    pieces = [_headline(result)]
    if result.subtasks:
        pieces.append(_table(result.subtasks))
    if result.compiles and result.tests:
        pieces.append(_tests(result.tests))
    if not result.compiles and result.compile_output:
        pieces.append(f"The compiler:\n\n{_fenced(result.compile_output)}")
    return "\n\n".join(pieces)


def _headline(result: SubmissionResult) -> str:
    status, most = submission_status(result), most_points(result)
    if result.subtasks:
        return f"**{status}**: {result.points:.6g} of {most:.6g} points"
    passed = sum(test.status is Verdict.AC for test in result.tests)
    return f"**{status}**: {passed} of {len(result.tests)} tests passed"


def _table(parts: Iterable[SubtaskResult]) -> str:
    rows = (
        f"| {part.subtask} | {part.weighted_score:.6g} | {part.points:.6g} | {part.status} |"
        for part in parts
    )
    return "\n".join(["| subtask | points | of | verdict |", "|---|--:|--:|---|", *rows])


def _tests(tests: Iterable[TestResult]) -> str:
    counts = Counter(test.status for test in tests)
    verdicts = ", ".join(f"{counts[status]} {status}" for status in STATUS_ORDER if counts[status])
    wrong = (test for test in tests if test.status not in (Verdict.AC, Verdict.SKIPPED))
    first = next(wrong, None)
    if first is None:
        return f"Tests: {verdicts}"
    used = f", {first.cpu_time:.3f} s" if first.cpu_time is not None else ""
    used += f", {first.memory / (1 << 20):.1f} MiB" if first.memory is not None else ""
    feedback = f"\n\n{_fenced(first.feedback)}" if first.feedback else ""
    example = f"`{first.test_name}` ({first.status}{used}){feedback}"
    return f"Tests: {verdicts}. The first that is not right: {example}"


def _fenced(text: str) -> str:
    """A block that no run of backticks in the text can end."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    shortened = text.strip()
    shortened = shortened if len(shortened) <= _LOG else f"{shortened[: _LOG - 1]}…"
    return f"{fence}\n{json_value(shortened)}\n{fence}"
