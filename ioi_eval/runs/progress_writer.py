"""Notes how far a run is while it goes on, for `ioi-eval view`."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ioi_eval.runs.events import (
    EngineStarting,
    Event,
    OnEvent,
    RunFinished,
    RunStarted,
    ServersFound,
    ServersNow,
    SubmissionFailed,
    SubmissionJudged,
)
from ioi_eval.store.folder import Progress, write_progress


class ProgressWriter:
    """Hears events on their way to whoever is told, and writes down the few that change the picture."""

    def __init__(self, folder: Path, tell: OnEvent) -> None:
        self._folder, self._tell = folder, tell
        self._now, self._written = Progress(), Progress()
        self._begun = False

    def __call__(self, event: Event) -> None:
        match event:
            case RunStarted(total=total):
                self._now = msgspec.structs.replace(self._now, total=total)
            case EngineStarting(engine=engine):
                self._now = msgspec.structs.replace(self._now, engine=engine)
            case ServersFound(used=used, slots=slots, unreachable=unreachable):
                self._now = msgspec.structs.replace(
                    self._now, servers=used, slots=slots, unreachable=unreachable
                )
            case ServersNow(servers=standings):
                self._now = msgspec.structs.replace(self._now, standings=standings)
            case RunFinished():
                self._now = msgspec.structs.replace(self._now, ended=True)
        # Not before there are rows: a run that ends before that leaves nothing behind.
        self._begun |= isinstance(event, SubmissionJudged | SubmissionFailed | RunFinished)
        if self._begun and self._now != self._written:
            write_progress(self._folder, self._now)
            self._written = self._now
        self._tell(event)
