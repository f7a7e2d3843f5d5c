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

from ioi_eval.model.text import visible
from ioi_eval.model.values import Value
from ioi_eval.reports.document import Figure
from ioi_eval.store.rows import shorten

SERIES = 8  # number of colours for curves; further models are grey
WIDE, HALF = 920, 600  # widths of a plot of curves and of a plot of columns, in pixels
_PLOT = 300  # height of a plot of curves, in pixels
_LETTER = 7.0  # approximate width of a letter in a label, in pixels
_NAME = 30  # maximum characters of a name
_LEADER, _LABEL = 26.0, 15.0  # distance from a curve to its name, and between two names, in pixels
_COLUMN = 120  # height of a plot of columns, in pixels
# Maximum number of columns with a label; of more columns only the first and the last are labelled.
_MAX_LABELS = 24
_BETWEEN = "/-_:@ "  # characters that separate the words of a name
_Scale = Callable[[float], float]  # a function that returns the position of a value, in pixels
_FORMULA = ("=", "+", "-", "@")  # characters with which formulas in spreadsheets start


class Series(Value):
    """A curve through points, with an optional band between low and high values."""

    name: str
    points: Sequence[tuple[float, float]]
    band: Sequence[tuple[float, float, float]] = ()  # x, low, high
    place: int | None = None  # index of the curve's colour (default: the curve's own index)


def shorten_name(name: str, max_length: int = _NAME) -> str:
    """Return a name for a figure. A long name loses its middle: names often share prefixes or suffixes."""
    visible_name = visible(name)
    return (
        visible_name
        if len(visible_name) <= max_length
        else f"{visible_name[: max_length - max_length // 2]}…{visible_name[1 - max_length // 2 :]}"
    )


def shorten_names(names: Sequence[str], max_length: int = _NAME) -> list[str]:
    """Return names for a figure. If any is too long, common first and last words are removed."""
    visible_names = [visible(name) for name in names]
    if len(set(visible_names)) < 2:
        return [shorten_name(visible_name, max_length) for visible_name in visible_names]
    prefix_length, suffix_length = (
        _measure_common_prefix(visible_names),
        _measure_common_prefix([visible_name[::-1] for visible_name in visible_names]),
    )
    folder = visible_names[0].rfind("/", 0, prefix_length) + 1
    for first, last in (
        (0, 0),
        (folder, 0),
        (prefix_length, 0),
        (folder, suffix_length),
        (prefix_length, suffix_length),
    ):
        shortened_names = [
            f"{'…' * (first > 0)}{text[first : len(text) - last]}{'…' * (last > 0)}" for text in visible_names
        ]
        if all(len(visible_name) <= max_length for visible_name in shortened_names):
            return shortened_names
    return [shorten_name(visible_name, max_length) for visible_name in shortened_names]


def _measure_common_prefix(strings: Sequence[str]) -> int:
    """Return the length of the strings' common prefix of whole words. It is shorter than each string."""
    common_letters = takewhile(
        lambda letters: len(set(letters)) == 1, zip(*(string[:-1] for string in strings), strict=False)
    )
    return max(
        (length for length, letters in enumerate(common_letters, 1) if letters[0] in _BETWEEN), default=0
    )


class Axis(Value):
    title: str
    max_value: float
    percent: bool = False
    min_value: float = 0.0
    whole: bool = False  # True if the axis has ticks only at whole numbers

    def compute_ticks(self) -> list[float]:
        span = self.max_value - self.min_value
        step = 10 ** math.floor(math.log10(span / 4)) if span > 0 else 1.0
        if self.whole:
            step = max(1.0, step)
        factors = (1, 2, 5, 10) if self.whole else (1, 2, 2.5, 5, 10)
        step *= next((factor for factor in factors if span / (step * factor) <= 6), 10)
        first = math.ceil(self.min_value / step)
        return [step * multiple for multiple in range(first, math.floor(self.max_value / step + 1e-9) + 1)]

    def format_value(self, value: float) -> str:
        return f"{100 * value:g} %" if self.percent else f"{value:,.10g}"


