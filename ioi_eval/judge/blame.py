"""Blame for a manager that breaks on what a submission says: an honest program in its place tells.

Otherwise a submission could choose not to be scored, by saying what no manager was ever tried on.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ioi_eval.engines.contract import Answers, Batch, Built, Engine
from ioi_eval.judge.programs import Artifacts, ProblemPrograms, Terms
from ioi_eval.model.languages import find
from ioi_eval.model.options import JudgeOptions
from ioi_eval.model.protocol import Line
from ioi_eval.model.values import Problem, Submission
from ioi_eval.rules.expectations import must_be_right


class Partner:
    """The first solution of the package that must be right, built when a manager breaks."""

    def __init__(
        self, artifacts: Artifacts, problem: Problem, ours: ProblemPrograms, options: JudgeOptions
    ) -> None:
        self._artifacts, self._problem, self._ours, self._options = artifacts, problem, ours, options

    async def tried(self, engine: Engine, batch: Batch, answers: Answers) -> Answers:
        """The answers, with 0 points where a manager breaks on the submission and not on this solution."""
        broken = _provoked(batch, answers.lines)
        if not broken or (control := await self._instead_of(batch)) is None:
            return answers
        # A machine that was busy is not busy twice: alone this time.
        again = await engine.judge(_only(batch, broken))
        lines = {**answers.lines, **again.lines}
        if broken := _provoked(batch, again.lines):
            managed = (await engine.judge(_only(control, broken))).lines
            lines |= {name: _blamed(lines[name]) for name in broken if _is_right(managed.get(name))}
        return msgspec.structs.replace(answers, lines=lines)

    async def _instead_of(self, batch: Batch) -> Batch | None:
        """The batch with that solution in the submission's place; None where there is none that compiles."""
        problem = self._problem
        right = (each for each in problem.solutions if must_be_right(each.expected) and not each.exceptions)
        if (solution := next((each for each in right if each.code), None)) is None:
            return None
        terms = Terms(problem, find(solution.language), self._options)
        own = Submission(
            key=solution.name,
            problem_id=problem.id,
            code=solution.code,
            language=solution.language,
            files=solution.files,
        )
        built = await self._artifacts.submission(problem, own)
        if not isinstance(built, Built):
            return None
        honest = terms.program(own, built, self._ours)
        return msgspec.structs.replace(batch, problem=terms.problem, program=honest)


def _provoked(batch: Batch, lines: Mapping[str, Line]) -> list[str]:
    names = (planned.test.name for planned in batch.tests)
    return [name for name in names if name in lines and lines[name].provoked]


def _only(batch: Batch, names: list[str]) -> Batch:
    tests = tuple(planned for planned in batch.tests if planned.test.name in names)
    return msgspec.structs.replace(batch, tests=tests, alone=True)


def _is_right(line: Line | None) -> bool:
    return line is not None and line.failure is None and line.end == "ok" and line.score > 0


def _blamed(line: Line) -> Line:
    feedback = f"Output isn't correct: {line.failure}, but not with the package's own right solution"
    return msgspec.structs.replace(line, failure=None, provoked=False, end="ok", score=0.0, feedback=feedback)
