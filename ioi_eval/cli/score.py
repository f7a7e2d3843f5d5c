"""`ioi-eval score DUMP... --problems SOURCE`: what was asked for, and what is said at the end."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from ioi_eval.benchmarks import BenchmarkOptions, DumpOptions, Selection
from ioi_eval.cli import console
from ioi_eval.cli.ending import command, interruptible, say_failures, say_unscored, what_was_done
from ioi_eval.cli.engines import chooses_engine
from ioi_eval.cli.environment import open_store
from ioi_eval.cli.options import (
    Fresh,
    IdColumn,
    Language,
    Quiet,
)
from ioi_eval.cli.references import Most, Skip, Validate, show_references
from ioi_eval.cli.sharing import Sharing, share, shares_results
from ioi_eval.cli.sources import Source, chooses_problems
from ioi_eval.cli.tables import show_scores
from ioi_eval.cli.timing import chooses_timing
from ioi_eval.rules.extraction import Repairs
from ioi_eval.runs import EngineChoice, ScoredDump, score_dump
from ioi_eval.runs.references import Asked
from ioi_eval.runs.score import rows_left_out
from ioi_eval.runs.sources import language_of
from ioi_eval.runs.timing import Timing

_Dumps = Annotated[
    list[str],
    typer.Argument(
        metavar="DUMP",
        help="Files (.jsonl, .json, .parquet, .csv), folders, or datasets as OWNER/NAME[/CONFIG][@REVISION].",
    ),
]
_Out = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="The run's folder: new, empty or a run's.", show_default="runs/<name of the dump>"
    ),
]
_Limit = Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the first N submissions.")]
_Only = Annotated[list[str] | None, typer.Option(metavar="ID", help="Only this submission; may be repeated.")]
_AllTests = Annotated[
    bool, typer.Option("--all-tests", help="Run also the tests that can no longer change a score.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print a summary as JSON at the end, and nothing else.")]
_Extract = Annotated[
    bool, typer.Option("--always-extract", help="Read code from `generation`, even where there is a `code`.")
]
_Includes = Annotated[bool, typer.Option("--add-includes", help="Repair: add #include <bits/stdc++.h>.")]
_Header = Annotated[bool, typer.Option("--add-header", help="Repair: add the problem's own header.")]
_Imports = Annotated[
    bool, typer.Option("--add-imports", help="Repair: add what benchmarks import for Python programs.")
]
_Namespace = Annotated[bool, typer.Option("--add-namespace", help="Repair: add using namespace std;")]


@chooses_problems
@chooses_engine
@shares_results
@chooses_timing
def score(
    dumps: _Dumps,
    source: Source,
    choice: BenchmarkOptions,
    engine: EngineChoice,
    sharing: Sharing,
    timing: Timing,
    out: _Out = None,
    limit: _Limit = None,
    only: _Only = None,
    all_tests: _AllTests = False,
    fresh: Fresh = False,
    quiet: Quiet = False,
    as_json: _Json = False,
    language: Language = None,
    id_column: IdColumn = None,
    always_extract: _Extract = False,
    add_includes: _Includes = False,
    add_header: _Header = False,
    add_namespace: _Namespace = False,
    add_imports: _Imports = False,
    validate_references: Validate = False,
    references: Most = None,
    skip_unreliable: Skip = False,
) -> None:
    """Score a dump of generations. The same command again goes on where the last one stopped.

    Exit code 0: everything is scored; 2: bad input; 3: some submissions could not be judged, and a second
    call retries only them; 130: interrupted.

    \b
    Examples:
      ioi-eval score generations.jsonl --problems packages
      ioi-eval score dumps/*.parquet --problems ioi-2024.zip --out runs/2024 --workers 8
      ioi-eval score generations.jsonl --problems packages --problem aplusb --limit 20
      ioi-eval score generations.jsonl --problems ioi --year 2024
      ioi-eval score generations.jsonl --problems codeforces --data-dir copies --sample 100
      ioi-eval score generations.jsonl --problems apps --difficulty interview --skip-unreliable
      ioi-eval score "me/models-*" --problems ioi --results scores.parquet
      ioi-eval score generations.jsonl --problems packages --engine http://a:2000,http://b:2000
      ioi-eval score generations.jsonl --problems packages --engine slurm --same-compiler
      ioi-eval score generations.jsonl --problems packages --quiet --json
    """
    repairs = Repairs(
        add_includes=add_includes,
        add_header=add_header,
        add_namespace=add_namespace,
        add_imports=add_imports,
    )
    reading = DumpOptions(
        id_column=id_column,
        language=language or language_of(source),
        always_extract=always_extract,
        repairs=repairs,
    )
    asked = Asked.of(validate_references, references, skip_unreliable)
    again = command(sys.argv[1:])
    begin = time.monotonic()
    with interruptible(again, quiet=quiet or as_json) as tell:
        scored = asyncio.run(
            score_dump(
                dumps,
                source,
                out=out,
                choice=choice,
                reading=reading,
                selection=Selection(problems=choice.problems, keys=frozenset(only or ()), limit=limit),
                references=asked,
                engine=engine,
                timing=timing,
                all_tests=all_tests,
                fresh=fresh,
                command=again,
                store=open_store(),
                on_event=tell,
            )
        )
    _show(scored, asked, time.monotonic() - begin, quiet=quiet, as_json=as_json)
    for line in share(sharing, scored.out):
        if not (as_json or quiet):
            console.show(line)
    if scored.failures:
        raise typer.Exit(console.UNSCORED)


def _show(scored: ScoredDump, asked: Asked, seconds: float, *, quiet: bool, as_json: bool) -> None:
    if as_json:
        console.show_json(scored.as_json())
    elif not quiet:
        console.show(what_was_done(scored.call, seconds, unscored=len(scored.failures)))
        for line in rows_left_out(scored.dump):
            console.show(line)
        if scored.references is not None:
            show_references(scored.references, asked, scored.out)
        show_scores(scored.summary)
    say_failures(scored.failures, scored.out)
    say_unscored(scored.summary.models)
    if not (as_json or quiet):
        console.show(f"Report: {scored.out}/report.md")
