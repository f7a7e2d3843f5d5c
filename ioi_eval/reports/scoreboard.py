"""The scoreboard of a contest: points, attempts and times of gains, by problem and participant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from ioi_eval.model.values import SubmissionResult, Value
from ioi_eval.reports.document import NOTHING, Cell, Figure, Link, Section, TableBlock, number
from ioi_eval.reports.plots import SERIES, Axis, Series, curves, figure
from ioi_eval.rules import scoring
from ioi_eval.rules.scoring import Mode
from ioi_eval.rules.selection import SUBMISSIONS, bare
from ioi_eval.store.folder import RunInfo
from ioi_eval.store.rows import as_number

_MODE = "contest_mode"  # the option of a run by which it is a contest
_MOST_COLUMNS, _LONG = 12, 40
_MOST_STEPS = 20_000  # submissions of a replay: more would make the page slow


class Gains(Value):
    """A participant's way in one problem."""

    problem_id: str
    points: float
    attempts: int
    gained: float | None  # seconds from the start to the last gain; None: there was none
    steps: tuple[tuple[float, float], ...] = ()  # of each submission: seconds, and the points from then on


class Entrant(Value):
    participant: str
    points: float  # by the contest's own rule
    gained: float | None
    problems: tuple[Gains, ...]
    curve: tuple[tuple[float, float], ...]  # seconds, and the points from then on
    limited: float | None = None  # points by the report's rule of so many submissions; None: no subtasks


class Scores:
    """Takes a contest's rows, in any order. `participants` have a place also without a row."""

    def __init__(self, info: RunInfo, participants: Iterable[str] = ()) -> None:
        mode = info.fingerprint.options.get(_MODE)
        self._mode = Mode(mode) if mode in set(Mode) else None
        self.is_contest = self._mode is not None
        self._found: dict[str, dict[str, list[tuple[float, float, SubmissionResult]]]] = {
            name: {} for name in participants if self.is_contest
        }

    def add(self, row: Mapping[str, Any], result: SubmissionResult) -> None:
        name, at, attempt = row.get("participant"), row.get("contest_seconds"), row.get("attempt")
        if self._mode is not None and isinstance(name, str):
            own = self._found.setdefault(name, {}).setdefault(result.problem_id, [])
            own.append((as_number(at) or 0.0, as_number(attempt) or 0.0, bare(result)))

    def entrants(self) -> tuple[Entrant, ...]:
        """Return the participants: the most points first, then who had them earlier."""
        ranked = (self._entrant(name) for name in self._found)
        return tuple(sorted(ranked, key=lambda entrant: (*_standing(entrant), entrant.participant)))

    def _entrant(self, name: str) -> Entrant:
        problems, steps = list[Gains](), list[tuple[float, float]]()
        for label, submissions in sorted(self._found[name].items()):
            points, gained, own = 0.0, None, tuple(self._way(submissions))
            for at, now in own:
                if now != points:
                    steps.append((at, now - points))
                gained = at if now > points else gained
                points = now
            problems.append(
                Gains(problem_id=label, points=points, attempts=len(own), gained=gained, steps=own)
            )
        curve, whole = [(0.0, 0.0)], 0.0
        for at, more in sorted(steps):
            whole += more
            curve.append((at, round(whole, 6)))
        return Entrant(
            participant=name,
            points=round(whole, 6),
            gained=max((problem.gained for problem in problems if problem.gained is not None), default=None),
            problems=tuple(problems),
            curve=tuple(curve),
        )

    def _way(self, submissions: list[tuple[float, float, SubmissionResult]]) -> Iterator[tuple[float, float]]:
        """Yield the seconds of each submission, and the problem's points from then on."""
        assert self._mode is not None, "rows are taken of contests only"
        kept, points = list[SubmissionResult](), 0.0
        for at, _, result in sorted(submissions, key=lambda submission: submission[:2]):
            now = scoring.points(self._mode, [*kept, result])
            if self._mode is Mode.MAX_TOKENED_LAST:
                now = scoring.points(self._mode, [result])
            if now != points:
                kept.append(result)  # what changes nothing now never will
                points = now
            yield at, now


def _standing(entrant: Entrant) -> tuple[float, float]:
    """Return what decides the place: who has it in common with another shares that place."""
    return -entrant.points, entrant.gained or 0.0


def section(
    entrants: tuple[Entrant, ...], linked: Mapping[str, str], submissions: int = SUBMISSIONS
) -> Section:
    """Return the scoreboard as contests show it.

    `linked`: pages of problems, by their names; `submissions`: the number of the report's own rule.
    """
    names = sorted({problem.problem_id for entrant in entrants for problem in entrant.problems})
    shown = names if len(names) <= _MOST_COLUMNS else []
    rows: list[list[Cell]] = []
    standings = [_standing(entrant) for entrant in entrants]  # in order
    for entrant in entrants:
        own = {problem.problem_id: problem for problem in entrant.problems}
        cells = [_cell(own[name], linked.get(name, "")) if name in own else NOTHING for name in shown]
        points = [number(entrant.points), number(entrant.limited)]
        place = str(1 + standings.index(_standing(entrant)))
        rows.append([place, entrant.participant, *points, clock(entrant.gained), *cells])
    steps = [{problem.problem_id: problem.steps for problem in entrant.problems} for entrant in entrants]
    is_replayed = 1 < sum(len(own) for of_entrant in steps for own in of_entrant.values()) <= _MOST_STEPS
    by_rule = f"By {submissions}"
    meaning = (
        f"the points of the {submissions} submissions for each problem that the rule for dumps would hand in"
    )
    return Section(
        title="Scoreboard",
        anchor="scoreboard",  # style and script know it
        text=[
            "Problems have points, and in parentheses the attempts and the time of the last gain."
            if shown
            else "The board below has the points of each problem."
        ],
        figures=_figures(entrants),
        table=TableBlock(
            heads=["Place", "Participant", "Points", by_rule, "Last gain", *shown],
            rows=rows,
            align="rlrrr" + "r" * len(shown),
            meanings={"Points": "by the contest's own rule", by_rule: meaning},
            replay=msgspec.json.encode({"columns": shown, "rows": steps}).decode() if is_replayed else "",
        ),
        long=len(rows) > _LONG,
    )


def _cell(gains: Gains, href: str) -> Cell:
    when = "" if gains.gained is None else f", {clock(gains.gained)}"
    text = f"{number(gains.points)} ({gains.attempts}{when})"
    return Link(text=text, href=href) if href else text


def clock(seconds: float | None) -> str:
    if seconds is None:
        return NOTHING
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def _figures(entrants: tuple[Entrant, ...]) -> list[Figure]:
    """Points over time, each kept until the next gain."""
    end = max((at for entrant in entrants for at, _ in entrant.curve), default=0.0)
    most = max((points for entrant in entrants for _, points in entrant.curve), default=0.0)
    if not end or not most:
        return []
    series = [Series(name=entrant.participant, points=_stairs(entrant, end)) for entrant in entrants[:SERIES]]
    rows = [(entrant.participant, at, points) for entrant in entrants for at, points in entrant.curve]
    x, y = Axis(title="Seconds since the start", most=end), Axis(title="Points", most=most)
    title = "Points over time"
    return [figure(title, curves(title, series, x, y, None), ["participant", "seconds", "points"], rows)]


def _stairs(entrant: Entrant, end: float) -> list[tuple[float, float]]:
    found, before = list[tuple[float, float]](), 0.0
    for at, points in entrant.curve:
        found += [(at, before), (at, points)]
        before = points
    return [*found, (end, before)]
