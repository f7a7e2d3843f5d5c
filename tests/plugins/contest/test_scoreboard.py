"""The scoreboard of a contest in its summary and report."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import aiohttp
import msgspec
import pytest
from support.contest_runs import hold_contest, outcome

from ioi_eval import load_problems, report
from ioi_eval.errors import InputError
from ioi_eval.plugins.contest import Rules, open_contest
from ioi_eval.plugins.contest.medals import MedalRule, award_medals
from ioi_eval.plugins.contest.projector import scoreboard_page
from ioi_eval.plugins.contest.scoreboard import (
    ContestProblem,
    Entrant,
    ProblemProgress,
    Scoreboard,
    format_clock,
    make_scoreboard_table,
    rank_scoreboard,
    read_scoreboard,
)
from ioi_eval.reports import ReportOptions, Results, name_runs, write_comparison
from ioi_eval.reports.comparison import find_differences
from ioi_eval.rules.scoring import ScoreMode
from ioi_eval.server import ServerOptions
from ioi_eval.server.view import serve_live_page
from ioi_eval.store.resources import examples_folder
from ioi_eval.testing import FakeEngine

# lanterns has the subtasks 20, 15, 25 and 40; the third is tests 12 to 15.
STEPS = (
    (60, "otter", "lanterns", "only 12 13 14 15"),
    (120, "otter", "lanterns", "only 12 13 14"),
    (300, "heron", "lanterns", "all"),
    (400, "otter", "tide", "all"),
    (3725, "otter", "lanterns", "all"),
)


def entrants(folder: Path) -> tuple[Entrant, ...]:
    """Return the scoreboard's rows in the summary of a run."""
    values = Results.open(folder).summary().more["contest"]
    return msgspec.convert(values, Scoreboard).entrants


def no_contest(folder: Path) -> None:
    """Remove the contest's data from a run."""
    info = json.loads((folder / "run.json").read_text())
    del info["fingerprint"]["options"]["contest_mode"]
    (folder / "run.json").write_text(json.dumps(info))


async def test_scoreboard_has_points_attempts_and_times_of_gains(tmp_path: Path) -> None:
    await hold_contest(tmp_path, STEPS)
    otter, heron = entrants(tmp_path / "cup")
    assert (otter.participant, otter.points, otter.gained) == ("otter", 200, 3725)
    assert [
        (problem.problem_id, problem.points, problem.attempts, problem.gained) for problem in otter.problems
    ] == [
        ("lanterns", 100, 3, 3725),
        ("tide", 100, 1, 400),
    ]
    assert otter.curve == ((0, 0), (60, 25), (400, 125), (3725, 200))
    assert otter.problems[0].steps == ((60, 25), (120, 25), (3725, 100))
    assert (heron.points, heron.gained, len(heron.problems)) == (100, 300, 1)
    markdown = (tmp_path / "cup" / "report.md").read_text()
    (line,) = [line for line in markdown.splitlines() if "100 (3, 1:02:05)" in line]
    assert "100 (★ 1, 0:05:00)" in markdown
    assert line.split("|")[2].strip() == "otter" and "100 (★ 1, 0:06:40)" in line
    html = (tmp_path / "cup" / "report.html").read_text()
    assert "Scoreboard" in html and "Points over time" in html


def board(
    *rows: tuple[str, float, float | None], problems: int = 0, rule: MedalRule = MedalRule.NONE
) -> Scoreboard:
    """Return a scoreboard of participants with these names, points and times."""
    names = [f"p{number}" for number in range(problems)]
    problem_progress = tuple(
        ProblemProgress(problem_id=name, points=1, attempts=1, gained=1) for name in names
    )
    return rank_scoreboard(
        Scoreboard(
            problems=tuple(ContestProblem(problem_id=name, max_points=1) for name in names),
            entrants=tuple(
                Entrant(participant=name, points=points, gained=at, problems=problem_progress, curve=())
                for name, points, at in rows
            ),
            medals=rule,
        )
    )


@pytest.mark.parametrize(("problems", "has_columns"), [(30, True), (31, False)])
def test_scoreboard_has_problem_columns_for_at_most_30_problems(problems: int, has_columns: bool) -> None:
    shown = make_scoreboard_table(board(("otter", problems, 1.0), problems=problems), str, 50)
    assert ("p0" in shown.heads) is has_columns


