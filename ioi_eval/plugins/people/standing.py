"""A model's place among people: of each contest the contestants with fewer points, and a rating."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.model.values import Value
from ioi_eval.reports.document import NOTHING, Section, TableBlock
from ioi_eval.reports.headline import Entry
from ioi_eval.reports.parts import ReportPart
from ioi_eval.reports.records import ModelSummary, ProblemSummary
from ioi_eval.rules.metrics import interval
from ioi_eval.store.tasks import ContestResults, People, read_people

_LOWEST, _HIGHEST = -1000.0, 5000.0  # ratings; who solves nothing has none
_SURE = 1.96  # standard deviations: 95 %
_NAME = "people"  # of the entry in the registry


class AmongPeople(ReportPart):
    """The part of reports about models among people."""

    def numbers(self, folder: Path, models: Sequence[ModelSummary]) -> Sequence[Any]:
        """Return each model's standing as plain values; None if the run has no results of people."""
        if (people := read_people(folder)) is None:
            return [None for _ in models]
        return [msgspec.to_builtins(standing(people, model.problems)) for model in models]

    def sections(self, of: Sequence[Entry]) -> Iterator[Section]:
        """Yield a table with a line for each model that has a standing."""
        standings = [
            (entry.name, msgspec.convert(entry.model.more[_NAME], PeopleStanding))
            for entry in of
            if _NAME in entry.model.more
        ]
        if not standings:
            return
        yield Section(
            title="Among people",
            text=[
                "One submission for each problem, on average, beside people: the share of contestants with"
                " fewer points (mean over contests), and the rating of whom Codeforces would expect at that"
                " place, or to solve as many of these problems. Intervals (95 %) are over contests or"
                " problems. Source:"
                f" {'; '.join(dict.fromkeys(found.source for _, found in standings))}."
            ],
            table=TableBlock(
                heads=["Model", "Percentile", "Rating", "Contests or problems", "Remark"],
                rows=[
                    [
                        name,
                        _placed(found.percentile, found.percentile_low, found.percentile_high, " %"),
                        _placed(found.elo, found.elo_low, found.elo_high, ""),
                        f"{found.of:,}" if found.of else NOTHING,
                        found.remark,
                    ]
                    for name, found in standings
                ],
                align="lrrrl",
            ),
        )


def _placed(value: float | None, low: float | None, high: float | None, unit: str) -> str:
    if value is None:
        return NOTHING
    sure = "" if low is None or high is None else f" ({low:.0f} to {high:.0f})"
    return f"{value:.0f}{unit}{sure}"


class PeopleStanding(Value):
    """A model's place among people: of each contest the share of contestants with fewer points, and a rating.

    It is that of one submission for each problem, on average. Intervals are of 95 %.
    """

    source: str  # of the people's results
    of: int = 0  # contests, or problems with ratings
    percentile: float | None = None  # mean over contests, in percent
    percentile_low: float | None = None
    percentile_high: float | None = None
    elo: float | None = None  # on the scale of Codeforces
    elo_low: float | None = None
    elo_high: float | None = None
    remark: str = ""


def standing(people: People, problems: Sequence[ProblemSummary]) -> PeopleStanding:
    """Return the standing of a model that hands in one submission for each problem, on average."""
    if people.missing:
        return PeopleStanding(source=people.source, remark=people.missing)
    if people.rated:
        return _rated(people, problems)
    scored = {
        problem.problem_id.partition("@")[0]: problem.mean_points
        for problem in problems
        if problem.mean_points is not None and problem.max_points is not None
    }
    whole = [contest for contest in people.contests if set(contest.problems) <= scored.keys()]
    met = [contest for contest in people.contests if set(contest.problems) & scored.keys()]
    percentiles, ratings = list[float](), list[float]()
    for contest in whole:
        total = math.fsum(scored[name] for name in contest.problems)
        percentiles.append(100 * sum(points < total for points in contest.totals) / len(contest.totals))
        if (rating := _rating(total, contest)) is not None:
            ratings.append(rating)
    percentile, percentile_low, percentile_high = _mean(percentiles)
    elo, elo_low, elo_high = _mean(ratings)
    left = len(met) - len(whole)
    return PeopleStanding(
        source=people.source,
        of=len(whole),
        percentile=percentile,
        percentile_low=percentile_low,
        percentile_high=percentile_high,
        elo=elo,
        elo_low=elo_low,
        elo_high=elo_high,
        remark=f"{left} without results for all problems, left out" if left else "",
    )


def _mean(values: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """Return the mean and its interval."""
    return (math.fsum(values) / len(values), *interval(values)) if values else (None, None, None)


def _chance(ability: float, difficulty: float) -> float:
    return 1 / (1 + 10 ** ((difficulty - ability) / 400))


def _rating(total: float, contest: ContestResults) -> float | None:
    """The rating of whom Codeforces expects at the place of this total, among rated contestants."""
    rated = [
        (points, rating)
        for points, rating in zip(contest.totals, contest.ratings, strict=True)
        if rating is not None
    ]
    if not rated:
        return None
    place = 1 + sum(points > total for points, _ in rated)
    low, high = 0.0, max(rating for _, rating in rated) + 100
    while high - low > 1:
        middle = (low + high) / 2
        expected = 1 + math.fsum(1 - _chance(middle, rating) for _, rating in rated)
        low, high = (middle, high) if expected >= place else (low, middle)
    return low


def _rated(people: People, problems: Sequence[ProblemSummary]) -> PeopleStanding:
    """The rating at which a person would solve as many of these problems as the model does.

    Each problem counts once. The interval is that of the estimate over problems.
    """
    pairs = [
        (float(problem.difficulty), problem.solved / problem.scored)
        for problem in problems
        if problem.scored and problem.difficulty.isdecimal()
    ]
    number, solved = len(pairs), math.fsum(rate for _, rate in pairs)
    if not pairs or solved in (0, number):
        what = "all problems are solved" if pairs and solved else "no problem is solved"
        return PeopleStanding(
            source=people.source,
            of=number,
            remark=f"{what}, so that there is no bound" if pairs else "no problem with a rating was scored",
        )
    low, high = _LOWEST, _HIGHEST
    while high - low > 0.5:
        middle = (low + high) / 2
        expected = math.fsum(_chance(middle, difficulty) for difficulty, _ in pairs)
        low, high = (middle, high) if expected < solved else (low, middle)
    slope = math.fsum(
        chance * (1 - chance) for chance in (_chance(low, difficulty) for difficulty, _ in pairs)
    )
    spread = math.sqrt(math.fsum((rate - _chance(low, difficulty)) ** 2 for difficulty, rate in pairs))
    half = _SURE * spread / (slope * math.log(10) / 400)
    few = number < 2
    return PeopleStanding(
        source=people.source,
        of=number,
        elo=low,
        elo_low=None if few else low - half,
        elo_high=None if few else low + half,
    )
