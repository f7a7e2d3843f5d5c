"""A contest and its sessions: what participants may do, what they score, and what they learn about it.

Nothing here opens a file or a socket: a judge judges, and a record stores the results.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Iterator, Mapping
from typing import Any, Protocol, Self, TypeVar

import msgspec

from ioi_eval.generate.turns import Feedback
from ioi_eval.judge.judge import Judge
from ioi_eval.model.doing import TrackedSubmission, track_submission
from ioi_eval.model.errors import EngineError, InputError, JudgeFailure, ProgramBroken
from ioi_eval.model.languages import LANGUAGES, find
from ioi_eval.model.values import Blob, NamedBlob, Problem, Submission, SubmissionResult, TaskType, Verdict
from ioi_eval.plugins.contest.names import Names
from ioi_eval.plugins.contest.rules import (
    CallInProgress,
    ProblemState,
    RefusedCall,
    Rules,
    RunReply,
    SampleResult,
    SamplesReply,
    ScoreboardRow,
    Standing,
    Statement,
    SubmissionReply,
    TextPart,
    UnjudgedCall,
    VisibleResult,
    answered_with_files,
    compiled_alone,
    has_secrets,
    in_hand,
    own_fault,
    sample_names,
    shortened,
    statement_of,
    texts_of,
    unfenced,
    with_own_input,
    with_samples_alone,
)
from ioi_eval.reports.document import harmless, visible
from ioi_eval.rules import scoring
from ioi_eval.rules.expectations import max_problem_points
from ioi_eval.rules.languages import choose_language, list_allowed_languages
from ioi_eval.store.rows import (
    MAX_COMPILE_OUTPUT,
    failure_row,
    read_result,
    result_row,
    shorten,
    submission_identity,
)

T = TypeVar("T")
_log = logging.getLogger(__name__)
MAX_PART_LENGTH = 32_768  # characters of a problem's texts in one reply to a model
_COMPLETED = frozenset({Verdict.AC, Verdict.PA, Verdict.WA})
_FILES = frozenset({TaskType.OUTPUT_ONLY, TaskType.BATCH_AND_OUTPUT})
_JUDGE_FAILED = "the judge failed; this costs nothing, and you may try again"
_MANAGER_FAILED = (
    "the package's sample manager did not work on this input, or the judge failed; this costs nothing"
)
# Columns of a row, next to those of the result.
PARTICIPANT, ATTEMPT, AT, COMPILER = "participant", "attempt", "contest_seconds", "compiler_told"
PROBLEM, CODE, LANGUAGE, OUTPUTS, COST = "problem_id", "code", "language", "outputs", "cost"


class Record(Protocol):
    """Stores rows of results, failures and runs, so that they survive a kill of the process."""

    def judged(self, row: Mapping[str, Any]) -> None: ...

    def failed(self, row: Mapping[str, Any]) -> None: ...

    def ran(self, row: Mapping[str, Any]) -> None: ...


class PendingSubmissions(Protocol):
    """Stores the submissions that are being judged, so that they survive a kill of the process."""

    def add(self, row: Mapping[str, Any]) -> None: ...

    def remove(self, row: Mapping[str, Any]) -> None: ...


class _Attempts:
    """A participant's submissions for a problem."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()  # submissions wait for each other, because limits count judged ones
        self.runs = 0
        self.worths: list[VisibleResult] = []
        self.by_code: dict[str, int] = {}
        self.points = 0.0
        self.last: float | None = None  # seconds from the start to the last submission
        self.gained: float | None = None  # seconds from the start to the last gain of points
        self.steps: list[tuple[float, float, float | None]] = []  # per submission: time, points, last gain

    def add(self, code: str, worth: VisibleResult, at: float, mode: scoring.ScoreMode) -> None:
        self.worths.append(worth)
        self.by_code[code] = len(self.worths)
        points = scoring.compute_problem_points(mode, [attempt.result for attempt in self.worths])
        if points > self.points:
            self.gained = at
        self.points, self.last = points, at
        self.steps.append((at, points, self.gained))

    def before(self, time_s: float | None) -> tuple[float, float | None]:
        """Return the points and the last gain as of a time of the contest; None means now."""
        if time_s is None:
            return self.points, self.gained
        shown = [step for step in self.steps if step[0] < time_s]
        return shown[-1][1:] if shown else (0.0, None)

    def solve(self, mode: scoring.ScoreMode) -> bool:
        """Return True if the problem has full marks. Several submissions may solve its subtasks."""
        counting = self.worths[-1:] if mode == scoring.ScoreMode.MAX_TOKENED_LAST else self.worths
        if mode == scoring.ScoreMode.MAX_SUBTASK and any(worth.result.subtasks for worth in counting):
            bests = scoring.collect_best_subtasks(worth.result for worth in counting)
            parts = (scoring.select_scored_subtasks(best.subtasks) for best in bests.values())
            return all(part.exact_score >= 1 for each in parts for part in each)
        return any(worth.verdict is Verdict.AC for worth in counting)


