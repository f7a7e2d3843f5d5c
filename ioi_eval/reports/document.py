"""A report as sections of sentences, tables and lines, all of it plain text; and as Markdown and as HTML.

Text of others is shown as it is, and never obeyed.
"""

from __future__ import annotations

import importlib.resources
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from ioi_eval.model.values import Value, Verdict
from ioi_eval.store.rows import bounded

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


class Meter(Value):
    """A cell that shows how much of a whole."""

    part: float
    whole: float

    def __str__(self) -> str:
        return f"{bar(self.part, self.whole)} {share(self.part, self.whole)}"

    @property
    def percent(self) -> float:
        return 100 * self.part / self.whole if self.whole else 0.0

    @property
    def text(self) -> str:
        return share(self.part, self.whole)


Cell = str | Meter


class Table(Value):
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    align: str  # `l` or `r` for each column


class Lines(Value):
    """Lines to be shown as they are: evidence, a command. `sentence` says what they are, if anything does."""

    lines: Sequence[str]
    sentence: str = ""


class Section(Value):
    title: str
    level: int = 2
    lead: str = ""  # what there is to know first
    text: Sequence[str] = ()  # paragraphs before the table; the first goes on where the lead ends
    table: Table | None = None
    notes: Sequence[str] = ()  # behind it
    items: Sequence[str] = ()
    lines: Sequence[Lines] = ()
    long: bool = False  # may be shown folded up


class Document(Value):
    title: str
    lead: str = ""
    text: Sequence[str] = ()
    sections: Sequence[Section] = ()


def markdown(document: Document) -> str:
    """Everything that is put into the page is escaped unless it was made by our own tables."""
    import jinja2

    environment = jinja2.Environment(
        finalize=inline,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # that is for HTML: `finalize` escapes for Markdown
    )
    source = importlib.resources.files("ioi_eval.reports").joinpath("report.md.j2").read_text("utf-8")
    helpers = {"block": block, "table": table, "paragraphs": _paragraphs, "hashes": _hashes}
    page = environment.from_string(source, globals=helpers).render(document=document)
    return page.rstrip("\n") + "\n"


def _paragraphs(text: Sequence[str]) -> Markdown:
    return Markdown("\n\n".join(map(inline, text)))


def _hashes(level: int) -> Markdown:
    return Markdown("#" * level)


_MAX_TEXT = 2000  # characters of one piece
_SHORT = 34  # characters that are not worth a line break
_STATUSES = frozenset(verdict.value for verdict in Verdict)
_MEDALS = frozenset({"gold", "silver", "bronze"})
_WORDS = {"yes": "good", "NO": "bad", "not judged": "bad"}


def html(document: Document) -> str:
    """Everything that is put into the page is escaped; there is no text that counts as HTML already."""
    import jinja2

    environment = jinja2.Environment(
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        autoescape=True,
    )
    source = importlib.resources.files("ioi_eval.reports").joinpath("report.html.j2").read_text("utf-8")
    helpers = {"style_of": style_of, "is_meter": _is_meter, "anchors": _anchors(document)}
    return environment.from_string(source, globals=helpers).render(document=document) + "\n"


def _finalized(value: Any) -> Any:
    """Text without anything hidden in it. What is escaped already is not text of others."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return bounded(visible(value), _MAX_TEXT)


def _is_meter(cell: object) -> bool:
    return isinstance(cell, Meter)


def style_of(cell: str, side: str) -> str:
    """Classes of a cell: only words of ours get a colour."""
    found = ["number" if side == "r" else "short" if len(cell) <= _SHORT else "text"]
    last = cell.rpartition(" ")[2]
    if cell in _STATUSES:
        found += ["status", cell.lower()]
    elif cell in _WORDS:
        found += ["word", _WORDS[cell]]
    elif side == "r" and last in _MEDALS:
        found += ["word", last]
    return " ".join(found)


def _anchors(document: Document) -> list[tuple[str, Section]]:
    """Sections and what links to them: numbers, because titles are text of others."""
    return [(f"s{number}", section) for number, section in enumerate(document.sections, start=1)]
