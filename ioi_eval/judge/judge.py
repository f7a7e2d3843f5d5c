"""The judge: build a submission, run it on the tests that can change its score, and score it."""

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
from ioi_eval.judge.classic import (
    accepts_submission,
    has_classic_piston_packages,
    judge_by_classic_piston_jobs,
    supports_language,
)
from ioi_eval.judge.deduplication import Deduplication, compute_program_identity
from ioi_eval.judge.grading import grade_groups
from ioi_eval.judge.needs import (
    find_unmet_needs,
    refuse_changed_problem_files,
    refuse_disallowed_interpreter,
    refuse_missing_packages,
)
from ioi_eval.judge.programs import (
    Artifacts,
    JudgingSetup,
    PreparedProblem,
    ProblemPrograms,
    describe_checker,
    has_program,
    is_empty,
    return_or_raise,
)
from ioi_eval.model.doing import TESTS, log_step, track_step
from ioi_eval.model.errors import InputError, JudgeFailure, ToolchainGone
from ioi_eval.model.languages import Language, find_language
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
from ioi_eval.rules.expectations import find_right_solution
from ioi_eval.rules.grading import NO_GRADER_ANSWERS, GraderAnswers
from ioi_eval.rules.limits import can_rerun_gain_points, select_run_that_counts
from ioi_eval.rules.plan import PlannedTest, copy_to_duplicates, is_answered_by_file
from ioi_eval.rules.scoring import score_submission
from ioi_eval.rules.verdicts import (
    convert_score_to_points,
    make_missing_file_result,
    make_result_after_stall,
    make_result_from_report,
    rescale_result,
)

_BUILD = "build"
_log = logging.getLogger(__name__)


