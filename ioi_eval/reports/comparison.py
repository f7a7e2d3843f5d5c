"""The comparison of several runs as a document.

For two runs it also has the differences of their models, and submissions whose results differ, with reasons.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ioi_eval.model.quoting import encode_terminal_safe_json
from ioi_eval.model.values import SubmissionResult, Value, Verdict
from ioi_eval.reports import headline, sections
from ioi_eval.reports.document import NOTHING, Cell, Document, Section, TableBlock, counted, number
from ioi_eval.reports.headline import (
    Entry,
    common_measure,
    difference_text,
    mean_difference,
    model_ranks,
    offset_cells,
    signed_percent,
    values_by_problem,
)
from ioi_eval.reports.headline import difference_sentence as sentence_about
from ioi_eval.reports.page import write_document
from ioi_eval.reports.records import Measure, Summary, write_json
from ioi_eval.reports.sections import model_name
from ioi_eval.reports.summary import check_run, count_verdicts
from ioi_eval.rules.paired import MeanDifference, compute_mean_difference
from ioi_eval.store.files import make_folder
from ioi_eval.store.folder import fingerprint_changes, read_results
from ioi_eval.store.rows import PLACE, model_of_row

_NAME, DIFFERENCES = "comparison", "differences.json"
_MAX_NAMED = 5  # problems in a sentence
_MAX_SHOWN = 100  # submissions with different results in a document
_PRECISE = 1e-9
_LONG = 40  # rows from which on a table is folded


class ComparedRun(Value):
    """A run and its name in a comparison."""

    name: str
    summary: Summary


def named(summaries: Mapping[Path, Summary]) -> list[ComparedRun]:
    """Return the runs with names: the folder's name, or as much of its path as makes the names differ."""
    paths = {folder: folder.resolve().parts for folder in summaries}
    return [
        ComparedRun(name=_name(paths[folder], paths.values()), summary=of) for folder, of in summaries.items()
    ]


def _name(parts: tuple[str, ...], runs: Collection[tuple[str, ...]]) -> str:
    others = [other for other in runs if other != parts]
    length = next(n for n in range(1, len(parts) + 1) if all(other[-n:] != parts[-n:] for other in others))
    return "/".join(parts[-length:])


def write_comparison(runs: Sequence[ComparedRun], folder: Path, differ: Differences | None = None) -> Path:
    """Write comparison.json, comparison.md and comparison.html, and return the path of the last one."""
    make_folder(folder)
    if differ is not None:
        write_json(folder / DIFFERENCES, differ)
    write_json(folder / f"{_NAME}.json", runs)
    write_document(comparison(runs, differ), folder, markdown_name=f"{_NAME}.md", html_name=f"{_NAME}.html")
    return folder / f"{_NAME}.html"


def comparison(runs: Sequence[ComparedRun], differ: Differences | None = None) -> Document:
    of = headline.sort_entries(entries(runs))
    unscored = sum(run.summary.unscored for run in runs)
    total = count_verdicts(run.summary.verdicts for run in runs)
    of_two = list[Section]()
    if differ is not None:
        both = [run.summary for run in runs]
        of_two = [
            *paired_sections(differ.paired),
            *filter(None, [changed_ranks(*both)]),
            *sections_of(differ),
        ]
    return Document(
        title=f"{counted(len(runs), 'run')} side by side",
        answer=headline.headline_sentence(of) if of else "",
        in_parts=True,
        data=sections.explorer_json(of) if of else "",
        lead=f"{counted(unscored, 'submission')} could not be judged." if unscored else "",
        text=[
            *(["No score or average counts them."] if unscored else []),
            *warnings(runs),
            *([f"A is {runs[0].name}, B is {runs[1].name}."] if differ is not None else []),
        ],
        sections=[
            *([headline.leaderboard_section(of)] if of else []),
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
            *sections.points_sections(of, unscored),
            *sections.group_sections(of),
            sections.problems_section(of),
            sections.verdicts_section(of, total, unscored),
        ],
    )


def warnings(runs: Sequence[ComparedRun]) -> list[str]:
    """Return the warnings that stand before any number of the runs."""
    return [f"{run.name}: {warning}" for run in runs for warning in run.summary.warnings]


def entries(runs: Sequence[ComparedRun]) -> list[Entry]:
    """Return all models of all runs."""
    return [entry for run in runs for entry in sections.run_entries(run.summary, prefix=f"{run.name}: ")]


