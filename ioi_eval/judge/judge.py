"""One submission at a time: built, run on the tests that matter, scored. Or a JudgeFailure."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ioi_eval.artifacts import Artifacts
from ioi_eval.artifacts.attempts import execute
from ioi_eval.engines import Engine
from ioi_eval.errors import JudgeFailure
from ioi_eval.judge.jobs import Batch, Program, checker_limits, run_job
from ioi_eval.judge.options import JudgeOptions
from ioi_eval.judge.replies import Reply, checker_name, read_reply, without_lines
from ioi_eval.languages import Language, find
from ioi_eval.models import (
    Blob,
    JobFile,
    Problem,
    Profile,
    Submission,
    SubmissionResult,
    TaskType,
    TestResult,
)
from ioi_eval.plan import PlannedTest, batches, live
from ioi_eval.protocol.proctor import PlanChecker, PlanLimits, PlanSubmission
from ioi_eval.scoring import submission_result

_JUDGED = frozenset({TaskType.BATCH})
_TRIES_WITHOUT_LINES = 2
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
_CHECKER = "checker"


class Judge:
    """Judges submissions on an engine, with what `artifacts` builds.

    Safe to be called many times at once: the engine's slots bound what really runs.
    """

    def __init__(self, engine: Engine, artifacts: Artifacts, options: JudgeOptions | None = None) -> None:
        self._engine, self._artifacts = engine, artifacts
        self._options = options or JudgeOptions()

    async def prepare(self, problem: Problem) -> None:
        """Builds what all submissions need; raises for a problem that cannot be judged."""
        _check_task_type(problem)
        await self._artifacts.prepare(problem)

    async def judge(self, problem: Problem, submission: Submission) -> SubmissionResult:
        """What the submission is worth. JudgeFailure where that cannot be said."""
        _check_task_type(problem)
        checker = checker_name(problem)
        if submission.code is None:
            return submission_result(problem, submission, {}, compiles=False, checker=checker)
        language = find(submission.language)
        checker_program = await self._artifacts.checker(problem)
        built = await self._artifacts.submission(problem, submission)
        if built.artifact is None:
            return submission_result(
                problem, submission, {}, compiles=False, compile_output=built.log, checker=checker,
                compiler=built.compiler,
            )  # fmt: skip
        profile = await self._engine.profile()
        program = Program(
            proctor=await self._artifacts.proctor(),
            submission=_submission(language, profile, problem.limits.memory),
            checker=self._checker(problem, checker_program),
            files=_files(language, built.artifact, checker_program),
        )
        limited = msgspec.structs.replace(problem, limits=language.limits(problem.limits))
        run = _Run(self._engine, limited, program, profile, self._options)
        await run.to_the_end()
        return submission_result(
            problem, submission, run.results, compile_output=built.log, checker=checker,
            compiler=built.compiler, confinement=run.confinement,
        )  # fmt: skip

    def _checker(self, problem: Problem, program: Blob | None) -> PlanChecker:
        checker = problem.checker
        return PlanChecker(
            kind=checker.kind.value,
            argv=(_CHECKER, *checker.arguments) if program is not None else (),
            limits=checker_limits(self._options.checker) if program is not None else PlanLimits(),
            case_sensitive=checker.case_sensitive,
            space_sensitive=checker.space_sensitive,
            absolute=checker.absolute,
            relative=checker.relative,
            full=checker.full,
        )


class _Run:
    """One submission on its tests, in as many jobs as it takes."""

    def __init__(
        self, engine: Engine, problem: Problem, program: Program, profile: Profile, options: JudgeOptions
    ) -> None:
        self._engine, self._problem, self._program = engine, problem, program
        self._profile, self._options = profile, options
        self.results: dict[str, TestResult] = {}
        self.confinement: Mapping[str, Any] = {}

    async def to_the_end(self) -> None:
        """Every job takes at least one test further, or the second that does not ends in a JudgeFailure."""
        without = 0
        while todo := live(self._problem, self.results, all_tests=self._options.all_tests):
            tests = batches(todo, min(self._options.max_tests, self._profile.max_files))[0]
            reply, reason = await self._job(tests)
            self.results.update(reply.results)
            self.confinement = reply.confinement or self.confinement
            without = 0 if reply.results else without + 1
            if without == _TRIES_WITHOUT_LINES:
                phase = f"judging problem {self._problem.id}"
                raise JudgeFailure(reason, phase=phase, test=tests[0].test.name)

    async def _job(self, tests: Sequence[PlannedTest]) -> tuple[Reply, str]:
        batch = Batch.of(self._problem, tests, secrets.token_hex(16))
        job = run_job(self._problem, self._program, batch, options=self._options, profile=self._profile)
        result = await execute(self._engine, job, attempts=self._options.attempts, phase="judging")
        return read_reply(self._problem, batch, result.run), without_lines(result.run)


def _check_task_type(problem: Problem) -> None:
    if problem.task_type not in _JUDGED:
        kind = problem.task_type.value
        raise JudgeFailure(f"problem {problem.id} is of type {kind}, which is not judged yet")


def _submission(language: Language, profile: Profile, memory: int | None) -> PlanSubmission:
    tool = profile.toolchains.get(language.command)
    argv = language.run(tool.path if tool is not None else "", memory)
    return PlanSubmission(
        argv=argv,
        files=tuple(word for word in argv[1:] if word == language.artifact_name),
        env=_ENVIRONMENT,
        threads=language.threads,
        proc=language.proc,
        address_space=language.address_space,
    )


def _files(language: Language, artifact: Blob, checker: Blob | None) -> tuple[JobFile, ...]:
    submission = JobFile(name=language.artifact_name, content=artifact, executable=True)
    if checker is None:
        return (submission,)
    return submission, JobFile(name=_CHECKER, content=checker, executable=True)
