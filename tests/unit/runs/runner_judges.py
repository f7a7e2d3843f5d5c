"""A judge with scripted results, and runs that use it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from run_samples import SUM, problem, result, submission
from support.runs import Fingerprint, ResultLog, RunSummary, read_rows

from ioi_eval.models import Problem, Submission, SubmissionResult
from ioi_eval.runs.events import Event
from ioi_eval.runs.runner import judge_all

MADE_OF = Fingerprint(dump="d")
PROBLEMS = {"sum": SUM, "tree": problem("tree")}


class FakeJudge:
    """A judge whose results or errors come from `replies`. It counts judged and concurrent submissions."""

    def __init__(
        self, replies: Callable[[Submission], Any] | None = None, pause: Callable[[], int] = lambda: 1
    ):
        self.judged: list[str] = []
        self.cancelled: list[str] = []
        self.most = self._now = 0
        self._replies, self._pause = replies or (lambda submission: result(submission)), pause

    async def judge(self, problem: Problem, submission: Submission) -> SubmissionResult:
        self.judged.append(submission.key)
        self._now += 1
        self.most = max(self.most, self._now)
        try:
            for _ in range(self._pause()):
                await asyncio.sleep(0)
            reply = self._replies(submission)
        except asyncio.CancelledError:
            self.cancelled.append(submission.key)
            raise
        finally:
            self._now -= 1
        if isinstance(reply, BaseException):
            raise reply
        assert isinstance(reply, SubmissionResult)
        return reply


async def score(
    folder: Path, judge: Any, submissions: Any, workers: int = 3, **options: Any
) -> tuple[RunSummary, list[Event]]:
    events: list[Event] = []
    with ResultLog.open(folder, MADE_OF) as journal:
        summary = await judge_all(
            judge, PROBLEMS, submissions, journal, workers=workers, on_event=events.append, **options
        )
    return summary, events


def rows(folder: Path) -> dict[str, dict[str, Any]]:
    return {row["key"]: row for row in read_rows(folder)}


def some(number: int) -> list[Submission]:
    return [submission(f"k{n:03}") for n in range(number)]
