"""The headline of a run: pass@1, or points under the contest's rule if every problem has subtasks.

Every table, page and sentence that begins with one number uses this one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ioi_eval.model.values import Reason, Value
from ioi_eval.reports.document import (
    FOLDER,
    NOTHING,
    Cell,
    CodeLines,
    Link,
    Meter,
    Offset,
    Section,
    TableBlock,
    counted,
    model_page,
    number,
    share,
    visible,
)
from ioi_eval.reports.records import Headline, HeadlineRow, Measure, ModelSummary, ProblemSummary, Settings
from ioi_eval.rules.paired import MIN_PROBLEMS, MeanDifference, Ranking, compute_mean_difference
from ioi_eval.rules.scoring import ScoreMode
from ioi_eval.rules.selection import Budget

NO_NAME = "(no name)"
_MAX_COMPILERS = 3
MINUS = "\N{MINUS SIGN}"


def measure_of(models: Iterable[ModelSummary]) -> Measure:
    """Return the measure that all of these models have."""
    problems = [problem for model in models for problem in model.problems if problem.scored]
    if problems and all(problem.max_points is not None for problem in problems):
        return Measure.POINTS
    # Runs with feedback have no pass@1.
    told = bool(problems) and all(problem.pass_at_1 is None for problem in problems)
    return Measure.SOLVED if told else Measure.PASS_AT_1


def value_of(problem: ProblemSummary, measure: Measure, mode: ScoreMode) -> float | None:
    """Return a model's value for a problem, in [0, 1]; None if nothing was scored."""
    if not problem.scored:
        return None
    match measure:
        case Measure.PASS_AT_1:
            return problem.pass_at_1
        case Measure.SOLVED:
            return float(problem.is_solved(mode))
        case Measure.POINTS:
            return (problem.points or 0.0) / problem.max_points if problem.max_points else None


def values_by_problem(model: ModelSummary, measure: Measure, mode: ScoreMode) -> dict[str, float]:
    """Return a model's value for each problem with a scored submission."""
    values = ((problem.problem_id, value_of(problem, measure, mode)) for problem in model.problems)
    return {name: value for name, value in values if value is not None}


def compared(a: Mapping[str, float], b: Mapping[str, float]) -> MeanDifference:
    """Return A minus B over the problems for which both have a value."""
    return compute_mean_difference([a[name] - b[name] for name in sorted(a.keys() & b.keys())])


class Entry(Value):
    """A model and its name in a table."""

    name: str
    model: ModelSummary
    limit: int  # submissions per problem of the budget `limited`
    mode: ScoreMode


def ranks(of: Sequence[Entry], measure: Measure) -> list[int]:
    """Return each model's rank: 1 plus the number of models that are better beyond the interval."""
    columns = [values_by_problem(entry.model, measure, entry.mode) for entry in of]
    names = sorted({name for column in columns for name in column})
    return Ranking([[column.get(name) for name in names] for column in columns]).ranks()


def best_first(models: Iterable[ModelSummary]) -> tuple[ModelSummary, ...]:
    """Return the models in the order of their headlines."""
    models = tuple(models)
    measure = measure_of(models)

    def place(model: ModelSummary) -> tuple[float, float, int, str]:
        value = _bounds(model, measure)[0]
        return -1.0 if value is None else -value, -model.points, -model.problems_solved, model.model

    return tuple(sorted(models, key=place))


def headline(models: Sequence[ModelSummary], mode: ScoreMode, limit: int) -> Headline:
    """Return the headline of a run. `models`: the best first."""
    measure = measure_of(models)
    of = [Entry(name=model.model or NO_NAME, model=model, limit=limit, mode=mode) for model in models]
    wholes = {
        Measure.PASS_AT_1: None,
        Measure.POINTS: max((model.max_points for model in models), default=0.0),
        Measure.SOLVED: float(max((len(model.problems) for model in models), default=0)),
    }
    return Headline(
        measure=measure,
        of=wholes[measure],
        submission_limit=limit if measure is Measure.POINTS else None,
        sentence=_first_two(of, measure),
        models=tuple(_row(entry, rank, measure) for entry, rank in zip(of, ranks(of, measure), strict=True)),
    )


def _first_two(of: Sequence[Entry], measure: Measure) -> str:
    if len(of) < 2:
        return ""
    first, second = (values_by_problem(entry.model, measure, entry.mode) for entry in of[:2])
    return sentence(of[0].name, of[1].name, measure, compared(first, second))