def unlike(runs: Sequence[ComparedRun]) -> Iterator[str]:
    """Yield the reasons why numbers of these runs may not be comparable."""
    columns = [
        {problem.problem_id for model in run.summary.models for problem in model.problems} for run in runs
    ]
    shared = set.intersection(*columns) if columns else set()
    if any(column != shared for column in columns):
        yield f"The runs have different problems: {counted(len(shared), 'problem')} in all of these runs."
    hashes = [run.summary.settings.problems for run in runs]
    changed = [
        name
        for name in sorted(shared)
        if len({problems[name] for problems in hashes if name in problems}) > 1
    ]
    if changed:
        more = f" and {len(changed) - _MAX_NAMED:,} more" if len(changed) > _MAX_NAMED else ""
        yield f"Some problems differ between the runs: {', '.join(changed[:_MAX_NAMED])}{more}."
    if len({run.summary.mode for run in runs}) > 1:
        yield "The points of the runs are counted in different modes."


# --- model by model, problem by problem -------------------------------------------------------------


class ProblemPair(Value):
    """A model's values for a problem in two runs, in [0, 1]."""

    problem: str
    a: float
    b: float

    @property
    def difference(self) -> float:
        return self.a - self.b


class ModelPair(Value):
    """A model in runs A and B, over the problems that both runs scored."""

    model: str
    b_model: str  # name in run B, which may differ if each run has one model
    measure: Measure
    difference: MeanDifference  # A minus B
    problems: tuple[ProblemPair, ...]

    @property
    def names(self) -> tuple[str, str]:
        """Return the names in sentences: A and B if both models have the same name."""
        names = model_name(self.model), model_name(self.b_model)
        return ("A", "B") if names[0] == names[1] else names

    @property
    def name(self) -> str:
        return " and ".join(dict.fromkeys((model_name(self.model), model_name(self.b_model))))

    @property
    def sentence(self) -> str:
        text = sentence_about(*self.names, self.measure, self.difference)
        return text if self.model != self.b_model or not self.model else f"{model_name(self.model)}: {text}"


def paired(a: Summary, b: Summary) -> tuple[ModelPair, ...]:
    """Return pairs of models with the same name, or the pair of the only models of both runs.

    Runs with feedback have no pairs: each of their programs answers the verdict on an earlier program.
    """
    if a.settings.has_feedback or b.settings.has_feedback:
        return ()
    columns = [{model.model: model for model in run.models} for run in (a, b)]
    pairs = [(name, name) for name in sorted(columns[0].keys() & columns[1].keys())]
    if not pairs and len(a.models) == len(b.models) == 1:
        pairs = [(a.models[0].model, b.models[0].model)]
    measure = common_measure([*a.models, *b.models])
    model_pairs = list[ModelPair]()
    for name, other in pairs:
        values = values_by_problem(columns[0][name], measure, a.mode)
        other_values = values_by_problem(columns[1][other], measure, b.mode)
        names = sorted(values.keys() & other_values.keys())
        problems = [ProblemPair(problem=each, a=values[each], b=other_values[each]) for each in names]
        if problems:
            model_pairs.append(
                ModelPair(
                    model=name,
                    b_model=other,
                    measure=measure,
                    difference=mean_difference(values, other_values),
                    problems=tuple(problems),
                )
            )
    return tuple(model_pairs)


def paired_sections(pairs: Sequence[ModelPair]) -> Iterator[Section]:
    if not pairs:
        return
    measure = pairs[0].measure
    title = f"A minus B in {measure.noun}"
    of = [(pair, pair.difference) for pair in pairs]
    yield Section(
        title="Differences",
        text=[
            f"{title}, over the problems that both runs scored, in percentage points. In parentheses the "
            "95 % interval of the sign-flip test."
        ],
        items=[pair.sentence for pair in pairs],
        table=TableBlock(
            heads=["Model", "Problems", "A better", "B better", "A minus B"],
            rows=[
                [
                    pair.name,
                    f"{difference.number:,}",
                    *(f"{len(side):,}" for side in _better(pair)),
                    offset,
                ]
                for (pair, difference), offset in zip(of, offset_cells([each for _, each in of]), strict=True)
            ],
            align="lrrrl",
            meanings={"A better": "problems with a higher value in A", "B better": "with a higher one in B"},
        ),
    )
    yield _paired_problems(pairs)


