"""The status bar (strip) above a live report: progress, running submissions, servers, and how to continue."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ioi_eval.model.text import format_count, visible
from ioi_eval.model.values import STATUS_ORDER
from ioi_eval.reports.document import NOTHING, Cell, Section, TableBlock, render_rows
from ioi_eval.reports.plots import WIDE, draw_stacked_column_chart, make_figure
from ioi_eval.rules.verdicts import ENDINGS
from ioi_eval.server.monitor import RunState
from ioi_eval.store.folder import Timeline

if TYPE_CHECKING:
    import jinja2

# Maximum seconds without a sign of life from a run, which writes such a sign every 10 seconds.
_MAX_SILENCE_S = 60
_DAY_S = 86400
_COLOURED = frozenset({*STATUS_ORDER, "unscored"})
_STEPS = {"build": "build", "tests": "tests", "waits": "waits for an equal program"}
_SERVER_STATES = {
    "healthy": "works",
    "on trial": "on trial",
    "gone": "left",
    "down": "lost",
    "new": "joins",
}


def make_status_bar_html(
    state: RunState, plugin_pages: Iterable[str], report_version: str, clock: Callable[[], float] = time.time
) -> str:
    """Return the status bar of the live page. live.js replaces the parts of the bar that have changed.

    Args:
        state: The run's state.
        plugin_pages: Names of plugins' pages.
        report_version: Version of the report that the server would send now.
        clock: Returns the seconds since 1970.
    """
    now_s = clock()
    return _load_template().render(
        run=state,
        version=report_version,
        pages=[*plugin_pages, "metrics"],
        condition=_describe_run_condition(state, now_s),
        age=_describe_last_result(state, now_s),
        tiles=list(_list_headline_numbers(state)),
        tables=list(_make_tables(state, now_s)),
    )


@cache
def _load_template() -> jinja2.Template:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent, encoding="utf-8"),
        finalize=lambda value: visible(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        autoescape=True,
    )
    environment.globals["rows"] = render_rows
    return environment.get_template("live.html.j2")


def format_duration(seconds: float) -> str:
    """Return a duration in whole seconds, in minutes or in hours."""
    if seconds < 90:
        return f"{max(0, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _format_age(seconds: float) -> str:
    """Return a duration with all seconds: `45 s`, `2 min 05 s`, `1 h 02 min 05 s`."""
    minutes, rest_s = divmod(max(0, int(seconds)), 60)
    hours, rest_min = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {rest_min:02} min {rest_s:02} s"
    return f"{minutes} min {rest_s:02} s" if minutes else f"{rest_s} s"


def _describe_run_condition(state: RunState, now: float) -> str:
    if state.stopped:
        return "The run was stopped before its end."
    if state.ended:
        return "The run has ended."
    silence_s = 0.0 if state.alive is None else now - state.alive
    if silence_s > _MAX_SILENCE_S:
        return f"No sign of the run for {format_duration(silence_s)}: it was interrupted, or its machine is."
    return "Running."


def _describe_last_result(state: RunState, now: float) -> str:
    """Return the age of the last result, or "" after the run."""
    if state.ended:
        return ""
    return "No result yet." if state.last is None else f"Last result {format_duration(now - state.last)} ago."


def _list_headline_numbers(state: RunState) -> Iterator[tuple[str, str]]:
    """Yield names and values of the most important numbers."""
    yield "Done", f"{state.rows:,}" if state.total is None else f"{state.rows:,} of {state.total:,}"
    if not state.ended:
        yield "A minute", _format_rate_number(60 * state.rate)
        yield "Tests a second", _format_rate_number(state.tests_rate)
        yield "Time left", NOTHING if state.left is None else f"about {format_duration(state.left)}"
        yield "Being judged", f"{state.under_way:,}"
    elif state.timeline is not None and state.timeline.counts:
        yield "A minute, on average", _format_rate_number(_compute_results_per_minute(state.timeline))
    yield "Not judged", f"{state.unscored:,}"


def _make_tables(state: RunState, now: float) -> Iterator[tuple[str, str, TableBlock]]:
    """Yield id, summary and table of the submissions in progress and of the servers, if there are any."""
    if state.under_way:
        summary = f"Being judged now: {format_count(state.under_way, 'submission')}"
        if state.building:
            waiting_note = f" ({state.builds_waiting:,} waiting for a slot)" if state.builds_waiting else ""
            summary += f", {format_count(state.building, 'build')}{waiting_note}"
        if len(state.submissions) < state.under_way:
            summary += f". Here are the {len(state.submissions):,} that have taken the longest"
        column_heads = ["Submission", "For", "Problem", "Step", "Where"]
        rows: list[list[Cell]] = [
            [
                submission.key,
                _format_age(now - submission.since),
                submission.problem,
                _STEPS.get(submission.step, submission.step),
                submission.where or (NOTHING if submission.step == "waits" else "waits for a slot"),
            ]
            for submission in state.submissions
        ]
        yield "now", summary, TableBlock(heads=column_heads, rows=rows, align="lrlll")
    if state.standings or state.unreachable:
        healthy_count = sum(server.state == "healthy" for server in state.standings)
        summary = f"Servers: {healthy_count:,} of {len(state.standings) + len(state.unreachable):,} work"
        column_heads = ["Server", "State", "Since", "Busy", "Slots", "Jobs a second", "Errors", "Last error"]
        rows = [
            [
                server.url,
                _SERVER_STATES.get(server.state, server.state),
                NOTHING if server.since is None else _format_time_of_day(server.since, "%H:%M:%S"),
                f"{server.busy:,}",
                f"{server.slots:,}",
                f"{server.rate:.2f}",
                f"{server.errors:,}",
                server.why or NOTHING,
            ]
            for server in state.standings
        ]
        rows += [[NOTHING, "not reached", *[NOTHING] * 5, reason] for reason in state.unreachable]
        yield "servers", summary, TableBlock(heads=column_heads, rows=rows, align="lllrrrrl")


# --- results over time, as a section of the page -----------------------------------------------------


def make_timeline_section(timeline: Timeline | None) -> Section | None:
    """Return a figure of the results of a run's last call over time, or None without results."""
    if timeline is None or not any(timeline.counts):
        return None
    present_endings = {ending for counts in timeline.counts for ending in counts}
    endings = [ending for ending in ENDINGS if ending in present_endings] + sorted(
        present_endings - set(ENDINGS)
    )
    styles = [f"v-{ending.lower()}" if ending in _COLOURED else "v-none" for ending in endings]
    duration_s = timeline.step * len(timeline.counts)
    label_format = "%H:%M" if duration_s < _DAY_S else "%b %d, %H:%M"
    labelled_counts = [
        (
            _format_time_of_day(timeline.begin + timeline.step * index, label_format),
            [counts.get(ending, 0) for ending in endings],
        )
        for index, counts in enumerate(timeline.counts)
    ]
    max_per_minute = 60 / timeline.step * max(sum(counts) for _, counts in labelled_counts)
    title = f"Results of this call, in steps of {format_duration(timeline.step)}"
    return Section(
        title="Results per minute",
        text=[
            f"{_format_rate_number(_compute_results_per_minute(timeline))} on average, at most"
            f" {_format_rate_number(max_per_minute)}."
        ],
        figures=[
            make_figure(
                title,
                draw_stacked_column_chart(
                    title, labelled_counts, styles, list(zip(endings, styles, strict=True)), WIDE
                ),
                ["time", *endings],
                ([label, *counts] for label, counts in labelled_counts),
            )
        ],
        is_whole=True,
    )


def _format_rate_number(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:,.1f}"


def _compute_results_per_minute(timeline: Timeline) -> float:
    result_count = sum(sum(counts.values()) for counts in timeline.counts)
    return 60 * result_count / (len(timeline.counts) * timeline.step)


def _format_time_of_day(seconds: float, label_format: str) -> str:
    return time.strftime(label_format, time.localtime(seconds))
