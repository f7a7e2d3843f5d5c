"""The option `validate --calibrate`: find the time factor for this hardware with a source's solutions."""

from __future__ import annotations

import asyncio

import typer

from ioi_eval.benchmarks import BenchmarkOptions
from ioi_eval.cli import console
from ioi_eval.cli.options import EngineOptions, OutputOptions, open_store
from ioi_eval.cli.progress import Signals
from ioi_eval.rules.calibration import Calibration, TimeRatio
from ioi_eval.runs.events import DistanceMeasured, Event
from ioi_eval.runs.solutions import calibrate as measure

_NONE_SEPARATES = 1
_HEADS = ("problem", "solution", "meant", "of the limit", "test")


def calibrate(
    source: str, problems: BenchmarkOptions, engine: EngineOptions, output: OutputOptions, reach: float
) -> None:
    """Measure a source's solutions and print the time factor that separates right ones from slow ones.

    Exits with code 1 if no factor separates them.
    """
    chosen, store = engine.choice(), open_store()
    with Signals() as signals:

        def tell(event: Event) -> None:
            signals(event)
            if isinstance(event, DistanceMeasured) and not output.silent:
                distance = event.distance
                console.tell(f"{distance.problem}: {distance.solution}: {_ratio(distance)} of the limit")

        found = asyncio.run(
            measure(source, choice=problems, reach=reach, engine=chosen, store=store, on_event=tell)
        )
    if output.as_json:
        console.show_json(found)
    else:
        if not output.quiet:
            distances = sorted(found.distances, key=lambda each: (each.problem, each.kind, each.ratio))
            rows = [
                [each.problem, each.solution, each.kind.value, _ratio(each), each.test] for each in distances
            ]
            console.show_table(_HEADS, rows, right=("of the limit",))
            for reason in found.unclear:
                console.show(f"not measured: {reason}")
        for line in sentences(found):
            console.show(line)
    if found.factor is None:
        raise typer.Exit(_NONE_SEPARATES)


def _ratio(distance: TimeRatio) -> str:
    return ("at least " if distance.at_least else "") + f"{distance.ratio:.2f}"


def sentences(found: Calibration) -> list[str]:
    """Return sentences about the measured times and the proposed factor."""
    right, slow = found.slowest_right, found.fastest_slow
    if right is None:
        return ["No right solution could be measured, so no factor can be proposed."]
    lines = [
        f"The slowest right solution takes {_ratio(right)} of the limit ({right.problem}, {right.solution})."
    ]
    if slow is None:
        lines.append("No solution is marked as too slow, so the factor has no upper bound.")
    else:
        lines.append(
            f"The fastest meant to be too slow takes {_ratio(slow)} of it ({slow.problem}, {slow.solution})."
        )
    if found.factor is None or found.margins is None:
        return [*lines, "No factor separates them."]
    below, above = found.margins
    margin = f"right solutions may take {_times(below)} times as long"
    if above is not None:
        margin += f", slow ones be {_times(above)} times as fast"
    lines.append(f"Proposed: --time-factor {found.factor:g}; {margin}.")
    return lines


def _times(margin: float) -> str:
    """Return a number with two significant digits: 1.3, 29, 340."""
    return f"{float(f'{margin:.2g}'):,.10g}"
