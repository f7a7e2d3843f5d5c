"""Progress of a run, its interruption, and its last messages."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import typer
from tqdm import tqdm

from ioi_eval.cli import console
from ioi_eval.cli.options import OutputOptions
from ioi_eval.engines.contract import Change, JobsWait, ServerChanged, ServerEvent
from ioi_eval.model.text import format_count
from ioi_eval.model.values import ServerState
from ioi_eval.reports import ModelSummary
from ioi_eval.reports.document import format_share
from ioi_eval.reports.sections import format_model_name
from ioi_eval.runs.events import (
    EngineStarting,
    EngineStopped,
    Event,
    JudgedAgain,
    LimitMeasured,
    OnEvent,
    Overloaded,
    ReferencesStarted,
    ReportProgress,
    ResultChange,
    RowsRead,
    RowsUnderstood,
    RunStarted,
    RunSummary,
    ServersFound,
    ServersNow,
    SubmissionFailed,
    SubmissionJudged,
)
from ioi_eval.store.folder import MeasuredLimit, read_failures

_TICK_S = 0.5  # seconds between two updates of the progress bar
_MAX_LISTED = 3  # maximum number of servers that have their own line; further servers are only counted
_READING_INTERVAL_S = 5.0  # seconds between two messages while a dump is read
_LINE_INTERVAL_S = 15.0  # seconds between two messages if the output is not a terminal
_SERVERS_INTERVAL_S = 60.0  # seconds between two lists of the servers
_HEALTHY = "healthy"
_T = TypeVar("_T")
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SHOWN_FAILURES = 5
_NOTABLE_SHARE = 0.01  # minimum share of a model's submissions without a result that is reported
_FORMAT = "{percentage:3.0f}% {bar} {n_fmt}/{total_fmt} submissions{postfix} [{elapsed}, {remaining} left]"


class RunProgress:
    """Receives a run's events and prints its progress."""

    def __init__(self, *, quiet: bool) -> None:
        self.total_count = self.skipped_count = self.judged_count = self.failed_count = self.test_count = 0
        self._is_quiet = quiet
        self._started_at = self._last_printed_at = time.monotonic()
        self._server_states: tuple[ServerState, ...] = ()  # the latest states of all servers
        self._servers_listed_at = time.monotonic()
        self._bar: tqdm[None] | None = None
        self._update_task: asyncio.Task[None] | None = None
        self._is_local = True  # True if jobs run on this machine
        self._server_event_log = ServerEventLog()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        self._print_server_changes(at_once=True)
        if self._bar is not None:
            console.set_log_output()
            self._bar.close()
            self._bar = None
        if self._update_task is not None:
            self._update_task.cancel()
            self._update_task = None
        self._last_printed_at = time.monotonic()

    @property
    def finished_count(self) -> int:
        return self.skipped_count + self.judged_count + self.failed_count

    def __call__(self, event: Event) -> None:
        is_due = time.monotonic() - self._last_printed_at > _READING_INTERVAL_S
        match event:
            case RunStarted():
                self.total_count, self.skipped_count = event.total or 0, event.skipped
                self.judged_count = self.failed_count = self.test_count = 0
                # Update the bar regularly, so that it also moves during a long submission.
                self._update_task = asyncio.get_running_loop().create_task(self._update_regularly())
                self._started_at = self._last_printed_at = time.monotonic()
                self._show_bar()
            case SubmissionJudged():
                self.judged_count += 1
                self.test_count += event.tests
            case SubmissionFailed():
                self.failed_count += 1
            case RowsRead(selected=int(total)):
                self.total_count = total
                self._show_bar()
            case EngineStopped():
                self._close()
            case ServerChanged() | JobsWait():
                self._server_event_log.add_event(event)
                # Without the update task, nothing would print the message later.
                if self._update_task is None:
                    print_changes_now = partial(self._print_server_changes, at_once=True)
                    asyncio.get_running_loop().call_soon(print_changes_now)
            case RowsRead() if is_due:
                self._last_printed_at = time.monotonic()
                self._print_above_bar(f"Reading the dump: {format_count(event.rows, 'row')} so far")
            case ReportProgress() if is_due:
                self._last_printed_at = time.monotonic()
                page_note = "" if event.pages is None else f", {format_count(event.pages, 'page')} written"
                self._print_above_bar(
                    f"Writing the report: {format_count(event.read, 'submission')} read{page_note}"
                )
            case RowsUnderstood():
                self._print_above_bar(f"Rows: {event.rows}")
            case ServersNow():
                self._server_states = event.servers
            case ServersFound():
                self._is_local = False
                for line in describe_servers(event):
                    self._print_above_bar(line)
            case JudgedAgain():
                for line in describe_replaced_results(event):
                    self._print_above_bar(line)
            case LimitMeasured():
                self._print_above_bar(describe_measured_limit(event.limit))
            case Overloaded():
                self._print_above_bar(
                    describe_overload(event, "This machine is" if self._is_local else "The servers are")
                )
            case ReferencesStarted():
                problem_phrase = format_count(event.problems, "problem")
                self._print_above_bar(f"Judging up to {event.most} own solutions of {problem_phrase}")
        if isinstance(event, RunStarted | SubmissionJudged | SubmissionFailed):
            self.update_bar()

    def _print_above_bar(self, text: str) -> None:
        """Print a line above the progress bar, if any. `quiet` suppresses it."""
        if self._bar is None and not self._is_quiet:
            console.print_message(text)
        elif self._bar is not None:
            self._bar.write("\n".join(console.wrap_message(text)), file=sys.stderr)

    def _print_server_changes(self, *, at_once: bool = False) -> None:
        for line in self._server_event_log.take_messages(ignores_delay=at_once):
            self._print_above_bar(line)

    def _show_bar(self) -> None:
        if not self._is_quiet and sys.stderr.isatty() and self.finished_count < self.total_count:
            self._bar = tqdm(
                total=self.total_count,
                initial=self.finished_count,
                bar_format=_FORMAT,
                ncols=min(console.WIDTH, console.get_terminal_width()),
                file=sys.stderr,
                leave=False,
            )
            console.set_log_output(self._print_above_bar)

    def update_bar(self) -> None:
        if self._bar is not None:
            self._bar.set_postfix_str(self._format_counts(), refresh=False)
            self._bar.update(self.finished_count - self._bar.n)
        elif not self._is_quiet and time.monotonic() - self._last_printed_at > _LINE_INTERVAL_S:
            self._last_printed_at = time.monotonic()
            console.print_message(
                f"{self.finished_count} of {self.total_count} submissions, {self._format_counts()}"
            )

    def _format_counts(self) -> str:
        seconds = max(time.monotonic() - self._started_at, 0.001)
        count_text = f"{self.test_count} tests, {self.test_count / seconds:.0f} tests/s"
        if self._server_states:
            healthy_count = sum(server.state == _HEALTHY for server in self._server_states)
            count_text += f", {healthy_count} of {format_count(len(self._server_states), 'server')}"
        return f"{count_text}, {self.failed_count} failed" if self.failed_count else count_text

    async def _update_regularly(self) -> None:
        while True:
            await asyncio.sleep(_TICK_S)
            self._print_server_changes()
            if self._server_states and time.monotonic() - self._servers_listed_at > _SERVERS_INTERVAL_S:
                self._servers_listed_at = time.monotonic()
                self._print_above_bar(format_server_states(self._server_states))
            self.update_bar()
            if self._bar is not None:
                self._bar.refresh()


