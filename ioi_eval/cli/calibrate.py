"""The option `validate --calibrate`: find the time factor for this hardware with a source's solutions."""

from __future__ import annotations

import asyncio

import typer

from ioi_eval.benchmarks import BenchmarkOptions
from ioi_eval.cli import console
from ioi_eval.cli.options import EngineOptions, OutputOptions, open_store
from ioi_eval.cli.progress import SignalHandler
from ioi_eval.rules.calibration import Calibration, TimeRatio
from ioi_eval.runs.events import DistanceMeasured, Event
from ioi_eval.runs.solutions import calibrate as measure

_NONE_SEPARATES = 1
_HEADS = ("problem", "solution", "meant", "of the limit", "test")


def calibrate(
    source: str, problems: BenchmarkOptions, engine: EngineOptions, output: OutputOptions, reach: float
) -> None:
    """Measure a source's solutions and print the time factor that separates right solutions from slow ones.

    Exits with code 1 if no factor separates them.
    """
    engine_choice, store = engine.read_engine_choice(), open_store()
    with SignalHandler() as signals:

        def handle_event(event: Event) -> None:
            signals(event)
            if isinstance(event, DistanceMeasured) and not output.is_silent:
                time_ratio = event.distance
                console.print_message(
                    f"{time_ratio.problem}: {time_ratio.solution}: {_format_ratio(time_ratio)} of the limit"
                )

        calibration = asyncio.run(
            measure(
                source, choice=problems, reach=reach, engine=engine_choice, store=store, on_event=handle_event
            )
        )
    if output.as_json:
        console.print_json(calibration)
    else:
        if not output.quiet:
            sorted_ratios = sorted(
                calibration.distances, key=lambda measured: (measured.problem, measured.kind, measured.ratio)
            )
            rows = [
                [
                    time_ratio.problem,
                    time_ratio.solution,
                    time_ratio.kind.value,
                    _format_ratio(time_ratio),
                    time_ratio.test,
                ]
                for time_ratio in sorted_ratios
            ]
            console.print_table(_HEADS, rows, right_aligned_heads=("of the limit",))
            for reason in calibration.unclear:
                console.print_line(f"not measured: {reason}")
        for line in describe_calibration(calibration):
            console.print_line(line)
    if calibration.factor is None:
        raise typer.Exit(_NONE_SEPARATES)


def _format_ratio(time_ratio: TimeRatio) -> str:
    return ("at least " if time_ratio.at_least else "") + f"{time_ratio.ratio:.2f}"


def describe_calibration(calibration: Calibration) -> list[str]:
    """Return sentences about the measured times and the proposed factor."""
    slowest_right_ratio, fastest_slow_ratio = (
        calibration.slowest_right_solution,
        calibration.fastest_too_slow_solution,
    )
    if slowest_right_ratio is None:
        return ["No right solution could be measured, so no factor can be proposed."]
    description_lines = [
        f"The slowest right solution takes {_format_ratio(slowest_right_ratio)} of the limit "
        f"({slowest_right_ratio.problem}, {slowest_right_ratio.solution})."
    ]
    if fastest_slow_ratio is None:
        description_lines.append("No solution is marked as too slow, so the factor has no upper bound.")
    else:
        description_lines.append(
            f"The fastest solution that should be too slow takes {_format_ratio(fastest_slow_ratio)} of it "
            f"({fastest_slow_ratio.problem}, {fastest_slow_ratio.solution})."
        )
    if calibration.is_slow_within_limit:
        return [
            *description_lines,
            "That is within the limit, so no factor is proposed: larger tests, or another expected verdict"
            " for this solution, must separate it from right solutions first.",
        ]
    if calibration.factor is None or calibration.time_limit_margins is None:
        return [*description_lines, "No factor separates them."]
    right_margin, slow_margin = calibration.time_limit_margins
    description_lines.append(
        f"Proposed: --time-factor {calibration.factor:g}. With it, the slowest right solution passes until it"
        f" takes {_format_factor_briefly(right_margin)} times its time here."
    )
    if slow_margin is not None:
        description_lines.append(
            "The fastest solution that should be too slow fails until it takes"
            f" 1/{_format_factor_briefly(slow_margin)} of its time here."
        )
    return description_lines


def _format_factor_briefly(factor: float) -> str:
    """Return a number with two significant digits: 1.3, 29, 340."""
    return f"{float(f'{factor:.2g}'):,.10g}"