def test_participants_with_equal_points_and_times_share_a_rank() -> None:
    nobody = (("bear", 0.0, None), ("elk", 0.0, None))
    rows = (("heron", 5.0, 90.0), *nobody, ("otter", 5.0, 60.0), ("adder", 5.0, 90.0))
    shown = make_scoreboard_table(board(*rows), str, 50)
    assert [row[:2] for row in shown.rows] == [
        ["1", "otter"],
        ["2", "adder"],
        ["2", "heron"],
        ["4", "bear"],
        ["4", "elk"],
    ]


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ((12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1), "gssbbb......"),
        ((5, 5, 5, 4, 3, 2, 1, 1, 1, 1, 1, 1), "ggg.........".replace("...", "bbb", 1)),
        ((9, 9, 9, 9), "gggg"),  # by the rule, a twelfth or more win gold, even if no other medals remain
        ((3, 1, 1, 1), "g..."),
        ((3, 0, 0, 0, 0, 0), "g....."),
        ((0, 0), ".."),
        ((), ""),
    ],
)  # fmt: skip
def test_medals_by_the_rule_of_the_ioi(points: tuple[float, ...], expected: str) -> None:
    medals = award_medals(MedalRule.IOI, points, [1 + points.index(value) for value in points])
    assert "".join(medal[:1] or "." for medal in medals) == expected


def test_medals_by_the_rule_of_the_icpc_are_four_of_each_kind() -> None:
    points = [20.0 - number for number in range(14)]
    medals = award_medals(MedalRule.ICPC, points, [*range(1, 15)])
    assert "".join(medal[:1] or "." for medal in medals) == "ggggssssbbbb.."
    assert award_medals(MedalRule.ICPC, [3.0, 0.0], [1, 2]) == ["gold", ""]


def test_scoreboard_has_medal_column_if_rules_award_medals() -> None:
    rows = (("otter", 5.0, 60.0), ("heron", 3.0, 90.0))
    assert "Medal" not in make_scoreboard_table(board(*rows), str, 50).heads
    shown = make_scoreboard_table(board(*rows, rule=MedalRule.ICPC), str, 50)
    assert shown.heads[:3] == ["Place", "Participant", "Medal"] and [row[2] for row in shown.rows] == [
        "gold",
        "gold",
    ]


async def test_frozen_scoreboard_hides_results_until_the_end(tmp_path: Path) -> None:
    rules = Rules(seconds=1000, freeze=700, scoreboard=True)
    times = [0.0]
    problems = load_problems(
        examples_folder() / "problems", only={"lanterns", "tide"}, cache=tmp_path / "cache"
    )
    async with open_contest(
        problems, rules, out=tmp_path / "cup", engine=FakeEngine(outcome), clock=lambda: times[0]
    ) as contest:
        page = scoreboard_page(tmp_path / "cup", clock=lambda: times[0])
        assert page is not None
        session = contest.session("otter")
        for times[0], problem, code in ((60, "lanterns", "only 12 13 14 15"), (400, "tide", "all")):
            await session.submit(problem, code)
        assert [entry.points for entry in session.standing().scoreboard] == [25]
        assert session.standing().points == 125 and contest.scoreboard()[0].points == 125
        frozen = page()
        assert ">frozen<" in frozen and "1 hidden" in frozen and "0:10:00 left" in frozen
        assert '<td class="number">25</td>' in frozen and ">125<" not in frozen
        times[0] = 1000
        assert session.standing().scoreboard[0].points == 125
        over = page()
        assert ">frozen<" not in over and '<td class="number">125</td>' in over and "over" in over


async def test_live_view_of_a_contest_has_the_scoreboard_page(tmp_path: Path) -> None:
    await hold_contest(tmp_path, STEPS)
    async with (
        serve_live_page(tmp_path / "cup", ServerOptions(port=0)) as address,
        aiohttp.ClientSession() as http,
    ):
        async with http.get(address) as reply:
            assert '<a href="scoreboard">Scoreboard</a>' in await reply.text()
        async with http.get(f"{address}/scoreboard") as reply:
            page = await reply.text()
            assert reply.status == 200 and reply.content_type == "text/html"
        assert "otter" in page and "connect-src" in page


async def test_live_view_of_another_run_has_no_scoreboard_page(tmp_path: Path) -> None:
    await hold_contest(tmp_path, STEPS)
    no_contest(tmp_path / "cup")
    async with (
        serve_live_page(tmp_path / "cup", ServerOptions(port=0)) as address,
        aiohttp.ClientSession() as http,
    ):
        async with http.get(address) as reply:
            assert 'href="scoreboard"' not in await reply.text()
        async with http.get(f"{address}/scoreboard") as reply:
            assert reply.status == 404


@pytest.mark.parametrize("seconds", [None, 600])
def test_freeze_longer_than_the_contest_is_refused(seconds: float | None) -> None:
    with pytest.raises(InputError, match="freeze"):
        Rules(seconds=seconds, freeze=700).check()


async def test_last_submission_counts_in_mode_max_tokened_last(tmp_path: Path) -> None:
    await hold_contest(tmp_path, STEPS, ScoreMode.MAX_TOKENED_LAST)
    otter, _ = entrants(tmp_path / "cup")
    assert otter.curve == ((0, 0), (60, 25), (120, 0), (400, 100), (3725, 200))


