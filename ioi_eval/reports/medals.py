"""A model among people: the medals of its points, by cut-offs that are data, and its place."""

from __future__ import annotations

import importlib.resources
import math
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.nesting import shallow
from ioi_eval.model.values import Value
from ioi_eval.rules.metrics import interval
from ioi_eval.store.files import readable
from ioi_eval.store.tasks import ContestResults, People

if TYPE_CHECKING:
    from ioi_eval.reports.records import ProblemSummary

_LOWEST, _HIGHEST = -1000.0, 5000.0  # ratings; who solves nothing has none
_SURE = 1.96  # standard deviations: 95 %
_FORM = "Expected a table for each year, such as [2024] with gold = 359.71, or the same as JSON"


class ContestYear(Value, forbid_unknown_fields=True):
    """A year's contest. A colour without a cut-off is not known, and not guessed."""

    gold: float | None = None
    silver: float | None = None
    bronze: float | None = None
    problems: int = 6
    points: float = 600.0
    ids: tuple[str, ...] = ()  # of its problems; empty: all problems of the year are taken for its own

    def cutoffs(self) -> dict[str, float]:
        """Best first."""
        cutoffs = {"gold": self.gold, "silver": self.silver, "bronze": self.bronze}
        return {colour: points for colour, points in cutoffs.items() if points is not None}


Contests = Mapping[int, ContestYear]


class Award(Value):
    """A total's worth at a contest, or the reason why nobody can say."""

    year: int
    points: float
    medal: str | None  # gold, silver, bronze, or "none"; None: it cannot be said, and `reason` says why
    reason: str = ""


def problems_of(contest: ContestYear, names: Collection[str], source: str) -> Collection[str]:
    """Return which problems of a contest's year are its own; none where it cannot be told that any is.

    `source`: where the run's problems come from. Other packages have years, too, and win no medals.
    """
    ids = {name.lower() for name in contest.ids}
    own = [name for name in names if name.partition("@")[0].lower() in ids]
    # A folder that is called after this project says nothing.
    if not ids or (re.search(r"(?<![a-z])ioi(?![a-z]|[-_]eval)", source.lower()) and len(own) < len(ids)):
        return names
    return own if len(own) in (len(names), len(ids)) else ()


def award(year: int, contest: ContestYear, problems: Mapping[str, float | None], points: float) -> Award:
    """`problems` are those of that year in the run, with what each is worth where that is known.

    A medal is for the whole contest: nobody is given one for the problems that were left in.
    """
    reason = _not_the_contest(contest, problems)
    if reason:
        return Award(year=year, points=points, medal=None, reason=reason)
    for colour, least in contest.cutoffs().items():
        if points >= least or math.isclose(points, least, abs_tol=1e-9):
            return Award(year=year, points=points, medal=colour)
    if contest.bronze is not None:
        return Award(year=year, points=points, medal="none")
    lowest = list(contest.cutoffs())[-1]
    reason = f"below {lowest}, and the other cut-offs are not known"
    return Award(year=year, points=points, medal=None, reason=reason)


def _not_the_contest(contest: ContestYear, problems: Mapping[str, float | None]) -> str:
    if len(problems) != contest.problems:
        return f"the contest had {contest.problems} problems, the run has {len(problems)} of that year"
    if unknown := sorted(name for name, worth in problems.items() if worth is None):
        return f"nothing was scored for {', '.join(unknown)}"
    whole = math.fsum(worth or 0 for worth in problems.values())
    if not math.isclose(whole, contest.points, abs_tol=1e-6):
        return f"the contest's problems are worth {contest.points:g} points, the run's {whole:g}"
    return ""


# --- the cut-offs --------------------------------------------------------------------------------------


def known_contests() -> dict[int, ContestYear]:
    """Return the cut-offs that come with the package."""
    text = importlib.resources.files("ioi_eval.reports").joinpath("medals.toml").read_text("utf-8")
    return _contests(tomllib.loads(text), "medals.toml")


def read_contests(path: Path) -> dict[int, ContestYear]:
    """Return the cut-offs of the package and of a user's file, TOML or JSON; the file's win."""
    try:
        with readable(path):
            text, is_json = path.read_text("utf-8"), path.suffix.lower() == ".json"
        table = msgspec.json.decode(shallow(text)) if is_json else tomllib.loads(text)
    except (tomllib.TOMLDecodeError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"is no table of medals: {error}", where=str(path), remedy=_FORM) from error
    return {**known_contests(), **_contests(table, str(path))}


def _contests(table: Any, where: str) -> dict[int, ContestYear]:
    if not isinstance(table, dict):
        raise InputError("is no table of medals", where=where, remedy=_FORM)
    found = dict[int, ContestYear]()
    for name, entry in table.items():
        if not (name.isascii() and name.isdigit() and len(name) == 4):
            raise InputError(f"{name!r} is not a year", where=where, field=name, remedy=_FORM)
        try:
            contest = found[int(name)] = msgspec.convert(entry, ContestYear)
        except msgspec.ValidationError as error:
            raise InputError(str(error), where=where, field=name, remedy=_FORM) from error
        if fault := _fault(contest):
            raise InputError(fault, where=where, field=name)
    return found


def _fault(contest: ContestYear) -> str:
    cutoffs = contest.cutoffs()
    if not cutoffs:
        return "no cut-off of gold, silver or bronze"
    if contest.problems < 1 or not (math.isfinite(contest.points) and contest.points > 0):
        return "a contest has at least one problem and some points"
    for colour, points in cutoffs.items():
        if not 0 <= points <= contest.points:  # also where it is not a number
            return f"{colour} = {points:g} is not within the contest's {contest.points:g} points"
    if list(cutoffs.values()) != sorted(cutoffs.values(), reverse=True):
        return "a better medal has a lower cut-off"
    return ""


# --- a place among people ----------------------------------------------------------------------------


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
