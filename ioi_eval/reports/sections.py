"""Sections and tables that compare: models of one run, or of several runs side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ioi_eval.model.values import Reason, Value, Verdict
from ioi_eval.reports import figures
from ioi_eval.reports.document import (
    FOLDER,
    NOTHING,
    Cell,
    Link,
    Meter,
    Section,
    TableBlock,
    between,
    counted,
    model_anchor,
    model_page,
    number,
    problem_page,
    share,
    visible,
)
from ioi_eval.reports.headline import NO_NAME, RANK, Entry, measure_of, ranks, value_of
from ioi_eval.reports.parts import sections_of_parts
from ioi_eval.reports.plots import apart
from ioi_eval.reports.records import Group, Measure, ProblemSummary, Summary
from ioi_eval.rules.metrics import PassAtK
from ioi_eval.rules.selection import Budget
from ioi_eval.store.rows import as_number, bounded

_LONG = 40  # rows
_EASY_TO_HARD = ("introductory", "easy", "interview", "medium", "competition", "hard")
_KINDS = {"difficulty": "Difficulty", "tag": "Tag", "year": "Year"}


def entries(run: Summary, prefix: str = "") -> list[Entry]:
    return [
        Entry(name=prefix + model_name(model.model), model=model, limit=run.submission_limit, mode=run.mode)
        for model in run.models
    ]


def model_name(model: str) -> str:
    return model or NO_NAME


# --- models ------------------------------------------------------------------------------------------


_MEANINGS = {
    "Points": "of all problems with subtasks; the rule for several submissions is below",
    "Share": "of all points; without subtasks the mean share of tests passed. In parentheses the 95 % "
    "interval, by a bootstrap over problems",
    "Medals": "the medals that the points would win with a limited number of submissions per problem",
    "Solved": "problems with full marks",
    "Compiled": "share of the scored submissions",
    "Unscored": "submissions that could not be judged; no other number counts them",
}


def models(of: Sequence[Entry], *, apart: bool = False) -> TableBlock:
    """`apart`: each model has a page of its own."""
    won = [_medals_of(entry) for entry in of]
    heads = ["Model", "Points", "of", "Share", *(["Medals"] if any(won) else [])]
    heads += ["Solved", "Submissions", "Compiled", "Unscored"]
    rows: list[list[Cell]] = []
    for entry, medal in zip(of, won, strict=True):
        model, problems = entry.model, len(entry.model.problems)
        # With the share: what a model can choose to have unscored is in none of its means.
        missing = f" ({share(model.unscored, model.submissions)})" if model.unscored else ""
        rows.append(
            [
                Link(text=entry.name, href=f"{FOLDER}/{model_page(model.model)}") if apart else entry.name,
                number(model.points) if model.max_points else NOTHING,
                number(model.max_points) if model.max_points else NOTHING,
                NOTHING
                if model.share is None
                else Meter(part=model.share, whole=1.0, low=model.share_low, high=model.share_high),
                *([medal or NOTHING] if any(won) else []),
                f"{model.problems_solved:,} of {counted(problems, 'problem')}",
                f"{model.submissions:,}",
                share(model.compiled, model.scored),
                f"{model.unscored:,}{missing}",
            ]
        )
    return TableBlock(
        heads=heads,
        rows=rows,
        align=f"lrrl{'r' if any(won) else ''}lrrr",
        meanings={head: _MEANINGS[head] for head in heads if head in _MEANINGS},
    )


def _medals_of(entry: Entry) -> str:
    """By the rule of a limited number of submissions; empty where nothing is known to be won."""
    given = Counter(given.award.medal for given in entry.model.awards if given.budget is Budget.LIMITED)
    won = [(medal, given[medal]) for medal in ("gold", "silver", "bronze") if given[medal]]
    return won[0][0] if [times for _, times in won] == [1] else ", ".join(f"{n} {medal}" for medal, n in won)


def budgets(of: Sequence[Entry]) -> Section | None:
    """Points by how many submissions may be handed in."""
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
    limits = _limits(of)
    return Section(
        title="Points by the number of submissions",
        text=[
            "All: every submission of the run counts. One: the first solution of those that aim highest: at "
            "the whole problem, or else at the last subtask that any aims at.",
            f"{limits}: this many for each problem, handed in without knowing their scores, in rounds over "
            "the subtasks from the last to the first, without those that are solved; of each subtask first "
            "the one with the best score on the samples, then the longest.",
        ],
        figures=figures.by_number(of),
        table=TableBlock(heads=["Model", "All", limits, "One", "of"], rows=rows),
    )


def passes(of: Sequence[Entry], unscored: int) -> Section | None:
    ks = known_ks(entry.model.pass_at for entry in of)
    missing = sorted({found.k for entry in of for found in entry.model.pass_at} - set(ks))
    if not ks and not missing:
        return None
    rows = list[list[Cell]]()
    for entry in of:
        estimates = {found.k: found for found in entry.model.pass_at}
        problems = max((found.problems for found in estimates.values()), default=0)
        cells = [estimate(estimates.get(k)) for k in ks]
        rows.append([entry.name, *cells, f"{problems:,}", f"{entry.model.unscored:,}"])
    return Section(
        title="pass@k",
        text=[
            "How likely one of k submissions gets full marks for its problem or subtask: unbiased, a mean "
            "over all problems with a scored submission. In parentheses the 95 % interval, by a bootstrap "
            f"over problems. {LACKING}"
        ],
        figures=figures.passes(of),
        table=TableBlock(heads=["Model", *(f"pass@{k}" for k in ks), "Problems", "Unscored"], rows=rows)
        if ks
        else None,
        notes=[
            *(_missing(k, [entry.model.pass_at for entry in of]) for k in missing),
            *([f"These numbers leave out {counted(unscored, 'unscored submission')}."] if unscored else []),
        ],
    )


LACKING = (
    "A dash means that some problems or subtasks have fewer than k scored submissions (their number "
    "follows): a mean over the others would not be comparable."
)


def _missing(k: int, columns: Iterable[Iterable[PassAtK]]) -> str:
    """Say why nobody has an estimate for this k."""
    numbers = sorted({found.lacking for column in columns for found in column if found.k == k})
    fewer = f"fewer than {counted(k, 'scored submission')}"
    if numbers == [0]:
        return f"pass@{k}: nothing was scored."
    if len(numbers) > 1:
        return f"pass@{k}: {numbers[0]:,} to {numbers[-1]:,} problems or subtasks have {fewer}."
    some = counted(numbers[0], "problem or subtask has", "problems or subtasks have")
    return f"pass@{k}: {some} {fewer}."


def known_ks(columns: Iterable[Iterable[PassAtK]]) -> list[int]:
    """Return each k of which some model has an estimate."""
    return sorted({found.k for column in columns for found in column if found.value is not None})


def estimate(found: PassAtK | None, *, brief: bool = False) -> str:
    """Return an estimate, unless brief with its interval: 42.1 % (30.0 to 55.2); else how many lack k."""
    if found is None:
        return NOTHING
    if found.value is None:
        return f"{NOTHING} ({found.lacking:,} lack)" if found.lacking else NOTHING
    sure = "" if brief or found.low is None or found.high is None else between(found.low, found.high)
    return share(found.value, 1) + sure


def of_points(of: Sequence[Entry], unscored: int) -> Iterator[Section]:
    """Yield what the models' points are worth, where that is known."""
    yield from filter(None, (budgets(of), medals(of), *sections_of_parts(of), passes(of, unscored)))


