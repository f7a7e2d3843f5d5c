"""Events that use cases emit, for progress bars, logs and metrics; and two subscribers."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.benchmarks import DetectedColumns
from ioi_eval.engines.contract import HealthCheck, JobsWait, ServerChanged
from ioi_eval.model.values import Reason, ServerState, Value, Verdict
from ioi_eval.rules.calibration import TimeRatio
from ioi_eval.store.folder import RUN, ActiveSubmission, MeasuredLimit, Progress, Timeline, write_progress

_FIRST_STEP_S = 5.0  # initial length of an interval of a timeline, in seconds
_MAX_STEPS = 120  # maximum number of intervals in a timeline, after which their length is doubled
# Minimum seconds between two updates of progress.json if only the time has changed.
_ALIVE_S = 10.0
_UNSCORED = "unscored"  # name under which a timeline counts judge failures


class RowsRead(Value):
    """Some rows of a large dump were read."""

    rows: int  # number of rows that were read so far
    selected: int | None = None  # number of selected submissions; None until the whole dump is read


class RowsUnderstood(Value):
    """A dump was read, and judging has not started. The event has the detected columns."""

    rows: DetectedColumns


class RunStarted(Value):
    """Judging starts."""

    total: int | None  # number of submissions; `None` for a stream of unknown length
    skipped: int  # number of submissions that already have a result


class ResultChange(StrEnum):
    """The reason why an earlier result is outdated."""

    PROBLEM = "problem"
    PROGRAM = "program"
    # Only columns without effect on the score changed: the row is written again, but not judged again.
    COLUMNS = "columns"
    GONE = "gone"  # the dump no longer contains the row


class JudgedAgain(Value):
    """Some results of earlier calls are outdated. Their rows are moved to earlier.jsonl."""

    reasons: Mapping[ResultChange, int]  # number of outdated results, by reason
    problems: tuple[str, ...]  # labels of the problems that changed


class SubmissionJudged(Value):
    """A result was written."""

    key: str
    problem_id: str
    status: Verdict
    points: float
    verdicts: Mapping[Verdict, int]  # number of the submission's tests, by verdict
    tests: int  # number of tests that ran; 0 if the result is copied from an equal submission
    repeated: bool = False
    reason: Reason | None = None  # reason why no test ran; None if tests ran


class SubmissionFailed(Value):
    """A judge failure was written."""

    key: str
    problem_id: str
    reason: str


class RunSummary(Value):
    """The number of submissions of a call, by outcome."""

    skipped: int = 0  # number of submissions that already had a result
    judged: int = 0  # number of submissions that got a result, including copied results
    repeated: int = 0  # number of submissions that got the result of an equal submission
    failed: int = 0  # judge failures
    tests: int = 0  # number of tests that ran
    verdicts: Mapping[str, int] = {}  # number of submissions by verdict or `no program`


class RunFinished(Value):
    """All submissions have a result or a judge failure."""

    summary: RunSummary


class ReferencesStarted(Value):
    """The solutions of a benchmark are judged next, in a separate run."""

    most: int  # maximum number of solutions that are judged for a problem
    problems: int  # number of problems whose solutions are judged


class ReportStarted(Value):
    """Reports are being written."""

    runs: int  # number of runs that are compared


class ReportProgress(Value):
    """Progress of a large run's report, emitted from time to time."""

    folder: str
    read: int  # number of rows that were read so far
    pages: int | None = None  # number of pages that were written so far; `None` while rows are read


class RunReported(Value):
    """The rows of a run were read."""

    folder: str
    submissions: int
    written: bool  # True if the run's reports were written; False if its folder is read-only


class ReportFinished(Value):
    """All reports are written."""

    page: str  # path of the HTML page of the run or of the comparison


class EngineStarting(Value):
    """The engine is being opened. From here to `EngineStopped`, the call can be cancelled cleanly."""

    engine: str


