"""Messages about servers while a run goes on: a line per change, never a flood of them."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator

from ioi_eval.engines.contract import Change, JobsWait, ServerChanged, ServerEvent
from ioi_eval.reports.document import counted

_GATHERED = 2.0  # seconds: a rack that loses its power is one line
_NAMED = 3  # servers of a line
_MOST, _WHILE = 4, 600.0  # lines about one server, and seconds in which there are no more
_WELL = (Change.BACK, Change.JOINED)
_WORDS = {
    Change.LOST: ("is lost", "are lost"),
    Change.SLOW: ("does not answer in time", "do not answer in time"),
    Change.FULL: ("is full: it turns jobs away", "are full: they turn jobs away"),
    Change.REPLACED: (
        "was replaced by another server: probing it again",
        "are other servers now: they are probed again",
    ),
    Change.LEFT_OUT: ("is left out", "are left out"),
    Change.BACK: ("takes jobs again", "take jobs again"),
    Change.JOINED: ("has joined", "have joined"),
    Change.GONE: ("is not found any more", "are not found any more"),
}


class ServerNews:
    """Gathers changes for a moment and makes lines of those that lasted."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._new: dict[str, ServerChanged] = {}  # the latest of each server
        self._since = 0.0
        self._waiting: JobsWait | None = None
        self._told: dict[str, Change] = {}
        self._lines: defaultdict[str, deque[float]] = defaultdict(deque)

    def add(self, event: ServerEvent) -> None:
        if not self._new and self._waiting is None:
            self._since = self._clock()
        if isinstance(event, JobsWait):
            self._waiting = event
        else:
            self._new.pop(event.url, None)
            self._new[event.url] = event

    def lines(self, *, at_once: bool = False) -> Iterator[str]:
        """Return the messages that are due."""
        now = self._clock()
        if (not self._new and self._waiting is None) or (not at_once and now - self._since < _GATHERED):
            return
        events, waiting = [event for event in self._new.values() if self._is_news(event, now)], self._waiting
        last = next(reversed(self._new.values()), None)
        self._new, self._waiting = {}, None
        for change in Change:
            if found := [event for event in events if event.change is change]:
                yield _line(found, last)
        if waiting is not None and (last is None or not last.usable):
            yield (
                f"No server can be used: submissions wait for one, {waiting.seconds:g} s at most; "
                "those that get none are not judged"
            )

    def _is_news(self, event: ServerChanged, now: float) -> bool:
        """Return True for news of a server that does not come and go all the time."""
        before, lines = self._told.get(event.url, Change.BACK), self._lines[event.url]
        while lines and lines[0] < now - _WHILE:
            lines.popleft()
        if event.change is not Change.BACK or not event.reason:  # else another compiler: always news
            same = before is event.change or (before in _WELL and event.change in _WELL and bool(lines))
            if same or len(lines) >= _MOST or (event.change is Change.BACK and not lines):
                return False
        self._told[event.url] = event.change
        lines.append(now)
        return True


def _line(found: list[ServerChanged], last: ServerChanged | None) -> str:
    names = ", ".join(event.url for event in found[:_NAMED])
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    one, many = _WORDS[found[0].change]
    reason = f" ({found[0].reason})" if found[0].reason else ""
    now = last or found[-1]
    servers, jobs = counted(now.usable, "server"), counted(now.slots, "job")
    return f"{names}{more} {one if len(found) == 1 else many}{reason}; {servers} for {jobs} at a time now"