def medals(of: Sequence[Entry]) -> Section | None:
    """A line for each model and contest, a column for each budget; where nobody is given any, only why."""
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
            heads=["Model", "Contest", "All", _limits(of), "One", "Remark"],
            rows=[row for entry in of for row in _awards(entry)],
            align="lrrrrl",
        ),
    )


def _no_medals(of: Sequence[Entry]) -> Iterator[str]:
    """Why, in a sentence for each year; runs of different problems each have their own reason."""
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


def _limits(of: Sequence[Entry]) -> str:
    return " or ".join(f"{limit:,}" for limit in sorted({entry.limit for entry in of}))


# --- groups of problems ------------------------------------------------------------------------------


def groups(of: Sequence[Entry], *, brief: bool = False) -> Iterator[Section]:
    """A section for difficulty, tags and years each: every group with a line for each model.

    Brief: for a terminal, without tags and without what does not compare anything.
    """
    for kind, title in _KINDS.items():
        found = [(entry, group) for entry in of for group in entry.model.groups if group.kind == kind]
        least = 2 if brief else 1
        if len({group.name for _, group in found}) >= least and not (brief and kind == "tag"):
            table = _groups(title, found, several=len(of) > 1, brief=brief)
            names = sorted({group.name for _, group in found}, key=place)
            drawn = [] if brief else figures.groups(kind, names, of, found)
            yield Section(title=f"By {kind}", figures=drawn, table=table, long=len(table.rows) > _LONG)


