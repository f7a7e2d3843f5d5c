"""Figures as plain SVG: curves, stacked bars, bars of groups, grids of cells.

SVG of our own, because five shapes take less than what a library would bring: colours stay the page's (dark,
light, print), text stays text, nothing runs in the page and nothing is installed for it.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ioi_eval.model.values import Value
from ioi_eval.reports.document import visible
from ioi_eval.store.rows import bounded

SERIES = 8  # colours; what comes after them is dashed
_WIDTH, _MOST_WIDE, _PLOT = 640, 920, 240  # of a figure, of a grid, and the height of the field of curves
_LETTER, _SLANTED = 7.0, 5.2  # how wide one is, about, and how high where names stand aslant
_NAME = 30  # characters of a name
_CELL, _NARROW, _WIDE = 18, 11, 44  # of a grid
_MAX_NAMED = 40  # columns of a grid; of more, only a pointer tells the names
_FORMULA = ("=", "+", "-", "@")  # what a spreadsheet would run


class Series(Value):
    """A curve through points, with a band around it where low and high are known."""

    name: str
    points: Sequence[tuple[float, float]]
    band: Sequence[tuple[float, float, float]] = ()  # x, low, high


class Square(Value):
    """A cell of a grid: coloured by a share, and opening a page."""

    share: float | None  # in [0, 1]; None: nothing is known
    text: str
    href: str = ""
    style: str = ""  # another colour


class Estimate(Value):
    """A number and between which it surely is."""

    name: str
    value: float
    low: float | None
    high: float | None


def short(name: str) -> str:
    """A name for a figure. The middle is cut: names of models often begin, or end, alike."""
    text = visible(name)
    return text if len(text) <= _NAME else f"{text[: _NAME // 2]}…{text[1 - _NAME // 2 :]}"


class Axis(Value):
    title: str
    most: float
    percent: bool = False
    least: float = 0.0
    whole: bool = False  # no tick between two whole numbers

    def ticks(self) -> list[float]:
        span = self.most - self.least
        step = 10 ** math.floor(math.log10(span / 4)) if span > 0 else 1.0
        if self.whole:
            step = max(1.0, step)
        factors = (1, 2, 5, 10) if self.whole else (1, 2, 2.5, 5, 10)
        step *= next((factor for factor in factors if span / (step * factor) <= 6), 10)
        first = math.ceil(self.least / step)
        return [step * place for place in range(first, math.floor(self.most / step + 1e-9) + 1)]

    def label(self, value: float) -> str:
        return f"{100 * value:g} %" if self.percent else f"{value:,.10g}"


class _Drawing:
    """Pieces of SVG, top to bottom."""

    def __init__(self, width: float) -> None:
        from markupsafe import escape

        self.width, self.height = width, 0.0
        self._pieces, self._escape = list[str](), escape

    def text(self, x: float, y: float, text: str, anchor: str = "start", more: str = "") -> None:
        self._pieces.append(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{more}>{self.safe(text)}</text>'
        )

    def add(self, name: str, style: str, *, title: str = "", **places: float | str) -> None:
        given = "".join(
            f' {key}="{value if isinstance(value, str) else format(round(value, 2), "g")}"'
            for key, value in places.items()
        )
        inner = f"><title>{self.safe(title)}</title></{name}>" if title else "/>"
        self._pieces.append(f'<{name} class="{style}"{given}{inner}')

    def raw(self, piece: str) -> None:
        self._pieces.append(piece)

    def safe(self, text: str) -> str:
        return str(self._escape(bounded(visible(text), 200)))

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Draw what belongs to a model: a reader may switch it off."""
        self.raw(f'<g data-of="{self.safe(name)}">')
        yield
        self.raw("</g>")

    def legend(self, entries: Iterable[tuple[str, str]]) -> None:
        """Names with the classes of their colours, in as many lines as they take."""
        x = 0.0
        self.height += 14
        for name, style in entries:
            shown = short(name)
            width = 30 + _LETTER * len(shown)
            if x and x + width > self.width:
                x, self.height = 0.0, self.height + 18
            with self.of(name):
                self.add("rect", f"{style} key", x=x, y=self.height - 10, width=12, height=12)
                self.text(x + 17, self.height, shown)
            x += width
        self.height += 12

    def svg(self, title: str, *, role: str = "img") -> str:
        label = self.safe(title)
        return (
            f'<svg viewBox="0 0 {self.width:g} {math.ceil(self.height)}" '
            f'width="{self.width:g}" height="{math.ceil(self.height)}" role="{role}" aria-label="{label}">'
            f"{''.join(self._pieces)}</svg>"
        )


def _style(place: int) -> str:
    return f"m{place % SERIES}" + (" dashed" if place >= SERIES else "")


# --- curves ------------------------------------------------------------------------------------------


