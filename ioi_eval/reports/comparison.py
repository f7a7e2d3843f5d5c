"""Several runs side by side in one document.

For two runs also how much better the second is, and which verdicts of the same submissions differ, and why.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ioi_eval.model.quoting import as_json
from ioi_eval.model.values import SubmissionResult, Value, Verdict
from ioi_eval.reports import sections
from ioi_eval.reports.document import NOTHING, Cell, Document, Section, TableBlock, counted, number, share
from ioi_eval.reports.page import write_document
from ioi_eval.reports.plots import Estimate, Square, figure, grid, intervals
from ioi_eval.reports.records import Group, ModelSummary, Summary, write_json
from ioi_eval.reports.scoreboard import Scores as ContestScores
from ioi_eval.reports.sections import Entry, model_name
from ioi_eval.reports.summary import check_run, worst_first
from ioi_eval.rules.metrics import interval, mean
from ioi_eval.rules.scoring import submission_status
from ioi_eval.store.files import make_folder
from ioi_eval.store.folder import changes, read_results
from ioi_eval.store.rows import PLACE, model_of

_NAME, DIFFERENCES = "comparison", "differences.json"
_NAMED = 5  # in a sentence
_SHOWN = 100  # other results in a document
_PRECISE = 1e-9
_RESAMPLES = 300  # of a problem: there are many
_LONG = 40  # rows
_STEPS = 5  # of a colour
Scores = Mapping[str, Mapping[str, Sequence[float]]]  # model, problem, the share that each submission earned


class ComparedRun(Value):
    """A run under the name that it has in a comparison."""

    name: str
    summary: Summary


def named(summaries: Mapping[Path, Summary]) -> list[ComparedRun]:
    """Runs by their folders' names; where two are alike, by as much of their paths as tells them apart."""
    paths = {folder: folder.resolve().parts for folder in summaries}
    return [
        ComparedRun(name=_name(paths[folder], paths.values()), summary=of) for folder, of in summaries.items()
    ]


def _name(parts: tuple[str, ...], runs: Collection[tuple[str, ...]]) -> str:
    others = [other for other in runs if other != parts]
    length = next(n for n in range(1, len(parts) + 1) if all(other[-n:] != parts[-n:] for other in others))
    return "/".join(parts[-length:])


def write_comparison(runs: Sequence[ComparedRun], folder: Path, differ: Differences | None = None) -> Path:
    """Writes comparison.json, comparison.md and comparison.html; returns the last one's path."""
    make_folder(folder)
    if differ is not None:
        write_json(folder / DIFFERENCES, differ)
    write_json(folder / f"{_NAME}.json", runs)
    write_document(comparison(runs, differ), folder, markdown_name=f"{_NAME}.md", html_name=f"{_NAME}.html")
    return folder / f"{_NAME}.html"


def comparison(runs: Sequence[ComparedRun], differ: Differences | None = None) -> Document:
    of = entries(runs)
    unscored = sum(run.summary.unscored for run in runs)
    total = worst_first(run.summary.verdicts for run in runs)
    of_two = list[Section]()
    if differ is not None:
        changed_ranks = ranks(*(run.summary for run in runs))
        of_two = [*paired_sections(differ.paired), *filter(None, [changed_ranks]), *sections_of(differ)]
    return Document(
        title=f"{counted(len(runs), 'run')} side by side",
        lead=f"{counted(unscored, 'submission')} could not be judged." if unscored else "",
        text=[*(["No score or average counts them."] if unscored else []), *warnings(runs)],
        sections=[
            Section(
                title="Runs",
                table=TableBlock(
                    heads=["Run", "Submissions", "Scored", "Unscored", "Problems", "Models"],
                    rows=[
                        [
                            run.name,
                            f"{run.summary.submissions:,}",
                            f"{run.summary.scored:,}",
                            f"{run.summary.unscored:,}",
                            f"{run.summary.problems:,}",
                            ", ".join(model_name(model.model) for model in run.summary.models),
                        ]
                        for run in runs
                    ],
                    align="lrrrrl",
                ),
                items=list(unlike(runs)),
            ),
            *of_two,
            *([sections.board(of)] if len(of) > 1 else []),
            Section(title="Models", table=sections.models(of)),
            *_models_by_runs(runs),
            *_groups_by_models(of),
            *sections.of_points(of, unscored),
            *sections.groups(of),
            sections.by_problem(of),
            sections.verdicts(of, total, unscored),
        ],
    )


