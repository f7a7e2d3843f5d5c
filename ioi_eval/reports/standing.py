"""The standing of a model among people, by the results that its benchmark brings."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ioi_eval.model.values import Value
from ioi_eval.reports.records import PeopleStanding, ProblemSummary
from ioi_eval.rules.metrics import interval
from ioi_eval.store.people import ContestResults, People

_LOWEST, _HIGHEST = -1000.0, 5000.0  # ratings; who solves nothing has none
_SURE = 1.96  # standard deviations: 95 %


class _Estimate(Value):
    value: float | None = None
    low: float | None = None
    high: float | None = None


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
    place, elo = _mean(percentiles), _mean(ratings)
    left = len(met) - len(whole)
    return PeopleStanding(
        source=people.source,
        of=len(whole),
        percentile=place.value,
        percentile_low=place.low,
        percentile_high=place.high,
        elo=elo.value,
        elo_low=elo.low,
        elo_high=elo.high,
        remark=f"{left} without results for all problems, left out" if left else "",
    )


def _mean(values: Sequence[float]) -> _Estimate:
    if not values:
        return _Estimate()
    low, high = interval(values)
    return _Estimate(value=math.fsum(values) / len(values), low=low, high=high)


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
        remark = f"{what}, so that there is no bound" if pairs else "no problem with a rating was scored"
        return PeopleStanding(source=people.source, of=number, remark=remark)
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
