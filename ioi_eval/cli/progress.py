"""How far a run is: a bar where there is a terminal, a line now and then where there is none."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self

from tqdm import tqdm

from ioi_eval.cli import console
from ioi_eval.runner import Event, RunStarted, SubmissionFailed, SubmissionJudged

_TICK = 0.5  # seconds; the clock goes on while nothing is finished
_LINE_EVERY = 15.0  # seconds, without a terminal
_FORMAT = "{percentage:3.0f}% {bar} {n_fmt}/{total_fmt} submissions{postfix} [{elapsed}, {remaining} left]"


class Progress:
    """Takes a run's events and shows their sum."""

    def __init__(self, *, quiet: bool, total: int = 0) -> None:
        """`total`: of a stream, which does not say itself how long it will be."""
        self._expected = total
        self.total = self.skipped = self.judged = self.failed = self.tests = 0
        self._quiet = quiet
        self._begin = self._said = time.monotonic()
        self._bar: tqdm[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()

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
        self.draw()

    def _start(self, event: RunStarted) -> None:
        self.total, self.skipped = event.total or self._expected, event.skipped
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

    @contextlib.asynccontextmanager
    async def ticking(self) -> AsyncIterator[None]:
        """Draws while the body runs, so that a long submission does not look like a stop."""
        task = asyncio.create_task(self._tick())
        try:
            yield
        finally:
            task.cancel()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK)
            self.draw()
            if self._bar is not None:
                self._bar.refresh()
