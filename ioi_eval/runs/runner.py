"""Judge many submissions: several at a time, equal submissions once. Each result is written at once.

Only keys and submissions in progress are in memory, so a dump may be of any size.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter, deque
from collections.abc import (
    AsyncIterable,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Set,
    Sized,
)
from itertools import islice
from typing import Any, Protocol, runtime_checkable

import msgspec

from ioi_eval.judge.deduplication import mark_as_repeated
from ioi_eval.model.doing import BUILD, TrackedSubmission, track_submission
from ioi_eval.model.errors import (
    EngineError,
    InputError,
    IoiEvalError,
    JudgeFailure,
    ProgramBroken,
    raise_first_error_of_group,
)
from ioi_eval.model.values import Problem, Submission, SubmissionResult, Verdict
from ioi_eval.rules import scoring
from ioi_eval.runs.engine import cancel_tasks
from ioi_eval.runs.events import (
    Event,
    Overloaded,
    RunFinished,
    RunStarted,
    RunSummary,
    SubmissionFailed,
    SubmissionJudged,
    SubmissionsNow,
)
from ioi_eval.store import rows
from ioi_eval.store.folder import ActiveSubmission

_log = logging.getLogger(__name__)
# Number of a dump's submissions whose languages are checked before the first submission is judged.
_LANGUAGE_SAMPLE = 10_000
_MAX_WAITING = 64  # maximum number of submissions that wait for the result of an equal submission
_WORKER_CHECK_S = 1.0  # seconds between two checks whether more workers are needed
_PROGRESS_S = 1.0  # seconds between two events about active submissions
# Maximum number of submissions in such an event, and maximum characters of a name.
_MAX_REPORTED, _MAX_NAME = 30, 200
# Minimum seconds of computing and of waiting before overload is reported, because short programs may wait by
# chance.
_MIN_COMPUTED_S, _MIN_WAITED_S = 2.0, 10.0
_NOT_RUN = frozenset({Verdict.SKIPPED, Verdict.CE})


class SubmissionJudge(Protocol):
    """The part of the judge that the runner uses."""

    async def judge(self, problem: Problem, submission: Submission) -> SubmissionResult:
        """Return the result of a submission. Raise JudgeFailure if the judge itself fails."""
        ...


class ResultStore(Protocol):
    """The storage of earlier and new results: a run's `ResultLog`, or a cache."""

    @property
    def done(self) -> Set[str]:
        """Return the keys of the submissions that have a result."""
        ...

    def find_result(self, submission_identity: str, problem_label: str) -> dict[str, Any] | None:
        """Return a row with this identity, from this run or another, or None."""
        ...

    def has_same_program(self, key: str, submission_sha256: str, program_sha256: str) -> bool:
        """Return True if the row with this key has this identity and this hash of the program."""
        ...

    def start_run(self) -> None:
        """Create the files of the run."""
        ...

    def record_result(self, row: Mapping[str, Any], *, is_earlier: bool = False) -> None:
        """Write the row of a result. `is_earlier`: the result comes from an earlier row."""
        ...

    def record_failure(self, row: Mapping[str, Any]) -> None:
        """Write the row of a judge failure."""
        ...


@runtime_checkable
class IndexedSubmissions(Protocol):
    """Submissions that were read before: their keys are distinct, and their problems exist."""

    @property
    def problem_ids(self) -> Mapping[str, str]:
        """Return the problem of each submission, by key."""
        ...

    def __iter__(self) -> Iterator[Submission]: ...


# --- the run -----------------------------------------------------------------------------------------


