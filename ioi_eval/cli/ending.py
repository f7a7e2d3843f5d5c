"""What is said when a run ends, well or not."""

from __future__ import annotations

import asyncio
import shlex
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

import typer

from ioi_eval.cli import console
from ioi_eval.cli.progress import Progress
from ioi_eval.reports import ModelSummary
from ioi_eval.reports.document import share
from ioi_eval.reports.sections import model_name
from ioi_eval.runs.events import EngineStarting, EngineStopped, Event, RunSummary

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SHOWN_FAILURES = 5
_NOTABLE = 0.01  # of a model's submissions


def command(arguments: list[str]) -> str:
    """How to go on with a run: the command as it was given, but for what would start it anew."""
    return shlex.join(["ioi-eval", *(word for word in arguments if word not in ("--fresh", "--rejudge"))])


class Signals:
    """Ctrl-C, SIGTERM and SIGHUP while a use case works: take its events.

    While an engine is open a signal cancels the call, which then cleans up; a second one has no effect, for
    an end that is cut short leaves something behind. Before and after, nothing awaits, and a signal does what
    it does without us.
    """

    def __init__(self) -> None:
        self._before = {number: signal.getsignal(number) for number in _ENDING}
        self._cancelled = False

    def __call__(self, event: Event) -> None:
        if isinstance(event, EngineStarting) and not self._cancelled:
            task, loop = asyncio.current_task(), asyncio.get_running_loop()
            assert task is not None, "events are told in the task of the call"

            def stop(number: int, frame: object) -> None:
                # Not ignored but passed over: what is started to clean up would inherit the one.
                _handle(dict.fromkeys(_ENDING, lambda *_: None))
                self._cancelled = True
                loop.call_soon_threadsafe(task.cancel)

            _handle(dict.fromkeys(_ENDING, stop))
        elif isinstance(event, EngineStopped) and not self._cancelled:
            self._interrupt_at_once()

    def __enter__(self) -> Self:
        self._interrupt_at_once()
        return self

    def _interrupt_at_once(self) -> None:
        """With a handler of ours for Ctrl-C: asyncio would replace Python's own by one that waits."""
        ours: dict[signal.Signals, Any] = {signal.SIGINT: _interrupt}
        if self._before[signal.SIGINT] is not signal.default_int_handler:
            ours = {}
        _handle({**self._before, **ours})

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, asyncio.CancelledError):
            raise KeyboardInterrupt from None
        _handle(self._before)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _handle(handlers: Mapping[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


@contextmanager
def interruptible(command: str, *, quiet: bool) -> Iterator[Callable[[Event], None]]:
    """Yields what a use case tells its events: they are drawn. Who interrupts is told how to go on."""
    try:
        with Progress(quiet=quiet) as progress, Signals() as signals:

            def tell(event: Event) -> None:
                signals(event)
                progress(event)

            yield tell
    except KeyboardInterrupt:
        # All is cleaned up, and what is left is to leave with the exit code that says so.
        _handle(dict.fromkeys(_ENDING, signal.SIG_IGN))
        console.tell("")
        console.tell("Interrupted. What was scored so far is kept; the same command goes on from there:")
        console.tell(f"    {command}")
        raise typer.Exit(console.INTERRUPTED) from None


def say_failures(failures: Mapping[str, str], out: str) -> None:
    """The first of them, and where the others are."""
    for key, reason in list(failures.items())[:_SHOWN_FAILURES]:
        console.tell(f"not judged: {key}: {reason}")
    if number := len(failures):
        console.tell(
            f"{console.counted(number, 'submission')} could not be judged, see {out}/failures.jsonl; "
            f"the same command retries {'it' if number == 1 else 'them'} and nothing else"
        )


def say_unscored(models: Iterable[ModelSummary]) -> None:
    """Models of whose submissions so many are in no number that the numbers say less."""
    for model in models:
        if model.unscored > _NOTABLE * model.submissions:
            part = share(model.unscored, model.submissions)
            name = model_name(model.model)
            console.tell(f"{name}: {part} of its submissions are unscored, and in none of its numbers")


def what_was_done(call: RunSummary, seconds: float, *, unscored: int) -> str:
    if not call.judged and not unscored:
        if not call.skipped:
            return "Nothing to judge."
        number = console.counted(call.skipped, "submission")
        return f"Nothing new to do: {number} asked for, all scored by earlier calls."
    text = f"Scored {console.counted(call.judged, 'submission')}"
    if call.repeated:
        text += f" ({call.repeated} equal to another one)"
    text += f" in {seconds:.1f} s: {console.counted(call.tests, 'test')}, {call.tests / seconds:.0f} a second"
    were = "was" if call.skipped == 1 else "were"
    return f"{text}; {call.skipped} {were} scored by earlier calls" if call.skipped else text
