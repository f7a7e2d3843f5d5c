"""`ioi-eval view`: the report, the status bar above it, and access to both. It writes nothing."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from run_samples import SUM, result, submission, write_run
from support.runs import Fingerprint, ResultLog, failure_row, result_row

from ioi_eval.errors import InputError, JudgeFailure
from ioi_eval.model.secret import Secret
from ioi_eval.model.values import ServerState
from ioi_eval.models import Reason, Verdict
from ioi_eval.reports import write_reports
from ioi_eval.runs import events as noting
from ioi_eval.runs.events import (
    ProgressWriter,
    RunFinished,
    RunStarted,
    RunSummary,
    ServersNow,
    SubmissionFailed,
    SubmissionJudged,
    SubmissionsNow,
    TimelineCounter,
)
from ioi_eval.server import ServerOptions
from ioi_eval.server.monitor import RunMonitor, RunState, format_prometheus
from ioi_eval.server.strip import make_status_bar_html, make_timeline_section
from ioi_eval.server.view import RateLimitedResult, make_report_version, serve_live_page
from ioi_eval.store.folder import (
    PROGRESS,
    RESULTS,
    ActiveSubmission,
    Progress,
    Timeline,
    read_progress,
    write_progress,
)

MODEL = 'm" \\1\n2'


def row(key: str, verdict: Verdict = Verdict.AC, model: str = MODEL) -> dict[str, Any]:
    sent = submission(key, row={"model_kwargs": {"model": model}})
    return result_row(sent, SUM, result(sent, {"1-a": verdict}))


def failed(key: str) -> dict[str, Any]:
    return failure_row(submission(key, row={"model": MODEL}), JudgeFailure("it broke", remedy="Mend it"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    settings = {"command": "ioi-eval score dump.jsonl"}
    return write_run(tmp_path / "run", [row("a"), row("b", Verdict.WA)], [failed("c")], settings=settings)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


# --- counts ------------------------------------------------------------------------------------------


def test_run_monitor_counts_new_rows(folder: Path) -> None:
    write_progress(folder, Progress(total=10, engine="embedded", servers=2, slots=8))
    watch = RunMonitor(folder, clock := Clock())
    first = watch.poll()
    assert (first.judged, first.unscored, first.total, first.rate, first.left) == (2, 1, 10, 0, None)
    [model] = first.models
    assert (model.model, model.verdicts, model.unscored) == (MODEL, {"AC": 1, "WA": 1}, 1)
    assert first.command == "ioi-eval score dump.jsonl" and first.slots == 8

    clock.now = 10.0
    write_run(folder, [row("c"), row("d")])
    then = watch.poll()
    assert (then.judged, then.unscored) == (4, 0), "c failed before and has a result now"
    assert (then.rate, then.left) == (0.2, 30.0)
    assert then.last == (folder / "results.jsonl").stat().st_mtime


def test_replies_without_a_program_are_counted_apart(folder: Path) -> None:
    without = {**row("e"), "verdict": "CE", "reason": "no program"}
    write_run(folder, [without, {**without, "key": "f", "reason": ["of", "a dump"]}])
    [model] = RunMonitor(folder, Clock()).poll().models
    assert model.verdicts == {"AC": 1, "WA": 1, "no program": 1, "CE": 1}


def test_monitoring_an_idle_run_opens_no_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_progress(folder, Progress(total=10))
    opened = list[str]()
    truly = Path.open

    def noted(path: Path, *positional: Any, **more: Any) -> Any:
        opened.append(path.name)
        return truly(path, *positional, **more)

    monkeypatch.setattr(Path, "open", noted)
    watch = RunMonitor(folder, clock := Clock())
    state = watch.poll()
    assert set(opened) == {"run.json", "results.jsonl", "failures.jsonl", "progress.json"}
    opened.clear()
    for clock.now in range(1, 1000):
        assert watch.poll() is state
    assert opened == []
    write_progress(folder, Progress(total=11))
    opened.clear()
    assert watch.poll().total == 11 and opened == ["progress.json"]


def test_judging_rate_falls_while_no_row_arrives(folder: Path) -> None:
    watch = RunMonitor(folder, clock := Clock())
    watch.poll()
    write_run(folder, [row("d")])
    states = []
    for clock.now in range(1, 200):
        states.append(watch.poll())
    different = [state for index, state in enumerate(states) if not index or state is not states[index - 1]]
    assert [state.rate for state in different] == sorted((state.rate for state in different), reverse=True)
    assert different[0].rate == 1.0 and different[-1].rate == pytest.approx(1 / 199, rel=0.1)
    assert len(different) < 45


def test_monitored_slow_run_has_rate_and_remaining_time(folder: Path) -> None:
    write_progress(folder, Progress(total=103))
    watch, rates = RunMonitor(folder, clock := Clock()), list[float]()
    watch.poll()
    for clock.now in range(1, 3600):
        if clock.now % 60 == 0:
            write_run(folder, [row(f"minute-{clock.now}")])
        rates.append(watch.poll().rate * 60)
    assert all(0.5 < rate < 1.5 for rate in rates[120:])
    remaining_seconds = watch.poll().left
    assert remaining_seconds is not None and 30 * 60 < remaining_seconds < 60 * 60, "41 rows remain"


def test_judging_rate_of_fast_run_covers_the_last_minute(folder: Path) -> None:
    watch = RunMonitor(folder, clock := Clock())
    watch.poll()
    template_row = row("one")
    with (folder / RESULTS).open("a", buffering=1) as results:
        for clock.now in range(1, 130):
            for number in range(20 if clock.now < 60 else 2):
                print(json.dumps({**template_row, "key": f"{clock.now}-{number}"}), file=results)
            state = watch.poll()
    assert state.rate == pytest.approx(2, rel=0.05) and len(watch._samples) < 70


def test_run_monitor_does_not_reread_counted_rows(folder: Path) -> None:
    watch, path = RunMonitor(folder), folder / "results.jsonl"
    watch.poll()
    size = path.stat().st_size
    write_run(folder, [row("d")])
    with path.open("r+b") as stream:
        stream.write(b"\n" * size)
    assert watch.poll().judged == 3


def test_incomplete_result_line_is_counted_when_complete(folder: Path) -> None:
    watch, path = RunMonitor(folder), folder / "results.jsonl"
    line = path.read_bytes().splitlines(keepends=True)[0].replace(b'"key":"a"', b'"key":"new"')
    assert watch.poll().judged == 2
    with path.open("ab") as stream:
        stream.write(line[:50])
        stream.flush()
        assert watch.poll().judged == 2
        stream.write(line[50:])
        stream.flush()
        assert watch.poll().judged == 3


def test_replaced_results_file_is_counted_again(folder: Path) -> None:
    watch, path = RunMonitor(folder), folder / "results.jsonl"
    watch.poll()
    other = path.with_name("other")
    other.write_bytes(path.read_bytes().splitlines(keepends=True)[1])
    other.rename(path)
    [model] = watch.poll().models
    assert model.verdicts == {"WA": 1}


def test_prometheus_text_has_escaped_counts(folder: Path) -> None:
    prometheus = format_prometheus(RunMonitor(folder).poll())
    assert 'ioi_eval_run_submissions{model="m\\" \\\\1\\n2",verdict="WA"} 1\n' in prometheus
    assert "ioi_eval_run_ended 0\n" in prometheus and "expected" not in prometheus


@pytest.mark.parametrize("acting", ["\x1b[31m", "\x9b31m", "\x7f", "\u202e", "\u2028", "\U000e0041"])
def test_control_characters_of_model_name_are_escaped(tmp_path: Path, acting: str) -> None:
    """They would act on a terminal that shows the metrics."""
    name = f"otter{acting}red"
    folder = write_run(tmp_path / "run", [row("a", model=name)])
    assert f'model="otter\\\\u{ord(acting[0]):04x}' in format_prometheus(RunMonitor(folder).poll())
    write_reports(folder)
    for file in (RESULTS, "summary.json", "report.md"):
        content = (folder / file).read_bytes().decode()
        assert acting not in content and "otter" in content, file
    (model,) = RunMonitor(folder).poll().models
    assert model.model == name


def test_watching_folder_without_run_is_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no run"):
        RunMonitor(tmp_path)


def test_progress_file_records_total_and_timeline(tmp_path: Path) -> None:
    heard: list[object] = []
    clock = Clock()
    writer = ProgressWriter(tmp_path / "run", heard.append, clock)
    writer(RunStarted(total=5, skipped=0))
    assert read_progress(tmp_path / "run") is None and not (tmp_path / "run").exists()
    with ResultLog.open(tmp_path / "run", Fingerprint(dump="d")) as journal:
        journal.start_run()
        writer(SubmissionFailed(key="k", problem_id="p", reason="r"))
        assert read_progress(tmp_path / "run") == Progress(total=5)
        clock.now = 7.0
        writer(RunFinished(summary=RunSummary()))
    counts = ({"unscored": 1}, {})
    ended = Progress(total=5, ended=True, timeline=Timeline(begin=0.0, step=5.0, counts=counts))
    assert read_progress(tmp_path / "run") == ended and len(heard) == 3


@pytest.mark.parametrize("finished", [True, False])
def test_progress_of_stopped_call_is_marked_stopped(folder: Path, finished: bool) -> None:
    writer = ProgressWriter(folder, lambda event: None, Clock())
    doing = ActiveSubmission(key="a", problem="sum", step="build", where="", since=3.0)
    writer(judged_with(tests=7))
    writer(SubmissionsNow(at=1.0, number=1, building=1, builds_waiting=0, longest=(doing,)))
    if finished:
        writer(RunFinished(summary=RunSummary()))
    writer.close()
    progress = read_progress(folder)
    assert progress is not None
    assert (progress.ended, progress.stopped, progress.tests) == (True, not finished, 7)
    assert (progress.under_way, progress.building, progress.submissions) == (0, 0, ())


def test_stopped_call_without_rows_writes_no_progress(tmp_path: Path) -> None:
    writer = ProgressWriter(tmp_path, lambda event: None, Clock())
    writer.close()
    assert read_progress(tmp_path) is None


def test_rate_of_tests_covers_the_last_minute(folder: Path) -> None:
    watch = RunMonitor(folder, clock := Clock())
    for clock.now, tests in ((0.0, 10), (10.0, 60), (20.0, 5)):  # the last count is from another call
        write_progress(folder, Progress(tests=tests))
        state = watch.poll()
        assert state.tests_rate == {0.0: 0, 10.0: 5, 20.0: 0}[clock.now]


def judged_with(tests: int) -> SubmissionJudged:
    return SubmissionJudged(
        key="k", problem_id="sum", status=Verdict.AC, points=1.0, verdicts={}, tests=tests
    )


def test_running_submissions_are_written_once_per_interval(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = ProgressWriter(folder, lambda event: None, clock := Clock())
    writes, truly = list[float](), noting.write_progress

    def counted(folder: Path, progress: Progress) -> None:
        writes.append(clock.now)
        truly(folder, progress)

    monkeypatch.setattr(noting, "write_progress", counted)
    first = ActiveSubmission(key="a", problem="sum", step="build", where="this machine, slot 2", since=3.0)
    for clock.now in range(1, 61):
        for number in range(50):
            writer(
                SubmissionJudged(
                    key=f"{clock.now}-{number}",
                    problem_id="sum",
                    status=Verdict.AC if number else Verdict.WA,
                    points=1.0,
                    verdicts={},
                    tests=1,
                    reason=None if number else Reason.NOT_COMPILED,
                )
            )
        writer(SubmissionsNow(at=clock.now, number=9, building=3, builds_waiting=2, longest=(first,)))
        written_progress = read_progress(folder)
        assert written_progress is not None and written_progress.timeline is not None
        assert sum(written_progress.timeline.counts[-1].values()) <= 250
    assert (written_progress.under_way, written_progress.building, written_progress.builds_waiting) == (
        9,
        3,
        2,
    )
    assert (
        written_progress.submissions == (first,) and written_progress.at == 60 and writes == [*range(1, 61)]
    )
    assert sum(counts["WA"] for counts in written_progress.timeline.counts if counts) == 60
    state = RunMonitor(folder, clock).poll()
    assert (state.under_way, state.builds_waiting, state.alive) == (9, 2, 60) and state.submissions == (
        first,
    )
    assert "ioi_eval_run_builds_waiting 2\n" in format_prometheus(state)


@pytest.mark.parametrize("seconds", [1, 599, 601, 3600, 10**6])
def test_timeline_has_bounded_length_and_complete_counts(seconds: int) -> None:
    times = TimelineCounter(clock := Clock())
    for step in range(200):
        clock.now = seconds * step / 200
        times.add("AC" if step % 3 else "unscored")
    line = times.make_timeline()
    assert len(line.counts) <= 120 and len(line.counts) * line.step > clock.now
    assert sum(counts.get("AC", 0) for counts in line.counts) == 133
    assert sum(counts.get("unscored", 0) for counts in line.counts) == 67
    clock.now = -5.0
    times.add("AC")
    assert len(times.make_timeline().counts) == len(line.counts), "no new step if the clock is set back"


def test_progress_file_records_server_states(tmp_path: Path) -> None:
    folder, lost = (
        write_run(tmp_path / "run", [row("a")]),
        ServerState(url="http://b", state="down", why="no answer"),
    )
    writer = ProgressWriter(folder, lambda event: None)
    writer(ServersNow(servers=(ServerState(url="http://a", state="healthy", slots=2),)))
    assert read_progress(folder) is None
    writer(SubmissionFailed(key="k", problem_id="p", reason="r"))
    writer(
        ServersNow(
            servers=(ServerState(url="http://a", state="healthy", slots=2, busy=1, errors=3, rate=0.5), lost)
        )
    )
    state = RunMonitor(folder).poll()
    assert [(standing.url, standing.why) for standing in state.standings] == [
        ("http://b", "no answer"),
        ("http://a", ""),
    ]
    prometheus = format_prometheus(state)
    for line in ('up{server="http://a"} 1', 'up{server="http://b"} 0', 'busy{server="http://a"} 1'):
        assert f"ioi_eval_run_server_{line}\n" in prometheus
    assert 'errors{server="http://a"} 3\n' in prometheus and 'slots{server="http://a"} 2\n' in prometheus
    assert 'rate{server="http://a"} 0.5\n' in prometheus


def test_unreadable_progress_file_is_none(tmp_path: Path) -> None:
    (tmp_path / PROGRESS).write_text("[")
    assert read_progress(tmp_path) is None


# --- the status bar ----------------------------------------------------------------------------------


def strip_of(folder: Path, at: float = 100.0) -> str:
    state = RunMonitor(folder).poll()
    return make_status_bar_html(state, ["scoreboard"], make_report_version(state), lambda: at)


def test_strip_of_live_page_has_progress_and_running_submissions(folder: Path) -> None:
    longest = ActiveSubmission(key="<b>", problem="sum", step="build", where="", since=10.0)
    progress = Progress(
        total=2000,
        engine="piston",
        at=95.0,
        under_way=41,
        building=9,
        builds_waiting=4,
        submissions=(longest,),
    )
    write_progress(folder, progress)
    strip = strip_of(folder)
    for content in (
        "Running.",
        "run, engine piston. Last result",
        "<dt>Done</dt><dd>3 of 2,000</dd>",
        'value="3" max="2000"',
        "Being judged now: 41 submissions, 9 builds (4 waiting for a slot). Here are the 1 that",
        "&lt;b&gt;",
        "waits for a slot",
        '<td class="number">1 min 30 s</td>',
        '<a href="scoreboard">Scoreboard</a>',
        "To go on, repeat the command",
        "ioi-eval score dump.jsonl",
    ):
        assert content in strip, content
    assert "<b>" not in strip


@pytest.mark.parametrize(
    ("age_s", "expected"),
    [
        (-1, "0 s"),
        (59.9, "59 s"),
        (60, "1 min 00 s"),
        (3599, "59 min 59 s"),
        (3725, "1 h 02 min 05 s"),
        (3_600_000, "1,000 h 00 min 00 s"),
    ],
)
def test_age_of_submission_in_progress_has_seconds(folder: Path, age_s: float, expected: str) -> None:
    submission_now = ActiveSubmission(key="k", problem="sum", step="tests", where="slot 1", since=10.0)
    write_progress(folder, Progress(under_way=1, submissions=(submission_now,)))
    assert f'<td class="number">{expected}</td>' in strip_of(folder, at=10.0 + age_s)


@pytest.mark.parametrize(
    ("progress", "expected_state"),
    [
        (Progress(at=95.0), "Running."),
        (Progress(at=10.0), "No sign of the run for 2 min: it was interrupted, or its machine is."),
        (Progress(at=10.0, ended=True), "The run has ended."),
        (Progress(at=10.0, ended=True, stopped=True), "The run was stopped before its end."),
    ],
)
def test_strip_of_live_page_shows_the_state_of_the_run(
    folder: Path, progress: Progress, expected_state: str
) -> None:
    write_progress(folder, progress)
    assert f'role="status">{expected_state}</strong>' in strip_of(folder)


def test_strip_of_live_page_lists_failing_servers_first(folder: Path) -> None:
    up = ServerState(url="http://a", state="healthy", slots=4, busy=2)
    down = ServerState(url="http://b", state="down", why="no answer", errors=3)
    write_progress(folder, Progress(standings=(up, down), unreachable=("http://c: refused",)))
    strip = strip_of(folder)
    assert "Servers: 1 of 3 work" in strip and strip.index("http://b") < strip.index("http://a")
    assert "no answer" in strip and "http://c: refused" in strip


def test_timeline_figure_has_known_colours_and_escaped_names(folder: Path) -> None:
    counts = ({"AC": 3, "unscored": 1}, {}, {'"><script>': 2})
    section = make_timeline_section(Timeline(begin=0.0, step=5.0, counts=counts))
    assert section is not None and section.text == ["24.0 on average, at most 48.0."]
    [figure] = section.figures
    assert "<script>" not in figure.drawing and 'class="v-none"' in figure.drawing
    assert figure.numbers.splitlines()[0] == 'time,AC,""">&lt;script>",unscored'.replace("&lt;", "<")
    assert make_timeline_section(None) is None and make_timeline_section(Timeline(0.0, 5.0, ({},))) is None