class _Participant:
    def __init__(self, name: str, at_once: int) -> None:
        self.name = name
        self.capacity = asyncio.Semaphore(at_once)
        self.calls = set[asyncio.Task[Any]]()  # calls that wait or are in progress
        self.problems = defaultdict[str, _Attempts](_Attempts)
        self.in_progress: dict[asyncio.Task[Any] | None, CallInProgress] = {}

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        call = asyncio.create_task(work)
        self.calls.add(call)
        call.add_done_callback(self.calls.discard)
        return call


class Contest:
    """A contest: problems and rules, with a session for each participant.

        contest = Contest(load_problems("packages"), Rules(feedback=Feedback.POINTS), judge=scorer.judge)
        session = contest.session("otter")
        print((await session.submit("lanterns", code, "c++")).points)

    A call that is being judged belongs to the contest: it goes on and counts if its caller is cancelled.
    `close`, or the end of `async with`, stops all calls.

    Args:
        problems: The problems by name.
        rules: The rules.
        judge: Judges submissions.
        participants: Names of the participants; None means that anyone may take part.
        record: Stores each result before it is reported. `restore` reads its rows.
        begun: Stores submissions that are being judged. `resume` reads its rows.
        limited: Returns a problem with its time limit.
        languages: Languages of the engine; None means all.
        language: Language of programs without a named language, if the problem allows it.
        started: When the contest began, on the clock; None means now.
        clock: Returns the time in seconds.
    """

    def __init__(
        self,
        problems: Mapping[str, Problem],
        rules: Rules | None = None,
        *,
        judge: Judge,
        participants: Collection[str] | None = None,
        record: Record | None = None,
        begun: PendingSubmissions | None = None,
        limited: Callable[[Problem], Awaitable[Problem]] | None = None,
        languages: Collection[str] | None = None,
        language: str = "c++",
        started: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.problems, self.rules, self.participants = problems, rules or Rules(), participants
        self._record, self._begun, self._limited, self._clock = record, begun, limited, clock
        self.language = language
        self.started = clock() if started is None else started
        self._latest = 0.0
        self._judge = judge.but(in_order=True, echo=0)
        self._showing = self._judge.but(show=True, echo=self.rules.output_bytes, borderline=None)
        spoken = languages_of(self.rules, participants)
        self.languages = spoken if languages is None else spoken & {*languages}
        self._known: dict[str, _Participant] = {}
        self._names = Names()
        self._logged_errors: set[str] = set()  # why rows could not be stored; each reason is logged once
        self.under_way = dict[
            TrackedSubmission, None
        ]()  # submissions that are being judged, the oldest first
        self.closed = False  # True: no more calls are judged
        for name in participants or ():
            self.session(name)

    def session(self, participant: str) -> Session:
        """Return a participant's session. Sessions of the same participant share points and limits."""
        if self.participants is not None and participant not in self.participants:
            raise InputError(f"no participant {visible(participant)!r}", field="participant")
        if participant not in self._known:
            self._names.add(participant)
        return Session(self, self._participant(participant))

    def restore(self, row: Mapping[str, Any]) -> None:
        """Restore a judged submission from its row in the record."""
        worth = VisibleResult.of(read_result(row), row.get(COMPILER) or "")
        attempts = self._participant(row[PARTICIPANT]).problems[row["problem_id"]]
        attempts.add(row["submission_sha256"], worth, row[AT], self.rules.mode)
        self._latest = max(self._latest, row[AT])

    def restore_run(self, row: Mapping[str, Any]) -> None:
        """Restore a run from its row in the record."""
        self._participant(row[PARTICIPANT]).problems[row["problem_id"]].runs += 1

    def resume(self, row: Mapping[str, Any]) -> None:
        """Judge a submission that was in progress when the contest was stopped. It keeps its time."""
        own = self._participant(row[PARTICIPANT])
        self._latest = max(self._latest, row[AT])
        own.start(Session(self, own)._resumed(row)).add_done_callback(_unheard)

    async def close(self) -> None:
        """Stop the contest and all its calls. Submissions in progress stay stored."""
        self.closed = True
        calls = [call for own in self._known.values() for call in own.calls]
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    @property
    def seconds(self) -> float:
        """Return the seconds since the start. They never decrease, even if the clock is set back."""
        self._latest = max(self._latest, self._clock() - self.started)
        return self._latest

    @property
    def over(self) -> bool:
        return self.rules.seconds is not None and self.seconds >= self.rules.seconds

    def scoreboard(self, *, frozen_from: float | None = None) -> tuple[ScoreboardRow, ...]:
        """Return the rows of all participants: the most points first, of equal points the earlier ones.

        `frozen_from`: seconds from the start; later submissions do not count.
        """
        places = list[ScoreboardRow]()
        for participant in self._known.values():
            progress = [attempts.before(frozen_from) for attempts in participant.problems.values()]
            places.append(
                ScoreboardRow(
                    participant=participant.name,
                    points=round(sum(points for points, _ in progress), 6),
                    gained=max((gained for _, gained in progress if gained), default=None),
                )
            )
        return tuple(
            sorted(places, key=lambda place: (-place.points, place.gained or 0.0, place.participant))
        )

    def solved(self, participant: str, problem: str) -> bool:
        """Return True if a participant has full marks, even if rounded points are a little lower."""
        attempts = self._participant(participant).problems.get(problem)
        return attempts is not None and attempts.solve(self.rules.mode)

    def _participant(self, name: str) -> _Participant:
        if name not in self._known:
            self._known[name] = _Participant(name, self.rules.at_once)
            self._names.known(name)
        return self._known[name]


def languages_of(rules: Rules, participants: Collection[str] | None) -> set[str]:
    """Return the languages that the rules allow. Raise InputError for invalid rules or participants."""
    rules.check()
    names = Names()
    for name in participants or ():
        names.add(name)
    allowed = {find(name, field="languages").name for name in rules.languages}
    return allowed or {language.name for language in LANGUAGES}


class Session:
    """The calls of a participant.

    Every method raises `RefusedCall` if the rules do not allow the call, and `UnjudgedCall` if the judge
    failed. Both cost nothing. If a caller is cancelled, a waiting call is dropped, and a call in progress
    goes on and counts.
    """

    def __init__(self, contest: Contest, own: _Participant) -> None:
        self._contest, self._own, self._rules = contest, own, contest.rules

    @property
    def participant(self) -> str:
        return self._own.name

    def problems(self) -> tuple[ProblemState, ...]:
        """Return the contest's problems with the participant's state."""
        return tuple(self._state(label) for label in self._contest.problems)

    def statement(self, problem: str, *, characters: int | None = None) -> Statement:
        """Return a problem's text, limits, samples and attachments.

        `characters`: the maximum length of all texts together. `attachment` reads the rest of a text.
        """
        if characters is None:
            return self._statement(problem)
        return shortened(self._statement(problem, sample_bytes=sys.maxsize), characters)

    def attachment(self, problem: str, name: str, offset: int = 0) -> TextPart:
        """Return a part of one of a problem's texts: an attachment, a sample, or the statement."""
        texts = texts_of(self._statement(problem, sample_bytes=sys.maxsize))
        if name not in texts:
            names = shorten(", ".join(each for each, text in texts.items() if text), 1000)
            raise RefusedCall(f"{problem} has no text {visible(str(name)[:80])!r}: there are {names}")
        size = len(texts[name])
        if not 0 <= offset <= size:
            raise RefusedCall(f"the offset must be 0 to {size}, not {offset}")
        end = offset + MAX_PART_LENGTH
        following = end if end < size else None
        text = texts[name][offset:end]
        return TextPart(name=name, characters=size, offset=offset, text=text, next_offset=following)

    def _statement(self, label: str, **limits: int) -> Statement:
        problem = self._problem(label)
        return statement_of(problem, label, self._contest.languages, self._usual_language(problem), **limits)

    def standing(self) -> Standing:
        """Return the participant's points, and the scoreboard if the rules show it."""
        problems, rules = self.problems(), self._rules
        left = None if rules.seconds is None else max(0.0, rules.seconds - self._contest.seconds)
        points = [problem.points for problem in problems if problem.points is not None]
        shown = rules.scoreboard and self._tells(Feedback.POINTS)
        frozen = rules.frozen_from(self._contest.seconds)
        return Standing(
            participant=self.participant,
            points=round(sum(points), 6) if len(points) == len(problems) else None,
            points_max=sum(problem.points_max for problem in problems),
            seconds_left=left,
            problems=problems,
            scoreboard=self._contest.scoreboard(frozen_from=frozen) if shown else (),
            in_progress=(*self._own.in_progress.values(),),
        )

    async def run(self, problem: str, code: str, language: str = "", *, input: str = "") -> RunReply:
        """Run a program on the participant's own input."""
        about, given = self._problem(problem), _encoded(input, self._rules.input_bytes, "input")
        submission = self._submission(problem, about, code, language)
        own = in_hand(about)
        if own is None:
            raise RefusedCall(
                f"{problem} is judged with a program that only the judge has: own inputs cannot be run"
            )
        if find(submission.language) not in list_allowed_languages(own):
            raise RefusedCall(
                f"{problem} hands out no grader for {submission.language}: own inputs cannot be run"
            )
        return await self._finished(
            self._ran(problem, about, submission, given, managed=own.manager is not None)
        )

    async def _ran(
        self, problem: str, about: Problem, submission: Submission, given: bytes, *, managed: bool
    ) -> RunReply:
        """`managed`: the sample manager runs the program, and its messages are shown."""
        attempts = self._own.problems[problem]
        async with self._turn():
            limit, at = self._rules.runs, self._contest.seconds
            if limit is not None and attempts.runs >= limit:
                raise RefusedCall(f"all {limit} runs for {problem} are used up")
            attempts.runs += 1
            try:
                with self._in_progress(CallInProgress(problem=problem, call="run")):
                    result, _ = await self._judged(
                        about,
                        submission,
                        lambda task: with_own_input(in_hand(task) or task, given),
                        _MANAGER_FAILED if managed else _JUDGE_FAILED,
                    )
                self._keep("ran", {PARTICIPANT: self.participant, PROBLEM: problem, AT: at})
            except BaseException:
                attempts.runs -= 1
                raise
            left = None if limit is None else limit - attempts.runs
        if not result.compiles:
            return RunReply(compiles=False, compiler=_compiler(result.compile_output), runs_left=left)
        (test,) = result.tests
        completed = test.status in _COMPLETED
        return RunReply(
            compiles=True,
            compiler=_compiler(result.compile_output),
            ended="completed" if completed else test.status.value,
            words="" if completed and not managed else _words(test.feedback),
            output=test.output,
            error=test.error,
            cpu_seconds=test.cpu_time,
            wall_seconds=test.wall_time,
            memory_bytes=test.memory,
            runs_left=left,
        )

    async def test(self, problem: str, code: str, language: str = "") -> SamplesReply:
        """Run a program on the problem's samples."""
        about = self._problem(problem)
        if not sample_names(about):
            raise RefusedCall(f"{problem} has no samples beside its statement: run the program on own inputs")
        submission = self._submission(problem, about, code, language)
        return await self._finished(self._tested(problem, about, submission))

    async def _tested(self, problem: str, about: Problem, submission: Submission) -> SamplesReply:
        async with self._turn():
            with self._in_progress(CallInProgress(problem=problem, call="test")):
                result, compiler = await self._judged(about, submission, with_samples_alone)
        if not result.compiles:
            return SamplesReply(compiles=False, compiler=compiler)
        open_to_all = not has_secrets(about)
        samples = tuple(
            SampleResult(
                name=test.test_name,
                verdict=test.status,
                words=_words(test.feedback) if open_to_all else "",
                output=test.output if open_to_all else "",
                cpu_seconds=test.cpu_time,
                memory_bytes=test.memory,
            )
            for test in result.tests
        )
        return SamplesReply(compiles=True, compiler=compiler, samples=samples)

    async def submit(
        self,
        problem: str,
        code: str | None,
        language: str = "",
        *,
        outputs: Mapping[str, str] | None = None,
        cost: float | None = None,
    ) -> SubmissionReply:
        """Judge a program, or files by the names of their tests, for points. `cost` is stored in the row."""
        about = self._problem(problem)
        submission = self._submission(problem, about, code, language, outputs)
        return await self._finished(self._submitted(problem, about, submission, cost))

    async def end(self, problem: str, language: str = "") -> None:
        """Record an empty submission with 0 points, unless the participant has submitted a program."""
        about = self._problem(problem)
        if not self._own.problems[problem].worths:
            language = self._language(about, language)
            nothing = Submission(key="", problem_id=problem, code=None, language=language)
            await self._finished(self._given_up(problem, about, nothing))

    async def settle(self) -> None:
        """Wait until the participant has no call in progress, including calls whose caller was cancelled."""
        while self._own.calls:
            await asyncio.wait([*self._own.calls])

    async def _submitted(
        self, problem: str, about: Problem, submission: Submission, cost: float | None
    ) -> SubmissionReply:
        attempts, same = self._own.problems[problem], submission_identity(about, submission)
        async with self._turn(), attempts.turn:
            self._refuse_late()  # the contest may have ended while the call waited
            before, last = attempts.by_code.get(same), len(attempts.worths)
            # If the last submission counts, an earlier program again is a new submission.
            if before is not None and (
                before == last or self._rules.mode != scoring.ScoreMode.MAX_TOKENED_LAST
            ):
                return self._told(about, attempts, before, repeats=True)
            at, limit = self._contest.seconds, self._rules.submissions
            if limit is not None and len(attempts.worths) >= limit:
                raise RefusedCall(f"all {limit} submissions for {problem} are used up")
            if attempts.last is not None and at - attempts.last < self._rules.pause:
                wait = self._rules.pause - (at - attempts.last)
                raise RefusedCall(f"the next submission for {problem} may come in {wait:.1f} seconds")
            return await self._counted(problem, about, submission, at, cost)

    async def _given_up(self, problem: str, about: Problem, nothing: Submission) -> None:
        attempts = self._own.problems[problem]
        async with self._turn(), attempts.turn:
            self._refuse_late()
            if not attempts.worths:  # a call in progress may have submitted something
                await self._counted(problem, about, nothing, self._contest.seconds, None)

    async def _resumed(self, row: Mapping[str, Any]) -> SubmissionReply:
        """Judge a submission that was in progress when the contest was stopped. The rules allowed it then."""
        problem = row[PROBLEM]
        files = tuple(NamedBlob(name=name, content=Blob.of(text)) for name, text in row[OUTPUTS].items())
        submission = Submission(
            key="", problem_id=problem, code=row[CODE], language=row[LANGUAGE], outputs=files
        )
        async with self._own.capacity, self._own.problems[problem].turn:
            about = self._contest.problems[problem]
            return await self._counted(problem, about, submission, row[AT], row.get(COST))

    async def _counted(
        self, problem: str, about: Problem, submission: Submission, at: float, cost: float | None
    ) -> SubmissionReply:
        """Judge a submission for points, and store it until it is judged or the judge has failed."""
        attempts = self._own.problems[problem]
        number = len(attempts.worths) + 1
        row = {
            PARTICIPANT: self.participant,
            "model": self.participant,
            ATTEMPT: number,
            AT: at,
            CODE: submission.code,
            **({} if cost is None else {COST: cost}),
        }
        key = f"{self.participant}/{problem}#{number}"
        files = {file.name: file.content.read().decode() for file in submission.outputs}
        begun = {"key": key, **row, PROBLEM: problem, LANGUAGE: submission.language, OUTPUTS: files}
        submission = msgspec.structs.replace(submission, key=key, row=row)
        with (
            self._in_progress(CallInProgress(problem=problem, call="submit", number=number)),
            self._kept(begun),
        ):
            result, compiler = await self._watched(about, submission)
            if compiler:
                submission = msgspec.structs.replace(submission, row={**row, COMPILER: compiler})
            self._keep("judged", result_row(submission, about, result))
        same = submission_identity(about, submission)
        attempts.add(same, VisibleResult.of(result, compiler), at, self._rules.mode)
        return self._told(about, attempts, number)

    @contextlib.contextmanager
    def _kept(self, row: Mapping[str, Any]) -> Iterator[None]:
        """Store a submission while it is judged. It stays stored if the contest is stopped."""
        if (begun := self._contest._begun) is None:
            yield
            return
        with self._answerable():
            begun.add(row)
        try:
            yield
        except asyncio.CancelledError:
            raise
        except BaseException:
            begun.remove(row)
            raise
        begun.remove(row)

    async def _watched(self, about: Problem, submission: Submission) -> tuple[SubmissionResult, str]:
        with track_submission(submission.key, submission.problem_id) as now:
            self._contest.under_way[now] = None
            try:
                return await self._judged(about, submission, None)
            finally:
                del self._contest.under_way[now]

    # --- who waits for it ---

    async def _finished(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a call and return its result. If the caller is cancelled, a call in progress goes on."""
        if len(self._own.calls) >= self._rules.at_once + self._rules.waiting:
            work.close()
            raise RefusedCall("too many calls at the same time: wait for the answers")
        call = self._own.start(work)
        try:
            await asyncio.wait([call])
        except asyncio.CancelledError:
            call.add_done_callback(_unheard)
            if call not in self._own.in_progress:
                call.cancel()
            raise
        if call.cancelled():
            raise UnjudgedCall("the contest was stopped before this call was answered")
        return call.result()

    @contextlib.contextmanager
    def _in_progress(self, about: CallInProgress) -> Iterator[None]:
        """Context manager: the current task goes on if its caller is cancelled."""
        call = asyncio.current_task()
        self._own.in_progress[call] = about
        try:
            yield
        finally:
            del self._own.in_progress[call]

    # --- what is asked for ---

    def _problem(self, label: str) -> Problem:
        if not isinstance(label, str) or label not in self._contest.problems:
            there = shorten(", ".join(self._contest.problems), 1000)
            raise RefusedCall(f"no problem {visible(str(label)[:80])!r}: there are {there}")
        return self._contest.problems[label]

    def _submission(
        self,
        label: str,
        problem: Problem,
        code: str | None,
        language: str,
        outputs: Mapping[str, str] | None = None,
    ) -> Submission:
        """Return a call's submission. Raise RefusedCall at once if the call is invalid."""
        self._refuse_late()
        most, takes_files = self._rules.code_bytes, problem.task_type in _FILES
        if code is not None:
            _encoded(code, most, "code")
            code = unfenced(code)
        if problem.task_type is TaskType.OUTPUT_ONLY and (code or not outputs):
            raise RefusedCall(f"{label} takes no program: submit `outputs`, files by the names of its tests")
        if not (code or "").strip() and not (outputs and takes_files):
            raise RefusedCall("the submission contains no program")
        if outputs and not takes_files:
            raise RefusedCall(f"{label} takes a program, not files")
        if unknown := sorted(set(outputs or ()) - {*answered_with_files(problem)}):
            raise RefusedCall(f"{label} takes no file for {visible(unknown[0][:80])!r}")
        files = tuple(
            NamedBlob(name=name, content=Blob.of(_encoded(text, self._rules.input_bytes, "file")))
            for name, text in (outputs or {}).items()
        )
        return Submission(
            key="", problem_id=label, code=code, language=self._language(problem, language), outputs=files
        )

    def _usual_language(self, problem: Problem) -> str:
        """Return the language of programs without a named language."""
        usual, there = choose_language(problem, default=self._contest.language).language, self._there(problem)
        return usual if usual in there or not there else there[0]

    def _there(self, problem: Problem) -> list[str]:
        return [
            language.name
            for language in list_allowed_languages(problem)
            if language.name in self._contest.languages
        ]

    def _language(self, problem: Problem, asked: str) -> str:
        if not isinstance(asked, str):
            raise RefusedCall("the language must be a string")
        there, asked = self._there(problem), asked or self._usual_language(problem)
        try:
            language = find(asked)
        except InputError:
            language = None
        if language is None or (language.name not in there and problem.task_type is not TaskType.OUTPUT_ONLY):
            raise RefusedCall(f"no language {visible(asked[:80])!r} here: there are {', '.join(there)}")
        return asked if language.standard else language.name

    @contextlib.asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Wait until fewer of the participant's calls are in progress, so that a flood delays nobody else."""
        async with self._own.capacity:
            self._refuse_late()
            yield

    def _refuse_late(self) -> None:
        if self._contest.over or self._contest.closed:
            raise RefusedCall("the contest is over")

    # --- what comes of it ---

    async def _judged(
        self,
        problem: Problem,
        submission: Submission,
        change: Callable[[Problem], Problem] | None,
        failed: str = _JUDGE_FAILED,
    ) -> tuple[SubmissionResult, str]:
        """Return a result, and the compiler's messages for the participant.

        Args:
            problem: The problem.
            submission: The submission.
            change: Changes the problem, for runs without points; None judges for points.
            failed: Message for the participant if the judge fails. It must not name a test.
        """
        contest = self._contest
        try:
            limited = problem if contest._limited is None else await contest._limited(problem)
            if change is None:
                result = await contest._judge.judge(limited, submission)
            else:
                result = await contest._showing.judge(change(limited), submission)
            return result, await self._compiler(limited, submission, result)
        except (JudgeFailure, EngineError, ProgramBroken, InputError) as error:
            if change is None:
                failure = JudgeFailure(str(error), phase="judging")
                failure = error if isinstance(error, JudgeFailure) else failure
                self._keep("failed", failure_row(submission, failure, problem))
            raise UnjudgedCall(failed) from error

    def _keep(self, what: str, row: Mapping[str, Any]) -> None:
        """Store a row with the record's method of this name. Raise UnjudgedCall if that is impossible.

        So no result is reported that could be lost. The reason is in the log, for the organizer.
        """
        if (record := self._contest._record) is not None:
            with self._answerable():
                getattr(record, what)(row)

    @contextlib.contextmanager
    def _answerable(self) -> Iterator[None]:
        """Context manager: raise UnjudgedCall if a row cannot be written, and log each reason once."""
        try:
            yield
        except InputError as error:
            if str(error) not in self._contest._logged_errors:
                self._contest._logged_errors.add(str(error))
                _log.warning("a call was not answered and may be repeated: %s (logged once)", error)
            raise UnjudgedCall(_JUDGE_FAILED) from error

    async def _compiler(self, problem: Problem, submission: Submission, result: SubmissionResult) -> str:
        """Return the compiler's messages about a program that does not compile.

        If the build needs secret sources, the messages could quote them. The program is then compiled again
        without them, and only those messages are returned.
        """
        if result.compiles:
            return ""
        if not has_secrets(problem) or submission.code is None:
            return _compiler(result.compile_output)
        alone = await self._contest._judge.judge(compiled_alone(problem), submission)
        log = "" if alone.compiles else own_fault(alone.compile_output)
        return (
            _compiler(log) or "It does not compile with the judge's grader: compare it with the attachments"
        )

    def _tells(self, least: Feedback) -> bool:
        order = [Feedback.NONE, Feedback.VERDICT, Feedback.POINTS, Feedback.FULL]
        return self._contest.over or order.index(self._rules.feedback) >= order.index(least)

    def _told(
        self, problem: Problem, attempts: _Attempts, number: int, *, repeats: bool = False
    ) -> SubmissionReply:
        worth, limit, state = attempts.worths[number - 1], self._rules.submissions, attempts
        compiles, points = worth.result.compiles, self._tells(Feedback.POINTS)
        verdict = worth.verdict if self._tells(Feedback.VERDICT) or not compiles else None
        note = "the same code was submitted before; it costs nothing" if repeats else "it was judged"
        return SubmissionReply(
            number=number,
            words=f"Submission {number}: {note}",
            repeats=repeats,
            compiles=compiles,
            compiler=worth.compiler,
            verdict=verdict,
            points=worth.result.points if points else None,
            points_max=sum(part.points_max for part in worth.parts) if worth.parts else 1.0,
            subtasks=worth.parts if compiles and self._tells(Feedback.FULL) else (),
            slowest_seconds=worth.slowest if self._rules.times else None,
            best=state.points if points else None,
            submissions_left=None if limit is None else limit - len(state.worths),
        )

    def _state(self, label: str) -> ProblemState:
        attempts, limit = self._own.problems.get(label), self._rules.submissions
        problem, done = self._contest.problems[label], 0 if attempts is None else len(attempts.worths)
        points, shown = 0.0 if attempts is None else attempts.points, self._tells(Feedback.POINTS)
        return ProblemState(
            id=label,
            title=visible(problem.name) or label,
            points_max=max_problem_points(problem),
            points=points if shown else None,
            attempts=done,
            submissions_left=None if limit is None else limit - done,
            gained=attempts.gained if attempts is not None and shown else None,
        )


def _unheard(call: asyncio.Task[Any]) -> None:
    """Receive the result of a call whose caller was cancelled, and log unexpected exceptions."""
    error = None if call.cancelled() else call.exception()
    if error is not None and not isinstance(error, RefusedCall | UnjudgedCall):
        _log.error("a call failed after its caller was cancelled", exc_info=error)


def _encoded(text: str, max_bytes: int, what: str) -> bytes:
    """Return a string as bytes. Raise RefusedCall if it is too long or not a valid string."""
    if not isinstance(text, str):
        raise RefusedCall(f"the {what} must be a string")
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise RefusedCall(f"the {what} contains halves of characters") from None
    if len(data) > max_bytes:
        raise RefusedCall(f"the {what} has {len(data)} bytes, but may have at most {max_bytes}")
    return data


def _compiler(log: str) -> str:
    return shorten(harmless(log, "\n\t"), MAX_COMPILE_OUTPUT)


def _words(feedback: str) -> str:
    return shorten(visible(feedback), 500)
