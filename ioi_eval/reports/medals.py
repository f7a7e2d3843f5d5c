"""The medals that a model's points would have won, by a table of cut-offs."""

from __future__ import annotations

import importlib.resources
import math
import re
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.nesting import require_shallow
from ioi_eval.model.values import Value
from ioi_eval.store.files import convert_read_errors

_FORM = "Expected a table for each year, such as [2024] with gold = 359.71, or the same as JSON"


class ContestYear(Value, forbid_unknown_fields=True):
    """A year's contest. A medal without a cut-off is unknown."""

    gold: float | None = None
    silver: float | None = None
    bronze: float | None = None
    problems: int = 6
    points: float = 600.0
    ids: tuple[str, ...] = ()  # ids of the contest's problems (default: all problems of the year)

    def list_cutoffs(self) -> dict[str, float]:
        """Return the cut-offs by medal, the best medal first."""
        cutoffs = {"gold": self.gold, "silver": self.silver, "bronze": self.bronze}
        return {colour: points for colour, points in cutoffs.items() if points is not None}


Contests = Mapping[int, ContestYear]


class Award(Value):
    """The medal for a total at a contest, or the reason why it is unknown."""

    year: int
    points: float
    medal: str | None  # gold, silver, bronze or "none"; `None` means unknown, for the reason in `reason`
    reason: str = ""


def find_contest_problems(
    contest: ContestYear, problem_names: Collection[str], problems_source: str
) -> Collection[str]:
    """Return the problems that belong to the contest of their year, or nothing if that is unclear.

    `problems_source`: the source of the run's problems. It is needed because problems of other contests have
    years as well.
    """
    contest_ids = {name.lower() for name in contest.ids}
    contest_problems = [name for name in problem_names if name.partition("@")[0].lower() in contest_ids]
    # A source that contains "ioi" is about the IOI, unless "ioi" is part of this project's name "ioi_eval".
    if not contest_ids or (
        re.search(r"(?<![a-z])ioi(?![a-z]|[-_]eval)", problems_source.lower())
        and len(contest_problems) < len(contest_ids)
    ):
        return problem_names
    return contest_problems if len(contest_problems) in (len(problem_names), len(contest_ids)) else ()


def award_medal(
    year: int, contest: ContestYear, problems: Mapping[str, float | None], points: float
) -> Award:
    """Return the medal for points in a contest. Only a run with all problems of the contest gets a medal.

    Args:
        year: The contest's year.
        contest: The contest's cut-offs, number of problems and maximum points.
        problems: Maximum points of the run's problems of that contest, by problem. None means that nothing
            was scored for the problem.
        points: The run's points for all problems of the contest together.
    """
    reason = _explain_no_award(contest, problems)
    if reason:
        return Award(year=year, points=points, medal=None, reason=reason)
    for colour, cutoff in contest.list_cutoffs().items():
        if points >= cutoff or math.isclose(points, cutoff, abs_tol=1e-9):
            return Award(year=year, points=points, medal=colour)
    if contest.bronze is not None:
        return Award(year=year, points=points, medal="none")
    lowest_medal = list(contest.list_cutoffs())[-1]
    reason = f"below {lowest_medal}, and the other cut-offs are not known"
    return Award(year=year, points=points, medal=None, reason=reason)


def _explain_no_award(contest: ContestYear, max_by_problem: Mapping[str, float | None]) -> str:
    if len(max_by_problem) != contest.problems:
        return f"the contest had {contest.problems} problems, the run has {len(max_by_problem)} of that year"
    if problems_without_maximum := sorted(
        name for name, max_points in max_by_problem.items() if max_points is None
    ):
        return f"nothing was scored for {', '.join(problems_without_maximum)}"
    max_total = math.fsum(max_points or 0 for max_points in max_by_problem.values())
    if not math.isclose(max_total, contest.points, abs_tol=1e-6):
        return f"the contest's problems are worth {contest.points:g} points, the run's {max_total:g}"
    return ""


# --- cut-offs of medals --------------------------------------------------------------------------------


def load_bundled_contest_years() -> dict[int, ContestYear]:
    """Return the medal cut-offs that this package contains."""
    toml_text = importlib.resources.files("ioi_eval.reports").joinpath("medals.toml").read_text("utf-8")
    return _parse_contests(tomllib.loads(toml_text), "medals.toml")


def read_contests(path: Path) -> dict[int, ContestYear]:
    """Return the medal cut-offs of this package and of a user's TOML or JSON file, which has priority."""
    try:
        with convert_read_errors(path):
            content, is_json = path.read_text("utf-8"), path.suffix.lower() == ".json"
        table = msgspec.json.decode(require_shallow(content)) if is_json else tomllib.loads(content)
    except (tomllib.TOMLDecodeError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(
            f"the file is not a table of medals: {error}", where=str(path), remedy=_FORM
        ) from error
    return {**load_bundled_contest_years(), **_parse_contests(table, str(path))}


def _parse_contests(table: Any, where: str) -> dict[int, ContestYear]:
    if not isinstance(table, dict):
        raise InputError("the file is not a table of medals", where=where, remedy=_FORM)
    contests = dict[int, ContestYear]()
    for name, entry in table.items():
        if not (name.isascii() and name.isdigit() and len(name) == 4):
            raise InputError(f"{name!r} is not a year", where=where, field=name, remedy=_FORM)
        try:
            contest = contests[int(name)] = msgspec.convert(entry, ContestYear)
        except msgspec.ValidationError as error:
            raise InputError(str(error), where=where, field=name, remedy=_FORM) from error
        if cutoff_fault := _find_cutoff_fault(contest):
            raise InputError(cutoff_fault, where=where, field=name)
    return contests


def _find_cutoff_fault(contest: ContestYear) -> str:
    cutoffs = contest.list_cutoffs()
    if not cutoffs:
        return "no cut-off of gold, silver or bronze"
    if contest.problems < 1 or not (math.isfinite(contest.points) and contest.points > 0):
        return "a contest has at least one problem and some points"
    for colour, points in cutoffs.items():
        if not 0 <= points <= contest.points:  # this refuses NaN as well
            return f"{colour} = {points:g} is not within the contest's {contest.points:g} points"
    if list(cutoffs.values()) != sorted(cutoffs.values(), reverse=True):
        return "a better medal has a lower cut-off"
    return ""
