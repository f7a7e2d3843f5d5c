"""Causes of failures, ranges of difficulties, and numbers by language."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from run_samples import SUM, problem, result, submission, write_run
from support.runs import failure_row, result_row, summarize_run

from ioi_eval.errors import JudgeFailure
from ioi_eval.models import Subtask, Verdict
from ioi_eval.reports import sections, write_reports
from ioi_eval.reports.document import choose_score_colour_class
from ioi_eval.reports.records import find_missing_points_cause
from ioi_eval.reports.sections import bin_difficulties
from ioi_eval.reports.summary import read_problem_traits
from ioi_eval.store.folder import Progress, write_progress

WITH_SAMPLE = msgspec.structs.replace(
    SUM, subtasks=(Subtask(name="0", points=0, tests=("1-a",)), Subtask(name="1", points=100, tests=("2-a",)))
)
COMPILER = "In function 'main':\nmain.cpp:12:5: error: ‘x’ was not declared in this scope\n   12 | x"  # noqa: RUF001


@pytest.mark.parametrize(
    ("statuses", "fields", "expected"),
    [
        ({}, {}, ""),
        ({"2-a": Verdict.WA}, {}, "WA"),
        ({"1-a": Verdict.WA, "2-a": Verdict.WA}, {}, "WA: at a sample"),
        ({"1-a": Verdict.TLE, "2-a": Verdict.WA}, {}, "WA"),
        (
            {"2-a": Verdict.RE},
            {"feedback": "Runtime error (signal 11): at 0x7f"},
            "RE: Runtime error (signal 11)",
        ),
        *(
            ({"2-a": Verdict.RE}, {"feedback": f"Runtime error (exit code 1): {line}"}, f"RE: {cause}")
            for line, cause in {
                "IndexError: list index out of range": "IndexError: list index out of range",
                "ValueError: invalid literal for int() with base 10: 'a b'": (
                    "ValueError: invalid literal for int() with base 10: ‘…’"  # noqa: RUF001
                ),
                "KeyError: (3, 5)": "KeyError",
                "KeyError: 'x'": "KeyError",
                "EOFError": "EOFError",
                "decimal.DivisionByZero": "Runtime error (exit code 1)",
                'Exception in thread "main" java.lang.ArithmeticException: / by zero': (
                    "java.lang.ArithmeticException: / by zero"
                ),
                "Error: cannot open": "Error: cannot open",
            }.items()
        ),
        (
            {},
            {"compiles": False, "compile_output": COMPILER},
            "CE: error: ‘…’ was not declared in this scope",  # noqa: RUF001
        ),
        ({}, {"compiles": False, "compile_output": "ld: no\nmain"}, "CE: ld: no"),
        ({}, {"compiles": False}, "CE"),
    ],
)
def test_failure_cause_contains_verdict_and_feedback_line(
    statuses: dict[str, Verdict], fields: dict[str, Any], expected: str
) -> None:
    assert (
        find_missing_points_cause(result(submission("a"), statuses, problem=WITH_SAMPLE, **fields))
        == expected
    )


def test_cause_of_reply_without_program_is_its_reason() -> None:
    empty = msgspec.structs.replace(submission("a"), code=None)
    empty_result = result(empty, compiles=False, compile_output="The reply is empty\n")
    assert find_missing_points_cause(empty_result) == "no program: The reply is empty"


def test_causes_list_three_examples_regardless_of_row_order(tmp_path: Path) -> None:
    rows = [
        result_row(sent, SUM, result(sent, {"3-a": Verdict.TLE}))
        for sent in (submission(f"k{number}", row={"model": "m"}) for number in range(9))
    ]
    causes = [
        summarize_run(write_run(tmp_path / name, ordered)).causes
        for name, ordered in (("a", rows), ("b", rows[::-1]))
    ]
    assert causes[0] == causes[1] and [(cause.cause, cause.submissions) for cause in causes[0]] == [
        ("TLE", 9)
    ]
    assert len(causes[0][0].examples) == 3


@pytest.mark.parametrize(
    ("difficulties", "expected"),
    [
        (["easy", "hard", ""], ["easy", "hard", ""]),
        (["800", "900", "1000"], ["800", "900", "1000"]),
        (
            [str(each) for each in range(800, 3600, 100)],
            [f"{low} to {low + 499}" for low in range(500, 3600, 500)],
        ),
        ([*map(str, range(20)), "hard"], [*map(str, range(20)), "hard"]),
    ],
)
def test_many_numbers_of_difficulty_become_ranges(difficulties: list[str], expected: list[str]) -> None:
    ranges = bin_difficulties(difficulties)
    assert ranges.keys() == set(difficulties)
    assert list(dict.fromkeys(ranges[difficulty] for difficulty in difficulties)) == expected


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0, "g0"), (0.001, "g1"), (0.5, "g5"), (0.999, "g9"), (1, "g10"), (1 - 1e-12, "g10")],
)
def test_only_zero_and_full_share_get_extreme_shades(share: float, expected: str) -> None:
    assert choose_score_colour_class(share) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [("2024-05-31T12:00:00Z", "2024-05-31"), ("soon", ""), (3, ""), ("2024-13-01", "")]
)
def test_contest_date_is_read_as_day(value: object, expected: str) -> None:
    assert read_problem_traits({"contest_date": value}).date == expected


def test_points_by_language_count_only_submissions_in_that_language(tmp_path: Path) -> None:
    rows = []
    for language, statuses in (("c++", {"3-a": Verdict.WA}), ("python", {"1-a": Verdict.WA})):
        sent = submission(language, language=language, row={"model": "m"})
        rows.append(result_row(sent, SUM, result(sent, statuses)))
    lost = failure_row(submission("f", row={"model": "m"}), JudgeFailure("lost"))
    run = summarize_run(write_run(tmp_path / "run", rows, [lost]))
    data = json.loads(sections.make_explorer_json(sections.make_run_entries(run), run))
    assert data["languages"] == ["c++", "python"] and data["values"] == [[0.505]]
    assert [cell[:6] for cell in data["cells"]] == [[0, 0, 0, 1, 0.505, 0], [0, 0, 1, 1, 0.0, 0]]
    assert data["unscored"] == [[0, 0, 1]]


def test_head_of_report_has_number_of_unjudged_submissions_and_date(tmp_path: Path) -> None:
    of = problem("p", subtasks=False)
    sent = submission("a", problem_id="p", row={"model": "m"})
    lost = failure_row(submission("f", problem_id="p", row={"model": "m"}), JudgeFailure("lost"))
    run_settings = {"problems": "codeforces"}
    folder = write_run(
        tmp_path / "run", [result_row(sent, of, result(sent, problem=of))], [lost], settings=run_settings
    )
    write_progress(folder, Progress(at=1_700_000_000.0))
    write_reports(folder)
    head = (folder / "report.md").read_text().split("\n")
    assert head[0] == "# Scores on codeforces"
    assert head[2] == "1 model, 1 problem, 2 submissions, 2023-11-14, **1 could not be judged**"
    assert head[4] == "m: pass@1 is 100.0 % over 1 problem."
