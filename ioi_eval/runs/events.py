"""Events of use cases: small frozen values for bars, logs and metrics to subscribe to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from ioi_eval.benchmarks import Understood
from ioi_eval.engines.contract import Condition, JobsWait, ServerChanged
from ioi_eval.model.values import Reason, ServerState, Value, Verdict
from ioi_eval.rules.calibration import Distance
from ioi_eval.store.folder import MeasuredLimit, UnderWay


class RowsRead(Value):
    """A large dump is being looked through."""

    rows: int  # so far
    selected: int | None = None  # submissions, once all is seen of a dump whose first rows are being judged


class RowsUnderstood(Value):
    """A dump is looked through, and nothing is judged yet: what its rows are taken for."""

    rows: Understood


class RunStarted(Value):
    total: int | None  # None: the submissions come from a stream of unknown length
    skipped: int  # of these, how many have their result already


class Changed(StrEnum):
    """Why a result counts no longer."""

    PROBLEM = "problem"
    PROGRAM = "program"
    COLUMNS = "columns"  # of the row, but not the program: written anew, not judged
    SHARED = "shared"  # the result of another program, which an older version took for equal
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
    differences: tuple[Condition, ...]


class ServersNow(Value):
    """The state of the engine's servers, some seconds after a change."""

    servers: tuple[ServerState, ...]


class SubmissionsNow(Value):
    """The submissions that are being judged. Told each second while there are any."""

    at: float  # seconds since 1970
    number: int
    building: int  # of these
    builds_waiting: int  # of those that build: those for a slot
    longest: tuple[UnderWay, ...]  # some of them, those first that have taken the longest


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
