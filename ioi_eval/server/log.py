"""What a worker's log says: one event a line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from ioi_eval.model.values import Value


class Event(Value):
    """Something that matters to who runs the worker."""

    name: str  # started, refused, failed, draining
    words: str
    facts: Mapping[str, Any] = {}

    def as_json(self) -> str:
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"time": time, "event": self.name, "message": self.words, **self.facts}
        return msgspec.json.encode(line).decode()


Tell = Callable[[Event], None]


def silent(event: Event) -> None:
    pass
