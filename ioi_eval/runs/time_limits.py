"""Measured limits: the limits of problems whose packages derive them from their accepted solutions.

Measured are the time limit if the package has none, and the number of processes if a file of the package
starts processes. A problem's solutions run before its first submission is judged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from ioi_eval.model.digests import problem_digest
from ioi_eval.model.errors import InputError, JudgeFailure, ModuleMissing, ToolMissing
from ioi_eval.model.languages import find_language
from ioi_eval.model.values import Problem, Solution, Submission, SubmissionResult, Verdict
from ioi_eval.rules.calibration import with_time_factor
from ioi_eval.rules.expectations import compute_time_limit
from ioi_eval.runs.runner import SubmissionJudge
from ioi_eval.store.folder import (
    MeasuredLimit,
    has_measured_limits,
    hash_limit_inputs,
    is_time_limit_measured,
    list_accepted_solutions,
    set_cpu_limit,
    set_process_count,
)
from ioi_eval.store.memory import MOST_PROBLEMS, LruCache, count_problem_cache_entries

_MAX_CPU_S = 60.0  # CPU limit of a solution on a test during a measurement, in seconds
_MAX_FORKS = 15  # maximum number of additional processes of a solution during a measurement
_PHASE = "measuring the time limit"
_COUNTING = "counting processes"
_REMEDY = "Give the package a time limit, or set time_limit=..."
_MEASURABLE = frozenset({Verdict.AC, Verdict.PA})  # verdicts of tests whose times are used


class TimeLimits:
    """Adds limits to problems, and measures limits that packages leave open.

    Args:
        judge: Judges the accepted solutions.
        known: Limits that this run measured earlier, by problem identity (`store.folder.identity`).
        on_measured: Called with the identity and the limit of each measured problem.
        others: Limits of the runs whose results are reused. They are used instead of measuring again.
        factor: Factor on the time limits of all other problems. Measured limits fit the hardware already.
    """

    def __init__(
        self,
        judge: SubmissionJudge,
        limits_of_run: Mapping[str, MeasuredLimit] | None = None,
        on_measured: Callable[[str, MeasuredLimit], None] | None = None,
        *,
        reused_limits: Mapping[str, MeasuredLimit] = MappingProxyType({}),
        time_factor: float = 1.0,
    ) -> None:
        self._judge, self._time_factor = judge, time_factor
        self._limits, self._reused_limits = dict(limits_of_run or {}), reused_limits
        self._on_measured = on_measured or (lambda key, limit: None)
        self._failures: dict[str, JudgeFailure] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        # A problem without and with its measured limits, by name.
        self._limited_problems = LruCache[tuple[Problem, Problem]](MOST_PROBLEMS)

    async def with_limits(self, problem: Problem) -> Problem:
        """Return the problem with its limits.

        If the result for a problem is cached, the same object is returned. Raises JudgeFailure if the limit
        cannot be measured with the problem's solutions.
        """
        if not has_measured_limits(problem) and self._time_factor == 1:
            return problem
        name = f"{problem.id} {problem.year}"
        cached_problems = self._limited_problems.get(name)
        if cached_problems is None or cached_problems[0] is not problem:
            cached_problems = problem, await self._add_limits_to_problem(problem)
            self._limited_problems.put(name, cached_problems, count_problem_cache_entries(problem))
        return cached_problems[1]

    async def _add_limits_to_problem(self, problem: Problem) -> Problem:
        """Return the problem with its limits, which are measured if they are unknown."""
        if not has_measured_limits(problem):
            return with_time_factor(problem, self._time_factor)
        key = hash_limit_inputs(problem)
        async with self._locks.setdefault(key, asyncio.Lock()):
            if (failure := self._failures.get(key)) is not None:
                raise JudgeFailure(
                    failure.reason, phase=failure.phase, test=failure.test, remedy=failure.remedy
                )
            if not _is_current_limit(self._limits.get(key), problem):
                reused_limit = self._reused_limits.get(key)
                try:
                    new_limit = (
                        reused_limit
                        if reused_limit and _is_current_limit(reused_limit, problem)
                        else await self._measure(problem)
                    )
                except JudgeFailure as failed:
                    self._failures[key] = failed
                    raise
                self._on_measured(key, new_limit)
                self._limits[key] = new_limit
        limit = self._limits[key]
        if problem.forks_by:
            problem = set_process_count(problem, limit.processes - 1)
        if is_time_limit_measured(problem):
            return set_cpu_limit(problem, limit.cpu_time)
        return problem if self._time_factor == 1 else with_time_factor(problem, self._time_factor)

    async def _measure(self, problem: Problem) -> MeasuredLimit:
        """Judge the accepted solutions one by one, and return the limits.

        Solutions in a language that cannot run here are skipped. Raises JudgeFailure if no solution is left.
        """
        raised_limits = (
            set_cpu_limit(problem, _MAX_CPU_S)
            if is_time_limit_measured(problem)
            else with_time_factor(problem, self._time_factor)
        )
        raised_limits = set_process_count(raised_limits, _MAX_FORKS) if problem.forks_by else raised_limits
        measured_times, skipped_solutions, process_count = list[tuple[float, str, str]](), list[str](), 1
        for solution in list_accepted_solutions(problem):
            try:
                if solution.language:
                    find_language(solution.language)
                result = await self._judge.judge(
                    raised_limits,
                    Submission(
                        key=f"limit of {problem.id}: {solution.name}",
                        problem_id=problem.id,
                        code=solution.program,
                        language=solution.language,
                        outputs=solution.outputs,
                        files=solution.files,
                    ),
                )
            except (ToolMissing, ModuleMissing) as missing_tool:
                skipped_solutions.append(f"{solution.name}: {missing_tool.reason}")
            except InputError as language_error:
                if language_error.field != "language":
                    raise
                skipped_solutions.append(f"{solution.name}: {language_error.problem}")
            else:
                failed_test = next((test for test in result.tests if test.status not in _MEASURABLE), None)
                if problem.forks_by and failed_test is not None:
                    skipped_solutions.append(
                        f"{solution.name}: {failed_test.status} on {failed_test.test_name},"
                        f" {failed_test.feedback}"
                    )
                    continue
                measured_times.extend(_list_measured_times(solution, result))
                process_count = max(process_count, *(test.processes or 1 for test in result.tests))
        if not measured_times:
            raise _make_measuring_failure(problem, skipped_solutions)
        slowest_time_s, solution_name, slowest_test = max(measured_times)
        multiplier = (problem.time_from_solutions or 1.0) if is_time_limit_measured(problem) else 0.0
        package_limit = problem.limits.cpu_time or 0.0
        return MeasuredLimit(
            problem=problem.id,
            processes=process_count,
            forks_by=problem.forks_by,
            cpu_time=compute_time_limit(slowest_time_s, multiplier, problem.time_resolution)
            if is_time_limit_measured(problem)
            else package_limit,
            slowest=slowest_time_s,
            solution=solution_name,
            test=slowest_test,
            multiplier=multiplier,
            made_of=problem_digest(problem),
        )


def _is_current_limit(limit: MeasuredLimit | None, problem: Problem) -> bool:
    """Return True if a limit was measured with the current version of the problem."""
    return limit is not None and limit.made_of in ("", problem_digest(problem))


def _list_measured_times(solution: Solution, result: SubmissionResult) -> Iterator[tuple[float, str, str]]:
    """Yield CPU time, solution and test for each test that the solution passes, fully or partially.

    Raises JudgeFailure if the solution exceeds the time limit for measuring.
    """
    for test in result.tests:
        if test.status is Verdict.TLE:
            raise JudgeFailure(
                f"the accepted solution {solution.name} takes longer than {_MAX_CPU_S:g} s",
                phase=_PHASE,
                test=test.test_name,
                remedy=_REMEDY,
            )
        if test.status in _MEASURABLE:
            yield test.cpu_time or 0.0, solution.name, test.test_name


def _make_measuring_failure(problem: Problem, skipped_solutions: Sequence[str]) -> JudgeFailure:
    """Return the error for a problem without a measurable solution.

    `skipped_solutions`: the solutions that were not measured, with reasons.
    """
    skipped_note = f" ({'; '.join(skipped_solutions)})" if skipped_solutions else ""
    if problem.forks_by:
        return JudgeFailure(
            f"{problem.forks_by[0]} starts processes, and no accepted solution passes with fork, pipe and "
            f"wait alone, so their number is unknown{skipped_note}",
            phase=_COUNTING,
            remedy="Only files that need no other calls can be judged",
        )
    return JudgeFailure(
        f"problem {problem.id} has no time limit and no accepted solution from which to measure"
        f" it{skipped_note}",
        phase=_PHASE,
        remedy=_REMEDY,
    )