def warnings(runs: Sequence[ComparedRun]) -> list[str]:
    """Return the notes to read before any number of the runs."""
    return [f"{run.name}: {warning}" for run in runs for warning in run.summary.warnings]


def entries(runs: Sequence[ComparedRun]) -> list[Entry]:
    """Every model of every run."""
    return [entry for run in runs for entry in sections.entries(run.summary, prefix=f"{run.name}: ")]


def unlike(runs: Sequence[ComparedRun]) -> Iterator[str]:
    """Yield why numbers of these runs may not be comparable."""
    columns = [
        {problem.problem_id for model in run.summary.models for problem in model.problems} for run in runs
    ]
    shared = set.intersection(*columns) if columns else set()
    if any(column != shared for column in columns):
        yield f"Not of the same problems: {counted(len(shared), 'problem')} in all of these runs."
    hashes = [run.summary.settings.problems for run in runs]
    changed = [
        name
        for name in sorted(shared)
        if len({problems[name] for problems in hashes if name in problems}) > 1
    ]
    if changed:
        more = f" and {len(changed) - _NAMED:,} more" if len(changed) > _NAMED else ""
        yield f"Not of the same contents in all runs: {', '.join(changed[:_NAMED])}{more}."
    if len({run.summary.mode for run in runs}) > 1:
        yield "Not counted in the same mode."


# --- matrices ----------------------------------------------------------------------------------------


def _models_by_runs(runs: Sequence[ComparedRun]) -> Iterator[Section]:
    """A line for each model, a column for each run; where no model is in two runs it would be empty."""
    columns = [{model.model: model for model in run.summary.models} for run in runs]
    names = sorted({name for column in columns for name in column})
    if all(sum(name in column for column in columns) < 2 for name in names):
        return
    yield Section(
        title="Models by runs",
        text=["Points and the maximum, or the mean score; in parentheses pass@k for the smallest k."],
        table=TableBlock(
            heads=["Model", *(run.name for run in runs)],
            rows=[
                [
                    model_name(name),
                    *(_result(column[name]) if name in column else NOTHING for column in columns),
                ]
                for name in names
            ],
        ),
    )


def _groups_by_models(of: Sequence[Entry]) -> Iterator[Section]:
    """Difficulties, and nothing else: tags may be many."""
    columns = [
        {group.name: group for group in entry.model.groups if group.kind == "difficulty"} for entry in of
    ]
    names = sorted({name for column in columns for name in column}, key=sections.place)
    rows = [
        [name or "(none)", *(_result(column[name]) if name in column else NOTHING for column in columns)]
        for name in names
    ]
    if rows:
        yield Section(
            title="Difficulty by models",
            table=TableBlock(heads=["Difficulty", *(entry.name for entry in of)], rows=rows),
        )


def _result(of: ModelSummary | Group) -> str:
    ks = sections.known_ks([of.pass_at])
    passes = (
        f" ({share(next(estimate.value for estimate in of.pass_at if estimate.k == ks[0]), 1)})" if ks else ""
    )
    if of.max_points:
        return f"{number(of.points)} of {number(of.max_points)}{passes}"
    return share(of.mean_score, 1) + passes


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
    title = "Difference of mean scores"
    estimates = [Estimate(name=pair.name, value=pair.mean, low=pair.low, high=pair.high) for pair in pairs]
    yield Section(
        title="Differences",
        text=[
            "Mean score of the second run minus that of the first, over the problems that both scored, in "
            "percent. In parentheses the 95 % interval: a paired bootstrap over problems; for a single "
            "problem over its submissions, if both runs have the same ones."
        ],
        figures=[
            figure(
                title,
                intervals(title, estimates),
                ["model", "difference", "low", "high", "better", "worse"],
                [(pair.name, pair.mean, pair.low, pair.high, pair.wins, pair.losses) for pair in pairs],
            )
        ],
        table=TableBlock(
            heads=["Model", "Problems", "Better", "Worse", "Difference"],
            rows=[
                [
                    pair.name,
                    f"{len(pair.problems):,}",
                    f"{pair.wins:,}",
                    f"{pair.losses:,}",
                    signed(pair.mean, pair.low, pair.high),
                ]
                for pair in pairs
            ],
            meanings={"Better": "problems with a higher mean score", "Worse": "problems with a lower one"},
        ),
    )
    yield _paired_problems(pairs)


