"""`Scorer`, the interface for programs that score submissions on an engine."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from ioi_eval.engines.contract import OWN, Engine
from ioi_eval.engines.environment import CALLER
from ioi_eval.engines.jobs.build import Builder
from ioi_eval.engines.jobs.run import execute
from ioi_eval.engines.jobs.runner import open_test_runner
from ioi_eval.judge.classic import classic_job, read_classic_job_result
from ioi_eval.judge.deduplication import Deduplication
from ioi_eval.judge.judge import Judge
from ioi_eval.judge.programs import Artifacts
from ioi_eval.model.doing import track_submission
from ioi_eval.model.errors import EngineUnavailable, InputError, IoiEvalError
from ioi_eval.model.options import Borderline, BuildOptions, JudgeOptions
from ioi_eval.model.values import Problem, Submission, SubmissionResult, Test, TestResult
from ioi_eval.rules.verdicts import NO_CODE, make_uncompiled_result
from ioi_eval.store import Store

_T = TypeVar("_T")


class Scorer:
    """Scores submissions on an engine. The engine is opened and closed with the scorer.

        async with Scorer() as scorer:
            result = await scorer.score(problem, submission)
            print(result.points, [test.status for test in result.tests])

    `score` may be called concurrently; the engine's slots limit the number of jobs that run at the same time.
    In tests, use a `FakeEngine`:

        async with Scorer(FakeEngine({0: 1.0, 1: "cpu"})) as scorer:
            assert (await scorer.score(problem, submission)).tests[1].status == "TLE"

    Args:
        engine: Executes jobs. By default this machine.
        store: Cache of builds. By default a private folder among the temporary files, or, with `engine`, a
        folder that is removed when the scorer is closed.
        options: How submissions are judged.
        builds: How programs are built.
        trusted: Builds proctor, checkers and managers for `engine`, if it can be opened.

    Raises:
        InputError: `engine` is a string or a path.
    """

    def __init__(
        self,
        engine: Engine | None = None,
        *,
        store: Store | None = None,
        options: JudgeOptions | None = None,
        builds: BuildOptions | None = None,
        trusted: Engine | None = None,
    ) -> None:
        if isinstance(engine, str | Path):
            remedy = "Give PistonEngine(discovery(...)), EmbeddedEngine(...), or nothing for this machine"
            raise InputError(
                f"the argument `engine` must be an engine, not {str(engine)!r}", field="engine", remedy=remedy
            )
        self._engine, self._store, self._options, self._builds = engine, store, options, builds
        self._trusted_engine = trusted
        self._exit_stack = AsyncExitStack()
        self._judge: Judge | None = None

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as exit_stack:
            if (store := self._store) is None and self._engine is None:
                store = Store.private()
            elif store is None:
                temporary_folder = tempfile.TemporaryDirectory(
                    prefix="ioi-eval-store-", ignore_cleanup_errors=True
                )
                store = Store(Path(exit_stack.enter_context(temporary_folder)))
            engine = self._engine or _open_embedded_engine(store, self._options)
            test_runner = await exit_stack.enter_async_context(open_test_runner(engine, store, self._builds))
            trusted_builder: Builder | None = None
            if self._trusted_engine is not None:
                # If this machine has no compiler, the engine itself builds.
                with contextlib.suppress(EngineUnavailable):
                    scorer_folder = await exit_stack.enter_async_context(
                        open_test_runner(self._trusted_engine, store, self._builds)
                    )
                    trusted_builder = scorer_folder.builder
            limits = self._builds.limits if self._builds is not None else None
            self._judge = Judge(
                test_runner, Artifacts(test_runner.builder, limits, trusted=trusted_builder), self._options
            )
            self._exit_stack = exit_stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._judge = None
        await self._exit_stack.__aexit__(kind, error, trace)

    @property
    def judge(self) -> Judge:
        """Return the judge, for callers that run many submissions. Raises IoiEvalError if it is not open."""
        if self._judge is None:
            raise IoiEvalError("the scorer is not open: use it as `async with Scorer(engine) as scorer`")
        return self._judge

    @property
    def slots(self) -> int:
        """Return the number of builds and batches that run at the same time."""
        return self.judge.slots

    def make_judge(self, *, all_tests: bool, borderline: Borderline | None, echo: int = 0) -> Judge:
        """Return a judge with other options, which shares the engine and the built programs.

        `echo`: maximum bytes of a wrong output that a result contains.
        """
        return self.judge.with_options(all_tests=all_tests, borderline=borderline, echo=echo)

    async def prepare(self, problem: Problem) -> None:
        """Build the problem's checker and manager. Raises ProgramBroken if any of them does not compile."""
        await self.judge.prepare(problem)

    async def score(
        self, problem: Problem, submission: Submission, *, deduplication: Deduplication | None = None
    ) -> SubmissionResult:
        """Return the result of a submission: its points, and a verdict for every test.

        Args:
            problem: The problem of the submission.
            submission: The program.
            deduplication: Judges equal programs once. Pass the same object for all of them.

        Raises:
            InputError: The problem cannot be judged, or the submission names another problem or no language.
            JudgeFailure: The judge itself failed.
        """
        _check_arguments(problem, submission)
        judge = self.judge if deduplication is None else self.judge.with_options(deduplication=deduplication)
        with track_submission(submission.key, problem.id):
            return await judge.judge(problem, submission)


