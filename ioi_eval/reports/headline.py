"""The headline of a run: pass@1, or points under the contest's rule if every problem has subtasks.

If a table, page or sentence shows a single number, it is the headline.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ioi_eval.model.text import format_count, visible
from ioi_eval.model.values import Reason, Value
from ioi_eval.reports.document import (
    FOLDER,
    NOTHING,
    Cell,
    CodeLines,
    DifferenceBar,
    Link,
    Section,
    ShareBar,
    TableBlock,
    format_number,
    format_share,
    make_model_page_filename,
)
from ioi_eval.reports.records import Headline, HeadlineRow, Measure, ModelSummary, ProblemSummary, Settings
from ioi_eval.rules.paired import MIN_PROBLEMS, MeanDifference, Ranking, compute_mean_difference
from ioi_eval.rules.scoring import ScoreMode
from ioi_eval.rules.selection import Budget

NO_NAME = "(no name)"
MODEL = "model"
_MAX_COMPILERS = 3
# Minimum of a run's maximum points from which on its intervals are rounded to whole points.
_MIN_ROUNDED_POINTS = 100
MINUS = "\N{MINUS SIGN}"


def choose_common_measure(models: Iterable[ModelSummary]) -> Measure:
    """Return the measure that all of these models have."""
    problems = [problem for model in models for problem in model.problems if problem.scored]
    if problems and all(problem.max_points is not None for problem in problems):
        return Measure.POINTS
    # pass@1 is missing in runs with feedback.
    has_no_pass_at_1 = bool(problems) and all(problem.pass_at_1 is None for problem in problems)
    return Measure.SOLVED if has_no_pass_at_1 else Measure.PASS_AT_1


def compute_problem_measure(problem: ProblemSummary, measure: Measure, score_mode: ScoreMode) -> float | None:
    """Return a model's value for a problem, in [0, 1], or None if nothing was scored."""
    if not problem.scored:
        return None
    match measure:
        case Measure.PASS_AT_1:
            return problem.pass_at_1
        case Measure.SOLVED:
            return float(problem.is_solved(score_mode))
        case Measure.POINTS:
            return (problem.points or 0.0) / problem.max_points if problem.max_points else None


def compute_measure_by_problem(
    model: ModelSummary, measure: Measure, score_mode: ScoreMode
) -> dict[str, float]:
    """Return a model's value for each problem with a scored submission."""
    values = (
        (problem.problem_id, compute_problem_measure(problem, measure, score_mode))
        for problem in model.problems
    )
    return {name: value for name, value in values if value is not None}


def compare_values_by_problem(
    first_values: Mapping[str, float], second_values: Mapping[str, float]
) -> MeanDifference:
    """Return the mean of first value minus second value, over the problems for which both have a value."""
    return compute_mean_difference(
        [
            first_values[name] - second_values[name]
            for name in sorted(first_values.keys() & second_values.keys())
        ]
    )


class Entry(Value):
    """A model and its name in a table."""

    name: str
    model: ModelSummary
    limit: int  # number of submissions per problem in the budget `limited`
    mode: ScoreMode
    author: str = MODEL  # `model`, or `participant` in a contest, see `Settings.author`


def choose_model_column_heading(entries: Iterable[Entry]) -> str:
    """Return the heading of the column with the names: Model, or Participant in a contest."""
    authors = {entry.author for entry in entries}
    return (authors.pop() if len(authors) == 1 else MODEL).capitalize()


def can_compare_models(entries: Iterable[Entry]) -> bool:
    """Return True if ranks and differences of these models are shown.

    Participants of a contest are not compared, because they see the verdicts on their earlier programs.
    """
    return all(entry.author == MODEL for entry in entries)


def compute_model_ranks(entries: Sequence[Entry], measure: Measure) -> list[int]:
    """Return each model's rank: 1 plus the number of models that are significantly better.

    A model is significantly better if the 95 % interval of the difference excludes 0.
    """
    columns = [compute_measure_by_problem(entry.model, measure, entry.mode) for entry in entries]
    names = sorted({name for column in columns for name in column})
    return Ranking([[column.get(name) for name in names] for column in columns]).ranks()