# --- served pages ------------------------------------------------------------------------------------


@pytest.fixture
async def address(folder: Path) -> AsyncIterator[str]:
    async with serve_live_page(folder, ServerOptions(port=0)) as address:
        yield address


async def receive_strip(stream: aiohttp.ClientResponse, expected: str) -> str:
    """Return the first strip with `text` from the stream that a viewer receives."""
    async for line in stream.content:
        if line.startswith(b"data: ") and expected in (strip := str(json.loads(line[6:]))):
            return strip
    raise AssertionError("the stream is closed")


async def test_viewers_of_live_page_get_a_new_strip_for_a_new_row(folder: Path, address: str) -> None:
    async with aiohttp.ClientSession() as client, client.get(f"{address}/events") as stream:
        assert stream.content_type == "text/event-stream"
        await receive_strip(stream, "<dd>3</dd>")
        async with client.get(f"{address}/events") as other:
            await receive_strip(other, "<dd>3</dd>")
            write_run(folder, [row("d")])
            for viewer in (stream, other):
                assert 'data-title="run: 4 done"' in await receive_strip(viewer, "<dd>4</dd>")


async def test_event_stream_is_complete_when_server_stops(folder: Path) -> None:
    """Clients raise an error if the last chunk is missing."""
    async with aiohttp.ClientSession() as client:
        async with serve_live_page(folder, ServerOptions(port=0)) as address:
            stream = await client.get(f"{address}/events")
            await receive_strip(stream, "<dd>3</dd>")
        await stream.read()


