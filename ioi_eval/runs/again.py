"""What of a run that was there before counts no longer, and why: found before anything is judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from ioi_eval.model.values import Problem, Submission
from ioi_eval.runs.events import Changed, JudgedAgain
from ioi_eval.runs.journal import Journal
from ioi_eval.store import rows


def superseded(
    journal: Journal,
    problems: Mapping[str, Problem],
    submissions: Iterable[Submission],
    others: Collection[str],
) -> JudgedAgain | None:
    """Give up the results of submissions that are no longer the same, or that nobody asks for any more.

    `others`: keys that belong to the run and are not asked for now.
    """
    reasons = Counter({Changed.PROBLEM: journal.edited.total()})
    seen = set(others)
    for submission in submissions:
        seen.add(submission.key)
        if (reason := _changed(journal, problems, submission)) is not None:
            journal.supersede(submission.key)
            reasons[reason] += 1
    for key in [key for key in (*journal.done, *journal.failed) if key not in seen]:
        if journal.problem(key) in problems:
            reasons[Changed.GONE] += key in journal.done
            journal.supersede(key)
    found = {reason: number for reason, number in reasons.items() if number}
    return JudgedAgain(reasons=found, problems=tuple(sorted(journal.edited))) if found else None


def _changed(journal: Journal, problems: Mapping[str, Problem], submission: Submission) -> Changed | None:
    problem = problems.get(submission.problem_id)
    if submission.key not in journal.done or problem is None:
        return None
    before = journal.identity(submission.key)
    if before and before != rows.identity(problem, submission):
        return Changed.PROGRAM
    same = rows.has_columns_of(journal.row(submission.key), submission, problem)
    return None if same else Changed.COLUMNS
