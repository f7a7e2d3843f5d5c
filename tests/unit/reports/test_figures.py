"""Figures show the summary's numbers to scale, and their CSV has the same numbers."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from run_samples import SUM, problem, result, submission, write_run
from support.runs import ReportOptions, result_row, summarize_run

from ioi_eval.models import Verdict
from ioi_eval.reports import figures, sections
from ioi_eval.reports.document import NOTHING, STYLE, Figure, Link, read_asset
from ioi_eval.reports.headline import Entry
from ioi_eval.reports.plots import (
    SERIES,
    Axis,
    Series,
    draw_curves,
    draw_stacked_column_chart,
    make_figure,
    shorten_name,
    shorten_names,
    spread_labels,
)
from ioi_eval.rules.scoring import ScoreMode
from ioi_eval.rules.selection import Budget


def rows() -> list[dict[str, Any]]:
    """Return rows of two models. `up` solves a further subtask with each attempt; `down` starts with all."""
    result_rows = []
    for model, fails in (
        ("up", [{"1-a", "2-a", "3-a"}, {"2-a", "3-a"}, {"3-a"}, set()]),
        ("down", [set(), {"1-a"}]),
    ):
        for number, failed in enumerate(fails):
            sent = submission(
                f"{model}-{number}", row={"model": model, "solution_number": number, "difficulty": "easy"}
            )
            result_rows.append(result_row(sent, SUM, result(sent, dict.fromkeys(failed, Verdict.WA))))
    other = problem("other", subtasks=False)
    sent = submission("o", problem_id="other", row={"model": "up", "difficulty": "hard"})
    result_rows.append(result_row(sent, other, result(sent, {"1-a": Verdict.TLE}, problem=other)))
    return result_rows


@pytest.fixture
def of(tmp_path: Path) -> list[Entry]:
    return sections.make_run_entries(
        summarize_run(write_run(tmp_path / "run", rows()), ReportOptions(submissions=3))
    )


def numbers(drawn: list[Figure]) -> list[list[str]]:
    [figure] = drawn
    return list(csv.reader(io.StringIO(figure.numbers)))


def test_points_curve_ends_at_limited_budget(of: list[Entry]) -> None:
    for entry in of:
        assert [step.submissions for step in entry.model.steps] == [1, 2, 3]
        assert entry.model.steps[-1].points == entry.model.budgets[Budget.LIMITED]
        points = [step.points for step in entry.model.steps]
        assert points == sorted(points)
    csv_rows = numbers(figures.make_points_figures(of))
    assert csv_rows[0] == ["model", "submissions", "points"] and ["up", "all", "100.0"] in csv_rows
    [figure] = figures.make_points_figures(of)
    assert "the rule: 3" in figure.drawing and figure.drawing.count('curve"') == 2


def test_pass_at_k_curve_covers_same_problems_for_all_k(of: list[Entry]) -> None:
    up = next(entry.model for entry in of if entry.name == "up")
    assert [estimate.k for estimate in up.pass_curve] == [1], "the other problem has a single submission"
    [down] = [entry.model for entry in of if entry.name == "down"]
    assert [(estimate.k, estimate.value) for estimate in down.pass_curve] == [(1, 0.5), (2, 1.0)]
    assert [line[:3] for line in numbers(figures.make_pass_at_k_figures(of))[1:]] == [
        ["down", "1", "0.5"],
        ["down", "2", "1.0"],
    ]


def test_filter_data_equals_table_by_problem(of: list[Entry]) -> None:
    data = json.loads(sections.make_explorer_json(of))
    assert (data["problems"], data["models"]) == (["other", "sum"], ["down", "up"])
    assert data["values"] == [[None, 0.5], [0.0, 0.25]] and data["tags"] == [[], []]
    table = sections.make_problems_section(of, has_pages=True).table
    assert table is not None
    assert [[str(cell) for cell in row] for row in table.rows] == [
        ["other", "0.0", NOTHING, "0"],
        ["sum", "37.5", "50", "25"],
    ]
    links = [cell.href for row in table.rows for cell in row if isinstance(cell, Link)]
    assert all(re.match(r"report/problem-[0-9a-f]{16}\.html", href) for href in links) and len(links) == 5


@pytest.mark.parametrize("worth", [(33.333, 33.333, 33.334), (0.1, 0.7, 0.2)])
@pytest.mark.parametrize("mode", ScoreMode)
def test_filter_data_counts_solved_problems_like_tables(
    tmp_path: Path, worth: tuple[float, ...], mode: ScoreMode
) -> None:
    """The rounded points of a solved problem may be less than the maximum."""
    subtasks_and_points = zip(SUM.subtasks, worth, strict=True)
    subtasks = tuple(
        msgspec.structs.replace(subtask, points=points) for subtask, points in subtasks_and_points
    )
    thirds = msgspec.structs.replace(SUM, subtasks=subtasks)
    result_rows = [result_row(sent := submission("a"), thirds, result(sent, problem=thirds))]
    of = sections.make_run_entries(
        summarize_run(write_run(tmp_path / "run", result_rows), ReportOptions(mode=mode))
    )
    assert json.loads(sections.make_explorer_json(of))["solved"] == [[of[0].model.problems_solved]] == [[1]]


def test_difficulty_slices_use_headline_measure(of: list[Entry]) -> None:
    [section] = [
        candidate
        for candidate in sections.make_group_sections(of)
        if candidate.title == "By difficulty: pass@1, %"
    ]
    assert section.table is not None
    assert [[str(cell) for cell in row] for row in section.table.rows] == [
        ["easy", "1", "50", "25"],
        ["hard", "1", NOTHING, "0"],
    ]


def test_curves_are_drawn_to_scale() -> None:
    axis = Axis(title="x", max_value=10)
    drawing = draw_curves("t", [Series(name="s", points=[(0, 0), (5, 5), (10, 10)])], axis, axis, (5, "rule"))
    [path] = re.findall(r'curve" d="M([^"]+)"', drawing)
    (x0, y0), (x1, y1), (x2, y2) = (map(float, pair.split()) for pair in path.split("L"))
    assert (x0 + x2) / 2 == pytest.approx(x1) and (y0 + y2) / 2 == pytest.approx(y1) and y0 > y2
    assert f'x1="{x1:g}" x2="{x1:g}"' in drawing


@pytest.mark.parametrize(("lowest", "highest"), [(0, 1), (1, 50), (0, 0.07), (0, 3000), (1, 1), (0, 0)])
def test_axis_ticks_are_few_and_within_the_range(lowest: float, highest: float) -> None:
    ticks = Axis(title="x", min_value=lowest, max_value=highest).compute_ticks()
    assert 1 <= len(ticks) <= 7 and all(lowest <= tick <= highest + 1e-9 for tick in ticks)


@pytest.mark.parametrize("highest", [1, 2, 3, 4, 13, 50, 1000])
def test_axis_ticks_of_counts_are_integers(highest: int) -> None:
    ticks = Axis(title="k", min_value=1, max_value=highest, whole=True).compute_ticks()
    assert 1 <= len(ticks) <= 7 and all(tick == int(tick) for tick in ticks)


def test_shortened_model_names_keep_their_differing_ends() -> None:
    names = [shorten_name(f"organisation/model-large-70b-instruct-v{number}") for number in (1, 2)]
    assert len(set(names)) == 2 and all(len(name) == 30 for name in names)
    assert shorten_name("m") == "m"


def test_model_names_in_figures_omit_common_parts() -> None:
    names = [f"organisation/model-{number:02}-instruct" for number in (1, 2)]
    assert shorten_names(names) == names and shorten_names(names, 20) == [
        "…model-01-instruct",
        "…model-02-instruct",
    ]
    assert shorten_names(names, 15) == ["…01-instruct", "…02-instruct"] and shorten_names(names, 8) == [
        "…01…",
        "…02…",
    ]
    assert shorten_names(["x" * 40, "x" * 40 + "-a"], 9) == ["xxxxx…xxx", "xxxxx…x-a"]
    assert shorten_names(["a long name"] * 2, 7) == ["a lo…me"] * 2 and shorten_names([]) == []


def test_curve_labels_do_not_overlap() -> None:
    assert spread_labels([100, 20], 0, 300) == [100, 20]
    positions = spread_labels([50, 51, 49, 290, 300], 0, 300)
    assert [positions[index] for index in (2, 0, 1)] == [49, 64, 79] and positions[3:] == [285, 300]
    crowded = spread_labels([0] * 50, 0, 300)
    assert all(upper - lower == 15 for lower, upper in itertools.pairwise(crowded))


def fields(drawing: str) -> list[str]:
    return re.findall(r'<path class="(m\d) curve"', drawing)


def test_only_first_eight_curves_are_coloured_and_named() -> None:
    axis = Axis(title="k", min_value=1, max_value=3, whole=True)
    of = [Series(name=f"m{number}", points=[(1, number), (3, number + 1)]) for number in range(30)]
    drawn = draw_curves("t", of[:8], axis, Axis(title="Points", max_value=40), None)
    assert fields(drawn) == [f"m{index}" for index in range(8)] and "other" not in drawn
    many = draw_curves("t", of, axis, Axis(title="Points", max_value=40), None)
    assert fields(many) == fields(drawn) and many.count('class="other curve"') == 22
    assert "grey: the 22 below the first 8" in many and ">m8</text>" not in many


def test_model_has_same_colour_in_all_figures(of: list[Entry]) -> None:
    """Even if a figure omits other models."""
    first, second = of
    without = msgspec.structs.replace(
        first, model=msgspec.structs.replace(first.model, pass_curve=(), steps=())
    )
    [drawn] = figures.make_points_figures([without, second])
    assert fields(drawn.drawing) == ["m1"]


# --- colours ------------------------------------------------------------------------------------------

# Machado, Oliveira and Fernandes 2009, severity 1: the visible shares of linear red, green and blue.
SEEN = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no green": (
        (0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)
    ),
    "no red": (
        (0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)
    ),
}  # fmt: skip


def colours(css: str) -> dict[str, tuple[float, float, float]]:
    """Return the linear red, green and blue of each name in a style sheet."""

    def linear(channel: str) -> float:
        value = int(channel, 16) / 255
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    matches = re.findall(r"--(\w+): #(\w\w)(\w\w)(\w\w);", css)
    return {name: (linear(red), linear(green), linear(blue)) for name, red, green, blue in matches}


def _dot(first: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(first, other, strict=True))


def oklab(red: float, green: float, blue: float) -> tuple[float, float, float]:
    cones = (
        0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue,
        0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue,
        0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue,
    )
    l, m, s = (max(0.0, cone) ** (1 / 3) for cone in cones)  # noqa: E741 - so they are called
    return (
        0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
        1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
        0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s,
    )


@pytest.mark.parametrize("index", [0, 1], ids=["light", "dark"])
def test_figure_colours_are_distinct_and_contrast_with_page(index: int) -> None:
    blocks = re.findall(r":root[^{]*\{([^}]+)\}", read_asset(STYLE))
    ours, pages = (
        [colours(block) for block in blocks if f"--{name}:" in block][index] for name in ("m0", "paper")
    )
    weights = (0.2126, 0.7152, 0.0722)
    assert len(ours) == SERIES
    for name, page in itertools.product(ours, ("paper", "sheet")):
        light = [_dot(weights, colour) + 0.05 for colour in (ours[name], pages[page])]
        assert max(light) / min(light) >= 3, f"{name} on {page}"
    for vision, matrix in SEEN.items():
        looks = {
            name: oklab(*(min(1.0, max(0.0, _dot(row, colour))) for row in matrix))
            for name, colour in ours.items()
        }
        for colour, other in itertools.combinations(looks, 2):
            assert math.dist(looks[colour], looks[other]) > 0.07, f"{colour} and {other}, {vision}"


def test_histogram_bars_are_proportional_to_their_counts() -> None:
    drawing = draw_stacked_column_chart("t", [("a", (1, 3)), ("b", (2, 0))], ["v-ac", "v-wa"])
    heights = [float(height) for height in re.findall(r'height="([\d.]+)"><title>', drawing)]
    assert heights == [30, 90, 60, 0]
    assert re.findall(r">(\d)</text>", drawing) == ["4", "2"]


def test_csv_cells_of_figure_escape_formulas() -> None:
    csv_text = make_figure("", "", ["=1+1"], [["=cmd|x", -0.5], ["@a\nb", "+c"]]).numbers
    assert list(csv.reader(io.StringIO(csv_text))) == [["'=1+1"], ["'=cmd|x", "-0.5"], ["'@a b", "'+c"]]
