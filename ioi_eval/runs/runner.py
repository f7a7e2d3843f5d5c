"""Many submissions through one judge: so many at a time, equal ones once, every result written at once.

Nothing is kept but keys and what is being judged, so a dump may be of any size.
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

from ioi_eval.judge.sharing import repeating
from ioi_eval.model.doing import BUILD, Doing, doing
from ioi_eval.model.errors import (
    EngineError,
    InputError,
    IoiEvalError,
    JudgeFailure,
    ProgramBroken,
    ungrouped,
)
from ioi_eval.model.values import Problem, Submission, SubmissionResult, Verdict
from ioi_eval.rules import scoring
from ioi_eval.runs.engine import stop
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
from ioi_eval.store.folder import UnderWay

_log = logging.getLogger(__name__)
_SURVEYED = 10_000  # submissions of a dump whose languages are looked at before the first is judged
_MAX_WAITING = 64  # submissions that wait for the result of one that is being judged
_HIRING = 1.0  # seconds between two questions whether more workers are wanted
_TELLING = 1.0  # seconds between two looks at what is being judged
_TOLD, _MAX_NAME = 30, 200  # submissions that are told of, and characters of a name
# Seconds before anything is said of crowding, because short programs wait by chance.
_MUCH_COMPUTED, _MUCH_WAITED = 2.0, 10.0
_NOT_RUN = frozenset({Verdict.SKIPPED, Verdict.CE})


class Judging(Protocol):
    """The judge as the runner needs it. It raises JudgeFailure where it cannot say."""

    async def judge(self, problem: Problem, submission: Submission) -> SubmissionResult: ...


class Recording(Protocol):
    """The journal as the runner needs it."""

    @property
    def done(self) -> Set[str]: ...

    def find(self, identity: str, problem: str) -> dict[str, Any] | None: ...

    def is_equal(self, key: str, identity: str, program: str) -> bool: ...

    def begin(self) -> None: ...

    def record(self, row: Mapping[str, Any], *, known: bool = False) -> None: ...

    def fail(self, row: Mapping[str, Any]) -> None: ...


@runtime_checkable
class LookedThrough(Protocol):
    """Submissions that somebody has looked through: their keys are distinct, their problems known."""

    @property
    def problem_ids(self) -> Mapping[str, str]:
        """The problem of each submission, by key."""
        ...

    def __iter__(self) -> Iterator[Submission]: ...


# --- the run -----------------------------------------------------------------------------------------


async def judge_all(
    judge: Judging,
    problems: Mapping[str, Problem],
    submissions: Iterable[Submission] | AsyncIterable[Submission],
    journal: Recording,
    *,
    workers: int | Callable[[], int],
    check: Callable[[Collection[str]], Awaitable[object]] | None = None,
    prepare: Callable[[Problem], Awaitable[object]] | None = None,
    limited: Callable[[Problem], Awaitable[Problem]] | None = None,
    expected: int | None = None,
    share: bool = True,
    outputs: bool = False,
    on_event: Callable[[Event], None] | None = None,
) -> RunSummary:
    """Judge every submission that the journal has no result of.

    `submissions` with a length are gone through once before anything is judged: an unknown problem, a key
    that is there twice, or problems none of which `prepare` can build then end the run before it wrote
    anything; one among others costs its own submissions alone. Those that come one by one, from a model that
    is still writing, are judged as they come; `expected` says how many. Cancelled at any moment, the journal
    holds whole results and the next run continues. `check` is given the languages of those with a length,
    before anything is built, and raises where they cannot be judged. `limited` gives a problem its limits.
    Equal submissions `share` a result. Rows keep the beginnings of `outputs`.
    `workers`: submissions at a time; where engines may grow, a function that is asked again and again.
    """
    if isinstance(workers, int) and workers < 1:
        raise InputError(
            f"{workers} workers cannot judge anything", field="workers", remedy="Give at least 1"
        )
    this = _Run(judge, problems, journal, limited, share, outputs, on_event or (lambda event: None))
    needed, source = this.survey(submissions, expected), _Source(submissions)
    # What the caller has to mend comes before what something else raised, as `on_event` may.
    with ungrouped(Exception), ungrouped(InputError):
        if check is not None:
            await check(this.languages)
        if prepare is not None:
            await prepare_all(prepare, needed)
        await this.work_through(source, workers)
    return this.finish()


class _Source:
    """Submissions, one at a time, for all workers. At a stream one of them waits, and the others for it."""

    def __init__(self, submissions: Iterable[Submission] | AsyncIterable[Submission]) -> None:
        # Keys of submissions that somebody has looked through are distinct.
        self._seen = None if isinstance(submissions, LookedThrough) else set[str]()
        self._rows: Iterator[Submission] | None = None
        if isinstance(submissions, Iterable):
            self._rows = iter(submissions)
        else:
            self._stream, self._turn = aiter(submissions), asyncio.Lock()

    async def next(self) -> Submission | None:
        if self._rows is not None:
            found = next(self._rows, None)
        else:
            async with self._turn:
                found = await anext(self._stream, None)
        if found is not None and self._seen is not None:
            _check_new(found.key, self._seen)
        return found


def _check_new(key: str, seen: set[str]) -> None:
    if key in seen:
        raise InputError(
            f"the key {key!r} is there twice",
            field="key",
            remedy="Give every row an id of its own, or leave the id column out",
        )
    seen.add(key)


class _Claim:
    """Equal submissions that are not judged yet: one of them at a time is, the others wait for its result."""

    def __init__(self, problem: Problem, first: Submission, identity: str) -> None:
        self.problem, self.identity = problem, identity
        self.waiting = deque([first])
        self.over = asyncio.Event()


class _Run:
    """The state of one call of `judge_all`."""

    def __init__(
        self,
        judge: Judging,
        problems: Mapping[str, Problem],
        journal: Recording,
        limited: Callable[[Problem], Awaitable[Problem]] | None,
        share: bool,
        outputs: bool,
        tell: Callable[[Event], None],
    ) -> None:
        self._judge, self._problems, self._journal, self._tell = judge, problems, journal, tell
        self._limited, self._share, self._outputs = limited, share, outputs
        self._claims: dict[str, _Claim] = {}  # by identity
        self._doing = dict[Doing, None]()  # in the order in which they began
        self._numbers: Counter[str] = Counter()
        self._verdicts: Counter[str] = Counter()
        self._crowding = Crowding()
        self._surveyed = False  # what is skipped is counted
        self.languages = set[str]()  # of the submissions that the survey found to be judged

    # --- before ---

    def survey(
        self, submissions: Iterable[Submission] | AsyncIterable[Submission], expected: int | None
    ) -> list[Problem]:
        """Looks through all that can be looked through twice; returns the problems that have work to do.

        Of those that somebody has looked through already, the first ones tell the languages.
        """
        if isinstance(submissions, LookedThrough):
            return self._survey_known(submissions)
        if not isinstance(submissions, Sized) or not isinstance(submissions, Iterable):
            self._tell(RunStarted(total=expected, skipped=len(self._journal.done)))
            return []
        seen = set[str]()
        skipped = 0
        needed = dict[str, Problem]()
        for submission in submissions:
            _check_new(submission.key, seen)
            problem = self._problem(submission)
            if submission.key in self._journal.done:
                skipped += 1
            else:
                needed[submission.problem_id] = problem
                if submission.code is not None:
                    self.languages.add(submission.language)
        self._tell(RunStarted(total=len(seen), skipped=skipped))
        return list(needed.values())

    def _survey_known(self, submissions: LookedThrough) -> list[Problem]:
        ids, done = submissions.problem_ids, self._journal.done
        left, needed = 0, dict[str, Problem]()
        for key in ids:
            if key not in done:
                left += 1
                name = ids[key]
                needed[name] = self._problems[name]
        self._surveyed, self._numbers["skipped"] = True, len(ids) - left
        self.languages |= {
            submission.language
            for submission in islice(submissions, _SURVEYED)
            if submission.code is not None and submission.key not in done
        }
        self._tell(RunStarted(total=len(ids), skipped=len(ids) - left))
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

    async def work_through(self, source: _Source, workers: int | Callable[[], int]) -> None:
        """Hire workers, more as the engine grows, until one finds no work."""
        crew, telling = set[asyncio.Task[None]](), asyncio.create_task(self._tell_of_now())
        try:
            async with asyncio.TaskGroup() as group:
                while not any(member.done() for member in crew):
                    size = workers if isinstance(workers, int) else max(1, workers())
                    crew |= {group.create_task(self.work(source)) for _ in range(size - len(crew))}
                    again = None if isinstance(workers, int) else _HIRING
                    await asyncio.wait(crew, timeout=again, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await stop(telling)

    async def _tell_of_now(self) -> None:
        while True:
            await asyncio.sleep(_TELLING)
            self._tell(submissions_now(self._doing))

    async def work(self, source: _Source) -> None:
        """Run a worker. All take from one source: no more submissions are in memory than are worked on."""
        while (submission := await source.next()) is not None:
            if (claim := await self._claimed(submission)) is None:
                continue
            try:
                while claim.waiting:
                    await self._work_on(claim)
            finally:
                self._claims.pop(claim.identity, None)
                claim.over.set()

    async def _work_on(self, claim: _Claim) -> None:
        """Judge one for all. Where the judge cannot say, the others are tried each for itself.

        From an answer to the last row that it goes to nothing is awaited: no cancel comes between.
        """
        submission, problem = claim.waiting.popleft(), claim.problem
        try:
            judged = problem if self._limited is None else await self._limited(problem)
            with doing(submission.key, problem.id) as now:
                self._doing[now] = None
                try:
                    result = await self._judge.judge(judged, submission)
                finally:
                    del self._doing[now]
        except (JudgeFailure, EngineError, ProgramBroken) as error:
            self._fail(problem, submission, error)
            return
        own = self._here(submission, claim.identity, result)
        self._record(problem, submission, own, repeated=bool(result.repeats))
        while claim.waiting:
            self._record(problem, claim.waiting.popleft(), repeating(own), repeated=True)

    async def _claimed(self, submission: Submission) -> _Claim | None:
        """Return None where nothing is to be judged: it is done, or an equal one is or will be."""
        if submission.key in self._journal.done:
            self._numbers["skipped"] += not self._surveyed
            await asyncio.sleep(0)  # a long way through rows that are done can be cancelled
            return None
        problem = self._problem(submission)
        identity = rows.identity(problem, submission)
        claim = _Claim(problem, submission, identity)
        while self._share and (other := self._claims.get(identity)) is not None:
            if len(other.waiting) < _MAX_WAITING:  # they are held in memory
                other.waiting.append(submission)
                return None
            await other.over.wait()
        row = self._journal.find(identity, submission.problem_id)
        if row is not None and (self._share or row["key"] == submission.key):  # here or in another run
            known = self._here(submission, identity, repeating(rows.result_of(row)))
            self._record(problem, submission, known, repeated=True, known=True)
            await asyncio.sleep(0)
            return None
        if self._share:
            self._claims[identity] = claim
        return claim

    def _here(self, submission: Submission, identity: str, result: SubmissionResult) -> SubmissionResult:
        """Name another row only where it is one of this run: other runs have other programs by its key."""
        name = result.repeats
        here = name in self._journal.done and name != submission.key
        if here and self._journal.is_equal(name, identity, result.program_sha256):
            return result
        return msgspec.structs.replace(result, repeats="")

    def _record(
        self,
        problem: Problem,
        submission: Submission,
        result: SubmissionResult,
        *,
        repeated: bool,
        known: bool = False,
    ) -> None:
        # Equal code may come from generations that were not equal, by other repairs.
        own = msgspec.structs.replace(result, key=submission.key, repairs=submission.repairs)
        row = rows.short_row(submission, problem, own, outputs=self._outputs)
        self._journal.record(row, known=known)
        verdicts = Counter(test.status for test in own.tests)
        ran = 0 if repeated else sum(verdicts[status] for status in verdicts.keys() - _NOT_RUN)
        self._numbers.update(judged=1, repeated=int(repeated), tests=ran)
        self._verdicts[scoring.ending(own)] += 1
        self._tell(
            SubmissionJudged(
                key=own.key,
                problem_id=own.problem_id,
                status=own.verdict,
                points=own.points,
                verdicts=verdicts,
                tests=ran,
                repeated=repeated,
                reason=scoring.reason(own),
            )
        )
        if not repeated and (overloaded := self._crowding.add(result)) is not None:
            self._tell(overloaded)

    def _fail(self, problem: Problem, submission: Submission, error: IoiEvalError) -> None:
        failure = (
            error
            if isinstance(error, JudgeFailure)
            else JudgeFailure(str(error), phase="preparing" if isinstance(error, ProgramBroken) else "engine")
        )
        _log.debug("%s: not judged: %s", submission.key, failure)
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


def submissions_now(doings: Collection[Doing]) -> SubmissionsNow:
    """`doings`: in the order in which they began."""
    steps = [now.step for now in doings]
    longest = (
        UnderWay(
            key=rows.bounded(of.key, _MAX_NAME),
            problem=rows.bounded(of.problem, _MAX_NAME),
            step=now.kind,
            where=now.where,
            since=round(of.since, 1),
        )
        for of, now in zip(doings, steps, strict=True)
    )
    return SubmissionsNow(
        at=time.time(),
        number=len(steps),
        building=sum(step.kind == BUILD for step in steps),
        builds_waiting=sum(step.kind == BUILD and not step.where for step in steps),
        longest=tuple(islice(longest, _TOLD)),
    )


class Crowding:
    """Adds up what tests waited and computed, and says once that the waiting has become more."""

    def __init__(self) -> None:
        self._waited = self._computed = 0.0
        self._told = False

    def add(self, result: SubmissionResult) -> Overloaded | None:
        self._waited += math.fsum(test.waited_time or 0.0 for test in result.tests)
        self._computed += math.fsum(test.cpu_time or 0.0 for test in result.tests)
        much = self._computed >= _MUCH_COMPUTED or self._waited >= _MUCH_WAITED
        if self._told or not much or self._waited <= self._computed:
            return None
        self._told = True
        return Overloaded(waited=self._waited, computed=self._computed)


async def prepare_all(prepare: Callable[[Problem], Awaitable[object]], needed: list[Problem]) -> None:
    """Raise what is wrong with the problems if none of them can be built."""

    async def prepared(problem: Problem) -> ProgramBroken | None:
        try:
            await prepare(problem)
        except ProgramBroken as found:
            return found
        except (JudgeFailure, EngineError):
            pass  # where the machine is at fault, each of the problem's submissions will say so in its row
        return None

    async with asyncio.TaskGroup() as group:
        preparing = [group.create_task(prepared(problem)) for problem in needed]
    broken = [found for task in preparing if (found := task.result()) is not None]
    if broken and len(broken) == len(needed):  # one that fails alone says so in its rows
        raise broken[0]
