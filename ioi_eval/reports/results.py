"""A run's rows as tables for pandas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ioi_eval.model.values import SubmissionResult
from ioi_eval.reports.records import ReportOptions, Summary
from ioi_eval.reports.summary import check_run, result_of_row, summary
from ioi_eval.rules.scoring import submission_status
from ioi_eval.store.folder import read_failures, read_rows
from ioi_eval.store.rows import model_of

if TYPE_CHECKING:
    import pandas

    Frame = pandas.DataFrame

_NESTED = frozenset(
    {"all_subtasks_results", "all_subtasks_exact_scores", "test_results", "confinement", "model_kwargs"}
)
_WHOSE = ("key", "problem_id", "model")
_SUBTASK = ("subtask", "points", "score", "weighted_score", "exact_score", "status")
_TEST = ("test_name", "score", "status", "feedback", "cpu_time", "wall_time", "waited_time", "memory")


class Results:
    """The results of a run: `Results.open("runs/demo").to_frame()`. Every call reads the folder anew."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def open(cls, folder: str | Path) -> Results:
        """Load a run, ended or not. Raises InputError where there is none."""
        check_run(Path(folder))
        return cls(Path(folder))

    def summary(self, options: ReportOptions | None = None) -> Summary:
        """The numbers of summary.json."""
        return summary(self.folder, options)

    def __iter__(self) -> Iterator[SubmissionResult]:
        """The results, in order of completion, one at a time."""
        return (result_of_row(row) for row in read_rows(self.folder))

    def to_frame(self) -> pandas.DataFrame:
        """A row for each submission: the dump's own columns, and what became of it.

        Submissions that could not be judged are there too: `judged` is False, `reason` says why, and they
        have no points: a mean leaves them out, and must be shown with their number.
        """
        failures, rows = read_failures(self.folder), list[dict[str, Any]]()
        for row in read_rows(self.folder):
            failures.pop(row["key"], None)
            result = result_of_row(row)
            found = {"judged": True, "status": submission_status(result).value, "points": result.points}
            rows.append({**_flat(row), **_whose(row), **found})
        unjudged = {"judged": False, "status": None, "points": None}
        rows += [{**_flat(row), **_whose(row), **unjudged} for row in failures.values()]
        return _frame(rows, (*_WHOSE, "judged", "status", "points"))

    def subtasks_frame(self) -> pandas.DataFrame:
        """A row for each submission and subtask; only of those that were judged."""
        return _frame(self._parts("subtasks", _SUBTASK), (*_WHOSE, *_SUBTASK))

    def tests_frame(self) -> pandas.DataFrame:
        """A row for each submission and distinct test; only of those that were judged."""
        return _frame(self._parts("tests", _TEST), (*_WHOSE, *_TEST))

    def _parts(self, of: str, columns: Iterable[str]) -> Iterator[dict[str, Any]]:
        for row in read_rows(self.folder):
            for part in getattr(result_of_row(row), of):
                yield {**_whose(row), **{name: getattr(part, name) for name in columns}}


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in _NESTED}


def _whose(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"key": row["key"], "problem_id": row["problem_id"], "model": model_of(row)}


def _frame(rows: Iterable[Mapping[str, Any]], first: tuple[str, ...]) -> pandas.DataFrame:
    """With these columns in front, also where there are no rows."""
    import pandas

    frame = pandas.DataFrame(list(rows))
    return frame.reindex(columns=[*first, *(name for name in frame.columns if name not in first)])
