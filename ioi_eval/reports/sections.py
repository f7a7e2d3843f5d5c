"""Sections and tables that compare models, of one run or of several runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import msgspec

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
    between,
    counted,
    model_anchor,
    number,
    percent,
    problem_page,
    share,
    visible,
)
from ioi_eval.reports.headline import NO_NAME, Entry, head_of, limits, measure_of, value_of
from ioi_eval.reports.parts import sections_of_parts
from ioi_eval.reports.plots import apart
from ioi_eval.reports.records import LanguageSummary, Measure, ProblemSummary, Summary
from ioi_eval.rules.metrics import PassAtK, mean
from ioi_eval.rules.selection import Budget
from ioi_eval.store.rows import as_number, shorten

_LONG, _MAX_HEAD = 40, 24  # rows of a folded table, and maximum length of a model's name, in characters
_EASY_TO_HARD = ("introductory", "easy", "interview", "medium", "competition", "hard")


def entries(run: Summary, prefix: str = "") -> list[Entry]:
    return [
        Entry(name=prefix + model_name(model.model), model=model, limit=run.submission_limit, mode=run.mode)
        for model in run.models
    ]


def model_name(model: str) -> str:
    return model or NO_NAME


# --- models ------------------------------------------------------------------------------------------


def budgets(of: Sequence[Entry]) -> Section | None:
    """Return a table of points by the number of submissions that may be handed in."""
    rows = [
        [
            entry.name,
            *(number(entry.model.budgets[budget]) for budget in Budget),
            number(entry.model.max_points),
        ]
        for entry in of
        if entry.model.budgets
    ]
    if not rows:
        return None
    limit = limits(of)
    return Section(
        title="Points by the number of submissions",
        text=[
            "All: every submission of the run counts. One: one submission counts, the first of those with "
            "the highest target, which is the whole problem or else the last subtask that one targets.",
            f"{limit}: this many submissions count for each problem. They are chosen without their scores, "
            "in rounds over the unsolved subtasks from the last to the first. For a subtask, the submission "
            "with the best score on the samples comes first, and of equal ones the longest.",
        ],
        figures=figures.by_number(of),
        table=TableBlock(heads=["Model", "All", limit, "One", "of"], rows=rows),
    )


def passes(of: Sequence[Entry], unscored: int) -> Section | None:
    """Return the table of pass@k. `unscored`: submissions that could not be judged."""
    ks = known_ks(entry.model.pass_at for entry in of)
    missing = sorted({passed.k for entry in of for passed in entry.model.pass_at} - set(ks))
    if not ks and not missing:
        return None
    rows = list[list[Cell]]()
    for entry in of:
        estimates = {passed.k: passed for passed in entry.model.pass_at}
        problems = max((passed.problems for passed in estimates.values()), default=0)
        cells = [estimate(estimates.get(k)) for k in ks]
        rows.append([entry.name, *cells, f"{problems:,}", f"{entry.model.unscored:,}"])
    return Section(
        title="pass@k",
        text=[
            "The probability that at least one of k submissions gets full marks for its problem or subtask. "
            "It is the unbiased estimate, as a mean over all problems with a scored submission. In "
            f"parentheses is the 95 % interval, by a bootstrap over problems. {LACKING}"
        ],
        figures=figures.passes(of),
        table=TableBlock(heads=["Model", *(f"pass@{k}" for k in ks), "Problems", "Unscored"], rows=rows)
        if ks
        else None,
        notes=[
            *(_missing(k, [entry.model.pass_at for entry in of]) for k in missing),
            *(
                [f"These numbers do not count {counted(unscored, 'unscored submission')}."]
                if unscored
                else []
            ),
        ],
    )


LACKING = (
    "A dash means that some problems or subtasks have fewer than k scored submissions (their number "
    "follows). A mean over the other problems would not be comparable."
)


def _missing(k: int, columns: Iterable[Iterable[PassAtK]]) -> str:
    """Return a sentence that says why no model has an estimate for this k."""
    numbers = sorted({passed.lacking for column in columns for passed in column if passed.k == k})
    fewer = f"fewer than {counted(k, 'scored submission')}"
    if numbers == [0]:
        return f"pass@{k}: nothing was scored."
    if len(numbers) > 1:
        return f"pass@{k}: {numbers[0]:,} to {numbers[-1]:,} problems or subtasks have {fewer}."
    subject = counted(numbers[0], "problem or subtask has", "problems or subtasks have")
    return f"pass@{k}: {subject} {fewer}."


def known_ks(columns: Iterable[Iterable[PassAtK]]) -> list[int]:
    """Return each k for which some model has an estimate."""
    return sorted({passed.k for column in columns for passed in column if passed.value is not None})


def estimate(passed: PassAtK | None, *, brief: bool = False) -> str:
    """Return an estimate as `42.1 % (30.0 to 55.2)`, or how many problems have fewer than k submissions.

    `brief` leaves out the interval.
    """
    if passed is None:
        return NOTHING
    if passed.value is None:
        return f"{NOTHING} ({passed.lacking:,} lack)" if passed.lacking else NOTHING
    interval = "" if brief or passed.low is None or passed.high is None else between(passed.low, passed.high)
    return share(passed.value, 1) + interval


def of_points(of: Sequence[Entry], unscored: int) -> Iterator[Section]:
    """Yield the sections about the models' points: pass@k, budgets, medals, and parts of plugins."""
    there = filter(None, (passes(of, unscored), budgets(of), medals(of), *sections_of_parts(of)))
    yield from (msgspec.structs.replace(section, is_whole=True) for section in there)


