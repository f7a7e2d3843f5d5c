"""Groups that a problem's own grader grades: the program runs in a box, as a submission does.

Each question is a test whose input is a line per part of the group; what the program writes is the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import msgspec

from ioi_eval.engines.contract import Batch, Program
from ioi_eval.engines.jobs.runner import TestRunner
from ioi_eval.judge.programs import ProblemPrograms
from ioi_eval.model.errors import JudgeFailure
from ioi_eval.model.languages import find
from ioi_eval.model.options import JudgeOptions
from ioi_eval.model.protocol import PlanChecker, PlanSubmission, TestReport
from ioi_eval.model.values import Blob, Checker, CheckerKind, Limits, Problem, Test, TestResult
from ioi_eval.rules.grading import Grade, GraderQuestion, answered, asks
from ioi_eval.rules.plan import distinct_tests, spread

_LONGEST = 1 << 10  # bytes of an answer
_PHASE = "grading with the problem's own grader"


async def grades(
    runner: TestRunner,
    problem: Problem,
    results: Mapping[str, TestResult],
    ours: ProblemPrograms,
    options: JudgeOptions,
) -> dict[GraderQuestion, Grade]:
    """Return the grader's word on each group that needs it, inner groups first. JudgeFailure if it fails."""
    graded: dict[GraderQuestion, Grade] = {}
    complete = spread(problem, results)
    trees = [subtask.grading for subtask in problem.subtasks if subtask.grading is not None]
    while todo := sorted({ask for tree in trees for ask in asks(tree, complete, graded)}):
        for flags, alike in groupby(todo, key=lambda ask: ask.flags):
            graded |= await _answers(runner, problem, ours, flags, list(alike), options)
    return graded


async def _answers(
    runner: TestRunner,
    problem: Problem,
    ours: ProblemPrograms,
    flags: tuple[str, ...],
    todo: Sequence[GraderQuestion],
    options: JudgeOptions,
) -> dict[GraderQuestion, Grade]:
    program = _program(problem.grader, ours, flags)
    tests = tuple(
        Test(name=str(number), input=Blob.of(ask.lines), answer=Blob.of(b""))
        for number, ask in enumerate(todo)
    )
    limits = Limits(
        cpu_time=options.checker.cpu_time,
        wall_time=options.checker.wall_time,
        memory=options.checker.memory,
        output=_LONGEST,
    )
    asked = Problem(
        id=problem.id, limits=limits, tests=tests, checker=Checker(kind=CheckerKind.EXACT), subtasks=()
    )
    telling = msgspec.structs.replace(options, echo=_LONGEST, borderline=None)
    lines: dict[str, TestReport] = {}
    while left := [test for test in distinct_tests(asked) if test.test.name not in lines]:
        batch = Batch(problem=asked, program=program, tests=tuple(left), options=telling)
        lines |= (await runner.run(batch)).lines
    return {ask: _grade(ask, lines[str(number)]) for number, ask in enumerate(todo)}


def _program(grader: Checker | None, ours: ProblemPrograms, flags: tuple[str, ...]) -> Program:
    assert grader is not None and ours.grader is not None, "only for problems with a grader"
    language = find(grader.language)
    return Program(
        proctor=ours.proctor,
        submission=PlanSubmission(
            argv=(*ours.grader.argv, *flags),
            files=tuple(word for word in ours.grader.argv[1:] if word == ours.grader.file.name),
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            threads=language.threads,
            proc=language.proc,
            address_space=language.address_space,
        ),
        checker=PlanChecker(kind=CheckerKind.EXACT.value),
        files=(ours.grader.file,),
    )


def _grade(ask: GraderQuestion, line: TestReport) -> Grade:
    if line.failure is not None:
        raise JudgeFailure(line.failure, phase=_PHASE)
    found = answered(line.output) if line.end == "ok" else None
    if found is None:
        how = f"wrote {line.output[:60]!r}" if line.end == "ok" else f"ended with {line.end} {line.code}"
        raise JudgeFailure(f"it {how}, and was to write a verdict and points", phase=_PHASE)
    return found
