"""The manners of every command: where it prints, how wide, and the meaning of its exit code."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from ioi_eval.model.errors import BadRows, InputError

_SHOWN_ROWS = 20  # of those that cannot be used
SETTINGS_FILE = Path("ioi-eval.toml")
WIDTH = 100  # columns, at most
_PIPED = sys.maxsize  # into a file or another program: a row is a line, so that grep finds it whole
_PACKAGE = "ioi_eval"
_GAP = "  "  # between two columns of a table
_LEAST, _LEAST_FIRST = 10, 20  # columns of text that a table's columns keep

# Exit codes. 0: everything is scored.
MISMATCH = 1  # `problems` or `doctor` found something wrong
BAD_INPUT = 2
UNSCORED = 3  # some submissions have no result
SUSPICIOUS = 4  # the table can hardly be true
INTERRUPTED = 130

FLAGS: dict[str, str] = {}  # of the fields of values that loaded commands make options of (groups.py)
# Arguments of use cases that are no such fields, or that a sentence has in other words.
_TYPED = {
    "rejudge=True": "--rejudge",
    "out=FOLDER": "--out folder",
    "column=NAME": "--columns expected=NAME",
    "seconds=S": "--generate-seconds S",
    "scale=...": "--expected-scale",
    "solutions=FILE": "--solutions FILE",
    "data_dir=FOLDER": "--data-dir",
    "problems=...": "--problems",
    "problems=": "--problems ",
    "token=...": "--token-file FILE",
    "open_to_all=True": "--open-to-all",
    "compiler=FOLDER": "--compiler PREFIX",
    "ioi_eval.runs.authors.prompts_of(...)": "--print-prompt",
    "ioi_eval.runs.generating.generate(PACKAGE, DIR)": "`ioi-eval problems PACKAGE --generate DIR`",
}
_ARGUMENT = re.compile(
    rf"(?<![\w?-])(?:{'|'.join(map(re.escape, _TYPED))}"
    r"|(?P<name>[a-z_]+)=(?:(?P<value>True|False|\.\.\.)|(?<=_column=)|(?=[A-Z/]|none\b)))"
)
_FIELDS = {
    "column": "--columns expected",
    "contents_folder": "--contents-folder",
    "headers": "--headers",
    "most": "--references",
    "problems": "--problems",
    "references": "--validate-references",
    "repo": "--push-to-hub",
    "results": "--results",
    "reuse": "--reuse",
    "scale": "--expected-scale",
    "url": "--url",
}


def show(text: str) -> None:
    """A line for the user who asked, on standard output, as it is."""
    print(text, flush=True)


def show_json(value: Any) -> None:
    from ioi_eval.model.quoting import as_json  # not for help

    show(as_json(value, indented=True).decode())


def tell(text: str, *, failure: str = "") -> None:
    """Print a message on standard error. `failure`: its beginning, which is red in a terminal."""
    message = "\n".join(fitting(text))
    if failure:
        message = coloured(failure, RED, sys.stderr) + message.removeprefix(failure)
    print(message, file=sys.stderr, flush=True)


def fitting(text: str) -> list[str]:
    """A message's lines, on a terminal at standard error broken between words where they are too long."""
    if not sys.stderr.isatty():
        return [text]
    width = min(terminal_width(), WIDTH)
    return [
        piece
        for line in text.split("\n")
        for piece in ([line] if _width(line) <= width else _broken(line, width))
    ]


def _broken(line: str, width: int) -> list[str]:
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(
        line, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )


# --- colours -----------------------------------------------------------------------------------------


RED, GREEN, YELLOW, GREY = "31;1", "32", "33", "90"  # codes of ANSI
_VERDICT_COLOURS = {
    "AC": GREEN,
    "PA": YELLOW,
    "SKIPPED": GREY,
    **dict.fromkeys(("WA", "TLE", "MLE", "OLE", "RE", "CE"), RED),
}