def _row(entry: Entry, rank: int, measure: Measure) -> HeadlineRow:
    model = entry.model
    value, low, high = _bounds(model, measure)
    return HeadlineRow(
        model=model.model,
        rank=rank,
        value=value,
        low=low,
        high=high,
        limited=model.budgets.get(Budget.LIMITED) if measure is Measure.POINTS else None,
        problems=sum(problem.scored > 0 for problem in model.problems),
        scored=model.scored,
    )


def _bounds(model: ModelSummary, measure: Measure) -> tuple[float | None, float | None, float | None]:
    """Return a model's headline and its 95 % interval."""
    if not model.scored:
        return None, None, None
    match measure:
        case Measure.PASS_AT_1:
            found = model.pass_at_1
            return (found.value, found.low, found.high) if found is not None else (None, None, None)
        case Measure.SOLVED:
            return float(model.problems_solved), None, None
        case Measure.POINTS:
            low, high = (
                None if share is None else share * model.max_points
                for share in (model.share_low, model.share_high)
            )
            return model.points, low, high


# --- shown -------------------------------------------------------------------------------------------


_MEANT = {
    Measure.PASS_AT_1: "The probability that one submission gets full marks, a mean over problems.",
    Measure.POINTS: "The points of all submissions under the contest's rule, and those of a limited number.",
    Measure.SOLVED: "The problems that are solved.",
}


def head_of(measure: Measure, of: Sequence[Entry]) -> str:
    """Return the head of the column with the headlines."""
    if measure is Measure.POINTS:
        return f"Points of {number(max((entry.model.max_points for entry in of), default=0.0))}"
    return measure.value.capitalize() if measure is Measure.SOLVED else measure.value


def ordered(of: Iterable[Entry]) -> list[Entry]:
    """Return the models in the order of their headlines."""
    of = list(of)
    measure = measure_of(entry.model for entry in of)
    return sorted(of, key=lambda entry: -(_bounds(entry.model, measure)[0] or 0.0))


def section(of: Sequence[Entry]) -> Section:
    """Return the table of headlines for a terminal, without bars."""
    of = ordered(of)
    measure = measure_of(entry.model for entry in of)
    several, with_points = len(of) > 1, measure is Measure.POINTS
    unscored = any(entry.model.unscored for entry in of)
    heads = [
        "Model",
        *(["Rank"] if several else []),
        *(["All", f"Best of {limits(of)}", "of"] if with_points else [head_of(measure, of)]),
        "95 % interval",
        "Solved",
        "Submissions",
        *(["Unscored"] if unscored else []),
    ]
    rows = []
    for entry, rank in zip(of, ranks(of, measure), strict=True):
        row = _row(entry, rank, measure)
        shown = percent if measure is Measure.PASS_AT_1 else number
        rows.append(
            [
                entry.name,
                *([str(rank)] if several else []),
                shown(row.value),
                *([number(row.limited), number(entry.model.max_points)] if with_points else []),
                NOTHING if row.low is None else f"{shown(row.low)} to {shown(row.high)}",
                f"{entry.model.problems_solved:,} of {len(entry.model.problems):,}",
                f"{row.scored:,}",
                *([f"{entry.model.unscored:,}"] if unscored else []),
            ]
        )
    said = _first_two(of, measure)
    notes = [said] if said else []
    return Section(title=f"Headline: {measure.value}", table=TableBlock(heads=heads, rows=rows), notes=notes)


def limits(of: Iterable[Entry]) -> str:
    return " or ".join(f"{limit:,}" for limit in sorted({entry.limit for entry in of}))


def answer(of: Sequence[Entry]) -> str:
    """Return the sentence that says which model is best. `of`: the best first."""
    measure = measure_of(entry.model for entry in of)
    if len(of) > 1:
        return _first_two(of, measure)
    row = _row(of[0], 1, measure)
    shown = percent if measure is Measure.PASS_AT_1 else number
    sure = "" if row.low is None else f" (95 % interval {shown(row.low)} to {shown(row.high)})"
    name = of[0].name if of[0].model.model else "The submissions"
    match measure:
        case _ if row.value is None:
            return ""
        case Measure.PASS_AT_1:
            return f"{name}: pass@1 is {shown(row.value)}{sure} over {counted(row.problems, 'problem')}."
        case Measure.POINTS:
            return f"{name}: {shown(row.value)} of {number(of[0].model.max_points)} points{sure}."
        case Measure.SOLVED:
            return f"{name}: {shown(row.value)} of {counted(len(of[0].model.problems), 'problem')} solved."


