"""The headline number of a report, and the sentence about two models."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_samples import SUM, problem, result, submission, write_run
from support.runs import result_row

from ioi_eval.models import Verdict
from ioi_eval.reports import Summary, write_reports
from ioi_eval.reports.headline import MINUS, Entry, make_difference_sentence, make_headline_section
from ioi_eval.reports.records import Measure
from ioi_eval.rules.paired import compute_mean_difference
from ioi_eval.rules.scoring import ScoreMode

WRONG = {"1-a": Verdict.WA}
DIFFERENCES = st.lists(st.integers(-10_000, 10_000).map(lambda share: share / 10_000), max_size=30)


@given(DIFFERENCES)
def test_headline_sentence_agrees_with_its_interval(values: list[float]) -> None:
    sentence = make_difference_sentence("otter", "heron", Measure.PASS_AT_1, compute_mean_difference(values))
    numbers = [float(number.replace(MINUS, "-")) for number in re.findall(rf"[+{MINUS}]?\d+\.\d", sentence)]
    is_real = sentence.startswith("The difference is real")
    if "95 % interval" not in sentence:
        assert not is_real and (len(values) < 6 or not any(values))
        return
    mean, low, high = numbers
    assert low <= mean <= high
    assert is_real == (low > 0 or high < 0)
    assert ("otter is better than heron" in sentence) == (low > 0)
    assert ("heron is better than otter" in sentence) == (high < 0)
    assert f"otter minus heron is {'+' if mean > 0 else MINUS if mean < 0 else ''}{abs(mean)}" in sentence


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], "No problem has scored submissions of both A and B."),
        (
            [0.5],
            "A single problem is not evidence about other problems. A minus B is +50.0 percentage points.",
        ),
        ([0.0] * 7, "There is no difference in pass@1: A and B have the same for each of 7 problems."),
        (
            [-0.5] * 5,
            "No difference is shown in pass@1: fewer than 6 problems cannot show one. "
            f"A minus B is {MINUS}50.0 percentage points, over 5 problems.",
        ),
        (
            [-0.5] * 6,
            f"The difference is real: B is better than A in pass@1. A minus B is {MINUS}50.0 percentage "
            f"points (95 % interval {MINUS}50.0 to {MINUS}50.0, over 6 problems).",
        ),
        (
            [0.5, -0.5] * 3,
            "No difference is shown in pass@1: chance alone explains it. A minus B is 0.0 percentage points "
            f"(95 % interval {MINUS}50.0 to +50.0, over 6 problems).",
        ),
    ],
)
def test_headline_sentence_describes_difference(values: list[float], expected: str) -> None:
    assert make_difference_sentence("A", "B", Measure.PASS_AT_1, compute_mean_difference(values)) == expected


def write_model_run(folder: Path, *, subtasks: bool, wrong: dict[str, int]) -> Summary:
    """Write a run: six submissions by each model for each of seven problems, of which `wrong` fail."""
    rows = []
    for index in range(7):
        of = problem(f"p{index}", subtasks=subtasks)
        for model, number in wrong.items():
            for attempt in range(6):
                sent = submission(f"{model}-{index}-{attempt}", problem_id=of.id, row={"model": model})
                rows.append(result_row(sent, of, result(sent, WRONG if attempt < number else {}, problem=of)))
    return write_reports(write_run(folder, rows))


def test_headline_without_subtasks_is_pass_at_1(tmp_path: Path) -> None:
    headline = write_model_run(tmp_path, subtasks=False, wrong={"heron": 5, "otter": 3}).headline
    assert (headline.measure, headline.of, headline.submission_limit) == (Measure.PASS_AT_1, None, None)
    assert [(row.model, row.rank, row.value, row.problems, row.scored) for row in headline.models] == [
        ("otter", 1, 0.5, 7, 42),
        ("heron", 2, pytest.approx(1 / 6), 7, 42),
    ]
    assert json.loads((tmp_path / "summary.json").read_text())["headline"]["measure"] == "pass@1"
    report = (tmp_path / "report.md").read_text()
    assert report.split("\n")[4].startswith("The difference is real: otter is better than heron in pass@1.")
    assert report.split("\n")[6] == "## Leaderboard"
    assert "| otter |    1 | ██████░░░░░░ 50.0 % | –" in report  # noqa: RUF001
    page = (tmp_path / "report.html").read_text()
    assert "<span>50.0 %</span>" in page, "three of six submissions solve each problem"


def test_equal_results_of_all_problems_give_no_interval_and_a_reason(tmp_path: Path) -> None:
    reason = "no interval, because all problems have the same result"
    run_summary = write_model_run(tmp_path, subtasks=False, wrong={"otter": 3})
    assert (run_summary.headline.models[0].low, run_summary.headline.models[0].high) == (None, None)
    report = (tmp_path / "report.md").read_text()
    assert report.split("\n")[4] == f"otter: pass@1 is 50.0 % ({reason}) over 7 problems."
    assert f"a pass@1 of 50.0 % ({reason}, n = 7 problems, 42 submissions, k = 1)" in report
    assert "\notter & 50.0 & -- & 7 & 42 \\\\\n" in report
    [entry] = [Entry(name="otter", model=run_summary.models[0], limit=50, mode=ScoreMode.MAX_SUBTASK)]
    table = make_headline_section([entry]).table
    assert table is not None and "none: all equal" in table.rows[0]


def test_headline_with_subtasks_has_points_of_all_and_of_best_50_submissions(tmp_path: Path) -> None:
    headline = write_model_run(tmp_path, subtasks=True, wrong={"heron": 6, "otter": 5}).headline
    assert (headline.measure, headline.of, headline.submission_limit) == (Measure.POINTS, 700, 50)
    assert [(row.model, row.value, row.limited) for row in headline.models] == [
        ("otter", 700, 700),
        ("heron", 0, 0),
    ]
    header_cells = (tmp_path / "report.md").read_text().split("\n")[10].split("|")
    assert [head.strip() for head in header_cells[1:5]] == ["Model", "Rank", "Points of 700", "Best of 50"]


def test_headline_is_pass_at_1_regardless_of_k(tmp_path: Path) -> None:
    from ioi_eval.reports import ReportOptions, summarize_run

    write_model_run(tmp_path, subtasks=False, wrong={"otter": 3})
    assert summarize_run(tmp_path, ReportOptions(ks=(5,))).headline.models[0].value == 0.5


def test_latex_rows_have_interval_and_counts_of_problems_and_submissions(tmp_path: Path) -> None:
    of = problem("p", subtasks=False)
    sent = [submission(f"{index}", problem_id="p", row={"model": "[a_b]"}) for index in range(2)]
    write_reports(
        write_run(
            tmp_path,
            [
                result_row(sent_submission, of, result(sent_submission, problem=of))
                for sent_submission in sent
            ],
        )
    )
    report = (tmp_path / "report.md").read_text()
    assert "```latex\n% model & pass@1 (\\%) & 95 \\% interval & problems & submissions \\\\\n" in report
    assert "\n{}[a\\_b] & 100.0 & -- & 1 & 2 \\\\\n" in report
    expected_start = "[a_b] has a pass@1 of 100.0 % (n = 1 problem, 2 submissions, k = 1), judged by "
    assert f"\n{expected_start}" in report


def test_headline_counts_points_of_single_submission(tmp_path: Path) -> None:
    sent = submission("a")
    reported = write_reports(write_run(tmp_path, [result_row(sent, SUM, result(sent, {"3-a": Verdict.WA}))]))
    assert (reported.headline.models[0].value, reported.headline.sentence) == (50.5, "")
