"""SOURCE of a command: packages on disk, a benchmark by its name, or a file of a benchmark's rows."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from ioi_eval.benchmarks import (
    BenchmarkOptions,
)
from ioi_eval.cli.injecting import takes
from ioi_eval.cli.options import Problem
from ioi_eval.model.errors import InputError

SOURCE_HELP = "A benchmark's name, a folder or a zip of problem packages, or a file of a benchmark's rows."
Source = Annotated[str, typer.Option("--problems", metavar="SOURCE", help=SOURCE_HELP)]
DataDir = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Copies of a benchmark's datasets: nothing is fetched."),
]
Dataset = Annotated[str, typer.Option(metavar="ID", help="Another dataset of the benchmark's schema.")]
Split = Annotated[str, typer.Option(metavar="NAME", help="The dataset's split, or several as a+b.")]
Revision = Annotated[str, typer.Option(metavar="REV", help="The dataset's revision on the hub.")]
Difficulty = Annotated[
    list[str] | None, typer.Option(metavar="WORD", help="Only problems of this difficulty; may be repeated.")
]
Tag = Annotated[list[str] | None, typer.Option(metavar="WORD", help="Only of this tag; may be repeated.")]
Year = Annotated[list[int] | None, typer.Option(metavar="YEAR", help="Only of this year; may be repeated.")]
DateFrom = Annotated[str, typer.Option(metavar="DAY", help="Only problems from this day on: 2024-05-31.")]
DateTo = Annotated[str, typer.Option(metavar="DAY", help="Only up to this day.")]
Sample = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="N problems of what the other options leave.")
]
Seed = Annotated[int, typer.Option(metavar="S", help="Another sample of the same size.")]
Generated = Annotated[
    bool, typer.Option("--generated-tests/--no-generated-tests", help="Also tests not of the contest itself.")
]


def choose(
    problem: Problem = None,
    year: Year = None,
    difficulty: Difficulty = None,
    tag: Tag = None,
    date_from: DateFrom = "",
    date_to: DateTo = "",
    sample: Sample = None,
    seed: Seed = 0,
    data_dir: DataDir = None,
    dataset: Dataset = "",
    split: Split = "",
    revision: Revision = "",
    generated_tests: Generated = True,
) -> BenchmarkOptions:
    return BenchmarkOptions(
        data_dir="" if data_dir is None else str(data_dir),
        dataset=dataset,
        split=split,
        revision=revision,
        difficulty=frozenset(difficulty or ()),
        tags=frozenset(tag or ()),
        years=frozenset(year or ()),
        problems=frozenset(problem or ()),
        date_from=_day(date_from, "--date-from"),
        date_to=_day(date_to, "--date-to"),
        sample=sample,
        seed=seed,
        generated_tests=generated_tests,
    )


chooses_problems = takes("choice", choose)


def _day(written: str, option: str) -> str:
    if not written:
        return ""
    try:
        return datetime.strptime(written, "%Y-%m-%d").date().isoformat()
    except ValueError as error:
        raise InputError(f"{written!r} is no day", field=option, remedy="Write 2024-05-31") from error
