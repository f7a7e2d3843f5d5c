"""The worker's log events, and its metrics in Prometheus's text format."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from ioi_eval.model.quoting import encode_terminal_safe_json, quote_label
from ioi_eval.model.values import Value
from ioi_eval.store.memory import LruCache

_REPEAT_AFTER_S = 3600.0  # seconds until the same message may be logged again
_MAX_MESSAGES = 256  # maximum number of different messages whose repetition is suppressed


class Event(Value):
    """An event of the worker's log, for its operator."""

    # Kind of the event: started, refused, failed, full (the queue), room (in the queue again), tokens, job,
    # draining, drained, note or error.
    name: str
    message: str
    facts: Mapping[str, Any] = {}

    def as_json(self) -> str:
        """Return the event as a line of JSON, with the present time."""
        timestamp = datetime.now(UTC).isoformat(timespec="milliseconds")
        return encode_terminal_safe_json(
            {"time": timestamp, "event": self.name, "message": self.message, **self.facts}
        ).decode()


EmitEvent = Callable[[Event], None]  # a function that receives the events of the log


class RepeatFilter:
    """Detects repeated messages, so that no client can fill the log by repeating a message."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._suppressed_until = LruCache[float](_MAX_MESSAGES)

    def is_repeated(self, message: str) -> bool:
        """Return True if the message was logged within the last hour.

        After many different messages the oldest message is forgotten, so the result may be False earlier.
        """
        now_s = self._clock()
        if (self._suppressed_until.get(message) or 0.0) > now_s:
            return True
        self._suppressed_until.put(message, now_s + _REPEAT_AFTER_S)
        return False


class RefusalLog:
    """Logs once that the queue is full, and once that requests are accepted again."""

    def __init__(self, emit: EmitEvent) -> None:
        self._emit, self._refused_count = emit, 0

    def count_refusal(self, reason: str) -> None:
        """Count a refused request. Log only the first."""
        self._refused_count += 1
        if self._refused_count == 1:
            self._emit(Event(name="full", message=f"requests are refused: {reason}"))

    def log_end_of_refusals(self) -> None:
        """Log how many requests were refused before this accepted request, if there are any."""
        if self._refused_count:
            message = f"requests are accepted again; {self._refused_count} were refused"
            self._emit(Event(name="room", message=message, facts={"refused": self._refused_count}))
            self._refused_count = 0


def ignore_event(event: Event) -> None:
    pass


# --- counts ------------------------------------------------------------------------------------------


# The package prometheus_client is not used: it adds a `_created` series to each metric unless a global
# setting prevents it.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)

Sample = tuple[str, Mapping[str, str], float]


class Histogram:
    """Counts of durations, by buckets with upper bounds."""

    def __init__(self) -> None:
        self._bucket_counts = [0] * (len(_BUCKETS_S) + 1)
        self._seconds_sum = 0.0

    def add_value(self, value: float) -> None:
        self._bucket_counts[bisect_left(_BUCKETS_S, value)] += 1
        self._seconds_sum += value

    def list_samples(self) -> Iterator[Sample]:
        cumulative_count = 0
        for bound, count in zip((*_BUCKETS_S, None), self._bucket_counts, strict=True):
            cumulative_count += count
            yield "_bucket", {"le": "+Inf" if bound is None else f"{bound:g}"}, cumulative_count
        yield "_sum", {}, self._seconds_sum
        yield "_count", {}, cumulative_count


class Metrics:
    """A server's counts since it started."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()  # number of jobs by outcome
        self.refusals: Counter[int] = Counter()  # number of refused requests by HTTP status
        self.contents: Counter[str] = Counter()  # number of cached files by event
        self.received_bytes = 0
        self.sent_bytes = 0
        # Seconds for which jobs ran, without the time that they waited for a slot.
        self.run_time = Histogram()
        self.wait_time = Histogram()  # seconds for which jobs waited for a slot

    def count_job(self, outcome: str, seconds: float) -> None:
        """Count a finished job, and its run time."""
        self.outcomes[outcome] += 1
        self.run_time.add_value(seconds)

    def format_text(
        self,
        *,
        running: int,
        queued: int,
        slots: int,
        cached_bytes: int = 0,
        max_cached_bytes: int = 0,
        caller_metrics: Iterable[Iterable[str]] = (),
    ) -> str:
        """Return all metrics in Prometheus's text format.

        Args:
            running: jobs that have a slot.
            queued: requests that wait for a slot.
            slots: jobs that can run at the same time.
            cached_bytes: size of the cached files.
            max_cached_bytes: limit of that size.
            caller_metrics: lines of further metrics, as `RequestQueue.format_caller_metrics` yields them.
        """
        metrics = (
            format_metric(
                "jobs_total",
                "counter",
                "Finished jobs, by outcome.",
                [("", {"outcome": name}, count) for name, count in sorted(self.outcomes.items())],
            ),
            format_metric("jobs_running", "gauge", "Jobs that have a slot.", [("", {}, running)]),
            format_metric("jobs_queued", "gauge", "Requests that wait for a slot.", [("", {}, queued)]),
            format_metric("slots", "gauge", "Jobs that can run at the same time.", [("", {}, slots)]),
            format_metric("job_seconds", "histogram", "Run time of jobs.", self.run_time.list_samples()),
            format_metric(
                "wait_seconds", "histogram", "Time that jobs waited.", self.wait_time.list_samples()
            ),
            format_metric(
                "received_bytes_total", "counter", "Inflated bodies.", [("", {}, self.received_bytes)]
            ),
            format_metric("sent_bytes_total", "counter", "Bodies of replies.", [("", {}, self.sent_bytes)]),
            format_metric(
                "refusals_total",
                "counter",
                "Requests refused, by status.",
                [("", {"status": str(status)}, count) for status, count in sorted(self.refusals.items())],
            ),
            format_metric(
                "contents_total",
                "counter",
                "Contents by their hash: received, used by jobs, or lacking when a job named them.",
                [("", {"event": name}, count) for name, count in sorted(self.contents.items())],
            ),
            format_metric(
                "contents_bytes", "gauge", "Size of the cached contents.", [("", {}, cached_bytes)]
            ),
            format_metric(
                "contents_limit_bytes",
                "gauge",
                "Maximum size of the cached contents.",
                [("", {}, max_cached_bytes)],
            ),
            *caller_metrics,
            format_metric("build_info", "gauge", "The version.", [("", {"version": version("ioi-eval")}, 1)]),
        )
        return "".join(line for metric in metrics for line in metric)


def format_metric(name: str, kind: str, help_text: str, samples: Iterable[Sample]) -> Iterator[str]:
    """Yield the lines of a metric: its help, its type and its samples.

    Args:
        name: Name of the metric without the prefix `ioi_eval_`.
        kind: Prometheus's type of the metric: `counter`, `gauge` or `histogram`.
        help_text: Description of the metric, in one line.
        samples: The metric's values, each with a suffix of its name (often empty) and its labels.
    """
    name = f"ioi_eval_{name}"
    yield f"# HELP {name} {help_text}\n# TYPE {name} {kind}\n"
    for suffix, labels, value in samples:
        label_list = ",".join(f"{label}={quote_label(content)}" for label, content in labels.items())
        yield f"{name}{suffix}{f'{{{label_list}}}' if label_list else ''} {value!r}\n"