def coloured(text: str, colour: str, stream: TextIO) -> str:
    """Return the text in a colour if the stream is a terminal that shows colours.

    The variable NO_COLOR and `TERM=dumb` switch colours off.
    """
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{colour}m{text}\x1b[0m"


def verdict_coloured(text: str, verdict: str) -> str:
    """Return a text for standard output with the first occurrence of the verdict in its colour."""
    if verdict not in _VERDICT_COLOURS:
        return text
    return re.sub(rf"\b{verdict}\b", coloured(verdict, _VERDICT_COLOURS[verdict], sys.stdout), text, count=1)


class _Passing(logging.Handler):
    """Passes the messages of a log on."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__()
        self._tell = tell

        self._in_detail = logging.Formatter("%(asctime)s.%(msecs)03d %(name)s  %(message)s", "%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        """Return the message alone, but for the details that --log-level=debug asks for."""
        return self._in_detail.format(record) if record.levelno < logging.INFO else super().format(record)

    def emit(self, record: logging.LogRecord) -> None:
        self._tell(self.format(record))


def tell_what_is_logged(tell: Callable[[str], None] = tell, *, of_others: bool = False) -> None:
    """Show log messages of the layers below, such as a download from the hub. The last call holds.

    `of_others`: also what other libraries log, and Python's warnings, which would be written as they are.
    """
    logger = logging.getLogger(_PACKAGE)
    logger.handlers = [handler for handler in logger.handlers if not isinstance(handler, _Passing)]
    logger.addHandler(_Passing(tell))
    if not logger.level:
        set_log_level("info")
    if of_others:
        logging.captureWarnings(True)
        logging.getLogger().addHandler(_Passing(tell))
        logger.propagate = False


def set_log_level(level: str) -> None:
    """Show log messages of this package from this level on."""
    logging.getLogger(_PACKAGE).setLevel(level.upper())


def hush(quiet: bool) -> bool:
    """For who wants no progress; as the callback of the option that says so."""
    if quiet and not logging.getLogger(_PACKAGE).isEnabledFor(logging.DEBUG):
        set_log_level("warning")
    return quiet


class StopSignals:
    """SIGTERM, SIGINT and SIGHUP to a program that serves, one at a time."""

    def __init__(self) -> None:
        import asyncio  # not for help

        self._came = asyncio.Queue[int]()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._came.put_nowait, number)

    async def wait(self) -> None:
        await self._came.get()


def complain(text: str) -> None:
    """Print an error in one line, without anything that the terminal would obey."""
    from ioi_eval.reports.document import visible  # not for help

    tell("error: " + visible(text), failure="error:")


def complain_of_rows(error: BadRows) -> None:
    """The first of them, a line each, and where all of them are."""
    for fault in error.errors[:_SHOWN_ROWS]:
        complain(as_typed(fault))
    if len(error.errors) > 1:
        listed = f" All are in {error.listed}." if error.listed else ""
        tell(f"{len(error.errors):,} rows cannot be used.{listed} --skip-bad-rows leaves them out.")


def as_typed(error: InputError) -> str:
    """Return the error of a use case, with its arguments called as the command line does."""
    field = _FIELDS.get(error.field, error.field)
    name = field.removeprefix("choice.").removeprefix("selection.")
    error = error.but(field=field, remedy=as_called(error.remedy))
    if (name != field or not error.where) and name in FLAGS:
        error = with_option_name(error, FLAGS[name])
    return str(error)


def with_option_name(error: InputError, option: str) -> InputError:
    """Return the error with the name of an option, or of a key of `ioi-eval.toml`."""
    if option.startswith("--"):
        return error.but(field=option)
    return error.but(field=option, where=str(SETTINGS_FILE))


def as_called(text: str) -> str:
    """Return a sentence of the library, with arguments called as the command line does."""

    def called(found: re.Match[str]) -> str:
        if (flag := FLAGS.get(found["name"] or "")) is None:
            return _TYPED.get(found[0], found[0])
        if found["name"].endswith("_column"):
            return f"{flag}="
        if not flag.startswith("--"):  # a key of the settings file
            match found["value"]:
                case None:  # a value follows
                    return f"{flag} = "
                case "...":
                    return f"{flag} in {SETTINGS_FILE}"
                case value:
                    return f"{flag} = {value.lower()} in {SETTINGS_FILE}"
        return f"--no-{flag[2:]}" if found["value"] == "False" else flag + " " * (found["value"] is None)

    return _ARGUMENT.sub(called, text)


# --- lines and tables --------------------------------------------------------------------------------


def show_wrapped(text: str, first: str = "", later: str = "") -> None:
    for line in wrapped(text, first, later):
        show(line)


def wrapped(text: str, first: str = "", later: str = "") -> list[str]:
    """A sentence on as many lines as it takes, piped on one; long words stay whole."""
    from ioi_eval.reports.document import visible

    lines = textwrap.wrap(
        visible(text),
        line_width(),
        initial_indent=first,
        subsequent_indent=later,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return lines or [first.rstrip()]


def report_line(out: str) -> str:
    return f"Report: {out}/report.md, for a browser {out}/report.html"


def terminal_width() -> int:
    return shutil.get_terminal_size((WIDTH, 24)).columns


def line_width() -> int:
    """Return the columns that a line may take: a terminal's, at most 100; piped, any number."""
    return min(terminal_width(), WIDTH) if sys.stdout.isatty() else _PIPED


def show_table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Collection[str] = frozenset(),
    spare: Sequence[str] = (),
    width: int | None = None,
) -> None:
    for line in table_lines(heads, rows, right=right, spare=spare, width=width):
        show(line)


