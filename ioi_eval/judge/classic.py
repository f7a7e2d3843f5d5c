"""Judging with classic jobs: a single test per job, and everything is compiled each time, as in open-r1.

This is an independent second way of judging that tests compare with batched judging, and the only way on
clusters that have only the package `cms_ioi`. A classic job does not hide the test from the submission, so
use batched jobs for results that must be trusted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

import msgspec

from ioi_eval.engines.contract import CLASSIC, OWN, Capabilities, min_limit
from ioi_eval.engines.jobs.runner import TestRunner
from ioi_eval.judge import codeforces
from ioi_eval.judge.programs import JudgingSetup, describe_checker
from ioi_eval.model.errors import InputError, JudgeFailure, MachineAtFault, raise_first_error_of_group
from ioi_eval.model.job import Job, JobFile, JobResult, StageStatus
from ioi_eval.model.languages import Language, find_language
from ioi_eval.model.values import (
    Blob,
    CheckerKind,
    NamedBlob,
    Problem,
    Submission,
    SubmissionResult,
    TaskType,
    Test,
    TestResult,
    Verdict,
)
from ioi_eval.rules.plan import PlannedTest, copy_to_duplicates
from ioi_eval.rules.scoring import score_submission
from ioi_eval.rules.verdicts import (
    BuildEnding,
    check_graders,
    classic_outcome,
    classic_result,
    classify_build,
    find_first_error,
    find_last_line,
    make_compilation_failure,
    may_be_judges_fault,
    ran_out_of_space,
)
from ioi_eval.store.resources import classic_scripts

CONFIG = "graders/grader_config.json"
_GRADER = "graders/grader.cpp"  # source file of the package that is always linked if it exists
# Exit code of the bundled scripts for a failure of the judge. The contract of classic jobs does not define
# it.
_JUDGE_AT_FAULT = 3
# End of the bundled scripts' message that a program of the problem package does not compile.
_NOT_COMPILED = "does not compile"
_TASK_TYPES = frozenset({TaskType.BATCH, TaskType.COMMUNICATION})
_PROGRAMS = frozenset({CheckerKind.CMS, CheckerKind.TESTLIB})
_CHECKERS = _PROGRAMS | {CheckerKind.WHITE_DIFF, CheckerKind.STRIPPED, CheckerKind.STRIPPED_LINES}
_MAX_BLANK_BYTES = 4096  # maximum bytes of an answer that is checked for being blank
_DEFAULT_TIME_S = 10.0  # time limit in seconds if the problem has no time limit
_MORE_TIME_S = 3.0  # seconds that the contract of classic jobs adds to the time limit for the whole job
_COMPILE_TIME_S = 120.0  # maximum seconds for compiling, unless a server has a limit


def classic_job(problem: Problem, test: Test, submission: Submission, *, runtime: str = OWN) -> Job:
    """Return a classic job, which runs a submission on one test; docs/protocol.md describes batched jobs.

    Args:
        problem: The problem.
        test: The test.
        submission: A submission in C++.
        runtime: The engine's runtime for the job. With OWN the job contains the scripts that run. With any
            other runtime, such as "cms_ioi", the scripts of the cluster's package run.

    Raises:
        JudgeFailure: Classic jobs do not support the problem, or the submission's language.
        InputError: The language is unknown, or the checker's source is missing.
    """
    _refuse_unsupported_problem(problem, submission)
    has_our_scripts = runtime == OWN
    scripts = (
        tuple(
            JobFile(name=header_name, content=Blob.of(content))
            for header_name, content in classic_scripts().items()
        )
        if has_our_scripts
        else ()
    )
    file_by_name = {file.name: file for file in (*scripts, *_list_job_files(problem, test, submission))}
    # The package takes the submission's file name from a header, so a job without a header gets an empty
    # header.
    if not has_our_scripts and not list(_list_cpp_header_names(problem)):
        header_name = _make_header_name(problem)
        file_by_name[header_name] = JobFile(name=header_name, content=Blob.of("\n"))
    return Job(
        files=tuple(file_by_name.values()),
        runtime=runtime,
        compile_timeout=round(_COMPILE_TIME_S * 1000) if has_our_scripts else None,
        run_timeout=round((_get_time_limit_s(problem) + _MORE_TIME_S) * 1000),
        run_memory_limit=problem.limits.memory,
    )


def read_classic_job_result(test: Test, result: JobResult, *, uses_own_scripts: bool) -> TestResult:
    """Return the result of a test from the result of its classic job.

    `uses_own_scripts`: the bundled scripts ran. Their exit codes distinguish failures of judge and program.
    """
    raise_judge_failures(test, result, uses_own_scripts=uses_own_scripts)
    return classic_result(test.name, *classic_outcome(result))


def raise_judge_failures(test: Test, result: JobResult, *, uses_own_scripts: bool) -> None:
    """Raise JudgeFailure if the exit code reports a failure of the judge. Other pipelines score this as 0."""
    compile_ending, run_ending = result.compile, result.run
    if compile_ending is not None and compile_ending.code == _JUDGE_AT_FAULT:
        reason = _find_failure_reason(compile_ending.stderr)
        if reason.endswith(_NOT_COMPILED):
            raise make_compilation_failure(reason, compile_ending, test.name)
        raise JudgeFailure(reason, phase="compiling", test=test.name)
    has_failed = (
        run_ending.code not in (None, 0)
        if uses_own_scripts
        else run_ending.code == _JUDGE_AT_FAULT and not run_ending.stdout
    )
    if has_failed and (compile_ending is None or compile_ending.code == 0):
        raise JudgeFailure(_find_failure_reason(run_ending.stderr), phase="judging", test=test.name)


def _find_failure_reason(output: str) -> str:
    return (find_last_line(output) or "unknown reason")[:1000]


def _refuse_unsafe_cms_problem(problem: Problem) -> None:
    """Raise JudgeFailure if the package `cms_ioi` would give the problem wrong verdicts without an error."""
    if problem.options.input_file or problem.options.output_file:
        raise JudgeFailure(
            "the server's package cms_ioi does not support named input and output files", remedy=_REMEDY
        )
    if problem.checker.kind is CheckerKind.TESTLIB:
        raise JudgeFailure("the server's package cms_ioi ignores the exit code of a checker", remedy=_REMEDY)
    header_names = list(_list_cpp_header_names(problem))
    # The server's locale decides which header sorts first: by bytes, or ignoring upper and lower case.
    for first_header in (min(header_names), min(header_names, key=str.lower)) if header_names else ():
        if first_header != _make_header_name(problem):
            raise JudgeFailure(
                f"the server's package cms_ioi would use {first_header} as the submission's header",
                remedy=_REMEDY,
            )
    for test in problem.tests if problem.task_type is TaskType.BATCH else ():
        answer = test.answer
        if answer is None or (answer.size <= _MAX_BLANK_BYTES and not answer.read().strip(b"\n\0")):
            raise JudgeFailure(
                "without an answer the server's package cms_ioi would use the program's output as the score",
                test=test.name,
                remedy=_REMEDY,
            )


def _make_header_name(problem: Problem) -> str:
    return f"graders/{problem.id.lower()}.h"


def _list_cpp_header_names(problem: Problem) -> Iterator[str]:
    """Yield the headers that the package `cms_ioi` finds; it names the submission after the first header."""
    for file in problem.grader_files:
        path = PurePosixPath(file.name)
        if path.match("graders/*.h") and path.name != "testlib.h" and file.content.size:
            yield file.name


# --- files of a classic job --------------------------------------------------------------------------


def _refuse_unsupported_problem(problem: Problem, submission: Submission) -> None:
    language = find_language(submission.language, where=problem.source or problem.id)
    if problem.task_type not in _TASK_TYPES:
        raise JudgeFailure(f"classic jobs do not support task type {problem.task_type.value}", remedy=_REMEDY)
    if language.command != "g++":
        raise JudgeFailure(f"classic jobs support C++ submissions only, not {language.name}", remedy=_REMEDY)
    if problem.task_type is TaskType.COMMUNICATION and not problem.options.with_grader:
        raise JudgeFailure(
            "a classic job of a Communication task requires a grader, and this problem has none",
            remedy=_REMEDY,
        )
    if problem.checker.kind not in _CHECKERS:
        raise JudgeFailure(
            f"classic jobs do not support the comparison {problem.checker.kind.value}", remedy=_REMEDY
        )
    if problem.options.prelude:
        raise JudgeFailure(
            "this problem inserts code before the submission, and classic jobs do not support that",
            remedy=_REMEDY,
        )
    if problem.checker.kind in _PROGRAMS and problem.checker.full != 1:
        raise JudgeFailure(
            "this problem's checker returns points, and classic jobs support fractions only", remedy=_REMEDY
        )
    if problem.checker.kind in _PROGRAMS and not problem.checker.sources:
        raise InputError("the checker's source is missing", where=problem.source or problem.id)


def _list_job_files(problem: Problem, test: Test, submission: Submission) -> Iterator[JobFile]:
    # The job's options: keys of the contract, and additional keys that scripts of other packages ignore.
    options = problem.options
    job_settings = {
        "task_type": problem.task_type.value,
        "code": problem.id.lower(),
        "time_limit": _get_time_limit_s(problem),
        "memory_limit": problem.limits.memory,
        "task_type_parameters_Communication_num_processes": options.processes,
        "task_type_parameters_Communication_user_io": options.user_io,
        "task_type_parameters_Communication_manager_args": " ".join(options.manager_args),
        "task_type_parameters_Batch_inputfile": options.input_file,
        "task_type_parameters_Batch_outputfile": options.output_file,
        "checker": problem.checker.kind.value,
        "cpp_standard": problem.cpp_standard,
    }
    yield JobFile(name=CONFIG, content=Blob.of(msgspec.json.encode(job_settings)))
    yield from _list_package_files(problem)
    source_code = (submission.code or "").encode(errors="surrogatepass")
    yield JobFile(name=f"graders/{problem.id.lower()}.cpp", content=Blob.of(source_code))
    yield JobFile(name="input.txt", content=test.input)
    if test.answer is not None and test.answer.size:
        yield JobFile(name="correct_output.txt", content=test.answer)


def _list_package_files(problem: Problem) -> Iterable[JobFile]:
    """Yield the grader's files, the checker and the manager, under the names that the contract expects."""
    has_no_grader = problem.task_type is TaskType.BATCH and not problem.options.with_grader
    for file in problem.grader_files:
        if file.content.size and not (has_no_grader and file.name == _GRADER):
            yield JobFile(name=file.name, content=file.content)
    yield from _list_program_files("checker/checker.cpp", problem.checker.sources)
    if problem.manager is not None:
        yield from _list_program_files("graders/manager.cpp", problem.manager.sources)


