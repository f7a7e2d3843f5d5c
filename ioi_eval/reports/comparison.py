"""The comparison of several runs as a document.

For two runs, the comparison includes the differences between their models, and the submissions whose results
differ, with reasons.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ioi_eval.model.quoting import encode_terminal_safe_json
from ioi_eval.model.text import format_count
from ioi_eval.model.values import SubmissionResult, Value, Verdict
from ioi_eval.reports import headline, sections
from ioi_eval.reports.document import NOTHING, Cell, Document, Section, TableBlock, format_number
from ioi_eval.reports.headline import (
    MODEL,
    Entry,
    choose_common_measure,
    compare_values_by_problem,
    compute_measure_by_problem,
    compute_model_ranks,
    format_difference,
    format_signed_percent,
    make_mean_difference_cells,
)
from ioi_eval.reports.headline import make_difference_sentence as sentence_about
from ioi_eval.reports.page import write_document
from ioi_eval.reports.records import Measure, Summary, choose_author_noun, write_json
from ioi_eval.reports.sections import format_model_name
from ioi_eval.reports.summary import count_verdicts, read_valid_run_info
from ioi_eval.rules.paired import MeanDifference, compute_mean_difference
from ioi_eval.store.files import create_folder_if_missing
from ioi_eval.store.folder import list_fingerprint_changes, read_results
from ioi_eval.store.rows import ROW_KEY_PREFIX, read_model_name

_NAME, DIFFERENCES = "comparison", "differences.json"
_MAX_NAMED = 5  # maximum number of problems that a sentence names
_MAX_SHOWN = 100  # maximum number of submissions with different results that a document shows
_PRECISE = 1e-9
_LONG = 40  # minimum number of rows of a table that is folded


class ComparedRun(Value):
    """A run and its name in a comparison."""

    name: str
    summary: Summary


def name_runs(summaries: Mapping[Path, Summary]) -> list[ComparedRun]:
    """Return the runs with distinct names: the folder's name, or the shortest distinct part of its path."""
    parts_by_folder = {folder: folder.resolve().parts for folder in summaries}
    return [
        ComparedRun(
            name=_find_shortest_distinct_name(parts_by_folder[folder], parts_by_folder.values()),
            summary=summary,
        )
        for folder, summary in summaries.items()
    ]


def _find_shortest_distinct_name(parts: tuple[str, ...], all_parts: Collection[tuple[str, ...]]) -> str:
    """Return the shortest suffix of a path that no other path has."""
    other_paths = [other for other in all_parts if other != parts]
    length = next(
        part_count
        for part_count in range(1, len(parts) + 1)
        if all(other[-part_count:] != parts[-part_count:] for other in other_paths)
    )
    return "/".join(parts[-length:])


def write_comparison(
    runs: Sequence[ComparedRun], folder: Path, run_differences: Differences | None = None
) -> Path:
    """Write comparison.json, comparison.md and comparison.html. Return the path of the HTML file."""
    create_folder_if_missing(folder)
    if run_differences is not None:
        write_json(folder / DIFFERENCES, run_differences)
    write_json(folder / f"{_NAME}.json", runs)
    write_document(
        make_comparison(runs, run_differences), folder, markdown_name=f"{_NAME}.md", html_name=f"{_NAME}.html"
    )
    return folder / f"{_NAME}.html"