def medals(of: Sequence[Entry]) -> Section | None:
    """Return a table of medals by model, contest and budget, or only the reason why there are none."""
    awards = [given.award for entry in of for given in entry.model.awards]
    if not awards:
        return None
    if all(award.medal is None for award in awards):
        return Section(title="Medals", notes=list(_no_medals(of)))
    return Section(
        title="Medals",
        text=[
            "The medals that the points would have won. A medal needs all problems of that year's contest."
        ],
        table=TableBlock(
            heads=["Model", "Contest", "All", limits(of), "One", "Remark"],
            rows=[row for entry in of for row in _awards(entry)],
            align="lrrrrl",
        ),
    )


def _no_medals(of: Sequence[Entry]) -> Iterator[str]:
    """Yield a sentence for each year that says why there are no medals. Runs may have different reasons."""
    years: dict[int, dict[str, list[str]]] = {}
    for entry in of:
        for year, reason in dict.fromkeys(
            (given.award.year, given.award.reason) for given in entry.model.awards
        ):
            years.setdefault(year, {}).setdefault(reason, []).append(entry.name)
    for year, reasons in years.items():
        parts = [
            reason if len(reasons) == 1 else f"{reason} ({', '.join(names)})"
            for reason, names in reasons.items()
        ]
        yield f"{year}: {'; '.join(parts)}."


def _awards(entry: Entry) -> Iterator[list[str]]:
    for year in sorted({given.award.year for given in entry.model.awards}):
        given = {found.budget: found.award for found in entry.model.awards if found.award.year == year}
        cells = [f"{number(given[budget].points)} {given[budget].medal or NOTHING}" for budget in Budget]
        reasons = dict.fromkeys(award.reason for award in given.values() if award.reason)
        unscored = sum(problem.unscored for problem in entry.model.problems if problem.year == year)
        more = f"{unscored:,} unscored: it may be more" if unscored else ""
        yield [entry.name, str(year), *cells, "; ".join(reasons) or more]


# --- groups of problems ------------------------------------------------------------------------------


