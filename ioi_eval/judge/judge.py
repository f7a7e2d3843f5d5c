"""The judge: a submission is built, run on the tests that matter, scored."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec.structs import replace

from ioi_eval.engines.contract import (
    BASH,
    OWN,
    Batch,
    BuildSuccess,
    Capabilities,
    CompileError,
    Program,
    StallOutcome,
    TestReports,
)
from ioi_eval.engines.jobs.runner import TestRunner
from ioi_eval.judge.classic import has_packages, judge_one_by_one, speaks, takes
from ioi_eval.judge.deduplication import Deduplication, program_identity
from ioi_eval.judge.grading import grades
from ioi_eval.judge.needs import (
    lacks,
    refuse_edited,
    refuse_interpreter,
    refuse_promises,
)
from ioi_eval.judge.programs import (
    Artifacts,
    JudgingSetup,
    PreparedProblem,
    ProblemPrograms,
    checker_name,
    is_empty,
    made,
    runs_code,
)
from ioi_eval.model.doing import TESTS, log_step, step
from ioi_eval.model.errors import InputError, JudgeFailure, ToolchainGone
from ioi_eval.model.languages import Language, find
from ioi_eval.model.options import JudgeOptions
from ioi_eval.model.protocol import TestReport
from ioi_eval.model.retry import BLAME, BORDERLINE, TOOLCHAIN
from ioi_eval.model.values import (
    RAW_POINTS,
    Checker,
    CheckerKind,
    LanguageFrom,
    Problem,
    Submission,
    SubmissionResult,
    TestResult,
    Verdict,
)
from ioi_eval.rules.expectations import right_solution
from ioi_eval.rules.grading import NOTHING_GRADED, Graded
from ioi_eval.rules.limits import is_open, settled
from ioi_eval.rules.plan import PlannedTest, is_by_file, share
from ioi_eval.rules.scoring import submission_result
from ioi_eval.rules.verdicts import counted, not_submitted, not_tried, rescaled, test_result

_BUILD = "build"
_log = logging.getLogger(__name__)


class Judge:
    """Judges submissions by a test runner, with what `artifacts` builds.

    Safe to be called many times at once: the engine's slots bound what really runs.
    """

    def __init__(
        self,
        tests: TestRunner,
        artifacts: Artifacts,
        options: JudgeOptions | None = None,
        deduplication: Deduplication | None = None,
        *,
        trusts: bool = False,
    ) -> None:
        self._tests, self._artifacts, self._deduplication = tests, artifacts, deduplication
        self._options, self._trusts = options or JudgeOptions(), trusts

    @property
    def slots(self) -> int:
        """The number of builds and batches that run at the same time."""
        return self._tests.slots

    def but(
        self, *, deduplication: Deduplication | None = None, trusts: bool | None = None, **options: Any
    ) -> Judge:
        """Return a judge with the same engine and artifacts and with some settings changed.

        Args:
            sharing: judges equal programs once. `None` keeps the present setting.
            trusts: True if the submissions are trusted solutions: a package that they import and
                the interpreter lacks is then a judge failure. `None` keeps the present setting.
            options: fields of `JudgeOptions` to change.
        """
        return Judge(
            self._tests,
            self._artifacts,
            replace(self._options, **options),
            self._deduplication if deduplication is None else deduplication,
            trusts=self._trusts if trusts is None else trusts,
        )

    async def keep_promises(self, packages: Collection[str], languages: Collection[str]) -> None:
        """Raise InputError where submissions in these languages may count on packages that are missing."""
        profile = await self._tests.capabilities()
        refuse_promises(packages, {find(language).command for language in languages}, profile)

    async def capabilities(self) -> Capabilities:
        """Return what the engine has and can do."""
        return await self._tests.capabilities()

    async def prepare(self, problem: Problem) -> None:
        """Build what all submissions need. Raises for a problem that cannot be judged."""
        prepared = self._artifacts.prepared(problem)
        if not await self._is_classic(None):
            await self._artifacts.of_problem(prepared)

    async def lacks(
        self, problem: Problem, language: Language | None, code: str = ""
    ) -> tuple[JudgeFailure | InputError, ...]:
        """Return why no program in a language, or this one, can be judged on a problem here.

        Nothing is built for that. `language` is None for submissions of files alone. Only a final
        JudgeFailure cannot be mended.
        """
        if await self._is_classic(language):  # its servers say themselves what they can build
            return ()
        here, builder = (
            await self._tests.capabilities(),
            await (await self._artifacts.chosen_builder()).capabilities(),
        )
        return tuple(lacks(problem, language, here, builder, code))

    async def judge(self, problem: Problem, submission: Submission) -> SubmissionResult:
        """Return what the submission is worth. JudgeFailure where that cannot be said."""
        if problem.unusable:
            raise JudgeFailure(problem.unusable, phase=f"problem {problem.id}", final=True)
        prepared = self._artifacts.prepared(problem)
        log_step(_log, "queued: problem %s in %s", problem.id, submission.language)
        if not isinstance(submission.code, str | None):  # a frame's NaN, bytes, a path
            what = f"a program is a text, not {type(submission.code).__name__}"
            remedy = "Give a str, or None where there is no program"
            raise InputError(what, where=f"submission {submission.key}", field="code", remedy=remedy)
        unspoken = ""
        if submission.language_from is LanguageFrom.REPLY and submission.code is not None:
            unspoken = await self._not_spoken(problem, submission)
        runs = runs_code(problem, submission)
        if unspoken or (not runs and is_empty(problem, submission)):
            result = submission_result(
                problem,
                replace(submission, code=None),
                {},
                compiles=False,
                compile_output=unspoken,
                checker=checker_name(problem),
            )
            return _logged(result)
        language = find(submission.language, where=problem.source or problem.id) if runs else None
        terms = prepared.terms(language, self._options)
        if language is not None and not self._trusts:
            refuse_interpreter(language, await self._tests.capabilities())
        if runs and self._trusts and not submission.files:
            for error in await self.lacks(problem, language, submission.code or ""):
                raise error
        if await self._is_classic(language):
            with step(TESTS):
                result = await judge_one_by_one(self._tests, terms, submission)
                refuse_edited(problem, {test.test_name for test in result.tests})
                return _logged(result)
        for attempt in range(1, TOOLCHAIN.max_attempts + 1):
            try:
                return _logged(await self._built_and_judged(prepared, terms, submission))
            except ToolchainGone as error:  # begun anew with what is there now: no mixed results
                TOOLCHAIN.log(_log, error, attempt)
        used_up = TOOLCHAIN.used_up(TOOLCHAIN.max_attempts)
        raise JudgeFailure(f"servers changed their interpreter again and again, {used_up}", phase="judging")

    async def _is_classic(self, language: Language | None) -> bool:
        """Return True if classic jobs are to judge: they were asked for, or nothing else is possible.

        `language`: of the program; None if there is none, or any.
        """
        if self._options.job != "auto":
            return self._options.job == "classic"
        profile = await self._tests.capabilities()
        if not has_packages(profile):
            return False
        if {OWN, BASH}.isdisjoint(profile.runtimes):
            return True
        # Workers and this machine have the same tools for classic jobs, so these would lack them, too.
        if language is None or profile.confines or not speaks(language, profile):
            return False
        return not profile.toolchains.keys() >= {*language.tools}

    async def _built_and_judged(
        self, prepared: PreparedProblem, terms: JudgingSetup, submission: Submission
    ) -> SubmissionResult:
        tests, problem = self._tests, terms.given
        if terms.language is None:
            ours = await self._artifacts.of_problem(prepared)
            program = terms.program(submission, None, ours)
            # The tests that ask for a program, for a submission that has only files.
            named = (test.name for test in problem.tests if not is_by_file(problem, test.name))
            missing = {name: not_submitted(name) for name in named if name not in program.outputs}
            return await _Judging(tests, terms, submission, program, ours).result(missing)
        with ExitStack() as held:
            deduplication, pending = self._deduplication, None
            if deduplication is not None:
                pending = held.enter_context(deduplication.pending(problem.id))
            programs, built = await asyncio.gather(
                self._artifacts.of_problem(prepared),
                self._artifacts.submission(prepared, submission),
                return_exceptions=True,
            )
            ours = made(programs)  # a broken checker is told before anything else
            if isinstance(built, BaseException):
                raise built
            if isinstance(built, CompileError):
                judged_by = terms.judged_by
                result = submission_result(problem, submission, {}, compiles=False, checker=judged_by)
                return _with_build(result, submission, built)
            program = terms.program(submission, built, ours)
            judges = ours.manager is not None or ours.checker is not None
            partner = Partner(self._artifacts, prepared, ours, self._options) if judges else None
            judging = _Judging(tests, terms, submission, program, ours, partner)
            if pending is None or deduplication is None:
                return _with_build(await judging.result(), submission, built)
            identity = program_identity(terms.digest, program, built)
            result = await deduplication.judge_once(pending, identity, judging.result)
            return _with_build(replace(result, program_sha256=identity), submission, built)

    async def _not_spoken(self, problem: Problem, submission: Submission) -> str:
        """Why a language that only the reply told does not count here: nothing else asked for it."""
        profile, language = await self._tests.capabilities(), find(submission.language)
        if await self._is_classic(language):
            there = takes(problem, submission, profile)
        else:
            there = profile.toolchains.keys() >= {*language.tools}
        return "" if there else f"the reply holds a program in {language.name}, which the engine cannot run"


@dataclass
class _Judging:
    """The judging of one submission on its tests."""

    tests: TestRunner
    terms: JudgingSetup
    submission: Submission
    program: Program
    ours: ProblemPrograms
    partner: Partner | None = None

    async def result(self, known: Mapping[str, TestResult] = MappingProxyType({})) -> SubmissionResult:
        """Ask for what can still change a score, until nothing can. Every answer is final.

        A program that stalled once goes on alone, where each test ends in time. One that stalled again has
        failed all tests to come.
        """
        terms, outputs, results = self.terms, self.program.outputs, dict(known)
        confinement: Mapping[str, Any] = {}
        stall, at = StallOutcome.NONE, ""
        with step(TESTS):
            todo = terms.schedule.live(results) if results else terms.schedule.first
            while todo:
                programs = [each for each in todo if each.test.name not in outputs]
                if stall is StallOutcome.AGAIN and programs:
                    for planned in programs:
                        results |= share(planned, not_tried(planned.test.name, at))
                else:
                    batch = Batch(
                        problem=terms.as_run,
                        program=self.program,
                        tests=todo,
                        options=terms.options,
                        alone=stall is not StallOutcome.NONE,
                    )
                    answers, found = await self._answers(batch)
                    if terms.as_run is not terms.problem:
                        found = await self._measured_again(batch, found)
                    results |= found
                    if answers.stall is not StallOutcome.NONE:
                        stall, at = answers.stall, [*answers.lines][-1]
                    confinement = answers.confinement or confinement
                todo = terms.schedule.live(results)
        graded: Graded = NOTHING_GRADED
        if self.ours.grader is not None:
            graded = await grades(self.tests, terms.problem, results, self.ours, terms.options)
        refuse_edited(terms.given, results)
        return submission_result(
            terms.problem,
            self.submission,
            results,
            checker=terms.judged_by,
            confinement=confinement,
            graded=graded,
        )

    async def _measured_again(self, batch: Batch, found: Mapping[str, TestResult]) -> dict[str, TestResult]:
        """Run tests again, alone, that were over the limit by a little, or by more on a crowded machine.

        All of them run in one batch, so that other submissions wait for it once.
        """
        problem = self.terms.problem
        tests = [planned for planned in batch.tests if planned.test.name in found]
        runs = {planned.test.name: [found[planned.test.name]] for planned in tests}
        while again := tuple(planned for planned in tests if is_open(runs[planned.test.name], problem)):
            BORDERLINE.log(_log, f"over the limit by a little are {_names(again)}")
            _, measured = await self._answers(replace(batch, tests=again, alone=True))
            for planned in again:
                name = planned.test.name
                runs[name] += [measured[name]] if name in measured else []
        results = dict[str, TestResult]()
        for planned in tests:
            results |= share(planned, settled(runs[planned.test.name], problem))
        return results

    async def _answers(self, batch: Batch) -> tuple[TestReports, dict[str, TestResult]]:
        """Return what the engine says of a batch, and the results by the tests' names, twins' too.

        JudgeFailure where an answer says that we failed.
        """
        answers = await self.tests.run(batch)
        if self.partner is not None:
            answers = await self.partner.tried(self.tests, batch, answers)
        results: dict[str, TestResult] = {}
        problem = self.terms.as_run
        judge = problem.manager if problem.manager and not problem.checker.sources else problem.checker
        for planned in batch.tests:
            test = planned.test
            if (line := answers.lines.get(test.name)) is None:
                continue
            if line.failure is not None:
                phase = f"judging with {self.terms.judged_by}"
                raise JudgeFailure(line.failure, phase=phase, test=test.name, remedy=_remedy(problem.checker))
            result = test_result(test.name, line, limits=problem.limits, processes=self.terms.processes)
            # testlib has exit codes for what is right and for parts of it, however much the test is worth.
            is_part = line.part or (judge.kind is CheckerKind.TESTLIB and result.status is Verdict.AC)
            if test.full is None and judge.full == RAW_POINTS:
                result = counted(result)
            elif test.full is not None and not is_part:
                result = rescaled(result, judge.full, test.full)
            log_step(_log, "test %s: %s, %.3f s", test.name, result.status, result.cpu_time or 0.0)
            results |= share(planned, result)
        return answers, results


def _logged(result: SubmissionResult) -> SubmissionResult:
    """Return the result after its verdict was logged."""
    if _log.isEnabledFor(logging.DEBUG):
        log_step(_log, "result: %s, %g points", result.verdict, result.points)
    return result


def _with_build(
    result: SubmissionResult, submission: Submission, built: BuildSuccess | CompileError
) -> SubmissionResult:
    """The result, perhaps of an equal program, as that of a submission with a build of its own.

    Its confinement is what confined the tests; and the build, where that differs from the engine's own way.
    """
    confinement = {name: value for name, value in result.confinement.items() if name != _BUILD}
    return replace(
        result,
        key=submission.key,
        repairs=submission.repairs,
        compile_output=built.log,
        compiler=built.compiler,
        confinement={**confinement, _BUILD: built.confinement} if built.confinement else confinement,
    )


def _remedy(checker: Checker) -> str:
    """testlib's header is also there in a form that speaks as the contest system asks: nobody can tell."""
    is_testlib = any(PurePosixPath(file.name).name == "testlib.h" for file in checker.sources)
    if checker.kind is not CheckerKind.CMS or not is_testlib:
        return ""
    return 'Where its checker speaks by testlib\'s exit codes, set "checker": "testlib" in problem.json'