def describe_overload(event: Overloaded, sentence_start: str = "This machine is") -> str:
    return (
        f"{sentence_start} overloaded (programs ran {event.computed:.0f} s and waited {event.waited:.0f} s). "
        "Verdicts are unaffected; the run is slower."
    )


def describe_servers(servers_found: ServersFound) -> Iterator[str]:
    """Yield lines about an engine's servers: their number, and the unused servers."""
    server_count, job_capacity = (
        format_count(servers_found.servers, "server"),
        f"{format_count(servers_found.slots, 'job')} at a time",
    )
    if servers_found.cores:
        job_capacity += f" on {servers_found.cores} cores (--set per-endpoint=N gives each server N jobs)"
    if servers_found.uses:
        unreachable = (
            f", {len(servers_found.unreachable)} cannot be reached" if servers_found.unreachable else ""
        )
        yield f"{server_count}: {servers_found.uses}{unreachable}; {job_capacity}, {servers_found.jobs}"
    else:
        yield f"{servers_found.used} of {server_count}, {job_capacity}"
    yield from _limit_lines(servers_found.unreachable)
    yield from _limit_lines(
        [f"{url} is left out: {reason}" for url, reason in servers_found.left_out.items()]
    )
    for difference in servers_found.differences:
        yield f"{difference.name}: {difference.detail}" + (
            f". {console.replace_arguments_by_options(difference.remedy)}" if difference.remedy else ""
        )


