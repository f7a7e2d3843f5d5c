"""Compare a model with people: its percentile in their contests, and a rating."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.model.values import Value
from ioi_eval.reports.document import NOTHING, Section, TableBlock
from ioi_eval.reports.headline import Entry, choose_model_column_heading
from ioi_eval.reports.parts import ReportPart
from ioi_eval.reports.records import ModelSummary, ProblemSummary
from ioi_eval.rules.metrics import compute_bootstrap_interval
from ioi_eval.store.tasks import PEOPLE, ContestResults, People, read_human_results

_MIN_RATING, _MAX_RATING = -1000.0, 5000.0
_Z_95 = 1.96  # number of standard deviations of a 95 % interval
_NAME = "people"  # name of the entry in the registry of report sections


class PeoplePart(ReportPart):
    """The part of reports that compares models with human contestants."""

    files = (PEOPLE,)

    def numbers(self, folder: Path, models: Sequence[ModelSummary]) -> Sequence[Any]:
        """Return each model's standing as plain values, or None if the run lacks results of people."""
        if (people := read_human_results(folder)) is None:
            return [None for _ in models]
        return [
            msgspec.to_builtins(compare_with_human_contestants(people, model.problems)) for model in models
        ]

    def sections(self, entries: Sequence[Entry]) -> Iterator[Section]:
        """Yield a table with a row for each model that has a standing."""
        standings = [
            (entry.name, msgspec.convert(entry.model.more[_NAME], HumanComparison))
            for entry in entries
            if _NAME in entry.model.more
        ]
        if not standings:
            return
        yield Section(
            title="Among people",
            text=[
                "A model with one submission for each problem, on average, compared with people. The"
                " percentile is the share of contestants with fewer points, as a mean over contests. The"
                " rating is that of a person whom Codeforces would expect at the same place, or to solve as"
                " many of these problems. Intervals (95 %) are over contests or problems. Source:"
                f" {'; '.join(dict.fromkeys(model_standing.source for _, model_standing in standings))}."
            ],
            table=TableBlock(
                heads=[
                    choose_model_column_heading(entries),
                    "Percentile",
                    "Rating",
                    "Contests or problems",
                    "Remark",
                ],
                rows=[
                    [
                        name,
                        _format_interval(
                            model_standing.percentile,
                            model_standing.percentile_low,
                            model_standing.percentile_high,
                            " %",
                        ),
                        _format_interval(
                            model_standing.elo, model_standing.elo_low, model_standing.elo_high, ""
                        ),
                        f"{model_standing.of:,}" if model_standing.of else NOTHING,
                        model_standing.remark,
                    ]
                    for name, model_standing in standings
                ],
                align="lrrrl",
            ),
        )


def _format_interval(value: float | None, low: float | None, high: float | None, unit: str) -> str:
    if value is None:
        return NOTHING
    interval_text = "" if low is None or high is None else f" ({low:.0f} to {high:.0f})"
    return f"{value:.0f}{unit}{interval_text}"


class HumanComparison(Value):
    """A model's percentile among contestants and its rating, with 95 % intervals.

    Both are averages over choices of a single submission for each problem.
    """

    source: str  # source of the results of human contestants
    of: int = 0  # number of contests, or number of problems with ratings, in the averages
    percentile: float | None = None  # percentage of contestants with fewer points; the mean over contests
    percentile_low: float | None = None
    percentile_high: float | None = None
    elo: float | None = None  # Elo rating on the scale of Codeforces
    elo_low: float | None = None
    elo_high: float | None = None
    remark: str = ""