# --- who is to blame for a manager or a checker that fails -------------------------------------------


class Partner:
    """The first solution of the package that must be right, built when a manager or a checker fails."""

    def __init__(
        self, artifacts: Artifacts, prepared: PreparedProblem, ours: ProblemPrograms, options: JudgeOptions
    ) -> None:
        self._artifacts, self._prepared, self._ours, self._options = artifacts, prepared, ours, options

    async def tried(self, tests: TestRunner, batch: Batch, answers: TestReports) -> TestReports:
        """Return the answers, with 0 points where the submission is to blame for a failure.

        It is if a manager or a checker fails on it twice, and not on this solution. Nothing is tried for a
        checker that accepts the reference answer: the proctor blamed the submission by that.
        """
        broken = _provoked(batch, answers.lines)
        if not broken or (control := await self._instead_of(batch)) is None:
            return answers
        BLAME.log(_log, f"the manager broke on {', '.join(broken)}")
        # A machine that was busy is not busy twice: alone this time.
        again = await tests.run(_only(batch, broken))
        lines = {**answers.lines, **again.lines}
        if broken := _provoked(batch, again.lines):
            managed = (await tests.run(_only(control, broken))).lines
            lines |= {name: _blamed(lines[name]) for name in broken if _is_right(managed.get(name))}
        return msgspec.structs.replace(answers, lines=lines)

    async def _instead_of(self, batch: Batch) -> Batch | None:
        """The batch with that solution in the submission's place; None where there is none that compiles."""
        problem = self._prepared.problem
        if (solution := right_solution(problem)) is None:
            return None
        terms = self._prepared.terms(find(solution.language), self._options)
        own = Submission(
            key=solution.name,
            problem_id=problem.id,
            code=solution.code,
            language=solution.language,
            files=solution.files,
        )
        built = await self._artifacts.submission(self._prepared, own)
        if not isinstance(built, BuildSuccess):
            return None
        honest = terms.program(own, built, self._ours)
        return msgspec.structs.replace(batch, problem=terms.problem, program=honest)


def _provoked(batch: Batch, lines: Mapping[str, TestReport]) -> list[str]:
    names = (planned.test.name for planned in batch.tests)
    return [name for name in names if name in lines and lines[name].provoked]


def _names(tests: Iterable[PlannedTest]) -> str:
    return ", ".join(planned.test.name for planned in tests)


def _only(batch: Batch, names: list[str]) -> Batch:
    tests = tuple(planned for planned in batch.tests if planned.test.name in names)
    return msgspec.structs.replace(batch, tests=tests, alone=True)


def _is_right(line: TestReport | None) -> bool:
    return line is not None and line.failure is None and line.end == "ok" and line.score > 0


def _blamed(line: TestReport) -> TestReport:
    feedback = f"Output isn't correct: {line.failure}, but not with the package's own right solution"
    return msgspec.structs.replace(line, failure=None, provoked=False, end="ok", score=0.0, feedback=feedback)
