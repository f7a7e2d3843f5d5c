"""What an engine's answers mean for the problem: a result for each test. No I/O in here."""

from __future__ import annotations

from ioi_eval.engines.values import Answers, Batch
from ioi_eval.model.errors import JudgeFailure
from ioi_eval.model.protocol import Line
from ioi_eval.model.values import Problem, TaskType, Test, TestResult
from ioi_eval.rules.plan import share
from ioi_eval.rules.verdicts import ALONE, Company, rescaled, test_result


def results_of(batch: Batch, answers: Answers) -> dict[str, TestResult]:
    """By the test's name, those of its twins too. JudgeFailure where an answer says that we failed."""
    results: dict[str, TestResult] = {}
    for planned in batch.tests:
        if (line := answers.lines.get(planned.test.name)) is not None:
            results |= share(planned, _result(batch.problem, planned.test, line))
    return results


def _result(problem: Problem, test: Test, line: Line) -> TestResult:
    if line.failure is not None:
        raise JudgeFailure(line.failure, phase=f"judging with {checker_name(problem)}", test=test.name)
    result = test_result(test.name, line, limits=problem.limits, company=_company(problem))
    judge = problem.manager if problem.manager and not problem.checker.sources else problem.checker
    return result if test.full is None else rescaled(result, judge.full, test.full)


def _company(problem: Problem) -> Company:
    if problem.task_type is TaskType.COMMUNICATION:
        return Company(processes=problem.options.processes)
    return Company(processes=2, each=True) if problem.task_type is TaskType.TWO_STEPS else ALONE


def checker_name(problem: Problem) -> str:
    """`cms checker checker/checker.cpp`, or the comparison that is built in. A manager's name comes first."""
    names = []
    if problem.manager is not None and problem.manager.sources:
        names.append(f"{problem.manager.kind.value} manager {problem.manager.sources[0].name}")
    if problem.checker.sources:
        names.append(f"{problem.checker.kind.value} checker {problem.checker.sources[0].name}")
    return ", ".join(names) or problem.checker.kind.value