def _list_program_files(main_name: str, sources: Iterable[NamedBlob]) -> Iterator[JobFile]:
    """Yield a program's sources. The main source is renamed to `main_name`."""
    for index, source in enumerate(sources):
        yield JobFile(name=source.name if index else main_name, content=source.content)


def _get_time_limit_s(problem: Problem) -> float:
    return problem.limits.cpu_time or _DEFAULT_TIME_S


# --- judging a submission test by test ---------------------------------------------------------------


# Maximum number of a submission's tests that run at the same time; the number is doubled after each group.
_MAX_CONCURRENT_TESTS = 8
# If a server allows fewer seconds for compiling, a build that is stopped is not the source's fault.
_MIN_COMPILE_TIME_S = 30.0
_SLACK_MS = 2000
_REMEDY = "Install Piston's package `bash`: batched jobs need no other package, and judge every task type"
_OVERFLOW = frozenset({StageStatus.OL, StageStatus.EL})


def has_classic_piston_packages(capabilities: Capabilities) -> bool:
    """Return True if the engine has packages for classic jobs."""
    return not set(CLASSIC).isdisjoint(capabilities.runtimes) or codeforces.has_codeforces_package(
        capabilities
    )


def supports_language(language: Language, capabilities: Capabilities) -> bool:
    """Return True if a package of the engine compiles or runs programs in this language."""
    return language.command == "g++" or (
        language.command == "python3" and codeforces.has_codeforces_package(capabilities)
    )