def make_comparison(runs: Sequence[ComparedRun], run_differences: Differences | None = None) -> Document:
    """Return the comparison as a document. `run_differences`: the differences, if there are two runs."""
    entries_of_runs = headline.sort_entries(make_entries(runs))
    unscored_count = sum(run.summary.unscored for run in runs)
    verdicts = count_verdicts(run.summary.verdicts for run in runs)
    difference_parts = list[Section]()
    headline_sentence = headline.make_headline_sentence(entries_of_runs) if entries_of_runs else ""
    # The sentence compares run A with run B, and not the better with the worse model.
    if run_differences is not None and run_differences.paired:
        headline_sentence = (
            run_differences.paired[0].comparison_sentence if len(run_differences.paired) == 1 else ""
        )
    if run_differences is not None:
        summaries = [run.summary for run in runs]
        difference_parts = [
            *make_paired_sections(run_differences.paired),
            *filter(None, [make_changed_ranks_section(*summaries)]),
            *make_difference_sections(run_differences),
        ]
    return Document(
        title=f"{format_count(len(runs), 'run')} side by side",
        answer=headline_sentence,
        in_parts=True,
        data=sections.make_explorer_json(entries_of_runs) if entries_of_runs else "",
        lead=f"{format_count(unscored_count, 'submission')} could not be judged." if unscored_count else "",
        text=[
            *(["No score or average counts them."] if unscored_count else []),
            *collect_warnings(runs),
            *([f"A is {runs[0].name}, B is {runs[1].name}."] if run_differences is not None else []),
        ],
        sections=[
            *([headline.make_leaderboard_section(entries_of_runs)] if entries_of_runs else []),
            Section(
                title="Runs",
                table=TableBlock(
                    heads=[
                        "Run",
                        "Submissions",
                        "Scored",
                        "Unscored",
                        "Problems",
                        f"{headline.choose_model_column_heading(entries_of_runs)}s",
                    ],
                    rows=[
                        [
                            run.name,
                            f"{run.summary.submissions:,}",
                            f"{run.summary.scored:,}",
                            f"{run.summary.unscored:,}",
                            f"{run.summary.problems:,}",
                            ", ".join(format_model_name(model.model) for model in run.summary.models),
                        ]
                        for run in runs
                    ],
                    align="lrrrrl",
                ),
                items=list(find_comparability_notes(runs)),
            ),
            *difference_parts,
            *sections.make_points_sections(entries_of_runs, unscored_count),
            *sections.make_group_sections(entries_of_runs),
            sections.make_problems_section(entries_of_runs),
            sections.make_verdicts_section(entries_of_runs, verdicts, unscored_count),
        ],
    )


def collect_warnings(runs: Sequence[ComparedRun]) -> list[str]:
    """Return the warnings that the page shows above all numbers."""
    return [f"{run.name}: {warning}" for run in runs for warning in run.summary.warnings]


def make_entries(runs: Sequence[ComparedRun]) -> list[Entry]:
    """Return all models of all runs."""
    return [entry for run in runs for entry in sections.make_run_entries(run.summary, prefix=f"{run.name}: ")]


def find_comparability_notes(runs: Sequence[ComparedRun]) -> Iterator[str]:
    """Yield the reasons why numbers of these runs may not be comparable."""
    problem_ids_by_run = [
        {problem.problem_id for model in run.summary.models for problem in model.problems} for run in runs
    ]
    shared_problems = set.intersection(*problem_ids_by_run) if problem_ids_by_run else set()
    if any(column != shared_problems for column in problem_ids_by_run):
        yield (
            "The runs have different problems:"
            f" {format_count(len(shared_problems), 'problem')} in all of these runs."
        )
    hashes_by_run = [run.summary.settings.problems for run in runs]
    changed_problems = [
        name
        for name in sorted(shared_problems)
        if len({problems[name] for problems in hashes_by_run if name in problems}) > 1
    ]
    if changed_problems:
        more_note = (
            f" and {len(changed_problems) - _MAX_NAMED:,} more" if len(changed_problems) > _MAX_NAMED else ""
        )
        yield f"Some problems differ between the runs: {', '.join(changed_problems[:_MAX_NAMED])}{more_note}."
    if len({run.summary.mode for run in runs}) > 1:
        yield "The points of the runs are counted in different modes."


# --- comparison by model and by problem -------------------------------------------------------------


class ProblemPair(Value):
    """A model's values for a problem in two runs, in [0, 1]."""

    problem: str
    a: float
    b: float

    @property
    def value_difference(self) -> float:
        return self.a - self.b


class ModelPair(Value):
    """A model in runs A and B, over the problems that both runs scored."""

    model: str
    b_model: str  # name of the model in run B, which may be another name if each run has a single model
    measure: Measure
    difference: MeanDifference  # A minus B
    problems: tuple[ProblemPair, ...]

    @property
    def names(self) -> tuple[str, str]:
        """Return the names in sentences: A and B if both models have the same name."""
        names = format_model_name(self.model), format_model_name(self.b_model)
        return ("A", "B") if names[0] == names[1] else names

    @property
    def name(self) -> str:
        return " and ".join(dict.fromkeys((format_model_name(self.model), format_model_name(self.b_model))))

    @property
    def comparison_sentence(self) -> str:
        pair_sentence = sentence_about(*self.names, self.measure, self.difference)
        return (
            pair_sentence
            if self.model != self.b_model or not self.model
            else f"{format_model_name(self.model)}: {pair_sentence}"
        )


