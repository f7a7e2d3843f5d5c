"""`ioi-eval report DIR...`: the reports of runs, made anew from their rows, and several side by side."""

from __future__ import annotations

import os
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from ioi_eval.cli import console
from ioi_eval.cli.tables import show_comparison, show_scores
from ioi_eval.model.errors import InputError
from ioi_eval.reports import (
    ReportOptions,
    Summary,
    named,
    read_contests,
    summary,
    write_comparison,
    write_reports,
)
from ioi_eval.rules.scoring import Mode

_DEFAULT = ReportOptions()
_Folders = Annotated[list[Path], typer.Argument(metavar="DIR", help="Folders of runs.")]
_Json = Annotated[bool, typer.Option("--json", help="Print the summaries as JSON.")]
_Open = Annotated[bool, typer.Option("--open", help="Show the report in a browser.")]
_Mode = Annotated[Mode, typer.Option(help="How several submissions make a problem's points.")]
_Medals = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Cut-offs of more contests: TOML or JSON, a table a year.")
]
_Ks = Annotated[
    list[int] | None,
    typer.Option("--k", min=1, metavar="K", help="pass@K; may be repeated.", show_default="1, 5 and 10"),
]
_Submissions = Annotated[
    int, typer.Option(min=1, metavar="N", help="Submissions per problem, where their number is limited.")
]
_Out = Annotated[Path, typer.Option(metavar="DIR", help="Where a comparison of several runs is written.")]


def report(
    folders: _Folders,
    as_json: _Json = False,
    show: _Open = False,
    mode: _Mode = _DEFAULT.mode,
    medals: _Medals = None,
    ks: _Ks = None,
    submissions: _Submissions = _DEFAULT.submissions,
    out: _Out = Path("runs/comparison"),
) -> None:
    """Make reports of runs anew, also while they go on, and put runs side by side.

    A run's summary.json, report.md and report.html are written again. Several runs make a comparison,
    too: comparison.md, .html and .json in --out; runs that you may only read are compared as well.

    \b
    Examples:
      ioi-eval report runs/demo --open
      ioi-eval report runs/demo --mode max --k 1 --k 100 --medals medals.toml
      ioi-eval report runs/monday runs/tuesday --out runs/both
      ioi-eval report runs/* --json
    """
    options = ReportOptions(
        mode=mode,
        submissions=submissions,
        ks=tuple(ks or _DEFAULT.ks),
        contests=None if medals is None else read_contests(medals),
    )
    distinct = {folder.resolve(): folder for folder in folders}.values()
    summaries = {folder: _summary(folder, options, alone=len(distinct) == 1) for folder in distinct}
    pages = [folder / "report.html" for folder in summaries]
    if len(summaries) > 1:
        runs = named(summaries)
        pages = [write_comparison(runs, out)]
    if as_json:
        console.show_json({str(folder): summary for folder, summary in summaries.items()})
    elif len(summaries) > 1:
        show_comparison(runs)
    else:
        for summary in summaries.values():
            show_scores(summary)
    for page in [] if as_json else pages:
        console.show(console.visible(f"Report: {page.with_suffix('.md')}, for a browser {page}"))
    if show:
        _open(pages)


def _summary(folder: Path, options: ReportOptions, *, alone: bool) -> Summary:
    """A run that is somebody else's is only read: it can be compared, its reports stay as they are."""
    if os.access(folder, os.W_OK | os.X_OK):
        return write_reports(folder, options)
    found = summary(folder, options)
    if alone:
        remedy = "A run's reports lie in its folder: copy it to where you may write, and name the copy"
        raise InputError("the folder cannot be written", where=str(folder), remedy=remedy)
    return found


def _open(pages: list[Path]) -> None:
    for page in pages:
        if not webbrowser.open(page.absolute().as_uri()):
            raise InputError("no browser could be started", field="--open", remedy=f"Open {page} yourself")
