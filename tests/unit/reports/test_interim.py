"""The report page of a run in progress: reading only new rows gives the page of all rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from run_samples import SUM, result, submission, write_run
from support.runs import extract_recorded_rows, failure_row, result_row

from ioi_eval.errors import JudgeFailure
from ioi_eval.models import Verdict
from ioi_eval.reports.document import LiveBlock, Section
from ioi_eval.reports.interim import InterimReport
from ioi_eval.reports.records import WITH_FEEDBACK
from ioi_eval.store.folder import FAILURES, RESULTS, RUN

LIVE = LiveBlock(html='<section id="live"></section>', script="begin();")


def page_of(report: InterimReport) -> str:
    return report.render_html(LIVE, Section(title="Over time"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a run of 80 rows. The file `later` has a further row."""
    folder = extract_recorded_rows(tmp_path / "run")
    rows = (folder / RESULTS).read_bytes().splitlines(keepends=True)
    (folder / RESULTS).write_bytes(b"".join(rows[:80]))
    (folder / "later").write_bytes(rows[80])
    return folder


def test_page_of_growing_run_equals_page_computed_from_all_rows(folder: Path) -> None:
    rows = (folder / RESULTS).read_bytes()
    lost = failure_row(submission("lost", row={"model": "m"}), JudgeFailure("no server answers"))
    (folder / FAILURES).write_text(json.dumps(lost) + "\n")
    (folder / RESULTS).unlink()
    report = InterimReport(folder)
    assert "Leaderboard" in page_of(report), "the page shows the unjudged submission's model"
    (folder / RESULTS).touch()
    for end in (
        0,
        1,
        30_000,
        30_001,
        len(rows) // 2,
        len(rows),
    ):  # nearly all of these offsets are within a line
        with (folder / RESULTS).open("r+b") as stream:
            stream.write(rows[:end])
        assert page_of(report) == page_of(InterimReport(folder)), end


def test_only_new_rows_are_read(folder: Path) -> None:
    """The page does not change if the earlier rows can no longer be read. The last row is read again."""
    report = InterimReport(folder)
    page_of(report)
    rows = (folder / RESULTS).read_bytes().splitlines(keepends=True)
    earlier_size, later_row = sum(map(len, rows[:-1])), (folder / "later").read_bytes()
    with (folder / RESULTS).open("ab") as stream:
        stream.write(later_row)
    page = page_of(InterimReport(folder))
    with (folder / RESULTS).open("r+b") as stream:
        stream.write(b"#" * earlier_size)
    assert page_of(report) == page != page_of(InterimReport(folder))


def test_failure_with_later_result_is_not_counted_as_unscored(tmp_path: Path) -> None:
    sent = submission("one")
    row = result_row(sent, SUM, result(sent, {"1-a": Verdict.AC}))
    folder = write_run(tmp_path / "run", [row])
    report = InterimReport(folder)
    page_of(report)
    write_run(folder, [], [failure_row(sent, JudgeFailure("it broke"))])
    assert "1 could not be judged" not in page_of(report)


def test_replaced_rows_are_counted_again(folder: Path) -> None:
    report = InterimReport(folder)
    page_of(report)
    rows = (folder / RESULTS).read_bytes().splitlines(keepends=True)
    other = folder / "other"
    other.write_bytes(b"".join(rows[:60]))
    other.rename(folder / RESULTS)
    assert page_of(report) == page_of(InterimReport(folder))


def test_run_with_feedback_is_counted_from_its_first_row(folder: Path) -> None:
    info = json.loads((folder / RUN).read_text())
    info["fingerprint"]["options"][WITH_FEEDBACK] = True
    (folder / RUN).write_text(json.dumps(info))
    report = InterimReport(folder)
    assert page_of(report) == page_of(report) == page_of(InterimReport(folder))


def test_duplicate_key_is_named_on_the_page(folder: Path) -> None:
    report = InterimReport(folder)
    page_of(report)
    first = (folder / RESULTS).read_bytes().splitlines(keepends=True)[0]
    with (folder / RESULTS).open("ab") as stream:
        stream.write(first)
    page = page_of(report)
    assert "duplicate key" in page and 'id="live"' in page


def test_live_page_has_leaderboard_between_strip_and_progress(folder: Path) -> None:
    page = page_of(InterimReport(folder))
    positions = [page.index(mark) for mark in ('id="live"', ">Leaderboard<", ">Over time<", ">pass@k<")]
    assert positions == sorted(positions)
    assert "make the report again" not in page
