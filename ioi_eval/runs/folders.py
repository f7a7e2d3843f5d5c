"""Report: what the folders of runs say, made anew from their rows; and several side by side."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ioi_eval.benchmarks.row_files import bare_name, read_rows, scan
from ioi_eval.benchmarks.row_schemas import PROBLEM_COLUMNS
from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Value, Verdict
from ioi_eval.reports import (
    ComparedRun,
    ReportOptions,
    Summary,
    named,
    summary,
    write_comparison,
    write_reports,
)
from ioi_eval.reports.comparison import Differences, differences, paired
from ioi_eval.reports.pages import OnProgress
from ioi_eval.reports.summary import structured, traits_of
from ioi_eval.runs.events import (
    OnEvent,
    ReportFinished,
    ReportProgress,
    ReportStarted,
    RunReported,
    ignore,
)
from ioi_eval.runs.shards import find_shards, merge_shards
from ioi_eval.runs.work import synchronous
from ioi_eval.store.folder import Fingerprint, read_info
from ioi_eval.store.result_log import ResultLog
from ioi_eval.store.rows import PLACE, as_number, bounded, plain, result_of, whole

_COMPARISON = "runs/comparison"


class WrittenReports(Value):
    """Reports that were written."""

    summaries: Mapping[str, Summary]  # by folder
    runs: tuple[ComparedRun, ...]  # the same under the names that they have in a comparison
    page: str  # for a browser: the run's, or the comparison's where there are several
    differences: Differences | None = None  # where there are two: of the submissions of both


async def report(
    folders: str | Path | Sequence[str | Path],
    *,
    options: ReportOptions | None = None,
    out: str | Path | None = None,
    on_event: OnEvent = ignore,
) -> WrittenReports:
    """Write the reports of runs anew, also while they go on, and a comparison of several into `out`.

    `out` is "runs/comparison" if it is not given. The folders of one run's shards are made one run: its
    folder is `out`, or lies beside the first shard.

        found = await report(["runs/monday", "runs/tuesday"], on_event=print)
        print(found.page)

    Runs that may only be read are compared, and not written to. A file of rows that were judged elsewhere
    becomes a run's folder beside `out`.
    """
    if not folders:
        raise InputError("no run is named", field="folders", remedy="Name a run's folder, or several")
    named_places = [*map(Path, [folders] if isinstance(folders, str | Path) else folders)]
    places = {place.resolve(): place for place in named_places}.values()  # each once, whatever its names
    shards = find_shards(named_places)
    beside = Path(out or _COMPARISON).parent
    _refuse_one_folder(places, beside)
    on_event(ReportStarted(runs=1 if shards else len(places)))
    if shards:
        runs = [await asyncio.to_thread(merge_shards, shards, None if out is None else Path(out))]
    else:
        runs = [
            await asyncio.to_thread(run_of_rows, place, beside) if place.is_file() else place
            for place in places
        ]
    summaries = dict[Path, Summary]()
    for folder in runs:
        asked = options or ReportOptions()
        tell = _from_a_thread(on_event, str(folder))
        found, written = await asyncio.to_thread(_summary, folder, asked, tell, alone=len(runs) == 1)
        summaries[folder] = found
        on_event(RunReported(folder=str(folder), submissions=found.submissions, written=written))
    done = await asyncio.to_thread(_compared, summaries, Path(out or _COMPARISON))
    on_event(ReportFinished(page=done.page))
    return done


report_sync = synchronous(report)


def _compared(summaries: Mapping[Path, Summary], out: Path) -> WrittenReports:
    folders, runs = list(summaries), tuple(named(summaries))
    differ = None
    if len(folders) == 2:
        pairs = paired(*summaries.values())
        differ = differences(folders[0], folders[1], pairs)
    page = folders[0] / "report.html" if len(folders) == 1 else write_comparison(runs, out, differ)
    of = {str(path): found for path, found in summaries.items()}
    return WrittenReports(summaries=of, runs=runs, page=str(page), differences=differ)


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
        raise InputError(
            "the folder cannot be written",
            where=str(folder),
            remedy="A run's reports lie in its folder: copy it to where you may write, and name the copy",
        )
    return found, False


# --- rows that were judged elsewhere -----------------------------------------------------------------
# Rows that were judged elsewhere, or taken out of a run: made a run's folder, so that they are reported.


_KEYS = ("key", "uuid", "id")
_EARNED, _WORTH = ("points", "all_subtasks_points", "score"), ("max_points",)
_DONE = ("solved", "resolved", "passed", "correct")
_NESTED = ("all_subtasks_results", "all_subtasks_exact_scores", "test_results", "repairs", "confinement")
_WORDS = {"true": True, "false": False}  # as CSV has them
_BITS = {"1": True, "0": False}
# What a row of ours says of how it was judged, and others do not.
_UNSAID: Mapping[str, Any] = {
    "code_compiles": True,
    "compile_output": "",
    "repairs": [],
    "checker": "",
    "compiler": "",
    "confinement": {},
}
_MAX_VALUE = 80  # characters of one in a message
_WHAT = "docs/results.md says what a row of results has"
_FROM = "rows of"  # in the settings of such a run


def _refuse_one_folder(places: Collection[Path], runs: Path) -> None:
    """Refuse files of one name: the second would take the place of the first."""
    first = dict[Path, Path]()
    for place in places:
        folder = _folder_of(place, runs) if place.is_file() else place
        if (other := first.setdefault(folder.resolve(), place)) is not place:
            raise InputError(
                f"goes to the folder {folder}, and so does {other}",
                where=str(place),
                remedy="Give it a name of its own",
            )


def _folder_of(file: Path, runs: Path) -> Path:
    return runs / bare_name(file)


def run_of_rows(file: Path, runs: Path) -> Path:
    """The folder of a run in `runs` with the rows of a file; made anew each time, and of nothing else."""
    folder = _folder_of(file, runs)
    info = read_info(folder)
    if info is not None and _FROM not in info.settings:
        raise InputError(
            "a run of that name is there, which was judged here",
            where=str(folder),
            remedy=f"Name its folder instead of {file}, or the file otherwise",
        )
    scan(file)
    years = dict[str, set[int | None]]()
    for row in _result_rows(file):  # all are looked at before anything is written
        years.setdefault(row["problem_id"], set()).add(traits_of(row).year)
    with ResultLog.open(
        folder, Fingerprint(dump=""), settings={_FROM: str(file), "problems": "judged elsewhere"}, fresh=True
    ) as journal:
        for row in _result_rows(file):
            if len(years[row["problem_id"]]) > 1:  # as `score` calls them
                row["problem_id"] += f"@{traits_of(row).year or 'none'}"
            journal.record(row, known=True)
        journal.begin()
    return folder


def _result_rows(file: Path) -> Iterator[dict[str, Any]]:
    seen = set[str]()
    # By problem and year, and from which row.
    worths = dict[tuple[str, int | None], tuple[dict[str, float], int]]()
    for number, row in enumerate(read_rows(file), start=1):
        found = _result_row(row.columns, str(file), number)
        if found["key"] in seen:
            raise InputError(f"key {found['key']!r} is there twice", where=str(file), row=number)
        seen.add(found["key"])
        problem, parts = found["problem_id"], found["all_subtasks_results"]
        worth = {part["subtask"]: part["points"] for part in parts}
        first, before = worths.setdefault((problem, traits_of(found).year), (worth, number))
        if worth != first:
            here, there = math.fsum(worth.values()), math.fsum(first.values())
            raise InputError(
                f"problem {problem!r} has {here:g} points here and {there:g} in line {before}"
                if here != there
                else f"problem {problem!r} has other subtasks here than in line {before}",
                where=str(file),
                row=number,
                remedy="Give each row of a problem the same `max_points`, or subtasks of the same points",
            )
        yield found


def _result_row(columns: Mapping[str, Any], where: str, number: int) -> dict[str, Any]:
    """A row as results.jsonl has it. Raise InputError that names what is missing."""
    columns = plain(columns)
    # Also of a results.jsonl. A table has a null where only other rows have a value.
    silent = {name for name in (*_NESTED, *_UNSAID) if columns.get(name) is None}
    with _telling(where, number):
        columns = whole({name: value for name, value in columns.items() if name not in silent}, {})
    row = {**_UNSAID, **columns, **{name: _within(columns[name]) for name in _NESTED if name in columns}}
    problem = next((columns[name] for name in PROBLEM_COLUMNS if columns.get(name) not in (None, "")), None)
    if problem is None:
        raise _missing(columns, where, number, PROBLEM_COLUMNS)
    row["problem_id"] = str(problem)
    row["key"] = str(
        next((columns[name] for name in _KEYS if columns.get(name) not in (None, "")), f"{PLACE}{number}")
    )
    row |= {name: _UNSAID[name] for name in ("repairs", "confinement") if row[name] is None}
    for name in ("verdict", "submission_sha256"):  # others may mean something else by them
        if not isinstance(row.get(name), str):
            row.pop(name, None)
    row["code_compiles"] = {**_WORDS, **_BITS}.get(str(row["code_compiles"]).lower())
    if row["code_compiles"] is None:
        raise _unread(columns, where, number, "code_compiles", "true or false")
    if isinstance(parts := row.get("all_subtasks_results"), list):
        scores = [part.get("score") if isinstance(part, Mapping) else None for part in parts]
        row.setdefault("all_subtasks_exact_scores", scores)
        row["all_subtasks_points"] = next(_numbers(columns, ("all_subtasks_points",)), None)
    elif columns.get("all_subtasks_results") not in (None, ""):
        raise _unread(columns, where, number, "all_subtasks_results", "a list")
    else:
        earned, worth = _worth(columns, where, number)
        if not 0 <= earned <= worth or not worth:
            raise InputError(
                f"{earned:g} points of {worth:g}",
                where=where,
                row=number,
                remedy="Give `max_points`, the points of the whole problem",
            )
        part = earned / worth
        subtask = {
            "problem": row["problem_id"],
            "subtask": "all",
            "points": worth,
            "score": part,
            "weighted_score": earned,
            "score_precision": 9,
            "status": Verdict.AC if part == 1 else Verdict.WA if part == 0 else Verdict.PA,
            "test_results": [],
        }
        row["all_subtasks_results"], row["all_subtasks_exact_scores"] = [subtask], [part]
        row["all_subtasks_points"] = earned
    with _telling(where, number):
        result = result_of({**row, "all_subtasks_points": row["all_subtasks_points"] or 0.0})
    if row["all_subtasks_points"] is None:
        row["all_subtasks_points"] = math.fsum(part.weighted_score for part in result.subtasks)
    return row


@contextmanager
def _telling(where: str, number: int) -> Iterator[None]:
    """Have errors that are raised inside name the file, the row, and what a row has."""
    try:
        yield
    except InputError as error:
        raise error.but(where=where, row=number, remedy=_WHAT) from error


def _within(value: Any) -> Any:
    """Return a structured column; of a table's text with the whole numbers that it made fractions of."""
    found = structured(value)
    return _whole_numbers(plain(found)) if isinstance(value, str) else found


