"""What a server counts, in Prometheus's text format."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

# Not prometheus_client: only a setting of the whole process keeps it from adding a `_created` series each.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)  # seconds

Sample = tuple[str, Mapping[str, str], float]


class Histogram:
    """How many observations were at most how large."""

    def __init__(self, bounds: Sequence[float] = _BOUNDS) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def samples(self) -> Iterator[Sample]:
        so_far = 0
        for bound, count in zip((*self._bounds, None), self._counts, strict=True):
            so_far += count
            yield "_bucket", {"le": "+Inf" if bound is None else f"{bound:g}"}, so_far
        yield "_sum", {}, self._sum
        yield "_count", {}, so_far


class Metrics:
    """One server's counts since it started."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.refusals: Counter[int] = Counter()  # by status
        self.received = 0  # bytes
        self.sent = 0  # bytes
        self.seconds = Histogram()  # of jobs, from their slot to their end
        self.waiting = Histogram()  # for a slot

    def ended(self, outcome: str, seconds: float) -> None:
        self.outcomes[outcome] += 1
        self.seconds.observe(seconds)

    def text(self, *, running: int, queued: int, slots: int) -> str:
        families = (
            _family("jobs_total", "counter", "Jobs that ran, by how they ended.", self._outcomes()),
            _family("jobs_running", "gauge", "Jobs that have a slot.", [("", {}, running)]),
            _family("jobs_queued", "gauge", "Requests that wait for a slot.", [("", {}, queued)]),
            _family("slots", "gauge", "Jobs that can run at the same time.", [("", {}, slots)]),
            _family("job_seconds", "histogram", "Time that jobs took.", self.seconds.samples()),
            _family("wait_seconds", "histogram", "Time that jobs waited.", self.waiting.samples()),
            _family("received_bytes_total", "counter", "Inflated bodies.", [("", {}, self.received)]),
            _family("sent_bytes_total", "counter", "Bodies of replies.", [("", {}, self.sent)]),
            _family("refusals_total", "counter", "Requests refused, by status.", self._refusals()),
        )
        return "".join(line for family in families for line in family)

    def _outcomes(self) -> list[Sample]:
        return [("", {"outcome": name}, count) for name, count in sorted(self.outcomes.items())]

    def _refusals(self) -> list[Sample]:
        return [("", {"status": str(status)}, count) for status, count in sorted(self.refusals.items())]


def _family(name: str, kind: str, words: str, samples: Iterable[Sample]) -> Iterator[str]:
    name = f"ioi_eval_{name}"
    yield f"# HELP {name} {words}\n# TYPE {name} {kind}\n"
    for suffix, labels, value in samples:
        marked = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"{name}{suffix}{f'{{{marked}}}' if marked else ''} {value!r}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
