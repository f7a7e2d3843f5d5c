"""Sections and tables that compare models within a run or across runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import msgspec

from ioi_eval.model.text import format_count, visible
from ioi_eval.model.values import Reason, Verdict
from ioi_eval.reports import figures
from ioi_eval.reports.document import (
    FAILED,
    FOLDER,
    NOTHING,
    PROBLEMS,
    SLICES,
    Cell,
    Link,
    Links,
    Section,
    TableBlock,
    format_interval,
    format_number,
    format_percent,
    format_share,
    model_anchor,
    problem_page,
)
from ioi_eval.reports.headline import (
    NO_NAME,
    Entry,
    author_head,
    common_measure,
    headline_head,
    limits_text,
    problem_value,
)
from ioi_eval.reports.parts import part_sections
from ioi_eval.reports.plots import shorten_names
from ioi_eval.reports.records import LanguageSummary, Measure, ProblemSummary, Summary
from ioi_eval.rules.metrics import PassAtK, mean
from ioi_eval.rules.selection import Budget
from ioi_eval.store.rows import as_number, shorten

# Minimum rows of a folded table, and maximum characters of a model's name in a head.
_LONG, _MAX_HEAD = 40, 28
_EASY_TO_HARD = ("introductory", "easy", "interview", "medium", "competition", "hard")


def run_entries(run: Summary, prefix: str = "") -> list[Entry]:
    return [
        Entry(
            name=prefix + model_name(model.model),
            model=model,
            limit=run.submission_limit,
            mode=run.mode,
            author=run.settings.author,
        )
        for model in run.models
    ]


def model_name(model: str) -> str:
    return model or NO_NAME


# --- models ------------------------------------------------------------------------------------------


def budgets_section(entries: Sequence[Entry]) -> Section | None:
    """Return a table of points by the maximum number of submissions."""
    rows = [
        [
            entry.name,
            *(format_number(entry.model.budgets[budget]) for budget in Budget),
            format_number(entry.model.max_points),
        ]
        for entry in entries
        if entry.model.budgets
    ]
    if not rows:
        return None
    limit_text = limits_text(entries)
    return Section(
        title="Points by the number of submissions",
        text=[
            "All: every submission of the run counts. One: only the first submission with the highest target "
            "counts. The highest target is the whole problem, or else the last targeted subtask.",
            f"{limit_text}: this many submissions count for each problem. They are chosen without their "
            "scores, in rounds over the unsolved subtasks from the last to the first. For a subtask, the "
            "submission with the best score on the samples comes first, and of equal submissions the "
            "longest.",
        ],
        figures=figures.points_figures(entries),
        table=TableBlock(heads=[author_head(entries), "All", limit_text, "One", "of"], rows=rows),
    )


def pass_at_k_section(entries: Sequence[Entry], unscored: int) -> Section | None:
    """Return the table of pass@k. `unscored`: submissions that could not be judged."""
    ks = known_ks(entry.model.pass_at for entry in entries)
    missing_ks = sorted({passed.k for entry in entries for passed in entry.model.pass_at} - set(ks))
    if not ks and not missing_ks:
        return None
    rows = list[list[Cell]]()
    for entry in entries:
        estimates = {passed.k: passed for passed in entry.model.pass_at}
        problems = max((passed.problems for passed in estimates.values()), default=0)
        cells = [estimate_text(estimates.get(k)) for k in ks]
        rows.append([entry.name, *cells, f"{problems:,}", f"{entry.model.unscored:,}"])
    return Section(
        title="pass@k",
        text=[
            "The probability that at least one of k submissions gets full marks for its problem or subtask. "
            "It is the unbiased estimate, as a mean over all problems with a scored submission. In "
            f"parentheses is the 95 % interval, by a bootstrap over problems. {FEW_SUBMISSIONS_NOTE}"
        ],
        figures=figures.pass_at_k_figures(entries),
        table=TableBlock(
            heads=[author_head(entries), *(f"pass@{k}" for k in ks), "Problems", "Unscored"], rows=rows
        )
        if ks
        else None,
        notes=[
            *(_missing_k_sentence(k, [entry.model.pass_at for entry in entries]) for k in missing_ks),
            *(
                [f"These numbers do not count {format_count(unscored, 'unscored submission')}."]
                if unscored
                else []
            ),
        ],
    )


FEW_SUBMISSIONS_NOTE = (
    "A dash means that some problems or subtasks have fewer than k scored submissions (their number "
    "follows). A mean over the other problems would not be comparable."
)


def _missing_k_sentence(k: int, columns: Iterable[Iterable[PassAtK]]) -> str:
    """Return a sentence about why every model lacks an estimate for this k."""
    counts = sorted({passed.lacking for column in columns for passed in column if passed.k == k})
    condition = f"fewer than {format_count(k, 'scored submission')}"
    if counts == [0]:
        return f"pass@{k}: nothing was scored."
    if len(counts) > 1:
        return f"pass@{k}: {counts[0]:,} to {counts[-1]:,} problems or subtasks have {condition}."
    subject = format_count(counts[0], "problem or subtask has", "problems or subtasks have")
    return f"pass@{k}: {subject} {condition}."


def known_ks(columns: Iterable[Iterable[PassAtK]]) -> list[int]:
    """Return each k for which some model has an estimate."""
    return sorted({passed.k for column in columns for passed in column if passed.value is not None})


def estimate_text(pass_at_k: PassAtK | None, *, brief: bool = False) -> str:
    """Return an estimate as `42.1 % (30.0 to 55.2)`, or how many problems have fewer than k submissions.

    `brief` omits the interval.
    """
    if pass_at_k is None:
        return NOTHING
    if pass_at_k.value is None:
        return f"{NOTHING} ({pass_at_k.lacking:,} lack)" if pass_at_k.lacking else NOTHING
    interval = (
        ""
        if brief or pass_at_k.low is None or pass_at_k.high is None
        else format_interval(pass_at_k.low, pass_at_k.high)
    )
    return format_share(pass_at_k.value, 1) + interval


def points_sections(entries: Sequence[Entry], unscored: int) -> Iterator[Section]:
    """Yield the sections about the models' points: pass@k, budgets, medals, and parts of plugins."""
    present_sections = filter(
        None,
        (
            pass_at_k_section(entries, unscored),
            budgets_section(entries),
            medals_section(entries),
            *part_sections(entries),
        ),
    )
    yield from (msgspec.structs.replace(section, is_whole=True) for section in present_sections)


