"""Time limits that a package leaves to its accepted solutions: measured before anything else is judged."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from ioi_eval.errors import InputError, JudgeFailure
from ioi_eval.expectations import agrees, measured_limit
from ioi_eval.journal.files import replace
from ioi_eval.models import (
    Limits,
    Problem,
    Solution,
    Submission,
    SubmissionResult,
    Value,
    Verdict,
)
from ioi_eval.rows import plain
from ioi_eval.runner import Judging

LIMITS = "limits.json"
_LONGEST = 60.0  # seconds of CPU that a solution may take on a test while it is measured
_PHASE = "measuring the time limit"
_REMEDY = "Give the package a time limit"
_ENDED_WELL = frozenset({Verdict.AC, Verdict.PA})


class MeasuredLimit(Value, kw_only=True):
    problem: str
    cpu_time: float  # seconds: the limit
    slowest: float  # seconds that the slowest accepted solution took
    solution: str
    test: str
    multiplier: float


class Measuring:
    """A judge that knows the limits of problems that have none: it measures them at the first submission.

    `known` are measured limits by `identity`, so that a run that is continued goes on with the limits that
    it began with; `on_measured` is told of each new one.
    """

    def __init__(
        self,
        judge: Judging,
        known: Mapping[str, MeasuredLimit] | None = None,
        on_measured: Callable[[str, MeasuredLimit], None] | None = None,
    ) -> None:
        self._judge, self._known = judge, dict(known or {})
        self._tell = on_measured or _ignore
        self._failed: dict[str, JudgeFailure] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def judge(self, problem: Problem, submission: Submission) -> SubmissionResult:
        return await self._judge.judge(await self.limited(problem), submission)

    async def limited(self, problem: Problem) -> Problem:
        """The problem with its time limit. JudgeFailure where its solutions do not give one."""
        if not is_measured(problem):
            return problem
        key = identity(problem)
        async with self._locks.setdefault(key, asyncio.Lock()):
            if (failure := self._failed.get(key)) is not None:
                raise JudgeFailure(
                    failure.reason, phase=failure.phase, test=failure.test, remedy=failure.remedy
                )
            if key not in self._known:
                self._known[key] = await self._measured(key, problem)
        return with_limit(problem, self._known[key].cpu_time)

    async def _measured(self, key: str, problem: Problem) -> MeasuredLimit:
        try:
            found = await self._measure(problem)
        except JudgeFailure as failure:
            self._failed[key] = failure
            raise
        self._tell(key, found)
        return found

    async def _measure(self, problem: Problem) -> MeasuredLimit:
        """One solution after the other: all that wait for the limit are submissions of the same problem."""
        roomy = with_limit(problem, _LONGEST)
        times = list[tuple[float, str, str]]()
        for solution in _accepted(problem):
            result = await self._judge.judge(roomy, _submission(problem, solution))
            times.extend(_times(solution, result))
        if not times:
            raise _no_measure(problem)
        slowest, solution_name, test = max(times)
        multiplier = problem.time_from_solutions or 1.0
        return MeasuredLimit(
            problem=problem.id,
            cpu_time=measured_limit(slowest, multiplier),
            slowest=slowest,
            solution=solution_name,
            test=test,
            multiplier=multiplier,
        )


def _ignore(key: str, found: MeasuredLimit) -> None:
    pass


def is_measured(problem: Problem) -> bool:
    """Whether the problem's solutions set its time limit."""
    return problem.limits.cpu_time is None and problem.time_from_solutions is not None


def with_limit(problem: Problem, seconds: float) -> Problem:
    times = Limits.contest(seconds, problem.limits.memory)
    limits = msgspec.structs.replace(
        problem.limits, cpu_time=times.cpu_time, wall_time=problem.limits.wall_time or times.wall_time
    )
    return msgspec.structs.replace(problem, limits=limits)


def _accepted(problem: Problem) -> Iterator[Solution]:
    return (solution for solution in problem.solutions if _must_be_right(solution.expected))


def _must_be_right(word: str) -> bool:
    """Whether nothing but full marks agrees with a word."""
    return agrees(word, 1.0, {Verdict.AC}) and not agrees(word, 0.0, {Verdict.WA, Verdict.TLE, Verdict.RE})


def _submission(problem: Problem, solution: Solution) -> Submission:
    return Submission(
        key=f"limit of {problem.id}: {solution.name}",
        problem_id=problem.id,
        code=solution.code or None,  # files alone: no program
        language=solution.language,
        outputs=solution.outputs,
        files=solution.files,
    )


def _times(solution: Solution, result: SubmissionResult) -> Iterator[tuple[float, str, str]]:
    """What a solution took on the tests that it got right. A wrong one differs, and is no hindrance here."""
    for test in result.tests:
        if test.status is Verdict.TLE:
            reason = f"the accepted solution {solution.name} takes longer than {_LONGEST:g} s"
            raise JudgeFailure(reason, phase=_PHASE, test=test.test_name, remedy=_REMEDY)
        if test.status in _ENDED_WELL:
            yield test.cpu_time or 0.0, solution.name, test.test_name


def _no_measure(problem: Problem) -> JudgeFailure:
    return JudgeFailure(
        f"problem {problem.id} has no time limit, and no accepted solution that a limit could be taken from",
        phase=_PHASE,
        remedy=_REMEDY,
    )


# --- remembered in a run's folder --------------------------------------------------------------------


def identity(problem: Problem) -> str:
    """Of all that a measured limit depends on but the machine."""
    content = [
        problem.id,
        problem.year,
        problem.time_from_solutions,
        [test.input.sha256 for test in problem.tests],
        [
            (one.name, one.language, one.code, *(file.content.sha256 for file in one.files))
            for one in _accepted(problem)
        ],
    ]
    return hashlib.sha256(msgspec.json.encode(plain(content))).hexdigest()


def read_limits(folder: Path) -> dict[str, MeasuredLimit]:
    """The measured limits that a run was begun with."""
    path = folder / LIMITS
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, MeasuredLimit])
    except FileNotFoundError:
        return {}
    except (msgspec.MsgspecError, OSError) as error:
        remedy = "Give --fresh to start anew"
        raise InputError(f"holds no measured limits: {error}", where=str(path), remedy=remedy) from error


def limits_of(folder: Path, problems: Mapping[str, Problem]) -> dict[str, MeasuredLimit]:
    """The measured limits of a run's problems, by label."""
    known = read_limits(folder)
    keys = {label: identity(problem) for label, problem in problems.items() if is_measured(problem)}
    return {label: known[key] for label, key in keys.items() if key in known}


def write_limits(folder: Path, limits: Mapping[str, MeasuredLimit]) -> None:
    replace(folder / LIMITS, [msgspec.json.format(msgspec.json.encode(limits)), b"\n"])
