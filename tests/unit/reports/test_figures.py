"""Figures show the numbers of the summary, to scale, and their CSV has the same ones."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest
from run_samples import SUM, problem, result, submission, write_run
from support.runs import ReportOptions, result_row, summary

from ioi_eval.models import Verdict
from ioi_eval.reports import figures, sections
from ioi_eval.reports.board import Board
from ioi_eval.reports.document import Figure
from ioi_eval.reports.plots import Axis, Series, Square, as_csv, bars, curves, grid, short, stacked
from ioi_eval.rules.selection import Budget

pytestmark = pytest.mark.once


def rows() -> list[dict[str, Any]]:
    """One model solves a subtask more by each attempt, the other one begins with all of them."""
    made = []
    for model, fails in (
        ("up", [{"1-a", "2-a", "3-a"}, {"2-a", "3-a"}, {"3-a"}, set()]),
        ("down", [set(), {"1-a"}]),
    ):
        for number, failed in enumerate(fails):
            one = submission(
                f"{model}-{number}", row={"model": model, "solution_number": number, "difficulty": "easy"}
            )
            made.append(result_row(one, SUM, result(one, dict.fromkeys(failed, Verdict.WA))))
    other = problem("other", subtasks=False)
    one = submission("o", problem_id="other", row={"model": "up", "difficulty": "hard"})
    made.append(result_row(one, other, result(one, {"1-a": Verdict.TLE}, problem=other)))
    return made


@pytest.fixture
def of(tmp_path: Path) -> list[sections.Entry]:
    return sections.entries(summary(write_run(tmp_path / "run", rows()), ReportOptions(submissions=3)))


def numbers(drawn: list[Figure]) -> list[list[str]]:
    [figure] = drawn
    return list(csv.reader(io.StringIO(figure.numbers)))


def test_the_curve_ends_where_the_limited_number_does(of: list[sections.Entry]) -> None:
    for one in of:
        assert [step.submissions for step in one.model.steps] == [1, 2, 3]
        assert one.model.steps[-1].points == one.model.budgets[Budget.LIMITED]
        points = [step.points for step in one.model.steps]
        assert points == sorted(points)
    found = numbers(figures.by_number(of))
    assert found[0] == ["model", "submissions", "points"] and ["up", "all", "100.0"] in found
    [figure] = figures.by_number(of)
    assert "the rule: 3" in figure.drawing and figure.drawing.count('curve"') == 2


def test_a_curve_of_pass_at_k_is_over_the_same_problems_throughout(of: list[sections.Entry]) -> None:
    up = next(one.model for one in of if one.name == "up")
    assert [found.k for found in up.pass_curve] == [1], "of the other problem there is one submission"
    [down] = [one.model for one in of if one.name == "down"]
    assert [(found.k, found.value) for found in down.pass_curve] == [(1, 0.5), (2, 1.0)]
    assert [line[:3] for line in numbers(figures.passes(of))[1:]] == [
        ["down", "1", "0.5"],
        ["down", "2", "1.0"],
    ]


def test_grids_have_the_shares_of_the_tables(of: list[sections.Entry]) -> None:
    board = Board.of(of, linked=True)
    assert board.problems == ("other", "sum")
    assert [(row.name, row.shares, row.solved) for row in board.rows] == [
        ("down", (None, 1.0), 1),
        ("up", (0.75, 1.0), 1),
    ]
    assert len(re.findall(r'<a href="report/problem-[0-9a-f]{16}\.html"', board.html())) == 2
    assert "<a " not in Board.of(of, linked=False).html()
    found = numbers(figures.subtasks(of, linked=False))
    assert found[1:] == [["sum", part.name, "1.0", "1.0"] for part in SUM.subtasks]


def test_bars_and_stacks(of: list[sections.Entry]) -> None:
    counts = numbers(figures.verdicts(of, [Verdict.AC, Verdict.WA, Verdict.TLE]))
    assert counts == [["model", "AC", "WA", "TLE"], ["down", "1", "1", "0"], ["up", "1", "3", "1"]]
    [section] = [one for one in sections.groups(of) if one.title == "By difficulty"]
    assert [line[0] for line in numbers(list(section.figures))] == ["difficulty", "easy", "hard"]


def test_a_stack_is_as_long_as_its_shares() -> None:
    drawing = stacked("t", [("a", [1, 3])], [("x", "v-ac"), ("y", "v-wa")])
    [short, long] = [float(width) + 1 for width in re.findall(r'width="([\d.]+)" height="20"', drawing)]
    assert long == pytest.approx(3 * short, abs=0.1)
    assert 'stroke="' not in drawing and "style=" not in drawing, (
        "the page's policy allows no styles of its own"
    )


def test_curves_are_drawn_to_scale() -> None:
    axis = Axis(title="x", most=10)
    drawing = curves("t", [Series(name="s", points=[(0, 0), (5, 5), (10, 10)])], axis, axis, (5, "rule"))
    [path] = re.findall(r'd="M([^"]+)"', drawing)
    (x0, y0), (x1, y1), (x2, y2) = (map(float, pair.split()) for pair in path.split("L"))
    assert (x0 + x2) / 2 == pytest.approx(x1) and (y0 + y2) / 2 == pytest.approx(y1) and y0 > y2
    assert f'x1="{x1:g}" x2="{x1:g}"' in drawing


@pytest.mark.parametrize(("least", "most"), [(0, 1), (1, 50), (0, 0.07), (0, 3000), (1, 1), (0, 0)])
def test_ticks_are_few_and_within(least: float, most: float) -> None:
    ticks = Axis(title="x", least=least, most=most).ticks()
    assert 1 <= len(ticks) <= 7 and all(least <= tick <= most + 1e-9 for tick in ticks)


@pytest.mark.parametrize("most", [1, 2, 3, 4, 13, 50, 1000])
def test_ticks_of_counts_are_whole(most: int) -> None:
    ticks = Axis(title="k", least=1, most=most, whole=True).ticks()
    assert 1 <= len(ticks) <= 7 and all(tick == int(tick) for tick in ticks)


def test_names_that_differ_only_at_their_end_are_told_apart() -> None:
    names = [short(f"organisation/model-large-70b-instruct-v{number}") for number in (1, 2)]
    assert len(set(names)) == 2 and all(len(name) == 30 for name in names)
    assert short("m") == "m"


def test_a_grid_of_many_columns_is_in_blocks() -> None:
    line = [Square(share=None if place % 2 else 1.0, text="x") for place in range(300)]
    drawing = grid("t", ["a", "b"], [f"p{place}" for place in range(300)], [line, line])
    assert drawing.count("<rect") == 600 and drawing.count("<text") < 30
    [wide] = re.findall(r'viewBox="0 0 ([\d.]+)', drawing)
    assert float(wide) <= 1000


def test_bars_leave_out_what_is_not_known() -> None:
    assert bars("t", ["a", "b"], [("g", [None, 0.5])]).count('bar"') == 1


def test_no_cell_of_the_numbers_is_a_formula() -> None:
    text = as_csv(["=1+1"], [["=cmd|x", -0.5], ["@a\nb", "+c"]])
    assert list(csv.reader(io.StringIO(text))) == [["'=1+1"], ["'=cmd|x", "-0.5"], ["'@a b", "'+c"]]