class Judge:
    """Judges submissions on an engine.

    Many calls may run at the same time; the engine's slots limit how many jobs run.
    """

    def __init__(
        self,
        test_runner: TestRunner,
        artifacts: Artifacts,
        options: JudgeOptions | None = None,
        deduplication: Deduplication | None = None,
        *,
        trusts_submissions: bool = False,
    ) -> None:
        self._test_runner, self._artifacts, self._deduplication = test_runner, artifacts, deduplication
        self._options, self._trusts_submissions = options or JudgeOptions(), trusts_submissions

    @property
    def slots(self) -> int:
        """The maximum number of builds and batches of tests that run at the same time."""
        return self._test_runner.slots

    def with_options(
        self,
        *,
        deduplication: Deduplication | None = None,
        trusts_submissions: bool | None = None,
        **options: Any,
    ) -> Judge:
        """Return a judge with the same engine and artifacts and with some settings changed.

        Args:
            deduplication: judges equal programs once. `None` leaves the setting unchanged.
            trusts_submissions: True if the submissions are trusted solutions: a package that they import and
                the interpreter lacks is then a judge failure. `None` leaves the setting unchanged.
            options: fields of `JudgeOptions` to change.
        """
        return Judge(
            self._test_runner,
            self._artifacts,
            replace(self._options, **options),
            self._deduplication if deduplication is None else deduplication,
            trusts_submissions=self._trusts_submissions if trusts_submissions is None else trusts_submissions,
        )

    async def check_packages(self, packages: Collection[str], languages: Collection[str]) -> None:
        """Raise InputError if submissions in these languages may use packages that the engine lacks."""
        capabilities = await self._test_runner.capabilities()
        refuse_missing_packages(
            packages, {find_language(language).command for language in languages}, capabilities
        )

    async def capabilities(self) -> Capabilities:
        """Return the engine's capabilities."""
        return await self._test_runner.capabilities()

    async def prepare(self, problem: Problem) -> None:
        """Build the programs that all submissions need. Raises an error if the problem cannot be judged."""
        prepared_problem = self._artifacts.prepare_problem(problem)
        if not await self._needs_classic_piston_jobs(None):
            await self._artifacts.build_problem_programs(prepared_problem)

    async def find_unmet_needs(
        self, problem: Problem, language: Language | None, code: str = ""
    ) -> tuple[JudgeFailure | InputError, ...]:
        """Return why the engine cannot judge submissions in a language on a problem, or `()` if it can.

        Nothing is built. All reasons except a final JudgeFailure can be fixed.

        Args:
            problem: the problem.
            language: the language. `None` means submissions that are only files.
            code: a trusted solution, whose imports are checked as well.
        """
        # Do not check anything: servers of classic jobs report such problems as failed builds.
        if await self._needs_classic_piston_jobs(language):
            return ()
        engine_capabilities, builder_capabilities = (
            await self._test_runner.capabilities(),
            await (await self._artifacts.choose_builder()).capabilities(),
        )
        return tuple(find_unmet_needs(problem, language, engine_capabilities, builder_capabilities, code))

    async def judge(self, problem: Problem, submission: Submission) -> SubmissionResult:
        """Judge a submission and return its result.

        Raises:
            JudgeFailure: if the submission cannot be judged.
            InputError: if the problem or the submission is invalid.
        """
        if problem.unusable:
            raise JudgeFailure(problem.unusable, phase=f"problem {problem.id}", final=True)
        prepared_problem = self._artifacts.prepare_problem(problem)
        log_step(_log, "queued: problem %s in %s", problem.id, submission.language)
        # The code may be something else by mistake, such as the NaN of a data frame, bytes or a path.
        if not isinstance(submission.code, str | None):
            message = f"a program must be a str, not {type(submission.code).__name__}"
            remedy = "Pass a str, or None if there is no program"
            raise InputError(message, where=f"submission {submission.key}", field="code", remedy=remedy)
        language_refusal = ""
        if submission.language_from is LanguageFrom.REPLY and submission.code is not None:
            language_refusal = await self._explain_unsupported_language(problem, submission)
        has_program_code = has_program(problem, submission)
        if language_refusal or (not has_program_code and is_empty(problem, submission)):
            result = score_submission(
                problem,
                replace(submission, code=None),
                {},
                compiles=False,
                compile_output=language_refusal,
                checker=describe_checker(problem),
            )
            return _log_result(result)
        language = (
            find_language(submission.language, where=problem.source or problem.id)
            if has_program_code
            else None
        )
        setup = prepared_problem.setup(language, self._options)
        if language is not None and not self._trusts_submissions:
            refuse_disallowed_interpreter(language, await self._test_runner.capabilities())
        if has_program_code and self._trusts_submissions and not submission.files:
            for error in await self.find_unmet_needs(problem, language, submission.code or ""):
                raise error
        if await self._needs_classic_piston_jobs(language):
            with track_step(TESTS):
                result = await judge_by_classic_piston_jobs(self._test_runner, setup, submission)
                refuse_changed_problem_files(problem, {test.test_name for test in result.tests})
                return _log_result(result)
        for attempt in range(1, TOOLCHAIN.max_attempts + 1):
            try:
                return _log_result(await self._build_and_judge(prepared_problem, setup, submission))
            except (
                ToolchainGone
            ) as error:  # judge again from the start, so that no result mixes two toolchains
                TOOLCHAIN.log(_log, error, attempt)
        attempts_used_up = TOOLCHAIN.describe_exhaustion(TOOLCHAIN.max_attempts)
        raise JudgeFailure(
            f"servers changed their interpreter repeatedly, {attempts_used_up}", phase="judging"
        )

    async def _needs_classic_piston_jobs(self, language: Language | None) -> bool:
        """Return True if classic jobs must judge: by option, or because the engine supports nothing better.

        `language` is `None` if there is no program, or if the language is still unknown.
        """
        if self._options.job != "auto":
            return self._options.job == "classic"
        capabilities = await self._test_runner.capabilities()
        if not has_classic_piston_packages(capabilities):
            return False
        if {OWN, BASH}.isdisjoint(capabilities.runtimes):
            return True
        # An engine that confines programs has the same tools for classic and batched jobs: classic jobs do
        # not help if a tool is missing.
        if language is None or capabilities.confines or not supports_language(language, capabilities):
            return False
        return not capabilities.toolchains.keys() >= {*language.tools}

    async def _build_and_judge(
        self, prepared_problem: PreparedProblem, setup: JudgingSetup, submission: Submission
    ) -> SubmissionResult:
        test_runner, problem = self._test_runner, setup.original_problem
        if setup.language is None:
            programs = await self._artifacts.build_problem_programs(prepared_problem)
            program = setup.make_program(submission, None, programs)
            # Names of the tests that need a program. A submission of files has no program.
            test_names = (test.name for test in problem.tests if not is_answered_by_file(problem, test.name))
            missing_results = {
                name: make_missing_file_result(name) for name in test_names if name not in program.outputs
            }
            return await _SubmissionJudging(test_runner, setup, submission, program, programs).compute_result(
                missing_results
            )
        with ExitStack() as exit_stack:
            deduplication, pending_program = self._deduplication, None
            if deduplication is not None:
                pending_program = exit_stack.enter_context(deduplication.pending_programs(problem.id))
            problem_programs, build_result = await asyncio.gather(
                self._artifacts.build_problem_programs(prepared_problem),
                self._artifacts.build_submission(prepared_problem, submission),
                return_exceptions=True,
            )
            # If both builds failed, raise the error of the problem's programs.
            programs = return_or_raise(problem_programs)
            if isinstance(build_result, BaseException):
                raise build_result
            if isinstance(build_result, CompileError):
                result = score_submission(problem, submission, {}, compiles=False, checker=setup.checker_name)
                return _add_build_details(result, submission, build_result)
            program = setup.make_program(submission, build_result, programs)
            reference_check = None
            if programs.manager is not None or programs.checker is not None:
                reference_check = ReferenceSolutionCheck(
                    self._artifacts, prepared_problem, programs, self._options
                )
            judging = _SubmissionJudging(test_runner, setup, submission, program, programs, reference_check)
            if pending_program is None or deduplication is None:
                return _add_build_details(await judging.compute_result(), submission, build_result)
            identity = compute_program_identity(setup.digest, program, build_result)
            result = await deduplication.judge_once(pending_program, identity, judging.compute_result)
            return _add_build_details(replace(result, program_sha256=identity), submission, build_result)

    async def _explain_unsupported_language(self, problem: Problem, submission: Submission) -> str:
        """Return why the engine cannot run the language that the model's reply names, or an empty string."""
        capabilities, language = await self._test_runner.capabilities(), find_language(submission.language)
        if await self._needs_classic_piston_jobs(language):
            can_run = accepts_submission(problem, submission, capabilities)
        else:
            can_run = capabilities.toolchains.keys() >= {*language.tools}
        if can_run:
            return ""
        return f"the reply contains a program in {language.name}, which the engine cannot run"