_OF_GROUPS = {
    "Solved": "problems with full marks",
    "Points": "of the group's problems with subtasks",
    "Mean score": "the mean share of the points that a scored submission earns, over problems",
}


def _groups(head: str, found: Sequence[tuple[Entry, Group]], *, several: bool, brief: bool) -> TableBlock:
    """Brief: without intervals, for a line of a hundred characters."""
    ks = known_ks(group.pass_at for _, group in found)
    rows: list[list[Cell]] = []
    for name in sorted({group.name for _, group in found}, key=place):
        first = name or "(none)"
        for entry, group in found:
            if group.name != name:
                continue
            worth = f"{number(group.points)} of {number(group.max_points)}" if group.max_points else NOTHING
            values = {estimate.k: estimate for estimate in group.pass_at}
            rows.append(
                [
                    first,
                    *([entry.name] if several else []),
                    f"{group.problems:,}",
                    f"{group.problems_solved:,}",
                    worth,
                    share(group.mean_score, 1),
                    *(estimate(values.get(k), brief=brief) for k in ks),
                    *([] if brief else [f"{group.submissions:,}"]),
                    f"{group.unscored:,}",
                ]
            )
            first = ""
    heads = [head, *(["Model"] if several else []), "Problems", "Solved", "Points", "Mean score"]
    heads += [*(f"pass@{k}" for k in ks), *([] if brief else ["Submissions"]), "Unscored"]
    align = "ll" if several else "l"
    return TableBlock(
        heads=heads, rows=rows, align=align + "r" * (len(heads) - len(align)), meanings=_OF_GROUPS
    )


def place(name: str) -> tuple[bool, int, float, str]:
    """Difficulties that datasets have words for from easy to hard, numbers by size, nothing at the end."""
    place = _EASY_TO_HARD.index(name.lower()) if name.lower() in _EASY_TO_HARD else len(_EASY_TO_HARD)
    return not name, place, as_number(name) or 0, name


# --- problems ----------------------------------------------------------------------------------------


def by_problem(of: Sequence[Entry], *, linked: bool = False, opened: bool = True) -> Section:
    """A line for each problem that any of them has, a column for each of them, coloured by shares of points.

    `linked`: the pages of report/ lie beside it, so a cell opens the submissions that it is made of.
    `opened`: submissions have pages there, too.
    """
    columns = [{problem.problem_id: problem for problem in entry.model.problems} for entry in of]
    names = sorted({name for column in columns for name in column})
    rows: list[list[Cell]] = []
    for name in names:
        own = [column.get(name) for column in columns]
        there = [problem for problem in own if problem is not None]
        cells = [
            NOTHING if problem is None else _square(problem, entry.model.model, linked)
            for problem, entry in zip(own, of, strict=True)
        ]
        opens = linked and any(problem.scored for problem in there)
        first = Link(text=name, href=f"{FOLDER}/{problem_page(name)}") if opens else name
        rows.append([first, whole(there), *cells])
    return Section(
        title="Points by problem",
        figures=figures.subtasks(of, linked=linked and opened),
        table=TableBlock(heads=["Problem", "of", *(entry.name for entry in of)], rows=rows),
        long=len(rows) > _LONG,
    )


