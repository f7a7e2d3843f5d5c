"""Scores in the terminal: of a run, of several runs, and of a benchmark's own solutions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import typer

from ioi_eval.cli import console
from ioi_eval.model.text import visible
from ioi_eval.model.values import Value, Verdict
from ioi_eval.reports import ComparedRun, ModelSummary, Summary, headline, sections
from ioi_eval.reports.comparison import (
    Differences,
    collect_warnings,
    find_comparability_notes,
    make_difference_sections,
    make_entries,
)
from ioi_eval.reports.document import Section, format_number, format_percent, format_share
from ioi_eval.reports.headline import Entry
from ioi_eval.reports.parts import make_report_part_sections
from ioi_eval.rules.metrics import PassAtK
from ioi_eval.runs.references import (
    Reference,
    ReferenceOptions,
    References,
    Reliability,
    summarize_references,
)
from ioi_eval.store.rows import shorten

_NOTHING = "-"
_MAX_LINES = 34  # maximum lines of all tables together, so that the whole output of a run has up to 40 lines
_MAX_MODELS = 12  # maximum number of models in a table; the report shows all models
_MAX_WARNING = 400  # maximum characters of a warning; the report shows the whole warning
_SENTENCE_LINES = 3  # number of lines that are reserved for each sentence
_MAX_PAIRS = 3  # maximum number of pairs of models from two runs whose difference is printed
_MAX_CHANGED = 6  # maximum number of submissions with a changed result that are listed
_MAX_PROBLEMS = 20  # maximum number of problems that are listed; the file contains all problems
_PASS_AT_K_EXPLANATION = "pass@k: how likely one of k submissions solves its problem or subtask"


class _Table(Value):
    column_heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[str] = ()  # columns of numbers
    spare: Sequence[str] = ()  # columns that a narrow terminal may omit, by increasing importance


class _TextBlock(Value):
    """Sentences and a table that are printed together, or not at all."""

    before: Sequence[str] = ()  # sentences above the table
    table: _Table | None = None
    after: Sequence[str] = ()

    @property
    def line_count(self) -> int:
        """Return the number of lines without the line breaks that a narrow terminal needs."""
        return len(self.before) + (1 + len(self.table.rows) if self.table else 0) + len(self.after)

    def print(self) -> None:
        for sentence in self.before:
            console.print_wrapped(sentence)
        if self.table is not None:
            console.print_table(
                self.table.column_heads,
                self.table.rows,
                right_aligned_heads=self.table.right,
                droppable_heads=self.table.spare,
            )
        for sentence in self.after:
            console.print_wrapped(sentence)


class _ScoresPrinter:
    """Prints tables while they fit on a screen, and the names of the omitted tables."""

    def __init__(self, headline_section: Section | None = None, sentences: Sequence[str] = ()) -> None:
        """`headline_section` is always printed, after the other tables, and `sentences` below it."""
        self._headline_section, self._sentences, self._omitted_names = (
            headline_section,
            sentences,
            list[str](),
        )
        table_line_count = (
            3 + len(headline_section.table.rows)
            if headline_section is not None and headline_section.table is not None
            else 0
        )
        self._free_lines = _MAX_LINES - table_line_count - _SENTENCE_LINES * len(sentences)

    def add(self, name: str, block: _TextBlock | None) -> None:
        """Print an empty line and the block, if its `line_count` fits the screen."""
        if block is None:
            return
        if 1 + block.line_count > self._free_lines:
            self._omitted_names.append(name)
            return
        self._free_lines -= 1 + block.line_count
        console.print_line("")
        block.print()

    def print_footer(self) -> None:
        if self._omitted_names:
            console.print_line("")
            console.print_wrapped(f"In the report: {', '.join(dict.fromkeys(self._omitted_names))}.")
        if self._headline_section is not None:
            console.print_line("")
            _format_section(self._headline_section).print()
        for sentence in self._sentences:
            console.print_wrapped(sentence)


def print_scores(summary: Summary) -> None:
    """Print the scores of a run: warnings, models, points by problem, and the headline."""
    model_entries = sections.make_run_entries(summary)
    if not model_entries:
        return
    screen = _ScoresPrinter(*_make_short_headline(model_entries))
    for warning in summary.warnings:
        sentence = shorten(console.replace_arguments_by_options(warning), _MAX_WARNING)
        screen.add("warnings", _TextBlock(before=[sentence]))
    statuses = list(summary.verdicts)[::-1]
    _add_model_tables(screen, model_entries, summary.unscored)
    for model in summary.models[:_MAX_MODELS]:
        name = f" of {visible(sections.format_model_name(model.model))}" if len(model_entries) > 1 else ""
        screen.add("points by problem", _format_problem_table(model, statuses, name))
    screen.print_footer()


def print_comparison(runs: Sequence[ComparedRun], run_differences: Differences | None = None) -> None:
    """Print the scores of several runs, and the differences between two runs."""
    model_entries = make_entries(runs)
    paired_comparisons = run_differences.paired[:_MAX_PAIRS] if run_differences is not None else ()
    headline_section, headline_notes = _make_short_headline(model_entries, compare=not paired_comparisons)
    screen = _ScoresPrinter(
        headline_section, [*headline_notes, *(pair.comparison_sentence for pair in paired_comparisons)]
    )
    for warning in (*collect_warnings(runs), *find_comparability_notes(runs)):
        sentence = shorten(console.replace_arguments_by_options(warning), _MAX_WARNING)
        screen.add("warnings", _TextBlock(before=[sentence]))
    if run_differences is not None:
        first_section, *matrix_sections = list(make_difference_sections(run_differences))[:2]
        screen.add(first_section.title, _format_section(first_section))
        screen.add("other results", _format_changed_results(run_differences))
        for section in matrix_sections:
            screen.add(section.title, _format_section(section))
    _add_model_tables(screen, model_entries, sum(run.summary.unscored for run in runs))
    screen.print_footer()


def _add_model_tables(screen: _ScoresPrinter, model_entries: Sequence[Entry], unscored: int) -> None:
    screen.add("pass@k", _format_pass_at_k(model_entries, unscored))
    for section in (
        sections.make_medals_section(model_entries),
        *make_report_part_sections(model_entries),
        sections.make_budgets_section(model_entries),
    ):
        if section is not None:
            screen.add(section.title, _format_section(section))
    for section in sections.make_group_sections(model_entries[:_MAX_MODELS]):
        if (
            not section.title.startswith("By tag")
            and section.table is not None
            and len(section.table.rows) > 1
        ):
            screen.add(section.title, _format_section(section))


def _format_changed_results(run_differences: Differences) -> _TextBlock | None:
    """Return a table of the first submissions whose results differ, or None if no result differs."""
    column_heads, changed_results = ("submission", "problem", "verdict", "why"), run_differences.changed
    rows = [
        [
            visible(change.key),
            visible(change.problem),
            f"{change.before} -> {change.after}",
            visible("; ".join(change.why)),
        ]
        for change in changed_results[:_MAX_CHANGED]
    ]
    more_count = len(changed_results) - _MAX_CHANGED
    more_note = [f"and {more_count:,} more in the report"] if more_count > 0 else []
    return _TextBlock(table=_Table(column_heads=column_heads, rows=rows), after=more_note) if rows else None


def _format_section(section: Section) -> _TextBlock:
    table = None
    if section.table is not None:
        column_heads = [
            head if head.isupper() else head[:1].lower() + head[1:] for head in section.table.heads
        ]
        right_aligned_heads = [
            head
            for head, side in zip(column_heads, section.table.column_alignments, strict=True)
            if side == "r"
        ]
        rows = [[visible(str(cell)) for cell in row] for row in section.table.rows]
        table = _Table(
            column_heads=column_heads, rows=rows, right=right_aligned_heads, spare=right_aligned_heads[:0:-1]
        )
    return _TextBlock(before=[section.title], table=table, after=[*section.items, *section.notes])


def exit_if_incomplete(runs: Sequence[ComparedRun], *, print_reasons: bool) -> None:
    """Exit with code 3 if submissions of a run lack a result. If `print_reasons`, print warnings first."""
    incomplete_runs = [run for run in runs if not run.summary.complete]
    for run in incomplete_runs if print_reasons else ():
        console.print_message(visible(f"{run.name}: {run.summary.warnings[0]}"))
    if incomplete_runs:
        raise typer.Exit(console.UNSCORED)


def exit_if_suspicious(summaries: Iterable[Summary], *, allows_suspicious: bool, print_reasons: bool) -> None:
    """Exit with code 4 if results are hardly plausible, unless `allows_suspicious`.

    If `print_reasons` is true, the reasons are printed in any case.
    """
    suspicions = [suspicion for summary in summaries for suspicion in summary.suspicious]
    for suspicion in suspicions if print_reasons else ():
        console.print_message(visible(console.replace_arguments_by_options(str(suspicion))))
    if suspicions and not allows_suspicious:
        raise typer.Exit(console.SUSPICIOUS)


# --- models ------------------------------------------------------------------------------------------


def _make_short_headline(
    model_entries: Sequence[Entry], *, compare: bool = True
) -> tuple[Section | None, Sequence[str]]:
    """Return the table with the headline number of each model, and the sentences about it."""
    if not any(entry.model.scored for entry in model_entries):
        return None, []
    full_section = headline.make_headline_section(model_entries, compare=compare)
    assert full_section.table is not None, "a headline is a table"
    shortened_table = msgspec.structs.replace(full_section.table, rows=full_section.table.rows[:_MAX_MODELS])
    omitted_note = (
        [f"and {len(model_entries) - _MAX_MODELS} more models in the report"]
        if len(model_entries) > _MAX_MODELS
        else []
    )
    return msgspec.structs.replace(
        full_section, table=shortened_table, notes=omitted_note
    ), full_section.notes


def _format_pass_at_k(model_entries: Sequence[Entry], unscored: int) -> _TextBlock | None:
    if (section := sections.make_pass_at_k_section(model_entries, unscored)) is None:
        return None
    k_values = sections.list_ks_with_estimate(entry.model.pass_at for entry in model_entries)
    column_heads = [f"pass@{k}" for k in k_values]
    rows = [
        [
            visible(entry.name),
            *(_format_estimate(estimate) for estimate in entry.model.pass_at if estimate.k in k_values),
        ]
        for entry in model_entries[:_MAX_MODELS]
    ]
    has_missing_estimates = any(
        estimate.value is None
        for entry in model_entries
        for estimate in entry.model.pass_at
        if estimate.k in k_values
    )
    notes = [*([sections.FEW_SUBMISSIONS_NOTE] if has_missing_estimates else []), *section.notes]
    if not k_values:
        return _TextBlock(after=notes) if notes else None
    table = _Table(
        column_heads=["model", *column_heads], rows=rows, right=column_heads, spare=column_heads[:0:-1]
    )
    return _TextBlock(before=[_PASS_AT_K_EXPLANATION], table=table, after=notes)


def _format_estimate(estimate: PassAtK) -> str:
    """Return an estimate with its 95 % interval: 42.1 % (30-55)."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return sections.format_estimate(estimate)
    return f"{format_share(estimate.value, 1)} ({100 * estimate.low:.0f}-{100 * estimate.high:.0f})"