@dataclass
class _SubmissionJudging:
    """Runs a submission on its tests and scores it."""

    tests: TestRunner
    setup: JudgingSetup
    submission: Submission
    program: Program
    programs: ProblemPrograms
    control: ReferenceSolutionCheck | None = None

    async def compute_result(
        self, results_without_run: Mapping[str, TestResult] = MappingProxyType({})
    ) -> SubmissionResult:
        """Run the tests that can still change the score until no test can, and return the result.

        After a stall, the remaining tests run alone, so that each test finishes in time. After a second
        stall, the submission fails the remaining tests without running.

        Args:
            results_without_run: results of tests that need not run, by test.
        """
        setup, submitted_outputs, results = self.setup, self.program.outputs, dict(results_without_run)
        confinement: Mapping[str, Any] = {}
        stall_outcome, stalled_test = StallOutcome.NONE, ""
        with track_step(TESTS):
            remaining_tests = (
                setup.schedule.list_tests_still_needed(results) if results else setup.schedule.first
            )
            while remaining_tests:
                tests_with_program = [
                    planned for planned in remaining_tests if planned.test.name not in submitted_outputs
                ]
                if stall_outcome is StallOutcome.AGAIN and tests_with_program:
                    for planned in tests_with_program:
                        results |= copy_to_duplicates(
                            planned, make_result_after_stall(planned.test.name, stalled_test)
                        )
                else:
                    batch = Batch(
                        problem=setup.stretched_problem,
                        program=self.program,
                        tests=remaining_tests,
                        options=setup.options,
                        alone=stall_outcome is not StallOutcome.NONE,
                    )
                    test_reports, new_results = await self._run_batch(batch)
                    if setup.stretched_problem is not setup.problem:
                        new_results = await self._remeasure_borderline_times(batch, new_results)
                    results |= new_results
                    if test_reports.stall is not StallOutcome.NONE:
                        stall_outcome, stalled_test = test_reports.stall, [*test_reports.lines][-1]
                    confinement = test_reports.confinement or confinement
                remaining_tests = setup.schedule.list_tests_still_needed(results)
        grades_by_question: GraderAnswers = NO_GRADER_ANSWERS
        if self.programs.grader is not None:
            grades_by_question = await grade_groups(
                self.tests, setup.problem, results, self.programs, setup.options
            )
        refuse_changed_problem_files(setup.original_problem, results)
        return score_submission(
            setup.problem,
            self.submission,
            results,
            checker=setup.checker_name,
            confinement=confinement,
            grader_answers=grades_by_question,
        )

    async def _remeasure_borderline_times(
        self, batch: Batch, first_results: Mapping[str, TestResult]
    ) -> dict[str, TestResult]:
        """Return the results after tests with borderline times have run again, alone.

        A time is borderline if it is slightly over the limit, or further over it on a crowded machine. All
        these tests run in a single batch, so that other submissions wait only once.
        """
        problem = self.setup.problem
        tests = [planned for planned in batch.tests if planned.test.name in first_results]
        results_by_test = {planned.test.name: [first_results[planned.test.name]] for planned in tests}
        while borderline_tests := tuple(
            planned for planned in tests if can_rerun_gain_points(results_by_test[planned.test.name], problem)
        ):
            BORDERLINE.log(_log, f"slightly over the limit: {_join_test_names(borderline_tests)}")
            _, new_results = await self._run_batch(replace(batch, tests=borderline_tests, alone=True))
            for planned in borderline_tests:
                test_name = planned.test.name
                results_by_test[test_name] += [new_results[test_name]] if test_name in new_results else []
        results = dict[str, TestResult]()
        for planned in tests:
            results |= copy_to_duplicates(
                planned, select_run_that_counts(results_by_test[planned.test.name], problem)
            )
        return results

    async def _run_batch(self, batch: Batch) -> tuple[TestReports, dict[str, TestResult]]:
        """Run a batch. Return the engine's reports, and the results by test, including identical tests.

        Raises JudgeFailure if a report contains a failure of the judge.
        """
        test_reports = await self.tests.run(batch)
        if self.control is not None:
            test_reports = await self.control.rerun_tests_with_reference(self.tests, batch, test_reports)
        results: dict[str, TestResult] = {}
        problem = self.setup.stretched_problem
        judge_program = (
            problem.manager if problem.manager and not problem.checker.sources else problem.checker
        )
        for planned in batch.tests:
            test = planned.test
            if (line := test_reports.lines.get(test.name)) is None:
                continue
            if line.failure is not None:
                phase = f"judging with {self.setup.checker_name}"
                raise JudgeFailure(
                    line.failure, phase=phase, test=test.name, remedy=_make_checker_remedy(problem.checker)
                )
            result = make_result_from_report(
                test.name, line, limits=problem.limits, processes=self.setup.processes
            )
            # testlib's exit codes for right and partly right answers do not depend on the test's points.
            is_partial = line.part or (
                judge_program.kind is CheckerKind.TESTLIB and result.status is Verdict.AC
            )
            if test.full is None and judge_program.full == RAW_POINTS:
                result = convert_score_to_points(result)
            elif test.full is not None and not is_partial:
                result = rescale_result(result, judge_program.full, test.full)
            log_step(_log, "test %s: %s, %.3f s", test.name, result.status, result.cpu_time or 0.0)
            results |= copy_to_duplicates(planned, result)
        return test_reports, results