def sort_models(models: Iterable[ModelSummary]) -> tuple[ModelSummary, ...]:
    """Return the models in the order of their headlines."""
    models = tuple(models)
    measure = choose_common_measure(models)

    def sort_key(model: ModelSummary) -> tuple[float, float, int, str]:
        value = _compute_measure_with_interval(model, measure)[0]
        return -1.0 if value is None else -value, -model.points, -model.problems_solved, model.model

    return tuple(sorted(models, key=sort_key))


def make_headline(
    models: Sequence[ModelSummary], mode: ScoreMode, submission_limit: int, author: str = MODEL
) -> Headline:
    """Return the headline of a run.

    Args:
        models: The models of the run, the best model first.
        mode: Rule by which a problem's points are computed from several submissions.
        submission_limit: Number of submissions per problem in the budget `limited`.
        author: Noun for a model in the headline: `model`, or `participant` in a contest.
    """
    measure = choose_common_measure(models)
    entries = [
        Entry(name=model.model or NO_NAME, model=model, limit=submission_limit, mode=mode, author=author)
        for model in models
    ]
    max_total_by_measure = {
        Measure.PASS_AT_1: None,
        Measure.POINTS: max((model.max_points for model in models), default=0.0),
        Measure.SOLVED: float(max((len(model.problems) for model in models), default=0)),
    }
    return Headline(
        measure=measure,
        of=max_total_by_measure[measure],
        submission_limit=submission_limit if measure is Measure.POINTS else None,
        sentence=_make_first_two_models_sentence(entries, measure),
        models=tuple(
            _make_headline_row(entry, rank, measure)
            for entry, rank in zip(entries, compute_model_ranks(entries, measure), strict=True)
        ),
    )


def _make_first_two_models_sentence(entries: Sequence[Entry], measure: Measure) -> str:
    if len(entries) < 2 or not can_compare_models(entries):
        return ""
    first_values, second_values = (
        compute_measure_by_problem(entry.model, measure, entry.mode) for entry in entries[:2]
    )
    return make_difference_sentence(
        entries[0].name, entries[1].name, measure, compare_values_by_problem(first_values, second_values)
    )


def _make_headline_row(entry: Entry, rank: int, measure: Measure) -> HeadlineRow:
    model = entry.model
    value, low, high = _compute_measure_with_interval(model, measure)
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


def _compute_measure_with_interval(
    model: ModelSummary, measure: Measure
) -> tuple[float | None, float | None, float | None]:
    """Return the value of a model's headline, and the bounds of its 95 % interval."""
    if not model.scored:
        return None, None, None
    match measure:
        case Measure.PASS_AT_1:
            estimate = model.pass_at_1
            return (
                (estimate.value, estimate.low, estimate.high) if estimate is not None else (None, None, None)
            )
        case Measure.SOLVED:
            return float(model.problems_solved), None, None
        case Measure.POINTS:
            low, high = (
                None if share is None else share * model.max_points
                for share in (model.share_low, model.share_high)
            )
            return model.points, low, high


# --- shown -------------------------------------------------------------------------------------------


_MEASURE_TEXTS = {
    Measure.PASS_AT_1: "The probability that a submission gets full marks, as a mean over problems.",
    Measure.POINTS: "The points of all submissions, or of a limited number, under the contest's rule.",
    Measure.SOLVED: "The problems that are solved.",
}


def make_headline_column_heading(measure: Measure, entries: Sequence[Entry]) -> str:
    """Return the heading of the column with the models' headline values."""
    if measure is Measure.POINTS:
        return f"Points of {format_number(max((entry.model.max_points for entry in entries), default=0.0))}"
    return measure.value.capitalize() if measure is Measure.SOLVED else measure.value


def sort_entries(entries: Iterable[Entry]) -> list[Entry]:
    """Return the models in the order of their headlines."""
    entries = list(entries)
    measure = choose_common_measure(entry.model for entry in entries)
    return sorted(
        entries, key=lambda entry: -(_compute_measure_with_interval(entry.model, measure)[0] or 0.0)
    )


