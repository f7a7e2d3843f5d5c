"""How far a run is: a bar where there is a terminal, a line now and then where there is none."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

from tqdm import tqdm

from ioi_eval.cli import console
from ioi_eval.runs.events import (
    EngineStopped,
    Event,
    LimitMeasured,
    Overloaded,
    ReferencesStarted,
    RunStarted,
    ServersFound,
    SubmissionFailed,
    SubmissionJudged,
)
from ioi_eval.store.folder import MeasuredLimit

_TICK = 0.5  # seconds; the clock goes on while nothing is finished
_TOLD = 3  # servers of which something is said in a line each; of the others, how many they are
_LINE_EVERY = 15.0  # seconds, without a terminal
_FORMAT = "{percentage:3.0f}% {bar} {n_fmt}/{total_fmt} submissions{postfix} [{elapsed}, {remaining} left]"


class Progress:
    """Takes a run's events and shows their sum."""

    def __init__(self, *, quiet: bool) -> None:
        self.total = self.skipped = self.judged = self.failed = self.tests = 0
        self._quiet = quiet
        self._begin = self._said = time.monotonic()
        self._bar: tqdm[None] | None = None
        self._ticking: asyncio.Task[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
        if self._ticking is not None:
            self._ticking.cancel()
            self._ticking = None

    @property
    def finished(self) -> int:
        return self.skipped + self.judged + self.failed

    def __call__(self, event: Event) -> None:
        match event:
            case RunStarted():
                self._start(event)
            case SubmissionJudged():
                self.judged += 1
                self.tests += event.tests
            case SubmissionFailed():
                self.failed += 1
            case EngineStopped():
                self._close()
            case _:
                self._say(event)
        if isinstance(event, RunStarted | SubmissionJudged | SubmissionFailed):
            self.draw()

    def _say(self, event: Event) -> None:
        if self._quiet:
            return
        match event:
            case ServersFound():
                for line in news(event):
                    console.tell(line)
            case LimitMeasured():
                console.tell(measured(event.limit))
            case Overloaded():
                console.tell(crowded(event))
            case ReferencesStarted():
                problems = console.counted(event.problems, "problem")
                console.tell(f"Judging up to {event.most} own solutions of {problems}")

    def _start(self, event: RunStarted) -> None:
        self.total, self.skipped = event.total or 0, event.skipped
        self.judged = self.failed = self.tests = 0
        # So that a long submission does not look like a stop.
        self._ticking = asyncio.get_running_loop().create_task(self._tick())
        self._begin = self._said = time.monotonic()
        if not self._quiet and sys.stderr.isatty() and self.finished < self.total:
            self._bar = tqdm(
                total=self.total,
                initial=self.skipped,
                bar_format=_FORMAT,
                ncols=min(console.WIDTH, console.terminal_width()),
                file=sys.stderr,
                leave=False,
            )

    def draw(self) -> None:
        if self._bar is not None:
            self._bar.set_postfix_str(self._numbers(), refresh=False)
            self._bar.update(self.finished - self._bar.n)
        elif not self._quiet and time.monotonic() - self._said > _LINE_EVERY:
            self._said = time.monotonic()
            console.tell(f"{self.finished} of {self.total} submissions, {self._numbers()}")

    def _numbers(self) -> str:
        seconds = max(time.monotonic() - self._begin, 0.001)
        text = f"{self.tests} tests, {self.tests / seconds:.0f} tests/s"
        return f"{text}, {self.failed} failed" if self.failed else text

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK)
            self.draw()
            if self._bar is not None:
                self._bar.refresh()


def crowded(event: Overloaded) -> str:
    return (
        f"Programs waited {event.waited:.0f} s for processors and disks and computed {event.computed:.0f} s: "
        "too much runs at the same time where they are judged. Verdicts hold; it takes longer"
    )


def news(found: ServersFound) -> Iterator[str]:
    """What a user should know of an engine's servers, a line each."""
    servers, jobs = console.counted(found.servers, "server"), console.counted(found.slots, "job")
    yield f"{found.used} of {servers}, {jobs} at a time"
    yield from _some(found.unreachable)
    yield from _some([f"{url} is left out: {reason}" for url, reason in found.left_out.items()])
    for one in found.differences:
        yield f"{one.name}: {one.detail}" + (f". {one.remedy}" if one.remedy else "")


def _some(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:_TOLD]
    if len(lines) > _TOLD:
        yield f"and {len(lines) - _TOLD} more like these"


def measured(limit: MeasuredLimit) -> str:
    return (
        f"{limit.problem}: time limit {limit.cpu_time:g} s, {limit.multiplier:g} times the slowest accepted "
        f"solution ({limit.solution}: {limit.slowest:.3f} s on test {limit.test})"
    )
