"""Notes how far a run is while it goes on, for `ioi-eval view`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec

from ioi_eval.model.values import Reason
from ioi_eval.runs.events import (
    EngineStarting,
    Event,
    OnEvent,
    RowsRead,
    RunFinished,
    RunStarted,
    ServersFound,
    ServersNow,
    SubmissionFailed,
    SubmissionJudged,
    SubmissionsNow,
)
from ioi_eval.store.folder import RUN, Progress, Timeline, write_progress

_STEP = 5.0  # seconds; twice as long each time when there are too many
_STEPS = 120
_ALIVE = 10.0  # seconds; less is no news
_UNSCORED = "unscored"


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
        self._begun, self._times = False, Times(clock)

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
            case SubmissionJudged(status=status, reason=reason):
                self._times.add(reason if reason is Reason.NO_PROGRAM else status)
            case SubmissionFailed():
                self._times.add(_UNSCORED)
            case SubmissionsNow():
                self._note(
                    at=event.at // _ALIVE * _ALIVE,
                    under_way=event.number,
                    building=event.building,
                    builds_waiting=event.builds_waiting,
                    submissions=event.longest,
                    timeline=self._times.timeline(),
                )
            case RunFinished():
                nothing = {"under_way": 0, "building": 0, "builds_waiting": 0, "submissions": ()}
                self._note(ended=True, timeline=self._times.timeline(), **nothing)
        # Not before there is a run: one that ends before its first row leaves nothing behind.
        self._begun |= isinstance(event, SubmissionJudged | SubmissionFailed | RunFinished) or (
            isinstance(event, SubmissionsNow) and (self._folder / RUN).exists()
        )
        if self._begun and self._now != self._written:
            write_progress(self._folder, self._now)
            self._written = self._now
        self._tell(event)

    def _note(self, **changed: object) -> None:
        self._now = msgspec.structs.replace(self._now, **changed)