def signed(value: float, low: float | None, high: float | None) -> str:
    sure = "" if low is None or high is None else f" ({100 * low:+.1f} to {100 * high:+.1f})"
    return f"{100 * value:+.1f}{sure}"


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
    heads = ["model", "problem", "before", "after", "low", "high"]
    drawn = figure(title, grid(title, models, names, squares), heads, numbers)
    return Section(
        title=title,
        figures=[drawn] if most else [],
        table=TableBlock(heads=["Problem", *models], rows=rows),
        long=len(rows) > _LONG,
    )


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
    standings = [
        {model.model: (-round(model.points, 6), -model.problems_solved) for model in run.models}
        for run in (before, after)
    ]
    names = [name for name in standings[1] if name in standings[0]]
    if len(names) < 2:
        return None
    rows: list[list[Cell]] = []
    for name in names:
        old, new = (1 + sum(own[other] < own[name] for other in names) for own in standings)
        change = f"{'up' if new < old else 'down'} {abs(new - old)}" if new != old else "0"
        rows.append([model_name(name), f"{old}", f"{new}", change])
    return Section(
        title="Ranks",
        text=["By points, then solved problems, of the models that are in both runs; equals share a rank."],
        table=TableBlock(heads=["Model", "Before", "After", "Change"], rows=rows),
    )


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
    told = (
        ContestScores(old).is_contest or ContestScores(new).is_contest
    )  # means of such programs say nothing
    scores = _nested(), _nested()  # shares of points, by model and problem
    first = dict[tuple[str, str], JudgedRow]()
    for _, row, result in read_results(before):
        first[_same(row, "before")] = found = _outcome(result)
        scores[0][model_of(row)][row["problem_id"]].append(found.share)
    confusion: defaultdict[Verdict, Counter[Verdict]] = defaultdict(Counter)
    won = _nested()
    changed, shared, only = list[Difference](), 0, 0
    for _, row, result in read_results(after):
        was, now = first.get(_same(row, "after")), _outcome(result)
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
        paired=() if told else paired(*scores, won),
    )


def _nested() -> defaultdict[str, defaultdict[str, list[float]]]:
    return defaultdict(lambda: defaultdict(list))


def _same(row: Mapping[str, Any], run: str) -> tuple[str, str]:
    """Return what only rows of the same submission have in common. `run`: which run the row is of.

    A row that was judged elsewhere has no hash of its program. Its key, problem, model and columns of code
    stand for the hash. A row without a key equals none.
    """
    if digest := row.get("submission_sha256"):
        return row["key"], digest
    if row["key"].startswith(PLACE):
        return row["key"], run
    said = [row["problem_id"], model_of(row), row.get("code"), row.get("generation")]
    return row["key"], hashlib.sha256(as_json(said)).hexdigest()


def _outcome(result: SubmissionResult) -> JudgedRow:
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
    of_models = [
        [
            model_name(group.model),
            f"{group.submissions:,}",
            f"{group.better:,}",
            f"{group.worse:,}",
            signed(group.mean, group.low, group.high),
        ]
        for group in found.models
    ]
    yield Section(
        title="Same submissions",
        items=[f"{sentence(found)}.", *alone, *found.options],
        table=TableBlock(heads=["Model", "Submissions", "Better", "Worse", "Points won, %"], rows=of_models)
        if of_models
        else None,
    )
    if not found.changed:
        return
    counts = found.confusion
    verdicts = sorted({after for afters in counts.values() for after in afters} | counts.keys())
    confusion = [
        [before, *(f"{counts[before].get(after, 0):,}" for after in verdicts)] for before in sorted(counts)
    ]
    yield Section(
        title="Verdicts before and after",
        table=TableBlock(heads=["Before / after", *verdicts], rows=confusion),
    )
    changed = [
        [
            difference.key,
            difference.problem,
            model_name(difference.model),
            difference.before,
            difference.after,
            f"{number(difference.points_before)} -> {number(difference.points_after)}",
            "; ".join(difference.why) or NOTHING,
        ]
        for difference in found.changed[:_SHOWN]
    ]
    more = len(found.changed) - _SHOWN
    yield Section(
        title="Other results",
        table=TableBlock(
            heads=["Submission", "Problem", "Model", "Before", "After", "Points", "Why"],
            rows=changed,
            align="lllllrl",
        ),
        notes=[f"and {more:,} more in {DIFFERENCES}"] if more > 0 else [],
        long=len(changed) > _SHOWN // 2,
    )