def make_headline_section(entries: Sequence[Entry], *, compare: bool = True) -> Section:
    """Return the table of headlines for a terminal, without bars.

    Its notes have the difference of the first two models if `compare` is true.
    """
    entries = sort_entries(entries)
    measure = choose_common_measure(entry.model for entry in entries)
    has_ranks, shows_points = len(entries) > 1 and can_compare_models(entries), measure is Measure.POINTS
    unscored = any(entry.model.unscored for entry in entries)
    column_heads = [
        choose_model_column_heading(entries),
        *(["Rank"] if has_ranks else []),
        *(
            ["All", f"Best of {format_submission_limits(entries)}", "of"]
            if shows_points
            else [make_headline_column_heading(measure, entries)]
        ),
        "95 % interval",
        "Solved",
        "Submissions",
        *(["Unscored"] if unscored else []),
    ]
    rows = []
    for entry, rank in zip(entries, compute_model_ranks(entries, measure), strict=True):
        row = _make_headline_row(entry, rank, measure)
        format_value = format_percent_or_dash if measure is Measure.PASS_AT_1 else format_number
        rows.append(
            [
                entry.name,
                *([str(rank)] if has_ranks else []),
                format_value(row.value),
                *(
                    [format_number(row.limited), format_number(entry.model.max_points)]
                    if shows_points
                    else []
                ),
                ("none: all equal" if _explain_missing_interval(row, measure) else NOTHING)
                if row.low is None
                else f"{format_value(row.low)} to {format_value(row.high)}",
                f"{entry.model.problems_solved:,} of {len(entry.model.problems):,}",
                f"{row.scored:,}",
                *([f"{entry.model.unscored:,}"] if unscored else []),
            ]
        )
    sentence_of_first_two = _make_first_two_models_sentence(entries, measure) if compare else ""
    notes = [sentence_of_first_two] if sentence_of_first_two else []
    return Section(
        title=f"Headline: {measure.value}", table=TableBlock(heads=column_heads, rows=rows), notes=notes
    )


def format_submission_limits(entries: Iterable[Entry]) -> str:
    return " or ".join(f"{limit:,}" for limit in sorted({entry.limit for entry in entries}))


def make_headline_sentence(entries: Sequence[Entry]) -> str:
    """Return a sentence about which model is best. `entries`: the models, the best first."""
    measure = choose_common_measure(entry.model for entry in entries)
    if len(entries) > 1:
        return _make_first_two_models_sentence(entries, measure)
    row = _make_headline_row(entries[0], 1, measure)
    format_value = format_percent_or_dash if measure is Measure.PASS_AT_1 else format_number
    interval = _explain_missing_interval(row, measure)
    if row.low is not None:
        interval = f"95 % interval {format_value(row.low)} to {format_value(row.high)}"
    interval = f" ({interval})" if interval else ""
    name = entries[0].name if entries[0].model.model else "The submissions"
    match measure:
        case _ if row.value is None:
            return ""
        case Measure.PASS_AT_1:
            return (
                f"{name}: pass@1 is {format_value(row.value)}{interval} over"
                f" {format_count(row.problems, 'problem')}."
            )
        case Measure.POINTS:
            return (
                f"{name}: {format_value(row.value)} of"
                f" {format_number(entries[0].model.max_points)} points{interval}."
            )
        case Measure.SOLVED:
            problem_count = format_count(len(entries[0].model.problems), "problem")
            return f"{name}: {format_value(row.value)} of {problem_count} solved."


def _explain_missing_interval(row: HeadlineRow, measure: Measure) -> str:
    """Return why a headline of several problems has no interval, or an empty string if it needs no reason."""
    if row.value is None or row.low is not None or row.problems < 2 or measure is Measure.SOLVED:
        return ""
    return "no interval, because all problems have the same result"