_MEANINGS = {
    "Rank": "1, and 1 more for each model that is better beyond the 95 % interval of the difference",
    "Minus the leader": "the difference to the first model, in percentage points of a problem's value, with "
    "the 95 % interval of the sign-flip test; real if that leaves out 0",
    "Solved": "problems with full marks",
    "Medals": "the medals that the points would win with a limited number of submissions per problem",
    "No program": "share of the scored submissions",
    "Unscored": "submissions that could not be judged; no other number counts them",
}


def leaderboard(of: Sequence[Entry], *, apart: bool = False) -> Section:
    """Return the leaderboard of a report. `of`: the best first; `apart`: models have their own pages."""
    measure = measure_of(entry.model for entry in of)
    several, with_points = len(of) > 1, measure is Measure.POINTS
    columns = [values_by_problem(entry.model, measure, entry.mode) for entry in of]
    found = offsets([compared(column, columns[0]) for column in columns])
    won = [_medals_of(entry) for entry in of]
    rows: list[list[Cell]] = []
    heads = ["Model", "Rank", head_of(measure, of), f"Best of {limits(of)}", "Minus the leader", "Points"]
    heads += ["Solved", "Medals", "No program", "Submissions", "Unscored"]
    for entry, rank, less, medal in zip(of, ranks(of, measure), found, won, strict=True):
        model, row = entry.model, _row(entry, rank, measure)
        # With their share, because no mean counts unscored submissions, which a model may have caused.
        missing = f" ({share(model.unscored, model.submissions)})" if model.unscored else ""
        rows.append(
            [
                Link(text=entry.name, href=f"{FOLDER}/{model_page(model.model)}") if apart else entry.name,
                str(rank),
                _meter(row, measure, entry),
                number(row.limited),
                NOTHING if entry is of[0] else less,
                f"{number(model.points)} of {number(model.max_points)}",
                f"{model.problems_solved:,} of {len(model.problems):,}",
                medal or NOTHING,
                share(model.verdicts.get(Reason.NO_PROGRAM, 0), model.scored),
                f"{model.scored:,}",
                f"{model.unscored:,}{missing}",
            ]
        )
    left_out = {
        "Rank": not several,
        "Minus the leader": not several,
        heads[3]: not with_points,
        "Points": with_points or not any(entry.model.max_points for entry in of),
        "Medals": not any(won),
    }
    there = [place for place, head in enumerate(heads) if not left_out.get(head)]
    shown = [heads[place] for place in there]
    return Section(
        title="Leaderboard",
        text=[_MEANT[measure]],
        table=TableBlock(
            heads=shown,
            rows=[[row[place] for place in there] for row in rows],
            align="".join("l" if place in (0, 2, 4) else "r" for place in there),
            meanings={head: _MEANINGS[head] for head in shown if head in _MEANINGS},
            kind="leaderboard",
        ),
    )


def offsets(found: Sequence[MeanDifference]) -> list[Cell]:
    """Return the cells of a column of differences, all drawn to the same scale."""
    ends = [end for each in found for end in (each.mean, each.low, each.high) if end is not None]
    least, most = min([0.0, *ends]), max([0.0, *ends])
    return [
        Offset(
            text=between(each) or NOTHING,
            value=each.mean,
            low=each.low,
            high=each.high,
            least=least,
            most=most,
        )
        for each in found
    ]


def _meter(row: HeadlineRow, measure: Measure, entry: Entry) -> Cell:
    if row.value is None:
        return NOTHING
    wholes = {
        Measure.PASS_AT_1: 1.0,
        Measure.POINTS: entry.model.max_points,
        Measure.SOLVED: float(len(entry.model.problems)),
    }
    whole, shown = wholes[measure], percent if measure is Measure.PASS_AT_1 else number
    if row.low is None or row.high is None:
        return Meter(part=row.value, whole=whole, said=shown(row.value))
    low, high = (shown(end).removesuffix(" %") for end in (row.low, row.high))
    return Meter(
        part=row.value,
        whole=whole,
        low=row.low / whole if whole else None,
        high=row.high / whole if whole else None,
        said=f"{shown(row.value)} ({low} to {high})",
    )


def _medals_of(entry: Entry) -> str:
    """Return the medals for a limited number of submissions; empty if none are known."""
    given = Counter(given.award.medal for given in entry.model.awards if given.budget is Budget.LIMITED)
    won = [(medal, given[medal]) for medal in ("gold", "silver", "bronze") if given[medal]]
    return won[0][0] if [times for _, times in won] == [1] else ", ".join(f"{n} {medal}" for medal, n in won)


