"""A run's scores on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.text import Text

from ioi_eval.cli import console
from ioi_eval.model.values import Verdict
from ioi_eval.reports import ModelSummary, ProblemSummary, Run, Summary, sections
from ioi_eval.reports.comparison import entries
from ioi_eval.reports.document import Section, Table
from ioi_eval.reports.sections import Entry

_NOTHING = "-"
_LONG = 24  # lines: longer tables are for the report


def show_scores(summary: Summary) -> None:
    """A row for each model and problem, one for each model's total, and what is said of models as a whole."""
    statuses = list(summary.verdicts)[::-1]
    numbers = ["points", "of", "submissions", *statuses]
    if summary.unscored:
        numbers.append("unscored")
    table = console.plain_table("model", "problem", *numbers, right=frozenset(numbers))
    for model in summary.models:
        for row in _rows(model, statuses):
            table.add_row(*map(Text, row[: len(table.columns)]))
        table.add_row()
    if not table.row_count:
        return
    console.show("")
    console.show_table(table)
    _show_sections(sections.entries(summary), summary.unscored)


def show_comparison(runs: Sequence[Run]) -> None:
    """A row for each model of each run."""
    of = entries(runs)
    console.show("")
    _show(sections.models(of, brief=True))
    console.show("")
    _show_sections(of, sum(run.summary.unscored for run in runs))


def _show_sections(of: Sequence[Entry], unscored: int) -> None:
    for section in (sections.budgets(of), sections.passes(of, unscored), sections.medals(of)):
        if section is not None:
            _show_section(section)
    for section in sections.groups(of, brief=True):
        if section.table is not None and len(section.table.rows) <= _LONG:
            _show_section(section)


def _show_section(section: Section) -> None:
    console.show(section.title)
    if section.table is not None:
        _show(section.table)
    for note in section.notes:
        console.show(note)
    console.show("")


def _show(table: Table) -> None:
    heads = [_head(head) for head in table.heads]
    right = frozenset(head for head, side in zip(heads, table.align, strict=True) if side == "r")
    drawn = console.plain_table(*heads, right=right)
    for row in table.rows:
        drawn.add_row(*(Text(console.visible(str(cell))) for cell in row))
    console.show_table(drawn)


def _head(head: str) -> str:
    return head[:1].lower() + head[1:]


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
