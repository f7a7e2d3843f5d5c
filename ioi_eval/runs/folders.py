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
from ioi_eval.reports.pages import OnProgress
from ioi_eval.runs.events import OnEvent, ReportFinished, ReportProgress, ReportStarted, RunReported, ignore
from ioi_eval.runs.foreign_rows import run_of_rows
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
    on_event: OnEvent = ignore,
) -> Reported:
    """Write the reports of runs anew, also while they go on, and a comparison of several into `out`.

        found = await report(["runs/monday", "runs/tuesday"], on_event=print)
        print(found.page)

    Runs that may only be read are compared, and not written to. A file of rows that were judged elsewhere
    becomes a run's folder beside `out`.
    """
    places = _places([folders] if isinstance(folders, str | Path) else folders)
    on_event(ReportStarted(runs=len(places)))
    runs = [await asyncio.to_thread(_run_in, place, Path(out).parent) for place in places]
    summaries = dict[Path, Summary]()
    for folder in runs:
        asked = options or ReportOptions()
        tell = _from_a_thread(on_event, str(folder))
        found, written = await asyncio.to_thread(_summary, folder, asked, tell, alone=len(runs) == 1)
        summaries[folder] = found
        on_event(RunReported(folder=str(folder), submissions=found.submissions, written=written))
    done = await asyncio.to_thread(_compared, summaries, Path(out))
    on_event(ReportFinished(page=done.page))
    return done


report_sync = synchronous(report)


def _places(every: Sequence[str | Path]) -> list[Path]:
    """Return each folder once, whatever its names."""
    return list({Path(place).resolve(): Path(place) for place in every}.values())


def _run_in(place: Path, beside: Path) -> Path:
    return run_of_rows(place, beside) if place.is_file() else place


def _compared(summaries: Mapping[Path, Summary], out: Path) -> Reported:
    folders, runs = list(summaries), tuple(named(summaries))
    differ = differences(*folders) if len(folders) == 2 else None
    page = folders[0] / "report.html" if len(folders) == 1 else write_comparison(runs, out, differ)
    of = {str(path): found for path, found in summaries.items()}
    return Reported(summaries=of, runs=runs, page=str(page), differences=differ)


def _from_a_thread(on_event: OnEvent, folder: str) -> OnProgress:
    """Return what tells of a report's progress in the loop's own thread, where all events are told."""
    loop = asyncio.get_running_loop()

    def tell(read: int, pages: int | None) -> None:
        loop.call_soon_threadsafe(on_event, ReportProgress(folder=folder, read=read, pages=pages))

    return tell


def _summary(folder: Path, options: ReportOptions, tell: OnProgress, *, alone: bool) -> tuple[Summary, bool]:
    """And whether reports were written. A run that may only be read is compared, and keeps its reports."""
    if os.access(folder, os.W_OK | os.X_OK):
        return write_reports(folder, options, on_progress=tell), True
    found = summary(folder, options)
    if alone:
        remedy = "A run's reports lie in its folder: copy it to where you may write, and name the copy"
        raise InputError("the folder cannot be written", where=str(folder), remedy=remedy)
    return found, False
