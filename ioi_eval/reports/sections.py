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
    make_model_anchor,
    name_problem_page,
)
from ioi_eval.reports.headline import (
    NO_NAME,
    Entry,
    choose_common_measure,
    choose_model_column_heading,
    compute_problem_measure,
    format_submission_limits,
    make_headline_column_heading,
)
from ioi_eval.reports.parts import make_report_part_sections
from ioi_eval.reports.plots import shorten_names
from ioi_eval.reports.records import LanguageSummary, Measure, ProblemSummary, Summary
from ioi_eval.rules.metrics import PassAtK, mean
from ioi_eval.rules.selection import Budget
from ioi_eval.store.rows import as_number, shorten

_LONG = 40  # maximum number of rows of a table that is not folded
_MAX_HEADING_LENGTH = 28  # maximum number of characters of a model's name in a column heading
_EASY_TO_HARD = ("introductory", "easy", "interview", "medium", "competition", "hard")


def make_run_entries(run: Summary, prefix: str = "") -> list[Entry]:
    return [
        Entry(
            name=prefix + format_model_name(model.model),
            model=model,
            limit=run.submission_limit,
            mode=run.mode,
            author=run.settings.author,
        )
        for model in run.models
    ]


def format_model_name(model: str) -> str:
    return model or NO_NAME


# --- models ------------------------------------------------------------------------------------------


def make_budgets_section(entries: Sequence[Entry]) -> Section | None:
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
    limit_text = format_submission_limits(entries)
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
        figures=figures.make_points_figures(entries),
        table=TableBlock(
            heads=[choose_model_column_heading(entries), "All", limit_text, "One", "of"], rows=rows
        ),
    )


def make_pass_at_k_section(entries: Sequence[Entry], unscored_count: int) -> Section | None:
    """Return the table of pass@k. `unscored_count`: submissions that could not be judged."""
    k_values = list_ks_with_estimate(entry.model.pass_at for entry in entries)
    missing_k_values = sorted(
        {estimate.k for entry in entries for estimate in entry.model.pass_at} - set(k_values)
    )
    if not k_values and not missing_k_values:
        return None
    rows = list[list[Cell]]()
    for entry in entries:
        estimates = {estimate.k: estimate for estimate in entry.model.pass_at}
        problems = max((estimate.problems for estimate in estimates.values()), default=0)
        cells = [format_estimate(estimates.get(k)) for k in k_values]
        rows.append([entry.name, *cells, f"{problems:,}", f"{entry.model.unscored:,}"])
    return Section(
        title="pass@k",
        text=[
            "The probability that at least one of k submissions gets full marks for its problem or subtask. "
            "It is the unbiased estimate, as a mean over all problems with a scored submission. In "
            f"parentheses is the 95 % interval, by a bootstrap over problems. {FEW_SUBMISSIONS_NOTE}"
        ],
        figures=figures.make_pass_at_k_figures(entries),
        table=TableBlock(
            heads=[
                choose_model_column_heading(entries),
                *(f"pass@{k}" for k in k_values),
                "Problems",
                "Unscored",
            ],
            rows=rows,
            kind="pass@k",
        )
        if k_values
        else None,
        notes=[
            *(_explain_missing_k(k, [entry.model.pass_at for entry in entries]) for k in missing_k_values),
            *(
                [f"These numbers do not count {format_count(unscored_count, 'unscored submission')}."]
                if unscored_count
                else []
            ),
        ],
    )


FEW_SUBMISSIONS_NOTE = (
    "A dash means that some problems or subtasks have fewer than k scored submissions (their number "
    "follows). A mean over the other problems would not be comparable."
)


