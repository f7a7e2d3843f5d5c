"""The scoreboard of a contest: points, attempts and times of gains, by participant and problem."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from ioi_eval.model.text import format_count
from ioi_eval.model.values import SubmissionResult, Value
from ioi_eval.plugins.contest.medals import MedalRule, award_medals
from ioi_eval.reports.document import (
    FOLDER,
    NOTHING,
    Cell,
    Figure,
    Link,
    Section,
    TableBlock,
    format_number,
    name_problem_page,
)
from ioi_eval.reports.parts import ReportPart
from ioi_eval.reports.plots import SERIES, Axis, Series, draw_curves, make_figure
from ioi_eval.reports.records import ModelSummary, Summary
from ioi_eval.rules import scoring
from ioi_eval.rules.scoring import ScoreMode
from ioi_eval.rules.selection import Budget, remove_test_results
from ioi_eval.store.folder import (
    CONTEST,
    STOPPED,
    read_contest_stop_reasons,
    read_info,
    read_participants,
    read_results,
)
from ioi_eval.store.rows import as_number
from ioi_eval.store.tasks import read_tasks

_NAME = "contest"  # name of the scoreboard in the registry of report sections
# Options that a contest's run stores: mode of scoring and rule for medals.
_MODE, _MEDALS = "contest_mode", "contest_medals"
_MAX_COLUMNS = 30  # maximum number of problems that get a column
_MAX_STEPS = 20_000  # maximum number of submissions of a replay, so that the page is not slow
_MAX_NAMED = 5  # maximum number of early stops that a warning names, and of leaders that a sentence names
_STAR = "★"
_TOLERANCE = 1e-9  # tolerance in points for rounding errors of sums


class ContestProblem(Value):
    problem_id: str
    max_points: float


class ProblemProgress(Value):
    """A participant's points and submissions for a problem."""

    problem_id: str
    points: float
    attempts: int
    # Seconds from the start to the last gain of points. `None` means that no submission gained points.
    gained: float | None
    # Time in seconds and points after it, for each submission.
    steps: tuple[tuple[float, float], ...] = ()
    hidden: int = 0  # number of submissions since the scoreboard was frozen, which all other fields ignore

    def find_solve_time_s(self, max_points: float) -> float | None:
        """Return the seconds from the start to the first full score, or `None` without a full score."""
        full_times = (time_s for time_s, points in self.steps if points >= max_points - _TOLERANCE)
        return next(full_times, None)


class Entrant(Value):
    """A participant's row of the scoreboard."""

    participant: str
    points: float  # points by the rule of the contest
    gained: float | None  # seconds from the start to the last gain of points
    problems: tuple[ProblemProgress, ...]
    curve: tuple[tuple[float, float], ...]  # pairs of a time in seconds and the points from then on
    limited: float | None = None  # points by the report's rule for a limited number of submissions
    place: int = 0  # place from 1; participants with equal points at equal times share a place
    medal: str = ""  # gold, silver or bronze; empty for no medal


class Scoreboard(Value):
    """The scoreboard of a contest, by descending points and, if these are equal, by time."""

    problems: tuple[ContestProblem, ...]
    entrants: tuple[Entrant, ...]
    medals: MedalRule = MedalRule.NONE

    def find_first_solve_times(self) -> dict[str, float]:
        """Return the seconds from the start to the first full score, by problem."""
        max_points = {problem.problem_id: problem.max_points for problem in self.problems}
        first_times = dict[str, float]()
        for entrant in self.entrants:
            for progress in entrant.problems:
                time_s = progress.find_solve_time_s(max_points[progress.problem_id])
                if time_s is not None:
                    first_times[progress.problem_id] = min(
                        time_s, first_times.get(progress.problem_id, time_s)
                    )
        return first_times


class _Submission(msgspec.Struct):
    at: float  # time of the submission, in seconds from the start
    attempt: float
    result: SubmissionResult