def table_lines(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Collection[str] = frozenset(),
    spare: Sequence[str] = (),
    width: int | None = None,
) -> Iterator[str]:
    """A table without a frame, so that it survives being pasted into a mail. An empty row is an empty line.

    Numbers are never cut: on a narrow terminal texts are folded between words, those of the first column
    last, and then columns of `spare` are left out, the first named first. Piped, all is whole.
    `width`: columns that the table never exceeds, also piped.
    """
    most = line_width() if width is None else min(width, line_width())
    table, fewer = [list(heads), *map(list, rows)], list(spare)
    while _taken(wide := _widths(table, right, most)) > most and fewer:
        if (name := fewer.pop(0)) in table[0]:
            column = table[0].index(name)
            table = [row[:column] + row[column + 1 :] for row in table]
    for row in table:
        cells = [_folded(cell, column) for cell, column in zip(row, wide, strict=False)]
        for k in range(max(map(len, cells), default=1)):
            pieces = [cell[k] if k < len(cell) else "" for cell in cells]
            padded = [
                " " * (column - _width(piece)) + piece
                if head in right
                else piece + " " * (column - _width(piece))
                for piece, column, head in zip(pieces, wide, table[0], strict=False)
            ]
            line = _GAP.join([*padded[:1], *(verdict_coloured(cell, cell.strip()) for cell in padded[1:])])
            yield line.rstrip()


def _taken(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _widths(table: Sequence[Sequence[str]], right: Collection[str], most: int) -> list[int]:
    """Columns that each column gets: as many as it needs, or, where there are fewer, as it can do with."""
    heads = table[0]
    widths = [max((_width(row[n]) for row in table if row), default=0) for n in range(len(heads))]
    texts = [n for n, head in enumerate(heads) if head not in right]
    for n in sorted(texts, key=lambda n: (n == 0, -widths[n])):
        least = max(_LEAST if n else _LEAST_FIRST, _width(heads[n]))
        widths[n] -= max(0, min(_taken(widths) - most, widths[n] - least))
    return widths


def _folded(cell: str, width: int) -> list[str]:
    """Return a cell on as many lines as it takes. No word is broken: a long one loses its middle."""
    if _width(cell) <= width:
        return [cell]
    lines: list[str] = []
    for word in cell.split():
        short = _shortened(word, width)
        if lines and _width(lines[-1]) + 1 + _width(short) <= width:
            lines[-1] += f" {short}"
        else:
            lines.append(short)
    return lines


def _shortened(word: str, width: int) -> str:
    if _width(word) <= width:
        return word
    kept = width - 1 if _width(word) == len(word) else (width - 1) // 2  # a character may take two columns
    return f"{word[: kept - kept // 2]}…{word[len(word) - kept // 2 :]}"


def _width(text: str) -> int:
    """Columns that a text takes."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) > 0 for char in text)