def _log_result(result: SubmissionResult) -> SubmissionResult:
    """Log the verdict of a result, and return the result."""
    if _log.isEnabledFor(logging.DEBUG):
        log_step(_log, "result: %s, %g points", result.verdict, result.points)
    return result


def _add_build_details(
    result: SubmissionResult, submission: Submission, build: BuildSuccess | CompileError
) -> SubmissionResult:
    """Return the result with the key and the build of the submission.

    The result may come from an identical program. The confinement describes the tests, and also the build
    if the build reports its confinement.
    """
    confinement = {name: value for name, value in result.confinement.items() if name != _BUILD}
    return replace(
        result,
        key=submission.key,
        repairs=submission.repairs,
        compile_output=build.log,
        compiler=build.compiler,
        confinement={**confinement, _BUILD: build.confinement} if build.confinement else confinement,
    )


def _make_checker_remedy(checker: Checker) -> str:
    """Return a remedy if a CMS checker includes testlib.h, whose exit codes depend on the variant in use."""
    is_testlib = any(PurePosixPath(file.name).name == "testlib.h" for file in checker.sources)
    if checker.kind is not CheckerKind.CMS or not is_testlib:
        return ""
    return 'If its checker uses testlib\'s exit codes, set "checker": "testlib" in problem.json'


