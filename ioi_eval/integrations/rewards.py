"""What a completion is worth as a reward: judged like any submission, then turned into one number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from ioi_eval.cases import CasesError
from ioi_eval.errors import JudgeFailure
from ioi_eval.extraction import extract
from ioi_eval.integrations.classic_rows import together
from ioi_eval.integrations.columns import CASES_COLUMNS, Columns, Finder
from ioi_eval.integrations.runtime import Runtime, Setup, runtime
from ioi_eval.languages import find
from ioi_eval.models import Problem, ScoreType, Submission, SubmissionResult, Subtask, Value
from ioi_eval.scoring import pass_rate


class Mode(StrEnum):
    PASS_FAIL = "pass_fail"  # 1 or 0
    PARTIAL = "partial"  # the share of the tests, or of the points
    WEIGHTED_SUM = "weighted_sum"  # 1 or 0, and a tenth of the share


class RewardOptions(Value):
    """The penalties are those in use; they hold in every mode."""

    mode: Mode = Mode.WEIGHTED_SUM
    no_code: float = -1.0  # the completion holds no code
    no_compile: float = -0.1
    partial_weight: float = 0.1  # of the share, in a weighted sum
    language: str = "python"  # of completions whose row has no column `language`
    time_limit: float = 10.0  # seconds for each test, where tests come with the row


class Rewards(Value):
    """Judges completions. Values are shared freely; what runs is this process's runtime."""

    options: RewardOptions = RewardOptions()
    setup: Setup = Setup()
    problems: Finder | None = None  # for rows with a `problem_id`

    async def of_all(
        self, completions: Sequence[str], rows: Sequence[Columns], own: Runtime
    ) -> list[float | None]:
        """A number each; None where the judge cannot say, be it that the tests of a row are broken."""
        problems = self._problems(rows)
        judged = (
            self._or_none(completion, row, problem, own)
            for completion, row, problem in zip(completions, rows, problems, strict=True)
        )
        return await together(judged)

    async def of_one(self, completion: str, row: Columns, problem: Problem, own: Runtime) -> float:
        """Raises JudgeFailure where the judge cannot say."""
        language = find(str(row.values.get("language") or self.options.language))
        code = extract(completion, language)
        if code is None:
            return self.options.no_code
        submission = Submission(
            key=str(row.number),
            problem_id=problem.id,
            code=code,
            language=language.name,
            target_subtask=_target(row),
        )
        result = await own.score(problem, submission)
        return self._worth(problem, result, submission.target_subtask)

    async def _or_none(
        self, completion: str, row: Columns, problem: Problem | None, own: Runtime
    ) -> float | None:
        if problem is None:
            return None
        try:
            return await self.of_one(completion, row, problem, own)
        except JudgeFailure:
            return None

    def problem(self, row: Columns) -> Problem:
        problem = row.problem(self.problems, self.options.time_limit)
        return _all_or_nothing(problem) if self.options.mode is Mode.PASS_FAIL else problem

    def _problems(self, rows: Sequence[Columns]) -> list[Problem | None]:
        """Completions of one prompt come with the same tests again and again: they are read once."""
        known: dict[str, Problem | None] = {}
        found = []
        for row in rows:
            tests = [row.values.get(name) for name in ("problem_id", "year", *CASES_COLUMNS)]
            key = repr(tests)
            if key not in known:
                known[key] = self._problem_or_none(row)
            found.append(known[key])
        return found

    def _problem_or_none(self, row: Columns) -> Problem | None:
        try:
            return self.problem(row)
        except CasesError:
            return None

    def _worth(self, problem: Problem, result: SubmissionResult, target: str | None) -> float:
        if not result.compiles:
            return self.options.no_compile
        share = _share(problem, result, target)
        passed = float(share >= 1)
        match self.options.mode:
            case Mode.PASS_FAIL:
                return passed
            case Mode.PARTIAL:
                return share
            case Mode.WEIGHTED_SUM:
                return passed + self.options.partial_weight * share

    def runtime(self) -> Runtime:
        return runtime(self.setup)


def _target(row: Columns) -> str | None:
    target = row.values.get("subtask") or row.values.get("target_subtask")
    return str(target) if target else None


def _all_or_nothing(problem: Problem) -> Problem:
    """So that the first test that fails ends it."""
    if problem.subtasks:
        return problem
    names = tuple(test.name for test in problem.tests)
    everything = Subtask(name="all", points=1, tests=names, score_type=ScoreType.GROUP_MIN)
    return msgspec.structs.replace(problem, subtasks=(everything,))


def _share(problem: Problem, result: SubmissionResult, target: str | None) -> float:
    """Of the target subtask, else of all points, else of all tests."""
    for subtask in result.subtasks:
        if subtask.subtask == target:
            return subtask.exact_score
    if problem.subtasks:
        most = sum(subtask.points for subtask in problem.subtasks)
        return min(1.0, result.points / most) if most else 0.0
    return pass_rate(result).pass_rate or 0.0


def text_of(completion: str | Sequence[Mapping[str, Any]]) -> str:
    """A completion, or the last message of one that is a conversation."""
    if isinstance(completion, str):
        return completion
    content = completion[-1].get("content") if completion else None
    return content if isinstance(content, str) else ""