def _whole_numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [_whole_numbers(item) for item in value]
    if isinstance(value, dict):
        return {name: _whole_numbers(item) for name, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _worth(columns: Mapping[str, Any], where: str, number: int) -> tuple[float, float]:
    """Return a row's points and their maximum; a word for right and wrong is one point or none."""
    earned = next(_numbers(columns, _EARNED), None)
    if earned is not None:
        return earned, next(_numbers(columns, _WORTH), 1.0)
    # CSV holds texts.
    words = (_WORDS.get(str(columns.get(name)).lower()) for name in _DONE)
    right = next((word for word in words if word is not None), None)
    if right is None:
        raise _missing(columns, where, number, ("all_subtasks_results", *_EARNED, *_DONE))
    return float(right), 1.0


def _numbers(columns: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[float]:
    return (number for name in names if (number := as_number(columns.get(name))) is not None)


def _unread(columns: Mapping[str, Any], where: str, number: int, name: str, expected: str) -> InputError:
    value = bounded(repr(columns[name]), _MAX_VALUE)
    return InputError(
        f"{name} is {value}", where=where, row=number, remedy=f"Give {expected}, or leave the column out"
    )


def _missing(columns: Mapping[str, Any], where: str, number: int, names: tuple[str, ...]) -> InputError:
    there = [f"{name} is {bounded(repr(columns[name]), _MAX_VALUE)}" for name in names if name in columns]
    found = ", ".join(there) or f"The columns are: {', '.join(map(str, columns))}"
    return InputError(
        f"{'no value' if there else 'missing column'}: one of {', '.join(names)}. {found}",
        where=where,
        row=number,
        remedy=_WHAT,
    )