_OF_PROBLEM = {
    Measure.PASS_AT_1: "pass@1, the share of a model's submissions that get full marks",
    Measure.POINTS: "the share of its points that all of a model's submissions earn together",
    Measure.SOLVED: "100 if it is solved",
}
_HEADS = {Measure.PASS_AT_1: "pass@1", Measure.POINTS: "Mean share", Measure.SOLVED: "Share solved"}


def board(of: Sequence[Entry], *, linked: bool = False) -> Section:
    """All of them by problems, to be sorted, grouped and compared in a browser."""
    value = _OF_PROBLEM[measure_of(entry.model for entry in of)]
    return Section(
        title="Board",
        anchor="board",
        text=[
            f"Of each problem {value}, in percent. The mean is "
            f"over the problems of which anything was scored. {RANK}"
            + (" A click on a cell opens its submissions." if linked else "")
        ],
        board=Board.of(of, linked=linked),
    )


def _square(problem: ProblemSummary, model: str, linked: bool) -> Cell:
    if not problem.scored:
        return NOTHING
    href = f"{FOLDER}/{problem_page(problem.problem_id)}#{model_anchor(model)}" if linked else ""
    return Link(text=points(problem), href=href, share=figures.earned(problem))


def points(problem: ProblemSummary) -> str:
    """Without subtasks, the best share of tests that a submission passed."""
    if not problem.scored:
        return NOTHING
    return share(problem.best_pass_rate, 1) if problem.points is None else number(problem.points)


def whole(problems: Sequence[ProblemSummary]) -> str:
    worth = next((problem.max_points for problem in problems if problem.max_points is not None), None)
    if worth is not None:
        return number(worth)
    return "tests" if any(problem.scored for problem in problems) else NOTHING


def uses(of: Sequence[Entry]) -> Section | None:
    """Time and memory against their limits, where the run says these."""
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
        text=[
            "How many submissions need at most half, or at most the whole, of a limit on their hardest test."
        ],
        figures=[drawn for what in whats for drawn in figures.uses(of, what, beside=len(whats) > 1)],
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
        text=["How submissions ended, each counted once with the worst verdict of its subtasks."],
        figures=figures.verdicts(of, statuses),
        table=TableBlock(
            heads=["Model", *statuses, "Unscored"],
            rows=rows,
            meanings={str(status): _ENDS[status] for status in statuses},
        ),
    )


def counts(found: Mapping[str, int], statuses: Sequence[str]) -> list[str]:
    return [f"{found.get(status, 0):,}" for status in statuses]


# --- the board: models by problems, and what a browser needs to group, choose and compare them ------
# It holds aggregates, a number for each model and problem, so that its size does not grow with the rows.


_MAX_NAME = 200  # characters


class BoardRow(Value):
    """A model's values by problem, in [0, 1]; None: nothing was scored."""

    name: str
    rank: int
    shares: tuple[float | None, ...]
    full: tuple[bool, ...]  # whether the problem is solved: rounded points may be less than all

    @property
    def mean(self) -> float | None:
        there = [share for share in self.shares if share is not None]
        return sum(there) / len(there) if there else None

    @property
    def solved(self) -> int:
        return sum(self.full)