def medals_section(entries: Sequence[Entry]) -> Section | None:
    """Return a table of medals by model, contest and budget, or only the reason why there are none."""
    awards = [budget_award.award for entry in entries for budget_award in entry.model.awards]
    if not awards:
        return None
    if all(award.medal is None for award in awards):
        return Section(title="Medals", notes=list(_no_medals_sentences(entries)))
    return Section(
        title="Medals",
        text=[
            "The medals that the points would have won. A medal needs all problems of that year's contest."
        ],
        table=TableBlock(
            heads=[author_head(entries), "Contest", "All", limits_text(entries), "One", "Remark"],
            rows=[row for entry in entries for row in _award_rows(entry)],
            align="lrrrrl",
        ),
    )


def _no_medals_sentences(entries: Sequence[Entry]) -> Iterator[str]:
    """Yield a sentence for each year about why medals are missing. Runs may have different reasons."""
    years: dict[int, dict[str, list[str]]] = {}
    for entry in entries:
        for year, reason in dict.fromkeys(
            (budget_award.award.year, budget_award.award.reason) for budget_award in entry.model.awards
        ):
            years.setdefault(year, {}).setdefault(reason, []).append(entry.name)
    for year, reasons in years.items():
        sentences = [
            reason if len(reasons) == 1 else f"{reason} ({', '.join(names)})"
            for reason, names in reasons.items()
        ]
        yield f"{year}: {'; '.join(sentences)}."