class _Drawing:
    """An SVG drawing that grows from top to bottom."""

    def __init__(self, width: float) -> None:
        from markupsafe import escape

        self.width, self.height = width, 0.0
        self._svg_pieces, self._escape = list[str](), escape

    def draw_text(self, x: float, y: float, label: str, anchor: str = "start", attributes: str = "") -> None:
        self._svg_pieces.append(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{attributes}>{self.escape_label(label)}</text>'
        )

    def add_element(self, name: str, style: str, *, title: str = "", **attributes: float | str) -> None:
        attribute_text = "".join(
            f' {key}="{value if isinstance(value, str) else format(round(value, 2), "g")}"'
            for key, value in attributes.items()
        )
        closing = f"><title>{self.escape_label(title)}</title></{name}>" if title else "/>"
        self._svg_pieces.append(f'<{name} class="{style}"{attribute_text}{closing}')

    def add_svg(self, svg: str) -> None:
        self._svg_pieces.append(svg)

    def escape_label(self, label: str) -> str:
        return str(self._escape(shorten(visible(label), 200)))

    @contextmanager
    def open_group(self, name: str) -> Iterator[None]:
        """Context manager that assigns all shapes drawn within it to a model, which readers can hide."""
        self.add_svg(f'<g data-of="{self.escape_label(name)}">')
        yield
        self.add_svg("</g>")

    def draw_legend(self, entries: Iterable[tuple[str, str]]) -> None:
        """Draw a legend of names and their colours' classes, in as many lines as needed."""
        x = 0.0
        self.height += 14
        for name, style in entries:
            short_name = shorten_name(name)
            width = 30 + _LETTER * len(short_name)
            if x and x + width > self.width:
                x, self.height = 0.0, self.height + 18
            self.add_element("rect", f"{style} key", x=x, y=self.height - 10, width=12, height=12)
            self.draw_text(x + 17, self.height, short_name)
            x += width
        self.height += 12

    def make_svg(self, title: str) -> str:
        label = self.escape_label(title)
        return (
            f'<svg viewBox="0 0 {self.width:g} {math.ceil(self.height)}" '
            f'width="{self.width:g}" height="{math.ceil(self.height)}" role="img" aria-label="{label}">'
            f"{''.join(self._svg_pieces)}</svg>"
        )


def _make_css_colour_class(series_index: int) -> str:
    return f"m{series_index % SERIES}"


# --- curves ------------------------------------------------------------------------------------------