def accepts_submission(problem: Problem, submission: Submission, capabilities: Capabilities) -> bool:
    """Return True if a package of the engine accepts submissions in this language."""
    is_accepted_by_codeforces = codeforces.has_codeforces_package(
        capabilities
    ) and not codeforces.explain_codeforces_refusal(problem, submission)
    return is_accepted_by_codeforces or find_language(submission.language).command == "g++"


async def judge_by_classic_piston_jobs(
    test_runner: TestRunner, setup: JudgingSetup, submission: Submission
) -> SubmissionResult:
    """Judge a submission with a program. Raises JudgeFailure if classic jobs cannot judge it."""
    problem = setup.original_problem
    if submission.files:
        raise JudgeFailure(
            "a classic job supports a single source, and this submission has several", remedy=_REMEDY
        )
    if (
        problem.included
        or problem.left_out
        or problem.grader
        or any(test.arguments for test in problem.tests)
    ):
        unsupported_features = "adds files to submissions, has a custom grader, or has a test with arguments"
        raise JudgeFailure(
            f"problem {problem.id} {unsupported_features}: classic jobs do not support that", remedy=_REMEDY
        )
    judging = _ClassicJobJudging(test_runner, setup, submission, await test_runner.capabilities())
    await judging.run_all()
    compile_error = next((result for result in judging.results.values() if result.status is Verdict.CE), None)
    return score_submission(
        problem,
        submission,
        judging.results,
        compiles=compile_error is None,
        compile_output=compile_error.feedback if compile_error is not None else "",
        checker=describe_checker(problem),
        compiler=f"compiler of the server's package {judging.job_format}",
    )


