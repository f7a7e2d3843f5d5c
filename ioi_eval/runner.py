"""Many submissions through one judge: so many at a time, equal ones once, every result written at once.

Nothing is kept but keys and what is being judged, so a dump may be of any size.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Set,
    Sized,
)
from typing import Any, Protocol

import msgspec

from ioi_eval import rows, scoring
from ioi_eval.errors import EngineError, InputError, JudgeFailure
from ioi_eval.models import Problem, Submission, SubmissionResult, Value, Verdict

_MAX_WAITING = 64  # submissions that wait for the result of one that is being judged
_HIRING = 1.0  # seconds between two questions whether more workers are wanted
_NOT_RUN = frozenset({Verdict.SKIPPED, Verdict.CE})


class Judging(Protocol):
    """What the runner needs of a judge. It raises JudgeFailure where it cannot say."""

    async def judge(self, problem: Problem, submission: Submission) -> SubmissionResult: ...


class Recording(Protocol):
    """What the runner needs of a journal."""

    @property
    def done(self) -> Set[str]: ...

    def find(self, identity: str) -> dict[str, Any] | None: ...

    def begin(self) -> None: ...

    def record(self, row: Mapping[str, Any]) -> None: ...

    def fail(self, row: Mapping[str, Any]) -> None: ...


# --- events ------------------------------------------------------------------------------------------


class RunStarted(Value):
    total: int | None  # None: the submissions come from a stream of unknown length
    skipped: int  # of these, how many have their result already


class SubmissionJudged(Value):
    """A result is in the journal."""

    key: str
    problem_id: str
    status: Verdict
    points: float
    verdicts: Mapping[Verdict, int]  # of its tests
    tests: int  # that ran for it: none where the result is that of an equal submission
    repeated: bool = False


class SubmissionFailed(Value):
    """The judge could not say; the reason is in the journal."""

    key: str
    problem_id: str
    reason: str


class RunSummary(Value):
    """What one call did. Earlier calls on the same journal are in `skipped` only."""

    skipped: int = 0
    judged: int = 0  # all that got a result, repeated ones among them
    repeated: int = 0
    failed: int = 0
    tests: int = 0
    verdicts: Mapping[Verdict, int] = {}  # of submissions


class RunFinished(Value):
    summary: RunSummary


Event = RunStarted | SubmissionJudged | SubmissionFailed | RunFinished


# --- the run -----------------------------------------------------------------------------------------


async def run(
    judge: Judging,
    problems: Mapping[str, Problem],
    submissions: Iterable[Submission] | AsyncIterable[Submission],
    journal: Recording,
    *,
    workers: int | Callable[[], int],
    prepare: Callable[[Problem], Awaitable[object]] | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> RunSummary:
    """Judges every submission that the journal has no result of.

    `submissions` with a length are gone through once before anything is judged: an unknown problem, a key
    that is there twice, or a problem whose sources `prepare` finds unusable then ends the run before it
    wrote anything. Those that come one by one, from a model that is still writing, are judged as they come.
    Cancelled at any moment, the journal holds whole results and the next run continues.
    `workers`: submissions at a time; where engines may grow, a function that is asked again and again.
    """
    if isinstance(workers, int) and workers < 1:
        raise InputError(
            f"{workers} workers cannot judge anything", field="workers", remedy="Give at least 1"
        )
    this = _Run(judge, problems, journal, on_event or _ignore)
    needed = this.survey(submissions)
    if prepare is not None:
        await _together(_prepared(prepare, problem) for problem in needed)
    source = _Source(submissions)
    await _together([_crew(lambda: this.work(source), workers)])
    return this.finish()


async def _crew(work: Callable[[], Coroutine[Any, Any, None]], wanted: int | Callable[[], int]) -> None:
    """As many at work as are wanted; where more are wanted later, they join in, until one finds no work."""
    fixed = isinstance(wanted, int)
    crew = set[asyncio.Task[None]]()
    async with asyncio.TaskGroup() as group:
        while not any(member.done() for member in crew):
            size = wanted if isinstance(wanted, int) else max(1, wanted())
            crew |= {group.create_task(work()) for _ in range(size - len(crew))}
            await asyncio.wait(crew, timeout=None if fixed else _HIRING, return_when=asyncio.FIRST_COMPLETED)


def _ignore(event: Event) -> None:
    pass


class _Source:
    """Submissions, one at a time, for all workers. At a stream one of them waits, and the others for it."""

    def __init__(self, submissions: Iterable[Submission] | AsyncIterable[Submission]) -> None:
        self._rows: Iterator[Submission] | None = None
        if isinstance(submissions, Iterable):
            self._rows = _distinct(submissions)
        else:
            self._stream, self._turn = _distinct_stream(submissions), asyncio.Lock()

    async def next(self) -> Submission | None:
        if self._rows is not None:
            return next(self._rows, None)
        async with self._turn:
            return await anext(self._stream, None)


def _distinct(submissions: Iterable[Submission]) -> Iterator[Submission]:
    seen = set[str]()
    for submission in submissions:
        _check_new(submission.key, seen)
        yield submission


async def _distinct_stream(submissions: AsyncIterable[Submission]) -> AsyncIterator[Submission]:
    seen = set[str]()
    async for submission in submissions:
        _check_new(submission.key, seen)
        yield submission


def _check_new(key: str, seen: set[str]) -> None:
    if key in seen:
        raise InputError(
            f"the key {key!r} is there twice",
            field="key",
            remedy="Give every row an id of its own, or leave the id column out",
        )
    seen.add(key)


class _Running:
    """A submission that is being judged, and those that are equal to it and came meanwhile."""

    def __init__(self) -> None:
        self.waiting: list[Submission] = []
        self.over = asyncio.Event()

    def adopt(self, submission: Submission) -> bool:
        """False where too many wait already: they are held in memory."""
        if len(self.waiting) >= _MAX_WAITING:
            return False
        self.waiting.append(submission)
        return True


class _Run:
    """The state of one call of `run`."""

    def __init__(
        self,
        judge: Judging,
        problems: Mapping[str, Problem],
        journal: Recording,
        tell: Callable[[Event], None],
    ) -> None:
        self._judge, self._problems, self._journal, self._tell = judge, problems, journal, tell
        self._running: dict[str, _Running] = {}
        self._numbers: Counter[str] = Counter()
        self._verdicts: Counter[Verdict] = Counter()

    # --- before ---

    def survey(self, submissions: Iterable[Submission] | AsyncIterable[Submission]) -> list[Problem]:
        """Looks through all that can be looked through twice; returns the problems that have work to do."""
        if not isinstance(submissions, Sized) or not isinstance(submissions, Iterable):
            self._tell(RunStarted(total=None, skipped=len(self._journal.done)))
            return []
        total = skipped = 0
        needed = dict[str, Problem]()
        for submission in _distinct(submissions):
            problem, total = self._problem(submission), total + 1
            if submission.key in self._journal.done:
                skipped += 1
            else:
                needed[submission.problem_id] = problem
        self._tell(RunStarted(total=total, skipped=skipped))
        return list(needed.values())

    def _problem(self, submission: Submission) -> Problem:
        problem = self._problems.get(submission.problem_id)
        if problem is None:
            raise InputError(
                f"unknown problem {submission.problem_id!r}",
                where=f"submission {submission.key}",
                field="problem_id",
                remedy=f"There are: {', '.join(sorted(self._problems)) or 'none'}",
            )
        return problem

    # --- meanwhile ---

    async def work(self, source: _Source) -> None:
        """One worker. All take from one source: no more submissions are in memory than are worked on."""
        while (submission := await source.next()) is not None:
            if submission.key in self._journal.done:
                self._numbers["skipped"] += 1
                await asyncio.sleep(0)  # a long way through rows that are done can be cancelled
            else:
                await self._take(submission)

    async def _take(self, submission: Submission) -> None:
        problem = self._problem(submission)
        identity = rows.identity(problem, submission)
        while (running := self._running.get(identity)) is not None:
            if running.adopt(submission):
                return
            await running.over.wait()
        if (row := self._journal.find(identity)) is not None:
            self._record(problem, submission, rows.result_of(row), repeated=True)
            await asyncio.sleep(0)
        else:
            await self._judge_for_all(problem, submission, identity)

    async def _judge_for_all(self, problem: Problem, submission: Submission, identity: str) -> None:
        """From an answer to the last row that it goes to nothing is awaited: no cancel comes between."""
        running = self._running[identity] = _Running()
        try:
            result = await self._judge.judge(problem, submission)
        except (JudgeFailure, EngineError) as error:
            for one in (submission, *running.waiting):
                self._fail(problem, one, error)
        else:
            self._record(problem, submission, result)
            for one in running.waiting:
                self._record(problem, one, result, repeated=True)
        finally:
            del self._running[identity]
            running.over.set()

    def _record(
        self, problem: Problem, submission: Submission, result: SubmissionResult, *, repeated: bool = False
    ) -> None:
        # Equal code may come from generations that were not equal, by other repairs.
        own = msgspec.structs.replace(result, key=submission.key, repairs=submission.repairs)
        self._journal.record(rows.result_row(submission, problem, own))
        event = _judged(own, repeated)
        self._numbers.update(judged=1, repeated=int(repeated), tests=event.tests)
        self._verdicts[event.status] += 1
        self._tell(event)

    def _fail(self, problem: Problem, submission: Submission, error: JudgeFailure | EngineError) -> None:
        failure = error if isinstance(error, JudgeFailure) else JudgeFailure(str(error), phase="engine")
        self._journal.fail(rows.failure_row(submission, failure, problem))
        self._numbers["failed"] += 1
        self._tell(
            SubmissionFailed(key=submission.key, problem_id=submission.problem_id, reason=str(failure))
        )

    # --- after ---

    def finish(self) -> RunSummary:
        self._journal.begin()  # a run of no rows is a run too
        summary = RunSummary(**self._numbers, verdicts=dict(self._verdicts))
        self._tell(RunFinished(summary=summary))
        return summary


def _judged(result: SubmissionResult, repeated: bool) -> SubmissionJudged:
    verdicts = Counter(test.status for test in result.tests)
    ran = sum(number for status, number in verdicts.items() if status not in _NOT_RUN)
    return SubmissionJudged(
        key=result.key,
        problem_id=result.problem_id,
        status=scoring.submission_status(result),
        points=result.points,
        verdicts=verdicts,
        tests=0 if repeated else ran,
        repeated=repeated,
    )


async def _prepared(prepare: Callable[[Problem], Awaitable[object]], problem: Problem) -> None:
    # Where the machine is at fault and not the problem, each of its submissions will say so in its row.
    with contextlib.suppress(JudgeFailure, EngineError):
        await prepare(problem)


async def _together(parts: Iterable[Coroutine[Any, Any, None]]) -> None:
    """All of them, or none: the first error cancels the others. Unusable input comes out as itself."""
    try:
        async with asyncio.TaskGroup() as group:
            for part in parts:
                group.create_task(part)
    except BaseExceptionGroup as errors:
        if (unusable := _first_input_error(errors)) is not None:
            raise unusable from None
        raise


def _first_input_error(errors: BaseExceptionGroup[BaseException]) -> InputError | None:
    matching = errors.subgroup(InputError)
    while matching is not None:
        first = matching.exceptions[0]
        if isinstance(first, InputError):
            return first
        matching = first if isinstance(first, BaseExceptionGroup) else None
    return None
