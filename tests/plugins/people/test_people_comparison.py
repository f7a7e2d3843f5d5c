"""Comparison of a model with people: ratings of problems, and totals of contests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from run_samples import SUM, result, submission, write_run
from support.runs import result_row, summarize_run

from ioi_eval.models import Verdict
from ioi_eval.plugins.people.standing import compare_with_human_contestants
from ioi_eval.reports import write_reports
from ioi_eval.reports.records import ProblemSummary
from ioi_eval.store.tasks import ContestResults, People, write_human_results

RATED = People(source="ratings", rated=True)


def solved(difficulty: int, number: int, of: int = 10, **fields: Any) -> ProblemSummary:
    return ProblemSummary(
        problem_id=f"p{difficulty}",
        points=None,
        max_points=None,
        submissions=of,
        scored=of,
        unscored=0,
        compiled=of,
        solved=number,
        mean_points=number / of,
        best_pass_rate=1.0,
        verdicts={},
        subtasks=(),
        difficulty=str(difficulty),
        **fields,
    )


def test_elo_is_the_rating_at_which_half_the_problems_are_solved() -> None:
    comparison = compare_with_human_contestants(RATED, [solved(1500, 5), solved(1500, 5)])
    assert comparison.elo == pytest.approx(1500, abs=1) and comparison.of == 2
    even = compare_with_human_contestants(
        RATED, [solved(1100, 9), solved(1500, 5), solved(1900, 1), solved(2300, 0)]
    )
    assert even.elo is not None and even.elo_low is not None and even.elo_high is not None
    assert even.elo_low < even.elo < even.elo_high and even.elo == pytest.approx(1500, abs=40)
    better = compare_with_human_contestants(
        RATED, [solved(1100, 10), solved(1500, 8), solved(1900, 5), solved(2300, 1)]
    )
    assert better.elo is not None and better.elo > even.elo


def test_all_or_no_problems_solved_gives_no_rating() -> None:
    assert "no rating" in compare_with_human_contestants(RATED, [solved(1500, 10)]).remark
    assert "no rating" in compare_with_human_contestants(RATED, [solved(1500, 0)]).remark
    assert "no problem with a rating" in compare_with_human_contestants(RATED, []).remark
    comparison = compare_with_human_contestants(People(source="x", missing="not there"), [])
    assert (comparison.elo, comparison.remark) == (None, "not there")


def points(name: str, mean: float) -> ProblemSummary:
    template = solved(0, 0)
    fields = {name: getattr(template, name) for name in ProblemSummary.__struct_fields__}
    return ProblemSummary(**fields | {"problem_id": name, "mean_points": mean, "max_points": 100.0})


def contest(name: str, *problems: str) -> ContestResults:
    return ContestResults(
        contest=name, problems=problems, totals=(10, 50, 90, 150), ratings=(800, None, 1600, 2400)
    )


def test_contest_counts_only_if_all_its_problems_are_scored() -> None:
    people = People(source="x", contests=(contest("a", "a1", "a2"), contest("b", "b1"), contest("c", "c1")))
    comparison = compare_with_human_contestants(
        people, [points("a1", 60), points("a2@2024", 40), points("b1", 10)]
    )
    assert (comparison.of, comparison.percentile) == (2, 37.5), (
        "mean of 75 and 0: equal points do not count as fewer"
    )
    assert (comparison.percentile_low, comparison.percentile_high) == (0, 75)
    partial_comparison = compare_with_human_contestants(people, [points("a1", 60)])
    assert (partial_comparison.of, partial_comparison.percentile) == (
        0,
        None,
    ) and "1 without results for all problems" in partial_comparison.remark


def test_elo_rises_with_rank_in_the_contest() -> None:
    every = [
        compare_with_human_contestants(
            People(source="x", contests=(contest("a", "a1"),)), [points("a1", total)]
        ).elo
        for total in (0, 60, 100, 200)
    ]
    assert every == sorted(every) and every[0] == 0 and len(set(every)) == 4


def test_report_contains_percentile_among_people(tmp_path: Path) -> None:
    rows = [result_row(submission(key), SUM, result(submission(key), {"3-a": Verdict.WA})) for key in "ab"]
    folder = write_run(tmp_path / "run", rows)
    assert summarize_run(folder).models[0].more == {}
    write_human_results(folder, People(source="the contest's table", contests=(contest("x", "sum"),)))
    assert summarize_run(folder).models[0].more["people"]["percentile"] == 50
    assert json.loads((folder / "people.json").read_text())["source"] == "the contest's table"


def test_report_is_updated_when_results_of_people_are_added(tmp_path: Path) -> None:
    sent = submission("a")
    folder = write_run(tmp_path / "run", [result_row(sent, SUM, result(sent))])
    write_human_results(folder, People(source="the contest's table", missing="no network"))
    assert "no network" in str(write_reports(folder).models[0].more)
    write_human_results(folder, People(source="the contest's table", contests=(contest("x", "sum"),)))
    assert "no network" not in str(write_reports(folder).models[0].more)
    assert "no network" not in (folder / "report.md").read_text()
