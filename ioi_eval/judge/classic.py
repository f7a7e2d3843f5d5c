"""Judging by classic jobs: one test per job, everything compiled each time, as today's pipelines have it.

It is the independent second path that the batched one is checked against, and what clusters take that have
only the package `cms_ioi`. Its contract hides no test from the submission: verdicts to trust are a Judge's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

import msgspec

from ioi_eval.engines.contract import CLASSIC, OWN, Capabilities, least
from ioi_eval.engines.jobs.runner import TestRunner
from ioi_eval.judge import codeforces
from ioi_eval.judge.programs import JudgingSetup, checker_name
from ioi_eval.model.errors import InputError, JudgeFailure, MachineAtFault, ungrouped
from ioi_eval.model.job import Job, JobFile, JobResult, StageStatus
from ioi_eval.model.languages import Language, find
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
from ioi_eval.rules.plan import PlannedTest, share
from ioi_eval.rules.scoring import submission_result
from ioi_eval.rules.verdicts import (
    BuildEnding,
    build_ending,
    check_graders,
    classic_outcome,
    classic_result,
    first_error,
    lacks_space,
    last_line,
    may_be_judges_fault,
    package_failure,
)
from ioi_eval.store.resources import classic_scripts

CONFIG = "graders/grader_config.json"
_GRADER = "graders/grader.cpp"  # is linked because it is there
_JUDGE_AT_FAULT = 3  # our scripts' exit code; the contract has no word for it
_NOT_COMPILED = "does not compile"  # the end of what our scripts say of a program of the package
_TASK_TYPES = frozenset({TaskType.BATCH, TaskType.COMMUNICATION})
_PROGRAMS = frozenset({CheckerKind.CMS, CheckerKind.TESTLIB})
_CHECKERS = _PROGRAMS | {CheckerKind.WHITE_DIFF, CheckerKind.STRIPPED, CheckerKind.STRIPPED_LINES}
_MAX_BLANK = 4096  # bytes of an answer that is looked at whether it is blank
_DEFAULT_TIME = 10.0  # seconds, where the problem has no limit
_MORE_TIME = 3.0  # seconds that the contract adds for the job
_COMPILE_SECONDS = 120.0  # where no server has a limit of its own


def classic_job(problem: Problem, test: Test, submission: Submission, *, runtime: str = OWN) -> Job:
    """The job of one test. `runtime="cms_ioi"` leaves the scripts to the cluster's package."""
    _check(problem, submission)
    ours = runtime == OWN
    own = (
        tuple(JobFile(name=name, content=Blob.of(text)) for name, text in classic_scripts().items())
        if ours
        else ()
    )
    files = {file.name: file for file in (*own, *_files(problem, test, submission))}
    if not ours and not list(_headers(problem)):  # the package calls the submission as the header is called
        name = _header(problem)
        files[name] = JobFile(name=name, content=Blob.of("\n"))
    return Job(
        files=tuple(files.values()),
        runtime=runtime,
        compile_timeout=round(_COMPILE_SECONDS * 1000) if ours else None,
        run_timeout=round((_time_limit(problem) + _MORE_TIME) * 1000),
        run_memory_limit=problem.limits.memory,
    )


def read_classic(test: Test, result: JobResult, *, ours: bool) -> TestResult:
    """`ours`: the scripts were, so that every exit code says whose fault it is."""
    look_for_faults(test, result, ours=ours)
    return classic_result(test.name, *classic_outcome(result))


def look_for_faults(test: Test, result: JobResult, *, ours: bool) -> None:
    """Raise for the exit codes by which our scripts say that the judge failed: pipelines score these 0."""
    compiled, run = result.compile, result.run
    if compiled is not None and compiled.code == _JUDGE_AT_FAULT:
        what = _reason(compiled.stderr)
        if what.endswith(_NOT_COMPILED):
            raise package_failure(what, compiled, test.name)
        raise JudgeFailure(what, phase="compiling", test=test.name)
    failed = run.code not in (None, 0) if ours else run.code == _JUDGE_AT_FAULT and not run.stdout
    if failed and (compiled is None or compiled.code == 0):
        raise JudgeFailure(_reason(run.stderr), phase="judging", test=test.name)


def _reason(text: str) -> str:
    return (last_line(text) or "no reason given")[:1000]