def _explain_missing_k(k: int, estimates_by_model: Iterable[Iterable[PassAtK]]) -> str:
    """Return a sentence about why every model lacks an estimate for this k."""
    missing_counts = sorted(
        {estimate.lacking for column in estimates_by_model for estimate in column if estimate.k == k}
    )
    condition = f"fewer than {format_count(k, 'scored submission')}"
    if missing_counts == [0]:
        return f"pass@{k}: nothing was scored."
    if len(missing_counts) > 1:
        number_range = f"{missing_counts[0]:,} to {missing_counts[-1]:,}"
        return f"pass@{k}: {number_range} problems or subtasks have {condition}."
    subject = format_count(missing_counts[0], "problem or subtask has", "problems or subtasks have")
    return f"pass@{k}: {subject} {condition}."


def list_ks_with_estimate(estimates_by_model: Iterable[Iterable[PassAtK]]) -> list[int]:
    """Return each k for which some model has an estimate."""
    return sorted(
        {estimate.k for column in estimates_by_model for estimate in column if estimate.value is not None}
    )


def format_estimate(pass_at_k: PassAtK | None, *, brief: bool = False) -> str:
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


def make_points_sections(entries: Sequence[Entry], unscored_count: int) -> Iterator[Section]:
    """Yield the sections about the models' points: pass@k, budgets, medals, and parts of plugins."""
    present_sections = filter(
        None,
        (
            make_pass_at_k_section(entries, unscored_count),
            make_budgets_section(entries),
            make_medals_section(entries),
            *make_report_part_sections(entries),
        ),
    )
    yield from (msgspec.structs.replace(section, is_whole=True) for section in present_sections)


def make_medals_section(entries: Sequence[Entry]) -> Section | None:
    """Return a table of medals by model, contest and budget, or only the reason why there are none."""
    awards = [budget_award.award for entry in entries for budget_award in entry.model.awards]
    if not awards:
        return None
    if all(award.medal is None for award in awards):
        return Section(title="Medals", notes=list(_explain_missing_medals(entries)))
    return Section(
        title="Medals",
        text=[
            "The medals that the points would have won. A medal needs all problems of that year's contest."
        ],
        table=TableBlock(
            heads=[
                choose_model_column_heading(entries),
                "Contest",
                "All",
                format_submission_limits(entries),
                "One",
                "Remark",
            ],
            rows=[row for entry in entries for row in _make_medal_rows(entry)],
            align="lrrrrl",
        ),
    )


def _explain_missing_medals(entries: Sequence[Entry]) -> Iterator[str]:
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


def _make_medal_rows(entry: Entry) -> Iterator[list[str]]:
    """Yield a row with a model's points and medals for each year of a contest."""
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


def make_group_sections(entries: Sequence[Entry]) -> Iterator[Section]:
    """Yield tables by difficulty, tag and year, with a row for each group and a column for each model."""
    measure, problems_by_name = (
        choose_common_measure(entry.model for entry in entries),
        collect_problems(entries),
    )
    problems_of_entries = [
        (entry, {problem.problem_id: problem for problem in entry.model.problems}) for entry in entries
    ]
    bins = bin_difficulties(problem.difficulty for problem in problems_by_name.values())
    for kind, labels in _GROUP_LABELS.items():
        names_by_label: dict[str, list[str]] = {}
        for problem in problems_by_name.values():
            for label in labels(problem) or [""]:
                name = bins[label] if kind == "difficulty" else label
                names_by_label.setdefault(name, []).append(problem.problem_id)
        if names_by_label.keys() <= {""}:
            continue
        rows: list[list[Cell]] = []
        for label in sorted(names_by_label, key=make_group_sort_key):
            row: list[Cell] = [label or NO_LABEL, f"{len(names_by_label[label]):,}"]
            for entry, problems in problems_of_entries:
                values = (
                    compute_problem_measure(problems[name], measure, entry.mode)
                    for name in names_by_label[label]
                    if name in problems
                )
                row.append(_make_coloured_cell(mean([value for value in values if value is not None])))
            rows.append(row)
        yield Section(
            title=f"By {kind}: {measure.noun_phrase.removeprefix('the ')}, %",
            tab=SLICES,
            text=[f"The mean over problems of {_explain_problem_values(measure, entries)}."],
            table=TableBlock(
                heads=[kind.capitalize(), "Problems", *(entry.name for entry in entries)],
                rows=rows,
                short=_shorten_headings(entries),
                kind=f"by {kind}",
            ),
            long=len(rows) > _LONG,
        )


