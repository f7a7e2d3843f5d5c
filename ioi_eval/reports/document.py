"""A report before it is Markdown or HTML: sections of sentences, tables and lines. All of it plain text."""

from __future__ import annotations

from collections.abc import Sequence

from ioi_eval.models import Value
from ioi_eval.reports.text import bar, share


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
