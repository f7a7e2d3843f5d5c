"""Compare a model with people: its percentile in their contests, and a rating."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.model.values import Value
from ioi_eval.reports.document import NOTHING, Section, TableBlock
from ioi_eval.reports.headline import Entry, author_head
from ioi_eval.reports.parts import ReportPart
from ioi_eval.reports.records import ModelSummary, ProblemSummary
from ioi_eval.rules.metrics import bootstrap_interval
from ioi_eval.store.tasks import PEOPLE, ContestResults, People, read_people

_MIN_RATING, _MAX_RATING = -1000.0, 5000.0
_Z_95 = 1.96  # number of standard deviations of a 95 % interval
_NAME = "people"  # name of the entry in the registry of report sections


class PeoplePart(ReportPart):
    """The part of reports that compares models with people."""

    files = (PEOPLE,)

    def numbers(self, folder: Path, models: Sequence[ModelSummary]) -> Sequence[Any]:
        """Return each model's standing as plain values, or None if the run lacks results of people."""
        if (people := read_people(folder)) is None:
            return [None for _ in models]
        return [msgspec.to_builtins(compare_with_people(people, model.problems)) for model in models]

    def sections(self, entries: Sequence[Entry]) -> Iterator[Section]:
        """Yield a table with a row for each model that has a standing."""
        standings = [
            (entry.name, msgspec.convert(entry.model.more[_NAME], PeopleStanding))
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
                heads=[author_head(entries), "Percentile", "Rating", "Contests or problems", "Remark"],
                rows=[
                    [
                        name,
                        _interval_text(
                            model_standing.percentile,
                            model_standing.percentile_low,
                            model_standing.percentile_high,
                            " %",
                        ),
                        _interval_text(
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


def _interval_text(value: float | None, low: float | None, high: float | None, unit: str) -> str:
    if value is None:
        return NOTHING
    interval_text = "" if low is None or high is None else f" ({low:.0f} to {high:.0f})"
    return f"{value:.0f}{unit}{interval_text}"


class PeopleStanding(Value):
    """A model's percentile among contestants and its rating, with 95 % intervals.

    Both are averages over choices of a single submission for each problem.
    """

    source: str  # source of the results of human contestants
    of: int = 0  # number of contests, or of problems with ratings
    percentile: float | None = None  # percentage of contestants with fewer points; the mean over contests
    percentile_low: float | None = None
    percentile_high: float | None = None
    elo: float | None = None  # Elo rating on the scale of Codeforces
    elo_low: float | None = None
    elo_high: float | None = None
    remark: str = ""


def compare_with_people(people: People, problems: Sequence[ProblemSummary]) -> PeopleStanding:
    """Return a model's average standing with a single submission for each problem."""
    if people.missing:
        return PeopleStanding(source=people.source, remark=people.missing)
    if people.rated:
        return _estimate_rating(people, problems)
    scored = {
        problem.problem_id.partition("@")[0]: problem.mean_points
        for problem in problems
        if problem.mean_points is not None and problem.max_points is not None
    }
    complete = [contest for contest in people.contests if set(contest.problems) <= scored.keys()]
    partial = [contest for contest in people.contests if set(contest.problems) & scored.keys()]
    percentiles, ratings = list[float](), list[float]()
    for contest in complete:
        total = math.fsum(scored[name] for name in contest.problems)
        percentiles.append(100 * sum(points < total for points in contest.totals) / len(contest.totals))
        if (rating := _contest_rating(total, contest)) is not None:
            ratings.append(rating)
    percentile, percentile_low, percentile_high = _mean_and_interval(percentiles)
    elo, elo_low, elo_high = _mean_and_interval(ratings)
    excluded_count = len(partial) - len(complete)
    return PeopleStanding(
        source=people.source,
        of=len(complete),
        percentile=percentile,
        percentile_low=percentile_low,
        percentile_high=percentile_high,
        elo=elo,
        elo_low=elo_low,
        elo_high=elo_high,
        remark=f"{excluded_count} without results for all problems, excluded" if excluded_count else "",
    )


def _mean_and_interval(values: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """Return the mean and the bounds of its interval."""
    return (math.fsum(values) / len(values), *bootstrap_interval(values)) if values else (None, None, None)


def _win_probability(ability: float, difficulty: float) -> float:
    """Return the probability that a person solves a problem, or beats an opponent, by Elo's formula."""
    return 1 / (1 + 10 ** ((difficulty - ability) / 400))


def _contest_rating(total: float, contest: ContestResults) -> float | None:
    """Return the rating that Codeforces expects at the place of these points among rated contestants."""
    rated_results = [
        (points, rating)
        for points, rating in zip(contest.totals, contest.ratings, strict=True)
        if rating is not None
    ]
    if not rated_results:
        return None
    rank = 1 + sum(points > total for points, _ in rated_results)
    low, high = 0.0, max(rating for _, rating in rated_results) + 100
    while high - low > 1:
        guess = (low + high) / 2
        expected = 1 + math.fsum(1 - _win_probability(guess, rating) for _, rating in rated_results)
        low, high = (guess, high) if expected >= rank else (low, guess)
    return low


def _estimate_rating(people: People, problems: Sequence[ProblemSummary]) -> PeopleStanding:
    """Return the rating at which a person would solve as many of these problems as the model does.

    Each problem counts once. The interval is over problems.
    """
    pairs = [
        (float(problem.difficulty), problem.solved / problem.scored)
        for problem in problems
        if problem.scored and problem.difficulty.isdecimal()
    ]
    problem_count, solved = len(pairs), math.fsum(rate for _, rate in pairs)
    if not pairs or solved in (0, problem_count):
        outcome = "all problems are solved" if pairs and solved else "no problem is solved"
        return PeopleStanding(
            source=people.source,
            of=problem_count,
            remark=f"{outcome}, so there is no rating" if pairs else "no problem with a rating was scored",
        )
    low, high = _MIN_RATING, _MAX_RATING
    while high - low > 0.5:
        guess = (low + high) / 2
        expected = math.fsum(_win_probability(guess, difficulty) for difficulty, _ in pairs)
        low, high = (guess, high) if expected < solved else (low, guess)
    slope = math.fsum(
        chance * (1 - chance) for chance in (_win_probability(low, difficulty) for difficulty, _ in pairs)
    )
    deviation = math.sqrt(
        math.fsum((rate - _win_probability(low, difficulty)) ** 2 for difficulty, rate in pairs)
    )
    half_interval = _Z_95 * deviation / (slope * math.log(10) / 400)
    is_single = problem_count < 2
    return PeopleStanding(
        source=people.source,
        of=problem_count,
        elo=low,
        elo_low=None if is_single else low - half_interval,
        elo_high=None if is_single else low + half_interval,
    )