_HEAD_MEANINGS = {
    "Rank": "1, and 1 more for each model that is better beyond the 95 % interval of the difference",
    "Minus the leader": "the difference to the first model, in percentage points of a problem's value, with "
    "the 95 % interval of the sign-flip test; real if that leaves out 0",
    "Solved": "problems with full marks",
    "Medals": "the medals that the points would win with a limited number of submissions per problem",
    "No program": "share of the scored submissions",
    "Unscored": "submissions that could not be judged; no other number counts them",
}


def make_leaderboard_section(entries: Sequence[Entry], *, has_model_pages: bool = False) -> Section:
    """Return the leaderboard of a report. `entries`: the best first; `has_model_pages`: each has a page."""
    measure = choose_common_measure(entry.model for entry in entries)
    has_ranks, shows_points = len(entries) > 1 and can_compare_models(entries), measure is Measure.POINTS
    columns = [compute_measure_by_problem(entry.model, measure, entry.mode) for entry in entries]
    difference_cells = make_mean_difference_cells(
        [compare_values_by_problem(column, columns[0]) for column in columns]
    )
    medal_texts = [_format_medals(entry) for entry in entries]
    rows: list[list[Cell]] = []
    column_heads = [
        choose_model_column_heading(entries),
        "Rank",
        make_headline_column_heading(measure, entries),
        f"Best of {format_submission_limits(entries)}",
        "Minus the leader",
        "Points",
    ]
    column_heads += ["Solved", "Medals", "No program", "Submissions", "Unscored"]
    for entry, rank, difference_cell, medal_text in zip(
        entries, compute_model_ranks(entries, measure), difference_cells, medal_texts, strict=True
    ):
        model, row = entry.model, _make_headline_row(entry, rank, measure)
        # The share of unscored submissions is shown because no mean counts them, and a model may have caused
        # them.
        unscored_share = f" ({format_share(model.unscored, model.submissions)})" if model.unscored else ""
        rows.append(
            [
                Link(text=entry.name, href=f"{FOLDER}/{make_model_page_filename(model.model)}")
                if has_model_pages
                else entry.name,
                str(rank),
                _make_score_bar_cell(row, measure, entry),
                format_number(row.limited),
                NOTHING if entry is entries[0] else difference_cell,
                f"{format_number(model.points)} of {format_number(model.max_points)}",
                f"{model.problems_solved:,} of {len(model.problems):,}",
                medal_text or NOTHING,
                format_share(model.verdicts.get(Reason.NO_PROGRAM, 0), model.scored),
                f"{model.scored:,}",
                f"{model.unscored:,}{unscored_share}",
            ]
        )
    is_left_out = {
        "Rank": not has_ranks,
        "Minus the leader": not has_ranks,
        column_heads[3]: not shows_points,
        "Points": shows_points or not any(entry.model.max_points for entry in entries),
        "Medals": not any(medal_texts),
    }
    shown_columns = [
        column_index for column_index, head in enumerate(column_heads) if not is_left_out.get(head)
    ]
    shown_heads = [column_heads[column_index] for column_index in shown_columns]
    return Section(
        title="Leaderboard",
        text=[_MEASURE_TEXTS[measure]],
        table=TableBlock(
            heads=shown_heads,
            rows=[[row[column_index] for column_index in shown_columns] for row in rows],
            align="".join("l" if column_index in (0, 2, 4) else "r" for column_index in shown_columns),
            meanings={head: _HEAD_MEANINGS[head] for head in shown_heads if head in _HEAD_MEANINGS},
            kind="leaderboard",
        ),
    )


def make_mean_difference_cells(differences: Sequence[MeanDifference]) -> list[Cell]:
    """Return the cells of a column of mean differences, all drawn to the same scale."""
    bounds = [
        end
        for difference in differences
        for end in (difference.mean, difference.low, difference.high)
        if end is not None
    ]
    scale_min, scale_max = min([0.0, *bounds]), max([0.0, *bounds])
    return [
        DifferenceBar(
            text=format_difference(difference) or NOTHING,
            value=difference.mean,
            low=difference.low,
            high=difference.high,
            min_value=scale_min,
            max_value=scale_max,
        )
        for difference in differences
    ]