def check_type(value: object, expected_type: type, field: str, remedy: str) -> None:
    """Raise InputError if an argument does not have the expected type.

    Args:
        value: The argument.
        expected_type: The class of which the argument must be an instance.
        field: The argument's name, for the message.
        remedy: The text that tells the caller what to pass instead.
    """
    if not isinstance(value, expected_type):
        message = f"{field} must be a {expected_type.__name__}, not {type(value).__name__}"
        raise InputError(message, field=field, remedy=remedy)


def _check_arguments(problem: Problem, submission: Submission) -> None:
    """Raise InputError unless the arguments are a problem and a submission to it that can be judged."""
    problem_remedy = 'Give load_problems(...)["id"], or Problem.of(tests=[("1 2", "3")])'
    check_type(problem, Problem, "problem", problem_remedy)
    submission_remedy = "Give a Submission with key, problem_id, code and language"
    check_type(submission, Submission, "submission", submission_remedy)
    where = f"submission {submission.key}"
    if submission.code is not None and not submission.language:
        remedy = 'Name it, as in Submission(..., language="python")'
        raise InputError("the language of the code is missing", where=where, field="language", remedy=remedy)
    problem_names = {problem.id, f"{problem.id}@{problem.year or 'none'}"}
    is_other_year = None not in (problem.year, submission.year) and problem.year != submission.year
    if submission.problem_id in problem_names and not is_other_year:
        return
    year_phrase = f" of {submission.year}" if is_other_year else ""
    raise InputError(
        f"the submission is for problem {submission.problem_id!r}{year_phrase}, not {problem.id!r}",
        where=where,
        field="year" if is_other_year else "problem_id",
        remedy=f"Give it to the problem that it names, or set problem_id={problem.id!r}",
    )


async def run_classic(
    engine: Engine, problem: Problem, test: Test, submission: Submission, *, runtime: str = OWN
) -> TestResult:
    """Judge a test by a classic job, and return its result.

    Args:
        engine: Executes the job.
        problem: The problem of the submission.
        test: A test of the problem.
        submission: The program. Without code, the test is not run.
        runtime: The engine's runtime for the job. `OWN` starts the scripts that the job contains.

    Raises:
        InputError: The submission names another problem or no language.
        JudgeFailure: The engine fails, or classic jobs do not support the problem or the language.
    """
    _check_arguments(problem, submission)
    if submission.code is None:
        return make_uncompiled_result(test.name, NO_CODE)
    job = classic_job(problem, test, submission, runtime=runtime)
    result = await execute(engine, job, phase="judging")
    return read_classic_job_result(test, result, uses_own_scripts=runtime == OWN)


def score_sync(
    problem: Problem,
    submission: Submission,
    *,
    engine: Engine | None = None,
    store: Store | None = None,
    options: JudgeOptions | None = None,
) -> SubmissionResult:
    """Return a submission's score, for programs without an event loop.

        submission = Submission(key="1", problem_id=problem.id, code=source, language="c++")
        result = score_sync(problem, submission)

    For more than a few submissions, use a `Scorer`, which uses all cores.

    Args:
        problem: The problem of the submission.
        submission: The program.
        engine: Executes jobs. None means this machine.
        store: Cache of builds. None means a private folder among the temporary files.
        options: How submissions are judged. None means the default options.

    Raises:
        InputError: The problem cannot be judged, or the submission names another problem or no language.
        JudgeFailure: The judge itself failed.
        IoiEvalError: An event loop is already running in this thread.
    """

    async def score() -> SubmissionResult:
        async with Scorer(engine, store=store or Store.private(), options=options) as scorer:
            return await scorer.score(problem, submission)

    return run_coroutine(score, "scorer.score(...)` of an open Scorer")


def run_coroutine(call: Callable[[], Coroutine[Any, Any, _T]], suggested_expression: str) -> _T:
    """Run an async call, and return its result. Raises IoiEvalError if an event loop is running.

    `suggested_expression`: the expression that the error suggests to await instead.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(call())
    raise IoiEvalError(
        f"an event loop is already running, as in a notebook: write `await {suggested_expression}"
    )


def _open_embedded_engine(store: Store, options: JudgeOptions | None) -> Engine:
    # Imported here, because it is needed only if this machine judges.
    from ioi_eval.engines.embedded import EmbeddedEngine

    allows_unconfined = options is not None and options.allow_unconfined
    return EmbeddedEngine(store=store, allow_unconfined=allows_unconfined, python=CALLER)