async def judge_all(
    judge: SubmissionJudge,
    problems: Mapping[str, Problem],
    submissions: Iterable[Submission] | AsyncIterable[Submission],
    journal: ResultStore,
    *,
    workers: int | Callable[[], int],
    check_languages: Callable[[Collection[str]], Awaitable[object]] | None = None,
    prepare_problem: Callable[[Problem], Awaitable[object]] | None = None,
    add_limits: Callable[[Problem], Awaitable[Problem]] | None = None,
    expected_count: int | None = None,
    shares_results: bool = True,
    stores_outputs: bool = False,
    on_event: Callable[[Event], None] | None = None,
) -> RunSummary:
    """Judge all submissions without a result in the journal, and return a summary.

    Submissions with a length are read once before the first is judged. Then an unknown problem or a duplicate
    key stops the run before anything is written. Submissions without a length are judged as they arrive.

    If the call is cancelled, the journal contains complete results, and the next run continues.

    Args:
        judge: Judges a submission.
        problems: The problems by label.
        submissions: The submissions. They may be a stream, from a model that is still writing.
        journal: Stores the results, and contains earlier results.
        workers: Number of submissions at a time, or a function that returns it, for engines that grow.
        check_languages: Called with the languages of the submissions before anything is built. It raises an
            error if any of these languages cannot be judged. Submissions without a length are not checked.
        prepare_problem: Builds the programs of a problem. If it fails for all problems, the run stops. If it
            fails for some problems, only their submissions fail.
        add_limits: Returns the problem with the limits for judging.
        expected_count: Number of submissions without a length, for events.
        shares_results: Judge equal submissions once.
        stores_outputs: Store the start of outputs in rows.
        on_event: Receives events.

    Raises:
        InputError: A problem is unknown, a key occurs twice, or `workers` is less than 1.
        ProgramBroken: No problem can be prepared.
    """
    if isinstance(workers, int) and workers < 1:
        raise InputError(
            f"the number of workers must be at least 1, not {workers}",
            field="workers",
            remedy="Give at least one worker",
        )
    judging_run = _JudgingRun(
        judge, problems, journal, add_limits, shares_results, stores_outputs, on_event or (lambda event: None)
    )
    needed_problems, source = (
        judging_run.find_needed_problems(submissions, expected_count),
        _SubmissionSource(submissions),
    )
    # Errors that the caller can fix are raised first, before errors of callbacks such as `on_event`.
    with raise_first_error_of_group(Exception), raise_first_error_of_group(InputError):
        if check_languages is not None:
            await check_languages(judging_run.languages)
        if prepare_problem is not None:
            await prepare_problems(prepare_problem, needed_problems)
        await judging_run.run_workers(source, workers)
    return judging_run.finish()


class _SubmissionSource:
    """Returns submissions to workers, one by one. Only one worker at a time waits for a stream."""

    def __init__(self, submissions: Iterable[Submission] | AsyncIterable[Submission]) -> None:
        # No set of keys is needed if the submissions were read before, because their keys are then distinct.
        self._known_keys = None if isinstance(submissions, IndexedSubmissions) else set[str]()
        self._row_iterator: Iterator[Submission] | None = None
        if isinstance(submissions, Iterable):
            self._row_iterator = iter(submissions)
        else:
            self._stream, self._stream_lock = aiter(submissions), asyncio.Lock()

    async def next_submission(self) -> Submission | None:
        """Return the next submission, or None after the last."""
        if self._row_iterator is not None:
            submission = next(self._row_iterator, None)
        else:
            async with self._stream_lock:
                submission = await anext(self._stream, None)
        if submission is not None and self._known_keys is not None:
            _refuse_duplicate_key(submission.key, self._known_keys)
        return submission


def _refuse_duplicate_key(key: str, known_keys: set[str]) -> None:
    """Add the key to `known_keys`. A key that was already in it is an InputError."""
    if key in known_keys:
        raise InputError(
            f"duplicate key {key!r}",
            field="key",
            remedy="Give every row a unique id, or omit the id column",
        )
    known_keys.add(key)


class _EqualSubmissions:
    """Equal submissions without a result. The first of them is judged, and the rest wait for its result."""

    def __init__(self, problem: Problem, first_submission: Submission, identity: str) -> None:
        self.problem, self.identity = problem, identity
        self.waiting_submissions = deque([first_submission])
        self.end_event = asyncio.Event()