def curves(title: str, series: Sequence[Series], x: Axis, y: Axis, rule: tuple[float, str] | None) -> str:
    """`rule`: where an upright line stands, and what it says."""
    drawing = _Drawing(_WIDTH)
    drawing.legend((one.name, _style(place)) for place, one in enumerate(series))
    left, right, top = 58.0, _WIDTH - 26.0, drawing.height + 26
    bottom = top + _PLOT

    def across(value: float) -> float:
        return left + (right - left) * (value - x.least) / ((x.most - x.least) or 1)

    def up(value: float) -> float:
        return bottom - (bottom - top) * (value - y.least) / ((y.most - y.least) or 1)

    _axes(drawing, x, y, across, up)
    if rule is not None:
        at = across(rule[0])
        drawing.add("line", "rule", x1=at, x2=at, y1=top, y2=bottom)
        end = at > _WIDTH / 2
        drawing.text(at + (-5 if end else 5), bottom - 7, rule[1], "end" if end else "start")
    for place, one in enumerate(series):
        if len(one.band) > 1:
            edge = [(at, high) for at, _, high in one.band] + [(at, low) for at, low, _ in one.band[::-1]]
            with drawing.of(one.name):
                drawing.add("path", f"{_style(place)} band", d=_path(edge, across, up) + "Z")
    for place, one in enumerate(series):
        with drawing.of(one.name):
            drawing.add("path", f"{_style(place)} curve", d=_path(one.points, across, up), title=one.name)
            for at, value in one.points if len(one.points) <= 20 else ():
                what = f"{one.name}: {y.label(round(value, 4))} at {x.label(at)}"
                drawing.add("circle", f"{_style(place)} dot", cx=across(at), cy=up(value), r=3, title=what)
    drawing.height = bottom + 40
    return drawing.svg(title)


def _path(points: Sequence[tuple[float, float]], across: Any, up: Any) -> str:
    return "M" + "L".join(f"{across(x):.1f} {up(y):.1f}" for x, y in points)


def _axes(drawing: _Drawing, x: Axis, y: Axis, across: Any, up: Any) -> None:
    left, right, bottom = across(x.least), across(x.most), up(y.least)
    for tick in y.ticks():
        drawing.add("line", "axis", x1=left, x2=right, y1=up(tick), y2=up(tick))
        drawing.text(left - 7, up(tick) + 4, y.label(tick), "end")
    for tick in x.ticks():
        drawing.text(across(tick), bottom + 17, x.label(tick), "middle")
    drawing.text((left + right) / 2, bottom + 35, x.title, "middle")
    drawing.text(4, up(y.most) - 10, y.title)


# --- bars --------------------------------------------------------------------------------------------


def stacked(title: str, rows: Sequence[tuple[str, Sequence[int]]], kinds: Sequence[tuple[str, str]]) -> str:
    """A bar of the same length for each row, divided by kinds: names with the classes of their colours."""
    drawing = _Drawing(_WIDTH)
    drawing.legend(kinds)
    left = _margin(name for name, _ in rows)
    for name, counts in rows:
        with drawing.of(name):
            drawing.text(left - 8, drawing.height + 16, short(name), "end")
            whole, x, y = sum(counts), left, drawing.height + 2
            for (kind, style), count in zip(kinds, counts, strict=True):
                width = (_WIDTH - left) * count / whole if whole else 0.0
                what = f"{name}, {kind}: {count:,} of {whole:,} ({100 * count / (whole or 1):.1f} %)"
                if count:
                    drawing.add("rect", style, x=x, y=y, width=max(0.5, width - 1), height=20, title=what)
                x += width
        drawing.height += 26
    drawing.height += 4
    return drawing.svg(title)


def bars(title: str, names: Sequence[str], groups: Sequence[tuple[str, Sequence[float | None]]]) -> str:
    """For each group a bar for each name, as a share of 1."""
    drawing = _Drawing(_WIDTH)
    drawing.legend((name, _style(place)) for place, name in enumerate(names))
    left, right, thick = _margin(group for group, _ in groups), _WIDTH - 48.0, 12 if len(names) > 2 else 16
    for group, values in groups:
        middle = drawing.height + 6 + thick * len(values) / 2
        drawing.text(left - 8, middle + 4, short(group), "end")
        drawing.height += 6
        for place, value in enumerate(values):
            if value is not None:
                width = max(1.0, (right - left) * min(1.0, value))
                what = f"{group}, {names[place]}: {100 * value:.1f} %"
                style = f"{_style(place)} bar"
                places = {"x": left, "y": drawing.height + 1, "width": width, "height": thick - 2.0}
                with drawing.of(names[place]):
                    drawing.add("rect", style, title=what, **places)
                    drawing.text(left + width + 4, drawing.height + thick - 2.5, f"{100 * value:.0f} %")
            drawing.height += thick
        drawing.height += 6
    return drawing.svg(title)


def _margin(names: Iterable[str]) -> float:
    longest = max((len(short(name)) for name in names), default=0)
    return 14 + _LETTER * longest