def pair_models(first_run: Summary, second_run: Summary) -> tuple[ModelPair, ...]:
    """Return pairs of models with the same name, or the pair of the only models of both runs.

    Runs with feedback are not paired: their models see the verdict on a program before they write the next.
    """
    if first_run.settings.has_feedback or second_run.settings.has_feedback:
        return ()
    models_by_name = [{model.model: model for model in run.models} for run in (first_run, second_run)]
    name_pairs = [(name, name) for name in sorted(models_by_name[0].keys() & models_by_name[1].keys())]
    if not name_pairs and len(first_run.models) == len(second_run.models) == 1:
        name_pairs = [(first_run.models[0].model, second_run.models[0].model)]
    measure = choose_common_measure([*first_run.models, *second_run.models])
    model_pairs = list[ModelPair]()
    for name, other_name in name_pairs:
        values = compute_measure_by_problem(models_by_name[0][name], measure, first_run.mode)
        other_values = compute_measure_by_problem(models_by_name[1][other_name], measure, second_run.mode)
        names = sorted(values.keys() & other_values.keys())
        problems = [
            ProblemPair(problem=problem, a=values[problem], b=other_values[problem]) for problem in names
        ]
        if problems:
            model_pairs.append(
                ModelPair(
                    model=name,
                    b_model=other_name,
                    measure=measure,
                    difference=compare_values_by_problem(values, other_values),
                    problems=tuple(problems),
                )
            )
    return tuple(model_pairs)


def make_paired_sections(pairs: Sequence[ModelPair]) -> Iterator[Section]:
    """Yield the tables of models in both runs, over all problems and by problem; nothing without models."""
    if not pairs:
        return
    measure = pairs[0].measure
    title = f"A minus B in {measure.noun_phrase}"
    offsets = make_mean_difference_cells([pair.difference for pair in pairs])
    yield Section(
        title="Differences",
        text=[
            f"{title}, over the problems that both runs scored, in percentage points. In parentheses the "
            "95 % interval of the sign-flip test."
        ],
        # A single sentence is already the answer at the top of the page.
        items=[pair.comparison_sentence for pair in pairs] if len(pairs) > 1 else [],
        table=TableBlock(
            heads=["Model", "Problems", "A better", "B better", "A minus B"],
            rows=[
                [
                    pair.name,
                    f"{pair.difference.number:,}",
                    *(f"{len(problems):,}" for problems in _split_by_better_model(pair)),
                    offset,
                ]
                for pair, offset in zip(pairs, offsets, strict=True)
            ],
            align="lrrrl",
            meanings={"A better": "problems with a higher value in A", "B better": "with a higher one in B"},
        ),
    )
    yield _make_paired_problems_section(pairs)


def _split_by_better_model(pair: ModelPair) -> tuple[list[ProblemPair], list[ProblemPair]]:
    """Return the problems on which A is better, and the problems on which B is better."""
    return (
        [problem for problem in pair.problems if problem.value_difference > _PRECISE],
        [problem for problem in pair.problems if problem.value_difference < -_PRECISE],
    )


