"""Output of all commands: streams, colours, tables, the names of options in messages, and exit codes."""

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
from ioi_eval.model.text import visible

_MAX_SHOWN_ROWS = 20  # maximum number of unusable rows that are listed
SETTINGS_FILE = Path("ioi-eval.toml")
WIDTH = 100  # maximum width of output in a terminal, in columns
# Width of output to a file or a pipe, so that a table's row is a single line, as grep needs.
_UNLIMITED = sys.maxsize
_PACKAGE = "ioi_eval"
_GAP = "  "  # space between two columns of a table
_MIN_WIDTH, _MIN_FIRST_WIDTH = 10, 20  # minimum columns of a table's text column, and of its first column

# Exit codes. 0 means that everything is scored.
MISMATCH = 1  # exit code if a check reports a difference
BAD_INPUT = 2
UNSCORED = 3  # exit code if some submissions have no result
SUSPICIOUS = 4  # exit code if the results are hardly plausible
INTERRUPTED = 130

# Option or key of `ioi-eval.toml` for each field. It is filled when commands are loaded (groups.py).
FLAGS: dict[str, str] = {"scale": "expected-scale"}
KEYS_SET: set[str] = set()  # keys that this command line sets with --set
# Arguments that set the same values as `ioi-eval.toml`, except values that the command line sets.
FILE_ARGUMENTS: list[str] = []
# Option of the command line that replaces an argument of the library in messages, unless FLAGS has one.
REPLACEMENTS = {
    "rejudge=True": "--rejudge",
    "out=FOLDER": "--out folder",
    "column=NAME": "--columns expected=NAME",
    "seconds=S": "--set generate-seconds=S",
    "solutions=FILE": "--solutions FILE",
    "data_dir=FOLDER": "--data-dir",
    "problems=...": "--problems",
    "problems=": "--problems ",
    "token=...": "--token-file FILE",
    "open_to_all=True": "--open-to-all",
    "compiler=FOLDER": "--compiler PREFIX",
    "ioi_eval.runs.authors.create_prompts(...)": "--dry-run",
    "ioi_eval.runs.generating.generate(PACKAGE, DIR)": "`ioi-eval problems PACKAGE --generate DIR`",
}
_ARGUMENT = re.compile(
    rf"(?<![\w?-])(?:{'|'.join(map(re.escape, REPLACEMENTS))}"
    r"|(?P<name>[a-z_]+)=(?:(?P<value>True|False|\.\.\.)|(?<=_column=)|(?=[A-Z/]|none\b)))"
)
FIELDS = {
    "column": "--columns expected",
    "headers": "--headers",
    "problems": "--problems",
    "repo": "--push-to-hub",
    "results": "--results",
    "reuse": "--reuse",
    "url": "--index",
}


def print_line(text: str) -> None:
    """Print a line on standard output."""
    print(text, flush=True)


def print_json(value: Any) -> None:
    # Imported here, because help pages do not need it.
    from ioi_eval.model.quoting import encode_terminal_safe_json

    print_line(encode_terminal_safe_json(value, indented=True).decode())


def print_message(text: str, *, failure_prefix: str = "") -> None:
    """Print a message on standard error. `failure_prefix`: its start, printed red in a terminal."""
    message = "\n".join(wrap_message(text))
    if failure_prefix:
        message = colour_text(failure_prefix, RED, sys.stderr) + message.removeprefix(failure_prefix)
    print(message, file=sys.stderr, flush=True)


def wrap_message(text: str) -> list[str]:
    """Return the lines of a message. Long lines are wrapped if standard error is a terminal."""
    if not sys.stderr.isatty():
        return [text]
    width = min(get_terminal_width(), WIDTH)
    return [
        wrapped_line
        for line in text.split("\n")
        for wrapped_line in ([line] if _measure_display_width(line) <= width else _wrap_line(line, width))
    ]


def _wrap_line(line: str, width: int) -> list[str]:
    line_indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(
        line, width, subsequent_indent=line_indent, break_on_hyphens=False, break_long_words=False
    )


# --- colours -----------------------------------------------------------------------------------------


RED, GREEN, YELLOW, GREY = "31;1", "32", "33", "90"  # ANSI codes of colours
_VERDICT_COLOURS = {
    "AC": GREEN,
    "PA": YELLOW,
    "SKIPPED": GREY,
    **dict.fromkeys(("WA", "TLE", "MLE", "OLE", "RE", "CE"), RED),
}