def _better(pair: ModelPair) -> tuple[list[ProblemPair], list[ProblemPair]]:
    """Return the problems on which A is better, and the problems on which B is better."""
    return (
        [problem for problem in pair.problems if problem.difference > _PRECISE],
        [problem for problem in pair.problems if problem.difference < -_PRECISE],
    )


def _paired_problems(pairs: Sequence[ModelPair]) -> Section:
    columns = [{problem.problem: problem for problem in pair.problems} for pair in pairs]
    names = sorted({name for column in columns for name in column})
    title, models = "A minus B by problem", [pair.name for pair in pairs]
    rows: list[list[Cell]] = [
        [
            name,
            *(
                signed_percent(problem.difference) if (problem := column.get(name)) else NOTHING
                for column in columns
            ),
        ]
        for name in names
    ]
    return Section(
        title=title,
        table=TableBlock(heads=["Problem", *models], rows=rows),
        long=len(rows) > _LONG,
    )


def changed_ranks(a: Summary, b: Summary) -> Section | None:
    """Return a table of the ranks in both runs, for models that both runs have."""
    measure = common_measure([*a.models, *b.models])
    names = {model.model for model in a.models} & {model.model for model in b.models}
    if len(names) < 2:
        return None
    of_runs = list[dict[str, int]]()
    for run in (a, b):
        of = [entry for entry in sections.run_entries(run) if entry.model.model in names]
        run_ranks = model_ranks(of, measure)
        of_runs.append({entry.model.model: rank for entry, rank in zip(of, run_ranks, strict=True)})
    rows: list[list[Cell]] = []
    for name, new in of_runs[1].items():
        old = of_runs[0][name]
        change = f"{'up' if new < old else 'down'} {abs(new - old)}" if new != old else "0"
        rows.append([model_name(name), f"{old}", f"{new}", change])
    return Section(
        title="Ranks",
        text=[f"Ranks of the models that both runs have, by {measure.noun}."],
        table=TableBlock(heads=["Model", "Rank in A", "Rank in B", "Change"], rows=rows),
    )


# --- the same submissions ----------------------------------------------------------------------------


class JudgedRow(Value):
    """The result of a submission."""

    verdict: Verdict
    points: float
    share: float  # share of the maximum points
    compiler: str
    checker: str
    tests: Mapping[str, Verdict]


class ChangedSubmission(Value):
    """A submission whose verdict or points differ between run A (`before`) and run B (`after`)."""

    key: str
    problem: str
    model: str
    before: Verdict
    after: Verdict
    points_before: float
    points_after: float
    why: tuple[str, ...]  # what else differs: the problem, the compiler, the first test


class ModelDifference(Value):
    """The differences of a model's submissions that both runs have."""

    model: str
    submissions: int
    a_better: int
    b_better: int
    difference: MeanDifference  # A minus B in a submission's share of the points, over problems


class Differences(Value):
    """Differences of two runs. Submissions are the same if their keys and their programs are the same."""

    before: str
    after: str
    shared: int
    only_before: int
    only_after: int
    options: tuple[str, ...]  # options and versions that differ
    confusion: Mapping[Verdict, Mapping[Verdict, int]]  # submissions by verdict before and verdict after
    models: tuple[ModelDifference, ...]
    changed: tuple[ChangedSubmission, ...]
    paired: tuple[ModelPair, ...] = ()  # models of both runs, also if their submissions differ


