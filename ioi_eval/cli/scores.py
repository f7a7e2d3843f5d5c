"""Scores on the terminal: of a run, of several side by side, of a benchmark's own solutions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ioi_eval.cli import console
from ioi_eval.model.values import Verdict
from ioi_eval.reports import ModelSummary, ProblemSummary, Run, Summary, sections
from ioi_eval.reports.comparison import entries
from ioi_eval.reports.document import Section, Table, visible
from ioi_eval.reports.sections import Entry
from ioi_eval.runs.references import Reference, ReferenceOptions, References, Reliability, conclusion

_NOTHING = "-"
_LONG = 24  # lines: longer tables are for the report
_SHOWN = 20  # problems; the others are in the file


def show_scores(summary: Summary) -> None:
    """A row for each model and problem, one for each model's total, and what is said of models as a whole."""
    statuses = list(summary.verdicts)[::-1]
    numbers = ["points", "of", "submissions", *statuses]
    if summary.unscored:
        numbers.append("unscored")
    heads = ["model", "problem", *numbers]
    rows = [row[: len(heads)] for model in summary.models for row in (*_rows(model, statuses), [])]
    if not rows:
        return
    console.show("")
    console.show_table(heads, rows, right=numbers)
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
    heads = [head[:1].lower() + head[1:] for head in table.heads]
    right = [head for head, side in zip(heads, table.align, strict=True) if side == "r"]
    console.show_table(heads, [[visible(str(cell)) for cell in row] for row in table.rows], right=right)


def _rows(model: ModelSummary, statuses: list[Verdict]) -> Iterator[list[str]]:
    name = visible(model.model) or "(no name)"
    for problem in model.problems:
        yield [
            name,
            visible(problem.problem_id),
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


# --- a benchmark's own solutions ---------------------------------------------------------------------


def show_references(found: References, asked: ReferenceOptions, out: str) -> None:
    """The problems that are not reliable, and why."""
    console.show(f"Own solutions: {conclusion(found, asked)}; see {out}/references.json")
    rows = list(_unreliable(found))
    if not rows:
        return
    shown = [[*map(visible, row)] for row in rows[:_SHOWN]]
    console.show("")
    console.show_table(("problem", "references", "passed", "why"), shown, right=("passed",))
    if len(rows) > _SHOWN:
        console.show(f"and {len(rows) - _SHOWN} more")
    console.show("")


def _unreliable(found: References) -> Iterator[tuple[str, ...]]:
    for one in found.problems:
        if one.reliability is not Reliability.RELIABLE:
            passed = sum(reference.status is Verdict.AC for reference in one.references)
            number = f"{passed} of {len(one.references)}"
            yield one.problem, one.reliability.value, number, one.note or _why(one.references)


def _why(references: tuple[Reference, ...]) -> str:
    """Of the first that does not pass."""
    first = next((one for one in references if one.status is not Verdict.AC), None)
    if first is None:
        return ""
    status = first.status.value if first.status else "not judged"
    place = f" on test {first.test}" if first.test else ""
    reason = " ".join(first.reason.split())
    return f"{first.solution}: {status}{place}{': ' + reason if reason else ''}"
