"""Judging by classic jobs, a test each: for clusters that have nothing but the packages for them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from ioi_eval.engines import Engine, Transport
from ioi_eval.engines.transport.attempts import execute
from ioi_eval.engines.transport.build_script import Ending, ending
from ioi_eval.engines.transport.engine import JobEngine
from ioi_eval.engines.transport.runtimes import OWN, has_shell
from ioi_eval.engines.values import Profile
from ioi_eval.judge.answers import checker_name
from ioi_eval.judge.classic import codeforces
from ioi_eval.judge.classic.job import classic_job, look_for_faults, read_classic
from ioi_eval.model.errors import JudgeFailure
from ioi_eval.model.options import JudgeOptions
from ioi_eval.model.values import (
    Job,
    JobResult,
    Problem,
    Stage,
    StageStatus,
    Submission,
    SubmissionResult,
    Test,
    TestResult,
    Verdict,
)
from ioi_eval.rules.plan import PlannedTest, live, share
from ioi_eval.rules.scoring import submission_result

_CLASSIC = ("cms_ioi", "cms")  # one package, two names
_AT_ONCE = 8  # tests of one submission that run at the same time, once several have passed
_COMPILE_SECONDS = 30.0  # what a server must give so that a longer build is the source's fault
_SLACK = 2000  # ms
_REMEDY = "Piston's package `bash` is all that batched jobs need, and they judge every task type"
_OVERFLOW = frozenset({StageStatus.OL, StageStatus.EL})


def is_classic(options: JudgeOptions, profile: Profile) -> bool:
    """Whether classic jobs are what judges: where that is asked for, or nothing else is possible."""
    if options.job != "auto":
        return options.job == "classic"
    packages = not set(_CLASSIC).isdisjoint(profile.runtimes) or codeforces.is_there(profile)
    return packages and not has_shell(profile)


async def judge_one_by_one(
    engine: Engine, problem: Problem, submission: Submission, options: JudgeOptions
) -> SubmissionResult:
    """What a submission with code is worth. JudgeFailure where that cannot be said by classic jobs."""
    if submission.files:
        raise JudgeFailure("a classic job holds one source, and this submission has several", remedy=_REMEDY)
    profile = await engine.profile()
    if not isinstance(engine, JobEngine):
        raise JudgeFailure(f"engine {profile.name} takes no classic jobs", phase="preparing", remedy=_REMEDY)
    run = _Run(engine.transport, problem, submission, options, profile)
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
        self,
        transport: Transport,
        problem: Problem,
        submission: Submission,
        options: JudgeOptions,
        profile: Profile,
    ) -> None:
        self._transport, self._problem, self._submission = transport, problem, submission
        self._options, self._profile = options, profile
        self.contract = self._contract()
        self.results: dict[str, TestResult] = {}

    def _contract(self) -> str:
        """Which package judges this problem: one that can, of those that are there."""
        profile, objection = self._profile, codeforces.objection(self._problem, self._submission)
        cms = next((name for name in (OWN, *_CLASSIC) if name in profile.runtimes), None)
        there = codeforces.is_there(profile)
        if cms is not None and not (there and not objection and self._objection(cms)):
            for test in self._problem.tests[:1]:
                self._job(cms, test)  # raises where this contract cannot judge
            return cms
        if there and not objection:
            return "codeforces"
        words = objection if there else f"engine {profile.name} has no package for classic jobs"
        raise JudgeFailure(words, phase="preparing", remedy=_REMEDY)

    def _objection(self, contract: str) -> str:
        try:
            for test in self._problem.tests[:1]:
                self._job(contract, test)
        except JudgeFailure as failure:
            return failure.reason
        return ""

    def _job(self, contract: str, test: Test) -> Job:
        if contract == "codeforces":
            return codeforces.codeforces_job(self._problem, test, self._submission, self._profile)
        return classic_job(self._problem, test, self._submission, runtime=contract)

    async def to_the_end(self) -> None:
        """Test by test at first: most submissions that fail do so soon."""
        at_once = 1
        while todo := live(self._problem, self.results, all_tests=self._options.all_tests):
            results = await self._together(todo[:at_once])
            for planned, result in zip(todo, results, strict=False):
                self.results |= share(planned, result)
            if any(result.status is Verdict.CE for result in results):
                return
            at_once = min(2 * at_once, _AT_ONCE)

    async def _together(self, tests: Sequence[PlannedTest]) -> list[TestResult]:
        """All of them, or the first failure as it is."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._judged(planned)) for planned in tests]
        except ExceptionGroup as errors:
            failures = errors.subgroup(JudgeFailure)
            if failures is None:
                raise
            raise failures.exceptions[0] from None
        return [task.result() for task in tasks]

    async def _judged(self, planned: PlannedTest) -> TestResult:
        test = planned.test
        job = _within(self._job(self.contract, test), self._problem, self._profile)
        result = await execute(self._transport, job, attempts=self._options.attempts, phase="judging")
        _look_for_limits(result, test, self._profile)
        if self.contract == "codeforces":
            look_for_faults(test, result, ours=False)
            return codeforces.codeforces_result(test.name, result)
        return read_classic(test, result, ours=self.contract == OWN)