def draw_curves(
    title: str,
    series: Sequence[Series],
    x_axis: Axis,
    y_axis: Axis,
    vertical_line: tuple[float, str] | None,
) -> str:
    """Return curves with names at their right as SVG. Only the first eight curves have colours.

    Args:
        title: Description of the drawing for screen readers. It is not drawn.
        series: The curves. Those after the first eight are grey and have no names at their right.
        x_axis: Title and range of the horizontal axis.
        y_axis: Title and range of the vertical axis.
        vertical_line: Value on the horizontal axis, and label, of a vertical line. None means no line.
    """
    drawing, grey_series, series = _Drawing(WIDE), series[SERIES:], series[:SERIES]
    names = shorten_names([line.name for line in series])
    left_x, top_y = 58.0, 30.0
    right_x, bottom_y = WIDE - _LEADER - 12 - _LETTER * max(map(len, names), default=0), top_y + _PLOT
    x_position, y_position = _make_scale(x_axis, left_x, right_x), _make_scale(y_axis, bottom_y, top_y)
    _draw_axes(drawing, x_axis, y_axis, x_position, y_position)
    if grey_series:
        drawing.draw_text(
            right_x,
            y_position(y_axis.max_value) - 10,
            f"grey: the {len(grey_series)} below the first {SERIES}",
            "end",
        )
    for line in grey_series:
        with drawing.open_group(line.name):
            drawing.add_element(
                "path",
                "other curve",
                d=_format_svg_path(line.points, x_position, y_position),
                title=line.name,
            )
    if vertical_line is not None:
        x_value = x_position(vertical_line[0])
        drawing.add_element("line", "rule", x1=x_value, x2=x_value, y1=top_y, y2=bottom_y)
        is_right_half = x_value > (left_x + right_x) / 2
        drawing.draw_text(
            x_value + (-5 if is_right_half else 5),
            bottom_y - 7,
            vertical_line[1],
            "end" if is_right_half else "start",
        )
    free_indexes = (
        colour_index for colour_index in range(SERIES) if all(line.place != colour_index for line in series)
    )
    styles = [
        _make_css_colour_class(next(free_indexes) if line.place is None else line.place) for line in series
    ]
    for style, line in zip(styles, series, strict=True):
        if len(line.band) > 1:
            outline = [(x_value, high) for x_value, _, high in line.band] + [
                (x_value, low) for x_value, low, _ in line.band[::-1]
            ]
            with drawing.open_group(line.name):
                drawing.add_element(
                    "path", f"{style} band", d=_format_svg_path(outline, x_position, y_position) + "Z"
                )
    end_points = [line.points[-1] if line.points else (x_axis.min_value, y_axis.min_value) for line in series]
    heights = spread_labels([y_position(value) for _, value in end_points], top_y, bottom_y)
    for style, line, name, (x_value, value), height in zip(
        styles, series, names, end_points, heights, strict=True
    ):
        with drawing.open_group(line.name):
            end_y = y_position(value)
            leader = f"M{x_position(x_value) + 5:.1f} {end_y:.1f}L{right_x + 8:.1f} {end_y:.1f}"
            drawing.add_element("path", f"{style} leader", d=f"{leader}L{right_x + _LEADER:.1f} {height:.1f}")
            drawing.draw_text(right_x + _LEADER + 5, height + 4, name)
            drawing.add_element(
                "path",
                f"{style} curve",
                d=_format_svg_path(line.points, x_position, y_position),
                title=line.name,
            )
            for point_x, point_y in line.points if len(line.points) <= 20 else ():
                dot_title = (
                    f"{line.name}: {y_axis.format_value(round(point_y, 4))} at {x_axis.format_value(point_x)}"
                )
                drawing.add_element(
                    "circle",
                    f"{style} dot",
                    cx=x_position(point_x),
                    cy=y_position(point_y),
                    r=3,
                    title=dot_title,
                )
    drawing.height = bottom_y + 40
    return drawing.make_svg(title)


def spread_labels(heights: Sequence[float], lowest: float, highest: float) -> list[float]:
    """Return heights for labels, as near to `heights` as possible without overlaps."""
    placed_heights, indexes_by_height = [*heights], sorted(range(len(heights)), key=heights.__getitem__)
    previous_height = lowest - _LABEL
    for index in indexes_by_height:
        placed_heights[index] = previous_height = max(placed_heights[index], previous_height + _LABEL)
    next_height = max(highest, lowest + _LABEL * (len(indexes_by_height) - 1)) + _LABEL
    for index in reversed(indexes_by_height):
        placed_heights[index] = next_height = min(placed_heights[index], next_height - _LABEL)
    return placed_heights


def _make_scale(axis: Axis, start: float, end: float) -> _Scale:
    span = (axis.max_value - axis.min_value) or 1
    return lambda value: start + (end - start) * (value - axis.min_value) / span


def _format_svg_path(points: Sequence[tuple[float, float]], x_scale: _Scale, y_scale: _Scale) -> str:
    return "M" + "L".join(f"{x_scale(x):.1f} {y_scale(y):.1f}" for x, y in points)