def _format_pass_rate_cells(pass_rate: float | None) -> list[str]:
    """Return the cells in the columns "points" and "of" for a problem without points.

    The first cell is the share of passed tests, and the second cell is "tests".
    """
    return [_NOTHING if pass_rate is None else f"{format_percent(pass_rate, 0)}%", "tests"]


# --- problems ----------------------------------------------------------------------------------------


def _format_problem_table(model: ModelSummary, statuses: Sequence[str], title_suffix: str) -> _TextBlock:
    occurring_statuses = [status for status in statuses if model.verdicts.get(status)]
    number_heads = [
        "points",
        "of",
        "submissions",
        *occurring_statuses,
        *(["unscored"] if model.unscored else []),
    ]
    rows = []
    for problem in model.problems:
        count_cells = [str(problem.verdicts.get(status, 0)) for status in occurring_statuses]
        pass_rate_cells = _format_pass_rate_cells(problem.best_pass_rate)
        if problem.points is not None:
            max_points_text = _NOTHING if problem.max_points is None else format_number(problem.max_points)
            pass_rate_cells = [format_number(problem.points), max_points_text]
        row = [visible(problem.problem_id), *pass_rate_cells, str(problem.submissions), *count_cells]
        rows.append([*row, *([str(problem.unscored)] if model.unscored else [])])
    table = _Table(
        column_heads=["problem", *number_heads], rows=rows, right=number_heads, spare=number_heads[:1:-1]
    )
    return _TextBlock(before=[f"Problems{title_suffix}"] if title_suffix else [], table=table)