# --- limits of the server ----------------------------------------------------------------------------


def _within(job: Job, problem: Problem, profile: Profile) -> Job:
    """The contract's job, with the CPU time that servers of today give only who asks for it."""
    assert job.run_timeout is not None, "the contract has a time limit"
    if profile.max_run_time is not None and profile.max_run_time < job.run_timeout:
        raise _too_short("PISTON_RUN_TIMEOUT", job.run_timeout, profile.max_run_time)
    needed = round((problem.limits.cpu_time or 0) * 1000) + _SLACK
    most = profile.max_run_cpu_time
    if most is not None and most < needed:
        raise _too_short("PISTON_RUN_CPU_TIME", needed, most)
    compiling = _least(job.compile_timeout, profile.max_compile_time) if job.compile_timeout else None
    return msgspec.structs.replace(
        job,
        run_cpu_time=_least(job.run_timeout * (problem.options.processes + 1), most),
        compile_timeout=compiling,
        compile_cpu_time=compiling,
    )


def _least(wanted: int, most: int | None) -> int:
    return wanted if most is None else min(wanted, most)


def _too_short(variable: str, needed: int, most: int) -> JudgeFailure:
    return JudgeFailure(
        f"a classic job of this problem takes {needed / 1000:g} s, the server gives it {most / 1000:g} s",
        phase="preparing",
        remedy=f"Raise {variable} on it to {needed} or more",
    )


def _look_for_limits(result: JobResult, test: Test, profile: Profile) -> None:
    """What a server's own limits end says nothing about the submission."""
    for stage in (result.compile, result.run):
        if stage is not None and stage.status in _OVERFLOW:
            raise JudgeFailure(
                "the server cut the job's output off",
                phase="judging",
                test=test.name,
                remedy="Raise PISTON_OUTPUT_MAX_SIZE on it",
            )
    most = profile.max_compile_time
    if _was_killed(result.compile) and most is not None and most < _COMPILE_SECONDS * 1000:
        raise JudgeFailure(
            f"the server stopped the compilation after {most / 1000:g} s at the latest",
            phase="compiling",
            test=test.name,
            remedy="Raise PISTON_COMPILE_TIMEOUT and PISTON_COMPILE_CPU_TIME on it to 60000",
        )
    if result.compile is not None and ending(result.compile) in (Ending.STOPPED, Ending.KILLED):
        raise JudgeFailure(
            "the compiler was stopped before its CPU time was used up", phase="compiling", test=test.name
        )


def _was_killed(stage: Stage | None) -> bool:
    return stage is not None and stage.code is None