class _ClassicJobJudging:
    """The judging of a submission by classic jobs: its tests, and their results so far."""

    def __init__(
        self, test_runner: TestRunner, setup: JudgingSetup, submission: Submission, capabilities: Capabilities
    ) -> None:
        self._test_runner, self._setup, self._problem = test_runner, setup, setup.original_problem
        self._submission, self._capabilities = submission, capabilities
        self.job_format = self._choose_package_or_codeforces()
        self.results: dict[str, TestResult] = {}

    def _choose_package_or_codeforces(self) -> str:
        """Return a format of classic jobs in which the engine can judge this problem: a package's name or
        `codeforces`.
        """
        capabilities, codeforces_refusal = (
            self._capabilities,
            codeforces.explain_codeforces_refusal(self._problem, self._submission),
        )
        cms_package = next((name for name in (OWN, *CLASSIC) if name in capabilities.runtimes), None)
        has_codeforces_package = codeforces.has_codeforces_package(capabilities)
        if cms_package is not None:
            try:
                for test in self._problem.tests[:1]:
                    # Raises a JudgeFailure if a classic job cannot judge the problem.
                    self._create_job(cms_package, test)
                if cms_package != OWN:
                    _refuse_unsafe_cms_problem(self._problem)
                return cms_package
            except JudgeFailure:
                if codeforces_refusal or not has_codeforces_package:
                    raise
        if has_codeforces_package and not codeforces_refusal:
            return "codeforces"
        problem = (
            codeforces_refusal
            if has_codeforces_package
            else f"engine {capabilities.name} lacks a package for classic jobs"
        )
        raise JudgeFailure(problem, phase="preparing", remedy=_REMEDY)

    def _create_job(self, job_format: str, test: Test) -> Job:
        if job_format == "codeforces":
            return codeforces.make_codeforces_job(self._problem, test, self._submission, self._capabilities)
        return classic_job(self._problem, test, self._submission, runtime=job_format)

    async def run_all(self) -> None:
        """Run the tests that can still change the score until no test can.

        It starts with a single test, because submissions that fail usually fail on the first tests.
        """
        max_running_tests = 1
        while open_tests := self._setup.schedule.list_tests_still_needed(self.results):
            with raise_first_error_of_group(JudgeFailure):
                async with asyncio.TaskGroup() as group:
                    tasks = [
                        group.create_task(self._run_test(planned))
                        for planned in open_tests[:max_running_tests]
                    ]
            results = [task.result() for task in tasks]
            for planned, result in zip(open_tests, results, strict=False):
                self.results |= copy_to_duplicates(planned, result)
            if any(result.status is Verdict.CE for result in results):
                return
            max_running_tests = min(2 * max_running_tests, _MAX_CONCURRENT_TESTS)

    async def _run_test(self, planned_test: PlannedTest) -> TestResult:
        test = planned_test.test
        result = await self._execute_job(self._create_job(self.job_format, test), test)
        if self.job_format == "codeforces":
            raise_judge_failures(test, result, uses_own_scripts=False)
            return codeforces.read_codeforces_result(test.name, result)
        source_name = f"graders/{self._problem.id.lower()}.cpp"
        if self.job_format != OWN and may_be_judges_fault(result.compile, source_name):
            empty_submission = msgspec.structs.replace(self._submission, code="")
            job = classic_job(self._problem, test, empty_submission, runtime=self.job_format)
            check_graders((await self._execute_job(job, test)).compile)
        return read_classic_job_result(test, result, uses_own_scripts=self.job_format == OWN)

    async def _execute_job(self, job: Job, test: Test) -> JobResult:
        job = _limit_job(job, self._problem, self._capabilities)
        result = await self._test_runner.execute(job, phase="judging", check=_raise_if_server_at_fault)
        _raise_server_limit_failures(result, test, self._capabilities)
        return result