def _check_package(problem: Problem) -> None:
    """Raise for what the package of clusters judges wrongly. It hears of none of these from the job."""
    if problem.options.input_file or problem.options.output_file:
        raise JudgeFailure("the server's package cms_ioi knows no files with names", remedy=_REMEDY)
    if problem.checker.kind is CheckerKind.TESTLIB:
        raise JudgeFailure("the server's package cms_ioi reads no exit code of a checker", remedy=_REMEDY)
    headers = list(_headers(problem))
    for first in (min(headers), min(headers, key=str.lower)) if headers else ():  # as locales sort names
        if first != _header(problem):
            raise JudgeFailure(
                f"the server's package cms_ioi takes {first} for the submission's header", remedy=_REMEDY
            )
    for test in problem.tests if problem.task_type is TaskType.BATCH else ():
        answer = test.answer
        if answer is None or (answer.size <= _MAX_BLANK and not answer.read().strip(b"\n\0")):
            raise JudgeFailure(
                "without an answer the server's package cms_ioi takes the output for the score",
                test=test.name,
                remedy=_REMEDY,
            )


def _header(problem: Problem) -> str:
    return f"graders/{problem.id.lower()}.h"


def _headers(problem: Problem) -> Iterator[str]:
    """Yield the headers by which the package of clusters finds the submission: it takes the first."""
    for file in problem.grader_files:
        path = PurePosixPath(file.name)
        if path.match("graders/*.h") and path.name != "testlib.h" and file.content.size:
            yield file.name


# --- the job's files ---------------------------------------------------------------------------------


def _check(problem: Problem, submission: Submission) -> None:
    language = find(submission.language, where=problem.source or problem.id)
    if problem.task_type not in _TASK_TYPES:
        raise JudgeFailure(f"task type {problem.task_type.value} has no classic job", remedy=_REMEDY)
    if language.command != "g++":
        raise JudgeFailure(f"the classic job is for C++ submissions, not for {language.name}", remedy=_REMEDY)
    if problem.task_type is TaskType.COMMUNICATION and not problem.options.with_grader:
        raise JudgeFailure(
            "the classic job of a Communication task compiles submissions with a stub", remedy=_REMEDY
        )
    if problem.checker.kind not in _CHECKERS:
        raise JudgeFailure(f"the classic job cannot compare by {problem.checker.kind.value}", remedy=_REMEDY)
    if problem.options.prelude:
        raise JudgeFailure(
            "the classic job cannot put code in front of a submission, as this problem asks", remedy=_REMEDY
        )
    if problem.checker.kind in _PROGRAMS and problem.checker.full != 1:
        raise JudgeFailure(
            "the classic job knows fractions only, and this problem's checker gives points", remedy=_REMEDY
        )
    if problem.checker.kind in _PROGRAMS and not problem.checker.sources:
        raise InputError("the problem has no source of its checker", where=problem.source or problem.id)


def _files(problem: Problem, test: Test, submission: Submission) -> Iterator[JobFile]:
    # The keys of the contract, and a few of ours that other packages' scripts pass over.
    options = problem.options
    settings = {
        "task_type": problem.task_type.value,
        "code": problem.id.lower(),
        "time_limit": _time_limit(problem),
        "memory_limit": problem.limits.memory,
        "task_type_parameters_Communication_num_processes": options.processes,
        "task_type_parameters_Communication_user_io": options.user_io,
        "task_type_parameters_Communication_manager_args": " ".join(options.manager_args),
        "task_type_parameters_Batch_inputfile": options.input_file,
        "task_type_parameters_Batch_outputfile": options.output_file,
        "checker": problem.checker.kind.value,
        "cpp_standard": problem.cpp_standard,
    }
    yield JobFile(name=CONFIG, content=Blob.of(msgspec.json.encode(settings)))
    yield from _package_files(problem)
    code = (submission.code or "").encode(errors="surrogatepass")
    yield JobFile(name=f"graders/{problem.id.lower()}.cpp", content=Blob.of(code))
    yield JobFile(name="input.txt", content=test.input, is_reused=True)
    if test.answer is not None and test.answer.size:
        yield JobFile(name="correct_output.txt", content=test.answer, is_reused=True)


def _package_files(problem: Problem) -> Iterable[JobFile]:
    """Every grader file under its own name; the checker where the contract looks for it."""
    alone = problem.task_type is TaskType.BATCH and not problem.options.with_grader
    for file in problem.grader_files:
        if file.content.size and not (alone and file.name == _GRADER):
            yield JobFile(name=file.name, content=file.content)
    yield from _program("checker/checker.cpp", problem.checker.sources)
    if problem.manager is not None:
        yield from _program("graders/manager.cpp", problem.manager.sources)