async def test_scoreboard_shows_points_by_contest_rule_and_with_limited_submissions(tmp_path: Path) -> None:
    """By the rule for dumps the best of each subtask counts; here only the best submission counted."""
    problems = load_problems(examples_folder() / "problems", only={"lanterns"}, cache=tmp_path / "cache")
    async with open_contest(
        problems, Rules(mode=ScoreMode.MAX), out=tmp_path / "cup", engine=FakeEngine(outcome)
    ) as contest:
        for code in ("only 12 13 14 15", "only 0 1 2 3 4 5 6 7 8 9 10 11"):
            await contest.session("otter").submit("lanterns", code)
    (otter,) = entrants(tmp_path / "cup")
    assert (otter.points, otter.limited) == (25, 40)
    await report([tmp_path / "cup"], options=ReportOptions(submissions=1))
    markdown = (tmp_path / "cup" / "report.md").read_text()
    (header_line,) = [line for line in markdown.splitlines() if "Last gain" in line]
    assert "By 1 " in header_line
    (entrant,) = json.loads((tmp_path / "cup" / "summary.json").read_text())["more"]["contest"]["entrants"]
    assert entrant["limited"] < 40 and entrant["points"] == 25


async def test_scoreboard_is_independent_of_row_order(tmp_path: Path) -> None:
    await hold_contest(tmp_path, STEPS)
    entrants_before = entrants(tmp_path / "cup")
    rows = (tmp_path / "cup" / "results.jsonl").read_text().splitlines()
    (tmp_path / "cup" / "results.jsonl").write_text("".join(row + "\n" for row in reversed(rows)))
    assert entrants(tmp_path / "cup") == entrants_before


async def test_run_without_contest_has_no_scoreboard(tmp_path: Path) -> None:
    await hold_contest(tmp_path, STEPS)
    no_contest(tmp_path / "cup")
    assert read_scoreboard(tmp_path / "cup") is None and scoreboard_page(tmp_path / "cup") is None
    await report([tmp_path / "cup"])
    assert "Scoreboard" not in (tmp_path / "cup" / "report.md").read_text()


async def test_comparison_of_contests_has_no_mean_scores(tmp_path: Path) -> None:
    """Each program answers the feedback on the program before it, so no means are compared."""
    for name in ("first", "second"):
        await hold_contest(tmp_path / name, STEPS)
    cups = [tmp_path / name / "cup" for name in ("first", "second")]
    comparison = await report(cups, out=tmp_path / "both")
    assert comparison.differences is not None and comparison.differences.paired == ()
    assert "ean score of" not in (tmp_path / "both" / "comparison.md").read_text()
    entrants = [problem for model in comparison.runs[0].summary.models for problem in model.problems]
    assert {problem.mean_score for problem in entrants} == {None}


@pytest.mark.parametrize(
    ("seconds", "expected_text"), [(0, "0:00:00"), (59.9, "0:00:59"), (36000, "10:00:00")]
)
def test_clock_text_formats_seconds(seconds: float, expected_text: str) -> None:
    assert format_clock(seconds) == expected_text


async def test_contest_report_names_participants_and_does_not_rank_them_as_models(tmp_path: Path) -> None:
    await hold_contest(tmp_path, STEPS)
    folder = tmp_path / "cup"
    report_text = (folder / "report.md").read_text()
    tables = re.findall(r"\n\n\| (\w+) ", report_text)
    assert tables.count("Participant") == 4 and "Model" not in tables, tables
    scripts = re.compile("<script>.*?</script>", re.DOTALL)
    pages = [report_text, *(scripts.sub("", page.read_text()) for page in folder.rglob("*.html"))]
    named_models = [
        line
        for page in pages
        for line in page.splitlines()
        if re.search(">Model<|[0-9] models?\\b|a model", line)
    ]
    assert not named_models
    [leaderboard] = re.findall("## Leaderboard\n\n.*\n\n(.*)", report_text)
    assert "Rank" not in leaderboard and "leader " not in leaderboard, "the scoreboard has the places"
    headline = Results.open(folder).summary().headline
    assert headline is not None and headline.sentence == ""


async def test_comparison_of_contests_names_participants(tmp_path: Path) -> None:
    await hold_contest(tmp_path, STEPS)
    shutil.copytree(tmp_path / "cup", tmp_path / "copy")
    folders = [tmp_path / "cup", tmp_path / "copy"]
    runs = name_runs({folder: Results.open(folder).summary() for folder in folders})
    write_comparison(runs, tmp_path / "both", find_differences(*folders))
    comparison_text = (tmp_path / "both" / "comparison.md").read_text()
    assert "| Participant | Submissions |" in comparison_text and "Model" not in comparison_text
    assert "Rank" not in comparison_text