def compare_with_human_contestants(people: People, problems: Sequence[ProblemSummary]) -> HumanComparison:
    """Return a model's average standing with a single submission for each problem."""
    if people.missing:
        return HumanComparison(source=people.source, remark=people.missing)
    if people.rated:
        return _estimate_rating_from_problems(people, problems)
    points_by_problem = {
        problem.problem_id.partition("@")[0]: problem.mean_points
        for problem in problems
        if problem.mean_points is not None and problem.max_points is not None
    }
    complete_contests = [
        contest for contest in people.contests if set(contest.problems) <= points_by_problem.keys()
    ]
    tried_contests = [
        contest for contest in people.contests if set(contest.problems) & points_by_problem.keys()
    ]
    percentiles, ratings = list[float](), list[float]()
    for contest in complete_contests:
        total_points = math.fsum(points_by_problem[name] for name in contest.problems)
        percentiles.append(
            100 * sum(points < total_points for points in contest.totals) / len(contest.totals)
        )
        if (rating := _estimate_rating_from_contest(total_points, contest)) is not None:
            ratings.append(rating)
    percentile, percentile_low, percentile_high = _compute_mean_and_interval(percentiles)
    elo, elo_low, elo_high = _compute_mean_and_interval(ratings)
    excluded_count = len(tried_contests) - len(complete_contests)
    return HumanComparison(
        source=people.source,
        of=len(complete_contests),
        percentile=percentile,
        percentile_low=percentile_low,
        percentile_high=percentile_high,
        elo=elo,
        elo_low=elo_low,
        elo_high=elo_high,
        remark=f"{excluded_count} without results for all problems, excluded" if excluded_count else "",
    )


def _compute_mean_and_interval(values: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """Return the mean and the bounds of its interval."""
    return (
        (math.fsum(values) / len(values), *compute_bootstrap_interval(values))
        if values
        else (None, None, None)
    )


def _compute_win_probability(ability: float, difficulty: float) -> float:
    """Return the probability that a person solves a problem, or beats an opponent, by Elo's formula."""
    return 1 / (1 + 10 ** ((difficulty - ability) / 400))


def _estimate_rating_from_contest(total_points: float, contest: ContestResults) -> float | None:
    """Return the rating that Codeforces expects at the place of these points among rated contestants."""
    rated_results = [
        (points, rating)
        for points, rating in zip(contest.totals, contest.ratings, strict=True)
        if rating is not None
    ]
    if not rated_results:
        return None
    rank = 1 + sum(points > total_points for points, _ in rated_results)
    min_rating, max_rating = 0.0, max(rating for _, rating in rated_results) + 100
    while max_rating - min_rating > 1:
        middle_rating = (min_rating + max_rating) / 2
        expected_rank = 1 + math.fsum(
            1 - _compute_win_probability(middle_rating, rating) for _, rating in rated_results
        )
        min_rating, max_rating = (
            (middle_rating, max_rating) if expected_rank >= rank else (min_rating, middle_rating)
        )
    return min_rating


def _estimate_rating_from_problems(people: People, problems: Sequence[ProblemSummary]) -> HumanComparison:
    """Return the rating at which a person would solve as many of these problems as the model does.

    Each problem counts once. The interval is over problems.
    """
    difficulties_and_rates = [
        (float(problem.difficulty), problem.solved / problem.scored)
        for problem in problems
        if problem.scored and problem.difficulty.isdecimal()
    ]
    problem_count, solved_problems = (
        len(difficulties_and_rates),
        math.fsum(rate for _, rate in difficulties_and_rates),
    )
    if not difficulties_and_rates or solved_problems in (0, problem_count):
        outcome = (
            "all problems are solved"
            if difficulties_and_rates and solved_problems
            else "no problem is solved"
        )
        return HumanComparison(
            source=people.source,
            of=problem_count,
            remark=f"{outcome}, so there is no rating"
            if difficulties_and_rates
            else "no problem with a rating was scored",
        )
    min_rating, max_rating = _MIN_RATING, _MAX_RATING
    while max_rating - min_rating > 0.5:
        middle_rating = (min_rating + max_rating) / 2
        expected_solved = math.fsum(
            _compute_win_probability(middle_rating, difficulty) for difficulty, _ in difficulties_and_rates
        )
        min_rating, max_rating = (
            (middle_rating, max_rating) if expected_solved < solved_problems else (min_rating, middle_rating)
        )
    slope = math.fsum(
        probability * (1 - probability)
        for probability in (
            _compute_win_probability(min_rating, difficulty) for difficulty, _ in difficulties_and_rates
        )
    )
    deviation = math.sqrt(
        math.fsum(
            (rate - _compute_win_probability(min_rating, difficulty)) ** 2
            for difficulty, rate in difficulties_and_rates
        )
    )
    half_interval = _Z_95 * deviation / (slope * math.log(10) / 400)
    is_single = problem_count < 2
    return HumanComparison(
        source=people.source,
        of=problem_count,
        elo=min_rating,
        elo_low=None if is_single else min_rating - half_interval,
        elo_high=None if is_single else min_rating + half_interval,
    )