def _make_score_bar_cell(row: HeadlineRow, measure: Measure, entry: Entry) -> Cell:
    if row.value is None:
        return NOTHING
    totals = {
        Measure.PASS_AT_1: 1.0,
        Measure.POINTS: entry.model.max_points,
        Measure.SOLVED: float(len(entry.model.problems)),
    }
    max_total, format_value = (
        totals[measure],
        format_percent_or_dash if measure is Measure.PASS_AT_1 else format_number,
    )
    if row.low is None or row.high is None:
        return ShareBar(part=row.value, whole=max_total, said=format_value(row.value))
    interval_ends = (row.low, row.high)
    if measure is Measure.POINTS and max_total >= _MIN_ROUNDED_POINTS:
        interval_ends = (round(row.low), round(row.high))
    low, high = (format_value(end).removesuffix(" %") for end in interval_ends)
    return ShareBar(
        part=row.value,
        whole=max_total,
        low=row.low / max_total if max_total else None,
        high=row.high / max_total if max_total else None,
        said=f"{format_value(row.value)} ({low} to {high})",
    )


def _format_medals(entry: Entry) -> str:
    """Return the medals for a limited number of submissions, or "" if the cut-offs are missing."""
    medal_counts = Counter(
        medal_counts.award.medal
        for medal_counts in entry.model.awards
        if medal_counts.budget is Budget.LIMITED
    )
    counted_medals = [
        (medal, medal_counts[medal]) for medal in ("gold", "silver", "bronze") if medal_counts[medal]
    ]
    return (
        counted_medals[0][0]
        if [number_of for _, number_of in counted_medals] == [1]
        else ", ".join(f"{n} {medal}" for medal, n in counted_medals)
    )


def make_section_for_papers(headline: Headline, settings: Settings) -> Section:
    """Return a section with a LaTeX row and a sentence for each model, for copying."""
    versions = ", ".join([f"{name} {version}" for name, version in sorted(settings.versions.items())])
    judge_names = "; ".join([versions or "ioi-eval", *list(settings.compilers)[:_MAX_COMPILERS]])
    unit_text = (
        r" (\%)"
        if headline.measure is Measure.PASS_AT_1
        else ""
        if headline.of is None
        else f" of {format_number(headline.of)}"
    )
    limit_note = f" & with {headline.submission_limit} submissions" if headline.submission_limit else ""
    head = (
        f"% {settings.author} & {headline.measure}{unit_text}{limit_note}"
        " & 95 \\% interval & problems & submissions"
    )
    return Section(
        title="Copy for a paper",
        folded=format_count(len(headline.models), settings.author),
        lines=[
            CodeLines(
                sentence=f"A row of LaTeX for each {settings.author}:",
                lines=[f"{head} \\\\", *(_format_latex_row(row, headline) for row in headline.models)],
                language="latex",
            ),
            CodeLines(
                sentence=f"A sentence for each {settings.author}:",
                lines=[_make_paper_sentence(row, headline, judge_names) for row in headline.models],
                language="text",
            ),
        ],
    )


_TEX_ESCAPES = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def _format_latex_row(row: HeadlineRow, headline: Headline) -> str:
    format_value = format_percent_or_dash if headline.measure is Measure.PASS_AT_1 else format_number
    name = re.sub(
        r"[\\~^&%$#_{}]",
        lambda match: _TEX_ESCAPES.get(match[0], "\\" + match[0]),
        visible(row.model or NO_NAME),
    )
    # The `\\` of the previous line would parse such a character as the start of its argument.
    if name.startswith(("[", "*")):
        name = "{}" + name
    numbers = [
        format_value(row.value),
        *([format_number(row.limited)] if headline.submission_limit else []),
        NOTHING if row.low is None else f"{format_value(row.low)}--{format_value(row.high)}",
        str(row.problems),
        str(row.scored),
    ]
    cells = (cell.replace(" %", "").replace(NOTHING, "--") for cell in numbers)
    return " & ".join([name, *cells]) + r" \\"