class _JudgingRun:
    """The state of a call of `judge_all`."""

    def __init__(
        self,
        judge: SubmissionJudge,
        problems: Mapping[str, Problem],
        journal: ResultStore,
        add_limits: Callable[[Problem], Awaitable[Problem]] | None,
        shares_results: bool,
        stores_outputs: bool,
        on_event: Callable[[Event], None],
    ) -> None:
        self._judge, self._problems, self._journal, self._on_event = judge, problems, journal, on_event
        self._add_limits = add_limits
        self._shares_results, self._stores_outputs = shares_results, stores_outputs
        self._equal_submissions_by_identity: dict[str, _EqualSubmissions] = {}  # by identity
        # Submissions in progress, in the order in which they started.
        self._active_submissions = dict[TrackedSubmission, None]()
        self._outcome_counts: Counter[str] = Counter()
        self._verdict_counts: Counter[str] = Counter()
        self._overload_detector = OverloadDetector()
        self._are_skipped_counted = False  # True if find_needed_problems has counted the skipped submissions
        self.languages = set[str]()  # languages of the submissions that will be judged

    # --- before judging ---

    def find_needed_problems(
        self, submissions: Iterable[Submission] | AsyncIterable[Submission], expected_count: int | None
    ) -> list[Problem]:
        """Read all submissions, emit `RunStarted`, and return the problems with submissions to judge.

        A stream without a length is not read: `expected_count` is its number of submissions, for the event.
        """
        if isinstance(submissions, IndexedSubmissions):
            return self._find_needed_problems_by_index(submissions)
        if not isinstance(submissions, Sized) or not isinstance(submissions, Iterable):
            self._on_event(RunStarted(total=expected_count, skipped=len(self._journal.done)))
            return []
        known_keys = set[str]()
        skipped_count = 0
        needed_problems = dict[str, Problem]()
        for submission in submissions:
            _refuse_duplicate_key(submission.key, known_keys)
            problem = self._find_problem(submission)
            if submission.key in self._journal.done:
                skipped_count += 1
            else:
                needed_problems[submission.problem_id] = problem
                if submission.code is not None:
                    self.languages.add(submission.language)
        self._on_event(RunStarted(total=len(known_keys), skipped=skipped_count))
        return list(needed_problems.values())

    def _find_needed_problems_by_index(self, submissions: IndexedSubmissions) -> list[Problem]:
        """Do the same as `find_needed_problems`, but read only the first submissions to find languages."""
        problem_id_by_key, done_keys = submissions.problem_ids, self._journal.done
        open_count, needed_problems = 0, dict[str, Problem]()
        for key in problem_id_by_key:
            if key not in done_keys:
                open_count += 1
                problem_id = problem_id_by_key[key]
                needed_problems[problem_id] = self._problems[problem_id]
        self._are_skipped_counted, self._outcome_counts["skipped"] = True, len(problem_id_by_key) - open_count
        self.languages |= {
            submission.language
            for submission in islice(submissions, _LANGUAGE_SAMPLE)
            if submission.code is not None and submission.key not in done_keys
        }
        self._on_event(RunStarted(total=len(problem_id_by_key), skipped=len(problem_id_by_key) - open_count))
        return list(needed_problems.values())

    def _find_problem(self, submission: Submission) -> Problem:
        """Return the submission's problem. An unknown problem is an InputError."""
        problem = self._problems.get(submission.problem_id)
        if problem is None:
            raise InputError(
                f"unknown problem {submission.problem_id!r}",
                where=f"submission {submission.key}",
                field="problem_id",
                remedy=f"The problems are: {', '.join(sorted(self._problems)) or 'none'}",
            )
        return problem

    # --- judging ---

    async def run_workers(self, source: _SubmissionSource, workers: int | Callable[[], int]) -> None:
        """Run workers until there are no more submissions. Add workers if the engine grows."""
        worker_tasks, reporting_task = (
            set[asyncio.Task[None]](),
            asyncio.create_task(self._report_active_submissions()),
        )
        try:
            async with asyncio.TaskGroup() as task_group:
                while not any(task.done() for task in worker_tasks):
                    worker_count = workers if isinstance(workers, int) else max(1, workers())
                    worker_tasks |= {
                        task_group.create_task(self.run_worker(source))
                        for _ in range(worker_count - len(worker_tasks))
                    }
                    timeout_s = None if isinstance(workers, int) else _WORKER_CHECK_S
                    await asyncio.wait(worker_tasks, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel_tasks(reporting_task)

    async def _report_active_submissions(self) -> None:
        """Emit an event about active submissions every `_PROGRESS_S` seconds, until cancelled."""
        while True:
            await asyncio.sleep(_PROGRESS_S)
            self._on_event(make_active_submissions_event(self._active_submissions))

    async def run_worker(self, source: _SubmissionSource) -> None:
        """Run a worker, which judges submissions from the source until the source is empty."""
        while (submission := await source.next_submission()) is not None:
            if (equal_submissions := await self._group_with_equal_submissions(submission)) is None:
                continue
            try:
                while equal_submissions.waiting_submissions:
                    await self._judge_first_equal_submission(equal_submissions)
            finally:
                self._equal_submissions_by_identity.pop(equal_submissions.identity, None)
                equal_submissions.end_event.set()

    async def _judge_first_equal_submission(self, equal_submissions: _EqualSubmissions) -> None:
        """Judge the first of equal submissions, and record its result for the others.

        If the judge fails, only the first submission fails, and the rest are judged one by one. There is no
        `await` between the result and the last row, so cancelling cannot separate them.
        """
        submission, problem = equal_submissions.waiting_submissions.popleft(), equal_submissions.problem
        try:
            limited_problem = problem if self._add_limits is None else await self._add_limits(problem)
            with track_submission(submission.key, problem.id) as tracked_submission:
                self._active_submissions[tracked_submission] = None
                try:
                    result = await self._judge.judge(limited_problem, submission)
                finally:
                    del self._active_submissions[tracked_submission]
        except (JudgeFailure, EngineError, ProgramBroken) as error:
            self._record_failure(problem, submission, error)
            return
        checked_result = self._drop_key_of_other_run(submission, equal_submissions.identity, result)
        self._record_result(problem, submission, checked_result, is_repeated=bool(result.repeats))
        while equal_submissions.waiting_submissions:
            self._record_result(
                problem,
                equal_submissions.waiting_submissions.popleft(),
                mark_as_repeated(checked_result),
                is_repeated=True,
            )

    async def _group_with_equal_submissions(self, submission: Submission) -> _EqualSubmissions | None:
        """Return the equal submissions to judge, only this one at first, or None if it needs no judging.

        It needs no judging if it has a result, or if an equal submission has a result or is being judged.
        """
        if submission.key in self._journal.done:
            self._outcome_counts["skipped"] += not self._are_skipped_counted
            await asyncio.sleep(0)  # lets the event loop cancel this task while many rows are skipped
            return None
        problem = self._find_problem(submission)
        identity = rows.hash_submission(problem, submission)
        equal_submissions = _EqualSubmissions(problem, submission, identity)
        # Submissions without a program are not equal programs, and need no judging that could be saved.
        may_share = self._shares_results and (submission.code is not None or bool(submission.outputs))
        while (
            may_share
            and (judged_submissions := self._equal_submissions_by_identity.get(identity)) is not None
        ):
            # The number is limited because waiting submissions are in memory.
            if len(judged_submissions.waiting_submissions) < _MAX_WAITING:
                judged_submissions.waiting_submissions.append(submission)
                return None
            await judged_submissions.end_event.wait()
        row = self._journal.find_result(identity, submission.problem_id)
        # The row belongs to this run or to another run.
        if row is not None and (may_share or row["key"] == submission.key):
            earlier_result = self._drop_key_of_other_run(
                submission, identity, mark_as_repeated(rows.read_result(row))
            )
            self._record_result(problem, submission, earlier_result, is_repeated=True, is_earlier=True)
            await asyncio.sleep(0)
            return None
        if may_share:
            self._equal_submissions_by_identity[identity] = equal_submissions
        return equal_submissions

    def _drop_key_of_other_run(
        self, submission: Submission, identity: str, result: SubmissionResult
    ) -> SubmissionResult:
        """Return the result without `repeats`, the key of an equal row, unless that row is in this run.

        If the row is in another run, its key may belong to another program in this run.
        """
        repeated_key = result.repeats
        is_in_run = repeated_key in self._journal.done and repeated_key != submission.key
        if is_in_run and self._journal.has_same_program(repeated_key, identity, result.program_sha256):
            return result
        return msgspec.structs.replace(result, repeats="")

    def _record_result(
        self,
        problem: Problem,
        submission: Submission,
        result: SubmissionResult,
        *,
        is_repeated: bool,
        is_earlier: bool = False,
    ) -> None:
        """Write the row of a result and emit an event.

        `is_repeated`: an equal submission has this result.
        `is_earlier`: the result comes from an earlier row.
        """
        # Replies may contain equal code, although they differ in text and repairs.
        own_result = msgspec.structs.replace(result, key=submission.key, repairs=submission.repairs)
        row = rows.make_compact_row(submission, problem, own_result, outputs=self._stores_outputs)
        self._journal.record_result(row, is_earlier=is_earlier)
        verdict_counts = Counter(test.status for test in own_result.tests)
        run_test_count = (
            0 if is_repeated else sum(verdict_counts[status] for status in verdict_counts.keys() - _NOT_RUN)
        )
        self._outcome_counts.update(judged=1, repeated=int(is_repeated), tests=run_test_count)
        self._verdict_counts[scoring.find_verdict_or_no_program(own_result)] += 1
        self._on_event(
            SubmissionJudged(
                key=own_result.key,
                problem_id=own_result.problem_id,
                status=own_result.verdict,
                points=own_result.points,
                verdicts=verdict_counts,
                tests=run_test_count,
                repeated=is_repeated,
                reason=scoring.find_unjudged_reason(own_result),
            )
        )
        if not is_repeated and (overload_event := self._overload_detector.add(result)) is not None:
            self._on_event(overload_event)

    def _record_failure(self, problem: Problem, submission: Submission, error: IoiEvalError) -> None:
        """Write the row of a judge failure and emit an event."""
        failure = (
            error
            if isinstance(error, JudgeFailure)
            else JudgeFailure(str(error), phase="preparing" if isinstance(error, ProgramBroken) else "engine")
        )
        _log.debug("%s: not judged: %s", submission.key, failure)
        self._journal.record_failure(rows.failure_row(submission, failure, problem))
        self._outcome_counts["failed"] += 1
        self._on_event(
            SubmissionFailed(key=submission.key, problem_id=submission.problem_id, reason=str(failure))
        )

    # --- after judging ---

    def finish(self) -> RunSummary:
        """Emit the last event and return the summary."""
        self._journal.start_run()  # creates the run's files even if the run has no rows
        summary = RunSummary(**self._outcome_counts, verdicts=dict(self._verdict_counts))
        self._on_event(RunFinished(summary=summary))
        return summary


def make_active_submissions_event(active_submissions: Collection[TrackedSubmission]) -> SubmissionsNow:
    """Return an event about the active submissions. `active_submissions` are sorted by start time."""
    steps = [current.step for current in active_submissions]
    described_submissions = (
        ActiveSubmission(
            key=rows.shorten(submission.key, _MAX_NAME),
            problem=rows.shorten(submission.problem, _MAX_NAME),
            step=current.kind,
            where=current.where,
            since=round(submission.since, 1),
        )
        for submission, current in zip(active_submissions, steps, strict=True)
    )
    return SubmissionsNow(
        at=time.time(),
        number=len(steps),
        building=sum(step.kind == BUILD for step in steps),
        builds_waiting=sum(step.kind == BUILD and not step.where for step in steps),
        longest=tuple(islice(described_submissions, _MAX_REPORTED)),
    )


class OverloadDetector:
    """Detects an overloaded machine: programs waited longer for a CPU than they computed."""

    def __init__(self) -> None:
        self._waited_s = self._computed_s = 0.0
        self._is_reported = False

    def add(self, result: SubmissionResult) -> Overloaded | None:
        """Add the times of a result. Return an event when overload is detected for the first time."""
        self._waited_s += math.fsum(test.waited_time or 0.0 for test in result.tests)
        self._computed_s += math.fsum(test.cpu_time or 0.0 for test in result.tests)
        has_enough_data = self._computed_s >= _MIN_COMPUTED_S or self._waited_s >= _MIN_WAITED_S
        if self._is_reported or not has_enough_data or self._waited_s <= self._computed_s:
            return None
        self._is_reported = True
        return Overloaded(waited=self._waited_s, computed=self._computed_s)


async def prepare_problems(prepare: Callable[[Problem], Awaitable[object]], problems: list[Problem]) -> None:
    """Prepare the problems at the same time. If all fail, raise the error of the first."""

    async def prepare_problem(problem: Problem) -> ProgramBroken | None:
        try:
            await prepare(problem)
        except ProgramBroken as error:
            return error
        except (JudgeFailure, EngineError):
            pass  # the machine is at fault, and the rows of the problem's submissions will contain the error
        return None

    async with asyncio.TaskGroup() as task_group:
        tasks = [task_group.create_task(prepare_problem(problem)) for problem in problems]
    errors = [error for task in tasks if (error := task.result()) is not None]
    # If only some problems fail, raise nothing: the rows of their submissions contain the error.
    if errors and len(errors) == len(problems):
        raise errors[0]