def _draw_axes(drawing: _Drawing, x_axis: Axis, y_axis: Axis, x_position: _Scale, y_position: _Scale) -> None:
    left_x, right_x, bottom_y = (
        x_position(x_axis.min_value),
        x_position(x_axis.max_value),
        y_position(y_axis.min_value),
    )
    for tick in y_axis.compute_ticks():
        drawing.add_element("line", "axis", x1=left_x, x2=right_x, y1=y_position(tick), y2=y_position(tick))
        drawing.draw_text(left_x - 7, y_position(tick) + 4, y_axis.format_value(tick), "end")
    for tick in x_axis.compute_ticks():
        drawing.draw_text(x_position(tick), bottom_y + 17, x_axis.format_value(tick), "middle")
    drawing.draw_text((left_x + right_x) / 2, bottom_y + 35, x_axis.title, "middle")
    drawing.draw_text(4, y_position(y_axis.max_value) - 10, y_axis.title)


# --- columns -----------------------------------------------------------------------------------------


def draw_stacked_column_chart(
    title: str,
    bars: Sequence[tuple[str, Sequence[int]]],
    styles: Sequence[str],
    legend_entries: Sequence[tuple[str, str]] = (),
    total_width: float = HALF,
) -> str:
    """Return a column for each label, as SVG.

    If there are many columns, only the first and the last have labels. A number shows the largest height.

    Args:
        title: Description of the drawing for screen readers. It is not drawn.
        bars: Label of each column, and the heights of its parts from bottom to top.
        styles: CSS classes of a column's parts, in the order of the heights.
        legend_entries: Names and CSS classes of the parts. Empty means no legend.
        total_width: Width of the drawing in pixels.
    """
    drawing = _Drawing(total_width)
    if legend_entries:
        drawing.draw_legend(legend_entries)
    max_count = max((sum(counts) for _, counts in bars), default=0) or 1
    top_y, width = drawing.height + 18, total_width / max(1, len(bars))
    baseline, gap = top_y + _COLUMN, min(2.0, width / 8)
    has_labels = len(bars) <= _MAX_LABELS
    for index, (label, counts) in enumerate(bars):
        x, y, total = width * index, baseline, sum(counts)
        for style, count in zip(styles, counts, strict=True):
            height = _COLUMN * count / max_count
            y -= height
            if count or has_labels:
                title_text = f"{label}: {count:,}"
                drawing.add_element(
                    "rect", style, x=x + gap, y=y, width=width - 2 * gap, height=height, title=title_text
                )
        if has_labels and total:
            drawing.draw_text(x + width / 2, y - 4, f"{total:,}", "middle")
        if has_labels:
            drawing.draw_text(x + width / 2, baseline + 16, label, "middle", ' class="small"')
    if not has_labels:
        drawing.draw_text(0, top_y - 4, f"{max_count:,}")
        drawing.draw_text(0, baseline + 16, bars[0][0], attributes=' class="small"')
        drawing.draw_text(total_width, baseline + 16, bars[-1][0], "end", ' class="small"')
    drawing.add_element("line", "axis", x1=0, x2=total_width, y1=baseline, y2=baseline)
    drawing.height = baseline + 24
    return drawing.make_svg(title)


# --- numbers -----------------------------------------------------------------------------------------


def make_figure(title: str, svg: str, column_titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> Figure:
    """Return a figure with its numbers as CSV, in which no name can be a spreadsheet's formula.

    Args:
        title: The figure's title.
        svg: The drawing.
        column_titles: First line of the CSV.
        rows: Further lines of the CSV: the names and numbers that the drawing shows.
    """
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(_escape_formulas(column_titles))
    writer.writerows(_escape_formulas(row) for row in rows)
    return Figure(title=title, drawing=svg, numbers=output.getvalue())


def _escape_formulas(row: Sequence[Any]) -> Iterator[Any]:
    for value in row:
        shown_value = visible(value) if isinstance(value, str) else value
        yield (
            f"'{shown_value}"
            if isinstance(shown_value, str) and shown_value.startswith(_FORMULA)
            else shown_value
        )
