"""Report: write the reports of runs again from their rows, and compare several runs."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ioi_eval.benchmarks.row_files import hash_file_and_check_utf8, read_rows, remove_format_suffixes
from ioi_eval.benchmarks.row_schemas import PROBLEM_COLUMNS
from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Value, Verdict
from ioi_eval.reports import (
    ComparedRun,
    ReportOptions,
    Summary,
    name_runs,
    summarize_run,
    write_comparison,
    write_reports,
)
from ioi_eval.reports.comparison import Differences, find_differences, pair_models
from ioi_eval.reports.pages import OnProgress
from ioi_eval.reports.summary import parse_column_value, read_problem_traits
from ioi_eval.runs.events import (
    OnEvent,
    ReportFinished,
    ReportProgress,
    ReportStarted,
    RunReported,
    ignore_event,
)
from ioi_eval.runs.shards import find_shards, merge_shards
from ioi_eval.runs.work import make_synchronous
from ioi_eval.store.folder import Fingerprint, read_info
from ioi_eval.store.result_log import ResultLog
from ioi_eval.store.rows import (
    ROW_KEY_PREFIX,
    as_json_value,
    as_number,
    read_result,
    restore_compact_row,
    shorten,
)

_COMPARISON = "runs/comparison"


class WrittenReports(Value):
    """Reports that were written."""

    summaries: Mapping[str, Summary]  # by folder
    runs: tuple[ComparedRun, ...]  # summaries of the runs, with their names in a comparison
    page: str  # path of the HTML page of the run, or of the comparison of several runs
    # Differences between two runs, with the submissions that have different results; None for other numbers
    # of runs.
    differences: Differences | None = None


async def report(
    folders: str | Path | Sequence[str | Path],
    *,
    options: ReportOptions | None = None,
    out: str | Path | None = None,
    on_event: OnEvent = ignore_event,
) -> WrittenReports:
    """Write the reports of runs, and a comparison if there are several. The runs may still be in progress.

        reports = await report(["runs/monday", "runs/tuesday"], on_event=print)
        print(reports.page)

    Args:
        folders: Folders of runs, folders of the shards of a run, or files with rows of other judges. A file
            is converted to a run's folder next to `out`. Read-only folders are compared, and get no report.
        options: Options of the reports.
        out: Folder of the comparison, by default runs/comparison. For shards, folder of the merged run, by
            default next to the first shard.
        on_event: Receives events.

    Raises:
        InputError: A folder is not a run's, or two files would be converted to the same folder.
    """
    if not folders:
        raise InputError(
            "no folder of a run is given", field="folders", remedy="Name a run's folder, or several"
        )
    named_paths = [*map(Path, [folders] if isinstance(folders, str | Path) else folders)]
    # A folder that is named twice is used once.
    distinct_paths = {path.resolve(): path for path in named_paths}.values()
    shards = find_shards(named_paths)
    runs_folder = Path(out or _COMPARISON).parent
    _refuse_same_run_folder(distinct_paths, runs_folder)
    on_event(ReportStarted(runs=1 if shards else len(distinct_paths)))
    if shards:
        run_folders = [await asyncio.to_thread(merge_shards, shards, None if out is None else Path(out))]
    else:
        run_folders = [
            await asyncio.to_thread(convert_rows_to_run, path, runs_folder) if path.is_file() else path
            for path in distinct_paths
        ]
    summaries = dict[Path, Summary]()
    for folder in run_folders:
        on_progress = _make_progress_callback(on_event, str(folder))
        run_summary, is_written = await asyncio.to_thread(
            _summarize_and_write_if_writable,
            folder,
            options or ReportOptions(),
            on_progress,
            is_only_run=len(run_folders) == 1,
        )
        summaries[folder] = run_summary
        on_event(RunReported(folder=str(folder), submissions=run_summary.submissions, written=is_written))
    reports = await asyncio.to_thread(_write_comparison, summaries, Path(out or _COMPARISON))
    on_event(ReportFinished(page=reports.page))
    return reports


report_sync = make_synchronous(report)


def _write_comparison(summaries: Mapping[Path, Summary], out: Path) -> WrittenReports:
    """Return the reports, and write the comparison of several runs."""
    run_folders, compared_runs = list(summaries), tuple(name_runs(summaries))
    run_differences = None
    if len(run_folders) == 2:
        run_differences = find_differences(run_folders[0], run_folders[1], pair_models(*summaries.values()))
    page = (
        run_folders[0] / "report.html"
        if len(run_folders) == 1
        else write_comparison(compared_runs, out, run_differences)
    )
    summary_by_folder = {str(path): run_summary for path, run_summary in summaries.items()}
    return WrittenReports(
        summaries=summary_by_folder, runs=compared_runs, page=str(page), differences=run_differences
    )


def _make_progress_callback(on_event: OnEvent, folder: str) -> OnProgress:
    """Return a callback for another thread, which emits the progress of a report in this event loop."""
    loop = asyncio.get_running_loop()

    def on_progress(read: int, pages: int | None) -> None:
        loop.call_soon_threadsafe(on_event, ReportProgress(folder=folder, read=read, pages=pages))

    return on_progress


def _summarize_and_write_if_writable(
    folder: Path, options: ReportOptions, on_progress: OnProgress, *, is_only_run: bool
) -> tuple[Summary, bool]:
    """Return the summary of a run, and True if its reports were written.

    If the folder is read-only, no reports are written. That is an InputError if `is_only_run` is true.
    """
    if os.access(folder, os.W_OK | os.X_OK):
        return write_reports(folder, options, on_progress=on_progress), True
    if is_only_run and folder.exists():
        raise InputError(
            "the folder cannot be written",
            where=str(folder),
            remedy="Reports are written into the run's folder: copy it to a writable place and name the copy",
        )
    return summarize_run(folder, options), False


# --- rows of other judges ----------------------------------------------------------------------------
# A file with such rows, or with some rows of a run, is converted to a run's folder.

# Names of columns with the key of a row, in order of preference.
_KEY_COLUMNS = ("key", "uuid", "id")
_POINTS_COLUMNS, _MAX_POINTS_COLUMNS = ("points", "all_subtasks_points", "score"), ("max_points",)
_SOLVED_COLUMNS = ("solved", "resolved", "passed", "correct")
_STRUCTURED_COLUMNS = (
    "all_subtasks_results",
    "all_subtasks_exact_scores",
    "test_results",
    "repairs",
    "confinement",
)
_BOOLEAN_NAMES = {"true": True, "false": False}  # names of truth values in CSV files
_BOOLEAN_DIGITS = {"1": True, "0": False}
# Default values of columns that rows of other judges may lack.
_DEFAULTS: Mapping[str, Any] = {
    "code_compiles": True,
    "compile_output": "",
    "repairs": [],
    "checker": "",
    "compiler": "",
    "confinement": {},
}
_MAX_VALUE = 80  # maximum characters of a value in a message
_REMEDY = "docs/results.md lists the columns of results"
_SOURCE_SETTING = "rows of"  # name of the setting with the file that was converted


def _refuse_same_run_folder(paths: Collection[Path], runs_folder: Path) -> None:
    """Raise InputError if two files would be converted to the same folder."""
    path_by_folder = dict[Path, Path]()
    for path in paths:
        folder = _choose_run_folder(path, runs_folder) if path.is_file() else path
        if (earlier_path := path_by_folder.setdefault(folder.resolve(), path)) is not path:
            raise InputError(
                f"this file and {earlier_path} would both be converted to the folder {folder}",
                where=str(path),
                remedy="Give the file a unique name",
            )


def _choose_run_folder(file: Path, runs_folder: Path) -> Path:
    """Return the folder for the run to which a file is converted."""
    return runs_folder / remove_format_suffixes(file)


def convert_rows_to_run(file: Path, runs_folder: Path) -> Path:
    """Convert a file to a run's folder in `runs_folder`, and return it. An earlier version is replaced."""
    folder = _choose_run_folder(file, runs_folder)
    run_info = read_info(folder)
    if run_info is not None and _SOURCE_SETTING not in run_info.settings:
        raise InputError(
            "the folder contains a run that was judged here",
            where=str(folder),
            remedy=f"Name the run's folder instead of {file}, or rename the file",
        )
    hash_file_and_check_utf8(file)
    years = dict[str, set[int | None]]()
    for row in _read_result_rows(file):  # read all rows once, to raise errors before anything is written
        years.setdefault(row["problem_id"], set()).add(read_problem_traits(row).year)
    with ResultLog.open(
        folder,
        Fingerprint(dump=""),
        settings={_SOURCE_SETTING: str(file), "problems": "judged elsewhere"},
        discards_earlier_run=True,
    ) as journal:
        for row in _read_result_rows(file):
            # Use the same label as `score` if several years have a problem of this id.
            if len(years[row["problem_id"]]) > 1:
                row["problem_id"] += f"@{read_problem_traits(row).year or 'none'}"
            journal.record_result(row, is_earlier=True)
        journal.start_run()
    return folder


