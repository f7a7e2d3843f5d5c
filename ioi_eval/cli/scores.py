"""Scores in the terminal: of a run, of several runs, and of a benchmark's own solutions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
import typer

from ioi_eval.cli import console
from ioi_eval.model.values import Verdict
from ioi_eval.reports import ComparedRun, ModelSummary, Summary, headline, sections
from ioi_eval.reports.comparison import Differences, entries, sections_of, unlike
from ioi_eval.reports.comparison import warnings as comparison_warnings
from ioi_eval.reports.document import Section, number, percent, share, visible
from ioi_eval.reports.headline import Entry
from ioi_eval.reports.parts import part_sections
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
_MAX_LINES = 34  # of all tables; with the other lines, a run prints at most 40
_MAX_MODELS = 12  # in a table; the report has all models
_MAX_WARNING = 400  # characters of a warning; the report has all of it
_SENTENCE_LINES = 3  # lines that a sentence usually needs at most
_MAX_PAIRS = 3  # pairs of models of two runs whose difference is printed
_MAX_CHANGED = 6  # submissions with another result that are listed
_MAX_PROBLEMS = 20  # problems that are listed; the file has all
_OF_ROWS = "pass@k: how likely one of k submissions solves its problem or subtask"


class _Screen:
    """Prints tables as long as they fit on one screen, and the names of the other tables."""

    def __init__(self, last: Section | None = None, sentences: Sequence[str] = ()) -> None:
        """`last` is always printed, after the other tables, and `sentences` below it."""
        self._last, self._sentences, self._omitted = last, sentences, list[str]()
        # Independent of the terminal's width, so that the same tables are always printed.
        rows = 3 + len(last.table.rows) if last is not None and last.table is not None else 0
        self._free_lines = _MAX_LINES - rows - _SENTENCE_LINES * len(sentences)

    def add(self, name: str, lines: Iterable[str]) -> None:
        block = ["", *lines]
        if len(block) == 1:
            return
        if len(block) > self._free_lines:
            self._omitted.append(name)
            return
        self._free_lines -= len(block)
        for line in block:
            console.show(line)

    def end(self) -> None:
        if self._omitted:
            console.show("")
            console.show_wrapped(f"In the report: {', '.join(dict.fromkeys(self._omitted))}.")
        if self._last is not None:
            console.show("")
            for line in _section(self._last):
                console.show(line)
        for sentence in self._sentences:
            console.show_wrapped(sentence)


def show_scores(summary: Summary) -> None:
    """Print the scores of a run: warnings, models, points by problem, and the headline."""
    of = sections.run_entries(summary)
    if not of:
        return
    screen = _Screen(*_headline(of))
    for warning in summary.warnings:
        screen.add("warnings", console.wrapped(shorten(console.as_called(warning), _MAX_WARNING)))
    statuses = list(summary.verdicts)[::-1]
    _show_models(screen, of, summary.unscored)
    for model in summary.models[:_MAX_MODELS]:
        name = f" of {visible(sections.model_name(model.model))}" if len(of) > 1 else ""
        screen.add("points by problem", _problems(model, statuses, name))
    screen.end()


def show_comparison(runs: Sequence[ComparedRun], differ: Differences | None = None) -> None:
    """Print the scores of several runs, and the differences between two runs."""
    of = entries(runs)
    last, said = _headline(of)
    pairs = differ.paired[:_MAX_PAIRS] if differ is not None else ()
    screen = _Screen(last, [*said, *(pair.sentence for pair in pairs)])
    for warning in (*comparison_warnings(runs), *unlike(runs)):
        screen.add("warnings", console.wrapped(shorten(console.as_called(warning), _MAX_WARNING)))
    if differ is not None:
        same, *matrix = list(sections_of(differ))[:2]
        screen.add(same.title, _section(same))
        screen.add("other results", _others(differ))
        for section in matrix:
            screen.add(section.title, _section(section))
    _show_models(screen, of, sum(run.summary.unscored for run in runs))
    screen.end()


def _show_models(screen: _Screen, of: Sequence[Entry], unscored: int) -> None:
    screen.add("pass@k", _passes(of, unscored))
    for section in (sections.medals_section(of), *part_sections(of), sections.budgets_section(of)):
        if section is not None:
            screen.add(section.title, _section(section))
    for section in sections.group_sections(of[:_MAX_MODELS]):
        if (
            not section.title.startswith("By tag")
            and section.table is not None
            and len(section.table.rows) > 1
        ):
            screen.add(section.title, _section(section))


def _others(differ: Differences) -> Iterator[str]:
    """Yield a table of the first submissions whose results differ."""
    heads, changed = ("submission", "problem", "verdict", "why"), differ.changed
    rows = [
        [
            visible(change.key),
            visible(change.problem),
            f"{change.before} -> {change.after}",
            visible("; ".join(change.why)),
        ]
        for change in changed[:_MAX_CHANGED]
    ]
    if rows:
        yield from console.table_lines(heads, rows)
    if len(changed) > _MAX_CHANGED:
        yield f"and {len(changed) - _MAX_CHANGED:,} more in the report"


def _section(section: Section) -> Iterator[str]:
    yield section.title
    if section.table is not None:
        heads = [head if head.isupper() else head[:1].lower() + head[1:] for head in section.table.heads]
        right = [head for head, side in zip(heads, section.table.sides, strict=True) if side == "r"]
        rows = [[visible(str(cell)) for cell in row] for row in section.table.rows]
        yield from console.table_lines(heads, rows, right=right, spare=right[:0:-1])
    for note in (*section.items, *section.notes):
        yield from console.wrapped(note)


def leave_if_incomplete(runs: Sequence[ComparedRun], *, silent: bool) -> None:
    """Exit with code 3 if submissions of a run have no result. If `silent`, print the warning first."""
    incomplete = [run for run in runs if not run.summary.complete]
    for run in incomplete if silent else ():
        console.tell(visible(f"{run.name}: {run.summary.warnings[0]}"))
    if incomplete:
        raise typer.Exit(console.UNSCORED)


def leave_if_suspicious(summaries: Iterable[Summary], *, allowed: bool, silent: bool) -> None:
    """Exit with code 4 if results are hardly plausible. If `silent`, print the reasons first."""
    found = [suspicion for summary in summaries for suspicion in summary.suspicious]
    for suspicion in found if silent else ():
        console.tell(visible(console.as_called(str(suspicion))))
    if found and not allowed:
        raise typer.Exit(console.SUSPICIOUS)


# --- models ------------------------------------------------------------------------------------------


def _headline(of: Sequence[Entry]) -> tuple[Section | None, Sequence[str]]:
    """Return the table with the headline number of each model, and the sentences about it."""
    if not any(entry.model.scored for entry in of):
        return None, []
    whole = headline.headline_section(of)
    assert whole.table is not None, "a headline is a table"
    shown = msgspec.structs.replace(whole.table, rows=whole.table.rows[:_MAX_MODELS])
    more = [f"and {len(of) - _MAX_MODELS} more in the report"] if len(of) > _MAX_MODELS else []
    return msgspec.structs.replace(whole, table=shown, notes=more), whole.notes


def _passes(of: Sequence[Entry], unscored: int) -> Iterator[str]:
    if (section := sections.pass_at_k_section(of, unscored)) is None:
        return
    ks = sections.known_ks(entry.model.pass_at for entry in of)
    heads = [f"pass@{k}" for k in ks]
    rows = [
        [visible(entry.name), *(_estimate(found) for found in entry.model.pass_at if found.k in ks)]
        for entry in of[:_MAX_MODELS]
    ]
    if ks:
        yield from console.wrapped(_OF_ROWS)
        yield from console.table_lines(["model", *heads], rows, right=heads, spare=heads[:0:-1])
    if any(found.value is None for entry in of for found in entry.model.pass_at if found.k in ks):
        yield from console.wrapped(sections.FEW_SUBMISSIONS_NOTE)
    for note in section.notes:
        yield from console.wrapped(note)


def _estimate(found: PassAtK) -> str:
    """Return an estimate with its 95 % interval: 42.1 % (30-55)."""
    if found.value is None or found.low is None or found.high is None:
        return sections.estimate_text(found)
    return f"{share(found.value, 1)} ({100 * found.low:.0f}-{100 * found.high:.0f})"


def _tests(part: float | None) -> list[str]:
    """Return the cells for a problem without points: the share of passed tests."""
    return [_NOTHING if part is None else f"{percent(part, 0)}%", "tests"]


# --- problems ----------------------------------------------------------------------------------------


def _problems(model: ModelSummary, statuses: Sequence[str], name: str) -> Iterator[str]:
    if name:
        yield f"Problems{name}"
    seen = [status for status in statuses if model.verdicts.get(status)]
    numbers = ["points", "of", "submissions", *seen, *(["unscored"] if model.unscored else [])]
    rows = []
    for problem in model.problems:
        counts = [str(problem.verdicts.get(status, 0)) for status in seen]
        points = _tests(problem.best_pass_rate)
        if problem.points is not None:
            most = _NOTHING if problem.max_points is None else number(problem.max_points)
            points = [number(problem.points), most]
        row = [visible(problem.problem_id), *points, str(problem.submissions), *counts]
        rows.append([*row, *([str(problem.unscored)] if model.unscored else [])])
    yield from console.table_lines(["problem", *numbers], rows, right=numbers, spare=numbers[:1:-1])


# --- a benchmark's own solutions ---------------------------------------------------------------------


def show_references(found: References, asked: ReferenceOptions, out: str) -> None:
    """Print the problems that are not reliable, and why."""
    console.show(f"Own solutions: {summarize_references(found, asked)}; see {out}/references.json")
    rows = list[tuple[str, ...]]()
    for problem in found.problems:
        if problem.reliability is not Reliability.RELIABLE:
            passed = sum(reference.status is Verdict.AC for reference in problem.references)
            number = f"{passed} of {len(problem.references)}"
            why = problem.note or _why(problem.references)
            rows.append((problem.problem, problem.reliability.value, number, why))
    if not rows:
        return
    shown = [[*map(visible, row)] for row in rows[:_MAX_PROBLEMS]]
    console.show("")
    console.show_table(("problem", "references", "passed", "why"), shown, right=("passed",))
    if len(rows) > _MAX_PROBLEMS:
        console.show(f"and {len(rows) - _MAX_PROBLEMS} more")
    console.show("")


def _why(references: tuple[Reference, ...]) -> str:
    """Return the verdict and the reason of the first solution that does not pass."""
    first = next((reference for reference in references if reference.status is not Verdict.AC), None)
    if first is None:
        return ""
    status = first.status.value if first.status else "not judged"
    place = f" on test {first.test}" if first.test else ""
    reason = " ".join(first.reason.split())
    return f"{first.solution}: {status}{place}{': ' + reason if reason else ''}"