def read_scoreboard(folder: Path, frozen_from: float | None = None) -> Scoreboard | None:
    """Return the scoreboard of a run's folder, or `None` if the run is not a contest.

    Rows may be in any order. Participants that the folder names are included even without a row.

    Args:
        folder: The run's folder.
        frozen_from: Seconds from the start. Later submissions count only as hidden submissions.
    """
    info = read_info(folder)
    options = {} if info is None else info.fingerprint.options
    if options.get(_MODE) not in set(ScoreMode):
        return None
    mode, medal_rule = ScoreMode(options[_MODE]), MedalRule(options.get(_MEDALS, MedalRule.NONE))
    max_points = {
        name: sum(subtask.points for subtask in task.subtasks) or 1.0
        for name, task in read_tasks(folder).items()
    }
    submissions_by_participant: dict[str, dict[str, list[_Submission]]] = {
        name: {} for name in read_participants(folder)
    }
    for _, row, result in read_results(folder):
        if isinstance(name := row.get("participant"), str):
            time_s, attempt = (as_number(row.get(column)) or 0.0 for column in ("contest_seconds", "attempt"))
            submissions = submissions_by_participant.setdefault(name, {}).setdefault(result.problem_id, [])
            submissions.append(_Submission(time_s, attempt, remove_test_results(result)))
            subtask_points = sum(scored_subtask.points for scored_subtask in result.subtasks)
            max_points.setdefault(result.problem_id, subtask_points or 1.0)
    return rank_scoreboard(
        Scoreboard(
            problems=tuple(
                ContestProblem(problem_id=name, max_points=points)
                for name, points in sorted(max_points.items())
            ),
            entrants=tuple(
                _make_scoreboard_row(name, submissions, mode, frozen_from)
                for name, submissions in submissions_by_participant.items()
            ),
            medals=medal_rule,
        )
    )


def rank_scoreboard(board: Scoreboard) -> Scoreboard:
    """Return a scoreboard with its participants in order, with their places and medals."""
    entrants = sorted(board.entrants, key=lambda entrant: (*_make_rank_key(entrant), entrant.participant))
    rank_keys = [_make_rank_key(entrant) for entrant in entrants]
    places = [1 + rank_keys.index(key) for key in rank_keys]
    medals = award_medals(board.medals, [entrant.points for entrant in entrants], places)
    return replace(
        board,
        entrants=tuple(
            replace(entrant, place=place, medal=medal)
            for entrant, place, medal in zip(entrants, places, medals, strict=True)
        ),
    )


def _make_rank_key(entrant: Entrant) -> tuple[float, float]:
    return -entrant.points, entrant.gained or 0.0


def _make_scoreboard_row(
    participant: str,
    submissions_by_problem: Mapping[str, list[_Submission]],
    score_mode: ScoreMode,
    frozen_from: float | None,
) -> Entrant:
    """Return a participant's row of the scoreboard, without place and medal."""
    progress_list, point_changes = list[ProblemProgress](), list[tuple[float, float]]()
    for problem_id, submissions in sorted(submissions_by_problem.items()):
        all_submissions = sorted(submissions, key=lambda submission: (submission.at, submission.attempt))
        visible_submissions = [
            attempt for attempt in all_submissions if frozen_from is None or attempt.at < frozen_from
        ]
        points, gain_time_s, steps = 0.0, None, tuple(_list_points_over_time(visible_submissions, score_mode))
        for time_s, new_points in steps:
            if new_points != points:
                point_changes.append((time_s, new_points - points))
            gain_time_s = time_s if new_points > points else gain_time_s
            points = new_points
        progress_list.append(
            ProblemProgress(
                problem_id=problem_id,
                points=points,
                attempts=len(steps),
                gained=gain_time_s,
                steps=steps,
                hidden=len(all_submissions) - len(visible_submissions),
            )
        )
    curve, total_points = [(0.0, 0.0)], 0.0
    for time_s, change in sorted(point_changes):
        total_points += change
        curve.append((time_s, round(total_points, 6)))
    return Entrant(
        participant=participant,
        points=round(total_points, 6),
        gained=max((problem.gained for problem in progress_list if problem.gained is not None), default=None),
        problems=tuple(progress_list),
        curve=tuple(curve),
    )


def _list_points_over_time(
    submissions: Iterable[_Submission], score_mode: ScoreMode
) -> Iterator[tuple[float, float]]:
    """Yield the time of each submission, and the problem's points from then on."""
    counted_results, points = list[SubmissionResult](), 0.0
    for submission in submissions:
        new_points = scoring.compute_problem_points(score_mode, [*counted_results, submission.result])
        if score_mode is ScoreMode.MAX_TOKENED_LAST:
            new_points = scoring.compute_problem_points(score_mode, [submission.result])
        if new_points != points:
            # A result that does not change the points now cannot change them later.
            counted_results.append(submission.result)
            points = new_points
        yield submission.at, points


# --- in reports --------------------------------------------------------------------------------------


