"""The command `report`: rebuild the reports of runs from their rows, and compare runs."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Annotated, Self

import msgspec
import typer
from tqdm import tqdm

from ioi_eval.cli import console
from ioi_eval.cli.groups import OptionGroup, command
from ioi_eval.cli.options import AllowSuspicious, Json
from ioi_eval.cli.scores import exit_if_incomplete, exit_if_suspicious, print_comparison, print_scores
from ioi_eval.model.errors import InputError
from ioi_eval.model.text import format_count, visible
from ioi_eval.reports import ReportOptions, read_contests
from ioi_eval.runs import Event, ReportProgress, RunReported, report_sync

_EXAMPLES = """
  ioi-eval report runs/demo --open
  ioi-eval report runs/demo --mode max --k 1 --k 100 --medals medals.toml
  ioi-eval report runs/monday runs/tuesday --out runs/both
  ioi-eval report runs/mine-shard-*
  ioi-eval report runs/* --json
  ioi-eval report theirs.parquet --out runs/both
"""


@command(_EXAMPLES)
def report(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR", help="Folders of runs, or files with rows that another program judged."
        ),
    ],
    *,
    as_json: Json = False,
    show: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
    options: Annotated[ReportOptions, OptionGroup("")],
    medals: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="TOML or JSON file with medal cut-offs of more contests."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder for a comparison of several runs, or for the merged run of all shards.",
            show_default="runs/comparison; for shards NAME-merged next to them",
        ),
    ] = None,
    allow_suspicious: AllowSuspicious = False,
) -> None:
    """Rebuild the reports of runs, finished or not, and compare runs.

    A run's summary.json, report.md and report.html are written again, without judging. Several runs are also
    compared: comparison.md, .html and .json in --out. Runs in read-only folders can be compared. For two
    runs, the comparison lists the submissions with different results, and why. The folders of all shards of
    a run (`score --shard`) are merged into one run. A file of rows that were judged elsewhere becomes a run's
    folder next to --out; docs/results.md lists the columns that it needs.
    Exit code 0; 2: bad input; 3: a run is incomplete; 4: results are hardly plausible, as with `score`.
    """
    contests = None if medals is None else read_contests(medals)
    options = msgspec.structs.replace(options, contests=contests)
    if out is not None and len(folders) == 1 and folders[0].is_dir():
        raise InputError(
            "the report of one run is written into its own folder",
            field="--out",
            remedy="Remove the option, or name several runs to compare",
        )
    if as_json:
        outcome = report_sync(folders, options=options, out=out)
    else:
        with ReportProgressBar(has_several_runs=len(folders) > 1) as progress:
            outcome = report_sync(folders, options=options, out=out, on_event=progress)
    page = Path(outcome.page)
    if as_json:
        console.print_json(outcome.summaries)
    else:
        if len(outcome.runs) > 1:
            print_comparison(outcome.runs, outcome.differences)
        else:
            print_scores(outcome.runs[0].summary)
        console.print_line(visible(f"Report: {page.with_suffix('.md')}, for a browser {page}"))
    if show and not webbrowser.open(page.absolute().as_uri()):
        raise InputError("cannot start a web browser", field="--open", remedy=f"Open {page} yourself")
    exit_if_incomplete(outcome.runs, print_reasons=as_json)
    exit_if_suspicious(
        [run.summary for run in outcome.runs], allows_suspicious=allow_suspicious, print_reasons=as_json
    )


class ReportProgressBar:
    """Prints the progress of reports: rows and pages in a terminal, and a line for each of several runs."""

    def __init__(self, *, has_several_runs: bool) -> None:
        self._has_several_runs = has_several_runs
        self._status_line = tqdm(
            bar_format="{desc}", file=sys.stderr, leave=False, disable=not sys.stderr.isatty()
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._status_line.close()

    def __call__(self, event: Event) -> None:
        match event:
            case ReportProgress(pages=None):
                self._status_line.set_description_str(f"{format_count(event.read, 'submission')} read")
            case ReportProgress(pages=int(pages)):
                self._status_line.set_description_str(
                    f"{format_count(event.read, 'submission')} read, {format_count(pages, 'page')} written"
                )
            case RunReported() if self._has_several_runs:
                outcome_phrase = "read, reports written" if event.written else "read; its folder is read-only"
                submissions = format_count(event.submissions, "submission")
                self._status_line.write(
                    visible(f"{event.folder}: {submissions} {outcome_phrase}"), file=sys.stderr
                )