def _award_rows(entry: Entry) -> Iterator[list[str]]:
    for year in sorted({budget_award.award.year for budget_award in entry.model.awards}):
        awards = {
            budget_award.budget: budget_award.award
            for budget_award in entry.model.awards
            if budget_award.award.year == year
        }
        cells = [
            f"{format_number(awards[budget].points)} {awards[budget].medal or NOTHING}" for budget in Budget
        ]
        reasons = dict.fromkeys(award.reason for award in awards.values() if award.reason)
        unscored = sum(problem.unscored for problem in entry.model.problems if problem.year == year)
        remark = f"{unscored:,} unscored: it may be more" if unscored else ""
        yield [entry.name, str(year), *cells, "; ".join(reasons) or remark]


# --- sections about groups of problems ---------------------------------------------------------------


def group_sections(entries: Sequence[Entry]) -> Iterator[Section]:
    """Yield tables by difficulty, tag and year, with a row for each group and a column for each model."""
    measure, problems_by_name = common_measure(entry.model for entry in entries), collect_problems(entries)
    problems_of_entries = [
        (entry, {problem.problem_id: problem for problem in entry.model.problems}) for entry in entries
    ]
    bins = bin_difficulties(problem.difficulty for problem in problems_by_name.values())
    for kind, labels in _GROUP_LABELS.items():
        members: dict[str, list[str]] = {}
        for problem in problems_by_name.values():
            for label in labels(problem) or [""]:
                name = bins[label] if kind == "difficulty" else label
                members.setdefault(name, []).append(problem.problem_id)
        if members.keys() <= {""}:
            continue
        rows: list[list[Cell]] = []
        for label in sorted(members, key=group_sort_key):
            row: list[Cell] = [label or NO_LABEL, f"{len(members[label]):,}"]
            for entry, problems in problems_of_entries:
                values = (
                    problem_value(problems[name], measure, entry.mode)
                    for name in members[label]
                    if name in problems
                )
                row.append(_coloured_cell(mean([value for value in values if value is not None])))
            rows.append(row)
        yield Section(
            title=f"By {kind}: {measure.noun.removeprefix('the ')}, %",
            tab=SLICES,
            text=[f"The mean over problems of {_problem_meaning(measure, entries)}."],
            table=TableBlock(
                heads=[kind.capitalize(), "Problems", *(entry.name for entry in entries)],
                rows=rows,
                short=_short_heads(entries),
                kind=f"by {kind}",
            ),
            long=len(rows) > _LONG,
        )


def _short_heads(entries: Sequence[Entry]) -> dict[str, str]:
    """Return short names for those models whose names are too long for a column."""
    names = [entry.name for entry in entries]
    pairs = zip(names, shorten_names(names, _MAX_HEAD), strict=True)
    return {name: short for name, short in pairs if short != name}


NO_LABEL = "(none)"
_GROUP_LABELS: Mapping[str, Callable[[ProblemSummary], Sequence[str]]] = {
    "difficulty": lambda problem: [problem.difficulty] if problem.difficulty else [],
    "tag": lambda problem: problem.tags,
    "year": lambda problem: [] if problem.year is None else [str(problem.year)],
}


def collect_problems(entries: Sequence[Entry]) -> dict[str, ProblemSummary]:
    """Return a summary of each problem, from any model with submissions for it."""
    return {problem.problem_id: problem for entry in entries for problem in entry.model.problems}


def _coloured_cell(value: float | None, href: str = "", label: str = "") -> Cell:
    return (
        NOTHING
        if value is None
        else Link(text=label or format_percent(value, 1).removesuffix(".0"), href=href, share=value)
    )


def group_sort_key(label: str) -> tuple[bool, int, float, str]:
    """Return a sort key: named difficulties from easy to hard, then numbers by size, then ""."""
    position = _EASY_TO_HARD.index(label.lower()) if label.lower() in _EASY_TO_HARD else len(_EASY_TO_HARD)
    return not label, position, as_number(label.partition(" to ")[0]) or 0, label


# --- problems ----------------------------------------------------------------------------------------


