"""What the lines of a run job's proctor say. No I/O in here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ioi_eval.errors import BrokenReply, JudgeFailure
from ioi_eval.judge.jobs import Batch
from ioi_eval.models import Problem, Stage, TaskType, Test, TestResult, Value
from ioi_eval.plan import share
from ioi_eval.protocol.proctor import Line, decode_lines
from ioi_eval.verdicts import ALONE, Company, rescaled, test_result


class Reply(Value):
    """What one job told. Tests that it skipped, or did not come to, are not in `results`."""

    results: Mapping[str, TestResult]
    confinement: Mapping[str, Any] = {}


def read_reply(problem: Problem, batch: Batch, stage: Stage) -> Reply:
    """Every line that arrived stands, however the job ended. JudgeFailure where one says that we failed."""
    results: dict[str, TestResult] = {}
    confinement: Mapping[str, Any] = {}
    for line in _lines(stage, batch):
        if line.fatal is not None:
            raise JudgeFailure(line.fatal, phase=f"judging problem {problem.id}")
        if line.start is not None:
            confinement = line.start.confinement
        if line.test is not None:
            results |= _results(problem, batch, line.test, line)
    return Reply(results=results, confinement=confinement)


def _lines(stage: Stage, batch: Batch) -> list[Line]:
    try:
        return list(decode_lines(stage.stdout, batch.nonce))
    except BrokenReply as error:
        raise JudgeFailure(str(error), phase="reading verdict lines") from error


def _results(problem: Problem, batch: Batch, index: int, line: Line) -> dict[str, TestResult]:
    if (planned := batch.tests.get(index)) is None:
        raise JudgeFailure(f"the proctor judged a test {index} that it was not given", phase="judging")
    name = planned.test.name
    if line.failure is not None:
        raise JudgeFailure(line.failure, phase=f"judging with {checker_name(problem)}", test=name)
    if line.skipped:
        return {}
    result = test_result(name, line, limits=problem.limits, company=_company(problem))
    return share(planned, _by_its_scale(problem, planned.test, result))


def _by_its_scale(problem: Problem, test: Test, result: TestResult) -> TestResult:
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


def without_lines(stage: Stage) -> str:
    """Why a job that judged nothing may have judged nothing."""
    ended = f"exit code {stage.code}" if stage.code is not None else f"killed by {stage.signal or 'a signal'}"
    details = [ended, stage.status and f"status {stage.status.value}", stage.message, _last_words(stage)]
    return f"the proctor judged no test ({'; '.join(text for text in details if text)})"


def _last_words(stage: Stage) -> str:
    words = " ".join(stage.stderr.split())[-500:]
    return words if words.isprintable() else ascii(words)
