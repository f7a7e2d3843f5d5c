"""Events of use cases: small frozen values for bars, logs and metrics to subscribe to. And two who listen."""

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
from ioi_eval.rules.calibration import Distance
from ioi_eval.store.folder import RUN, ActiveSubmission, MeasuredLimit, Progress, Timeline, write_progress

_STEP = 5.0  # seconds; twice as long each time when there are too many
_STEPS = 120
_ALIVE = 10.0  # seconds; less is no news
_UNSCORED = "unscored"


class RowsRead(Value):
    """A large dump is being looked through."""

    rows: int  # so far
    selected: int | None = None  # submissions, once all is seen of a dump whose first rows are being judged


class RowsUnderstood(Value):
    """A dump is looked through, and nothing is judged yet: what its rows are taken for."""

    rows: DetectedColumns


class RunStarted(Value):
    total: int | None  # None: the submissions come from a stream of unknown length
    skipped: int  # of these, how many have their result already


class Changed(StrEnum):
    """Why a result counts no longer."""

    PROBLEM = "problem"
    PROGRAM = "program"
    COLUMNS = "columns"  # of the row, but not the program: written anew, not judged
    GONE = "gone"  # no row asks for it


class JudgedAgain(Value):
    """Results of earlier calls that count no longer; they are kept in earlier.jsonl."""

    reasons: Mapping[Changed, int]
    problems: tuple[str, ...]  # those that have changed


class SubmissionJudged(Value):
    """A result is in the journal."""

    key: str
    problem_id: str
    status: Verdict
    points: float
    verdicts: Mapping[Verdict, int]  # of its tests
    tests: int  # that ran for it: none where the result is that of an equal submission
    repeated: bool = False
    reason: Reason | None = None  # why nothing ran


class SubmissionFailed(Value):
    """The judge could not say; the reason is in the journal."""

    key: str
    problem_id: str
    reason: str


class RunSummary(Value):
    """The numbers of one call. Earlier calls on the same journal are in `skipped` only."""

    skipped: int = 0
    judged: int = 0  # all that got a result, repeated ones among them
    repeated: int = 0
    failed: int = 0
    tests: int = 0
    verdicts: Mapping[str, int] = {}  # of submissions, or `no program`


class RunFinished(Value):
    summary: RunSummary


class ReferencesStarted(Value):
    """A benchmark's own solutions are judged next, by a run of its own."""

    most: int  # solutions of a problem
    problems: int


class ReportStarted(Value):
    """Reports are written anew."""

    runs: int


class ReportProgress(Value):
    """Rows of a run are read, or their pages are there. Told now and then, of runs that are not small."""

    folder: str
    read: int
    pages: int | None = None  # None: rows are still being read


class RunReported(Value):
    """A run's rows are read."""

    folder: str
    submissions: int
    written: bool  # its reports too; else it may only be read


class ReportFinished(Value):
    """All is written; `page` shows the run, or several side by side."""

    page: str  # for a browser


class EngineStarting(Value):
    """From here to `EngineStopped` the call ends cleanly when it is cancelled; in between it awaits."""

    engine: str


class ServersFound(Value):
    """The engine's servers when it was opened."""

    servers: int
    used: int
    slots: int
    unreachable: tuple[str, ...]  # why, of each
    left_out: Mapping[str, str]  # why, by address
    differences: tuple[HealthCheck, ...]
    uses: str = ""  # how many of each kind are used, and for what; empty: all are alike
    jobs: str = ""  # how tests are judged there; empty: many a job
    cores: int = 0  # of all that are used, if they are more than the jobs that these get by default

    @property
    def settings(self) -> Mapping[str, str]:
        """For the reader of a report."""
        found = {"servers": self.uses, "jobs": self.jobs}
        return {name: text for name, text in found.items() if text}


class ServersNow(Value):
    """The state of the engine's servers, some seconds after a change."""

    servers: tuple[ServerState, ...]


class SubmissionsNow(Value):
    """The submissions that are being judged. Told each second while there are any."""

    at: float  # seconds since 1970
    number: int
    building: int  # of these
    builds_waiting: int  # of those that build: those for a slot
    longest: tuple[ActiveSubmission, ...]  # some of them, those first that have taken the longest


class LimitMeasured(Value):
    """A problem's own solutions set its time limit."""

    limit: MeasuredLimit


class DistanceMeasured(Value):
    """A solution's distance from its limit, for a calibration."""

    distance: Distance


class Overloaded(Value):
    """Programs have waited longer for processors and disks than they computed. Told once; verdicts hold."""

    waited: float  # seconds, of all tests so far
    computed: float


class EngineStopped(Value):
    """All that the engine had here is cleaned up."""


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


