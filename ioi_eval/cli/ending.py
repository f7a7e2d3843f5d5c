"""What is said when a run ends, well or not."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import typer

from ioi_eval.cli import console
from ioi_eval.cli.judging import end_in_peace
from ioi_eval.runner import RunSummary

_SHOWN_FAILURES = 5


def command(arguments: list[str]) -> str:
    """How to go on with a run: the command as it was given, but for what would start it anew."""
    return shlex.join(["ioi-eval", *(word for word in arguments if word not in ("--fresh", "--rejudge"))])


@contextmanager
def interruptible(command: str) -> Iterator[None]:
    """Who interrupts is told how to go on; all is cleaned up by then."""
    try:
        yield
    except KeyboardInterrupt:
        end_in_peace()
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
