"""Judges solutions of a package in batches and, test by test, as classic jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import pytest
from support.engines import find_language

from ioi_eval import Engine
from ioi_eval.classic import classic_job, run_classic
from ioi_eval.errors import JudgeFailure
from ioi_eval.judge import Judge
from ioi_eval.models import Problem, Solution, Submission, TaskType, TestResult
from ioi_eval.models import Verdict as V

# Classic jobs limit the address space, so a program that allocates too much may fail in different ways. They
# cannot report too much output.
_ALIKE = {V.MLE: {V.MLE, V.RE, V.TLE}, V.OLE: {V.RE}, V.RE: {V.RE}, V.TLE: {V.TLE}}

OWN, KEPT = "ioi_eval", "cms_ioi"  # runtimes: a job compiles everything, or uses cached programs


def submitted(problem: Problem, code: str) -> Submission:
    return Submission(key="1", problem_id=problem.id, code=code, language="c++")


def has_classic_job(problem: Problem) -> bool:
    solution = next(cpp_solutions(problem), None)
    if solution is None:
        return False
    try:
        classic_job(problem, problem.tests[0], submitted(problem, solution.code))
    except JudgeFailure:
        return False
    return True


def cpp_solutions(problem: Problem) -> Iterator[Solution]:
    """Return the solutions that both paths can judge.

    A classic job does not limit standard error. It does not store other output of a Communication process.
    """
    talks = problem.task_type is TaskType.COMMUNICATION
    sources = (solution for solution in problem.solutions if solution.language)
    return (
        solution
        for solution in sources
        if find_language(solution.language).command == "g++"
        and not (talks and solution.expected == "output_limit")
    )


def telling(results: Sequence[TestResult]) -> Iterator[TestResult]:
    """Yield the first test of every status. More tests of the same status would show nothing new."""
    seen_statuses = {V.SKIPPED}
    for result in results:
        if result.status not in seen_statuses:
            seen_statuses.add(result.status)
            yield result


def one_of_each(problem: Problem) -> Sequence[Solution]:
    """Return the first solution of every kind. All correct solutions count as the same kind."""
    kinds: dict[str, Solution] = {}
    for solution in cpp_solutions(problem):
        kind = "correct" if solution.expected == "model_solution" else solution.expected
        kinds.setdefault(kind, solution)
    return tuple(kinds.values())


async def compare(
    engine: Engine, judge: Judge, problem: Problem, solution: Solution, *, runtime: str = KEPT
) -> tuple[TestResult, ...]:
    """Check that a classic job agrees with the first test of every status of the batched path.

    Return these tests.
    """
    batched = (await judge.judge(problem, submitted(problem, solution.code))).tests
    return await compare_with(batched, engine, problem, solution, runtime=runtime)


async def compare_with(
    batched: Sequence[TestResult],
    engine: Engine,
    problem: Problem,
    solution: Solution,
    *,
    runtime: str = KEPT,
) -> tuple[TestResult, ...]:
    """Compare classic jobs with a result of the batched path."""
    submission, batched = submitted(problem, solution.code), tuple(telling(batched))
    tests = {test.name: test for test in problem.tests}
    classic = await asyncio.gather(
        *(
            run_classic(engine, problem, tests[result.test_name], submission, runtime=runtime)
            for result in batched
        )
    )
    for ours, theirs in zip(batched, classic, strict=True):
        context = f"{problem.id}, {solution.name}, test {ours.test_name}: {ours} {theirs}"
        assert theirs.score == pytest.approx(ours.score, abs=1e-6), context
        assert theirs.status in _ALIKE.get(ours.status, {ours.status}), context
    return batched
