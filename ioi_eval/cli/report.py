"""`ioi-eval report DIR...`: summary.json and report.md of runs, made anew from their rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ioi_eval.cli import console
from ioi_eval.cli.tables import show_scores
from ioi_eval.reports import write_reports


def report(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Folders of runs.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the summaries as JSON.")] = False,
) -> None:
    """Write summary.json and report.md of runs again, also of one that was interrupted or goes on.

    \b
    Examples:
      ioi-eval report runs/demo
      ioi-eval report runs/* --json
    """
    summaries = {folder: write_reports(folder) for folder in folders}
    if as_json:
        console.show_json({str(folder): summary for folder, summary in summaries.items()})
        return
    for folder, summary in summaries.items():
        show_scores(summary)
        console.show(f"Report: {folder / 'report.md'}")
