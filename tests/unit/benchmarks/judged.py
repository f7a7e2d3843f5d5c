"""Judges a program on a problem of a benchmark."""

from __future__ import annotations

from ioi_eval import Scorer
from ioi_eval.models import Problem, Submission, Verdict


async def statuses(
    scorer: Scorer, problem: Problem, code: str | None, language: str = "python"
) -> list[Verdict]:
    """Return the status of each test."""
    submission = Submission(key="1", problem_id=problem.id, code=code, language=language)
    return [test.status for test in (await scorer.score(problem, submission)).tests]
