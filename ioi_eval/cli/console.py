"""What every command does alike: where it prints, how wide, and what its exit code means."""

from __future__ import annotations

import io
import logging
import shutil
import sys
from typing import Any, Literal

import msgspec
from rich.console import Console
from rich.table import Table

from ioi_eval.reports.document import counted, visible

__all__ = ["counted", "visible"]

WIDTH = 100  # columns, at most
_PACKAGE = "ioi_eval"

# Exit codes. 0: everything is scored.
MISMATCH = 1  # `problems` or `doctor` found something wrong
BAD_INPUT = 2
UNSCORED = 3  # some submissions could not be judged
INTERRUPTED = 130


def show(text: str) -> None:
    """A line for the user who asked, on standard output, as it is."""
    print(text, flush=True)


def show_json(value: Any) -> None:
    show(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def tell(text: str) -> None:
    """A line about what is going on, on standard error, so that standard output stays what was asked for."""
    print(text, file=sys.stderr, flush=True)


def tell_what_is_logged() -> None:
    """What takes its time further down is said there, to the log: that the hub is asked, for instance."""
    handler = logging.StreamHandler()
    logger = logging.getLogger(_PACKAGE)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)


def hush(quiet: bool) -> bool:
    """For who wants no progress; as the callback of the option that says so."""
    if quiet:
        logging.getLogger(_PACKAGE).setLevel(logging.WARNING)
    return quiet


def complain(text: str) -> None:
    """What is wrong, in one line, without anything in it that the terminal would obey."""
    tell("error: " + visible(text))


def terminal_width() -> int:
    return shutil.get_terminal_size((WIDTH, 24)).columns


def show_table(table: Table) -> None:
    width = min(terminal_width(), WIDTH) if sys.stdout.isatty() else WIDTH
    drawn = Console(highlight=False, width=width, file=io.StringIO())
    with drawn.capture() as lines:
        drawn.print(table)
    show("\n".join(line.rstrip() for line in lines.get().splitlines()))


def plain_table(*columns: str, right: frozenset[str] = frozenset()) -> Table:
    """A table without a frame: it survives being pasted into a mail."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        justify: Literal["left", "right"] = "right" if column in right else "left"
        table.add_column(column, justify=justify, no_wrap=column in right, overflow="fold")
    return table
