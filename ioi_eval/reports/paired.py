"""Two runs, model by model and problem by problem: how much better the second is, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ioi_eval.model.values import Value
from ioi_eval.reports.document import NOTHING, Cell, Figure, Section, TableBlock
from ioi_eval.reports.plots import Estimate, Square, as_csv, grid, intervals
from ioi_eval.reports.records import Summary
from ioi_eval.reports.sections import model_name
from ioi_eval.rules.metrics import interval, mean

Scores = Mapping[str, Mapping[str, Sequence[float]]]  # model, problem, the share that each submission earned
_LEAST = 1e-9  # of a difference
_RESAMPLES = 300  # of a problem: there are many
_LONG = 40  # rows
_STEPS = 5  # of a colour


class PairedProblem(Value):
    """A model's mean scores for a problem; the interval is over the submissions that are in both runs."""

    problem: str
    before: float
    after: float
    low: float | None
    high: float | None

    @property
    def difference(self) -> float:
        return self.after - self.before


class Paired(Value):
    """A model in both runs, over the problems that both have scored; the interval is over problems."""

    model: str
    after_model: str  # another one where each run has one model, and not the same
    mean: float
    low: float | None
    high: float | None
    problems: tuple[PairedProblem, ...]

    @property
    def name(self) -> str:
        names = dict.fromkeys((model_name(self.model), model_name(self.after_model)))
        return " -> ".join(names)

    @property
    def wins(self) -> int:
        return sum(problem.difference > _LEAST for problem in self.problems)

    @property
    def losses(self) -> int:
        return sum(problem.difference < -_LEAST for problem in self.problems)


def paired(before: Scores, after: Scores, won: Scores) -> tuple[Paired, ...]:
    """`won`: what the submissions that are in both runs earned more in the second."""
    pairs = [(name, name) for name in sorted(before.keys() & after.keys())]
    if not pairs and len(before) == len(after) == 1:
        pairs = [(next(iter(before)), next(iter(after)))]
    compared = (_pair(name, other, before[name], after[other], won.get(other, {})) for name, other in pairs)
    return tuple(pair for pair in compared if pair.problems)


def _pair(
    model: str,
    after_model: str,
    before: Mapping[str, Sequence[float]],
    after: Mapping[str, Sequence[float]],
    won: Mapping[str, Sequence[float]],
) -> Paired:
    problems = []
    for name in sorted(before.keys() & after.keys()):
        same = len(won.get(name, ())) == len(before[name]) == len(after[name])
        low, high = interval(sorted(won[name]), resamples=_RESAMPLES) if same else (None, None)
        means = mean(before[name]) or 0.0, mean(after[name]) or 0.0
        problems.append(PairedProblem(problem=name, before=means[0], after=means[1], low=low, high=high))
    differences = sorted(problem.difference for problem in problems)
    low, high = interval(differences)
    return Paired(
        model=model,
        after_model=after_model,
        mean=mean(differences) or 0.0,
        low=low,
        high=high,
        problems=tuple(problems),
    )


# --- shown -------------------------------------------------------------------------------------------


def sections_of(pairs: Sequence[Paired]) -> Iterator[Section]:
    if not pairs:
        return
    rows: list[list[Cell]] = [
        [
            pair.name,
            f"{len(pair.problems):,}",
            f"{pair.wins:,}",
            f"{pair.losses:,}",
            signed(pair.mean, pair.low, pair.high),
        ]
        for pair in pairs
    ]
    yield Section(
        title="Differences",
        text=[
            "Mean score of the second run minus that of the first, over the problems that both scored, in "
            "percent. In parentheses the 95 % interval: a paired bootstrap over problems; for a single "
            "problem over its submissions, if both runs have the same ones."
        ],
        figures=[_of_models(pairs)],
        table=TableBlock(
            heads=["Model", "Problems", "Better", "Worse", "Difference"],
            rows=rows,
            align="lrrrr",
            meanings={"Better": "problems with a higher mean score", "Worse": "problems with a lower one"},
        ),
    )
    yield _by_problem(pairs)


def signed(value: float, low: float | None, high: float | None) -> str:
    sure = "" if low is None or high is None else f" ({100 * low:+.1f} to {100 * high:+.1f})"
    return f"{100 * value:+.1f}{sure}"


def _of_models(pairs: Sequence[Paired]) -> Figure:
    title = "Difference of mean scores"
    rows = [Estimate(name=pair.name, value=pair.mean, low=pair.low, high=pair.high) for pair in pairs]
    numbers = [(pair.name, pair.mean, pair.low, pair.high, pair.wins, pair.losses) for pair in pairs]
    heads = ["model", "difference", "low", "high", "better", "worse"]
    return Figure(title=title, drawing=intervals(title, rows), numbers=as_csv(heads, numbers))


def _by_problem(pairs: Sequence[Paired]) -> Section:
    columns = [{problem.problem: problem for problem in pair.problems} for pair in pairs]
    names = sorted({name for column in columns for name in column})
    most = max(abs(problem.difference) for column in columns for problem in column.values())
    title, models = "Difference by problem", [pair.name for pair in pairs]
    squares = [[_square(column.get(name), most) for name in names] for column in columns]
    rows: list[list[Cell]] = [
        [
            name,
            *(
                signed(problem.difference, problem.low, problem.high)
                if (problem := column.get(name))
                else NOTHING
                for column in columns
            ),
        ]
        for name in names
    ]
    numbers = [
        (pair.name, problem.problem, problem.before, problem.after, problem.low, problem.high)
        for pair in pairs
        for problem in pair.problems
    ]
    figure = Figure(
        title=title,
        drawing=grid(title, models, names, squares),
        numbers=as_csv(["model", "problem", "before", "after", "low", "high"], numbers),
    )
    table = TableBlock(heads=["Problem", *models], rows=rows, align="l" + "r" * len(models))
    return Section(title=title, figures=[figure] if most else [], table=table, long=len(rows) > _LONG)


def _square(problem: PairedProblem | None, most: float) -> Square:
    if problem is None:
        return Square(share=None, text="not in both runs")
    if abs(problem.difference) <= _LEAST:
        return Square(share=None, text="0")
    kind, step = (
        "better" if problem.difference > 0 else "worse",
        round(_STEPS * abs(problem.difference) / most),
    )
    return Square(share=None, text=f"{100 * problem.difference:+.1f}", style=f"{kind}{max(1, step)}")


def ranks(before: Summary, after: Summary) -> Section | None:
    """Compare the ranks of models that are in both runs, in the order of each run's first table."""
    orders = [[model.model for model in run.models] for run in (before, after)]
    old, new = ([name for name in own if name in other] for own, other in (orders, orders[::-1]))
    if len(new) < 2:
        return None
    rows: list[list[Cell]] = []
    for place, name in enumerate(new):
        risen = old.index(name) - place
        change = f"{'up' if risen > 0 else 'down'} {abs(risen)}" if risen else NOTHING
        rows.append([model_name(name), f"{old.index(name) + 1}", f"{place + 1}", change])
    table = TableBlock(heads=["Model", "Before", "After", "Change"], rows=rows, align="lrrr")
    return Section(title="Ranks", text=["By points, of the models that are in both runs."], table=table)