class ServersFound(Value):
    """The servers that the engine found when it was opened."""

    servers: int  # number of servers that the user or a search listed
    used: int  # number of servers that the run uses
    slots: int
    unreachable: tuple[str, ...]  # reasons why servers cannot be reached, one for each such server
    left_out: Mapping[str, str]  # reasons why reachable servers are not used, by address
    differences: tuple[HealthCheck, ...]
    uses: str = ""  # number of servers of each kind, and their use; empty if all servers are of the same kind
    jobs: str = ""  # kind of jobs: with one test or many tests each; empty means many tests
    cores: int = 0  # total number of the servers' cores, if it exceeds the default number of jobs

    @property
    def settings(self) -> Mapping[str, str]:
        """Return the settings that reports show."""
        settings = {"servers": self.uses, "jobs": self.jobs}
        return {name: value for name, value in settings.items() if value}


class ServersNow(Value):
    """The states of the engine's servers. The event is emitted some seconds after a state has changed."""

    servers: tuple[ServerState, ...]


class SubmissionsNow(Value):
    """The submissions in progress, emitted every second."""

    at: float  # seconds since 1970
    number: int  # number of submissions in progress
    building: int  # number of submissions that are being built
    builds_waiting: int  # number of submissions whose build waits for a slot
    longest: tuple[ActiveSubmission, ...]  # submissions in progress that started first


class LimitMeasured(Value):
    """The limits of a problem were measured with its solutions."""

    limit: MeasuredLimit


class DistanceMeasured(Value):
    """The distance of a solution from its limit was measured, for a calibration."""

    distance: TimeRatio


class Overloaded(Value):
    """The machine is overloaded: programs waited longer than they computed. Verdicts are still valid."""

    waited: float  # total time for which tests waited for processors and disks, in seconds
    computed: float  # total CPU time of tests, in seconds


class EngineStopped(Value):
    """The engine is closed, and its files on this machine are removed."""


Event = (
    RowsRead
    | RowsUnderstood
    | RunStarted
    | JudgedAgain
    | SubmissionJudged
    | SubmissionFailed
    | RunFinished
    | ReferencesStarted
    | ReportStarted
    | ReportProgress
    | RunReported
    | ReportFinished
    | EngineStarting
    | ServersFound
    | ServersNow
    | SubmissionsNow
    | ServerChanged
    | JobsWait
    | LimitMeasured
    | DistanceMeasured
    | Overloaded
    | EngineStopped
)
OnEvent = Callable[[Event], None]


def ignore_event(event: Event) -> None:
    """Do nothing with an event."""


# --- progress.json, which `ioi-eval view` shows -------------------------------------------------------