def groups(of: Sequence[Entry]) -> Iterator[Section]:
    """Yield tables by difficulty, tag and year, with a row for each group and a column for each model."""
    measure, names = measure_of(entry.model for entry in of), by_name(of)
    there = [(entry, {each.problem_id: each for each in entry.model.problems}) for entry in of]
    bins = binned(problem.difficulty for problem in names.values())
    for kind, labels in _KINDS.items():
        members: dict[str, list[str]] = {}
        for problem in names.values():
            for label in labels(problem) or [""]:
                name = bins[label] if kind == "difficulty" else label
                members.setdefault(name, []).append(problem.problem_id)
        if members.keys() <= {""}:
            continue
        rows: list[list[Cell]] = []
        for label in sorted(members, key=place):
            row: list[Cell] = [label or NO_LABEL, f"{len(members[label]):,}"]
            for entry, own in there:
                values = (value_of(own[name], measure, entry.mode) for name in members[label] if name in own)
                row.append(_coloured(mean([value for value in values if value is not None])))
            rows.append(row)
        yield Section(
            title=f"By {kind}: {measure.noun.removeprefix('the ')}, %",
            tab=SLICES,
            text=[f"The mean over problems of {_OF_PROBLEM[measure]}."],
            table=TableBlock(
                heads=[kind.capitalize(), "Problems", *(entry.name for entry in of)],
                rows=rows,
                short=_short(of),
                kind=f"by {kind}",
            ),
            long=len(rows) > _LONG,
        )


def _short(of: Sequence[Entry]) -> dict[str, str]:
    """Return short names for those models whose names are too long for a column."""
    names = [entry.name for entry in of]
    pairs = zip(names, apart(names, _MAX_HEAD), strict=True)
    return {name: short for name, short in pairs if short != name}


NO_LABEL = "(none)"
_KINDS: Mapping[str, Callable[[ProblemSummary], Sequence[str]]] = {
    "difficulty": lambda problem: [problem.difficulty] if problem.difficulty else [],
    "tag": lambda problem: problem.tags,
    "year": lambda problem: [] if problem.year is None else [str(problem.year)],
}


def by_name(of: Sequence[Entry]) -> dict[str, ProblemSummary]:
    """Return a summary of each problem, from any model that has one."""
    return {each.problem_id: each for entry in of for each in entry.model.problems}


def _coloured(value: float | None, href: str = "", text: str = "") -> Cell:
    return (
        NOTHING
        if value is None
        else Link(text=text or percent(value, 1).removesuffix(".0"), href=href, share=value)
    )


def place(name: str) -> tuple[bool, int, float, str]:
    """Difficulties that datasets have words for from easy to hard, numbers by size, nothing at the end."""
    place = _EASY_TO_HARD.index(name.lower()) if name.lower() in _EASY_TO_HARD else len(_EASY_TO_HARD)
    return not name, place, as_number(name.partition(" to ")[0]) or 0, name


# --- problems ----------------------------------------------------------------------------------------


def by_problem(of: Sequence[Entry], *, linked: bool = False) -> Section:
    """Return a table with a row for each problem and a column for each model.

    `linked`: the report has pages in report/, so that a cell links to its submissions.
    """
    measure = measure_of(entry.model for entry in of)
    with_points = measure is Measure.POINTS
    columns = [{problem.problem_id: problem for problem in entry.model.problems} for entry in of]
    rows: list[list[Cell]] = []
    for name in sorted(by_name(of)):
        page = f"{FOLDER}/{problem_page(name)}" if linked else ""
        cells, values = list[Cell](), list[float | None]()
        for entry, column in zip(of, columns, strict=True):
            own = column.get(name)
            value = None if own is None else value_of(own, measure, entry.mode)
            values.append(value)
            href = f"{page}#{model_anchor(entry.model.model)}" if linked and value is not None else ""
            text = number(own.points) if own is not None and with_points else ""
            cells.append(_coloured(value, href, text))
        there = [column[name] for column in columns if name in column]
        opens = linked and any(problem.scored for problem in there)
        middle = mean([value for value in values if value is not None])
        second = whole(there) if with_points else NOTHING if middle is None else percent(middle, 1)
        rows.append([Link(text=name, href=page) if opens else name, second, *cells])
    return Section(
        title="Problems by models",
        tab=PROBLEMS,
        text=[
            "The points that all of a model's submissions for a problem earn together, coloured by share."
            if with_points
            else f"Of each problem {_OF_PROBLEM[measure]}."
        ],
        table=TableBlock(
            heads=["Problem", "of" if with_points else "Mean", *(entry.name for entry in of)],
            rows=rows,
            short=_short(of),
            kind="problems",
        ),
    )


_OF_PROBLEM = {
    Measure.PASS_AT_1: "pass@1, the share of a model's submissions that get full marks",
    Measure.POINTS: "the share of its points that all of a model's submissions earn together",
    Measure.SOLVED: "100 if it is solved",
}


