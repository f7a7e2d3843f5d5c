"""A worker's log, an event a line, and its counts, in Prometheus's text format."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from ioi_eval.model.quoting import as_json, as_label
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
        return as_json({"time": time, "event": self.name, "message": self.words, **self.facts}).decode()


Tell = Callable[[Event], None]


class RepeatFilter:
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


class RefusalLog:
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


# --- counts ------------------------------------------------------------------------------------------


# Not prometheus_client: only a setting of the whole process keeps it from adding a `_created` series each.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)  # seconds

Sample = tuple[str, Mapping[str, str], float]


class Histogram:
    """A histogram: counts of observations by their upper bounds."""

    def __init__(self) -> None:
        self._counts = [0] * (len(_BOUNDS) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        self._counts[bisect_left(_BOUNDS, value)] += 1
        self._sum += value

    def samples(self) -> Iterator[Sample]:
        so_far = 0
        for bound, count in zip((*_BOUNDS, None), self._counts, strict=True):
            so_far += count
            yield "_bucket", {"le": "+Inf" if bound is None else f"{bound:g}"}, so_far
        yield "_sum", {}, self._sum
        yield "_count", {}, so_far


class Metrics:
    """A server's counts since it started."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.refusals: Counter[int] = Counter()  # by status
        self.contents: Counter[str] = Counter()  # by what became of them
        self.received = 0  # bytes
        self.sent = 0  # bytes
        self.seconds = Histogram()  # of jobs, from their slot to their end
        self.waiting = Histogram()  # for a slot

    def ended(self, outcome: str, seconds: float) -> None:
        self.outcomes[outcome] += 1
        self.seconds.observe(seconds)

    def text(
        self,
        *,
        running: int,
        queued: int,
        slots: int,
        kept: int = 0,
        room: int = 0,
        callers: Iterable[Iterable[str]] = (),
    ) -> str:
        """`callers`: families of their own, as of `RequestQueue.metrics`."""
        families = (
            family(
                "jobs_total",
                "counter",
                "Jobs that ran, by how they ended.",
                [("", {"outcome": name}, count) for name, count in sorted(self.outcomes.items())],
            ),
            family("jobs_running", "gauge", "Jobs that have a slot.", [("", {}, running)]),
            family("jobs_queued", "gauge", "Requests that wait for a slot.", [("", {}, queued)]),
            family("slots", "gauge", "Jobs that can run at the same time.", [("", {}, slots)]),
            family("job_seconds", "histogram", "Time that jobs took.", self.seconds.samples()),
            family("wait_seconds", "histogram", "Time that jobs waited.", self.waiting.samples()),
            family("received_bytes_total", "counter", "Inflated bodies.", [("", {}, self.received)]),
            family("sent_bytes_total", "counter", "Bodies of replies.", [("", {}, self.sent)]),
            family(
                "refusals_total",
                "counter",
                "Requests refused, by status.",
                [("", {"status": str(status)}, count) for status, count in sorted(self.refusals.items())],
            ),
            family(
                "contents_total",
                "counter",
                "Contents by their hash: received, used by jobs, or lacking when a job named them.",
                [("", {"event": name}, count) for name, count in sorted(self.contents.items())],
            ),
            family("contents_bytes", "gauge", "Size of the cached contents.", [("", {}, kept)]),
            family("contents_limit_bytes", "gauge", "Maximum size of the cached contents.", [("", {}, room)]),
            *callers,
            family("build_info", "gauge", "The version.", [("", {"version": version("ioi-eval")}, 1)]),
        )
        return "".join(line for family in families for line in family)


def family(name: str, kind: str, words: str, samples: Iterable[Sample]) -> Iterator[str]:
    """Yield the lines of a metric."""
    name = f"ioi_eval_{name}"
    yield f"# HELP {name} {words}\n# TYPE {name} {kind}\n"
    for suffix, labels, value in samples:
        marked = ",".join(f"{label}={as_label(text)}" for label, text in labels.items())
        yield f"{name}{suffix}{f'{{{marked}}}' if marked else ''} {value!r}\n"
