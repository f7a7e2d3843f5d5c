"""Limits of problems that leave them to their solutions: measured at the first submission.

The time limit where the package has none, and the number of processes where its own file starts some.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from ioi_eval.model.digests import problem_digest
from ioi_eval.model.errors import InputError, JudgeFailure, ModuleMissing, ToolMissing
from ioi_eval.model.languages import find
from ioi_eval.model.values import Problem, Solution, Submission, SubmissionResult, Verdict
from ioi_eval.rules.calibration import with_time_factor
from ioi_eval.rules.expectations import measured_limit
from ioi_eval.runs.runner import Judging
from ioi_eval.store.folder import (
    MeasuredLimit,
    accepted,
    identity,
    is_measured,
    is_timed,
    with_forks,
    with_limit,
)
from ioi_eval.store.memory import MOST_PROBLEMS, LruCache, room_of

_LONGEST = 60.0  # seconds of CPU that a solution may take on a test while it is measured
_MOST_FORKS = 15  # processes beside the first one while a solution is measured
_PHASE = "measuring the time limit"
_COUNTING = "counting processes"
_REMEDY = "Give the package a time limit, or set time_limit=..."
_ENDED_WELL = frozenset({Verdict.AC, Verdict.PA})


class TimeLimits:
    """The limits of problems that have none: measured by `judge` when they are first asked for.

    `known` are measured limits by `identity`, so that a run that is continued goes on with the limits that
    it began with, as far as the problems are what they were; `others` are those of runs whose results are
    taken over. `on_measured` is told of each new one. `factor` is for the other problems: a limit that was
    measured here knows the hardware.
    """

    def __init__(
        self,
        judge: Judging,
        known: Mapping[str, MeasuredLimit] | None = None,
        on_measured: Callable[[str, MeasuredLimit], None] | None = None,
        *,
        others: Mapping[str, MeasuredLimit] = MappingProxyType({}),
        factor: float = 1.0,
    ) -> None:
        self._judge, self._known, self._others, self._factor = judge, dict(known or {}), others, factor
        self._tell = on_measured or (lambda key, found: None)
        self._failed: dict[str, JudgeFailure] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        # By name: problems, and what they are with their limits.
        self._limited = LruCache[tuple[Problem, Problem]](MOST_PROBLEMS)

    async def limited(self, problem: Problem) -> Problem:
        """Return the problem with its time limit: the same one for the same problem, as long as it is kept.

        JudgeFailure where its solutions do not give a limit.
        """
        if not is_measured(problem) and self._factor == 1:
            return problem
        name = f"{problem.id} {problem.year}"
        kept = self._limited.get(name)
        if kept is None or kept[0] is not problem:
            kept = problem, await self._with_limits(problem)
            self._limited.keep(name, kept, room_of(problem))
        return kept[1]

    async def _with_limits(self, problem: Problem) -> Problem:
        if not is_measured(problem):
            return with_time_factor(problem, self._factor)
        key = identity(problem)
        async with self._locks.setdefault(key, asyncio.Lock()):
            if (failure := self._failed.get(key)) is not None:
                raise JudgeFailure(
                    failure.reason, phase=failure.phase, test=failure.test, remedy=failure.remedy
                )
            if not _is_of(self._known.get(key), problem):
                other = self._others.get(key)
                try:
                    measured = other if other and _is_of(other, problem) else await self._measure(problem)
                except JudgeFailure as failed:
                    self._failed[key] = failed
                    raise
                self._tell(key, measured)
                self._known[key] = measured
        found = self._known[key]
        if problem.forks_by:
            problem = with_forks(problem, found.processes - 1)
        if is_timed(problem):
            return with_limit(problem, found.cpu_time)
        return problem if self._factor == 1 else with_time_factor(problem, self._factor)

    async def _measure(self, problem: Problem) -> MeasuredLimit:
        """Take one solution after the other: all that wait for the limit are submissions of the same problem.

        One in a language that is not here is left out; the others set the limit.
        """
        roomy = (
            with_limit(problem, _LONGEST) if is_timed(problem) else with_time_factor(problem, self._factor)
        )
        roomy = with_forks(roomy, _MOST_FORKS) if problem.forks_by else roomy
        times, left_out, processes = list[tuple[float, str, str]](), list[str](), 1
        for solution in accepted(problem):
            try:
                if solution.language:
                    find(solution.language)
                result = await self._judge.judge(
                    roomy,
                    Submission(
                        key=f"limit of {problem.id}: {solution.name}",
                        problem_id=problem.id,
                        code=solution.program,
                        language=solution.language,
                        outputs=solution.outputs,
                        files=solution.files,
                    ),
                )
            except (ToolMissing, ModuleMissing) as missing:
                left_out.append(f"{solution.name}: {missing.reason}")
            except InputError as unknown:
                if unknown.field != "language":
                    raise
                left_out.append(f"{solution.name}: {unknown.problem}")
            else:
                wrong = next((test for test in result.tests if test.status not in _ENDED_WELL), None)
                if problem.forks_by and wrong is not None:
                    left_out.append(f"{solution.name}: {wrong.status} on {wrong.test_name}, {wrong.feedback}")
                    continue
                times.extend(_times(solution, result))
                processes = max(processes, *(test.processes or 1 for test in result.tests))
        if not times:
            raise _no_measure(problem, left_out)
        slowest, solution_name, test = max(times)
        multiplier = (problem.time_from_solutions or 1.0) if is_timed(problem) else 0.0
        own = problem.limits.cpu_time or 0.0
        return MeasuredLimit(
            problem=problem.id,
            processes=processes,
            forks_by=problem.forks_by,
            cpu_time=measured_limit(slowest, multiplier, problem.time_resolution)
            if is_timed(problem)
            else own,
            slowest=slowest,
            solution=solution_name,
            test=test,
            multiplier=multiplier,
            made_of=problem_digest(problem),
        )


def _is_of(limit: MeasuredLimit | None, problem: Problem) -> bool:
    """Return True if a limit was measured on the problem as it is."""
    return limit is not None and limit.made_of in ("", problem_digest(problem))


def _times(solution: Solution, result: SubmissionResult) -> Iterator[tuple[float, str, str]]:
    """Yield the times of a solution on the tests that it got right; a wrong one is no hindrance."""
    for test in result.tests:
        if test.status is Verdict.TLE:
            raise JudgeFailure(
                f"the accepted solution {solution.name} takes longer than {_LONGEST:g} s",
                phase=_PHASE,
                test=test.test_name,
                remedy=_REMEDY,
            )
        if test.status in _ENDED_WELL:
            yield test.cpu_time or 0.0, solution.name, test.test_name


def _no_measure(problem: Problem, left_out: Sequence[str]) -> JudgeFailure:
    why = f" ({'; '.join(left_out)})" if left_out else ""
    if problem.forks_by:
        return JudgeFailure(
            f"{problem.forks_by[0]} starts processes, and no accepted solution passes with fork, pipe and "
            f"wait alone, so their number is unknown{why}",
            phase=_COUNTING,
            remedy="Only files that need no other calls can be judged",
        )
    without = f"problem {problem.id} has no time limit"
    return JudgeFailure(
        f"{without}, and no accepted solution that a limit could be taken from{why}",
        phase=_PHASE,
        remedy=_REMEDY,
    )
