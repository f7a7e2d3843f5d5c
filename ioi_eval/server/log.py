"""What a worker's log says: one event a line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from ioi_eval.model.values import Value


class Event(Value):
    """Something that matters to who runs the worker."""

    name: str  # started, refused, failed, full, room, job, draining, drained
    words: str
    facts: Mapping[str, Any] = {}

    def as_json(self) -> str:
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"time": time, "event": self.name, "message": self.words, **self.facts}
        return msgspec.json.encode(line).decode()


Tell = Callable[[Event], None]


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