# --- a benchmark's own solutions ---------------------------------------------------------------------


def print_references(references: References, options: ReferenceOptions, out: str) -> None:
    """Print the problems that are not reliable, and why."""
    console.print_line(
        f"Own solutions: {summarize_references(references, options)}; see {out}/references.json"
    )
    rows = list[tuple[str, ...]]()
    for problem in references.problems:
        if problem.reliability is not Reliability.RELIABLE:
            passed_count = sum(reference.status is Verdict.AC for reference in problem.references)
            passed_text = f"{passed_count} of {len(problem.references)}"
            reason = problem.note or _format_first_failure(problem.references)
            rows.append((problem.problem, problem.reliability.value, passed_text, reason))
    if not rows:
        return
    visible_rows = [[*map(visible, row)] for row in rows[:_MAX_PROBLEMS]]
    console.print_line("")
    console.print_table(
        ("problem", "references", "passed", "why"), visible_rows, right_aligned_heads=("passed",)
    )
    if len(rows) > _MAX_PROBLEMS:
        console.print_line(f"and {len(rows) - _MAX_PROBLEMS} more")
    console.print_line("")


def _format_first_failure(references: tuple[Reference, ...]) -> str:
    """Return the verdict and the reason of the first solution that does not pass."""
    first_failure = next((reference for reference in references if reference.status is not Verdict.AC), None)
    if first_failure is None:
        return ""
    status = first_failure.status.value if first_failure.status else "not judged"
    test_text = f" on test {first_failure.test}" if first_failure.test else ""
    reason = " ".join(first_failure.reason.split())
    return f"{first_failure.solution}: {status}{test_text}{': ' + reason if reason else ''}"