def times(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


async def test_live_page_writes_nothing_into_run_folder(folder: Path, address: str) -> None:
    times_before = times(folder)
    async with aiohttp.ClientSession() as client:
        for path in ("", "/report.html"):
            async with client.get(address + path) as answer:
                page = await answer.text()
                assert "Scores of 3 submissions" in page and "Leaderboard" in page
                assert page.index('id="live"') < page.index('id="overview"')
        async with client.get(f"{address}/report/submissions.html") as answer:
            assert "All 2 submissions" in await answer.text()
        for name in ("made.json", "..%2Frun.json", "problem-x.html", "..%2f..%2fetc%2fpasswd"):
            async with client.get(f"{address}/report/{name}") as answer:
                assert answer.status == 404
    assert times(folder) == times_before


async def test_live_page_is_rebuilt_when_run_ends(folder: Path, address: str) -> None:
    """Until then it may be some seconds old, and viewers are not notified of a newer report."""
    async with aiohttp.ClientSession() as client, client.get(f"{address}/events") as stream:
        async with client.get(address) as answer:
            assert "Scores of 3 submissions" in await answer.text()
        write_run(folder, [row("d")])
        assert 'data-version="2-1-0"' in await receive_strip(stream, "<dd>4</dd>"), (
            "the version of the rows on the page"
        )
        async with client.get(address) as answer:
            assert "Scores of 3 submissions" in await answer.text()
        write_progress(folder, Progress(total=10, ended=True, stopped=True))
        await receive_strip(stream, 'data-version="3-1-1"')
        async with client.get(address) as answer:
            assert "Scores of 4 submissions" in await answer.text()


async def test_live_page_of_run_without_rows_shows_progress(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "empty", [])
    write_progress(folder, Progress(total=10, at=1.0))
    async with (
        serve_live_page(folder, ServerOptions(port=0)) as address,
        aiohttp.ClientSession() as client,
        client.get(address) as answer,
    ):
        page = await answer.text()
        assert answer.status == 200 and "<dd>0 of 10</dd>" in page


async def test_live_page_of_broken_run_shows_the_reason(folder: Path, address: str) -> None:
    with (folder / RESULTS).open("a") as results:
        results.write("{\n")
    async with aiohttp.ClientSession() as client, client.get(address) as answer:
        page = await answer.text()
        assert "the line is not a valid result" in page and 'id="live"' in page


async def test_paced_result_is_computed_again_only_for_newer_state(folder: Path) -> None:
    def make(state: RunState) -> int:
        row_counts.append(state.rows)
        return state.rows

    monitor, row_counts, paced = (
        RunMonitor(folder),
        list[int](),
        RateLimitedResult(make, 0.0, pause_factor=0.0),
    )
    first = monitor.poll()
    assert [await paced.get(first), await paced.get(first)] == [3, 3] and row_counts == [3]
    write_run(folder, [row("d")])
    assert await paced.get(monitor.poll()) == 4 and row_counts == [3, 4]


async def test_paced_result_stays_until_its_age_is_reached(folder: Path) -> None:
    monitor, paced = RunMonitor(folder), RateLimitedResult(lambda state: state.rows, 1000.0)
    await paced.get(monitor.poll())
    write_run(folder, [row("d")])
    state = monitor.poll()
    assert await paced.get(state) == 3
    write_progress(folder, Progress(ended=True))
    assert await paced.get(monitor.poll()) == 4, "after the run it is final"


async def test_pages_of_long_submission_list_are_served(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ioi_eval.reports.pages.LONGEST_LIST", 1)
    async with aiohttp.ClientSession() as client:
        for page_number in (1, 2):
            async with client.get(f"{address}/report/submissions-{page_number}.html") as answer:
                page = await answer.text()
                assert "Submissions for " in page and page.count("<tr>") == 1 + 1


async def test_live_page_policy_allows_only_its_own_scripts(address: str) -> None:
    async with aiohttp.ClientSession() as client, client.get(address) as answer:
        page = await answer.text()
    [attribute] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    policy = unescape(attribute)
    assert "default-src 'none'" in policy and "unsafe" not in policy and "connect-src 'self'" in policy
    assert page.count("<script") == policy.partition("script-src")[2].partition(";")[0].count("sha256-")
    assert " style=" not in page


@pytest.mark.parametrize("path", ["/", "/events", "/metrics", "/report.html", "/report/submissions.html"])
async def test_live_page_refuses_requests_without_its_token(folder: Path, path: str) -> None:
    options = ServerOptions(port=0, token=Secret("a-long-token"))
    async with serve_live_page(folder, options) as address, aiohttp.ClientSession() as client:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Cookie": "ioi_eval_view=wrong"}):
            async with client.get(address + path, headers=headers) as answer:
                assert answer.status == 401 and "sum" not in await answer.text()
        async with client.get(address + path, headers={"Authorization": "Bearer a-long-token"}) as answer:
            assert answer.status == 200
        async with client.get(f"{address}{path}?token=a-long-token", allow_redirects=False) as answer:
            assert answer.status == 303 and answer.headers["Location"] == path
            cookie = answer.headers["Set-Cookie"]
            assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
        async with client.get(address + path, headers={"Cookie": cookie.partition(";")[0]}) as answer:
            assert answer.status == 200


async def test_view_refuses_foreign_host_and_origin(address: str) -> None:
    async with aiohttp.ClientSession() as client:
        for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
            async with client.get(f"{address}/metrics", headers=headers) as answer:
                assert answer.status == 403
                assert "this server does not answer to" in await answer.text()
