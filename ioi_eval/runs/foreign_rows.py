"""Rows that were judged elsewhere, or taken out of a run: made a run's folder, so that they are reported."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.benchmarks.row_files import bare_name, read_rows, scan
from ioi_eval.benchmarks.shapes import PROBLEM_COLUMNS
from ioi_eval.model.errors import InputError
from ioi_eval.model.nesting import shallow
from ioi_eval.model.values import Verdict
from ioi_eval.runs.journal import Journal
from ioi_eval.store.compact import whole
from ioi_eval.store.folder import Fingerprint, read_info
from ioi_eval.store.rows import as_number, result_of

_KEYS = ("key", "uuid", "id")
_EARNED, _WORTH = ("points", "all_subtasks_points", "score"), ("max_points",)
_DONE = ("solved", "resolved", "passed", "correct")
_NESTED = ("all_subtasks_results", "all_subtasks_exact_scores", "test_results", "repairs", "confinement")
# What a row of ours says of how it was judged, and others do not.
_UNSAID: Mapping[str, Any] = {
    "code_compiles": True,
    "compile_output": "",
    "repairs": [],
    "checker": "",
    "compiler": "",
    "confinement": {},
}
_FROM = "rows of"  # in the settings of such a run


def run_of_rows(file: Path, runs: Path) -> Path:
    """The folder of a run in `runs` with the rows of a file; made anew each time, and of nothing else."""
    folder = runs / bare_name(file)
    info = read_info(folder)
    if info is not None and _FROM not in info.settings:
        raise InputError(
            "a run of that name is there, which was judged here",
            where=str(folder),
            remedy=f"Name its folder instead of {file}, or the file otherwise",
        )
    scan(file)
    for _ in _result_rows(file):  # all are looked at before anything is written
        pass
    with Journal.open(
        folder, Fingerprint(dump=""), settings={_FROM: str(file), "problems": "judged elsewhere"}, fresh=True
    ) as journal:
        for row in _result_rows(file):
            journal.record(row, known=True)
        journal.begin()
    return folder


def _result_rows(file: Path) -> Iterator[dict[str, Any]]:
    seen = set[str]()
    for number, row in enumerate(read_rows(file), start=1):
        found = _result_row(row.columns, str(file), number)
        if found["key"] in seen:
            raise InputError(f"key {found['key']!r} is there twice", where=str(file), row=number)
        seen.add(found["key"])
        yield found


def _result_row(columns: Mapping[str, Any], where: str, number: int) -> dict[str, Any]:
    """A row as results.jsonl has it. Raise InputError that names what is missing."""
    columns = whole(dict(columns), {})  # also of a results.jsonl
    row = {**_UNSAID, **columns, **{name: _part(columns[name]) for name in _NESTED if name in columns}}
    problem = next((columns[name] for name in PROBLEM_COLUMNS if columns.get(name)), None)
    if problem is None:
        raise _missing(columns, where, number, PROBLEM_COLUMNS)
    row["problem_id"] = str(problem)
    row["key"] = str(next((columns[name] for name in _KEYS if columns.get(name)), f"row {number}"))
    if isinstance(parts := row.get("all_subtasks_results"), list):
        row.setdefault("all_subtasks_exact_scores", [part.get("score") for part in parts])
        row.setdefault("all_subtasks_points", math.fsum(part.get("weighted_score") or 0 for part in parts))
    else:
        earned, worth = _worth(columns, where, number)
        if not 0 <= earned <= worth or not worth:
            raise InputError(
                f"{earned:g} points of {worth:g}",
                where=where,
                row=number,
                remedy="Give `max_points`, the points of the whole problem",
            )
        row |= _one_part(row["problem_id"], earned, worth)
    try:
        result_of(row)
    except (KeyError, TypeError, ValueError, msgspec.ValidationError) as error:
        raise InputError(f"is no result: {error}", where=where, row=number) from error
    return row


def _part(value: Any) -> Any:
    """A structured column, also where a table made JSON of it."""
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(shallow(value))
    except msgspec.DecodeError:
        return None


def _worth(columns: Mapping[str, Any], where: str, number: int) -> tuple[float, float]:
    """Return a row's points and their maximum; a word for right and wrong is one point or none."""
    earned = next(_numbers(columns, _EARNED), None)
    if earned is not None:
        return earned, next(_numbers(columns, _WORTH), 1.0)
    right = next((columns[name] for name in _DONE if isinstance(columns.get(name), bool)), None)
    if right is None:
        raise _missing(columns, where, number, ("all_subtasks_results", *_EARNED, *_DONE))
    return float(right), 1.0


def _numbers(columns: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[float]:
    return (number for name in names if (number := as_number(columns.get(name))) is not None)


def _one_part(problem: str, earned: float, worth: float) -> dict[str, Any]:
    share = earned / worth
    status = Verdict.AC if share == 1 else Verdict.WA if share == 0 else Verdict.PA
    part = {
        "problem": problem,
        "subtask": "all",
        "points": worth,
        "score": share,
        "weighted_score": earned,
        "score_precision": 9,
        "status": status,
        "test_results": [],
    }
    return {
        "all_subtasks_results": [part],
        "all_subtasks_exact_scores": [share],
        "all_subtasks_points": earned,
    }


def _missing(columns: Mapping[str, Any], where: str, number: int, names: tuple[str, ...]) -> InputError:
    return InputError(
        f"missing column: one of {', '.join(names)}. The columns are: {', '.join(map(str, columns))}",
        where=where,
        row=number,
        remedy="docs/results.md says what a row of results has",
    )