# --- estimates ---------------------------------------------------------------------------------------


def intervals(title: str, rows: Sequence[Estimate]) -> str:
    """A dot for each row, with a line from low to high, on both sides of an upright line at 0; in percent."""
    drawing = _Drawing(_WIDTH)
    left, right = _margin(one.name for one in rows) + 8, _WIDTH - 26.0
    reach = [value for one in rows for value in (one.value, one.low, one.high) if value is not None]
    axis = Axis(title=title, least=min(0.0, *reach), most=max(0.01, *reach), percent=True)
    bottom = 10.0 + 26 * len(rows)

    def across(value: float) -> float:
        return left + (right - left) * (value - axis.least) / (axis.most - axis.least)

    for tick in axis.ticks():
        at = across(tick)
        drawing.add("line", "axis", x1=at, x2=at, y1=4, y2=bottom)
        drawing.text(at, bottom + 17, axis.label(round(tick, 10)), "middle")
    drawing.add("line", "rule", x1=across(0), x2=across(0), y1=4, y2=bottom)
    for place, one in enumerate(rows):
        y = 22.0 + 26 * place
        drawing.text(left - 16, y + 4, short(one.name), "end")
        what = f"{one.name}: {100 * one.value:+.1f} %"
        if one.low is not None and one.high is not None:
            what += f" ({100 * one.low:+.1f} to {100 * one.high:+.1f})"
            drawing.add("line", "m0 curve", x1=across(one.low), x2=across(one.high), y1=y, y2=y, title=what)
        drawing.add("circle", "m0 dot", cx=across(one.value), cy=y, r=4.5, title=what)
    drawing.height = bottom + 40
    drawing.text((left + right) / 2, bottom + 35, title, "middle")
    return drawing.svg(title)


# --- grids -------------------------------------------------------------------------------------------


def grid(title: str, rows: Sequence[str], columns: Sequence[str], squares: Sequence[Sequence[Square]]) -> str:
    """A line for each row, a coloured cell for each column; where there are many, in several blocks."""
    named = len(columns) <= _MAX_NAMED
    left = _margin(rows)
    longest = max((len(short(name)) for name in columns), default=0) if named else 0
    space = _MOST_WIDE - left - _SLANTED * longest
    cell = _NARROW if not named else max(_CELL, min(_WIDE, space / max(1, len(columns))))
    most = max(1, int(space / cell))
    block = math.ceil(len(columns) / max(1, math.ceil(len(columns) / most))) or 1  # all about equally long
    drawing = _Drawing(left + cell * min(block, len(columns)) + _SLANTED * longest)
    drawing.height = 0.0
    for start in range(0, len(columns), block):
        _block(drawing, rows, columns[start : start + block], squares, (start, left, cell, named))
        drawing.height += 14
    return drawing.svg(title, role="group")


def _block(
    drawing: _Drawing,
    rows: Sequence[str],
    columns: Sequence[str],
    squares: Sequence[Sequence[Square]],
    form: tuple[int, float, float, bool],
) -> None:
    start, left, cell, named = form
    if named:
        longest = max(len(short(name)) for name in columns)
        drawing.height += 12 + _SLANTED * longest
        for place, name in enumerate(columns):
            x, y = left + cell * (place + 0.5), drawing.height - 5
            turned = f' transform="rotate(-45 {x:g} {y:g})"'
            drawing.text(x, y, short(name), more=turned)
    for name, line in zip(rows, squares, strict=True):
        drawing.text(left - 8, drawing.height + 15, short(name), "end")
        for place, column in enumerate(columns):
            _square(drawing, line[start + place], f"{name}, {column}", left + cell * place, cell)
        drawing.height += 22


def _square(drawing: _Drawing, square: Square, name: str, x: float, cell: float) -> None:
    style = square.style or ("none" if square.share is None else f"g{round(10 * square.share)}")
    if square.href:  # the table has the same links, so a keyboard does not stop at each of them twice
        drawing.raw(f'<a href="{square.href}" tabindex="-1">')
    places = {"x": x, "y": drawing.height, "width": cell - 1, "height": 21.0}
    drawing.add("rect", style, title=f"{name}: {square.text}", **places)
    if cell > 34 and len(square.text) <= 7:
        drawing.text(x + (cell - 1) / 2, drawing.height + 15, square.text, "middle", ' class="in"')
    if square.href:
        drawing.raw("</a>")


# --- numbers -----------------------------------------------------------------------------------------


def as_csv(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Numbers as they are, and names that no spreadsheet takes for formulas."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_plain(heads))
    writer.writerows(_plain(row) for row in rows)
    return out.getvalue()


def _plain(row: Sequence[Any]) -> Iterator[Any]:
    for value in row:
        text = visible(value) if isinstance(value, str) else value
        yield f"'{text}" if isinstance(text, str) and text.startswith(_FORMULA) else text