def problems_section(entries: Sequence[Entry], *, has_pages: bool = False) -> Section:
    """Return a table with a row for each problem and a column for each model.

    `has_pages`: the report has pages in report/, so that a cell links to its submissions.
    """
    measure = common_measure(entry.model for entry in entries)
    with_points = measure is Measure.POINTS
    columns = [{problem.problem_id: problem for problem in entry.model.problems} for entry in entries]
    rows: list[list[Cell]] = []
    for name in sorted(collect_problems(entries)):
        page = f"{FOLDER}/{problem_page(name)}" if has_pages else ""
        cells, values = list[Cell](), list[float | None]()
        for entry, column in zip(entries, columns, strict=True):
            summary = column.get(name)
            value = None if summary is None else problem_value(summary, measure, entry.mode)
            values.append(value)
            href = f"{page}#{model_anchor(entry.model.model)}" if has_pages and value is not None else ""
            label = format_number(summary.points) if summary is not None and with_points else ""
            cells.append(_coloured_cell(value, href, label))
        problem_summaries = [column[name] for column in columns if name in column]
        has_page = has_pages and any(problem.scored for problem in problem_summaries)
        mean_value = mean([value for value in values if value is not None])
        second_cell = (
            max_points_text(problem_summaries)
            if with_points
            else NOTHING
            if mean_value is None
            else format_percent(mean_value, 1)
        )
        rows.append([Link(text=name, href=page) if has_page else name, second_cell, *cells])
    author = author_head(entries).lower()
    return Section(
        title=f"Problems by {author}s",
        tab=PROBLEMS,
        text=[
            f"The points that all of a {author}'s submissions for a problem earn together, coloured by share."
            if with_points
            else f"Of each problem {_problem_meaning(measure, entries)}."
        ],
        table=TableBlock(
            heads=["Problem", "of" if with_points else "Mean", *(entry.name for entry in entries)],
            rows=rows,
            short=_short_heads(entries),
            kind="problems",
        ),
    )


def _problem_meaning(measure: Measure, entries: Iterable[Entry]) -> str:
    """Return the meaning of a cell with a problem's value."""
    author = author_head(entries).lower()
    match measure:
        case Measure.PASS_AT_1:
            return f"pass@1, the share of a {author}'s submissions that get full marks"
        case Measure.POINTS:
            return f"the share of its points that all of a {author}'s submissions earn together"
        case Measure.SOLVED:
            return "100 if it is solved"


def points_text(problem: ProblemSummary) -> str:
    """Return a problem's points; without subtasks the highest share of tests that a submission passed."""
    if not problem.scored:
        return NOTHING
    return (
        format_share(problem.best_pass_rate, 1) if problem.points is None else format_number(problem.points)
    )


def max_points_text(problems: Sequence[ProblemSummary]) -> str:
    max_points = next((problem.max_points for problem in problems if problem.max_points is not None), None)
    if max_points is not None:
        return format_number(max_points)
    return "tests" if any(problem.scored for problem in problems) else NOTHING


def limit_usage_section(entries: Sequence[Entry]) -> Section | None:
    """Return a table of the shares of the limits that submissions used, or None without limits."""
    resources = [
        resource
        for resource in ("time", "memory")
        if any(usage.what == resource for entry in entries for usage in entry.model.uses)
    ]
    rows = []
    for entry in entries:
        usages = {usage.what: usage for usage in entry.model.uses}
        cells = [
            format_share(usages[resource].within(limit_share), 1) if resource in usages else NOTHING
            for resource in resources
            for limit_share in (0.5, 1.0)
        ]
        rows.append([entry.name, *cells])
    if not resources:
        return None
    return Section(
        title="Time and memory",
        tab=SLICES,
        is_whole=True,
        text=[
            "How many submissions need at most half, or at most the whole, of a limit on their hardest test."
        ],
        table=TableBlock(
            heads=[
                author_head(entries),
                *(
                    f"{resource.capitalize()}, {limit_share}"
                    for resource in resources
                    for limit_share in ("half", "whole")
                ),
            ],
            rows=rows,
        ),
    )


