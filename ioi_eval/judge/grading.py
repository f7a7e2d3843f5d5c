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
from ioi_eval.model.languages import find_language
from ioi_eval.model.options import JudgeOptions
from ioi_eval.model.protocol import PlanChecker, PlanSubmission, TestReport
from ioi_eval.model.values import Blob, Checker, CheckerKind, Limits, Problem, Test, TestResult
from ioi_eval.rules.grading import Grade, GraderQuestion, list_grader_questions, parse_grader_answer
from ioi_eval.rules.plan import add_duplicate_results, list_distinct_tests

_MAX_ANSWER_BYTES = 1 << 10
_PHASE = "grading with the problem's own grader"


async def grade_groups(
    test_runner: TestRunner,
    problem: Problem,
    results: Mapping[str, TestResult],
    programs: ProblemPrograms,
    options: JudgeOptions,
) -> dict[GraderQuestion, Grade]:
    """Return the grader's grades for all groups that it scores.

    Inner groups are graded first, because outer groups need their grades.

    Args:
        test_runner: Runs the grader.
        problem: The problem with the grader.
        results: Results of the submission by test. A test that equals another test may be missing.
        programs: The problem's built programs, which include the grader.
        options: Options of judging. `echo` and `borderline` are ignored.

    Raises:
        JudgeFailure: The grader fails, or its output is not a grade.
    """
    grades_by_question: dict[GraderQuestion, Grade] = {}
    all_results = add_duplicate_results(problem, results)
    grading_trees = [subtask.grading for subtask in problem.subtasks if subtask.grading is not None]
    while questions := sorted(
        {
            question
            for grading_tree in grading_trees
            for question in list_grader_questions(grading_tree, all_results, grades_by_question)
        }
    ):
        for grader_flags, question_group in groupby(questions, key=lambda question: question.flags):
            grades_by_question |= await _run_grader(
                test_runner, problem, programs, grader_flags, list(question_group), options
            )
    return grades_by_question


async def _run_grader(
    test_runner: TestRunner,
    problem: Problem,
    programs: ProblemPrograms,
    flags: tuple[str, ...],
    questions: Sequence[GraderQuestion],
    options: JudgeOptions,
) -> dict[GraderQuestion, Grade]:
    """Run the problem's grader on groups to grade (`questions`) that have equal flags; return its grades."""
    program = _make_grader_program(problem.grader, programs, flags)
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
    problem_with_questions = Problem(
        id=problem.id, limits=limits, tests=tests, checker=Checker(kind=CheckerKind.EXACT), subtasks=()
    )
    output_options = msgspec.structs.replace(options, echo=_MAX_ANSWER_BYTES, borderline=None)
    reports_by_test: dict[str, TestReport] = {}
    while open_tests := [
        test for test in list_distinct_tests(problem_with_questions) if test.test.name not in reports_by_test
    ]:
        batch = Batch(
            problem=problem_with_questions, program=program, tests=tuple(open_tests), options=output_options
        )
        reports_by_test |= (await test_runner.run(batch)).lines
    return {question: _parse_grade(reports_by_test[str(number)]) for number, question in enumerate(questions)}


def _make_grader_program(
    grader: Checker | None, programs: ProblemPrograms, flags: tuple[str, ...]
) -> Program:
    assert grader is not None and programs.grader is not None, "the problem has a grader"
    language = find_language(grader.language)
    return Program(
        proctor=programs.proctor,
        submission=PlanSubmission(
            argv=(*programs.grader.argv, *flags),
            files=tuple(
                argument for argument in programs.grader.argv[1:] if argument == programs.grader.file.name
            ),
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            threads=language.threads,
            proc=language.proc,
            address_space=language.address_space,
        ),
        checker=PlanChecker(kind=CheckerKind.EXACT.value),
        files=(programs.grader.file,),
    )


def _parse_grade(report: TestReport) -> Grade:
    """Return the grade in a grader's output. Raises JudgeFailure for invalid output."""
    if report.failure is not None:
        raise JudgeFailure(report.failure, phase=_PHASE)
    grade = parse_grader_answer(report.output) if report.end == "ok" else None
    if grade is None:
        description = (
            f"wrote {report.output[:60]!r}"
            if report.end == "ok"
            else f"ended with {report.end} {report.code}"
        )
        raise JudgeFailure(
            f"the package's grader {description} instead of a verdict and points", phase=_PHASE
        )
    return grade
