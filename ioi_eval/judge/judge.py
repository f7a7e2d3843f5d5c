"""One submission at a time: built, run on the tests that matter, scored. Or a JudgeFailure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ioi_eval.engines import Engine
from ioi_eval.engines.values import Answers, Batch, Built, Program, Rejected
from ioi_eval.judge.classic.job import is_classic, judge_one_by_one
from ioi_eval.judge.grading import grades
from ioi_eval.judge.programs import Artifacts, Compiled, checker_name, is_empty, program, runs_code
from ioi_eval.model.errors import JudgeFailure
from ioi_eval.model.languages import find
from ioi_eval.model.options import JudgeOptions
from ioi_eval.model.protocol import Line
from ioi_eval.model.values import Problem, Submission, SubmissionResult, TaskType, Test, TestResult
from ioi_eval.rules.limits import RUNS, is_open, settled, stretched
from ioi_eval.rules.plan import is_by_file, live, share
from ioi_eval.rules.scoring import submission_result
from ioi_eval.rules.verdicts import ALONE, Company, not_submitted, rescaled, test_result


class Judge:
    """Judges submissions on an engine, with what `artifacts` builds.

    Safe to be called many times at once: the engine's slots bound what really runs.
    """

    def __init__(self, engine: Engine, artifacts: Artifacts, options: JudgeOptions | None = None) -> None:
        self._engine, self._artifacts = engine, artifacts
        self._options = options or JudgeOptions()

    async def prepare(self, problem: Problem) -> None:
        """Build what all submissions need. Raises for a problem that cannot be judged."""
        if not is_classic(self._options, await self._engine.profile()):
            await self._artifacts.of_problem(problem)

    async def judge(self, problem: Problem, submission: Submission) -> SubmissionResult:
        """Return what the submission is worth. JudgeFailure where that cannot be said."""
        if problem.unusable:
            raise JudgeFailure(problem.unusable, phase=f"problem {problem.id}")
        checker = checker_name(problem)
        if is_empty(problem, submission):
            return submission_result(problem, submission, {}, compiles=False, checker=checker)
        if is_classic(self._options, await self._engine.profile()):
            return await judge_one_by_one(self._engine, problem, submission, self._options)
        ours = await self._artifacts.of_problem(problem)
        told: dict[str, Any]
        if not runs_code(problem, submission):
            taking_part = program(problem, submission, None, ours, options=self._options)
            # The tests that ask for a program, for a submission that has only files.
            names = (test.name for test in problem.tests if not is_by_file(problem, test.name))
            missing = {name: not_submitted(name) for name in names}
            results, confinement = await self._run(problem, taking_part, missing)
            graded = await grades(self._engine, problem, results, ours, self._options)
            told = {"checker": checker, "confinement": confinement, "graded": graded}
            return submission_result(problem, submission, results, **told)
        built = await self._artifacts.submission(problem, submission)
        told = {"compile_output": built.log, "compiler": built.compiler, "checker": checker}
        if isinstance(built, Rejected):
            confinement = _with_build({}, built)
            return submission_result(problem, submission, {}, compiles=False, confinement=confinement, **told)
        compiled = Compiled(language=find(submission.language), artifact=built.artifact)
        limited = msgspec.structs.replace(problem, limits=compiled.language.limits(problem.limits))
        taking_part = program(limited, submission, compiled, ours, options=self._options)
        results, confinement = await self._run(limited, taking_part, {})
        graded = await grades(self._engine, limited, results, ours, self._options)
        confinement = _with_build(confinement, built)
        return submission_result(limited, submission, results, confinement=confinement, graded=graded, **told)

    async def _run(
        self, problem: Problem, taking_part: Program, known: Mapping[str, TestResult]
    ) -> tuple[dict[str, TestResult], Mapping[str, Any]]:
        """Ask for what can still change a score, until nothing can. Every answer is final."""
        results: dict[str, TestResult] = dict(known)
        confinement: Mapping[str, Any] = {}
        as_run = stretched(problem, self._options.borderline)
        while todo := live(problem, results, all_tests=self._options.all_tests):
            batch = Batch(problem=as_run, program=taking_part, tests=todo, options=self._options)
            answers = await self._engine.judge(batch)
            found = results_of(batch, answers)
            if as_run is not problem:
                found = await self._measured_again(batch, problem, found)
            results |= found
            confinement = answers.confinement or confinement
        return results, confinement

    async def _measured_again(
        self, batch: Batch, problem: Problem, found: Mapping[str, TestResult]
    ) -> dict[str, TestResult]:
        """What was over the limit by a little runs again, alone."""
        results: dict[str, TestResult] = {}
        for planned in (planned for planned in batch.tests if planned.test.name in found):
            name, runs = planned.test.name, [found[planned.test.name]]
            while is_open(min(runs, key=lambda run: run.cpu_time or 0.0), problem) and len(runs) <= RUNS:
                again = msgspec.structs.replace(batch, tests=(planned,), alone=True)
                runs.append(results_of(again, await self._engine.judge(again))[name])
            results |= share(planned, settled(runs, problem))
        return results


def _with_build(run: Mapping[str, Any], built: Built | Rejected) -> Mapping[str, Any]:
    """What confined the tests; and the build, where that differs from the engine's own way."""
    return {**run, "build": built.confinement} if built.confinement else run


# --- what an engine's answers mean for the problem ---------------------------------------------------


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