class ScoreboardPart(ReportPart):
    """The scoreboard in reports of contests."""

    files = (CONTEST, STOPPED)

    def run_numbers(self, folder: Path, models: Sequence[ModelSummary]) -> Any:
        """Return the scoreboard as plain values; `None` if the run is not a contest."""
        if (board := read_scoreboard(folder)) is None:
            return None
        models_by_name = {model.model: model for model in models}
        entrants = (
            replace(entrant, limited=_find_points_within_limit(models_by_name.get(entrant.participant)))
            for entrant in board.entrants
        )
        return msgspec.to_builtins(replace(board, entrants=tuple(entrants)))

    def warnings(self, folder: Path) -> Iterator[str]:
        """Yield a warning if models stopped early."""
        if stop_reasons := read_contest_stop_reasons(folder):
            reasons = "; ".join(
                f"{name}: {reason}" for name, reason in list(stop_reasons.items())[:_MAX_NAMED]
            )
            stop_count = format_count(len(stop_reasons), "time")
            yield (
                f"Stopped early {stop_count}, so that points there may be too low ({reasons})."
                " Repeat the command that started the run to continue."
            )

    def first_sections(self, run: Summary) -> Iterator[Section]:
        """Yield the scoreboard and the drawing of points over time."""
        if _NAME in run.more:
            board = msgspec.convert(run.more[_NAME], Scoreboard)
            yield from make_scoreboard_sections(
                board, lambda name: f"{FOLDER}/{name_problem_page(name)}", run.submission_limit
            )


def _find_points_within_limit(model: ModelSummary | None) -> float | None:
    """Return a participant's points if a limited number of submissions counts, as in the report.

    `None` means that a problem has no subtasks.
    """
    if model is None or not all(problem.budgets for problem in model.problems):
        return None
    return model.budgets.get(Budget.LIMITED)


def make_scoreboard_sections(
    board: Scoreboard, get_page_url: Callable[[str], str], submission_limit: int
) -> Iterator[Section]:
    """Yield the scoreboard of a report, and the drawing of points over time.

    Args:
        board: The scoreboard.
        get_page_url: Returns the address of a problem's page.
        submission_limit: Number of submissions for each problem that the report counts.
    """
    has_columns = len(board.problems) <= _MAX_COLUMNS
    explanation = (
        "Below the head of a problem are the points, the number of attempts and the time of the last gain. "
        f"{_STAR} marks the first full score."
        if has_columns
        else "The table of problems below has the points of each problem."
    )
    yield Section(
        title="Scoreboard",
        anchor="scoreboard",
        lead=_describe_leaders(board),
        text=[" ".join(filter(None, [explanation, board.medals.report_sentence]))],
        table=make_scoreboard_table(board, get_page_url, submission_limit),
        script=read_page_script("scoreboard.js"),
        is_whole=True,
    )
    if figures := _make_points_figures(board.entrants):
        yield Section(title="Points over time", level=3, figures=figures, is_whole=True)


def _describe_leaders(board: Scoreboard) -> str:
    """Return a sentence about the participants in the first place, or "" if all have 0 points."""
    leaders = [entrant for entrant in board.entrants if entrant.place == 1 and entrant.points > 0]
    if not leaders:
        return ""
    names, points = [entrant.participant for entrant in leaders], format_number(leaders[0].points)
    if len(names) == 1:
        return f"{names[0]} is first with {points} points."
    other_leaders = f"{len(names) - _MAX_NAMED} others" if len(names) > _MAX_NAMED + 1 else names.pop()
    return f"{', '.join(names[:_MAX_NAMED])} and {other_leaders} share the first place with {points} points."