def for_a_paper(run: Headline, settings: Settings) -> Section:
    """Return a section with a LaTeX row and a sentence for each model, for copying."""
    made_by = ", ".join([f"{name} {version}" for name, version in sorted(settings.versions.items())])
    judges = "; ".join([made_by or "ioi-eval", *list(settings.compilers)[:_MAX_COMPILERS]])
    unit = r" (\%)" if run.measure is Measure.PASS_AT_1 else "" if run.of is None else f" of {number(run.of)}"
    limited = f" & with {run.submission_limit} submissions" if run.submission_limit else ""
    head = f"% model & {run.measure}{unit}{limited} & 95 \\% interval & problems & submissions"
    return Section(
        title="Copy for a paper",
        folded=counted(len(run.models), "model"),
        lines=[
            CodeLines(
                sentence="A row of LaTeX for each model:",
                lines=[f"{head} \\\\", *(_latex(row, run) for row in run.models)],
                language="latex",
            ),
            CodeLines(
                sentence="A sentence for each model:",
                lines=[_in_words(row, run, judges) for row in run.models],
                language="text",
            ),
        ],
    )


_TEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def _latex(row: HeadlineRow, run: Headline) -> str:
    shown = percent if run.measure is Measure.PASS_AT_1 else number
    name = re.sub(
        r"[\\~^&%$#_{}]", lambda found: _TEX.get(found[0], "\\" + found[0]), visible(row.model or NO_NAME)
    )
    if name.startswith(("[", "*")):  # the end of the line before would take these as its argument
        name = "{}" + name
    numbers = [
        shown(row.value),
        *([number(row.limited)] if run.submission_limit else []),
        NOTHING if row.low is None else f"{shown(row.low)}--{shown(row.high)}",
        str(row.problems),
        str(row.scored),
    ]
    cells = (text.replace(" %", "").replace(NOTHING, "--") for text in numbers)
    return " & ".join([name, *cells]) + r" \\"


def _in_words(row: HeadlineRow, run: Headline, judges: str) -> str:
    shown = percent if run.measure is Measure.PASS_AT_1 else number
    sure = f"95 % interval {shown(row.low)} to {shown(row.high)} by a bootstrap over problems, "
    sure = "" if row.low is None else sure
    size = f"{counted(row.problems, 'problem')}, {counted(row.scored, 'submission')}"
    name = visible(row.model or NO_NAME)
    match run.measure:
        case Measure.PASS_AT_1:
            what = f"a pass@1 of {shown(row.value)} ({sure}n = {size}, k = 1)"
        case Measure.POINTS:
            some = f"{number(row.limited)} with the best of {run.submission_limit} for each problem"
            points = f"{number(row.value)} of {number(run.of)} points with all submissions"
            what = f"{points}, {some} ({sure}n = {size})"
        case Measure.SOLVED:
            what = f"{number(row.value)} of {number(run.of)} problems solved (n = {size})"
    return f"{name} has {what}, judged by {judges}."


def percent(value: float | None) -> str:
    return share(value, 1)


def sentence(a: str, b: str, measure: Measure, found: MeanDifference) -> str:
    """Return whether A and B differ, with the interval of A minus B that decides it."""
    if found.mean is None:
        return f"No problem has scored submissions of both {a} and {b}."
    over = counted(found.number, "problem")
    if found.is_zero and found.number > 1:
        return f"There is no difference in {measure.noun}: {a} and {b} have the same for each of {over}."
    size = f"{a} minus {b} is {signed(found.mean)} percentage points"
    if found.number == 1:
        return f"One problem says nothing about others. {size}."
    if found.low is None or found.high is None:
        few = f"fewer than {MIN_PROBLEMS} problems cannot show one"
        return f"No difference is shown in {measure.noun}: {few}. {size}, over {over}."
    interval = f"(95 % interval {signed(found.low)} to {signed(found.high)}, over {over})"
    if not found.sign:
        return f"No difference is shown in {measure.noun}: chance alone explains it. {size} {interval}."
    better, worse = (a, b) if found.sign > 0 else (b, a)
    return f"The difference is real: {better} is better than {worse} in {measure.noun}. {size} {interval}."


def signed(value: float) -> str:
    """Return a share in percent with its sign, as +5.7. A share that rounds to 0.0 has no sign."""
    text = f"{abs(100 * round(value, 9)):.1f}"
    return text if text == "0.0" else f"{MINUS if value < 0 else '+'}{text}"


def between(found: MeanDifference) -> str:
    """Return a difference with its interval, as +5.7 (+1.1 to +10.3)."""
    if found.mean is None:
        return ""
    if found.low is None or found.high is None:
        return signed(found.mean)
    return f"{signed(found.mean)} ({signed(found.low)} to {signed(found.high)})"
