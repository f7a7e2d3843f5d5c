"""Figures as plain SVG: curves, stacked bars, intervals, columns.

We write the SVG ourselves, because four shapes need less code than a library: colours follow the page (dark,
light, print), text stays text, and the page needs no script for it.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from typing import Any

from ioi_eval.model.values import Value
from ioi_eval.reports.document import Figure, visible
from ioi_eval.store.rows import shorten

SERIES = 8  # number of colours; further models are grey
WIDE, HALF = 920, 600  # widths of curves and of columns, in pixels
_PLOT = 300  # height of curves, in pixels
_LETTER = 7.0  # approximate width of a letter, in pixels
_NAME = 30  # maximum length of a name, in characters
_LEADER, _LABEL = 26.0, 15.0  # pixels from a curve's end to its name, and between names
_COLUMN = 120  # height of columns, in pixels
_BETWEEN = "/-_:@ "  # characters between words of names
_Scale = Callable[[float], float]  # returns the position of a value
_FORMULA = ("=", "+", "-", "@")  # beginnings of formulas in spreadsheets


class Series(Value):
    """A curve through points, with a band between low and high values if these are known."""

    name: str
    points: Sequence[tuple[float, float]]
    band: Sequence[tuple[float, float, float]] = ()  # x, low, high
    place: int | None = None  # index of its colour; None: its index among the series


def short(name: str, most: int = _NAME) -> str:
    """Return a name for a figure. A long name loses its middle, as names often share beginnings or ends."""
    text = visible(name)
    return text if len(text) <= most else f"{text[: most - most // 2]}…{text[1 - most // 2 :]}"


def apart(names: Sequence[str], most: int = _NAME) -> list[str]:
    """Return names for a figure. If one is too long, words that all names begin or end with are removed."""
    texts = [visible(name) for name in names]
    if len(set(texts)) < 2:
        return [short(text, most) for text in texts]
    begin, end = _words(texts), _words([text[::-1] for text in texts])
    folder = texts[0].rfind("/", 0, begin) + 1
    for first, last in ((0, 0), (folder, 0), (begin, 0), (folder, end), (begin, end)):
        cut = [f"{'…' * (first > 0)}{t[first : len(t) - last]}{'…' * (last > 0)}" for t in texts]
        if all(len(text) <= most for text in cut):
            return cut
    return [short(text, most) for text in cut]


def _words(texts: Sequence[str]) -> int:
    """Return the length of the words that all strings begin with. Something remains of each string."""
    same = takewhile(
        lambda letters: len(set(letters)) == 1, zip(*(text[:-1] for text in texts), strict=False)
    )
    return max((place for place, letters in enumerate(same, 1) if letters[0] in _BETWEEN), default=0)


class Axis(Value):
    title: str
    most: float
    percent: bool = False
    least: float = 0.0
    whole: bool = False  # ticks only at whole numbers

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
    """An SVG drawing that grows from top to bottom."""

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
        return str(self._escape(shorten(visible(text), 200)))

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Context manager: what is drawn belongs to a model, which readers can hide."""
        self.raw(f'<g data-of="{self.safe(name)}">')
        yield
        self.raw("</g>")

    def legend(self, entries: Iterable[tuple[str, str]]) -> None:
        """Draw a legend of names and their colours' classes, in as many lines as needed."""
        x = 0.0
        self.height += 14
        for name, style in entries:
            shown = short(name)
            width = 30 + _LETTER * len(shown)
            if x and x + width > self.width:
                x, self.height = 0.0, self.height + 18
            self.add("rect", f"{style} key", x=x, y=self.height - 10, width=12, height=12)
            self.text(x + 17, self.height, shown)
            x += width
        self.height += 12

    def svg(self, title: str) -> str:
        label = self.safe(title)
        return (
            f'<svg viewBox="0 0 {self.width:g} {math.ceil(self.height)}" '
            f'width="{self.width:g}" height="{math.ceil(self.height)}" role="img" aria-label="{label}">'
            f"{''.join(self._pieces)}</svg>"
        )


def _style(place: int) -> str:
    return f"m{place % SERIES}"


# --- curves ------------------------------------------------------------------------------------------