def _make_paired_problems_section(pairs: Sequence[ModelPair]) -> Section:
    columns = [{problem.problem: problem for problem in pair.problems} for pair in pairs]
    names = sorted({name for column in columns for name in column})
    title, models = "A minus B by problem", [pair.name for pair in pairs]
    rows: list[list[Cell]] = [
        [
            name,
            *(
                format_signed_percent(problem.value_difference) if (problem := column.get(name)) else NOTHING
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


def make_changed_ranks_section(first_run: Summary, second_run: Summary) -> Section | None:
    """Return a table of the ranks in both runs, for models that both runs have. Contests have none."""
    measure = choose_common_measure([*first_run.models, *second_run.models])
    names = {model.model for model in first_run.models} & {model.model for model in second_run.models}
    if len(names) < 2 or first_run.settings.has_feedback or second_run.settings.has_feedback:
        return None
    ranks_by_run = list[dict[str, int]]()
    for run in (first_run, second_run):
        entries_of_run = [entry for entry in sections.make_run_entries(run) if entry.model.model in names]
        run_ranks = compute_model_ranks(entries_of_run, measure)
        ranks_by_run.append(
            {entry.model.model: rank for entry, rank in zip(entries_of_run, run_ranks, strict=True)}
        )
    rows: list[list[Cell]] = []
    for name, new_rank in ranks_by_run[1].items():
        old_rank = ranks_by_run[0][name]
        rank_change = (
            f"{'up' if new_rank < old_rank else 'down'} {abs(new_rank - old_rank)}"
            if new_rank != old_rank
            else "0"
        )
        rows.append([format_model_name(name), f"{old_rank}", f"{new_rank}", rank_change])
    return Section(
        title="Ranks",
        text=[f"Ranks of the models that both runs have, by {measure.noun_phrase}."],
        table=TableBlock(heads=["Model", "Rank in A", "Rank in B", "Change"], rows=rows),
    )


# --- comparison of the same submissions --------------------------------------------------------------


class JudgedRow(Value):
    """The result of a submission."""

    verdict: Verdict
    points: float
    share: float  # share of the maximum points that the submission earned
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
    why: tuple[str, ...]  # further differences between the results: the problem, the compiler, the first test


class ModelDifference(Value):
    """The differences of a model's submissions that both runs have."""

    model: str
    submissions: int
    a_better: int
    b_better: int
    # Mean over problems of the difference (A minus B) in a submission's share of the points.
    difference: MeanDifference


class Differences(Value):
    """Differences of two runs. Submissions are the same if their keys and their programs are the same."""

    before: str
    after: str
    shared: int
    only_before: int
    only_after: int
    options: tuple[str, ...]  # options and versions that differ between the runs
    # Number of submissions, by verdict in the first run and verdict in the second.
    confusion: Mapping[Verdict, Mapping[Verdict, int]]
    models: tuple[ModelDifference, ...]
    changed: tuple[ChangedSubmission, ...]
    # Comparisons of models that are in both runs, even if their submissions differ.
    paired: tuple[ModelPair, ...] = ()
    author: str = MODEL  # noun for an author of both runs, see `Settings.author`


def find_differences(first_folder: Path, second_folder: Path, pairs: Sequence[ModelPair] = ()) -> Differences:
    """Compare two runs submission by submission. `pairs`: the result of `pair_models` for the same runs."""
    old_info, new_info = read_valid_run_info(first_folder), read_valid_run_info(second_folder)
    edited_problems = new_info.fingerprint.list_edited_problems(old_info.fingerprint)
    author_nouns = {choose_author_noun(info.fingerprint.options) for info in (old_info, new_info)}
    old_rows = dict[tuple[str, str], JudgedRow]()
    for _, row, result in read_results(first_folder):
        old_rows[_make_key_and_program_hash(row, "before")] = _make_judged_row(result)
    confusion: defaultdict[Verdict, Counter[Verdict]] = defaultdict(Counter)
    differences: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    changed_submissions, shared_count, only_after_count = list[ChangedSubmission](), 0, 0
    for _, row, result in read_results(second_folder):
        old_row, new_row = old_rows.get(_make_key_and_program_hash(row, "after")), _make_judged_row(result)
        if old_row is None:
            only_after_count += 1
            continue
        shared_count += 1
        confusion[old_row.verdict][new_row.verdict] += 1
        differences[read_model_name(row)][row["problem_id"]].append(old_row.share - new_row.share)
        if old_row.verdict is not new_row.verdict or abs(old_row.points - new_row.points) > _PRECISE:
            changed_submissions.append(
                ChangedSubmission(
                    key=row["key"],
                    problem=row["problem_id"],
                    model=read_model_name(row),
                    before=old_row.verdict,
                    after=new_row.verdict,
                    points_before=old_row.points,
                    points_after=new_row.points,
                    why=tuple(_list_change_reasons(old_row, new_row, row["problem_id"] in edited_problems)),
                )
            )
    return Differences(
        before=str(first_folder),
        after=str(second_folder),
        shared=shared_count,
        only_before=len(old_rows) - shared_count,
        only_after=only_after_count,
        options=list_fingerprint_changes(old_info.fingerprint, new_info.fingerprint),
        confusion=confusion,
        models=tuple(
            _make_model_difference(name, problems) for name, problems in sorted(differences.items())
        ),
        changed=tuple(
            sorted(changed_submissions, key=lambda change: (change.problem, change.model, change.key))
        ),
        paired=tuple(pairs),
        author=author_nouns.pop() if len(author_nouns) == 1 else MODEL,
    )


def _make_key_and_program_hash(row: Mapping[str, Any], run_label: str) -> tuple[str, str]:
    """Return an identity that only rows of the same submission share.

    A row that another judge scored lacks the hash of its program. Its key, problem, model and columns of code
    replace the hash. A row without a unique key equals no other row.

    `run_label` distinguishes the rows of the two runs.
    """
    if digest := row.get("submission_sha256"):
        return row["key"], digest
    if row["key"].startswith(ROW_KEY_PREFIX):
        return row["key"], run_label
    contents = [row["problem_id"], read_model_name(row), row.get("code"), row.get("generation")]
    return row["key"], hashlib.sha256(encode_terminal_safe_json(contents)).hexdigest()


def _make_judged_row(result: SubmissionResult) -> JudgedRow:
    max_points = math.fsum(subtask.points for subtask in result.subtasks) if result.subtasks else 1.0
    return JudgedRow(
        verdict=result.verdict,
        points=result.points,
        share=result.points / max_points if max_points else 0.0,
        compiler=result.compiler,
        checker=result.checker,
        tests={test.test_name: test.status for test in result.tests},
    )


def _list_change_reasons(old_row: JudgedRow, new_row: JudgedRow, is_edited: bool) -> Iterator[str]:
    """Yield the reasons why two results of a submission may differ. `is_edited`: its problem has changed."""
    if is_edited:
        yield "the problem has changed"
    if old_row.compiler != new_row.compiler:
        yield f"{old_row.compiler or NOTHING} -> {new_row.compiler or NOTHING}"
    if old_row.checker != new_row.checker:
        yield f"checker {old_row.checker or NOTHING} -> {new_row.checker or NOTHING}"
    for name in sorted(old_row.tests.keys() & new_row.tests.keys()):
        old_verdict, new_verdict = old_row.tests[name], new_row.tests[name]
        if old_verdict is not new_verdict and Verdict.SKIPPED not in (old_verdict, new_verdict):
            yield f"test {name}: {old_verdict} -> {new_verdict}"
            return


def _make_model_difference(name: str, differences_by_problem: Mapping[str, list[float]]) -> ModelDifference:
    """Return a model's difference.

    `differences_by_problem`: each submission's share of the points in run A minus its share in run B.
    """
    all_differences = [
        difference
        for problem_differences in differences_by_problem.values()
        for difference in problem_differences
    ]
    return ModelDifference(
        model=name,
        submissions=len(all_differences),
        a_better=sum(difference > _PRECISE for difference in all_differences),
        b_better=sum(difference < -_PRECISE for difference in all_differences),
        difference=compute_mean_difference(
            [
                math.fsum(problem_differences) / len(problem_differences)
                for _, problem_differences in sorted(differences_by_problem.items())
            ]
        ),
    )


# --- shown -------------------------------------------------------------------------------------------


def describe_differences(run_differences: Differences) -> str:
    """Return how many submissions of both runs have different results."""
    shared_phrase = format_count(run_differences.shared, "submission")
    if not run_differences.changed:
        return (
            f"The same result for all {shared_phrase} of both runs"
            if run_differences.shared
            else "No submission is in both runs"
        )
    return f"Different results for {len(run_differences.changed):,} of {shared_phrase} of both runs"


def make_difference_sections(run_differences: Differences) -> Iterator[Section]:
    """Yield the tables of the submissions in both runs, and of the submissions whose results differ."""
    author = run_differences.author.capitalize()
    unshared = [
        f"{format_count(submission_count, 'submission')} only in {name}"
        for name, submission_count in (
            (run_differences.before, run_differences.only_before),
            (run_differences.after, run_differences.only_after),
        )
        if submission_count
    ]
    model_rows = [
        [
            format_model_name(group.model),
            f"{group.submissions:,}",
            f"{group.a_better:,}",
            f"{group.b_better:,}",
            format_difference(group.difference),
        ]
        for group in run_differences.models
    ]
    yield Section(
        title="Same submissions",
        items=[f"{describe_differences(run_differences)}.", *unshared, *run_differences.options],
        table=TableBlock(heads=[author, "Submissions", "A better", "B better", "A minus B"], rows=model_rows)
        if model_rows
        else None,
    )
    if not run_differences.changed:
        return
    confusion_counts = run_differences.confusion
    verdicts = sorted(
        {new_verdict for new_counts in confusion_counts.values() for new_verdict in new_counts}
        | confusion_counts.keys()
    )
    confusion_rows = [
        [old_verdict, *(f"{confusion_counts[old_verdict].get(new_verdict, 0):,}" for new_verdict in verdicts)]
        for old_verdict in sorted(confusion_counts)
    ]
    yield Section(
        title="Verdicts in A and B",
        table=TableBlock(heads=["A / B", *verdicts], rows=confusion_rows),
    )
    changed_rows = [
        [
            change.key,
            change.problem,
            format_model_name(change.model),
            change.before,
            change.after,
            f"{format_number(change.points_before)} -> {format_number(change.points_after)}",
            "; ".join(change.why) or NOTHING,
        ]
        for change in run_differences.changed[:_MAX_SHOWN]
    ]
    more_count = len(run_differences.changed) - _MAX_SHOWN
    yield Section(
        title="Different results",
        table=TableBlock(
            heads=["Submission", "Problem", author, "In A", "In B", "Points", "Why"],
            rows=changed_rows,
            align="lllllrl",
        ),
        notes=[f"and {more_count:,} more in {DIFFERENCES}"] if more_count > 0 else [],
        long=len(changed_rows) > _MAX_SHOWN // 2,
    )
