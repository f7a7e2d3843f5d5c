"""The figures of a report. Their numbers are those of the summaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ioi_eval.reports.document import Figure
from ioi_eval.reports.plots import SERIES, Axis, Series, curves, figure
from ioi_eval.rules.selection import Budget

if TYPE_CHECKING:
    from ioi_eval.reports.headline import Entry


def _places(of: Sequence[Entry]) -> dict[str, int | None]:
    """Return the index of each model's colour, the same in all figures of a page; None without a colour."""
    return {entry.name: place if place < SERIES else None for place, entry in enumerate(of)}


def by_number(of: Sequence[Entry]) -> list[Figure]:
    """Return a figure of points by the number of submissions that may be handed in."""
    there = [entry for entry in of if entry.model.steps]
    if not there:
        return []
    title = "Points by the number of submissions for each problem"
    limit, most = max(entry.limit for entry in there), max(entry.model.max_points for entry in there)
    places = _places(of)
    series = [
        Series(
            name=entry.name,
            points=[(step.submissions, step.points) for step in entry.model.steps],
            place=places[entry.name],
        )
        for entry in there
    ]
    x = Axis(title="Submissions for each problem", most=limit, least=1, whole=True)
    y = Axis(title="Points", most=most)
    rows: list[tuple[Any, ...]] = [
        (entry.name, step.submissions, step.points) for entry in there for step in entry.model.steps
    ]
    rows += [(entry.name, "all", entry.model.budgets[Budget.UNLIMITED]) for entry in there]
    drawing = curves(title, series, x, y, (limit, f"the rule: {limit:,}"))
    return [figure(title, drawing, ["model", "submissions", "points"], rows)]


def passes(of: Sequence[Entry]) -> list[Figure]:
    there = [entry for entry in of if len(entry.model.pass_curve) > 1]
    if not there:
        return []
    title = "pass@k with 95 % intervals"
    curve, places = [found for entry in there for found in entry.model.pass_curve], _places(of)
    series = [
        Series(
            name=entry.name,
            points=[(found.k, found.value or 0.0) for found in entry.model.pass_curve],
            band=[
                (found.k, found.low, found.high)
                for found in entry.model.pass_curve
                if found.low is not None and found.high is not None
            ],
            place=places[entry.name],
        )
        for entry in there
    ]
    highest = max(found.high or found.value or 0.0 for found in curve)
    x = Axis(title="k", most=max(found.k for found in curve), least=1, whole=True)
    y = Axis(title="pass@k", most=max(0.1, highest), percent=True)
    rows = [
        (entry.name, found.k, found.value, found.low, found.high, found.problems)
        for entry in there
        for found in entry.model.pass_curve
    ]
    heads = ["model", "k", "pass_at_k", "low", "high", "problems"]
    return [figure(title, curves(title, series, x, y, None), heads, rows)]