def _make_paper_sentence(row: HeadlineRow, headline: Headline, judge_versions: str) -> str:
    format_value = format_percent_or_dash if headline.measure is Measure.PASS_AT_1 else format_number
    interval = _explain_missing_interval(row, headline.measure)
    if row.low is not None:
        interval = (
            f"95 % interval {format_value(row.low)} to {format_value(row.high)} by a bootstrap over problems"
        )
    interval += ", " if interval else ""
    size_text = f"{format_count(row.problems, 'problem')}, {format_count(row.scored, 'submission')}"
    name = visible(row.model or NO_NAME)
    match headline.measure:
        case Measure.PASS_AT_1:
            result_text = f"a pass@1 of {format_value(row.value)} ({interval}n = {size_text}, k = 1)"
        case Measure.POINTS:
            limited_points = (
                f"{format_number(row.limited)} with the best of {headline.submission_limit} for each problem"
            )
            points = f"{format_number(row.value)} of {format_number(headline.of)} points with all submissions"
            result_text = f"{points}, {limited_points} ({interval}n = {size_text})"
        case Measure.SOLVED:
            solved_text = f"{format_number(row.value)} of {format_number(headline.of)}"
            result_text = f"{solved_text} problems solved (n = {size_text})"
    return f"{name} has {result_text}, judged by {judge_versions}."


def format_percent_or_dash(value: float | None) -> str:
    return format_share(value, 1)


def make_difference_sentence(
    first_name: str, second_name: str, measure: Measure, difference: MeanDifference
) -> str:
    """Return a sentence about the difference of two models, with its interval.

    Args:
        first_name: Name of the first model in the sentence.
        second_name: Name of the second model in the sentence.
        measure: The measure that was compared.
        difference: Mean over problems of the first model's value minus the second model's value. Values are
            between 0 and 1.
    """
    if difference.mean is None:
        return f"No problem has scored submissions of both {first_name} and {second_name}."
    problems = format_count(difference.number, "problem")
    if difference.is_zero and difference.number > 1:
        same_sentence = f"{first_name} and {second_name} have the same for each of {problems}"
        return f"There is no difference in {measure.noun_phrase}: {same_sentence}."
    minus_text = (
        f"{first_name} minus {second_name} is {format_signed_percent(difference.mean)} percentage points"
    )
    if difference.number == 1:
        return f"A single problem is not evidence about other problems. {minus_text}."
    if difference.low is None or difference.high is None:
        reason = f"fewer than {MIN_PROBLEMS} problems cannot show one"
        return f"No difference is shown in {measure.noun_phrase}: {reason}. {minus_text}, over {problems}."
    low, high = format_signed_percent(difference.low), format_signed_percent(difference.high)
    interval = f"(95 % interval {low} to {high}, over {problems})"
    if not difference.sign:
        start = f"No difference is shown in {measure.noun_phrase}: chance alone explains it."
        return f"{start} {minus_text} {interval}."
    better_name, worse_name = (first_name, second_name) if difference.sign > 0 else (second_name, first_name)
    return (
        f"The difference is real: {better_name} is better than {worse_name} in {measure.noun_phrase}."
        f" {minus_text} {interval}."
    )


def format_signed_percent(value: float) -> str:
    """Return a share in percent with its sign, such as +5.7. A share that rounds to 0.0 has no sign."""
    digits_text = f"{abs(100 * round(value, 9)):.1f}"
    return digits_text if digits_text == "0.0" else f"{MINUS if value < 0 else '+'}{digits_text}"


def format_difference(difference: MeanDifference) -> str:
    """Return a difference with its interval, such as +5.7 (+1.1 to +10.3)."""
    if difference.mean is None:
        return ""
    if difference.low is None or difference.high is None:
        return format_signed_percent(difference.mean)
    low, high = format_signed_percent(difference.low), format_signed_percent(difference.high)
    return f"{format_signed_percent(difference.mean)} ({low} to {high})"