class Board(Value):
    """Models, with the best mean first, by problems."""

    problems: tuple[str, ...]
    rows: tuple[BoardRow, ...]
    measure: Measure
    data: Mapping[str, Any]  # for board.js, of models and problems in this order
    linked: bool  # pages of problems lie beside it

    @classmethod
    def of(cls, entries: Sequence[Entry], *, linked: bool) -> Board:
        every = (problem for entry in entries for problem in entry.model.problems)
        names = sorted({problem.problem_id for problem in every if problem.scored})
        there = {entry.name: {each.problem_id: each for each in entry.model.problems} for entry in entries}
        lines = {entry.name: [there[entry.name].get(name) for name in names] for entry in entries}
        measure = measure_of(entry.model for entry in entries)
        found = list[tuple[BoardRow, Entry]]()
        for entry, rank in zip(entries, ranks(entries, measure), strict=True):
            own = lines[entry.name]
            shares = tuple(None if each is None else value_of(each, measure, entry.mode) for each in own)
            full = tuple(each is not None and each.is_solved(entry.mode) for each in own)
            found.append((BoardRow(name=entry.name, rank=rank, shares=shares, full=full), entry))
        found.sort(key=lambda pair: -(pair[0].mean or 0.0))
        cells = [lines[entry.name] for _, entry in found]
        problems = {name: each for own in there.values() for name, each in own.items()}
        ks = {pass_at.k for line in cells for each in line if each for pass_at in each.pass_at}
        others = sorted(ks - {1} if measure is Measure.PASS_AT_1 else ks)
        scores: dict[str, list[list[float | None]]] = {
            "mean score": [
                [None if each is None else _rounded(each.mean_score) for each in line] for line in cells
            ],
            **{f"pass@{k}": [[_pass_at(each, k) for each in line] for line in cells] for k in others},
        }
        return cls(
            problems=tuple(names),
            rows=tuple(row for row, _ in found),
            measure=measure,
            data={
                "measure": measure.noun.removeprefix("the "),
                "noun": measure.noun,
                "head": _HEADS[measure],
                "problems": [_text(name) for name in names],
                "models": [_text(row.name) for row, _ in found],
                "pages": [f"{FOLDER}/{problem_page(name)}" for name in names] if linked else [],
                "anchors": [model_anchor(entry.model.model) for _, entry in found],
                "groups": {
                    "difficulty": [[_text(problems[name].difficulty)] for name in names],
                    "tag": [[*map(_text, problems[name].tags)] or [""] for name in names],
                    "year": [
                        ["" if problems[name].year is None else str(problems[name].year)] for name in names
                    ],
                },
                "shares": [[_rounded(share) for share in row.shares] for row, _ in found],
                "solved": [row.full for row, _ in found],
                "scores": scores,
                "steps": [
                    [(step.submissions, step.points) for step in entry.model.steps] for _, entry in found
                ],
            },
            linked=linked,
        )

    def html(self) -> Any:
        """Return the table, which says everything without a script."""
        from markupsafe import Markup, escape

        return Markup("".join(self._pieces(escape)))

    def _pieces(self, escape: Any) -> Iterator[str]:
        data = escape(msgspec.json.encode(self.data).decode())
        yield f'<table class="cells" data-name="Board" data-board="{data}">\n<thead><tr>'
        yield '<th scope="col">Model</th>'
        for head in ("Rank", _HEADS[self.measure], "Solved"):
            yield f'<th scope="col" class="number">{head}</th>'
        for name in self.problems:
            text = escape(_text(name))
            if self.linked:
                text = f'<a href="{FOLDER}/{problem_page(name)}">{text}</a>'
            yield f'<th scope="col" class="turned number" title="{escape(_text(name))}">{text}</th>'
        yield "</tr></thead>\n<tbody>\n"
        names = [_text(row.name) for row in self.rows]
        for row, whole, short in zip(self.rows, names, apart(names), strict=True):
            name, mean = escape(whole), NOTHING if row.mean is None else f"{100 * row.mean:.1f}"
            cut = f' data-short="{escape(short)}"' if short != whole else ""
            yield f'<tr data-of="{name}"><th scope="row" title="{name}"{cut}>{name}</th>'
            yield f"<td>{row.rank}</td><td>{mean}</td><td>{row.solved}</td>"
            for part in row.shares:
                if part is None:
                    yield f"<td>{NOTHING}</td>"
                else:
                    yield f'<td class="g{round(10 * part)}">{int(100 * part + 1e-9)}</td>'
            yield "</tr>\n"
        yield "</tbody>\n</table>"


def _text(name: str) -> str:
    return bounded(visible(name), _MAX_NAME)


def _pass_at(problem: ProblemSummary | None, k: int) -> float | None:
    estimates = problem.pass_at if problem is not None else ()
    return _rounded(next((estimate.value for estimate in estimates if estimate.k == k), None))


def _rounded(value: float | None) -> float | None:
    return None if value is None else int(10_000 * value + 1e-6) / 10_000