def _program(name: str, sources: Iterable[NamedBlob]) -> Iterator[JobFile]:
    """The source that is compiled lies where the contract looks for it, the others under their own names."""
    for index, file in enumerate(sources):
        yield JobFile(name=file.name if index else name, content=file.content)


def _time_limit(problem: Problem) -> float:
    return problem.limits.cpu_time or _DEFAULT_TIME


# --- a submission, test by test ----------------------------------------------------------------------


_AT_ONCE = 8  # tests of one submission that run at the same time, once several have passed
_COMPILE_AT_LEAST = 30.0  # what a server must give so that a longer build is the source's fault
_SLACK = 2000  # ms
_REMEDY = "Piston's package `bash` is all that batched jobs need, and they judge every task type"
_OVERFLOW = frozenset({StageStatus.OL, StageStatus.EL})


def has_packages(profile: Capabilities) -> bool:
    """Return True if there are packages for classic jobs."""
    return not set(CLASSIC).isdisjoint(profile.runtimes) or codeforces.is_there(profile)


def speaks(language: Language, profile: Capabilities) -> bool:
    """Return True if a package there compiles or runs programs in this language."""
    return language.command == "g++" or (language.command == "python3" and codeforces.is_there(profile))


def takes(problem: Problem, submission: Submission, profile: Capabilities) -> bool:
    """Return True if a package there takes submissions in this language."""
    packages = codeforces.is_there(profile) and not codeforces.objection(problem, submission)
    return packages or find(submission.language).command == "g++"


async def judge_one_by_one(
    tests: TestRunner, terms: JudgingSetup, submission: Submission
) -> SubmissionResult:
    """Judge a submission with code. JudgeFailure where classic jobs cannot."""
    problem = terms.given
    if submission.files:
        raise JudgeFailure("a classic job holds one source, and this submission has several", remedy=_REMEDY)
    if (
        problem.included
        or problem.left_out
        or problem.grader
        or any(test.arguments for test in problem.tests)
    ):
        what = "puts files beside submissions, has its own grader, or a test has arguments of its own"
        raise JudgeFailure(f"problem {problem.id} {what}: no classic job has that", remedy=_REMEDY)
    run = _Run(tests, terms, submission, await tests.capabilities())
    await run.to_the_end()
    refused = next((result for result in run.results.values() if result.status is Verdict.CE), None)
    return submission_result(
        problem,
        submission,
        run.results,
        compiles=refused is None,
        compile_output=refused.feedback if refused is not None else "",
        checker=checker_name(problem),
        compiler=f"that of the server's package {run.contract}",
    )


class _Run:
    def __init__(
        self, tests: TestRunner, terms: JudgingSetup, submission: Submission, profile: Capabilities
    ) -> None:
        self._tests, self._terms, self._problem = tests, terms, terms.given
        self._submission, self._profile = submission, profile
        self.contract = self._contract()
        self.results: dict[str, TestResult] = {}

    def _contract(self) -> str:
        """Return a package that can judge this problem, of those that are there."""
        profile, objection = self._profile, codeforces.objection(self._problem, self._submission)
        cms = next((name for name in (OWN, *CLASSIC) if name in profile.runtimes), None)
        there = codeforces.is_there(profile)
        if cms is not None:
            try:
                for test in self._problem.tests[:1]:
                    self._job(cms, test)  # raises where this contract cannot judge
                if cms != OWN:
                    _check_package(self._problem)
                return cms
            except JudgeFailure:
                if objection or not there:
                    raise
        if there and not objection:
            return "codeforces"
        words = objection if there else f"engine {profile.name} has no package for classic jobs"
        raise JudgeFailure(words, phase="preparing", remedy=_REMEDY)

    def _job(self, contract: str, test: Test) -> Job:
        if contract == "codeforces":
            return codeforces.codeforces_job(self._problem, test, self._submission, self._profile)
        return classic_job(self._problem, test, self._submission, runtime=contract)

    async def to_the_end(self) -> None:
        """Test by test at first: most submissions that fail do so soon."""
        at_once = 1
        while todo := self._terms.schedule.live(self.results):
            with ungrouped(JudgeFailure):
                async with asyncio.TaskGroup() as group:
                    tasks = [group.create_task(self._judged(planned)) for planned in todo[:at_once]]
            results = [task.result() for task in tasks]
            for planned, result in zip(todo, results, strict=False):
                self.results |= share(planned, result)
            if any(result.status is Verdict.CE for result in results):
                return
            at_once = min(2 * at_once, _AT_ONCE)

    async def _judged(self, planned: PlannedTest) -> TestResult:
        test = planned.test
        result = await self._executed(self._job(self.contract, test), test)
        if self.contract == "codeforces":
            look_for_faults(test, result, ours=False)
            return codeforces.codeforces_result(test.name, result)
        source = f"graders/{self._problem.id.lower()}.cpp"
        if self.contract != OWN and may_be_judges_fault(result.compile, source):
            empty = msgspec.structs.replace(self._submission, code="")
            alone = await self._executed(classic_job(self._problem, test, empty, runtime=self.contract), test)
            check_graders(alone.compile)
        return read_classic(test, result, ours=self.contract == OWN)

    async def _executed(self, job: Job, test: Test) -> JobResult:
        job = _within(job, self._problem, self._profile)
        result = await self._tests.execute(job, phase="judging", check=_check_server)
        _look_for_limits(result, test, self._profile)
        return result


