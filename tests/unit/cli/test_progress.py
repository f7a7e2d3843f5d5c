"""The progress bar of a run in a terminal, with messages on separate lines."""

from __future__ import annotations

import asyncio
import io
import logging

import pytest

from ioi_eval.cli import console
from ioi_eval.cli.progress import RunProgress, describe_overload, format_run_summary
from ioi_eval.cli.report import ReportProgressBar
from ioi_eval.models import Verdict
from ioi_eval.runs.events import (
    Overloaded,
    ReportProgress,
    RunReported,
    RunStarted,
    RunSummary,
    ServersFound,
    SubmissionFailed,
    SubmissionJudged,
)

BUSY = Overloaded(waited=61.4, computed=12.0)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def lines(self) -> list[str]:
        """Return the visible lines: characters after a carriage return replace earlier characters."""
        screen_lines = []
        for line in self.getvalue().split("\n"):
            cells: list[str] = []
            for piece in line.split("\r"):
                cells[: len(piece)] = piece
            screen_lines.append("".join(cells).rstrip())
        return screen_lines


@pytest.mark.parametrize("width", [60, 80, 120])
def test_message_during_progress_bar_starts_new_line(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", str(width))

    async def run() -> None:
        with RunProgress(quiet=False) as progress:
            progress(RunStarted(total=40, skipped=10))
            assert "25%" in terminal.lines()[-1] and len(terminal.lines()[-1]) <= min(width, 100)
            progress(BUSY)
            logging.getLogger("ioi_eval.benchmarks").info("fetching apps")
            assert "25%" in terminal.lines()[-1]  # the bar is below the messages

    try:
        asyncio.run(run())
    finally:
        console.set_log_output()
    lines = terminal.lines()
    assert max(map(len, lines)) <= min(width, 100)
    assert [" ".join(lines[:-2]), *lines[-2:]] == [describe_overload(BUSY), "fetching apps", ""]


def test_message_without_terminal_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    async def run() -> None:
        with RunProgress(quiet=False) as progress:
            progress(RunStarted(total=40, skipped=10))
            progress(BUSY)

    asyncio.run(run())
    assert capsys.readouterr().err == f"{describe_overload(BUSY)}\n"


def test_failed_submissions_count_as_finished_in_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", "100")
    judged_event = SubmissionJudged(
        key="a", problem_id="p", status=Verdict.AC, points=1, verdicts={}, tests=7
    )
    failed = SubmissionFailed(key="b", problem_id="p", reason="no room")

    async def run() -> None:
        with RunProgress(quiet=False) as progress:
            for event in (RunStarted(total=4, skipped=1), judged_event, failed, failed):
                progress(event)
            assert progress.finished_count == 4
            progress._bar.refresh() if progress._bar is not None else None
            assert "4/4 submissions" in terminal.lines()[-1] and "2 failed" in terminal.lines()[-1]

    asyncio.run(run())


@pytest.mark.parametrize(("tests", "rate"), [(30, "0.49"), (0, "0"), (7 * 61, "7"), (1234 * 61, "1230")])
def test_test_rate_is_not_rounded_to_zero(tests: int, rate: str) -> None:
    call_summary = format_run_summary(RunSummary(judged=11, tests=tests), 61.2, unscored_count=0)
    assert call_summary.endswith(f", {rate} a second")


@pytest.mark.parametrize("several", [False, True])
def test_report_progress_counts_rows_and_pages(several: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with ReportProgressBar(has_several_runs=several) as counts:
        counts(ReportProgress(folder="runs/a", read=2048))
        assert terminal.lines() == ["2,048 submissions read"]
        counts(ReportProgress(folder="runs/a", read=3000, pages=512))
        assert terminal.lines() == ["3,000 submissions read, 512 pages written"]
        counts(RunReported(folder="runs/a", submissions=3000, written=True))
    report_lines = ["runs/a: 3,000 submissions read, reports written"] if several else []
    assert terminal.lines() == [*report_lines, ""]


def test_overload_message_names_servers_if_jobs_run_there(capsys: pytest.CaptureFixture[str]) -> None:
    servers_found = ServersFound(servers=1, used=1, slots=1, unreachable=(), left_out={}, differences=())
    with RunProgress(quiet=False) as progress:
        progress(servers_found)
        progress(BUSY)
    printed = capsys.readouterr().err
    assert "The servers are overloaded" in printed and "This machine" not in printed
