"""Two runs: how much better the second is, and of the same submissions which verdicts differ and why."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ioi_eval.model.values import Value, Verdict
from ioi_eval.reports.document import NOTHING, Cell, Figure, Section, TableBlock, counted, number
from ioi_eval.reports.plots import Estimate, Square, as_csv, grid, intervals
from ioi_eval.reports.records import Summary
from ioi_eval.reports.sections import model_name
from ioi_eval.reports.summary import check_run, result_of_row
from ioi_eval.rules.metrics import interval, mean
from ioi_eval.rules.scoring import submission_status
from ioi_eval.store.folder import changes, read_rows
from ioi_eval.store.rows import model_of

DIFFERENCES = "differences.json"
_SHOWN = 100  # in a document
_PRECISE = 1e-9
Scores = Mapping[str, Mapping[str, Sequence[float]]]  # model, problem, the share that each submission earned
_RESAMPLES = 300  # of a problem: there are many
_LONG = 40  # rows
_STEPS = 5  # of a colour


# --- model by model, problem by problem -------------------------------------------------------------


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
        return sum(problem.difference > _PRECISE for problem in self.problems)

    @property
    def losses(self) -> int:
        return sum(problem.difference < -_PRECISE for problem in self.problems)


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


def paired_sections(pairs: Sequence[Paired]) -> Iterator[Section]:
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
        figures=[_figure(pairs)],
        table=TableBlock(
            heads=["Model", "Problems", "Better", "Worse", "Difference"],
            rows=rows,
            align="lrrrr",
            meanings={"Better": "problems with a higher mean score", "Worse": "problems with a lower one"},
        ),
    )
    yield _paired_problems(pairs)


def signed(value: float, low: float | None, high: float | None) -> str:
    sure = "" if low is None or high is None else f" ({100 * low:+.1f} to {100 * high:+.1f})"
    return f"{100 * value:+.1f}{sure}"


def _figure(pairs: Sequence[Paired]) -> Figure:
    title = "Difference of mean scores"
    rows = [Estimate(name=pair.name, value=pair.mean, low=pair.low, high=pair.high) for pair in pairs]
    numbers = [(pair.name, pair.mean, pair.low, pair.high, pair.wins, pair.losses) for pair in pairs]
    heads = ["model", "difference", "low", "high", "better", "worse"]
    return Figure(title=title, drawing=intervals(title, rows), numbers=as_csv(heads, numbers))


def _paired_problems(pairs: Sequence[Paired]) -> Section:
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
    if abs(problem.difference) <= _PRECISE:
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


# --- the same submissions ----------------------------------------------------------------------------


class JudgedRow(Value):
    """A submission as its row has it."""

    verdict: Verdict
    points: float
    share: float  # of the points that there are
    compiler: str
    checker: str
    tests: Mapping[str, Verdict]


class Difference(Value):
    """A submission with another verdict, or other points, in the second run."""

    key: str
    problem: str
    model: str
    before: Verdict
    after: Verdict
    points_before: float
    points_after: float
    why: tuple[str, ...]  # what differs besides: the problem, the compiler, the first such test


class ModelDifference(Value):
    """Over the submissions of both runs; the interval is a paired bootstrap over problems."""

    model: str
    submissions: int
    better: int
    worse: int
    mean: float  # of what was won of a submission's points, as a share
    low: float | None
    high: float | None


class Differences(Value):
    """Submissions are the same where their keys and their programs are."""

    before: str
    after: str
    shared: int
    only_before: int
    only_after: int
    options: tuple[str, ...]  # what the runs differ by: options, versions
    confusion: Mapping[Verdict, Mapping[Verdict, int]]  # verdict before, verdict after, submissions
    models: tuple[ModelDifference, ...]
    changed: tuple[Difference, ...]
    paired: tuple[Paired, ...] = ()  # also where the submissions are others


def differences(before: Path, after: Path) -> Differences:
    old, new = check_run(before), check_run(after)
    edited = new.fingerprint.edited(old.fingerprint)
    scores = _nested(), _nested()  # shares of points, by model and problem
    first = dict[tuple[str, str], JudgedRow]()
    for row in read_rows(before):
        first[_same(row)] = found = _outcome(row)
        scores[0][model_of(row)][row["problem_id"]].append(found.share)
    confusion: defaultdict[Verdict, Counter[Verdict]] = defaultdict(Counter)
    won = _nested()
    changed, shared, only = list[Difference](), 0, 0
    for row in read_rows(after):
        was, now = first.get(_same(row)), _outcome(row)
        scores[1][model_of(row)][row["problem_id"]].append(now.share)
        if was is None:
            only += 1
            continue
        shared += 1
        confusion[was.verdict][now.verdict] += 1
        won[model_of(row)][row["problem_id"]].append(now.share - was.share)
        if was.verdict is not now.verdict or abs(was.points - now.points) > _PRECISE:
            changed.append(
                Difference(
                    key=row["key"],
                    problem=row["problem_id"],
                    model=model_of(row),
                    before=was.verdict,
                    after=now.verdict,
                    points_before=was.points,
                    points_after=now.points,
                    why=tuple(_reasons(was, now, row["problem_id"] in edited)),
                )
            )
    return Differences(
        before=str(before),
        after=str(after),
        shared=shared,
        only_before=len(first) - shared,
        only_after=only,
        options=changes(old.fingerprint, new.fingerprint),
        confusion=confusion,
        models=tuple(_model(name, problems) for name, problems in sorted(won.items())),
        changed=tuple(
            sorted(changed, key=lambda difference: (difference.problem, difference.model, difference.key))
        ),
        paired=paired(*scores, won),
    )


def _nested() -> defaultdict[str, defaultdict[str, list[float]]]:
    return defaultdict(lambda: defaultdict(list))


def _same(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["key"], row.get("submission_sha256") or ""


def _outcome(row: Mapping[str, Any]) -> JudgedRow:
    result = result_of_row(row)
    worth = math.fsum(part.points for part in result.subtasks) if result.subtasks else 1.0
    return JudgedRow(
        verdict=submission_status(result),
        points=result.points,
        share=result.points / worth if worth else 0.0,
        compiler=result.compiler,
        checker=result.checker,
        tests={test.test_name: test.status for test in result.tests},
    )


def _reasons(was: JudgedRow, now: JudgedRow, edited: bool) -> Iterator[str]:
    if edited:
        yield "the problem has changed"
    if was.compiler != now.compiler:
        yield f"{was.compiler or NOTHING} -> {now.compiler or NOTHING}"
    if was.checker != now.checker:
        yield f"checker {was.checker or NOTHING} -> {now.checker or NOTHING}"
    both = ((name, was.tests[name], now.tests[name]) for name in sorted(was.tests.keys() & now.tests.keys()))
    others = ((name, before, other) for name, before, other in both if before is not other)
    for name, before, other in others:
        if Verdict.SKIPPED not in (before, other):
            yield f"test {name}: {before} -> {other}"
            return


def _model(name: str, problems: Mapping[str, list[float]]) -> ModelDifference:
    gains = [gain for own in problems.values() for gain in own]
    means = [math.fsum(own) / len(own) for own in problems.values()]
    low, high = interval(sorted(means))
    return ModelDifference(
        model=name,
        submissions=len(gains),
        better=sum(gain > _PRECISE for gain in gains),
        worse=sum(gain < -_PRECISE for gain in gains),
        mean=mean(means) or 0.0,
        low=low,
        high=high,
    )


# --- shown -------------------------------------------------------------------------------------------


def sentence(found: Differences) -> str:
    both = counted(found.shared, "submission")
    if not found.changed:
        return (
            f"The same result for all {both} of both runs"
            if found.shared
            else "No submission is in both runs"
        )
    return f"Another result for {len(found.changed):,} of {both} of both runs"


def sections_of(found: Differences) -> Iterator[Section]:
    alone = [
        f"{counted(number_of, 'submission')} only in {name}"
        for name, number_of in ((found.before, found.only_before), (found.after, found.only_after))
        if number_of
    ]
    yield Section(
        title="Same submissions",
        items=[f"{sentence(found)}.", *alone, *found.options],
        table=_models(found.models),
    )
    if found.changed:
        yield Section(title="Verdicts before and after", table=_confusion(found.confusion))
        rows: list[list[Cell]] = [_row(difference) for difference in found.changed[:_SHOWN]]
        heads = ["Submission", "Problem", "Model", "Before", "After", "Points", "Why"]
        more = len(found.changed) - _SHOWN
        notes = [f"and {more:,} more in {DIFFERENCES}"] if more > 0 else []
        table = TableBlock(heads=heads, rows=rows, align="lllllrl")
        yield Section(title="Other results", table=table, notes=notes, long=len(rows) > _SHOWN // 2)


def _row(difference: Difference) -> list[Cell]:
    points = f"{number(difference.points_before)} -> {number(difference.points_after)}"
    return [
        difference.key,
        difference.problem,
        model_name(difference.model),
        difference.before,
        difference.after,
        points,
        "; ".join(difference.why) or NOTHING,
    ]


def _models(models: Iterable[ModelDifference]) -> TableBlock | None:
    rows: list[list[Cell]] = [
        [
            model_name(group.model),
            f"{group.submissions:,}",
            f"{group.better:,}",
            f"{group.worse:,}",
            signed(group.mean, group.low, group.high),
        ]
        for group in models
    ]
    heads = ["Model", "Submissions", "Better", "Worse", "Points won, %"]
    return TableBlock(heads=heads, rows=rows, align="lrrrr") if rows else None


def _confusion(found: Mapping[Verdict, Mapping[Verdict, int]]) -> TableBlock:
    heads = sorted({after for afters in found.values() for after in afters} | found.keys())
    rows: list[list[Cell]] = [
        [before, *(f"{found[before].get(after, 0):,}" for after in heads)] for before in sorted(found)
    ]
    return TableBlock(heads=["Before / after", *heads], rows=rows, align="l" + "r" * len(heads))