def differences(before: Path, after: Path, pairs: Sequence[ModelPair] = ()) -> Differences:
    """Compare two runs submission by submission. `pairs`: the result of `paired` for the same runs."""
    old, new = check_run(before), check_run(after)
    edited = new.fingerprint.edited_problems(old.fingerprint)
    first = dict[tuple[str, str], JudgedRow]()
    for _, row, result in read_results(before):
        first[_same(row, "before")] = _outcome(result)
    confusion: defaultdict[Verdict, Counter[Verdict]] = defaultdict(Counter)
    lost: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    changed, shared, only = list[ChangedSubmission](), 0, 0
    for _, row, result in read_results(after):
        was, now = first.get(_same(row, "after")), _outcome(result)
        if was is None:
            only += 1
            continue
        shared += 1
        confusion[was.verdict][now.verdict] += 1
        lost[model_of_row(row)][row["problem_id"]].append(was.share - now.share)
        if was.verdict is not now.verdict or abs(was.points - now.points) > _PRECISE:
            changed.append(
                ChangedSubmission(
                    key=row["key"],
                    problem=row["problem_id"],
                    model=model_of_row(row),
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
        options=fingerprint_changes(old.fingerprint, new.fingerprint),
        confusion=confusion,
        models=tuple(_model(name, problems) for name, problems in sorted(lost.items())),
        changed=tuple(sorted(changed, key=lambda change: (change.problem, change.model, change.key))),
        paired=tuple(pairs),
    )


def _same(row: Mapping[str, Any], run: str) -> tuple[str, str]:
    """Return an identity that only rows of the same submission share.

    A row that was judged elsewhere has no hash of its program. Its key, problem, model and columns of code
    replace the hash. A row without a key of its own equals no other row.

    `run` tells the rows of the two runs apart.
    """
    if digest := row.get("submission_sha256"):
        return row["key"], digest
    if row["key"].startswith(PLACE):
        return row["key"], run
    contents = [row["problem_id"], model_of_row(row), row.get("code"), row.get("generation")]
    return row["key"], hashlib.sha256(encode_terminal_safe_json(contents)).hexdigest()


def _outcome(result: SubmissionResult) -> JudgedRow:
    worth = math.fsum(part.points for part in result.subtasks) if result.subtasks else 1.0
    return JudgedRow(
        verdict=result.verdict,
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
    losses = [loss for own in problems.values() for loss in own]
    return ModelDifference(
        model=name,
        submissions=len(losses),
        a_better=sum(loss > _PRECISE for loss in losses),
        b_better=sum(loss < -_PRECISE for loss in losses),
        difference=compute_mean_difference(
            [math.fsum(own) / len(own) for _, own in sorted(problems.items())]
        ),
    )


# --- shown -------------------------------------------------------------------------------------------


def sentence(run_differences: Differences) -> str:
    """Return how many submissions of both runs have different results."""
    both = counted(run_differences.shared, "submission")
    if not run_differences.changed:
        return (
            f"The same result for all {both} of both runs"
            if run_differences.shared
            else "No submission is in both runs"
        )
    return f"Different results for {len(run_differences.changed):,} of {both} of both runs"


def sections_of(run_differences: Differences) -> Iterator[Section]:
    alone = [
        f"{counted(number_of, 'submission')} only in {name}"
        for name, number_of in (
            (run_differences.before, run_differences.only_before),
            (run_differences.after, run_differences.only_after),
        )
        if number_of
    ]
    of_models = [
        [
            model_name(group.model),
            f"{group.submissions:,}",
            f"{group.a_better:,}",
            f"{group.b_better:,}",
            difference_text(group.difference),
        ]
        for group in run_differences.models
    ]
    yield Section(
        title="Same submissions",
        items=[f"{sentence(run_differences)}.", *alone, *run_differences.options],
        table=TableBlock(heads=["Model", "Submissions", "A better", "B better", "A minus B"], rows=of_models)
        if of_models
        else None,
    )
    if not run_differences.changed:
        return
    counts = run_differences.confusion
    verdicts = sorted({after for afters in counts.values() for after in afters} | counts.keys())
    confusion = [
        [before, *(f"{counts[before].get(after, 0):,}" for after in verdicts)] for before in sorted(counts)
    ]
    yield Section(
        title="Verdicts in A and B",
        table=TableBlock(heads=["A / B", *verdicts], rows=confusion),
    )
    changed = [
        [
            change.key,
            change.problem,
            model_name(change.model),
            change.before,
            change.after,
            f"{number(change.points_before)} -> {number(change.points_after)}",
            "; ".join(change.why) or NOTHING,
        ]
        for change in run_differences.changed[:_MAX_SHOWN]
    ]
    more = len(run_differences.changed) - _MAX_SHOWN
    yield Section(
        title="Different results",
        table=TableBlock(
            heads=["Submission", "Problem", "Model", "In A", "In B", "Points", "Why"],
            rows=changed,
            align="lllllrl",
        ),
        notes=[f"and {more:,} more in {DIFFERENCES}"] if more > 0 else [],
        long=len(changed) > _MAX_SHOWN // 2,
    )