async def _raise_if_server_at_fault(result: JobResult) -> JobResult:
    """Return the job's result. Raise MachineAtFault if the server may be at fault: another server tries next.

    The server may lack space, or kill compilers. By the contract, a program that is killed when it runs
    exceeded its time limit.
    """
    compile_ending = result.compile
    if compile_ending is not None and ran_out_of_space(compile_ending):
        raise MachineAtFault(find_first_error(compile_ending), result)
    if compile_ending is not None and classify_build(compile_ending) is BuildEnding.KILLED:
        raise MachineAtFault(
            f"the compiler was killed: {compile_ending.message or compile_ending.signal}", result
        )
    return result


# --- limits of the server for a job ------------------------------------------------------------------


def _limit_job(job: Job, problem: Problem, capabilities: Capabilities) -> Job:
    """Return the job with CPU time limits, because recent servers have a low default for them.

    Raises JudgeFailure if the server's limits are too low for the job.
    """
    assert job.run_timeout is not None, "the contract has a time limit"
    if capabilities.max_run_time is not None and capabilities.max_run_time < job.run_timeout:
        raise _make_low_limit_error("PISTON_RUN_TIMEOUT", job.run_timeout, capabilities.max_run_time)
    needed_ms = round((problem.limits.cpu_time or 0) * 1000) + _SLACK_MS
    max_run_cpu_ms = capabilities.max_run_cpu_time
    if max_run_cpu_ms is not None and max_run_cpu_ms < needed_ms:
        raise _make_low_limit_error("PISTON_RUN_CPU_TIME", needed_ms, max_run_cpu_ms)
    compile_limit_ms = (
        min_limit(job.compile_timeout, capabilities.max_compile_time) if job.compile_timeout else None
    )
    return msgspec.structs.replace(
        job,
        run_cpu_time=min_limit(job.run_timeout * (problem.options.processes + 1), max_run_cpu_ms),
        compile_timeout=compile_limit_ms,
        compile_cpu_time=compile_limit_ms,
    )


def _make_low_limit_error(env_variable: str, needed_ms: int, max_ms: int) -> JudgeFailure:
    needed_s = f"{needed_ms / 1000:g}"
    return JudgeFailure(
        f"a classic job of this problem needs {needed_s} s, but the server's limit is {max_ms / 1000:g} s",
        phase="preparing",
        remedy=f"Raise {env_variable} on it to {needed_ms} or more, on a worker --set run-timeout={needed_s}",
    )


def _raise_server_limit_failures(result: JobResult, test: Test, capabilities: Capabilities) -> None:
    """Raise JudgeFailure if a server's limits stopped a stage: that is not the submission's fault."""
    for stage in (result.compile, result.run):
        if stage is not None and stage.status in _OVERFLOW:
            raise JudgeFailure(
                "the server truncated the job's output",
                phase="judging",
                test=test.name,
                remedy="Raise PISTON_OUTPUT_MAX_SIZE on it",
            )
    max_compile_ms = capabilities.max_compile_time
    if (
        (result.compile is not None and result.compile.code is None)
        and max_compile_ms is not None
        and max_compile_ms < _MIN_COMPILE_TIME_S * 1000
    ):
        raise JudgeFailure(
            f"the server stopped the compilation at its limit of {max_compile_ms / 1000:g} s",
            phase="compiling",
            test=test.name,
            remedy="Raise PISTON_COMPILE_TIMEOUT and PISTON_COMPILE_CPU_TIME on it to 60000",
        )
    build_ending = None if result.compile is None else classify_build(result.compile)
    if build_ending in (BuildEnding.IDLED, BuildEnding.STOPPED, BuildEnding.KILLED):
        raise JudgeFailure(
            "the compiler was stopped before its CPU time was used up", phase="compiling", test=test.name
        )