# --- is a submission to blame for the failure of a manager or a checker? -----------------------------


class ReferenceSolutionCheck:
    """A solution of the package that must be right; it is built only when a manager or a checker fails."""

    def __init__(
        self,
        artifacts: Artifacts,
        prepared_problem: PreparedProblem,
        programs: ProblemPrograms,
        options: JudgeOptions,
    ) -> None:
        self._artifacts, self._prepared = artifacts, prepared_problem
        self._programs, self._options = programs, options

    async def rerun_tests_with_reference(
        self, test_runner: TestRunner, batch: Batch, test_reports: TestReports
    ) -> TestReports:
        """Return the test reports with 0 points for tests on which the submission made the judge fail.

        The submission is to blame if a manager or a checker fails on it twice, and not on this solution. If
        a checker accepts the reference answer, the proctor itself has already blamed the submission.
        """
        failed_tests = _list_tests_failed_by_submission(batch, test_reports.lines)
        if not failed_tests or (control_batch := await self._create_control_batch(batch)) is None:
            return test_reports
        BLAME.log(_log, f"the manager broke on {', '.join(failed_tests)}")
        # Run these tests again alone, so that a busy machine cannot be the reason for a second failure.
        second_reports = await test_runner.run(_select_tests(batch, failed_tests))
        lines = {**test_reports.lines, **second_reports.lines}
        if failed_tests := _list_tests_failed_by_submission(batch, second_reports.lines):
            control_lines = (await test_runner.run(_select_tests(control_batch, failed_tests))).lines
            lines |= {
                name: _make_wrong_answer_report(lines[name])
                for name in failed_tests
                if _is_accepted(control_lines.get(name))
            }
        return msgspec.structs.replace(test_reports, lines=lines)

    async def _create_control_batch(self, batch: Batch) -> Batch | None:
        """Return the batch with this solution instead of the submission; `None` if no solution compiles."""
        problem = self._prepared.problem
        if (solution := find_right_solution(problem)) is None:
            return None
        setup = self._prepared.setup(find_language(solution.language), self._options)
        submission = Submission(
            key=solution.name,
            problem_id=problem.id,
            code=solution.code,
            language=solution.language,
            files=solution.files,
        )
        build_result = await self._artifacts.build_submission(self._prepared, submission)
        if not isinstance(build_result, BuildSuccess):
            return None
        program = setup.make_program(submission, build_result, self._programs)
        return msgspec.structs.replace(batch, problem=setup.problem, program=program)


def _list_tests_failed_by_submission(batch: Batch, reports: Mapping[str, TestReport]) -> list[str]:
    """Return the names of the tests on which the submission's output may have made the judge fail."""
    names = (planned.test.name for planned in batch.tests)
    return [name for name in names if name in reports and reports[name].provoked]


def _join_test_names(tests: Iterable[PlannedTest]) -> str:
    return ", ".join(planned.test.name for planned in tests)


def _select_tests(batch: Batch, test_names: list[str]) -> Batch:
    tests = tuple(planned for planned in batch.tests if planned.test.name in test_names)
    return msgspec.structs.replace(batch, tests=tests, alone=True)


def _is_accepted(report: TestReport | None) -> bool:
    return report is not None and report.failure is None and report.end == "ok" and report.score > 0


def _make_wrong_answer_report(report: TestReport) -> TestReport:
    feedback = f"Output isn't correct: {report.failure}, but not with the package's own right solution"
    return msgspec.structs.replace(
        report, failure=None, provoked=False, end="ok", score=0.0, feedback=feedback
    )