def colour_text(text: str, colour: str, stream: TextIO) -> str:
    """Return the text in a colour if the stream is a terminal that shows colours.

    The variable NO_COLOR and `TERM=dumb` switch colours off.
    """
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{colour}m{text}\x1b[0m"


def colour_verdict(text: str, verdict: str) -> str:
    """Return a string for standard output, with the first occurrence of the verdict in its colour."""
    if verdict not in _VERDICT_COLOURS:
        return text
    return re.sub(
        rf"\b{verdict}\b", colour_text(verdict, _VERDICT_COLOURS[verdict], sys.stdout), text, count=1
    )


class _LogHandler(logging.Handler):
    """Passes log messages to a function."""

    def __init__(self, write: Callable[[str], None]) -> None:
        super().__init__()
        self._write = write
        self._debug_format = logging.Formatter("%(asctime)s.%(msecs)03d %(name)s  %(message)s", "%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        """Return the message. Messages of level debug include the time and the module."""
        return self._debug_format.format(record) if record.levelno < logging.INFO else super().format(record)

    def emit(self, record: logging.LogRecord) -> None:
        self._write(self.format(record))


def set_log_output(write: Callable[[str], None] = print_message, *, of_other_packages: bool = False) -> None:
    """Pass this package's log messages to `write`, instead of the function of an earlier call.

    If `of_other_packages` is true, log messages of other libraries and Python's warnings are printed as well.
    """
    logger = logging.getLogger(_PACKAGE)
    logger.handlers = [handler for handler in logger.handlers if not isinstance(handler, _LogHandler)]
    logger.addHandler(_LogHandler(write))
    if not logger.level:
        set_log_level("info")
    if of_other_packages:
        logging.captureWarnings(True)
        logging.getLogger().addHandler(_LogHandler(write))
        logger.propagate = False


def set_log_level(level: str) -> None:
    """Set the lowest level of log messages that are shown."""
    logging.getLogger(_PACKAGE).setLevel(level.upper())


def is_debug_logged() -> bool:
    """Return True if log messages of level debug are shown."""
    return logging.getLogger(_PACKAGE).isEnabledFor(logging.DEBUG)


def set_quiet(quiet: bool) -> bool:
    """Hide log messages of level info if `quiet` is true, and return `quiet`: the callback of --quiet."""
    if quiet and not is_debug_logged():
        set_log_level("warning")
    return quiet


class StopSignals:
    """The signals SIGTERM, SIGINT and SIGHUP that a server receives."""

    def __init__(self) -> None:
        import asyncio  # imported here, because help pages do not need it

        self._signal_queue = asyncio.Queue[int]()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._signal_queue.put_nowait, number)

    async def wait(self) -> None:
        """Wait for the next signal."""
        await self._signal_queue.get()


def print_error(text: str) -> None:
    """Print an error as a single line, without control characters."""
    print_message(f"error: {visible(text)}", failure_prefix="error:")


def print_row_errors(error: BadRows) -> None:
    """Print the errors of the first unusable rows, a line each, and the file with all errors."""
    for row_error in error.errors[:_MAX_SHOWN_ROWS]:
        print_error(format_input_error(row_error))
    if len(error.errors) > 1:
        listing_sentence = f" All are in {error.listed}." if error.listed else ""
        print_message(
            f"{len(error.errors):,} rows cannot be used.{listing_sentence} --skip-bad-rows leaves them out."
        )


def format_input_error(error: InputError) -> str:
    """Return the message of an error, with options instead of the library's arguments."""
    field = FIELDS.get(error.field, error.field)
    name = field.removeprefix("choice.").removeprefix("selection.")
    error = error.with_details(field=field, remedy=replace_arguments_by_options(error.remedy))
    if (name != field or not error.where) and name in FLAGS:
        error = add_option_name(error, FLAGS[name])
    return str(error)


def add_option_name(error: InputError, option: str) -> InputError:
    """Return the error with the name of an option, or with a key and the place where it was set."""
    if option in KEYS_SET:
        option = f"--set {option}"
    if option.startswith("--"):
        return error.with_details(field=option)
    return error.with_details(field=option, where=str(SETTINGS_FILE))


def replace_arguments_by_options(text: str) -> str:
    """Return a sentence of the library, with options instead of the library's arguments."""

    def replace_match(match: re.Match[str]) -> str:
        if (flag := FLAGS.get(match["name"] or "")) is None:
            return REPLACEMENTS.get(match[0], match[0])
        if match["name"].endswith("_column"):
            return f"{flag}="
        # If `flag` is a key of --set, a value follows unless the match contains the value.
        if not flag.startswith("--"):
            return f"--set {flag}={(match['value'] or '').lower()}"
        return f"--no-{flag[2:]}" if match["value"] == "False" else flag + " " * (match["value"] is None)

    return _ARGUMENT.sub(replace_match, text)


# --- printing of lines and tables --------------------------------------------------------------------


def print_wrapped(text: str, first_indent: str = "", later_indent: str = "") -> None:
    for line in wrap_text(text, first_indent, later_indent):
        print_line(line)


def wrap_text(text: str, first_indent: str = "", later_indent: str = "") -> list[str]:
    """Return a sentence in lines that fit the terminal. In a file or a pipe, return a single line."""
    lines = textwrap.wrap(
        visible(text),
        get_line_width(),
        initial_indent=first_indent,
        subsequent_indent=later_indent,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return lines or [first_indent.rstrip()]


def format_report_line(run_folder: str) -> str:
    return f"Report: {run_folder}/report.md, for a browser {run_folder}/report.html"


def get_terminal_width() -> int:
    return shutil.get_terminal_size((WIDTH, 24)).columns


def get_line_width() -> int:
    """Return the maximum width of a line: the terminal's width, up to 100 columns. Files have no limit."""
    return min(get_terminal_width(), WIDTH) if sys.stdout.isatty() else _UNLIMITED


def print_table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right_aligned_heads: Collection[str] = frozenset(),
    droppable_heads: Sequence[str] = (),
    width: int | None = None,
) -> None:
    for line in format_table(
        heads, rows, right_aligned_heads=right_aligned_heads, droppable_heads=droppable_heads, width=width
    ):
        print_line(line)


def format_table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right_aligned_heads: Collection[str] = frozenset(),
    droppable_heads: Sequence[str] = (),
    width: int | None = None,
) -> Iterator[str]:
    """Yield the lines of a table without a frame. An empty row is an empty line.

    Numbers are never truncated. In a narrow terminal, text is wrapped between words, in the first column only
    if necessary. If that is not enough, spare columns are removed.

    Args:
        heads: the headings.
        rows: the cells.
        right_aligned_heads: headings of columns that are aligned to the right, such as numbers.
        droppable_heads: headings of columns that may be removed, by increasing importance.
        width: maximum width, even in a file or a pipe.
    """
    max_width = get_line_width() if width is None else min(width, get_line_width())
    table, removable_heads = [list(heads), *map(list, rows)], list(droppable_heads)
    while (
        _compute_table_width(widths := _fit_column_widths(table, right_aligned_heads, max_width)) > max_width
        and removable_heads
    ):
        if (name := removable_heads.pop(0)) in table[0]:
            index = table[0].index(name)
            table = [row[:index] + row[index + 1 :] for row in table]
    for row in table:
        folded_cells = [
            _fold_cell(cell, column_width) for cell, column_width in zip(row, widths, strict=False)
        ]
        for line_index in range(max(map(len, folded_cells), default=1)):
            cell_lines = [cell[line_index] if line_index < len(cell) else "" for cell in folded_cells]
            padded_cells = [
                " " * (column_width - _measure_display_width(cell_line)) + cell_line
                if head in right_aligned_heads
                else cell_line + " " * (column_width - _measure_display_width(cell_line))
                for cell_line, column_width, head in zip(cell_lines, widths, table[0], strict=False)
            ]
            line = _GAP.join(
                [*padded_cells[:1], *(colour_verdict(cell, cell.strip()) for cell in padded_cells[1:])]
            )
            yield line.rstrip()


def _compute_table_width(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _fit_column_widths(
    table: Sequence[Sequence[str]], right_aligned_heads: Collection[str], max_width: int
) -> list[int]:
    """Return the width of each column: the width of its content, or less if the table would be too wide."""
    column_heads = table[0]
    widths = [
        max((_measure_display_width(row[index]) for row in table if row), default=0)
        for index in range(len(column_heads))
    ]
    text_columns = [index for index, head in enumerate(column_heads) if head not in right_aligned_heads]
    for index in sorted(text_columns, key=lambda index: (index == 0, -widths[index])):
        min_width = max(
            _MIN_WIDTH if index else _MIN_FIRST_WIDTH, _measure_display_width(column_heads[index])
        )
        widths[index] -= max(0, min(_compute_table_width(widths) - max_width, widths[index] - min_width))
    return widths


def _fold_cell(cell: str, width: int) -> list[str]:
    """Return a cell in lines of a width. Words are not split: a word that is too long loses its middle."""
    if _measure_display_width(cell) <= width:
        return [cell]
    lines: list[str] = []
    for word in cell.split():
        shortened_word = _shorten_word(word, width)
        if lines and _measure_display_width(lines[-1]) + 1 + _measure_display_width(shortened_word) <= width:
            lines[-1] += f" {shortened_word}"
        else:
            lines.append(shortened_word)
    return lines


def _shorten_word(word: str, width: int) -> str:
    if _measure_display_width(word) <= width:
        return word
    # A character may be two columns wide.
    kept_length = width - 1 if _measure_display_width(word) == len(word) else (width - 1) // 2
    return f"{word[: kept_length - kept_length // 2]}…{word[len(word) - kept_length // 2 :]}"


def _measure_display_width(text: str) -> int:
    """Return the width of a string in a terminal, in columns."""
    if text.isascii():
        return len(text)
    wide_count = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide_count - sum(unicodedata.combining(char) > 0 for char in text)