def _shorten_headings(entries: Sequence[Entry]) -> dict[str, str]:
    """Return short column headings, by name, for the models whose names are too long."""
    names = [entry.name for entry in entries]
    name_pairs = zip(names, shorten_names(names, _MAX_HEADING_LENGTH), strict=True)
    return {name: short_name for name, short_name in name_pairs if short_name != name}


NO_LABEL = "(none)"
_GROUP_LABELS: Mapping[str, Callable[[ProblemSummary], Sequence[str]]] = {
    "difficulty": lambda problem: [problem.difficulty] if problem.difficulty else [],
    "tag": lambda problem: problem.tags,
    "year": lambda problem: [] if problem.year is None else [str(problem.year)],
}


def collect_problems(entries: Sequence[Entry]) -> dict[str, ProblemSummary]:
    """Return a summary of each problem, from any model with submissions for it."""
    return {problem.problem_id: problem for entry in entries for problem in entry.model.problems}


def _make_coloured_cell(value: float | None, href: str = "", label: str = "") -> Cell:
    return (
        NOTHING
        if value is None
        else Link(text=label or format_percent(value, 1).removesuffix(".0"), href=href, share=value)
    )


def make_group_sort_key(label: str) -> tuple[bool, int, float, str]:
    """Return a sort key: named difficulties from easy to hard, then numbers by size, then ""."""
    position = _EASY_TO_HARD.index(label.lower()) if label.lower() in _EASY_TO_HARD else len(_EASY_TO_HARD)
    return not label, position, as_number(label.partition(" to ")[0]) or 0, label


# --- problems ----------------------------------------------------------------------------------------


def make_problems_section(entries: Sequence[Entry], *, has_pages: bool = False) -> Section:
    """Return a table with a row for each problem and a column for each model.

    `has_pages`: the report has pages in report/, so that a cell links to its submissions.
    """
    measure = choose_common_measure(entry.model for entry in entries)
    with_points = measure is Measure.POINTS
    columns = [{problem.problem_id: problem for problem in entry.model.problems} for entry in entries]
    rows: list[list[Cell]] = []
    for name in sorted(collect_problems(entries)):
        page = f"{FOLDER}/{name_problem_page(name)}" if has_pages else ""
        cells, values = list[Cell](), list[float | None]()
        for entry, column in zip(entries, columns, strict=True):
            summary = column.get(name)
            value = None if summary is None else compute_problem_measure(summary, measure, entry.mode)
            values.append(value)
            href = f"{page}#{make_model_anchor(entry.model.model)}" if has_pages and value is not None else ""
            label = format_number(summary.points) if summary is not None and with_points else ""
            cells.append(_make_coloured_cell(value, href, label))
        problem_summaries = [column[name] for column in columns if name in column]
        has_page = has_pages and any(problem.scored for problem in problem_summaries)
        mean_value = mean([value for value in values if value is not None])
        second_cell = (
            format_max_points(problem_summaries)
            if with_points
            else NOTHING
            if mean_value is None
            else format_percent(mean_value, 1)
        )
        rows.append([Link(text=name, href=page) if has_page else name, second_cell, *cells])
    author = choose_model_column_heading(entries).lower()
    return Section(
        title=f"Problems by {author}s",
        tab=PROBLEMS,
        text=[
            f"The points that all of a {author}'s submissions for a problem earn together, coloured by share."
            if with_points
            else f"Of each problem {_explain_problem_values(measure, entries)}."
        ],
        table=TableBlock(
            heads=["Problem", "of" if with_points else "Mean", *(entry.name for entry in entries)],
            rows=rows,
            short=_shorten_headings(entries),
            kind="problems",
        ),
    )


