"""The figures of a report. They show numbers of the summaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ioi_eval.reports.document import Figure
from ioi_eval.reports.plots import SERIES, Axis, Series, draw_curves, make_figure
from ioi_eval.rules.selection import Budget

if TYPE_CHECKING:
    from ioi_eval.reports.headline import Entry


def _choose_colour_indexes(entries: Sequence[Entry]) -> dict[str, int | None]:
    """Return the index of each model's colour, the same in all figures of a page. None means grey."""
    return {entry.name: index if index < SERIES else None for index, entry in enumerate(entries)}


def make_points_figures(entries: Sequence[Entry]) -> list[Figure]:
    """Return a figure of points by the maximum number of submissions."""
    shown_entries = [entry for entry in entries if entry.model.steps]
    if not shown_entries:
        return []
    title = "Points by the number of submissions for each problem"
    limit, max_points = (
        max(entry.limit for entry in shown_entries),
        max(entry.model.max_points for entry in shown_entries),
    )
    colour_indexes = _choose_colour_indexes(entries)
    series = [
        Series(
            name=entry.name,
            points=[(step.submissions, step.points) for step in entry.model.steps],
            place=colour_indexes[entry.name],
        )
        for entry in shown_entries
    ]
    x = Axis(title="Submissions for each problem", max_value=limit, min_value=1, whole=True)
    y = Axis(title="Points", max_value=max_points)
    rows: list[tuple[Any, ...]] = [
        (entry.name, step.submissions, step.points) for entry in shown_entries for step in entry.model.steps
    ]
    rows += [(entry.name, "all", entry.model.budgets[Budget.UNLIMITED]) for entry in shown_entries]
    drawing = draw_curves(title, series, x, y, (limit, f"the rule: {limit:,}"))
    return [make_figure(title, drawing, ["model", "submissions", "points"], rows)]


def make_pass_at_k_figures(entries: Sequence[Entry]) -> list[Figure]:
    shown_entries = [entry for entry in entries if len(entry.model.pass_curve) > 1]
    if not shown_entries:
        return []
    title = "pass@k with 95 % intervals"
    estimates, colour_indexes = (
        [estimate for entry in shown_entries for estimate in entry.model.pass_curve],
        _choose_colour_indexes(entries),
    )
    series = [
        Series(
            name=entry.name,
            points=[(estimate.k, estimate.value or 0.0) for estimate in entry.model.pass_curve],
            band=[
                (estimate.k, estimate.low, estimate.high)
                for estimate in entry.model.pass_curve
                if estimate.low is not None and estimate.high is not None
            ],
            place=colour_indexes[entry.name],
        )
        for entry in shown_entries
    ]
    highest = max(estimate.high or estimate.value or 0.0 for estimate in estimates)
    x = Axis(title="k", max_value=max(estimate.k for estimate in estimates), min_value=1, whole=True)
    y = Axis(title="pass@k", max_value=max(0.1, highest), percent=True)
    rows = [
        (entry.name, estimate.k, estimate.value, estimate.low, estimate.high, estimate.problems)
        for entry in shown_entries
        for estimate in entry.model.pass_curve
    ]
    columns = ["model", "k", "pass_at_k", "low", "high", "problems"]
    return [make_figure(title, draw_curves(title, series, x, y, None), columns, rows)]