def make_scoreboard_table(
    board: Scoreboard, get_page_url: Callable[[str], str], submission_limit: int | None
) -> TableBlock:
    """Return the scoreboard as a table.

    Args:
        board: The scoreboard.
        get_page_url: Returns the address of a problem's page; an empty address means no link.
        submission_limit: Number of submissions for each problem that the report counts. `None` omits the
        points with this limit and the data of the replay.
    """
    shown_problems = board.problems if len(board.problems) <= _MAX_COLUMNS else ()
    find_first_solve_times, has_medals = board.find_first_solve_times(), board.medals is not MedalRule.NONE
    table_rows = list[list[Cell]]()
    for entrant in board.entrants:
        progress_by_problem = {progress.problem_id: progress for progress in entrant.problems}
        table_rows.append(
            [
                str(entrant.place),
                entrant.participant,
                *([entrant.medal or NOTHING] if has_medals else []),
                format_number(entrant.points),
                format_clock(entrant.gained),
                *(
                    _make_progress_cell(
                        progress_by_problem.get(problem.problem_id),
                        problem,
                        find_first_solve_times,
                        get_page_url(problem.problem_id),
                    )
                    for problem in shown_problems
                ),
                *([] if submission_limit is None else [format_number(entrant.limited)]),
            ]
        )
    limited_head = f"By {submission_limit}"
    limited_meaning = (
        f"the points of the {submission_limit} submissions for each problem that the rule for dumps would"
        " hand in"
    )
    column_heads = ["Place", "Participant", *(["Medal"] if has_medals else []), "Points", "Last gain"]
    return TableBlock(
        heads=[
            *column_heads,
            *(problem.problem_id for problem in shown_problems),
            *([] if submission_limit is None else [limited_head]),
        ],
        rows=table_rows,
        align="rl" + "r" * (len(column_heads) - 2 + len(shown_problems) + (submission_limit is not None)),
        meanings={"Points": "by the contest's own rule"}
        | ({} if submission_limit is None else {limited_head: limited_meaning}),
        short={"Place": "#"},
        kind="board",
        script_data=_encode_replay_json(board, shown_problems) if submission_limit is not None else "",
    )


def _make_progress_cell(
    progress: ProblemProgress | None,
    problem: ContestProblem,
    find_first_solve_times: Mapping[str, float],
    href: str,
) -> Cell:
    """Return a participant's cell of a problem."""
    if progress is None:
        return NOTHING
    find_solve_time_s = progress.find_solve_time_s(problem.max_points)
    is_first = (
        find_solve_time_s is not None and find_solve_time_s == find_first_solve_times[problem.problem_id]
    )
    notes = [f"{progress.attempts}", *([] if progress.gained is None else [format_clock(progress.gained)])]
    notes += [f"{progress.hidden} hidden"] if progress.hidden else []
    return Link(
        text=format_number(progress.points),
        href=href,
        share=progress.points / problem.max_points,
        note=f"{_STAR} " * is_first + ", ".join(notes),
    )


def _encode_replay_json(board: Scoreboard, shown_problems: Sequence[ContestProblem]) -> str:
    """Return the data of the replay as JSON, or "" if there are too few or too many submissions."""
    rows = [
        {progress.problem_id: progress.steps for progress in entrant.problems} for entrant in board.entrants
    ]
    submission_count = sum(len(problem_steps) for row in rows for problem_steps in row.values())
    if not 1 < submission_count <= _MAX_STEPS:
        return ""
    max_points = {problem.problem_id: problem.max_points for problem in board.problems}
    columns = [problem.problem_id for problem in shown_problems]
    has_medals = board.medals is not MedalRule.NONE
    replay = {
        "columns": columns,
        "max_points": max_points,
        "rows": rows,
        "has_medals": has_medals,
    }
    return msgspec.json.encode(replay).decode()


def format_clock(seconds: float | None) -> str:
    """Return a time as h:mm:ss, or a dash for `None`."""
    if seconds is None:
        return NOTHING
    minutes, remaining_s = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{remaining_s:02}"


def _make_points_figures(entrants: Sequence[Entrant]) -> list[Figure]:
    """Return the drawing of points over time, or nothing if all participants have 0 points."""
    end_s = max((time_s for entrant in entrants for time_s, _ in entrant.curve), default=0.0)
    max_points = max((points for entrant in entrants for _, points in entrant.curve), default=0.0)
    if not end_s or not max_points:
        return []
    point_lines = [
        Series(name=entrant.participant, points=_make_step_line(entrant, end_s))
        for entrant in entrants[:SERIES]
    ]
    table_rows = [
        (entrant.participant, time_s, points) for entrant in entrants for time_s, points in entrant.curve
    ]
    time_axis, points_axis = (
        Axis(title="Seconds since the start", max_value=end_s),
        Axis(title="Points", max_value=max_points),
    )
    title = "Points over time"
    return [
        make_figure(
            title,
            draw_curves(title, point_lines, time_axis, points_axis, None),
            ["participant", "seconds", "points"],
            table_rows,
        )
    ]


def _make_step_line(entrant: Entrant, end_s: float) -> list[tuple[float, float]]:
    """Return the corners of a line whose height changes only at gains."""
    corners, height = list[tuple[float, float]](), 0.0
    for time_s, points in entrant.curve:
        corners += [(time_s, height), (time_s, points)]
        height = points
    return [*corners, (end_s, height)]


@cache
def read_page_script(name: str) -> str:
    return Path(__file__).with_name(name).read_text("utf-8")
