"""`ioi-eval validate SOLUTIONS [--problems SOURCE]`: solutions of known worth, expected against got."""

from __future__ import annotations

import asyncio
import sys
import textwrap
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from ioi_eval.benchmarks import BenchmarkOptions, DumpOptions, Selection
from ioi_eval.cli import console
from ioi_eval.cli.ending import command, interruptible, say_failures, what_was_done
from ioi_eval.cli.engines import chooses_engine
from ioi_eval.cli.environment import open_store
from ioi_eval.cli.options import (
    Fresh,
    IdColumn,
    Language,
    Quiet,
)
from ioi_eval.cli.references import Most
from ioi_eval.cli.sources import chooses_problems
from ioi_eval.cli.timing import chooses_timing
from ioi_eval.reports.records import Validation
from ioi_eval.reports.validation import HEADS, RIGHT, conclusion, differences, matrix, numbers, rows
from ioi_eval.runs import EngineChoice, ValidatedSolutions
from ioi_eval.runs import validate as validate_solutions
from ioi_eval.runs.references import MOST
from ioi_eval.runs.sources import language_of
from ioi_eval.runs.timing import Timing


class Scale(StrEnum):
    POINTS = "points"
    FRACTION = "fraction"


_Solutions = Annotated[
    str,
    typer.Argument(
        metavar="SOLUTIONS", help="A problem package, a folder of them, a benchmark, or a file of solutions."
    ),
]
_Source = Annotated[
    str | None, typer.Option("--problems", metavar="SOURCE", help="The problems of a file of solutions.")
]
_Column = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="The file's column of scores or verdicts.", show_default="if there is one only"
    ),
]
_Scale = Annotated[
    Scale | None,
    typer.Option(help="What the column's scores count.", show_default="fraction if none is above 1"),
]
_Out = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="The run's folder: new, empty or a run's.", show_default="runs/validate-<name>"
    ),
]
_Only = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Only this solution, by file or key; may be repeated."),
]
_Json = Annotated[bool, typer.Option("--json", help="Print the validation as JSON, and nothing else.")]


@chooses_problems
@chooses_engine
@chooses_timing
def validate(
    solutions: _Solutions,
    choice: BenchmarkOptions,
    engine: EngineChoice,
    timing: Timing,
    source: _Source = None,
    expected_column: _Column = None,
    expected_scale: _Scale = None,
    out: _Out = None,
    only: _Only = None,
    fresh: Fresh = False,
    quiet: Quiet = False,
    as_json: _Json = False,
    language: Language = None,
    id_column: IdColumn = None,
    references: Most = None,
) -> None:
    """Judge solutions of known worth, and say where judge and authors differ.

    A package brings its solutions and what is expected of them, and so do some benchmarks. A file of
    solutions has a column for it, and needs --problems.

    Exit code 0: no difference; 1: a difference; 2: bad input; 3: no difference, but some solutions could not
    be judged, and a second call retries only them; 130: interrupted.

    \b
    Examples:
      ioi-eval validate packages/aplusb.zip
      ioi-eval validate packages --problem aplusb --only slow.cpp
      ioi-eval validate solutions.parquet --problems packages --expected-column score
      ioi-eval validate solutions.parquet --problems ioi --year 2024
      ioi-eval validate code_contests --sample 20 --references 5
      ioi-eval validate packages --quiet --json
    """
    again = command(sys.argv[1:])
    begin = time.monotonic()
    with interruptible(again, quiet=quiet or as_json) as tell:
        outcome = asyncio.run(
            validate_solutions(
                solutions,
                source,
                out=out,
                choice=choice,
                most=references or MOST,
                column=expected_column,
                scale=expected_scale,
                reading=DumpOptions(id_column=id_column, language=language or language_of(source)),
                selection=Selection(problems=choice.problems, keys=frozenset(only or ())),
                engine=engine,
                timing=timing,
                fresh=fresh,
                command=again,
                store=open_store(),
                on_event=tell,
            )
        )
    _show(outcome, time.monotonic() - begin, quiet=quiet, as_json=as_json)
    _leave(outcome.validation)


def _leave(found: Validation) -> None:
    if found.differences:
        raise typer.Exit(console.MISMATCH)
    if found.unjudged:
        raise typer.Exit(console.UNSCORED)


def _show(outcome: ValidatedSolutions, seconds: float, *, quiet: bool, as_json: bool) -> None:
    found = outcome.validation
    if as_json:
        console.show_json(outcome.as_json())
    elif not quiet:
        console.show(what_was_done(outcome.call, seconds, unscored=len(found.unjudged)))
        if outcome.note:
            console.show(outcome.note)
        _show_tables(found)
        _show_differences(found)
    say_failures({one.key: one.reason for one in found.unjudged}, outcome.out)
    if not (as_json or quiet):
        console.show(conclusion(found))
        for line in numbers(found):
            console.show(console.visible(line))
        console.show(f"Report: {outcome.out}/report.md")


def _show_tables(found: Validation) -> None:
    table = console.plain_table(*HEADS, right=RIGHT)
    for row in rows(found):
        table.add_row(*(Text(_cell(text)) for text in row))
    console.show("")
    console.show_table(table)
    heads, lines = matrix(found)
    if not lines:
        return
    confusion = console.plain_table(*heads, right=frozenset(heads[1:]))
    for line in lines:
        confusion.add_row(*(Text(_cell(text)) for text in line))
    console.show("")
    console.show_table(confusion)
    console.show("")


def _cell(text: str) -> str:
    """Without anything that the terminal obeys; spaces in front are a subtask's indent."""
    return " " * (len(text) - len(text.lstrip(" "))) + console.visible(text)


def _show_differences(found: Validation) -> None:
    for sentence, lines in differences(found):
        _wrapped(sentence, "", "    ")
        for line in lines:
            _wrapped(line, "    ", "        ")
        console.show("")


def _wrapped(text: str, first: str, later: str) -> None:
    for line in textwrap.wrap(
        console.visible(text), console.WIDTH, initial_indent=first, subsequent_indent=later
    ):
        console.show(line)
