"""How a run measures time: the factor on limits, and the band around them."""

from __future__ import annotations

from typing import Annotated

import typer

from ioi_eval.cli.injecting import takes
from ioi_eval.rules.limits import read_borderline
from ioi_eval.runs.timing import USUAL, Timing

Factor = Annotated[
    float,
    typer.Option(
        "--time-factor",
        min=0.01,
        max=1000,
        metavar="F",
        help="Multiply all time limits; `ioi-eval calibrate` proposes a factor for this hardware.",
    ),
]
Band = Annotated[
    str,
    typer.Option(
        "--borderline", metavar="LOW:HIGH", help="Measure times in this band of the limit again. Off: 1:1."
    ),
]


def choose_timing(time_factor: Factor = 1.0, borderline: Band = str(USUAL)) -> Timing:
    """Raise InputError for a band that means nothing."""
    return Timing(factor=time_factor, borderline=read_borderline(borderline))


chooses_timing = takes("timing", choose_timing)