def _limit_lines(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:_MAX_LISTED]
    if len(lines) > _MAX_LISTED:
        yield f"and {len(lines) - _MAX_LISTED} more like these"


_CHANGE_MESSAGES = {
    ResultChange.PROBLEM: "judged again, because the problem changed",
    ResultChange.PROGRAM: "judged again, because the program changed",
    ResultChange.COLUMNS: "written again, because other columns of the row changed",
    ResultChange.GONE: "no longer in the input; moved to earlier.jsonl",
}


def describe_replaced_results(event: JudgedAgain) -> Iterator[str]:
    """Yield a line for each reason why earlier results are replaced."""
    for reason, number in event.reasons.items():
        problem_names = (
            f" ({', '.join(event.problems[:_MAX_LISTED])})" if reason is ResultChange.PROBLEM else ""
        )
        yield f"{format_count(number, 'earlier result')}: {_CHANGE_MESSAGES[reason]}{problem_names}"


def describe_measured_limit(limit: MeasuredLimit) -> str:
    process_count = format_count(limit.processes, "process", "processes")
    forks = (
        f"{limit.problem}: {process_count} in all, which accepted solutions need with "
        f"{', '.join(limit.forks_by)}; CPU time and memory are limited for all together"
    )
    if not limit.multiplier:
        return forks
    return (f"{forks}\n" if limit.forks_by else "") + (
        f"{limit.problem}: time limit {limit.cpu_time:g} s, {limit.multiplier:g} times the slowest accepted "
        f"solution ({limit.solution}: {limit.slowest:.3f} s on test {limit.test})"
    )


# --- signals -----------------------------------------------------------------------------------------


class SignalHandler:
    """Handles Ctrl-C, SIGTERM and SIGHUP. It receives the run's events.

    While an engine is open, a signal cancels the run, which then cleans up. Further signals are ignored,
    because an interrupted cleanup would leave files. Without an open engine, signals have their
    default effect.
    """

    def __init__(self) -> None:
        self._old_handlers = {number: signal.getsignal(number) for number in _STOP_SIGNALS}
        self._is_cancelled = False

    def __call__(self, event: Event) -> None:
        if isinstance(event, EngineStarting) and not self._is_cancelled:
            task, loop = asyncio.current_task(), asyncio.get_running_loop()
            assert task is not None, "events are emitted in the task of the call"

            def cancel_run(number: int, frame: object) -> None:
                # The handler is an empty function instead of SIG_IGN, which the processes of the cleanup
                # would inherit.
                _install_handlers(dict.fromkeys(_STOP_SIGNALS, lambda *_: None))
                self._is_cancelled = True
                loop.call_soon_threadsafe(task.cancel)

            _install_handlers(dict.fromkeys(_STOP_SIGNALS, cancel_run))
        elif isinstance(event, EngineStopped) and not self._is_cancelled:
            self._restore_handlers()

    def __enter__(self) -> Self:
        self._restore_handlers()
        return self

    def _restore_handlers(self) -> None:
        """Restore the default handlers.

        Ctrl-C gets a new handler, because asyncio would replace Python's default.
        """
        own_handlers: dict[signal.Signals, Any] = {signal.SIGINT: _raise_interrupt}
        if self._old_handlers[signal.SIGINT] is not signal.default_int_handler:
            own_handlers = {}
        _install_handlers({**self._old_handlers, **own_handlers})

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, asyncio.CancelledError):
            raise KeyboardInterrupt from None
        _install_handlers(self._old_handlers)