class TimelineCounter:
    """Counts the results of each time interval, by verdict."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._started_at, self._interval_s = clock, clock(), _FIRST_STEP_S
        self._counts = [Counter[str]()]

    def add(self, verdict: str) -> None:
        """Count a result in the current interval."""
        self._append_elapsed_intervals()
        self._counts[-1][verdict] += 1

    def make_timeline(self) -> Timeline:
        """Return the counts so far."""
        self._append_elapsed_intervals()
        return Timeline(begin=self._started_at, step=self._interval_s, counts=tuple(map(dict, self._counts)))

    def _append_elapsed_intervals(self) -> None:
        """Append intervals up to the current time, and double their length if there are too many."""
        while (index := int((self._clock() - self._started_at) / self._interval_s)) >= _MAX_STEPS:
            counts = [*self._counts, Counter[str]()]
            self._counts = [count + other for count, other in zip(counts[::2], counts[1::2], strict=False)]
            self._interval_s *= 2
        self._counts += [Counter[str]() for _ in range(index + 1 - len(self._counts))]


class ProgressWriter:
    """An event callback that writes progress.json and passes events on.

    Results are only counted. The next `SubmissionsNow` writes the counts.
    """

    def __init__(self, folder: Path, on_event: OnEvent, clock: Callable[[], float] = time.time) -> None:
        self._folder, self._on_event = folder, on_event
        self._progress, self._written_progress = Progress(), Progress()
        self._has_run, self._test_count, self._timeline_counter = False, 0, TimelineCounter(clock)

    def __call__(self, event: Event) -> None:
        """Record an event, and pass it on."""
        match event:
            case RunStarted(total=total) | RowsRead(selected=int(total)):
                self._change_progress(total=total)
            case EngineStarting(engine=engine):
                self._change_progress(engine=engine)
            case ServersFound(used=used, slots=slots, unreachable=unreachable):
                self._change_progress(servers=used, slots=slots, unreachable=unreachable)
            case ServersNow(servers=standings):
                self._change_progress(standings=standings)
            case SubmissionJudged(status=status, reason=reason, tests=tests):
                self._timeline_counter.add(reason if reason is Reason.NO_PROGRAM else status)
                self._test_count += tests
            case SubmissionFailed():
                self._timeline_counter.add(_UNSCORED)
            case SubmissionsNow():
                self._change_progress(
                    at=event.at // _ALIVE_S * _ALIVE_S,
                    under_way=event.number,
                    building=event.building,
                    builds_waiting=event.builds_waiting,
                    submissions=event.longest,
                    tests=self._test_count,
                    timeline=self._timeline_counter.make_timeline(),
                )
            case RunFinished():
                self._mark_ended(stopped=False)
        # Write files only after this: a run that stops before its first row must not leave files.
        self._has_run |= isinstance(event, SubmissionJudged | SubmissionFailed | RunFinished) or (
            isinstance(event, SubmissionsNow) and (self._folder / RUN).exists()
        )
        self._write()
        self._on_event(event)

    def close(self) -> None:
        """Write that the call is over. If `RunFinished` was not emitted, the call was stopped."""
        if not self._progress.ended:
            self._mark_ended(stopped=True)
            self._write()

    def _mark_ended(self, *, stopped: bool) -> None:
        idle_values = {"under_way": 0, "building": 0, "builds_waiting": 0, "submissions": ()}
        timeline = self._timeline_counter.make_timeline()
        self._change_progress(
            ended=True, stopped=stopped, tests=self._test_count, timeline=timeline, **idle_values
        )

    def _write(self) -> None:
        if self._has_run and self._progress != self._written_progress:
            write_progress(self._folder, self._progress)
            self._written_progress = self._progress

    def _change_progress(self, **changes: object) -> None:
        self._progress = msgspec.structs.replace(self._progress, **changes)


# --- a progress bar for notebooks and scripts --------------------------------------------------------


def progress() -> OnEvent:
    """Return an event callback that shows a progress bar of tqdm, in a notebook or a terminal.

    scored = await score_dump(frame, "packages", on_event=progress())
    """
    return _ProgressBar()


class _ProgressBar:
    """An event callback that shows a progress bar."""

    def __init__(self) -> None:
        from tqdm.auto import tqdm

        self._tqdm: Any = tqdm
        self._bar: Any = None
        self._test_count = self._failed_count = 0

    def __call__(self, event: Event) -> None:
        match event:
            case RowsUnderstood():
                self._tqdm.write(f"Rows: {event.rows}")
            case RunStarted():
                self._close()
                self._test_count = self._failed_count = 0
                self._bar = self._tqdm(total=event.total, initial=event.skipped, unit=" submissions")
            case SubmissionJudged():
                self._test_count += event.tests
                self._advance_bar()
            case SubmissionFailed():
                self._failed_count += 1
                self._advance_bar()
            case RunFinished() | EngineStopped():
                self._close()

    def _advance_bar(self) -> None:
        if self._bar is not None:
            failed = {"failed": self._failed_count} if self._failed_count else {}
            self._bar.set_postfix(tests=self._test_count, **failed, refresh=False)
            self._bar.update()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
