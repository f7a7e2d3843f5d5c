"""One submission at a time: built, run on the tests that matter, scored. Or a JudgeFailure."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ioi_eval.artifacts import Artifacts
from ioi_eval.artifacts.attempts import execute
from ioi_eval.artifacts.shipping import Shipping
from ioi_eval.engines import Engine
from ioi_eval.errors import JudgeFailure
from ioi_eval.judge.fitting import Fitting
from ioi_eval.judge.jobs import Batch, Program, is_by_file, run_job
from ioi_eval.judge.one_by_one import is_classic, judge_one_by_one
from ioi_eval.judge.options import JudgeOptions
from ioi_eval.judge.programs import Compiled, Judges, is_empty, program, runs_code
from ioi_eval.judge.replies import Reply, checker_name, read_reply, without_lines
from ioi_eval.languages import find
from ioi_eval.models import Problem, Profile, Submission, SubmissionResult, TestResult
from ioi_eval.plan import PlannedTest, live
from ioi_eval.scoring import submission_result
from ioi_eval.verdicts import not_submitted

_TRIES_WITHOUT_LINES = 2


class Judge:
    """Judges submissions on an engine, with what `artifacts` builds.

    Safe to be called many times at once: the engine's slots bound what really runs.
    """

    def __init__(self, engine: Engine, artifacts: Artifacts, options: JudgeOptions | None = None) -> None:
        self._engine, self._artifacts = engine, artifacts
        self._options = options or JudgeOptions()

    async def prepare(self, problem: Problem) -> None:
        """Builds what all submissions need; raises for a problem that cannot be judged."""
        if not is_classic(self._options, await self._engine.profile()):
            await self._artifacts.prepare(problem)

    async def judge(self, problem: Problem, submission: Submission) -> SubmissionResult:
        """What the submission is worth. JudgeFailure where that cannot be said."""
        if problem.unusable:
            raise JudgeFailure(problem.unusable, phase=f"problem {problem.id}")
        checker = checker_name(problem)
        if is_empty(problem, submission):
            return submission_result(problem, submission, {}, compiles=False, checker=checker)
        if is_classic(self._options, await self._engine.profile()):
            return await judge_one_by_one(self._engine, problem, submission, self._options)
        judges = Judges(
            checker=await self._artifacts.checker(problem), manager=await self._artifacts.manager(problem)
        )
        if not runs_code(problem, submission):
            run = await self._run(problem, submission, None, judges)
            return submission_result(
                problem, submission, run.results, checker=checker, confinement=run.confinement
            )
        built = await self._artifacts.submission(problem, submission)
        if built.artifact is None:
            return submission_result(
                problem, submission, {}, compiles=False, compile_output=built.log, checker=checker,
                compiler=built.compiler,
            )  # fmt: skip
        compiled = Compiled(language=find(submission.language), artifact=built.artifact)
        run = await self._run(problem, submission, compiled, judges)
        return submission_result(
            problem, submission, run.results, compile_output=built.log, checker=checker,
            compiler=built.compiler, confinement=run.confinement,
        )  # fmt: skip

    async def _run(
        self, problem: Problem, submission: Submission, compiled: Compiled | None, judges: Judges
    ) -> _Run:
        if compiled is not None:
            problem = msgspec.structs.replace(problem, limits=compiled.language.limits(problem.limits))
        profile = await self._engine.profile()
        takes_part = program(
            problem, submission, compiled, judges,
            proctor=await self._artifacts.proctor(), profile=profile, options=self._options,
        )  # fmt: skip
        run = _Run(self._engine, problem, takes_part, profile, self._options, self._artifacts.shipping)
        if compiled is None:
            run.results.update(_without_program(problem))
        await run.to_the_end()
        return run


class _Run:
    """One submission on its tests, in as many jobs as it takes."""

    def __init__(
        self,
        engine: Engine,
        problem: Problem,
        program: Program,
        profile: Profile,
        options: JudgeOptions,
        shipping: Shipping,
    ) -> None:
        self._engine, self._problem, self._program = engine, problem, program
        self._profile, self._options, self._shipping = profile, options, shipping
        self._fitting = Fitting(problem, program, profile, options, shipping)
        self.results: dict[str, TestResult] = {}
        self.confinement: Mapping[str, Any] = {}

    async def to_the_end(self) -> None:
        """Every job takes at least one test further, or the second that does not ends in a JudgeFailure."""
        without = 0
        while todo := live(self._problem, self.results, all_tests=self._options.all_tests):
            tests = await self._fitting.first(todo)
            try:
                reply, reason = await self._job(tests)
            except JudgeFailure as failure:
                if not self._fitting.adapt(failure, len(tests)):
                    raise
                continue
            self.results.update(reply.results)
            self.confinement = reply.confinement or self.confinement
            without = 0 if reply.results else without + 1
            if without == _TRIES_WITHOUT_LINES:
                phase = f"judging problem {self._problem.id}"
                raise JudgeFailure(reason, phase=phase, test=tests[0].test.name)

    async def _job(self, tests: Sequence[PlannedTest]) -> tuple[Reply, str]:
        batch = Batch.of(self._problem, tests, secrets.token_hex(16))
        job = run_job(self._problem, self._program, batch, options=self._options, profile=self._profile)
        if self._fitting.memory is not None:
            job = msgspec.structs.replace(job, run_memory_limit=self._fitting.memory)
        if not self._profile.takes_paths:
            job = await self._shipping.shipped(job, "run", self._profile)
        result = await execute(self._engine, job, attempts=self._options.attempts, phase="judging")
        return read_reply(self._problem, batch, result.run), without_lines(result.run)


def _without_program(problem: Problem) -> Iterator[tuple[str, TestResult]]:
    """The tests that ask for a program, for a submission that has only files."""
    for test in problem.tests:
        if not is_by_file(problem, test.name):
            yield test.name, not_submitted(test.name)