def _read_result_rows(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file as rows of results.jsonl. Raises InputError for invalid rows."""
    known_keys = set[str]()
    # Points of the subtasks, and the number of the first row for the problem, by problem and year.
    points_by_problem = dict[tuple[str, int | None], tuple[dict[str, float], int]]()
    for row_number, row in enumerate(read_rows(file), start=1):
        result_row = _make_result_row(row.columns, str(file), row_number)
        if result_row["key"] in known_keys:
            raise InputError(f"duplicate key {result_row['key']!r}", where=str(file), row=row_number)
        known_keys.add(result_row["key"])
        problem = result_row["problem_id"]
        points = {subtask["subtask"]: subtask["points"] for subtask in result_row["all_subtasks_results"]}
        year = read_problem_traits(result_row).year
        first_points, first_row = points_by_problem.setdefault((problem, year), (points, row_number))
        if points != first_points:
            points_total, first_total = math.fsum(points.values()), math.fsum(first_points.values())
            raise InputError(
                f"problem {problem!r} has {points_total:g} points here and {first_total:g} in line"
                f" {first_row}"
                if points_total != first_total
                else f"problem {problem!r} has other subtasks here than in line {first_row}",
                where=str(file),
                row=row_number,
                remedy="Give each row of a problem the same `max_points`, or subtasks of the same points",
            )
        yield result_row


def _make_result_row(columns: Mapping[str, Any], where: str, row_number: int) -> dict[str, Any]:
    """Return a row as results.jsonl has it. Raises InputError for missing or invalid columns."""
    columns = as_json_value(columns)
    # In a table, columns that only exist in other rows are null.
    empty_columns = {name for name in (*_STRUCTURED_COLUMNS, *_DEFAULTS) if columns.get(name) is None}
    with _add_location_to_row_errors(where, row_number):
        columns = restore_compact_row(
            {name: value for name, value in columns.items() if name not in empty_columns}, {}
        )
    row = {
        **_DEFAULTS,
        **columns,
        **{name: _parse_json_column(columns[name]) for name in _STRUCTURED_COLUMNS if name in columns},
    }
    problem = next((columns[name] for name in PROBLEM_COLUMNS if columns.get(name) not in (None, "")), None)
    if problem is None:
        raise _missing_column_error(columns, where, row_number, PROBLEM_COLUMNS)
    row["problem_id"] = str(problem)
    row["key"] = str(
        next(
            (columns[name] for name in _KEY_COLUMNS if columns.get(name) not in (None, "")),
            f"{ROW_KEY_PREFIX}{row_number}",
        )
    )
    row |= {name: _DEFAULTS[name] for name in ("repairs", "confinement") if row[name] is None}
    # In rows of other judges, columns of these names may have another meaning.
    for name in ("verdict", "submission_sha256"):
        if not isinstance(row.get(name), str):
            row.pop(name, None)
    row["code_compiles"] = {**_BOOLEAN_NAMES, **_BOOLEAN_DIGITS}.get(str(row["code_compiles"]).lower())
    if row["code_compiles"] is None:
        raise _invalid_value_error(columns, where, row_number, "code_compiles", "true or false")
    if isinstance(subtask_rows := row.get("all_subtasks_results"), list):
        scores = [
            subtask_result.get("score") if isinstance(subtask_result, Mapping) else None
            for subtask_result in subtask_rows
        ]
        row.setdefault("all_subtasks_exact_scores", scores)
        row["all_subtasks_points"] = next(_read_numbers(columns, ("all_subtasks_points",)), None)
    elif columns.get("all_subtasks_results") not in (None, ""):
        raise _invalid_value_error(columns, where, row_number, "all_subtasks_results", "a list")
    else:
        points, max_points = _read_points_and_maximum(columns, where, row_number)
        if not 0 <= points <= max_points or not max_points:
            raise InputError(
                f"the row has {points:g} points, which is not between 0 and its maximum of {max_points:g}",
                where=where,
                row=row_number,
                remedy="Give `max_points`, the points of the whole problem",
            )
        score = points / max_points
        subtask = {
            "problem": row["problem_id"],
            "subtask": "all",
            "points": max_points,
            "score": score,
            "weighted_score": points,
            "score_precision": 9,
            "status": Verdict.AC if score == 1 else Verdict.WA if score == 0 else Verdict.PA,
            "test_results": [],
        }
        row["all_subtasks_results"], row["all_subtasks_exact_scores"] = [subtask], [score]
        row["all_subtasks_points"] = points
    with _add_location_to_row_errors(where, row_number):
        result = read_result({**row, "all_subtasks_points": row["all_subtasks_points"] or 0.0})
    if row["all_subtasks_points"] is None:
        row["all_subtasks_points"] = math.fsum(
            subtask_result.weighted_score for subtask_result in result.subtasks
        )
    return row


@contextmanager
def _add_location_to_row_errors(where: str, row_number: int) -> Iterator[None]:
    """Context manager: InputErrors of the code inside name the file, the row and a remedy."""
    try:
        yield
    except InputError as error:
        raise error.with_details(where=where, row=row_number, remedy=_REMEDY) from error


def _parse_json_column(value: Any) -> Any:
    """Return the value of a structured column, which may be a JSON string in a table.

    Tables turn whole numbers into floats, which become integers again.
    """
    content = parse_column_value(value)
    return _convert_whole_floats(as_json_value(content)) if isinstance(value, str) else content


def _convert_whole_floats(value: Any) -> Any:
    if isinstance(value, list):
        return [_convert_whole_floats(item) for item in value]
    if isinstance(value, dict):
        return {name: _convert_whole_floats(item) for name, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _read_points_and_maximum(columns: Mapping[str, Any], where: str, row_number: int) -> tuple[float, float]:
    """Return a row's points and maximum points. A row that is only solved or not has 1 or 0 points of 1."""
    points = next(_read_numbers(columns, _POINTS_COLUMNS), None)
    if points is not None:
        return points, next(_read_numbers(columns, _MAX_POINTS_COLUMNS), 1.0)
    solved_values = (_BOOLEAN_NAMES.get(str(columns.get(name)).lower()) for name in _SOLVED_COLUMNS)
    is_solved = next((value for value in solved_values if value is not None), None)
    if is_solved is None:
        column_names = ("all_subtasks_results", *_POINTS_COLUMNS, *_SOLVED_COLUMNS)
        raise _missing_column_error(columns, where, row_number, column_names)
    return float(is_solved), 1.0


def _read_numbers(columns: Mapping[str, Any], column_names: tuple[str, ...]) -> Iterator[float]:
    """Yield the numbers of a row in the columns `column_names`. Other values are skipped."""
    return (number for name in column_names if (number := as_number(columns.get(name))) is not None)


def _invalid_value_error(
    columns: Mapping[str, Any], where: str, row_number: int, column_name: str, expected: str
) -> InputError:
    shortened_value = shorten(repr(columns[column_name]), _MAX_VALUE)
    return InputError(
        f"{column_name} is {shortened_value}",
        where=where,
        row=row_number,
        remedy=f"Give {expected}, or leave the column out",
    )


def _missing_column_error(
    columns: Mapping[str, Any], where: str, row_number: int, column_names: tuple[str, ...]
) -> InputError:
    values = [
        f"{name} is {shorten(repr(columns[name]), _MAX_VALUE)}" for name in column_names if name in columns
    ]
    detail = ", ".join(values) or f"The columns are: {', '.join(map(str, columns))}"
    return InputError(
        f"{'no value' if values else 'missing column'}: one of {', '.join(column_names)}. {detail}",
        where=where,
        row=row_number,
        remedy=_REMEDY,
    )