async def _check_server(result: JobResult) -> JobResult:
    """Return the result. Raise MachineAtFault if its server may have failed: another server is asked.

    The server may lack space, or kill compilers. By the contract, a program that is killed when it runs
    exceeded its time limit.
    """
    compiled = result.compile
    if compiled is not None and lacks_space(compiled):
        raise MachineAtFault(first_error(compiled), result)
    if compiled is not None and build_ending(compiled) is BuildEnding.KILLED:
        raise MachineAtFault(f"the compiler was killed: {compiled.message or compiled.signal}", result)
    return result


# --- limits of the server ----------------------------------------------------------------------------


def _within(job: Job, problem: Problem, profile: Capabilities) -> Job:
    """The contract's job, with the CPU time that servers of today give only who asks for it."""
    assert job.run_timeout is not None, "the contract has a time limit"
    if profile.max_run_time is not None and profile.max_run_time < job.run_timeout:
        raise _too_short("PISTON_RUN_TIMEOUT", job.run_timeout, profile.max_run_time)
    needed = round((problem.limits.cpu_time or 0) * 1000) + _SLACK
    most = profile.max_run_cpu_time
    if most is not None and most < needed:
        raise _too_short("PISTON_RUN_CPU_TIME", needed, most)
    compiling = least(job.compile_timeout, profile.max_compile_time) if job.compile_timeout else None
    return msgspec.structs.replace(
        job,
        run_cpu_time=least(job.run_timeout * (problem.options.processes + 1), most),
        compile_timeout=compiling,
        compile_cpu_time=compiling,
    )


def _too_short(variable: str, needed: int, most: int) -> JudgeFailure:
    return JudgeFailure(
        f"a classic job of this problem takes {needed / 1000:g} s, the server gives it {most / 1000:g} s",
        phase="preparing",
        remedy=f"Raise {variable} on it to {needed} or more, on a worker --run-timeout to {needed / 1000:g}",
    )


def _look_for_limits(result: JobResult, test: Test, profile: Capabilities) -> None:
    """Raise for stages that a server's own limits ended: they say nothing about the submission."""
    for stage in (result.compile, result.run):
        if stage is not None and stage.status in _OVERFLOW:
            raise JudgeFailure(
                "the server cut the job's output off",
                phase="judging",
                test=test.name,
                remedy="Raise PISTON_OUTPUT_MAX_SIZE on it",
            )
    most = profile.max_compile_time
    if (
        (result.compile is not None and result.compile.code is None)
        and most is not None
        and most < _COMPILE_AT_LEAST * 1000
    ):
        raise JudgeFailure(
            f"the server stopped the compilation after {most / 1000:g} s at the latest",
            phase="compiling",
            test=test.name,
            remedy="Raise PISTON_COMPILE_TIMEOUT and PISTON_COMPILE_CPU_TIME on it to 60000",
        )
    ended = None if result.compile is None else build_ending(result.compile)
    if ended in (BuildEnding.IDLED, BuildEnding.STOPPED, BuildEnding.KILLED):
        raise JudgeFailure(
            "the compiler was stopped before its CPU time was used up", phase="compiling", test=test.name
        )
