"""Text of others in a Markdown page: shown as it is, never obeyed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from ioi_eval.rows import bounded

_MAX_INLINE = 300  # characters
_MAX_PADDED = 60  # a longer cell does not widen its column
_SPECIAL = re.compile(r"[\\`*\[\]<>|~&$#]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.")
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # control, direction, surrogates, line breaks


class Markdown(str):
    """Text that is Markdown already; everything else is escaped where it is put into a page."""

    __slots__ = ()


def visible(text: str) -> str:
    """One line without anything that a terminal or a page could act on."""
    shown = "".join(" " if char.isspace() else _shown(char) for char in text)
    return " ".join(shown.split())


def _shown(char: str) -> str:
    return "\ufffd" if unicodedata.category(char) in _HIDDEN else char


def inline(value: Any) -> Markdown:
    """A value as a piece of a line: of a paragraph, a heading or a table."""
    if isinstance(value, Markdown):
        return value
    text = bounded(visible(str(value)), _MAX_INLINE)
    return Markdown(_SPECIAL.sub(lambda found: "\\" + found.group(), text))


def block(text: str) -> Markdown:
    """Lines to be copied, in a fence that they cannot close."""
    shown = "\n".join(visible(line) for line in text.split("\n"))
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return Markdown(f"{fence}sh\n{shown}\n{fence}")


def table(heads: Sequence[Any], rows: Iterable[Sequence[Any]], align: str) -> Markdown:
    """A table that can be read in its source too. `align` has `l` or `r` for each column."""
    cells = [[inline(cell) for cell in row] for row in (heads, *rows)]
    widths = [max(3, *(min(_MAX_PADDED, len(row[n])) for row in cells)) for n in range(len(heads))]
    rules = [
        ("-" * (width - 1)) + (":" if side == "r" else "-") for width, side in zip(widths, align, strict=True)
    ]
    lines = [_line(row, widths, align) for row in cells]
    return Markdown("\n".join([lines[0], _line(rules, widths, align), *lines[1:]]))


def _line(cells: Sequence[str], widths: Sequence[int], align: str) -> str:
    padded = (
        cell.rjust(width) if side == "r" else cell.ljust(width)
        for cell, width, side in zip(cells, widths, align, strict=True)
    )
    return f"| {' | '.join(padded)} |"


# --- numbers -----------------------------------------------------------------------------------------

NOTHING = "–"  # noqa: RUF001 - a dash, where there is no number


def number(value: float | None) -> str:
    """At most two digits after the point, and none that say nothing: 100, 30.5, 33.33."""
    if value is None:
        return NOTHING
    return f"{value:.2f}".rstrip("0").rstrip(".")


def share(part: float | None, whole: float | None) -> str:
    return NOTHING if part is None or not whole else f"{100 * part / whole:.1f} %"


def bar(part: float, whole: float, width: int = 12) -> str:
    full = round(width * part / whole) if whole else 0
    return "█" * full + "░" * (width - full)


def counted(value: int, one: str, many: str | None = None) -> str:
    return f"{value:,} {one if value == 1 else many or one + 's'}"