def _raise_interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _install_handlers(handlers: Mapping[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


def run_with_progress(
    output: OutputOptions, call: Callable[[OnEvent], Coroutine[Any, Any, _T]]
) -> tuple[_T, float]:
    """Run a use case. Return its result and its duration in seconds.

    If the user interrupts it, print the command that continues, and exit with code 130.
    """
    start_s = time.monotonic()
    try:
        with RunProgress(quiet=output.is_silent) as progress, SignalHandler() as signals:

            def handle_event(event: Event) -> None:
                signals(event)
                progress(event)

            return asyncio.run(call(handle_event)), time.monotonic() - start_s
    except KeyboardInterrupt:
        # The cleanup is complete, so ignore signals until the process exits.
        _install_handlers(dict.fromkeys(_STOP_SIGNALS, signal.SIG_IGN))
        console.print_message("")
        console.print_message(
            "Interrupted. All results so far are stored; the same command continues from there:"
        )
        console.print_message(f"    {output.resume_command}")
        raise typer.Exit(console.INTERRUPTED) from None


# --- messages after a run ----------------------------------------------------------------------------


def print_failures(failures: Mapping[str, str], run_folder: str) -> None:
    """Print why the first submissions failed, the file that lists all of them, and the remedies."""
    for key, reason in list(failures.items())[:_SHOWN_FAILURES]:
        console.print_message(
            f"not judged: {key}: {console.replace_arguments_by_options(reason)}", failure_prefix="not judged:"
        )
    if not (number := len(failures)):
        return
    failure_rows = read_failures(Path(run_folder))
    # Failures are final if they are marked as final, or if they have no row: no run tries them.
    final_count = sum(key not in failure_rows or failure_rows[key].get("final") is True for key in failures)
    retried_phrase = (
        "it" if number == 1 else "them" if not final_count else f"{number - final_count:,} of them"
    )
    remedy_counts = Counter(
        str(failure_rows[key]["remedy"])
        for key in failures
        if key in failure_rows
        and failure_rows[key].get("remedy")
        and failure_rows[key].get("final") is not True
    )
    next_step = (
        f"the same command retries only {retried_phrase}" if final_count < number else "no other try helps"
    )
    if remedy_counts:
        next_step = f"fix the causes below, then {next_step}"
    console.print_message(
        f"{format_count(number, 'submission')} could not be judged, see {run_folder}/failures.jsonl;"
        f" {next_step}"
    )
    for remedy, affected_count in remedy_counts.most_common(_SHOWN_FAILURES):
        console.print_message(f"{affected_count:,} of them: {console.replace_arguments_by_options(remedy)}")
    if 0 < final_count < number:
        console.print_message(f"{final_count:,} of them can never be judged: no other try helps")


def print_unscored_models(models: Iterable[ModelSummary]) -> None:
    """Print the models that have a notable share of submissions without a result."""
    for model in models:
        if model.unscored > _NOTABLE_SHARE * model.submissions:
            unscored_share = format_share(model.unscored, model.submissions)
            name = format_model_name(model.model)
            console.print_message(
                f"{name}: {unscored_share} of its submissions are unscored; none of its numbers count them"
            )


def format_run_summary(run_summary: RunSummary, seconds: float, *, unscored_count: int) -> str:
    if not run_summary.judged and not unscored_count:
        if not run_summary.skipped:
            return "Nothing to judge."
        number = format_count(run_summary.skipped, "submission")
        return f"Nothing new to do: {number} asked for, all scored by earlier calls."
    summary = f"Scored {format_count(run_summary.judged, 'submission')}"
    if run_summary.repeated:
        summary += f" ({run_summary.repeated} equal to another one)"
    rate = run_summary.tests / seconds
    # Two significant digits, so that a low rate is not shown as 0.
    rate_text = f"{rate:.0f}" if rate >= 10 else f"{rate:.2g}"
    summary += f" in {seconds:.1f} s: {format_count(run_summary.tests, 'test')}, {rate_text} a second"
    verb = "was" if run_summary.skipped == 1 else "were"
    return (
        f"{summary}; {run_summary.skipped} {verb} scored by earlier calls" if run_summary.skipped else summary
    )


# --- servers -----------------------------------------------------------------------------------------


# Seconds in which changes of servers are collected into a single line, as when a rack loses power.
_COLLECTION_S = 2.0
_MAX_NAMED = 3  # maximum number of servers that a line names
# Maximum number of lines about a server in a period, and the period in seconds.
_MAX_LINES, _LINES_PERIOD_S = 4, 600.0
_RECOVERIES = (Change.BACK, Change.JOINED)
_CHANGE_VERBS = {
    Change.LOST: ("is lost", "are lost"),
    Change.SLOW: ("does not answer in time", "do not answer in time"),
    Change.FULL: ("is full: it refuses jobs", "are full: they refuse jobs"),
    Change.REPLACED: (
        "was replaced by another server: probing it again",
        "are other servers now: they are probed again",
    ),
    Change.LEFT_OUT: ("is left out", "are left out"),
    Change.BACK: ("accepts jobs again", "accept jobs again"),
    Change.JOINED: ("has joined", "have joined"),
    Change.GONE: ("is not found any more", "are not found any more"),
}


def format_server_states(servers: Sequence[ServerState]) -> str:
    """Return a line with the states of some servers, failed servers first, and the number of the rest."""
    ordered_servers = sorted(servers, key=lambda server: (server.state == _HEALTHY, server.url))
    listed_servers, unlisted_servers = ordered_servers[:_MAX_NAMED], ordered_servers[_MAX_NAMED:]
    descriptions = [_format_server_state(server) for server in listed_servers]
    if unlisted_servers:
        slot_count, busy_count = (
            sum(getattr(server, name) for server in unlisted_servers) for name in ("slots", "busy")
        )
        rate = sum(server.rate for server in unlisted_servers)
        healthy_count = sum(server.state == _HEALTHY for server in unlisted_servers)
        descriptions.append(
            f"{healthy_count} of {len(unlisted_servers)} more work, {busy_count} of {slot_count} slots busy,"
            f" {rate:.2f} jobs/s"
        )
    return f"Servers: {'; '.join(descriptions)}"


def _format_server_state(server: ServerState) -> str:
    since_note = (
        "" if server.since is None else time.strftime(" since %H:%M:%S", time.localtime(server.since))
    )
    state_text = "works" if server.state == _HEALTHY else f"is {server.state}{since_note}"
    error_note = f", last error: {server.why}" if server.why else ""
    return (
        f"{server.url} {state_text}, {server.busy} of {server.slots} slots busy,"
        f" {server.rate:.2f} jobs/s{error_note}"
    )


class ServerEventLog:
    """Collects changes of servers for a moment, and reports changes that last."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # The latest change of each server that is not reported yet.
        self._latest_changes: dict[str, ServerChanged] = {}
        self._collecting_since = 0.0
        self._jobs_wait: JobsWait | None = None
        self._reported_changes: dict[str, Change] = {}
        self._report_times: defaultdict[str, deque[float]] = defaultdict(deque)

    def add_event(self, event: ServerEvent) -> None:
        if isinstance(event, ServerChanged) and event.change is Change.TRIAL:
            return  # reported as Change.BACK when the server has completed a job
        if not self._latest_changes and self._jobs_wait is None:
            self._collecting_since = self._clock()
        if isinstance(event, JobsWait):
            self._jobs_wait = event
        else:
            self._latest_changes.pop(event.url, None)
            self._latest_changes[event.url] = event

    def take_messages(self, *, ignores_delay: bool = False) -> Iterator[str]:
        """Yield the messages that are due, or all messages if `ignores_delay` is true."""
        now_s = self._clock()
        if (not self._latest_changes and self._jobs_wait is None) or (
            not ignores_delay and now_s - self._collecting_since < _COLLECTION_S
        ):
            return
        events, jobs_wait = (
            [event for event in self._latest_changes.values() if self._should_report(event, now_s)],
            self._jobs_wait,
        )
        last_event = next(reversed(self._latest_changes.values()), None)
        self._latest_changes, self._jobs_wait = {}, None
        for change in Change:
            if changed_events := [event for event in events if event.change is change]:
                names = ", ".join(event.url for event in changed_events[:_MAX_NAMED])
                unnamed_note = (
                    f" and {len(changed_events) - _MAX_NAMED} more"
                    if len(changed_events) > _MAX_NAMED
                    else ""
                )
                is_or_are = _CHANGE_VERBS[change][len(changed_events) > 1]
                reason = f" ({changed_events[0].reason})" if changed_events[0].reason else ""
                latest_event = last_event or changed_events[-1]
                servers, jobs = (
                    format_count(latest_event.usable, "server"),
                    format_count(latest_event.slots, "job"),
                )
                yield f"{names}{unnamed_note} {is_or_are}{reason}; {servers} for {jobs} at a time now"
        if jobs_wait is not None and (last_event is None or not last_event.usable):
            yield (
                f"No server can be used: submissions wait for one, {jobs_wait.seconds:g} s at most; "
                "submissions that get no server are not judged"
            )

    def _should_report(self, event: ServerChanged, now: float) -> bool:
        """Return True if the change should be reported. A server that changes constantly is not reported."""
        last_change, report_times = (
            self._reported_changes.get(event.url, Change.BACK),
            self._report_times[event.url],
        )
        while report_times and report_times[0] < now - _LINES_PERIOD_S:
            report_times.popleft()
        # If a server is BACK with a reason, it has another compiler, which is always reported.
        if event.change is not Change.BACK or not event.reason:
            is_repeated = last_change is event.change or (
                last_change in _RECOVERIES and event.change in _RECOVERIES and bool(report_times)
            )
            if (
                is_repeated
                or len(report_times) >= _MAX_LINES
                or (event.change is Change.BACK and not report_times)
            ):
                return False
        self._reported_changes[event.url] = event.change
        report_times.append(now)
        return True
