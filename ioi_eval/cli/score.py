"""`ioi-eval score DUMP... --problems SOURCE`: what was asked for, and what is said at the end."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer

from ioi_eval.benchmarks import Selection
from ioi_eval.benchmarks.standard_input import received
from ioi_eval.cli import console
from ioi_eval.cli.engines import EngineOptions
from ioi_eval.cli.environment import open_store
from ioi_eval.cli.exports import ExportOptions
from ioi_eval.cli.options import (
    SOURCE_HELP,
    AllTests,
    OutputOptions,
    ProblemOptions,
    ReferenceOptions,
    RepairOptions,
    RowOptions,
    TimingOptions,
    command,
)
from ioi_eval.cli.progress import say_failures, say_unscored, watched, what_was_done
from ioi_eval.cli.scores import show_references, show_scores
from ioi_eval.runs.references import ReferenceOptions as References
from ioi_eval.runs.score import ScoredDump, rows_left_out, score_dump

_EXAMPLES = """
  ioi-eval score generations.jsonl --problems packages
  ioi-eval score dumps/*.parquet --problems ioi-2024.zip --out runs/2024 --workers 8
  ioi-eval score generations.jsonl --problems packages --problem aplusb --limit 20
  ioi-eval score generations.jsonl --problems ioi --year 2024
  ioi-eval score generations.jsonl --problems codeforces --data-dir copies --sample 100
  ioi-eval score generations.jsonl --problems apps --difficulty interview --skip-unreliable
  zstdcat old.jsonl.zst | ioi-eval score - --problems packages --out runs/old
  ioi-eval score "me/models-*" --problems ioi --results scores.parquet
  ioi-eval score generations.jsonl --problems packages --engine http://a:2000,http://b:2000
  ioi-eval score generations.jsonl --problems packages --engine slurm --same-compiler
  ioi-eval score generations.jsonl --problems packages --quiet --json
"""
_Dumps = Annotated[
    list[str],
    typer.Argument(
        metavar="DUMP",
        help="Files (.jsonl, .json, .csv, also with .gz or .zst; .parquet), folders, `-` for standard input, "
        "or datasets as OWNER/NAME[/CONFIG][@REVISION].",
    ),
]
_Source = Annotated[
    str, typer.Option("--problems", metavar="SOURCE", help=SOURCE_HELP, rich_help_panel="Problems")
]


@dataclass(frozen=True)
class _Selection:
    """Which rows."""

    title: ClassVar = "Input"
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the first N submissions.")] = (
        None
    )
    only: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only this submission; may be repeated.")
    ] = None

    def of(self, problems: ProblemOptions) -> Selection:
        labels, keys = frozenset(problems.problem or ()), frozenset(self.only or ())
        return Selection(problems=labels, keys=keys, limit=self.limit)


@command(_EXAMPLES)
def score(
    dumps: _Dumps,
    source: _Source,
    problems: ProblemOptions,
    references: ReferenceOptions,
    selection: _Selection,
    rows: RowOptions,
    repairs: RepairOptions,
    timing: TimingOptions,
    engine: EngineOptions,
    output: OutputOptions,
    export: ExportOptions,
    all_tests: AllTests = False,
) -> None:
    """Score a dump of generations. The same command again goes on where the last one stopped.

    Exit code 0: everything is scored; 2: bad input; 3: some submissions could not be judged, and a second
    call retries only them, or bad rows were skipped; 130: interrupted.
    """
    asked = references.asked()
    with received(dumps, sys.stdin.buffer) as named:
        scored, seconds = watched(
            output,
            lambda tell: score_dump(
                named,
                source,
                out=output.out,
                choice=problems.choice(),
                reading=repairs.added_to(rows.reading(source)),
                selection=selection.of(problems),
                references=asked,
                engine=engine.choice(),
                options=output.options(timing, all_tests=all_tests),
                store=open_store(),
                on_event=tell,
            ),
        )
    _show(scored, asked, seconds, output)
    export(scored.out, output)
    if scored.failures or scored.dump.rejected:
        raise typer.Exit(console.UNSCORED)


def _show(scored: ScoredDump, asked: References | None, seconds: float, output: OutputOptions) -> None:
    if output.as_json:
        console.show_json(scored.as_json())
    elif not output.quiet:
        console.show(what_was_done(scored.call, seconds, unscored=len(scored.failures)))
        for line in rows_left_out(scored.dump):
            console.show(line)
        if scored.references is not None and asked is not None:
            show_references(scored.references, asked, scored.out)
        show_scores(scored.summary)
    say_failures(scored.failures, scored.out)
    say_unscored(scored.summary.models)
    if not output.silent:
        console.show(console.report_line(scored.out))
