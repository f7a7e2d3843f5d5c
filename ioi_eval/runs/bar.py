"""A bar for notebooks and scripts, drawn from a run's events."""

from __future__ import annotations

from typing import Any

from ioi_eval.runs.events import (
    EngineStopped,
    Event,
    OnEvent,
    RowsUnderstood,
    RunFinished,
    RunStarted,
    SubmissionFailed,
    SubmissionJudged,
)


def progress() -> OnEvent:
    """Return a subscriber that draws a run with tqdm: a widget in a notebook, a line in a terminal.

    scored = await score_dump(frame, "packages", on_event=progress())
    """
    return _Bar()


class _Bar:
    def __init__(self) -> None:
        from tqdm.auto import tqdm

        self._made: Any = tqdm
        self._bar: Any = None
        self._tests = self._failed = 0

    def __call__(self, event: Event) -> None:
        match event:
            case RowsUnderstood():
                self._made.write(f"Rows: {event.rows}")
            case RunStarted():
                self._close()
                self._tests = self._failed = 0
                self._bar = self._made(total=event.total, initial=event.skipped, unit=" submissions")
            case SubmissionJudged():
                self._tests += event.tests
                self._advance()
            case SubmissionFailed():
                self._failed += 1
                self._advance()
            case RunFinished() | EngineStopped():
                self._close()

    def _advance(self) -> None:
        if self._bar is not None:
            failed = {"failed": self._failed} if self._failed else {}
            self._bar.set_postfix(tests=self._tests, **failed, refresh=False)
            self._bar.update()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
