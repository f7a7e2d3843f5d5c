"""A run's scores on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.text import Text

from ioi_eval.cli import console
from ioi_eval.models import Verdict
from ioi_eval.reports import ModelSummary, ProblemSummary, Summary

_NOTHING = "-"


def show_scores(summary: Summary) -> None:
    """A row for each model and problem, and one for each model's total."""
    statuses = list(summary.verdicts)[::-1]
    numbers = ["points", "of", "submissions", *statuses]
    if summary.unscored:
        numbers.append("unscored")
    table = console.plain_table("model", "problem", *numbers, right=frozenset(numbers))
    for model in summary.models:
        for row in _rows(model, statuses):
            table.add_row(*map(Text, row[: len(table.columns)]))
        table.add_row()
    console.show("")
    console.show_table(table)


def _rows(model: ModelSummary, statuses: list[Verdict]) -> Iterator[list[str]]:
    name = console.visible(model.model) or "(no name)"
    for problem in model.problems:
        yield [
            name,
            console.visible(problem.problem_id),
            *_points(problem),
            *_counts(problem.submissions, problem.verdicts, statuses, problem.unscored),
        ]
        name = ""
    total = [f"{model.points:g}", f"{model.max_points:g}"] if model.max_points else [_NOTHING, _NOTHING]
    yield [name, "total", *total, *_counts(model.submissions, model.verdicts, statuses, model.unscored)]


def _points(problem: ProblemSummary) -> list[str]:
    """Without subtasks, the best share of tests passed."""
    if problem.points is not None:
        return [f"{problem.points:g}", _NOTHING if problem.max_points is None else f"{problem.max_points:g}"]
    return [_NOTHING if problem.best_pass_rate is None else f"{problem.best_pass_rate:.0%}", "tests"]


def _counts(
    submissions: int, verdicts: Mapping[Verdict, int], statuses: list[Verdict], unscored: int
) -> list[str]:
    return [str(submissions), *(str(verdicts.get(status, 0)) for status in statuses), str(unscored)]
