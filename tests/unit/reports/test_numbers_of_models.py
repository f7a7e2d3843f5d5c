"""Numbers of models in summaries: groups, budgets, scoring modes, medals."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from run_samples import SUM, TESTS, problem, result, submission, write_run
from support.runs import ReportOptions, ScoreMode, failure_row, read_result, result_row, summarize_run

from ioi_eval.errors import JudgeFailure
from ioi_eval.models import Problem, Subtask, Verdict
from ioi_eval.reports import ModelSummary
from ioi_eval.reports.document import ShareBar, TableBlock, format_number, render_markdown
from ioi_eval.reports.headline import make_leaderboard_section
from ioi_eval.reports.medals import ContestYear, load_bundled_contest_years
from ioi_eval.reports.page import make_run_document
from ioi_eval.reports.sections import make_group_sort_key, make_run_entries
from ioi_eval.reports.sections import make_medals_section as sections_medals
from ioi_eval.reports.summary import (
    ProblemTraits,
    compute_limit_usage_steps,
    make_attempt,
    read_problem_traits,
)
from ioi_eval.rules.selection import Budget
from ioi_eval.store.tasks import Task

PLAIN = problem("plain", subtasks=False)
WRONG = {"3-a": Verdict.WA}  # loses the last subtask, of 49.5 points
NOTHING_RIGHT = {"1-a": Verdict.WA}


def row(
    key: str, of: Problem = SUM, statuses: dict[str, Verdict] | None = None, **columns: Any
) -> dict[str, Any]:
    target, compiles = columns.pop("target", None), columns.pop("compiles", True)
    sent = submission(key, problem_id=of.id, target_subtask=target, row=columns)
    return result_row(sent, of, result(sent, statuses, problem=of, compiles=compiles))


def unscored(key: str, of: Problem = SUM, **columns: Any) -> dict[str, Any]:
    return failure_row(submission(key, problem_id=of.id, row=columns), JudgeFailure("why"))


def only(
    folder: Path,
    rows: Iterable[dict[str, Any]],
    failures: Iterable[dict[str, Any]] = (),
    options: ReportOptions | None = None,
) -> ModelSummary:
    (model,) = summarize_run(write_run(folder, rows, failures), options).models
    return model


# --- pass@k ------------------------------------------------------------------------------------------


def test_unscored_submissions_are_in_no_estimate(tmp_path: Path) -> None:
    rows = [row("a"), row("b", SUM, WRONG), row("c", SUM, WRONG)]
    alone = only(tmp_path / "alone", rows)
    model = only(tmp_path / "run", rows, [unscored("d"), unscored("e")])
    assert (model.scored, model.unscored) == (3, 2)
    assert model.pass_at == alone.pass_at
    assert model.pass_at[0].value == pytest.approx(1 / 3)
    assert model.problems[0].pass_at == alone.problems[0].pass_at


def test_pass_at_k_counts_target_subtask_as_passed(tmp_path: Path) -> None:
    """Two of three submissions for the first subtask pass it. The submission for the whole problem fails."""
    rows = [
        row("a", SUM, WRONG, target="01-small"),
        row("b", SUM, WRONG, target="01-small"),
        row("c", SUM, NOTHING_RIGHT, target="01-small"),
        row("d", SUM, WRONG),
    ]
    options = ReportOptions(ks=(1, 2))
    first, second = only(tmp_path / "run", rows, options=options).pass_at
    assert first.value == pytest.approx((2 / 3 + 0) / 2)
    assert (second.value, second.lacking) == (None, 1), "only one submission is for the whole problem"
    assert (first.problems, first.low) == (1, None)


# --- traits of problems -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "traits"),
    [
        ({}, ProblemTraits()),
        (
            {"difficulty": "hard", "tags": ["b", "a", "b"], "year": 2024},
            ProblemTraits(difficulty="hard", tags=("a", "b"), year=2024),
        ),
        (
            {"difficulty": 1500, "tags": "a, b ,", "year": "2024"},
            ProblemTraits(difficulty="1500", tags=("a", "b"), year=2024),
        ),
        ({"tags": '["b", "a, c"]'}, ProblemTraits(tags=("a, c", "b"))),  # lists in tables are JSON
        ({"tags": "['b', 'a']"}, ProblemTraits(tags=("a", "b"))),
        ({"tags": "[]"}, ProblemTraits()),
        ({"tags": "[USACO], gold"}, ProblemTraits(tags=("[USACO]", "gold"))),
        ({"difficulty": ["x"], "tags": 3, "year": "soon"}, ProblemTraits()),
        ({"tags": [1, None, ""], "year": float("inf"), "difficulty": None}, ProblemTraits()),
        ({"year": 2024.0, "difficulty": 1900.0}, ProblemTraits(difficulty="1900", year=2024)),
        ({"difficulty": "1900.0"}, ProblemTraits(difficulty="1900")),
        ({"difficulty": "v2.0"}, ProblemTraits(difficulty="v2.0")),
    ],
)
def test_problem_traits_ignore_invalid_columns(columns: dict[str, Any], traits: ProblemTraits) -> None:
    assert read_problem_traits(columns) == traits


def test_difficulties_are_sorted_by_level_then_number() -> None:
    names = ["", "10.5", "hard", "900", "easy", "1900", "2.5"]
    assert sorted(names, key=make_group_sort_key) == ["easy", "hard", "2.5", "10.5", "900", "1900", ""]


def test_conflicting_labels_of_problem_are_resolved_independent_of_order(tmp_path: Path) -> None:
    labelled_rows = [
        row("a", SUM, year=2024),
        row("b", SUM, tags=["x"], difficulty="e"),
        row("c", SUM, tags=["y"], difficulty="d", year=2025),
    ]
    for n, rows in enumerate((labelled_rows, labelled_rows[::-1])):
        problem_summary = only(tmp_path / str(n), rows).problems[0]
        assert (problem_summary.year, problem_summary.tags, problem_summary.difficulty) == (
            2024,
            ("x", "y"),
            "d",
        )


@pytest.mark.parametrize(
    ("seconds", "step"), [(0.0, 0), (0.001, 1), (0.26, 6), (1.01, 21), (9.0, 31), (-1.0, 0)]
)
def test_resource_use_is_rounded_up_to_next_step_of_limit(seconds: float, step: int) -> None:
    """A value above the limit never counts as within it."""
    test = msgspec.structs.replace(result(submission("a")).tests[0], cpu_time=seconds, memory=None)
    judged_result = msgspec.structs.replace(result(submission("a")), tests=(test,))
    assert list(compute_limit_usage_steps(judged_result, Task(sha256="", cpu_time=1.0, memory=1 << 20))) == [
        ("time", step)
    ]


# --- candidates --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "fields"),
    [
        ({}, {"number": None, "time": "", "length": 0, "tokened": False}),
        ({"metadata": {"usage": {"completion_tokens": 7}, "timestamp": "t"}}, {"length": 7, "time": "t"}),
        ({"metadata": '{"usage": {"output_tokens": 8}}', "generation": "abc"}, {"length": 8}),
        ({"metadata": "nonsense", "generation": "abc"}, {"length": 3}),
        ({"metadata": {"usage": None}, "reasoning": "abcd", "generation": "abc"}, {"length": 4}),
        ({"reasoning": "", "generation": ["chat"]}, {"length": 0}),
        ({"solution_number": 3, "tokened": True}, {"number": 3.0, "tokened": True}),
        ({"solution_number": "3", "tokened": "yes"}, {"number": 3.0, "tokened": True}),
        ({"solution_number": True, "tokened": None}, {"number": None, "tokened": False}),
        ({"solution_number": "x", "tokened": 0}, {"number": None, "tokened": False}),
    ],
)
def test_attempt_ignores_invalid_columns(columns: dict[str, Any], fields: dict[str, Any]) -> None:
    attempt_row = row("k", **columns)
    candidate = make_attempt(attempt_row, read_result(attempt_row))
    assert {name: getattr(candidate, name) for name in fields} == fields


@pytest.mark.parametrize(
    "times",
    [
        (1_700_000_000, 1_700_000_000.5, 11_700_000_000),
        ("2024-10-27T02:30:00+02:00", "2024-10-27T02:10:00+01:00", "2024-10-27T01:20:00Z"),
        ("2024-10-27T01:20:00Z", "2024-10-27T01:20:00.5Z"),
        ("0001-01-01T00:00:00+02:00", "t"),
    ],
)
def test_submissions_are_ordered_by_time_before_selection(times: tuple[Any, ...]) -> None:
    """Even if a clock was set back, or counts whole seconds. The order of keys is the reverse."""
    attempt_rows = [row(f"k{9 - index}", metadata={"timestamp": time}) for index, time in enumerate(times)]
    candidates = [make_attempt(attempt_row, read_result(attempt_row)) for attempt_row in attempt_rows]
    assert sorted(candidates, key=lambda attempt: attempt.sort_key) == candidates


# --- budgets and modes -------------------------------------------------------------------------------


def test_points_are_counted_for_each_submission_budget(tmp_path: Path) -> None:
    rows = [
        row("a", SUM, NOTHING_RIGHT, solution_number=0, metadata={"usage": {"output_tokens": 1}}),
        row("b", SUM, WRONG, solution_number=1, metadata={"usage": {"output_tokens": 3}}),
        row("c", SUM, solution_number=2, metadata={"usage": {"output_tokens": 2}}),
    ]
    budgets = {
        number: only(tmp_path / str(number), rows, options=ReportOptions(submissions=number)).budgets
        for number in (1, 2)
    }
    assert budgets[1] == {Budget.UNLIMITED: 100, Budget.LIMITED: 50.5, Budget.SINGLE: 0}
    assert budgets[2] == {Budget.UNLIMITED: 100, Budget.LIMITED: 100, Budget.SINGLE: 0}


def test_problems_without_subtasks_have_no_points_by_budget(tmp_path: Path) -> None:
    assert only(tmp_path / "plain", [row("a", PLAIN)]).budgets == {}
    both = only(tmp_path / "both", [row("a", PLAIN), row("b")])
    assert both.budgets[Budget.UNLIMITED] == 100
    assert both.problems[0].budgets == {}


def test_programs_that_do_not_compile_do_not_count_as_submitted(tmp_path: Path) -> None:
    rows = [row("a", compiles=False), row("b", SUM, WRONG), row("c", SUM, NOTHING_RIGHT)]
    problem_summary = only(tmp_path / "run", rows).problems[0]
    assert (problem_summary.handed_in, problem_summary.submissions) == (2, 3)


def test_points_follow_scoring_mode(tmp_path: Path) -> None:
    """Two submissions each earn half of the points, the better first; then a tokened one and the last."""
    subtasks = [
        Subtask(name=name, points=50, tests=(test,)) for name, test in zip("ab", TESTS[:2], strict=True)
    ]
    halves = msgspec.structs.replace(problem("halves"), subtasks=tuple(subtasks))
    first, second = {TESTS[0]: Verdict.WA}, {TESTS[0]: Verdict.PA, TESTS[1]: Verdict.WA}
    rows = [
        row("k1", halves, first, solution_number=0),
        row("k2", halves, second, solution_number=1, tokened=True),
        row("k3", halves, {TESTS[0]: Verdict.WA, TESTS[1]: Verdict.WA}, solution_number=2),
    ]
    points_by_mode = {
        mode: only(tmp_path / mode, rows, options=ReportOptions(mode=mode)).points for mode in ScoreMode
    }
    assert points_by_mode == {
        ScoreMode.MAX_SUBTASK: 66.67,
        ScoreMode.MAX: 50,
        ScoreMode.MAX_TOKENED_LAST: pytest.approx(50 / 3, abs=1e-9),
    }


def test_rounding_error_leaves_problem_solved(tmp_path: Path) -> None:
    worths = zip("abc", (0.1, 0.4, 0.1), strict=True)
    subtasks = tuple(Subtask(name=name, points=worth, tests=TESTS[:1]) for name, worth in worths)
    tenths = msgspec.structs.replace(problem("tenths"), subtasks=subtasks)
    for mode in ScoreMode:
        model = only(tmp_path / mode, [row("a", tenths)], options=ReportOptions(mode=mode))
        assert (model.max_points, model.problems_solved) == (pytest.approx(0.6), 1)


def test_solved_problems_follow_scoring_mode(tmp_path: Path) -> None:
    subtasks = [
        Subtask(name=name, points=50, tests=(test,)) for name, test in zip("ab", TESTS[:2], strict=True)
    ]
    halves = msgspec.structs.replace(problem("halves"), subtasks=tuple(subtasks))
    rows = [row(f"k{n}", halves, {TESTS[n]: Verdict.WA}) for n in range(2)]
    solved = {
        mode: only(tmp_path / mode, rows, options=ReportOptions(mode=mode)).problems_solved
        for mode in ScoreMode
    }
    assert solved == {ScoreMode.MAX_SUBTASK: 1, ScoreMode.MAX: 0, ScoreMode.MAX_TOKENED_LAST: 0}


# --- medals ------------------------------------------------------------------------------------------


def contest(year: int, problems: int = 6) -> list[dict[str, Any]]:
    """Return a contest with five solved problems, and half of the points of all other problems."""
    contests_known = load_bundled_contest_years()
    names = (
        contests_known[year].ids if year in contests_known else [f"{year}-{letter}" for letter in "abcdef"]
    )[:problems]
    return [
        row(name, problem(name), {} if n < 5 else WRONG, year=year, solution_number=0)
        for n, name in enumerate(names)
    ]


def medals(model: ModelSummary) -> dict[tuple[int, Budget], str | None]:
    return {(medal.award.year, medal.budget): medal.award.medal for medal in model.awards}


def test_complete_contest_wins_medal(tmp_path: Path) -> None:
    model = only(tmp_path / "run", [*contest(2024), *contest(2019)])
    assert model.points == 2 * 550.5
    assert medals(model) == {(year, budget): "gold" for year in (2019, 2024) for budget in Budget}
    assert {medal.award.points for medal in model.awards} == {550.5}


def leading(folder: Path) -> TableBlock:
    table = make_leaderboard_section(make_run_entries(summarize_run(folder))).table
    assert table is not None
    return table


def test_leaderboard_shows_medals_and_intervals(tmp_path: Path) -> None:
    """Twelve problems with equal points."""
    run_folder = write_run(tmp_path / "run", [*contest(2024), *contest(2019)])
    table = leading(run_folder)
    [line] = [dict(zip(table.heads, row, strict=True)) for row in table.rows]
    points = line["Points of 1,200"]
    assert line["Medals"] == "2 gold" and isinstance(points, ShareBar)
    assert points.low is not None and points.high is not None
    assert 0.7 < points.low < points.part / points.whole < points.high == 1
    assert points.text == f"{format_number(points.part)} ({1200 * points.low:.0f} to 1,200)"
    assert set(table.meanings) <= set(table.heads) and "Medals" in table.meanings
    alone = leading(write_run(tmp_path / "alone", contest(2024)))
    assert alone.rows[0][alone.heads.index("Medals")] == "gold"
    assert "Medals" not in leading(write_run(tmp_path / "none", contest(1999))).heads


def test_incomplete_contest_wins_no_medal_with_reason(tmp_path: Path) -> None:
    model = only(tmp_path / "run", contest(2024, 5))
    assert set(medals(model).values()) == {None}
    assert {medal.award.reason for medal in model.awards} == {
        "the contest had 6 problems, the run has 5 of that year"
    }


def test_missing_medal_reason_is_noted_once_per_year(tmp_path: Path) -> None:
    run_folders = {
        name: write_run(tmp_path / name, contest(2024, number)) for name, number in (("a", 5), ("b", 4))
    }
    of = {
        name: make_run_entries(summarize_run(folder), prefix=f"{name}: ")
        for name, folder in run_folders.items()
    }
    same = sections_medals([*of["a"], *of["a"]])
    assert same is not None and same.notes == [
        "2024: the contest had 6 problems, the run has 5 of that year."
    ]
    other = sections_medals([*of["a"], *of["b"]])
    assert other is not None and other.notes == [
        "2024: the contest had 6 problems, the run has 5 of that year (a: (no name)); "
        "the contest had 6 problems, the run has 4 of that year (b: (no name))."
    ]


@pytest.mark.parametrize(
    ("names", "source", "reasons"),
    [
        (["p1", "p2"], "packages", set()),
        (["nile", "p2"], "packages", set()),
        (["nile", "tree"], "packages", {"the contest had 6 problems, the run has 2 of that year"}),
        (["p1", "p2"], "open-r1/ioi", {"the contest had 6 problems, the run has 2 of that year"}),
        (["p1"], "ioi-2024.zip", {"the contest had 6 problems, the run has 1 of that year"}),
        (["p1"], "pioism/x", set()),
        (["p1"], "work/ioi_eval/examples/problems", set()),
    ],
)
def test_only_official_problems_win_medals(
    tmp_path: Path, names: list[str], source: str, reasons: set[str]
) -> None:
    rows = [row(name, problem(name), year=2024) for name in names]
    folder = write_run(tmp_path / "run", rows, settings={"problems": source})
    run_summary = summarize_run(folder)
    assert {medal.award.reason for medal in run_summary.models[0].awards} == reasons
    assert (sections_medals(make_run_entries(run_summary)) is None) == (not reasons)
    assert ("Medals" in render_markdown(make_run_document(run_summary))) == bool(reasons)


def test_problem_ids_of_medal_table_ignore_case(tmp_path: Path) -> None:
    rows = [row(name, problem(name), year=1999) for name in ("Nile", "tree")]
    options = ReportOptions(
        contests={1999: ContestYear(gold=150, problems=2, points=200, ids=("Nile", "TREE"))}
    )
    assert set(medals(only(tmp_path / "run", rows, options=options)).values()) == {"gold"}


def test_additional_problems_keep_medal(tmp_path: Path) -> None:
    rows = [*contest(2024), row("other", problem("other"), year=2024)]
    assert set(medals(only(tmp_path / "run", rows)).values()) == {"gold"}


def test_year_without_medal_table_gets_no_award(tmp_path: Path) -> None:
    rows = contest(1999)
    assert only(tmp_path / "without", rows).awards == ()
    options = ReportOptions(contests={1999: ContestYear(gold=560, silver=550)})
    assert set(medals(only(tmp_path / "with", rows, options=options)).values()) == {"silver"}


def test_unjudged_problem_prevents_medal(tmp_path: Path) -> None:
    rows = contest(2024)
    missing = unscored("x", problem("sphinx"), model="")
    model = only(tmp_path / "run", rows[:5], [{**missing, "year": 2024}])
    assert {medal.award.reason for medal in model.awards} == {"nothing was scored for sphinx"}


def test_total_points_do_not_depend_on_problem_order(tmp_path: Path) -> None:
    rows = contest(2024)
    first, second = only(tmp_path / "a", rows), only(tmp_path / "b", rows[::-1])
    assert first == second
    assert first.points == math.fsum(problem_summary.points or 0 for problem_summary in first.problems)
