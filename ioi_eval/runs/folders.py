"""Report: what the folders of runs say, made anew from their rows; and several side by side."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Value
from ioi_eval.reports import ReportOptions, Run, Summary, named, summary, write_comparison, write_reports
from ioi_eval.reports.differences import Differences, differences
from ioi_eval.runs.elsewhere import run_of_rows
from ioi_eval.runs.work import synchronous


class Reported(Value):
    """Reports that were written."""

    summaries: Mapping[str, Summary]  # by folder
    runs: tuple[Run, ...]  # the same under the names that they have in a comparison
    page: str  # for a browser: the run's, or the comparison's where there are several
    differences: Differences | None = None  # where there are two: of the submissions of both


async def report(
    folders: str | Path | Sequence[str | Path],
    *,
    options: ReportOptions | None = None,
    out: str | Path = "runs/comparison",
) -> Reported:
    """Write the reports of runs anew, also while they go on, and a comparison of several into `out`.

        found = await report(["runs/monday", "runs/tuesday"])
        print(found.page)

    Runs that may only be read are compared, and not written to. A file of rows that were judged elsewhere
    becomes a run's folder beside `out`.
    """
    every = [folders] if isinstance(folders, str | Path) else folders
    return await asyncio.to_thread(_reported, every, options or ReportOptions(), Path(out))


report_sync = synchronous(report)


def _reported(every: Sequence[str | Path], options: ReportOptions, out: Path) -> Reported:
    places = {Path(place).resolve(): Path(place) for place in every}.values()
    folders = [run_of_rows(place, out.parent) if place.is_file() else place for place in places]
    several = len(folders) > 1
    summaries = {folder: _summary(folder, options, alone=not several) for folder in folders}
    runs = tuple(named(summaries))
    differ = differences(*folders) if len(folders) == 2 else None
    page = write_comparison(runs, out, differ) if several else folders[0] / "report.html"
    of = {str(path): found for path, found in summaries.items()}
    return Reported(summaries=of, runs=runs, page=str(page), differences=differ)


def _summary(folder: Path, options: ReportOptions, *, alone: bool) -> Summary:
    """A run that is somebody else's is only read: it can be compared, its reports stay as they are."""
    if os.access(folder, os.W_OK | os.X_OK):
        return write_reports(folder, options)
    found = summary(folder, options)
    if alone:
        remedy = "A run's reports lie in its folder: copy it to where you may write, and name the copy"
        raise InputError("the folder cannot be written", where=str(folder), remedy=remedy)
    return found