_VERDICT_MEANINGS: Mapping[str, str] = {
    Verdict.AC: "accepted, full marks",
    Verdict.PA: "partially accepted",
    Verdict.WA: "wrong answer",
    Verdict.OLE: "wrote more than the output limit",
    Verdict.TLE: "took longer than the time limit",
    Verdict.MLE: "took more than the memory limit",
    Verdict.RE: "ended with an error",
    Verdict.CE: "does not compile",
    Reason.NO_PROGRAM: "the reply, or the column of programs, holds none",
    Verdict.SKIPPED: "ran no test, because no test could change its score",
}


def verdicts_section(entries: Sequence[Entry], total: Mapping[str, int], unscored: int) -> Section:
    statuses = list(total)[::-1]
    rows = [
        [entry.name, *count_cells(entry.model.verdicts, statuses), f"{entry.model.unscored:,}"]
        for entry in entries
    ]
    if len(entries) > 1:
        rows.append(["All", *count_cells(total, statuses), f"{unscored:,}"])
    return Section(
        title="Verdicts",
        tab=FAILED,
        is_whole=True,
        text=["Submissions by verdict. Each submission counts once, with the worst verdict of its subtasks."],
        table=TableBlock(
            heads=[author_head(entries), *statuses, "Unscored"],
            rows=rows,
            meanings={str(status): _VERDICT_MEANINGS[status] for status in statuses},
        ),
    )


def count_cells(verdict_counts: Mapping[str, int], statuses: Sequence[str]) -> list[str]:
    return [f"{verdict_counts.get(status, 0):,}" for status in statuses]


_MAX_CAUSES = 40  # maximum number of causes in the table; all other causes are combined in a single row
_MAX_NAME = 200  # maximum characters of a name in the page's data


def causes_section(run: Summary, make_link: Callable[[str], Link]) -> Section:
    """Return a table of reasons why submissions lack full marks, with examples."""
    shown_causes, other_causes = run.causes[:_MAX_CAUSES], run.causes[_MAX_CAUSES:]
    rows: list[list[Cell]] = []
    for cause in shown_causes:
        examples = Links(links=[make_link(key) for key in cause.examples])
        verdict, _, line = cause.cause.partition(": ")
        rows.append(
            [verdict, line, f"{cause.submissions:,}", format_share(cause.submissions, run.scored), examples]
        )
    if other_causes:
        submissions = sum(cause.submissions for cause in other_causes)
        label = format_count(len(other_causes), "other cause")
        rows.append([NOTHING, label, f"{submissions:,}", format_share(submissions, run.scored), ""])
    failed_count = sum(cause.submissions for cause in run.causes)
    return Section(
        title="Why submissions fail",
        tab=FAILED,
        text=[
            f"{failed_count:,} of"
            f" {format_count(run.scored, 'scored submission')} have less than full marks. Each "
            "submission counts once, by its verdict and, if several submissions share it, the first line "
            "of the compiler or run-time error (without names in quotes). A sample is a test of a subtask "
            "without points."
        ],
        table=TableBlock(
            heads=["Verdict", "Line", "Submissions", "Share", "For example"],
            rows=rows,
            align="llrrl",
            kind="causes",
        ),
    )


# --- figures of each model, problem and language, for the filters of the page ----------------------