def points(problem: ProblemSummary) -> str:
    """Return a problem's points; without subtasks the highest share of tests that a submission passed."""
    if not problem.scored:
        return NOTHING
    return share(problem.best_pass_rate, 1) if problem.points is None else number(problem.points)


def whole(problems: Sequence[ProblemSummary]) -> str:
    worth = next((problem.max_points for problem in problems if problem.max_points is not None), None)
    if worth is not None:
        return number(worth)
    return "tests" if any(problem.scored for problem in problems) else NOTHING


def uses(of: Sequence[Entry]) -> Section | None:
    """Return a table of how much of the time and memory limits submissions used; None without limits."""
    whats = [
        what
        for what in ("time", "memory")
        if any(use.what == what for entry in of for use in entry.model.uses)
    ]
    rows = []
    for entry in of:
        uses = {use.what: use for use in entry.model.uses}
        cells = [
            share(uses[what].within(part), 1) if what in uses else NOTHING
            for what in whats
            for part in (0.5, 1.0)
        ]
        rows.append([entry.name, *cells])
    if not whats:
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
                "Model",
                *(f"{what.capitalize()}, {part}" for what in whats for part in ("half", "whole")),
            ],
            rows=rows,
        ),
    )


_ENDS: Mapping[str, str] = {
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


def verdicts(of: Sequence[Entry], total: Mapping[str, int], unscored: int) -> Section:
    statuses = list(total)[::-1]
    rows = [
        [entry.name, *counts(entry.model.verdicts, statuses), f"{entry.model.unscored:,}"] for entry in of
    ]
    if len(of) > 1:
        rows.append(["All", *counts(total, statuses), f"{unscored:,}"])
    return Section(
        title="Verdicts",
        tab=FAILED,
        is_whole=True,
        text=["How submissions ended, each counted once with the worst verdict of its subtasks."],
        table=TableBlock(
            heads=["Model", *statuses, "Unscored"],
            rows=rows,
            meanings={str(status): _ENDS[status] for status in statuses},
        ),
    )


def counts(found: Mapping[str, int], statuses: Sequence[str]) -> list[str]:
    return [f"{found.get(status, 0):,}" for status in statuses]


_MAX_CAUSES = 40  # rows of the table; all other causes are one row
_MAX_NAME = 200  # maximum length of a name in the page's data, in characters


def causes(run: Summary, links: Callable[[str], Link]) -> Section:
    """Return a table of why submissions have no full marks, with examples."""
    shown, more = run.causes[:_MAX_CAUSES], run.causes[_MAX_CAUSES:]
    rows: list[list[Cell]] = []
    for each in shown:
        examples = Links(links=[links(key) for key in each.examples])
        kind, _, line = each.cause.partition(": ")
        rows.append([kind, line, f"{each.submissions:,}", share(each.submissions, run.scored), examples])
    if more:
        number_of = sum(each.submissions for each in more)
        rest = counted(len(more), "other cause")
        rows.append([NOTHING, rest, f"{number_of:,}", share(number_of, run.scored), ""])
    failed = sum(each.submissions for each in run.causes)
    return Section(
        title="Why submissions fail",
        tab=FAILED,
        text=[
            f"{failed:,} of {counted(run.scored, 'scored submission')} have no full marks. Each counts once, "
            "by its verdict, with the first line of the compiler or of the run-time error that others share; "
            "names in quotes are left out of the line. A sample is a test of a subtask without points."
        ],
        table=TableBlock(
            heads=["Verdict", "Line", "Submissions", "Share", "For example"],
            rows=rows,
            align="llrrl",
            kind="causes",
        ),
    )


# --- what a browser needs to choose: numbers of each model, problem and language ---------------------


def explored(of: Sequence[Entry], run: Summary | None = None) -> str:
    """Return the JSON for report.js. It has aggregates, so that its size does not grow with the rows.

    `of`: the models, in the order of the tables; `run`: their run, if they are of one run.
    """
    measure, named = measure_of(entry.model for entry in of), by_name(of)
    names = sorted(named)
    places = {name: place for place, name in enumerate(names)}
    listed = [each.cause for each in run.causes[:_MAX_CAUSES]] if run is not None else []
    causes = {cause: place for place, cause in enumerate(listed)}
    languages = sorted({name for entry in of for each in entry.model.problems for name in each.languages})
    values: list[list[float | None]] = []
    cells, unscored = list[list[Any]](), list[list[int]]()
    for model, entry in enumerate(of):
        column: list[float | None] = [None] * len(names)
        for each in entry.model.problems:
            place = places[each.problem_id]
            column[place] = _rounded(value_of(each, measure, entry.mode))
            if each.unscored:
                unscored.append([model, place, each.unscored])
            for language, own in each.languages.items():
                counts = Counter[int]()
                for cause, number_of in own.causes.items():
                    counts[causes.get(cause, len(listed))] += number_of
                none = sum(n for cause, n in own.causes.items() if cause.startswith(Reason.NO_PROGRAM))
                value = _value_in(own, each, measure)
                pairs = [part for pair in sorted(counts.items()) for part in pair]
                cells.append([model, place, languages.index(language), own.scored, value, none, *pairs])
        values.append(column)
    solved = [
        [int(place in own and own[place].is_solved(entry.mode)) for place in names]
        for entry in of
        for own in [{each.problem_id: each for each in entry.model.problems}]
    ]
    ofs = [named[name] for name in names]
    data = {
        **chosen_from([entry.name for entry in of], ofs, languages),
        "measure": measure,
        "head": head_of(measure, of),
        "noun": measure.noun,
        "worth": [each.max_points or 0.0 for each in ofs] if measure is Measure.POINTS else [],
        "values": values,
        "solved": solved,
        "cells": cells,
        "unscored": unscored,
    }
    return msgspec.json.encode(data).decode()


def _value_in(own: LanguageSummary, problem: ProblemSummary, measure: Measure) -> float | None:
    """Return the headline of a problem's submissions in one language; None if that has no such number."""
    match measure:
        case Measure.PASS_AT_1:
            return _rounded(own.pass_at_1)
        case Measure.POINTS if own.points is not None and problem.max_points:
            return _rounded(own.points / problem.max_points)
    return None


def choices(run: Summary) -> str:
    """Return the JSON of the filters, for pages that list submissions."""
    of = entries(run)
    named = by_name(of)
    languages = {name for entry in of for each in entry.model.problems for name in each.languages}
    found = chosen_from([entry.name for entry in of], [*named.values()], sorted(languages))
    return msgspec.json.encode(found).decode()


def chosen_from(
    models: Sequence[str], problems: Sequence[ProblemSummary], languages: Sequence[str]
) -> dict[str, Any]:
    """Return the values that a page's filters offer."""
    bins = binned([each.difficulty for each in problems])
    return {
        "models": [*map(_text, models)],
        "problems": [_text(each.problem_id) for each in problems],
        "languages": [*map(_text, languages)],
        "difficulty": [_text(bins[each.difficulty]) for each in problems],
        "tags": [[*map(_text, each.tags)] for each in problems],
        "years": ["" if each.year is None else str(each.year) for each in problems],
        "dates": [each.date[:7] or (str(each.year) if each.year is not None else "") for each in problems],
    }


_MOST_BINS = 8


def binned(difficulties: Iterable[str]) -> dict[str, str]:
    """Return the bin of each difficulty: a range if there are many numbers, else the difficulty itself."""
    names = set(difficulties)
    numbers = {name: number for name in names if (number := as_number(name)) is not None}
    if len(numbers) <= _MOST_BINS or names - numbers.keys() - {""}:
        return {name: name for name in names}
    span = max(numbers.values()) - min(numbers.values())
    steps = (digit * 10**size for size in count() for digit in (1, 2, 5))
    step = next(step for step in steps if span / step < _MOST_BINS)
    lows = {name: int(number // step * step) for name, number in numbers.items()}
    return {name: f"{lows[name]} to {lows[name] + step - 1}" if name else "" for name in names}


def _text(name: str) -> str:
    return shorten(visible(name), _MAX_NAME)


def _rounded(value: float | None) -> float | None:
    return None if value is None else int(10_000 * value + 1e-6) / 10_000
