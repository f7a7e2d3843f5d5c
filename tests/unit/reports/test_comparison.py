"""Comparison of several runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from run_samples import SUM, problem, result, submission, write_run
from support.runs import Fingerprint, ScoreMode, failure_row, result_row

from ioi_eval.errors import InputError, JudgeFailure
from ioi_eval.models import Verdict
from ioi_eval.reports import (
    ComparedRun,
    ReportOptions,
    make_comparison,
    name_runs,
    summarize_run,
    write_comparison,
)
from ioi_eval.reports.comparison import make_changed_ranks_section
from ioi_eval.reports.document import Document, Section
from ioi_eval.runs import report_sync

PLAIN = problem("plain", subtasks=False)
WRONG = {"3-a": Verdict.WA}


def run(
    folder: Path, models: dict[str, bool], hashes: dict[str, str] | None = None, *, plain: bool = True
) -> Path:
    """Write a run of models that solve everything, or all but the last subtask and the last test."""
    made_of = Fingerprint(dump="d" * 64, problems=hashes or {"sum": "a", "plain": "b"})
    rows = []
    for model, right in models.items():
        for of, difficulty in [(SUM, "hard"), (PLAIN, "easy")][: 2 if plain else 1]:
            columns = {"model": model, "difficulty": difficulty}
            sent = submission(f"{model}-{of.id}", problem_id=of.id, row=columns)
            rows.append(result_row(sent, of, result(sent, {} if right else WRONG, problem=of)))
    failed = failure_row(submission("f", row={"model": next(iter(models))}), JudgeFailure("why"))
    return write_run(folder, rows, [failed], made_of=made_of)


def compared(folders: list[Path]) -> Document:
    return make_comparison(name_runs({folder: summarize_run(folder) for folder in folders}))


def section(of: Document, title: str) -> Section:
    (matching,) = (candidate for candidate in of.sections if candidate.title == title)
    return matching


def cells(of: Section) -> list[list[str]]:
    assert of.table is not None
    return [[str(cell) for cell in row] for row in (of.table.heads, *of.table.rows)]


def test_models_of_all_runs_are_compared_by_difficulty_and_by_problem(tmp_path: Path) -> None:
    folders = [run(tmp_path / "old", {"m1": False}), run(tmp_path / "new", {"m1": True, "m2": False})]
    page = compared(folders)
    assert cells(section(page, "By difficulty: pass@1, %")) == [
        ["Difficulty", "Problems", "new: m1", "old: m1", "new: m2"],
        ["easy", "1", "100", "0", "0"],
        ["hard", "1", "100", "0", "0"],
    ]
    assert cells(section(page, "Problems by models"))[1:] == [
        ["plain", "33.3", "100", "0", "0"],
        ["sum", "33.3", "100", "0", "0"],
    ]
    assert page.lead == "2 submissions could not be judged."
    assert section(page, "Runs").items == []


def ranked(folder: Path, solved: dict[str, int], problems: int = 7) -> Path:
    """Write a run of models that solve these numbers of problems."""
    rows = []
    for model, number in solved.items():
        for index in range(problems):
            of = problem(f"p{index}", subtasks=False)
            sent = submission(f"{model}-{index}", problem_id=of.id, row={"model": model})
            rows.append(result_row(sent, of, result(sent, {} if index < number else WRONG, problem=of)))
    return write_run(folder, rows)


def test_comparison_lists_changed_ranks_of_models(tmp_path: Path) -> None:
    folders = [
        ranked(tmp_path / "old", {"m1": 7, "m2": 0, "m0": 0}),
        ranked(tmp_path / "new", {"m1": 0, "m2": 7}),
    ]
    ranks = make_changed_ranks_section(*(summarize_run(folder) for folder in folders))
    assert ranks is not None
    assert cells(ranks)[1:] == [["m2", "2", "1", "up 1"], ["m1", "1", "2", "down 1"]]
    assert (
        make_changed_ranks_section(
            summarize_run(folders[0]), summarize_run(ranked(tmp_path / "other", {"m0": 1}))
        )
        is None
    )
    page = report_sync(folders, out=tmp_path / "out").page
    assert {"Differences", "A minus B by problem", "Ranks"} <= set(
        re.findall("<h2>(.*?)</h2>", Path(page).read_text())
    )


def test_models_within_interval_share_rank(tmp_path: Path) -> None:
    """A lead of five of seven problems may be chance, six may not."""
    older_run = ranked(tmp_path / "old", {"m1": 7, "m2": 7, "m3": 7})
    newer_run = ranked(tmp_path / "new", {"m1": 0, "m2": 5, "m3": 6})
    ranks = make_changed_ranks_section(summarize_run(older_run), summarize_run(newer_run))
    assert ranks is not None
    assert cells(ranks)[1:] == [["m3", "1", "1", "0"], ["m2", "1", "1", "0"], ["m1", "1", "2", "down 1"]]


def test_comparison_of_no_runs_is_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder of a run is given"):
        report_sync([], out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_comparison_warns_of_incomparable_runs(tmp_path: Path) -> None:
    folders = [
        run(tmp_path / "a", {"m1": True}),
        run(tmp_path / "b", {"m1": True}, {"sum": "other", "plain": "b"}, plain=False),
    ]
    assert section(compared(folders), "Runs").items == [
        "The runs have different problems: 1 problem in all of these runs.",
        "Some problems differ between the runs: sum.",
    ]
    max_summary, other = (
        summarize_run(folders[0], ReportOptions(mode=mode)) for mode in (ScoreMode.MAX, ScoreMode.MAX_SUBTASK)
    )
    page = make_comparison([ComparedRun(name="a", summary=max_summary), ComparedRun(name="b", summary=other)])
    assert section(page, "Runs").items == ["The points of the runs are counted in different modes."]


def test_compared_runs_get_distinct_names(tmp_path: Path) -> None:
    folders = [run(tmp_path / run_path, {"m": True}) for run_path in ("x/demo", "y/demo", "y/other")]
    named_runs = name_runs({folder: summarize_run(folder) for folder in folders})
    assert [named_run.name for named_run in named_runs] == ["x/demo", "y/demo", "other"]


def test_comparison_is_written_as_html_markdown_and_json(tmp_path: Path) -> None:
    runs = name_runs({folder: summarize_run(folder) for folder in [run(tmp_path / "a", {"m<b>": True})]})
    page = write_comparison(runs, tmp_path / "deep" / "both")
    assert page == tmp_path / "deep" / "both" / "comparison.html"
    assert "m&lt;b&gt;" in page.read_text() and "<b>" not in page.read_text()
    assert "m\\<b\\>" in page.with_suffix(".md").read_text()
    decoded: list[Any] = msgspec.json.decode(page.with_suffix(".json").read_bytes())
    assert msgspec.convert(decoded, list[ComparedRun]) == runs