def ignore(event: Event) -> None:
    """Take an event where nobody listens."""


# --- how far a run is, noted for `ioi-eval view` -------------------------------------------------------


class Times:
    """Counts results by their time, in at most so many steps."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._begin, self._step = clock, clock(), _STEP
        self._counts = [Counter[str]()]

    def add(self, verdict: str) -> None:
        self._go_on()
        self._counts[-1][verdict] += 1

    def timeline(self) -> Timeline:
        self._go_on()
        return Timeline(begin=self._begin, step=self._step, counts=tuple(map(dict, self._counts)))

    def _go_on(self) -> None:
        while (place := int((self._clock() - self._begin) / self._step)) >= _STEPS:
            counts = [*self._counts, Counter[str]()]
            self._counts = [count + other for count, other in zip(counts[::2], counts[1::2], strict=False)]
            self._step *= 2
        self._counts += [Counter[str]() for _ in range(place + 1 - len(self._counts))]


class ProgressWriter:
    """Hears events on their way to whoever is told, and writes down what changes the picture.

    Results are so many that they are only counted: the next look at what is being judged writes them.
    """

    def __init__(self, folder: Path, tell: OnEvent, clock: Callable[[], float] = time.time) -> None:
        self._folder, self._tell = folder, tell
        self._now, self._written = Progress(), Progress()
        self._begun, self._tests, self._times = False, 0, Times(clock)

    def __call__(self, event: Event) -> None:
        match event:
            case RunStarted(total=total) | RowsRead(selected=int(total)):
                self._note(total=total)
            case EngineStarting(engine=engine):
                self._note(engine=engine)
            case ServersFound(used=used, slots=slots, unreachable=unreachable):
                self._note(servers=used, slots=slots, unreachable=unreachable)
            case ServersNow(servers=standings):
                self._note(standings=standings)
            case SubmissionJudged(status=status, reason=reason, tests=tests):
                self._times.add(reason if reason is Reason.NO_PROGRAM else status)
                self._tests += tests
            case SubmissionFailed():
                self._times.add(_UNSCORED)
            case SubmissionsNow():
                self._note(
                    at=event.at // _ALIVE * _ALIVE,
                    under_way=event.number,
                    building=event.building,
                    builds_waiting=event.builds_waiting,
                    submissions=event.longest,
                    tests=self._tests,
                    timeline=self._times.timeline(),
                )
            case RunFinished():
                self._end(stopped=False)
        # Not before there is a run: one that ends before its first row leaves nothing behind.
        self._begun |= isinstance(event, SubmissionJudged | SubmissionFailed | RunFinished) or (
            isinstance(event, SubmissionsNow) and (self._folder / RUN).exists()
        )
        self._write()
        self._tell(event)

    def close(self) -> None:
        """Write that the call has ended. It was stopped unless it said that it has finished."""
        if not self._now.ended:
            self._end(stopped=True)
            self._write()

    def _end(self, *, stopped: bool) -> None:
        nothing = {"under_way": 0, "building": 0, "builds_waiting": 0, "submissions": ()}
        times = self._times.timeline()
        self._note(ended=True, stopped=stopped, tests=self._tests, timeline=times, **nothing)

    def _write(self) -> None:
        if self._begun and self._now != self._written:
            write_progress(self._folder, self._now)
            self._written = self._now

    def _note(self, **changed: object) -> None:
        self._now = msgspec.structs.replace(self._now, **changed)


# --- a bar for notebooks and scripts -----------------------------------------------------------------


def progress() -> OnEvent:
    """Return a subscriber that draws a run with tqdm: a widget in a notebook, a line in a terminal.

    scored = await score_dump(frame, "packages", on_event=progress())
    """
    return _Bar()


class _Bar:
    def __init__(self) -> None:
        from tqdm.auto import tqdm

        self._made: Any = tqdm
        self._bar: Any = None
        self._tests = self._failed = 0

    def __call__(self, event: Event) -> None:
        match event:
            case RowsUnderstood():
                self._made.write(f"Rows: {event.rows}")
            case RunStarted():
                self._close()
                self._tests = self._failed = 0
                self._bar = self._made(total=event.total, initial=event.skipped, unit=" submissions")
            case SubmissionJudged():
                self._tests += event.tests
                self._advance()
            case SubmissionFailed():
                self._failed += 1
                self._advance()
            case RunFinished() | EngineStopped():
                self._close()

    def _advance(self) -> None:
        if self._bar is not None:
            failed = {"failed": self._failed} if self._failed else {}
            self._bar.set_postfix(tests=self._tests, **failed, refresh=False)
            self._bar.update()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
