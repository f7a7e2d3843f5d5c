"""A contest and its sessions: the calls of participants, their points, and the results that they may see.

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
from ioi_eval.model.languages import LANGUAGES, find_language
from ioi_eval.model.text import remove_invisible, visible
from ioi_eval.model.values import Blob, NamedBlob, Problem, Submission, SubmissionResult, TaskType, Verdict
from ioi_eval.plugins.contest.names import ParticipantNames
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
    find_source_error_messages,
    has_secret_sources,
    keep_only_public_sources,
    keep_only_samples,
    list_file_tests,
    list_sample_test_names,
    list_statement_texts,
    make_problem_for_participants,
    make_statement,
    set_single_input,
    shorten_statement,
    strip_fence,
)
from ioi_eval.rules import scoring
from ioi_eval.rules.expectations import compute_max_points
from ioi_eval.rules.languages import choose_language, list_allowed_languages
from ioi_eval.store.rows import (
    MAX_COMPILE_OUTPUT,
    failure_row,
    hash_submission,
    read_result,
    result_row,
    shorten,
)

T = TypeVar("T")
_log = logging.getLogger(__name__)
MAX_PART_LENGTH = 32_768  # maximum characters of a problem's texts in a single reply to a model
_COMPLETED = frozenset({Verdict.AC, Verdict.PA, Verdict.WA})
_FILES = frozenset({TaskType.OUTPUT_ONLY, TaskType.BATCH_AND_OUTPUT})
_JUDGE_FAILED = "the judge failed; this costs nothing, and you may try again"
_MANAGER_FAILED = (
    "the package's sample manager did not work on this input, or the judge failed; this costs nothing"
)
# Columns that a contest adds to the rows of results. `compiler_told` contains the compiler's messages.
PARTICIPANT, ATTEMPT, AT, COMPILER = "participant", "attempt", "contest_seconds", "compiler_told"
PROBLEM, CODE, LANGUAGE, OUTPUTS, COST = "problem_id", "code", "language", "outputs", "cost"


class Record(Protocol):
    """Stores rows of results, failures and runs, so that they survive a kill of the process."""

    def save_result(self, row: Mapping[str, Any]) -> None: ...

    def save_failure(self, row: Mapping[str, Any]) -> None: ...

    def save_run(self, row: Mapping[str, Any]) -> None: ...


class PendingSubmissions(Protocol):
    """Stores the submissions that are being judged, so that they survive a kill of the process."""

    def add(self, row: Mapping[str, Any]) -> None: ...

    def remove(self, row: Mapping[str, Any]) -> None: ...


class _ProblemAttempts:
    """A participant's submissions for a problem."""

    def __init__(self) -> None:
        # Submissions are judged one after the other, because limits count judged submissions.
        self.submission_lock = asyncio.Lock()
        self.runs = 0
        self.results: list[VisibleResult] = []
        self.numbers_by_code: dict[str, int] = {}
        self.points = 0.0
        self.last_submission_s: float | None = None  # seconds from the start to the last submission
        self.last_gain_s: float | None = None  # seconds from the start to the last gain of points
        # For each submission: time, points, and time of the last gain, in seconds from the start.
        self.steps: list[tuple[float, float, float | None]] = []

    def add(self, code: str, result: VisibleResult, time_s: float, score_mode: scoring.ScoreMode) -> None:
        self.results.append(result)
        self.numbers_by_code[code] = len(self.results)
        points = scoring.compute_problem_points(score_mode, [attempt.result for attempt in self.results])
        if points > self.points:
            self.last_gain_s = time_s
        self.points, self.last_submission_s = points, time_s
        self.steps.append((time_s, points, self.last_gain_s))

    def find_points_and_gain_time(self, before_s: float | None) -> tuple[float, float | None]:
        """Return the points before `before_s`, and when they last rose. `None` as `before_s` means now."""
        if before_s is None:
            return self.points, self.last_gain_s
        visible_steps = [step for step in self.steps if step[0] < before_s]
        return visible_steps[-1][1:] if visible_steps else (0.0, None)

    def has_full_marks(self, score_mode: scoring.ScoreMode) -> bool:
        """Return True if the problem has full marks. Several submissions may solve its subtasks."""
        counted_results = (
            self.results[-1:] if score_mode == scoring.ScoreMode.MAX_TOKENED_LAST else self.results
        )
        if score_mode == scoring.ScoreMode.MAX_SUBTASK and any(
            attempt.result.subtasks for attempt in counted_results
        ):
            best_subtasks = scoring.collect_best_subtasks(attempt.result for attempt in counted_results)
            scored_subtasks = (
                scoring.select_scored_subtasks(best.subtasks) for best in best_subtasks.values()
            )
            return all(subtask.exact_score >= 1 for subtasks in scored_subtasks for subtask in subtasks)
        return any(attempt.verdict is Verdict.AC for attempt in counted_results)