def _explain_problem_values(measure: Measure, entries: Iterable[Entry]) -> str:
    """Return the meaning of a cell with a problem's value."""
    author = choose_model_column_heading(entries).lower()
    match measure:
        case Measure.PASS_AT_1:
            return f"pass@1, the share of a {author}'s submissions that get full marks"
        case Measure.POINTS:
            return f"the share of its points that all of a {author}'s submissions earn together"
        case Measure.SOLVED:
            return "100 if it is solved"


def format_points(problem: ProblemSummary) -> str:
    """Return a problem's points, or the best submission's share of passed tests if it has no subtasks."""
    if not problem.scored:
        return NOTHING
    return (
        format_share(problem.best_pass_rate, 1) if problem.points is None else format_number(problem.points)
    )


def format_max_points(problems: Sequence[ProblemSummary]) -> str:
    max_points = next((problem.max_points for problem in problems if problem.max_points is not None), None)
    if max_points is not None:
        return format_number(max_points)
    return "tests" if any(problem.scored for problem in problems) else NOTHING


def make_limit_usage_section(entries: Sequence[Entry]) -> Section | None:
    """Return a table of the shares of the limits that submissions used, or None without limits."""
    resources = [
        resource
        for resource in ("time", "memory")
        if any(usage.what == resource for entry in entries for usage in entry.model.uses)
    ]
    rows = []
    for entry in entries:
        usage_by_resource = {usage.what: usage for usage in entry.model.uses}
        cells = [
            format_share(usage_by_resource[resource].compute_fraction_below_usage(limit_share), 1)
            if resource in usage_by_resource
            else NOTHING
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
                choose_model_column_heading(entries),
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


def make_verdicts_section(
    entries: Sequence[Entry], total_by_verdict: Mapping[str, int], unscored_count: int
) -> Section:
    statuses = list(total_by_verdict)[::-1]
    rows = [
        [entry.name, *format_verdict_counts(entry.model.verdicts, statuses), f"{entry.model.unscored:,}"]
        for entry in entries
    ]
    if len(entries) > 1:
        rows.append(["All", *format_verdict_counts(total_by_verdict, statuses), f"{unscored_count:,}"])
    return Section(
        title="Verdicts",
        tab=FAILED,
        is_whole=True,
        text=["Submissions by verdict. Each submission counts once, with the worst verdict of its subtasks."],
        table=TableBlock(
            heads=[choose_model_column_heading(entries), *statuses, "Unscored"],
            rows=rows,
            meanings={str(status): _VERDICT_MEANINGS[status] for status in statuses},
        ),
    )


def format_verdict_counts(verdict_counts: Mapping[str, int], verdicts_to_show: Sequence[str]) -> list[str]:
    return [f"{verdict_counts.get(status, 0):,}" for status in verdicts_to_show]


_MAX_CAUSES = 40  # maximum number of causes in the table; all other causes are combined in a single row
_MAX_NAME = 200  # maximum characters of a name in the page's data


def make_failure_causes_section(run: Summary, make_link: Callable[[str], Link]) -> Section:
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


def make_explorer_json(entries: Sequence[Entry], run: Summary | None = None) -> str:
    """Return the JSON for report.js. It has aggregates, so that its size does not grow with the rows.

    `entries`: the models, in the order of the tables. `run`: the run of all models, or None.
    """
    measure, problems_by_name = (
        choose_common_measure(entry.model for entry in entries),
        collect_problems(entries),
    )
    names = sorted(problems_by_name)
    indexes = {name: index for index, name in enumerate(names)}
    shown_causes = [cause.cause for cause in run.causes[:_MAX_CAUSES]] if run is not None else []
    cause_indexes = {cause: index for index, cause in enumerate(shown_causes)}
    languages = sorted(
        {name for entry in entries for problem in entry.model.problems for name in problem.languages}
    )
    values: list[list[float | None]] = []
    cells, unscored = list[list[Any]](), list[list[int]]()
    for model_index, entry in enumerate(entries):
        column: list[float | None] = [None] * len(names)
        for problem in entry.model.problems:
            index = indexes[problem.problem_id]
            column[index] = _round_value(compute_problem_measure(problem, measure, entry.mode))
            if problem.unscored:
                unscored.append([model_index, index, problem.unscored])
            for language, tally in problem.languages.items():
                counts = Counter[int]()
                for cause, submissions in tally.causes.items():
                    counts[cause_indexes.get(cause, len(shown_causes))] += submissions
                no_program_count = sum(
                    submission_count
                    for cause, submission_count in tally.causes.items()
                    if cause.startswith(Reason.NO_PROGRAM)
                )
                value = _compute_language_measure(tally, problem, measure)
                cause_numbers = [number for pair in sorted(counts.items()) for number in pair]
                cells.append(
                    [
                        model_index,
                        index,
                        languages.index(language),
                        tally.scored,
                        value,
                        no_program_count,
                        *cause_numbers,
                    ]
                )
        values.append(column)
    solved_counts = [
        [int(name in problems and problems[name].is_solved(entry.mode)) for name in names]
        for entry in entries
        for problems in [{problem.problem_id: problem for problem in entry.model.problems}]
    ]
    problems = [problems_by_name[name] for name in names]
    explorer_data = {
        **collect_filter_values(entries, problems, languages),
        "measure": measure,
        "head": make_headline_column_heading(measure, entries),
        "noun": measure.noun_phrase,
        "worth": [problem.max_points or 0.0 for problem in problems] if measure is Measure.POINTS else [],
        "values": values,
        "solved": solved_counts,
        "cells": cells,
        "unscored": unscored,
    }
    return msgspec.json.encode(explorer_data).decode()


def _compute_language_measure(
    language_summary: LanguageSummary, problem: ProblemSummary, measure: Measure
) -> float | None:
    """Return the headline of a problem's submissions in one language, or None if it is undefined there."""
    match measure:
        case Measure.PASS_AT_1:
            return _round_value(language_summary.pass_at_1)
        case Measure.POINTS if language_summary.points is not None and problem.max_points:
            return _round_value(language_summary.points / problem.max_points)
    return None


def make_list_filters_json(run: Summary) -> str:
    """Return the JSON of the filters, for pages that list submissions."""
    entries = make_run_entries(run)
    problems_by_name = collect_problems(entries)
    languages = {name for entry in entries for problem in entry.model.problems for name in problem.languages}
    values = collect_filter_values(entries, [*problems_by_name.values()], sorted(languages))
    return msgspec.json.encode(values).decode()


def collect_filter_values(
    entries: Sequence[Entry], problems: Sequence[ProblemSummary], languages: Sequence[str]
) -> dict[str, Any]:
    """Return the values that a page's filters offer."""
    bins = bin_difficulties([problem.difficulty for problem in problems])
    return {
        "author": choose_model_column_heading(entries).lower(),
        "models": [_shorten_label(entry.name) for entry in entries],
        "problems": [_shorten_label(problem.problem_id) for problem in problems],
        "languages": [*map(_shorten_label, languages)],
        "difficulty": [_shorten_label(bins[problem.difficulty]) for problem in problems],
        "tags": [[*map(_shorten_label, problem.tags)] for problem in problems],
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
    steps = (digit * 10**exponent for exponent in count() for digit in (1, 2, 5))
    step = next(step for step in steps if span / step < _MAX_BINS)
    low_by_name = {name: int(number // step * step) for name, number in numbers.items()}
    return {name: f"{low_by_name[name]} to {low_by_name[name] + step - 1}" if name else "" for name in names}


def _shorten_label(label: str) -> str:
    return shorten(visible(label), _MAX_NAME)


def _round_value(value: float | None) -> float | None:
    return None if value is None else int(10_000 * value + 1e-6) / 10_000