def explorer_json(entries: Sequence[Entry], run: Summary | None = None) -> str:
    """Return the JSON for report.js. It has aggregates, so that its size does not grow with the rows.

    `entries`: the models, in the order of the tables. `run`: the run of all models, or None.
    """
    measure, problems_by_name = common_measure(entry.model for entry in entries), collect_problems(entries)
    names = sorted(problems_by_name)
    indexes = {name: index for index, name in enumerate(names)}
    shown_causes = [cause.cause for cause in run.causes[:_MAX_CAUSES]] if run is not None else []
    cause_indexes = {cause: index for index, cause in enumerate(shown_causes)}
    languages = sorted(
        {name for entry in entries for problem in entry.model.problems for name in problem.languages}
    )
    values: list[list[float | None]] = []
    cells, unscored = list[list[Any]](), list[list[int]]()
    for model, entry in enumerate(entries):
        column: list[float | None] = [None] * len(names)
        for problem in entry.model.problems:
            index = indexes[problem.problem_id]
            column[index] = _round_value(problem_value(problem, measure, entry.mode))
            if problem.unscored:
                unscored.append([model, index, problem.unscored])
            for language, tally in problem.languages.items():
                counts = Counter[int]()
                for cause, submissions in tally.causes.items():
                    counts[cause_indexes.get(cause, len(shown_causes))] += submissions
                no_program_count = sum(
                    n for cause, n in tally.causes.items() if cause.startswith(Reason.NO_PROGRAM)
                )
                value = _language_value(tally, problem, measure)
                cause_numbers = [number for pair in sorted(counts.items()) for number in pair]
                cells.append(
                    [
                        model,
                        index,
                        languages.index(language),
                        tally.scored,
                        value,
                        no_program_count,
                        *cause_numbers,
                    ]
                )
        values.append(column)
    solved = [
        [int(name in problems and problems[name].is_solved(entry.mode)) for name in names]
        for entry in entries
        for problems in [{problem.problem_id: problem for problem in entry.model.problems}]
    ]
    problems = [problems_by_name[name] for name in names]
    data = {
        **filter_values(entries, problems, languages),
        "measure": measure,
        "head": headline_head(measure, entries),
        "noun": measure.noun,
        "worth": [problem.max_points or 0.0 for problem in problems] if measure is Measure.POINTS else [],
        "values": values,
        "solved": solved,
        "cells": cells,
        "unscored": unscored,
    }
    return msgspec.json.encode(data).decode()


def _language_value(tally: LanguageSummary, problem: ProblemSummary, measure: Measure) -> float | None:
    """Return the headline of a problem's submissions in one language, or None if it is undefined there."""
    match measure:
        case Measure.PASS_AT_1:
            return _round_value(tally.pass_at_1)
        case Measure.POINTS if tally.points is not None and problem.max_points:
            return _round_value(tally.points / problem.max_points)
    return None


def filters_json(run: Summary) -> str:
    """Return the JSON of the filters, for pages that list submissions."""
    entries = run_entries(run)
    problems_by_name = collect_problems(entries)
    languages = {name for entry in entries for problem in entry.model.problems for name in problem.languages}
    values = filter_values(entries, [*problems_by_name.values()], sorted(languages))
    return msgspec.json.encode(values).decode()


def filter_values(
    entries: Sequence[Entry], problems: Sequence[ProblemSummary], languages: Sequence[str]
) -> dict[str, Any]:
    """Return the values that a page's filters offer."""
    bins = bin_difficulties([problem.difficulty for problem in problems])
    return {
        "author": author_head(entries).lower(),
        "models": [_bounded_text(entry.name) for entry in entries],
        "problems": [_bounded_text(problem.problem_id) for problem in problems],
        "languages": [*map(_bounded_text, languages)],
        "difficulty": [_bounded_text(bins[problem.difficulty]) for problem in problems],
        "tags": [[*map(_bounded_text, problem.tags)] for problem in problems],
        "years": ["" if problem.year is None else str(problem.year) for problem in problems],
        "dates": [
            problem.date[:7] or (str(problem.year) if problem.year is not None else "")
            for problem in problems
        ],
    }


_MAX_BINS = 8


def bin_difficulties(difficulties: Iterable[str]) -> dict[str, str]:
    """Return the bin of each difficulty: a range if there are many numbers, else the difficulty itself."""
    names = set(difficulties)
    numbers = {name: number for name in names if (number := as_number(name)) is not None}
    if len(numbers) <= _MAX_BINS or names - numbers.keys() - {""}:
        return {name: name for name in names}
    span = max(numbers.values()) - min(numbers.values())
    steps = (digit * 10**size for size in count() for digit in (1, 2, 5))
    step = next(step for step in steps if span / step < _MAX_BINS)
    lows = {name: int(number // step * step) for name, number in numbers.items()}
    return {name: f"{lows[name]} to {lows[name] + step - 1}" if name else "" for name in names}


def _bounded_text(label: str) -> str:
    return shorten(visible(label), _MAX_NAME)


def _round_value(value: float | None) -> float | None:
    return None if value is None else int(10_000 * value + 1e-6) / 10_000