def curves(
    title: str,
    series: Sequence[Series],
    x: Axis,
    y: Axis,
    rule: tuple[float, str] | None,
) -> str:
    """Return curves with names at their ends as SVG. Of more than eight curves the others are grey.

    `rule`: position and label of a vertical line.
    """
    drawing, others, series = _Drawing(WIDE), series[SERIES:], series[:SERIES]
    names = apart([line.name for line in series])
    left, top = 58.0, 30.0
    right, bottom = WIDE - _LEADER - 12 - _LETTER * max(map(len, names), default=0), top + _PLOT
    across, up = _scale(x, left, right), _scale(y, bottom, top)
    _axes(drawing, x, y, across, up)
    if others:
        drawing.text(right, up(y.most) - 10, f"grey: the {len(others)} below the first {SERIES}", "end")
    for line in others:
        with drawing.of(line.name):
            drawing.add("path", "other curve", d=_path(line.points, across, up), title=line.name)
    if rule is not None:
        at = across(rule[0])
        drawing.add("line", "rule", x1=at, x2=at, y1=top, y2=bottom)
        end = at > (left + right) / 2
        drawing.text(at + (-5 if end else 5), bottom - 7, rule[1], "end" if end else "start")
    free = (place for place in range(SERIES) if all(line.place != place for line in series))
    styles = [_style(next(free) if line.place is None else line.place) for line in series]
    for style, line in zip(styles, series, strict=True):
        if len(line.band) > 1:
            edge = [(at, high) for at, _, high in line.band] + [(at, low) for at, low, _ in line.band[::-1]]
            with drawing.of(line.name):
                drawing.add("path", f"{style} band", d=_path(edge, across, up) + "Z")
    ends = [line.points[-1] if line.points else (x.least, y.least) for line in series]
    heights = spread([up(value) for _, value in ends], top, bottom)
    for style, line, name, (at, value), height in zip(styles, series, names, ends, heights, strict=True):
        with drawing.of(line.name):
            leader = f"M{across(at) + 5:.1f} {up(value):.1f}L{right + 8:.1f} {up(value):.1f}"
            drawing.add("path", f"{style} leader", d=f"{leader}L{right + _LEADER:.1f} {height:.1f}")
            drawing.text(right + _LEADER + 5, height + 4, name)
            drawing.add("path", f"{style} curve", d=_path(line.points, across, up), title=line.name)
            for each, found in line.points if len(line.points) <= 20 else ():
                what = f"{line.name}: {y.label(round(found, 4))} at {x.label(each)}"
                drawing.add("circle", f"{style} dot", cx=across(each), cy=up(found), r=3, title=what)
    drawing.height = bottom + 40
    return drawing.svg(title)


def spread(heights: Sequence[float], least: float, most: float) -> list[float]:
    """Return heights for labels, as near to the given heights as possible without overlaps."""
    found, order = [*heights], sorted(range(len(heights)), key=heights.__getitem__)
    before = least - _LABEL
    for place in order:
        found[place] = before = max(found[place], before + _LABEL)
    after = max(most, least + _LABEL * (len(order) - 1)) + _LABEL
    for place in reversed(order):
        found[place] = after = min(found[place], after - _LABEL)
    return found


def _scale(axis: Axis, start: float, end: float) -> _Scale:
    whole = (axis.most - axis.least) or 1
    return lambda value: start + (end - start) * (value - axis.least) / whole


def _path(points: Sequence[tuple[float, float]], across: _Scale, up: _Scale) -> str:
    return "M" + "L".join(f"{across(x):.1f} {up(y):.1f}" for x, y in points)


def _axes(drawing: _Drawing, x: Axis, y: Axis, across: _Scale, up: _Scale) -> None:
    left, right, bottom = across(x.least), across(x.most), up(y.least)
    for tick in y.ticks():
        drawing.add("line", "axis", x1=left, x2=right, y1=up(tick), y2=up(tick))
        drawing.text(left - 7, up(tick) + 4, y.label(tick), "end")
    for tick in x.ticks():
        drawing.text(across(tick), bottom + 17, x.label(tick), "middle")
    drawing.text((left + right) / 2, bottom + 35, x.title, "middle")
    drawing.text(4, up(y.most) - 10, y.title)


# --- columns -----------------------------------------------------------------------------------------


def columns(
    title: str,
    bars: Sequence[tuple[str, Sequence[int]]],
    styles: Sequence[str],
    kinds: Sequence[tuple[str, str]] = (),
) -> str:
    """Return columns as SVG, one for each label. `kinds`: names and colours' classes of their parts."""
    drawing = _Drawing(HALF)
    if kinds:
        drawing.legend(kinds)
    most = max((sum(counts) for _, counts in bars), default=0) or 1
    top, width = drawing.height + 18, HALF / max(1, len(bars))
    foot = top + _COLUMN
    for place, (label, counts) in enumerate(bars):
        x, y = width * place, foot
        for style, count in zip(styles, counts, strict=True):
            height = _COLUMN * count / most
            y -= height
            drawing.add(
                "rect", style, x=x + 2, y=y, width=width - 4, height=height, title=f"{label}: {count:,}"
            )
        if sum(counts):
            drawing.text(x + width / 2, y - 4, f"{sum(counts):,}", "middle")
        drawing.text(x + width / 2, foot + 16, label, "middle", ' class="small"')
    drawing.add("line", "axis", x1=0, x2=HALF, y1=foot, y2=foot)
    drawing.height = foot + 24
    return drawing.svg(title)


# --- numbers -----------------------------------------------------------------------------------------


def figure(title: str, drawing: str, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> Figure:
    """Return a figure with its numbers as CSV, in which no name can be a spreadsheet's formula."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_plain(heads))
    writer.writerows(_plain(row) for row in rows)
    return Figure(title=title, drawing=drawing, numbers=out.getvalue())


def _plain(row: Sequence[Any]) -> Iterator[Any]:
    for value in row:
        text = visible(value) if isinstance(value, str) else value
        yield f"'{text}" if isinstance(text, str) and text.startswith(_FORMULA) else text
