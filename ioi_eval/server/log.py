"""A worker's log: an event a line."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from ioi_eval.model.quoting import as_json
from ioi_eval.model.values import Value
from ioi_eval.store.memory import Bounded

_HOUR, _REMEMBERED = 3600.0, 256


class Event(Value):
    """An event that matters to the worker's operator."""

    name: str  # started, refused, failed, full, room, tokens, job, draining, drained, note, error
    words: str
    facts: Mapping[str, Any] = {}

    def as_json(self) -> str:
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"time": time, "event": self.name, "message": self.words, **self.facts}
        return as_json(line).decode()


Tell = Callable[[Event], None]


class Repeats:
    """Tells the same of some words again, so that no client fills a log by them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until = Bounded[float](_REMEMBERED)

    def is_one(self, words: str) -> bool:
        """Return True if these words were logged in the last hour, and not many others since."""
        now = self._clock()
        if (self._until.get(words) or 0.0) > now:
            return True
        self._until.keep(words, now + _HOUR)
        return False


class Fullness:
    """Says once that requests are turned away, and once that they are not any more."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._turned_away = tell, 0

    def refused(self, reason: str) -> None:
        self._turned_away += 1
        if self._turned_away == 1:
            self._tell(Event(name="full", words=f"requests are turned away: {reason}"))

    def taken(self) -> None:
        if self._turned_away:
            words = f"requests are taken again; {self._turned_away} were turned away"
            self._tell(Event(name="room", words=words, facts={"refused": self._turned_away}))
            self._turned_away = 0


def silent(event: Event) -> None:
    pass