class _ParticipantState:
    def __init__(self, name: str, max_concurrent_calls: int) -> None:
        self.name = name
        self.call_slots = asyncio.Semaphore(max_concurrent_calls)
        self.calls = set[asyncio.Task[Any]]()  # tasks of calls that wait or are in progress
        self.problems = defaultdict[str, _ProblemAttempts](_ProblemAttempts)
        self.in_progress: dict[asyncio.Task[Any] | None, CallInProgress] = {}

    def start(self, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(coroutine)
        self.calls.add(task)
        task.add_done_callback(self.calls.discard)
        return task


class Contest:
    """A contest: problems and rules, with a session for each participant.

        contest = Contest(load_problems("packages"), Rules(feedback=Feedback.POINTS), judge=scorer.judge)
        session = contest.session("otter")
        print((await session.submit("lanterns", code, "c++")).points)

    A call that is being judged belongs to the contest: it continues and counts if its caller is cancelled.
    `close` stops all calls, and so does leaving `async with`.

    Args:
        problems: The problems by name.
        rules: The rules.
        judge: Judges submissions.
        participants: Names of the participants. None means that any name may participate.
        record: Stores each result before it is reported. `restore` reads its rows.
        pending: Stores submissions that are being judged. `resume` reads its rows.
        add_time_limit: Returns a problem with its time limit.
        languages: Languages of the engine. None means all.
        language: Language of programs without a named language, if the problem allows it.
        started: Time of the contest's start, by `clock`. None means now.
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
        pending: PendingSubmissions | None = None,
        add_time_limit: Callable[[Problem], Awaitable[Problem]] | None = None,
        languages: Collection[str] | None = None,
        language: str = "c++",
        started: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.problems, self.rules, self.participants = problems, rules or Rules(), participants
        self._record, self._pending, self._add_time_limit, self._clock = (
            record,
            pending,
            add_time_limit,
            clock,
        )
        self.language = language
        self.started = clock() if started is None else started
        self._latest_elapsed_s = 0.0
        self._judge = judge.with_options(in_order=True, echo=0)
        self._sample_judge = self._judge.with_options(
            show=True, echo=self.rules.output_bytes, borderline=None
        )
        allowed_languages = find_allowed_languages(self.rules, participants)
        self.languages = allowed_languages if languages is None else allowed_languages & {*languages}
        self._participants: dict[str, _ParticipantState] = {}
        self._names = ParticipantNames()
        # Reasons why rows could not be stored, each of which is logged only once.
        self._logged_errors: set[str] = set()
        # Submissions that are being judged, in the order in which they started.
        self.under_way = dict[TrackedSubmission, None]()
        self.closed = False  # True if no further calls are judged
        for name in participants or ():
            self.session(name)

    def session(self, participant: str) -> Session:
        """Return a participant's session. Sessions of the same participant share points and limits."""
        if self.participants is not None and participant not in self.participants:
            raise InputError(f"the contest has no participant {visible(participant)!r}", field="participant")
        if participant not in self._participants:
            self._names.add(participant)
        return Session(self, self._find_participant(participant))

    def restore(self, row: Mapping[str, Any]) -> None:
        """Restore a judged submission from its row in the record."""
        result = VisibleResult.from_result(read_result(row), row.get(COMPILER) or "")
        attempts = self._find_participant(row[PARTICIPANT]).problems[row["problem_id"]]
        attempts.add(row["submission_sha256"], result, row[AT], self.rules.mode)
        self._latest_elapsed_s = max(self._latest_elapsed_s, row[AT])

    def restore_run(self, row: Mapping[str, Any]) -> None:
        """Restore a run from its row in the record."""
        self._find_participant(row[PARTICIPANT]).problems[row["problem_id"]].runs += 1

    def resume(self, row: Mapping[str, Any]) -> None:
        """Judge a submission that was in progress when the contest was stopped. Its time does not change."""
        participant = self._find_participant(row[PARTICIPANT])
        self._latest_elapsed_s = max(self._latest_elapsed_s, row[AT])
        participant.start(Session(self, participant)._judge_stored_submission(row)).add_done_callback(
            _log_unawaited_failure
        )

    async def close(self) -> None:
        """Stop the contest and all its calls. Submissions in progress stay stored."""
        self.closed = True
        calls = [call for participant in self._participants.values() for call in participant.calls]
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    @property
    def elapsed_s(self) -> float:
        """Return the seconds since the start. They never decrease, even if the clock is set back."""
        self._latest_elapsed_s = max(self._latest_elapsed_s, self._clock() - self.started)
        return self._latest_elapsed_s

    @property
    def is_over(self) -> bool:
        return self.rules.seconds is not None and self.elapsed_s >= self.rules.seconds

    def scoreboard(self, *, frozen_from: float | None = None) -> tuple[ScoreboardRow, ...]:
        """Return the rows of all participants, by descending points and, if these are equal, by time.

        `frozen_from`: seconds from the start; later submissions do not count.
        """
        rows = list[ScoreboardRow]()
        for participant in self._participants.values():
            points_and_times = [
                attempts.find_points_and_gain_time(frozen_from) for attempts in participant.problems.values()
            ]
            rows.append(
                ScoreboardRow(
                    participant=participant.name,
                    points=round(sum(points for points, _ in points_and_times), 6),
                    gained=max((gain_time for _, gain_time in points_and_times if gain_time), default=None),
                )
            )
        return tuple(sorted(rows, key=lambda row: (-row.points, row.gained or 0.0, row.participant)))

    def has_solved(self, participant: str, problem: str) -> bool:
        """Return True if a participant has full marks, even if the rounded points are a little lower."""
        attempts = self._find_participant(participant).problems.get(problem)
        return attempts is not None and attempts.has_full_marks(self.rules.mode)

    def _find_participant(self, name: str) -> _ParticipantState:
        if name not in self._participants:
            self._participants[name] = _ParticipantState(name, self.rules.at_once)
            self._names.add_name_without_checks(name)
        return self._participants[name]


def find_allowed_languages(rules: Rules, participants: Collection[str] | None) -> set[str]:
    """Return the languages that the rules allow. Raise InputError for invalid rules or participants."""
    rules.check()
    checked_names = ParticipantNames()
    for name in participants or ():
        checked_names.add(name)
    allowed_names = {find_language(name, field="languages").name for name in rules.languages}
    return allowed_names or {language.name for language in LANGUAGES}


class Session:
    """The calls of a participant.

    Every method raises `RefusedCall` if the rules do not allow the call, and `UnjudgedCall` if the judge
    failed. Neither counts as a call. If a caller is cancelled, a waiting call is dropped, and a call in
    progress continues and counts.
    """

    def __init__(self, contest: Contest, participant: _ParticipantState) -> None:
        self._contest, self._state, self._rules = contest, participant, contest.rules

    @property
    def participant(self) -> str:
        return self._state.name

    def problems(self) -> tuple[ProblemState, ...]:
        """Return the contest's problems with the participant's state."""
        return tuple(self._make_problem_state(label) for label in self._contest.problems)

    def statement(self, problem: str, *, characters: int | None = None) -> Statement:
        """Return a problem's text, limits, samples and attachments.

        `characters`: the maximum length of all texts together. The method `attachment` returns the rest of a
        text.
        """
        if characters is None:
            return self._make_statement(problem)
        return shorten_statement(self._make_statement(problem, sample_bytes=sys.maxsize), characters)

    def attachment(self, problem: str, name: str, offset: int = 0) -> TextPart:
        """Return a part of a text of a problem: of an attachment, a sample, or the statement."""
        available_texts = list_statement_texts(self._make_statement(problem, sample_bytes=sys.maxsize))
        if name not in available_texts:
            text_names = shorten(
                ", ".join(text_name for text_name, content in available_texts.items() if content), 1000
            )
            raise RefusedCall(
                f"{problem} has no text named {visible(str(name)[:80])!r}: its texts are {text_names}"
            )
        text_length = len(available_texts[name])
        if not 0 <= offset <= text_length:
            raise RefusedCall(f"the offset must be 0 to {text_length}, not {offset}")
        part_end = offset + MAX_PART_LENGTH
        next_offset = part_end if part_end < text_length else None
        content = available_texts[name][offset:part_end]
        return TextPart(
            name=name, characters=text_length, offset=offset, text=content, next_offset=next_offset
        )

    def _make_statement(self, problem_id: str, **length_limits: int) -> Statement:
        problem = self._find_problem(problem_id)
        return make_statement(
            problem,
            problem_id,
            self._contest.languages,
            self._choose_default_language(problem),
            **length_limits,
        )

    def standing(self) -> Standing:
        """Return the participant's points, and the scoreboard if the rules show it."""
        problems, rules = self.problems(), self._rules
        seconds_left = None if rules.seconds is None else max(0.0, rules.seconds - self._contest.elapsed_s)
        problem_points = [problem.points for problem in problems if problem.points is not None]
        shows_scoreboard = rules.scoreboard and self._includes_feedback(Feedback.POINTS)
        frozen_from = rules.frozen_from(self._contest.elapsed_s)
        return Standing(
            participant=self.participant,
            points=round(sum(problem_points), 6) if len(problem_points) == len(problems) else None,
            points_max=sum(problem.points_max for problem in problems),
            seconds_left=seconds_left,
            problems=problems,
            scoreboard=self._contest.scoreboard(frozen_from=frozen_from) if shows_scoreboard else (),
            in_progress=(*self._state.in_progress.values(),),
        )

    async def run(self, problem: str, code: str, language: str = "", *, input: str = "") -> RunReply:
        """Run a program on the participant's own input.

        Args:
            problem: The problem's name in the contest.
            code: Source code of the program. Markdown fences around it are removed.
            language: The program's language. Empty means the default language for the problem.
            input: Content of the input.

        Raises:
            RefusedCall: The call is invalid, or the rules do not allow it.
            UnjudgedCall: The judge failed, or the contest was stopped. The call may be repeated.
        """
        definition, input_data = (
            self._find_problem(problem),
            _encode_text(input, self._rules.input_bytes, "input"),
        )
        submission = self._make_submission(problem, definition, code, language)
        visible_problem = make_problem_for_participants(definition)
        if visible_problem is None:
            raise RefusedCall(
                f"{problem} is judged with a program that participants do not"
                " have: it cannot be run on your own inputs"
            )
        if find_language(submission.language) not in list_allowed_languages(visible_problem):
            raise RefusedCall(
                f"{problem} has no public grader for {submission.language}: the"
                " program cannot be run on your own inputs"
            )
        return await self._run_call(
            self._run_program_on_input(
                problem, definition, submission, input_data, has_manager=visible_problem.manager is not None
            )
        )

    async def _run_program_on_input(
        self,
        problem_id: str,
        problem: Problem,
        submission: Submission,
        input_data: bytes,
        *,
        has_manager: bool,
    ) -> RunReply:
        """Run a program on an input.

        `has_manager`: the sample manager runs the program, and its messages are shown.
        """
        attempts = self._state.problems[problem_id]
        async with self._take_slot():
            max_runs, started_s = self._rules.runs, self._contest.elapsed_s
            if max_runs is not None and attempts.runs >= max_runs:
                raise RefusedCall(f"all {max_runs} runs for {problem_id} are used up")
            attempts.runs += 1
            try:
                with self._protect_from_cancellation(CallInProgress(problem=problem_id, call="run")):
                    result, _ = await self._judge(
                        problem,
                        submission,
                        lambda task: set_single_input(
                            make_problem_for_participants(task) or task, input_data
                        ),
                        _MANAGER_FAILED if has_manager else _JUDGE_FAILED,
                    )
                self._store_row(
                    "save_run", {PARTICIPANT: self.participant, PROBLEM: problem_id, AT: started_s}
                )
            except BaseException:
                attempts.runs -= 1
                raise
            runs_left = None if max_runs is None else max_runs - attempts.runs
        if not result.compiles:
            return RunReply(
                compiles=False, compiler=_clean_compiler_messages(result.compile_output), runs_left=runs_left
            )
        (test,) = result.tests
        is_completed = test.status in _COMPLETED
        return RunReply(
            compiles=True,
            compiler=_clean_compiler_messages(result.compile_output),
            ended="completed" if is_completed else test.status.value,
            words="" if is_completed and not has_manager else _clean_feedback(test.feedback),
            output=test.output,
            error=test.error,
            cpu_seconds=test.cpu_time,
            wall_seconds=test.wall_time,
            memory_bytes=test.memory,
            runs_left=runs_left,
        )

    async def test(self, problem: str, code: str, language: str = "") -> SamplesReply:
        """Run a program on the problem's samples."""
        definition = self._find_problem(problem)
        if not list_sample_test_names(definition):
            raise RefusedCall(
                f"{problem} has no samples outside its statement: run the program on your own inputs"
            )
        submission = self._make_submission(problem, definition, code, language)
        return await self._run_call(self._run_program_on_samples(problem, definition, submission))

    async def _run_program_on_samples(
        self, problem_id: str, problem: Problem, submission: Submission
    ) -> SamplesReply:
        async with self._take_slot():
            with self._protect_from_cancellation(CallInProgress(problem=problem_id, call="test")):
                result, compiler = await self._judge(problem, submission, keep_only_samples)
        if not result.compiles:
            return SamplesReply(compiles=False, compiler=compiler)
        shows_output = not has_secret_sources(problem)
        samples = tuple(
            SampleResult(
                name=test.test_name,
                verdict=test.status,
                words=_clean_feedback(test.feedback) if shows_output else "",
                output=test.output if shows_output else "",
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
        """Judge a program, output files, or both, for points.

        Args:
            problem: The problem's name in the contest.
            code: Source code of the program. None means that only files are submitted.
            language: The program's language. Empty means the default language for the problem.
            outputs: Contents of the output files by the names of their tests. None means no files.
            cost: Cost of the submission, which is stored in the row of its result. None means unknown.

        Raises:
            RefusedCall: The call is invalid, or the rules do not allow it.
            UnjudgedCall: The judge failed, or the contest was stopped. The call may be repeated.
        """
        definition = self._find_problem(problem)
        submission = self._make_submission(problem, definition, code, language, outputs)
        return await self._run_call(self._judge_new_submission(problem, definition, submission, cost))

    async def end(self, problem: str, language: str = "") -> None:
        """Record an empty submission with 0 points, unless the participant has submitted a program."""
        definition = self._find_problem(problem)
        if not self._state.problems[problem].results:
            language = self._choose_language(definition, language)
            empty_submission = Submission(key="", problem_id=problem, code=None, language=language)
            await self._run_call(self._judge_empty_submission(problem, definition, empty_submission))

    async def settle(self) -> None:
        """Wait for all calls in progress of the participant, including calls whose caller was cancelled."""
        while self._state.calls:
            await asyncio.wait([*self._state.calls])

    async def _judge_new_submission(
        self, problem_id: str, problem: Problem, submission: Submission, cost: float | None
    ) -> SubmissionReply:
        attempts, code_hash = self._state.problems[problem_id], hash_submission(problem, submission)
        async with self._take_slot(), attempts.submission_lock:
            self._refuse_if_contest_ended()  # refuses the call if the contest has ended while the call waited
            earlier_number, last_number = attempts.numbers_by_code.get(code_hash), len(attempts.results)
            # If the rules count the last submission, a repeated program is a new submission.
            if earlier_number is not None and (
                earlier_number == last_number or self._rules.mode != scoring.ScoreMode.MAX_TOKENED_LAST
            ):
                return self._make_submission_reply(problem, attempts, earlier_number, is_repeated=True)
            time_s, max_submissions = self._contest.elapsed_s, self._rules.submissions
            if max_submissions is not None and len(attempts.results) >= max_submissions:
                raise RefusedCall(f"all {max_submissions} submissions for {problem_id} are used up")
            if (
                attempts.last_submission_s is not None
                and time_s - attempts.last_submission_s < self._rules.pause
            ):
                pause_s = self._rules.pause - (time_s - attempts.last_submission_s)
                raise RefusedCall(
                    f"the next submission for {problem_id} is accepted in {pause_s:.1f} seconds"
                )
            return await self._judge_for_points(problem_id, problem, submission, time_s, cost)

    async def _judge_empty_submission(
        self, problem_id: str, problem: Problem, empty_submission: Submission
    ) -> None:
        attempts = self._state.problems[problem_id]
        async with self._take_slot(), attempts.submission_lock:
            self._refuse_if_contest_ended()
            if not attempts.results:  # a call in progress may have added a submission meanwhile
                await self._judge_for_points(
                    problem_id, problem, empty_submission, self._contest.elapsed_s, None
                )

    async def _judge_stored_submission(self, row: Mapping[str, Any]) -> SubmissionReply:
        """Judge a submission that was in progress when the contest was stopped. The rules allowed it then."""
        problem_id = row[PROBLEM]
        files = tuple(
            NamedBlob(name=name, content=Blob.of(content)) for name, content in row[OUTPUTS].items()
        )
        submission = Submission(
            key="", problem_id=problem_id, code=row[CODE], language=row[LANGUAGE], outputs=files
        )
        async with self._state.call_slots, self._state.problems[problem_id].submission_lock:
            problem = self._contest.problems[problem_id]
            return await self._judge_for_points(problem_id, problem, submission, row[AT], row.get(COST))

    async def _judge_for_points(
        self, problem_id: str, problem: Problem, submission: Submission, time_s: float, cost: float | None
    ) -> SubmissionReply:
        """Judge a submission for points, and store it until it is judged or the judge has failed."""
        attempts = self._state.problems[problem_id]
        number = len(attempts.results) + 1
        row = {
            PARTICIPANT: self.participant,
            "model": self.participant,
            ATTEMPT: number,
            AT: time_s,
            CODE: submission.code,
            **({} if cost is None else {COST: cost}),
        }
        key = f"{self.participant}/{problem_id}#{number}"
        files = {file.name: file.content.read().decode() for file in submission.outputs}
        pending_row = {"key": key, **row, PROBLEM: problem_id, LANGUAGE: submission.language, OUTPUTS: files}
        submission = msgspec.structs.replace(submission, key=key, row=row)
        with (
            self._protect_from_cancellation(CallInProgress(problem=problem_id, call="submit", number=number)),
            self._store_while_judged(pending_row),
        ):
            result, compiler = await self._judge_shown_in_progress(problem, submission)
            if compiler:
                submission = msgspec.structs.replace(submission, row={**row, COMPILER: compiler})
            self._store_row("save_result", result_row(submission, problem, result))
        code_hash = hash_submission(problem, submission)
        attempts.add(code_hash, VisibleResult.from_result(result, compiler), time_s, self._rules.mode)
        return self._make_submission_reply(problem, attempts, number)

    @contextlib.contextmanager
    def _store_while_judged(self, row: Mapping[str, Any]) -> Iterator[None]:
        """Store a submission while it is judged. It stays stored if the contest is stopped."""
        if (pending := self._contest._pending) is None:
            yield
            return
        with self._convert_write_errors():
            pending.add(row)
        try:
            yield
        except asyncio.CancelledError:
            raise
        except BaseException:
            pending.remove(row)
            raise
        pending.remove(row)

    async def _judge_shown_in_progress(
        self, problem: Problem, submission: Submission
    ) -> tuple[SubmissionResult, str]:
        """Return the result and the compiler's messages. Meanwhile the submission is shown as in progress."""
        with track_submission(submission.key, submission.problem_id) as active_submission:
            self._contest.under_way[active_submission] = None
            try:
                return await self._judge(problem, submission, None)
            finally:
                del self._contest.under_way[active_submission]

    # --- cancelled callers ---------------------------------------------------------------------------

    async def _run_call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a call and return its result. If the caller is cancelled, a call in progress continues."""
        if len(self._state.calls) >= self._rules.at_once + self._rules.waiting:
            coroutine.close()
            raise RefusedCall("too many calls at the same time: wait for the replies to earlier calls")
        task = self._state.start(coroutine)
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.add_done_callback(_log_unawaited_failure)
            if task not in self._state.in_progress:
                task.cancel()
            raise
        if task.cancelled():
            raise UnjudgedCall("the contest was stopped before this call was answered")
        return task.result()

    @contextlib.contextmanager
    def _protect_from_cancellation(self, call: CallInProgress) -> Iterator[None]:
        """Context manager in which the current task continues if its caller is cancelled."""
        task = asyncio.current_task()
        self._state.in_progress[task] = call
        try:
            yield
        finally:
            del self._state.in_progress[task]

    # --- checks of a call's arguments ----------------------------------------------------------------

    def _find_problem(self, problem_id: str) -> Problem:
        if not isinstance(problem_id, str) or problem_id not in self._contest.problems:
            labels = shorten(", ".join(self._contest.problems), 1000)
            raise RefusedCall(
                f"the contest has no problem {visible(str(problem_id)[:80])!r}: its problems are {labels}"
            )
        return self._contest.problems[problem_id]

    def _make_submission(
        self,
        problem_id: str,
        problem: Problem,
        code: str | None,
        language: str,
        outputs: Mapping[str, str] | None = None,
    ) -> Submission:
        """Return a call's submission. Raise RefusedCall at once if the call is invalid."""
        self._refuse_if_contest_ended()
        max_code_bytes, accepts_files = self._rules.code_bytes, problem.task_type in _FILES
        if code is not None:
            _encode_text(code, max_code_bytes, "code")
            code = strip_fence(code)
        if problem.task_type is TaskType.OUTPUT_ONLY and (code or not outputs):
            raise RefusedCall(
                f"{problem_id} does not accept programs: submit `outputs`, one"
                " file for each test, by the test's name"
            )
        if not (code or "").strip() and not (outputs and accepts_files):
            raise RefusedCall("the submission contains no program")
        if outputs and not accepts_files:
            raise RefusedCall(f"{problem_id} accepts only a program, no files")
        if unknown_files := sorted(set(outputs or ()) - {*list_file_tests(problem)}):
            raise RefusedCall(f"{problem_id} does not accept a file for {visible(unknown_files[0][:80])!r}")
        files = tuple(
            NamedBlob(name=name, content=Blob.of(_encode_text(content, self._rules.input_bytes, "file")))
            for name, content in (outputs or {}).items()
        )
        return Submission(
            key="",
            problem_id=problem_id,
            code=code,
            language=self._choose_language(problem, language),
            outputs=files,
        )

    def _choose_default_language(self, problem: Problem) -> str:
        """Return the language of programs without a named language."""
        preferred_language, available_languages = (
            choose_language(problem, default=self._contest.language).language,
            self._list_languages(problem),
        )
        return (
            preferred_language
            if preferred_language in available_languages or not available_languages
            else available_languages[0]
        )

    def _list_languages(self, problem: Problem) -> list[str]:
        return [
            language.name
            for language in list_allowed_languages(problem)
            if language.name in self._contest.languages
        ]

    def _choose_language(self, problem: Problem, requested_language: str) -> str:
        if not isinstance(requested_language, str):
            raise RefusedCall("the language must be a string")
        available_languages, requested_language = (
            self._list_languages(problem),
            requested_language or self._choose_default_language(problem),
        )
        try:
            language = find_language(requested_language)
        except InputError:
            language = None
        if language is None or (
            language.name not in available_languages and problem.task_type is not TaskType.OUTPUT_ONLY
        ):
            raise RefusedCall(
                f"the language {visible(requested_language[:80])!r} is not available:"
                f" the languages are {', '.join(available_languages)}"
            )
        return requested_language if language.standard else language.name

    @contextlib.asynccontextmanager
    async def _take_slot(self) -> AsyncIterator[None]:
        """Wait for a free slot of the participant, so that many calls do not delay other participants."""
        async with self._state.call_slots:
            self._refuse_if_contest_ended()
            yield

    def _refuse_if_contest_ended(self) -> None:
        if self._contest.is_over or self._contest.closed:
            raise RefusedCall("the contest is over")

    # --- results -------------------------------------------------------------------------------------

    async def _judge(
        self,
        problem: Problem,
        submission: Submission,
        change_problem: Callable[[Problem], Problem] | None,
        failure_message: str = _JUDGE_FAILED,
    ) -> tuple[SubmissionResult, str]:
        """Return a result, and the compiler's messages for the participant.

        Args:
            problem: The problem.
            submission: The submission.
            change_problem: Changes the problem, for runs without points. None means a run for points.
            failure_message: Message for the participant if the judge fails. It must not name a test.
        """
        contest = self._contest
        try:
            timed_problem = (
                problem if contest._add_time_limit is None else await contest._add_time_limit(problem)
            )
            if change_problem is None:
                result = await contest._judge.judge(timed_problem, submission)
            else:
                result = await contest._sample_judge.judge(change_problem(timed_problem), submission)
            return result, await self._read_compiler_messages(timed_problem, submission, result)
        except (JudgeFailure, EngineError, ProgramBroken, InputError) as error:
            if change_problem is None:
                failure = JudgeFailure(str(error), phase="judging")
                failure = error if isinstance(error, JudgeFailure) else failure
                self._store_row("save_failure", failure_row(submission, failure, problem))
            raise UnjudgedCall(failure_message) from error

    def _store_row(self, method_name: str, row: Mapping[str, Any]) -> None:
        """Store a row with the method `method_name` of the contest's record.

        Raises UnjudgedCall if that fails, because a result that is not stored must not be reported. The
        reason is logged for the organizer.
        """
        if (contest_record := self._contest._record) is not None:
            with self._convert_write_errors():
                getattr(contest_record, method_name)(row)

    @contextlib.contextmanager
    def _convert_write_errors(self) -> Iterator[None]:
        """Context manager: raise UnjudgedCall if a row cannot be written, and log each reason once."""
        try:
            yield
        except InputError as error:
            if str(error) not in self._contest._logged_errors:
                self._contest._logged_errors.add(str(error))
                _log.warning("a tool call was not answered and may be repeated: %s (logged once)", error)
            raise UnjudgedCall(_JUDGE_FAILED) from error

    async def _read_compiler_messages(
        self, problem: Problem, submission: Submission, result: SubmissionResult
    ) -> str:
        """Return the compiler's messages about a program that does not compile.

        If the build needs secret sources, the messages could quote them. The program is then compiled again
        without them, and only those messages are returned.
        """
        if result.compiles:
            return ""
        if not has_secret_sources(problem) or submission.code is None:
            return _clean_compiler_messages(result.compile_output)
        second_result = await self._contest._judge.judge(keep_only_public_sources(problem), submission)
        source_messages = (
            "" if second_result.compiles else find_source_error_messages(second_result.compile_output)
        )
        return (
            _clean_compiler_messages(source_messages)
            or "It does not compile with the judge's grader: compare it with the attachments"
        )

    def _includes_feedback(self, min_feedback: Feedback) -> bool:
        feedback_levels = [Feedback.NONE, Feedback.VERDICT, Feedback.POINTS, Feedback.FULL]
        return self._contest.is_over or feedback_levels.index(self._rules.feedback) >= feedback_levels.index(
            min_feedback
        )

    def _make_submission_reply(
        self, problem: Problem, attempts: _ProblemAttempts, attempt_number: int, *, is_repeated: bool = False
    ) -> SubmissionReply:
        attempt, max_submissions, problem_attempts = (
            attempts.results[attempt_number - 1],
            self._rules.submissions,
            attempts,
        )
        compiles, shows_points = attempt.result.compiles, self._includes_feedback(Feedback.POINTS)
        verdict = attempt.verdict if self._includes_feedback(Feedback.VERDICT) or not compiles else None
        note = "the same code was submitted before; it costs nothing" if is_repeated else "it was judged"
        return SubmissionReply(
            number=attempt_number,
            words=f"Submission {attempt_number}: {note}",
            repeats=is_repeated,
            compiles=compiles,
            compiler=attempt.compiler,
            verdict=verdict,
            points=attempt.result.points if shows_points else None,
            points_max=sum(subtask.points_max for subtask in attempt.parts) if attempt.parts else 1.0,
            subtasks=attempt.parts if compiles and self._includes_feedback(Feedback.FULL) else (),
            slowest_seconds=attempt.slowest if self._rules.times else None,
            best=problem_attempts.points if shows_points else None,
            submissions_left=None
            if max_submissions is None
            else max_submissions - len(problem_attempts.results),
        )

    def _make_problem_state(self, problem_id: str) -> ProblemState:
        attempts, max_submissions = self._state.problems.get(problem_id), self._rules.submissions
        problem, submission_count = (
            self._contest.problems[problem_id],
            0 if attempts is None else len(attempts.results),
        )
        points, shows_points = (
            0.0 if attempts is None else attempts.points,
            self._includes_feedback(Feedback.POINTS),
        )
        return ProblemState(
            id=problem_id,
            title=visible(problem.name) or problem_id,
            points_max=compute_max_points(problem),
            points=points if shows_points else None,
            attempts=submission_count,
            submissions_left=None if max_submissions is None else max_submissions - submission_count,
            gained=attempts.last_gain_s if attempts is not None and shows_points else None,
        )


def _log_unawaited_failure(task: asyncio.Task[Any]) -> None:
    """Receive the result of a call whose caller was cancelled, and log unexpected exceptions."""
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, RefusedCall | UnjudgedCall):
        _log.error("a tool call failed after its caller was cancelled", exc_info=error)


def _encode_text(text: str, max_bytes: int, field: str) -> bytes:
    """Return a string as bytes. Raise RefusedCall if it is too long or not a valid string."""
    if not isinstance(text, str):
        raise RefusedCall(f"the {field} must be a string")
    try:
        encoded_text = text.encode()
    except UnicodeEncodeError:
        raise RefusedCall(f"the {field} contains unpaired surrogates, which are not characters") from None
    if len(encoded_text) > max_bytes:
        raise RefusedCall(f"the {field} has {len(encoded_text)} bytes, but may have at most {max_bytes}")
    return encoded_text


def _clean_compiler_messages(log: str) -> str:
    return shorten(remove_invisible(log, "\n\t"), MAX_COMPILE_OUTPUT)


def _clean_feedback(feedback: str) -> str:
    return shorten(visible(feedback), 500)
