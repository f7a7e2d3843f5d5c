"""The scoreboard of a contest, in its summary and its report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.cups import hold, outcome

from ioi_eval import load_problems, report
from ioi_eval.plugins.contest import Rules, open_contest
from ioi_eval.reports import ReportOptions, Results
from ioi_eval.reports.scoreboard import Entrant, Gains, clock, section
from ioi_eval.rules.scoring import Mode
from ioi_eval.store.resources import examples
from ioi_eval.testing import FakeEngine

# lanterns has the subtasks 20, 15, 25 and 40; the last but one is tests 12 to 15.
STEPS = (
    (60, "otter", "lanterns", "only 12 13 14 15"),
    (120, "otter", "lanterns", "only 12 13 14"),
    (300, "heron", "lanterns", "all"),
    (400, "otter", "tide", "all"),
    (3725, "otter", "lanterns", "all"),
)


async def test_points_attempts_and_times_of_gains(tmp_path: Path) -> None:
    await hold(tmp_path, STEPS)
    otter, heron = Results.open(tmp_path / "cup").summary().contest
    assert (otter.participant, otter.points, otter.gained) == ("otter", 200, 3725)
    assert [(one.problem_id, one.points, one.attempts, one.gained) for one in otter.problems] == [
        ("lanterns", 100, 3, 3725),
        ("tide", 100, 1, 400),
    ]
    assert otter.curve == ((0, 0), (60, 25), (400, 125), (3725, 200))
    assert otter.problems[0].steps == ((60, 25), (120, 25), (3725, 100))
    assert (heron.points, heron.gained, len(heron.problems)) == (100, 300, 1)
    text = (tmp_path / "cup" / "report.md").read_text()
    (line,) = [line for line in text.splitlines() if "100 (3, 1:02:05)" in line]
    assert line.split("|")[2].strip() == "otter" and "100 (1, 0:06:40)" in line
    html = (tmp_path / "cup" / "report.html").read_text()
    assert "Scoreboard" in html and "Points over time" in html


@pytest.mark.parametrize(
    ("problems", "words"), [(12, "in parentheses the attempts"), (13, "The board below")]
)
def test_the_words_above_fit_the_columns(problems: int, words: str) -> None:
    own = tuple(Gains(problem_id=f"p{number}", points=1, attempts=1, gained=1) for number in range(problems))
    shown = section((Entrant(participant="otter", points=problems, gained=1, problems=own, curve=()),), {})
    assert shown.table is not None and words in shown.text[0]
    assert ("p0" in shown.table.heads) == ("parentheses" in words)


def test_who_has_as_much_as_early_shares_a_place() -> None:
    """Most often with nothing: an alphabet is no order of merit."""
    said = (
        ("otter", 5.0, 60.0),
        ("adder", 5.0, 90.0),
        ("heron", 5.0, 90.0),
        ("bear", 0.0, None),
        ("elk", 0.0, None),
    )
    of = tuple(
        Entrant(participant=name, points=points, gained=at, problems=(), curve=())
        for name, points, at in said
    )
    shown = section(of, {})
    assert shown.table is not None
    assert [row[0] for row in shown.table.rows] == ["1", "2", "2", "4", "4"]


async def test_the_last_submission_counts_where_rules_say_so(tmp_path: Path) -> None:
    await hold(tmp_path, STEPS, Mode.MAX_TOKENED_LAST)
    (otter, _) = Results.open(tmp_path / "cup").summary().contest
    assert otter.curve == ((0, 0), (60, 25), (120, 0), (400, 100), (3725, 200))


async def test_the_rule_for_dumps_stands_beside_what_happened(tmp_path: Path) -> None:
    """By that rule the best of each subtask counts; here only the best submission did."""
    problems = load_problems(examples() / "problems", only={"lanterns"}, cache=tmp_path / "cache")
    async with open_contest(
        problems, Rules(mode=Mode.MAX), out=tmp_path / "cup", engine=FakeEngine(outcome)
    ) as contest:
        for code in ("only 12 13 14 15", "only 0 1 2 3 4 5 6 7 8 9 10 11"):
            await contest.session("otter").submit("lanterns", code)
    (otter,) = Results.open(tmp_path / "cup").summary().contest
    assert (otter.points, otter.limited) == (25, 40)
    await report([tmp_path / "cup"], options=ReportOptions(submissions=1))
    text = (tmp_path / "cup" / "report.md").read_text()
    (heads,) = [line for line in text.splitlines() if "Last gain" in line]
    assert "By 1 " in heads
    (again,) = json.loads((tmp_path / "cup" / "summary.json").read_text())["contest"]
    assert again["limited"] < 40 and again["points"] == 25


async def test_the_report_is_the_same_in_any_order_of_rows(tmp_path: Path) -> None:
    await hold(tmp_path, STEPS)
    before = Results.open(tmp_path / "cup").summary().contest
    rows = (tmp_path / "cup" / "results.jsonl").read_text().splitlines()
    (tmp_path / "cup" / "results.jsonl").write_text("".join(row + "\n" for row in reversed(rows)))
    assert Results.open(tmp_path / "cup").summary().contest == before


async def test_other_runs_have_no_scoreboard(tmp_path: Path) -> None:
    await hold(tmp_path, STEPS)
    info = json.loads((tmp_path / "cup" / "run.json").read_text())
    del info["fingerprint"]["options"]["contest_mode"]
    (tmp_path / "cup" / "run.json").write_text(json.dumps(info))
    assert Results.open(tmp_path / "cup").summary().contest == ()
    await report([tmp_path / "cup"])
    assert "Scoreboard" not in (tmp_path / "cup" / "report.md").read_text()


async def test_no_mean_is_compared(tmp_path: Path) -> None:
    """Neither of two participants nor of two contests: each program answers the verdict on the last one."""
    for name in ("first", "second"):
        await hold(tmp_path / name, STEPS)
    cups = [tmp_path / name / "cup" for name in ("first", "second")]
    done = await report(cups, out=tmp_path / "both")
    assert done.differences is not None and done.differences.paired == ()
    assert "ean score of" not in (tmp_path / "both" / "comparison.md").read_text()
    entrants = [problem for model in done.runs[0].summary.models for problem in model.problems]
    assert {problem.mean_score for problem in entrants} == {None}


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00:00"), (59.9, "0:00:59"), (36000, "10:00:00")])
def test_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text
