"""`ioi-eval calibrate SOURCE`: the time factor that suits this hardware, by a source's own solutions."""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import Annotated

import typer

from ioi_eval.benchmarks import BenchmarkOptions
from ioi_eval.cli import console
from ioi_eval.cli.ending import Signals
from ioi_eval.cli.engines import chooses_engine
from ioi_eval.cli.environment import open_store
from ioi_eval.cli.options import Quiet
from ioi_eval.cli.sources import SOURCE_HELP, chooses_problems
from ioi_eval.problems import Problems
from ioi_eval.rules.expectations import Calibration, Distance
from ioi_eval.runs.calibrate import REACH
from ioi_eval.runs.calibrate import calibrate as measure
from ioi_eval.runs.engine import EngineChoice
from ioi_eval.runs.events import OnEvent
from ioi_eval.runs.sources import open_source
from ioi_eval.runs.work import RunOptions, judging
from ioi_eval.store import Store

_NONE_SEPARATES = 1
_NUMBERS = frozenset({"of the limit"})


@chooses_problems
@chooses_engine
def calibrate(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help=SOURCE_HELP)],
    choice: BenchmarkOptions,
    engine: EngineChoice,
    reach: Annotated[
        float, typer.Option(min=1.1, metavar="TIMES", help="End solutions at this many times the limit.")
    ] = REACH,
    quiet: Quiet = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Propose a time factor for this hardware, by SOURCE's own solutions.

    Right solutions must stay below the limit, and those that are meant to be too slow above it. Solutions
    run one at a time: the machine should be quiet.

    Exit code 0: a factor separates them; 1: none does; 2: bad input.

    \b
    Examples:
      ioi-eval calibrate packages
      ioi-eval calibrate aplusb.zip --reach 10
    """
    store = open_store()
    with closing(open_source(source, choice, store, lambda: None)) as problems, Signals() as signals:
        found = asyncio.run(_measured(problems, engine, store, reach, quiet or as_json, signals))
    if as_json:
        console.show_json(found)
    else:
        _show(found, quiet)
    if found.factor is None:
        raise typer.Exit(_NONE_SEPARATES)


async def _measured(
    problems: Problems, choice: EngineChoice, store: Store, reach: float, quiet: bool, tell: OnEvent
) -> Calibration:
    async with judging(RunOptions(out="", engine=choice), store, tell) as (scorer, _):
        return await measure(
            problems, scorer.judge, reach=reach, on_distance=None if quiet else lambda one: _tell(one)
        )


def _tell(one: Distance) -> None:
    console.tell(f"{one.problem}: {one.solution}: {_ratio(one)} of the limit")


def _ratio(one: Distance) -> str:
    return ("at least " if one.at_least else "") + f"{one.ratio:.2f}"


def _show(found: Calibration, quiet: bool) -> None:
    if not quiet:
        table = console.plain_table("problem", "solution", "meant", "of the limit", "test", right=_NUMBERS)
        for one in sorted(found.distances, key=lambda one: (one.problem, one.kind, one.ratio)):
            table.add_row(one.problem, one.solution, one.kind.value, _ratio(one), one.test)
        console.show_table(table)
        for reason in found.unclear:
            console.show(f"not measured: {reason}")
    for line in sentences(found):
        console.show(line)


def sentences(found: Calibration) -> list[str]:
    """Say what was found, and what to do."""
    right, slow = found.slowest_right, found.fastest_slow
    if right is None:
        return ["No right solution could be measured, so no factor can be proposed."]
    lines = [
        f"The slowest right solution takes {_ratio(right)} of the limit ({right.problem}, {right.solution})."
    ]
    if slow is None:
        lines.append("No solution is meant to be too slow, so nothing bounds a factor from above.")
    else:
        lines.append(
            f"The fastest meant to be too slow takes {_ratio(slow)} of it ({slow.problem}, {slow.solution})."
        )
    if found.factor is None or found.margins is None:
        return [*lines, "No factor separates them."]
    below, above = found.margins
    margin = f"right solutions may take {below:.2g} times as long"
    if above is not None:
        margin += f", slow ones be {above:.2g} times as fast"
    lines.append(f"Proposed: --time-factor {found.factor:g}; {margin}.")
    return lines
