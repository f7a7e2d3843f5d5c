"""Groups that a problem's own grader scores. The grader runs in a sandbox, as a submission does.

Each question to the grader is a test. Its input has a line for each part of the group, and the grader's
output is the answer.
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

_MAX_ANSWER_BYTES = 1 << 10
_PHASE = "grading with the problem's own grader"


async def grades(
    runner: TestRunner,
    problem: Problem,
    results: Mapping[str, TestResult],
    programs: ProblemPrograms,
    options: JudgeOptions,
) -> dict[GraderQuestion, Grade]:
    """Return the grader's grades for all groups that it scores. Raises JudgeFailure if the grader fails.

    Inner groups are graded first, because outer groups need their grades.
    """
    graded: dict[GraderQuestion, Grade] = {}
    complete = spread(problem, results)
    trees = [subtask.grading for subtask in problem.subtasks if subtask.grading is not None]
    while questions := sorted({question for tree in trees for question in asks(tree, complete, graded)}):
        for flags, same_flags in groupby(questions, key=lambda question: question.flags):
            graded |= await _answers(runner, problem, programs, flags, list(same_flags), options)
    return graded


async def _answers(
    runner: TestRunner,
    problem: Problem,
    programs: ProblemPrograms,
    flags: tuple[str, ...],
    questions: Sequence[GraderQuestion],
    options: JudgeOptions,
) -> dict[GraderQuestion, Grade]:
    """Run the grader on questions with the same flags, and return its grades."""
    program = _program(problem.grader, programs, flags)
    tests = tuple(
        Test(name=str(number), input=Blob.of(question.lines), answer=Blob.of(b""))
        for number, question in enumerate(questions)
    )
    limits = Limits(
        cpu_time=options.checker.cpu_time,
        wall_time=options.checker.wall_time,
        memory=options.checker.memory,
        output=_MAX_ANSWER_BYTES,
    )
    question_problem = Problem(
        id=problem.id, limits=limits, tests=tests, checker=Checker(kind=CheckerKind.EXACT), subtasks=()
    )
    with_output = msgspec.structs.replace(options, echo=_MAX_ANSWER_BYTES, borderline=None)
    lines: dict[str, TestReport] = {}
    while open_tests := [test for test in distinct_tests(question_problem) if test.test.name not in lines]:
        batch = Batch(problem=question_problem, program=program, tests=tuple(open_tests), options=with_output)
        lines |= (await runner.run(batch)).lines
    return {question: _grade(lines[str(number)]) for number, question in enumerate(questions)}


def _program(grader: Checker | None, programs: ProblemPrograms, flags: tuple[str, ...]) -> Program:
    assert grader is not None and programs.grader is not None, "the problem has a grader"
    language = find(grader.language)
    return Program(
        proctor=programs.proctor,
        submission=PlanSubmission(
            argv=(*programs.grader.argv, *flags),
            files=tuple(word for word in programs.grader.argv[1:] if word == programs.grader.file.name),
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            threads=language.threads,
            proc=language.proc,
            address_space=language.address_space,
        ),
        checker=PlanChecker(kind=CheckerKind.EXACT.value),
        files=(programs.grader.file,),
    )


def _grade(line: TestReport) -> Grade:
    """Return the grade in a grader's output. Raises JudgeFailure for invalid output."""
    if line.failure is not None:
        raise JudgeFailure(line.failure, phase=_PHASE)
    grade = answered(line.output) if line.end == "ok" else None
    if grade is None:
        event = f"wrote {line.output[:60]!r}" if line.end == "ok" else f"ended with {line.end} {line.code}"
        raise JudgeFailure(f"it {event} instead of a verdict and points", phase=_PHASE)
    return grade
