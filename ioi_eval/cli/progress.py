"""Progress of a run, its interruption, and the messages at its end."""

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
from ioi_eval.model.values import ServerState
from ioi_eval.reports import ModelSummary
from ioi_eval.reports.document import counted, share
from ioi_eval.reports.sections import model_name
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

_TICK_S = 0.5  # time between two updates of the progress bar
_MAX_LISTED = 3  # servers that have a line each; the others are only counted
_READING_INTERVAL_S = 5.0  # time between two messages while a dump is read
_LINE_INTERVAL_S = 15.0  # time between two messages if there is no terminal
_SERVERS_INTERVAL_S = 60.0  # time between two lists of the servers
_HEALTHY = "healthy"
_T = TypeVar("_T")
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SHOWN_FAILURES = 5
_NOTABLE_SHARE = 0.01  # of a model's submissions without a result, from which on they are reported
_FORMAT = "{percentage:3.0f}% {bar} {n_fmt}/{total_fmt} submissions{postfix} [{elapsed}, {remaining} left]"


class RunProgress:
    """Receives a run's events and prints its progress."""

    def __init__(self, *, quiet: bool) -> None:
        self.total = self.skipped = self.judged = self.failed = self.tests = 0
        self._quiet = quiet
        self._begin = self._said = time.monotonic()
        self._fleet: tuple[ServerState, ...] = ()  # the latest states
        self._listed = time.monotonic()
        self._bar: tqdm[None] | None = None
        self._ticking: asyncio.Task[None] | None = None
        self._is_local = True  # jobs run on this machine
        self._servers = ServerEventLog()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        self._tell_of_servers(at_once=True)
        if self._bar is not None:
            console.show_log()
            self._bar.close()
            self._bar = None
        if self._ticking is not None:
            self._ticking.cancel()
            self._ticking = None
        self._said = time.monotonic()

    @property
    def finished(self) -> int:
        return self.skipped + self.judged + self.failed

    def __call__(self, event: Event) -> None:
        is_due = time.monotonic() - self._said > _READING_INTERVAL_S
        match event:
            case RunStarted():
                self.total, self.skipped = event.total or 0, event.skipped
                self.judged = self.failed = self.tests = 0
                # So that the bar moves during a long submission.
                self._ticking = asyncio.get_running_loop().create_task(self._tick())
                self._begin = self._said = time.monotonic()
                self._show_bar()
            case SubmissionJudged():
                self.judged += 1
                self.tests += event.tests
            case SubmissionFailed():
                self.failed += 1
            case RowsRead(selected=int(total)):
                self.total = total
                self._show_bar()
            case EngineStopped():
                self._close()
            case ServerChanged() | JobsWait():
                self._servers.add(event)
                if self._ticking is None:  # otherwise nothing would print the message later
                    news_now = partial(self._tell_of_servers, at_once=True)
                    asyncio.get_running_loop().call_soon(news_now)
            case RowsRead() if is_due:
                self._said = time.monotonic()
                self._tell(f"Reading the dump: {event.rows:,} rows so far")
            case ReportProgress() if is_due:
                self._said = time.monotonic()
                pages = "" if event.pages is None else f", {event.pages:,} pages written"
                self._tell(f"Writing the report: {event.read:,} submissions read{pages}")
            case RowsUnderstood():
                self._tell(f"Rows: {event.rows}")
            case ServersNow():
                self._fleet = event.servers
            case ServersFound():
                self._is_local = False
                for line in news(event):
                    self._tell(line)
            case JudgedAgain():
                for line in again(event):
                    self._tell(line)
            case LimitMeasured():
                self._tell(measured(event.limit))
            case Overloaded():
                self._tell(crowded(event, "This machine is" if self._is_local else "The servers are"))
            case ReferencesStarted():
                problems = counted(event.problems, "problem")
                self._tell(f"Judging up to {event.most} own solutions of {problems}")
        if isinstance(event, RunStarted | SubmissionJudged | SubmissionFailed):
            self.draw()

    def _tell(self, text: str) -> None:
        """Print a line above the progress bar, if any. `quiet` suppresses it."""
        if self._bar is None and not self._quiet:
            console.tell(text)
        elif self._bar is not None:
            self._bar.write("\n".join(console.fitting(text)), file=sys.stderr)

    def _tell_of_servers(self, *, at_once: bool = False) -> None:
        for line in self._servers.lines(at_once=at_once):
            self._tell(line)

    def _show_bar(self) -> None:
        if not self._quiet and sys.stderr.isatty() and self.finished < self.total:
            self._bar = tqdm(
                total=self.total,
                initial=self.finished,
                bar_format=_FORMAT,
                ncols=min(console.WIDTH, console.terminal_width()),
                file=sys.stderr,
                leave=False,
            )
            console.show_log(self._tell)

    def draw(self) -> None:
        if self._bar is not None:
            self._bar.set_postfix_str(self._numbers(), refresh=False)
            self._bar.update(self.finished - self._bar.n)
        elif not self._quiet and time.monotonic() - self._said > _LINE_INTERVAL_S:
            self._said = time.monotonic()
            console.tell(f"{self.finished} of {self.total} submissions, {self._numbers()}")

    def _numbers(self) -> str:
        seconds = max(time.monotonic() - self._begin, 0.001)
        text = f"{self.tests} tests, {self.tests / seconds:.0f} tests/s"
        if self._fleet:
            up = sum(server.state == _HEALTHY for server in self._fleet)
            text += f", {up} of {counted(len(self._fleet), 'server')}"
        return f"{text}, {self.failed} failed" if self.failed else text

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK_S)
            self._tell_of_servers()
            if self._fleet and time.monotonic() - self._listed > _SERVERS_INTERVAL_S:
                self._listed = time.monotonic()
                self._tell(servers_line(self._fleet))
            self.draw()
            if self._bar is not None:
                self._bar.refresh()


def crowded(event: Overloaded, machine: str = "This machine is") -> str:
    return (
        f"{machine} overloaded (programs ran {event.computed:.0f} s and waited {event.waited:.0f} s). "
        "Verdicts are unaffected; the run is slower."
    )


def news(found: ServersFound) -> Iterator[str]:
    """Yield lines about an engine's servers: their number, and those that are not used."""
    servers, jobs = counted(found.servers, "server"), f"{counted(found.slots, 'job')} at a time"
    if found.cores:
        jobs += f" on {found.cores} cores (--per-endpoint N gives each server N jobs)"
    if found.uses:
        unreachable = f", {len(found.unreachable)} cannot be reached" if found.unreachable else ""
        yield f"{servers}: {found.uses}{unreachable}; {jobs}, {found.jobs}"
    else:
        yield f"{found.used} of {servers}, {jobs}"
    yield from _some(found.unreachable)
    yield from _some([f"{url} is left out: {reason}" for url, reason in found.left_out.items()])
    for difference in found.differences:
        yield f"{difference.name}: {difference.detail}" + (
            f". {console.as_called(difference.remedy)}" if difference.remedy else ""
        )


def _some(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:_MAX_LISTED]
    if len(lines) > _MAX_LISTED:
        yield f"and {len(lines) - _MAX_LISTED} more like these"


_AGAIN = {
    ResultChange.PROBLEM: "judged again, because the problem changed",
    ResultChange.PROGRAM: "judged again, because the program changed",
    ResultChange.COLUMNS: "written again, because other columns of the row changed",
    ResultChange.GONE: "no longer in the dump; moved to earlier.jsonl",
}


def again(event: JudgedAgain) -> Iterator[str]:
    """Yield a line for each reason why earlier results are replaced."""
    for reason, number in event.reasons.items():
        named = f" ({', '.join(event.problems[:_MAX_LISTED])})" if reason is ResultChange.PROBLEM else ""
        yield f"{counted(number, 'earlier result')}: {_AGAIN[reason]}{named}"


def measured(limit: MeasuredLimit) -> str:
    several = counted(limit.processes, "process", "processes")
    forks = (
        f"{limit.problem}: {several} in all, which accepted solutions need with {', '.join(limit.forks_by)}; "
        "CPU time and memory are limited for all together"
    )
    if not limit.multiplier:
        return forks
    return (f"{forks}\n" if limit.forks_by else "") + (
        f"{limit.problem}: time limit {limit.cpu_time:g} s, {limit.multiplier:g} times the slowest accepted "
        f"solution ({limit.solution}: {limit.slowest:.3f} s on test {limit.test})"
    )


# --- signals -----------------------------------------------------------------------------------------


class Signals:
    """Handles Ctrl-C, SIGTERM and SIGHUP. It receives the run's events.

    While an engine is open, a signal cancels the run, which then cleans up. Further signals have no effect,
    because an interrupted cleanup would leave files behind. Without an open engine, signals have their
    default effect.
    """

    def __init__(self) -> None:
        self._before = {number: signal.getsignal(number) for number in _ENDING}
        self._cancelled = False

    def __call__(self, event: Event) -> None:
        if isinstance(event, EngineStarting) and not self._cancelled:
            task, loop = asyncio.current_task(), asyncio.get_running_loop()
            assert task is not None, "events are emitted in the task of the call"

            def stop(number: int, frame: object) -> None:
                # An empty handler instead of SIG_IGN, which the processes of the cleanup would inherit.
                _handle(dict.fromkeys(_ENDING, lambda *_: None))
                self._cancelled = True
                loop.call_soon_threadsafe(task.cancel)

            _handle(dict.fromkeys(_ENDING, stop))
        elif isinstance(event, EngineStopped) and not self._cancelled:
            self._interrupt_at_once()

    def __enter__(self) -> Self:
        self._interrupt_at_once()
        return self

    def _interrupt_at_once(self) -> None:
        """Restore the default handlers. Ctrl-C gets our own: asyncio would replace Python's default one."""
        ours: dict[signal.Signals, Any] = {signal.SIGINT: _interrupt}
        if self._before[signal.SIGINT] is not signal.default_int_handler:
            ours = {}
        _handle({**self._before, **ours})

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, asyncio.CancelledError):
            raise KeyboardInterrupt from None
        _handle(self._before)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _handle(handlers: Mapping[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


def watched(output: OutputOptions, call: Callable[[OnEvent], Coroutine[Any, Any, _T]]) -> tuple[_T, float]:
    """Run a use case. Return its result and its duration in seconds.

    If the user interrupts it, print the command that continues, and exit with code 130.
    """
    begin = time.monotonic()
    try:
        with RunProgress(quiet=output.silent) as progress, Signals() as signals:

            def tell(event: Event) -> None:
                signals(event)
                progress(event)

            return asyncio.run(call(tell)), time.monotonic() - begin
    except KeyboardInterrupt:
        # The cleanup is complete; only the exit code is left.
        _handle(dict.fromkeys(_ENDING, signal.SIG_IGN))
        console.tell("")
        console.tell("Interrupted. All results so far are stored; the same command continues from there:")
        console.tell(f"    {output.again}")
        raise typer.Exit(console.INTERRUPTED) from None


# --- the end -----------------------------------------------------------------------------------------


def say_failures(failures: Mapping[str, str], out: str) -> None:
    """Print why the first submissions failed, the file that lists all of them, and the remedies."""
    for key, reason in list(failures.items())[:_SHOWN_FAILURES]:
        console.tell(f"not judged: {key}: {console.as_called(reason)}", failure="not judged:")
    if not (number := len(failures)):
        return
    rows = read_failures(Path(out))
    # Submissions without a row were never tried, and never will be.
    final = sum(key not in rows or rows[key].get("final") is True for key in failures)
    them = "it" if number == 1 else "them" if not final else f"{number - final:,} of them"
    mends = Counter(
        str(rows[key]["remedy"])
        for key in failures
        if key in rows and rows[key].get("remedy") and rows[key].get("final") is not True
    )
    again = f"the same command retries only {them}" if final < number else "no other try helps"
    if mends:
        again = f"fix the causes below, then {again}"
    console.tell(f"{counted(number, 'submission')} could not be judged, see {out}/failures.jsonl; {again}")
    for remedy, stopped in mends.most_common(_SHOWN_FAILURES):
        console.tell(f"{stopped:,} of them: {console.as_called(remedy)}")
    if 0 < final < number:
        console.tell(f"{final:,} of them can never be judged: no other try helps")


def say_unscored(models: Iterable[ModelSummary]) -> None:
    """Print the models that have a notable share of submissions without a result."""
    for model in models:
        if model.unscored > _NOTABLE_SHARE * model.submissions:
            part = share(model.unscored, model.submissions)
            name = model_name(model.model)
            console.tell(f"{name}: {part} of its submissions are unscored; none of its numbers count them")


def what_was_done(call: RunSummary, seconds: float, *, unscored: int) -> str:
    if not call.judged and not unscored:
        if not call.skipped:
            return "Nothing to judge."
        number = counted(call.skipped, "submission")
        return f"Nothing new to do: {number} asked for, all scored by earlier calls."
    text = f"Scored {counted(call.judged, 'submission')}"
    if call.repeated:
        text += f" ({call.repeated} equal to another one)"
    rate = call.tests / seconds
    often = f"{rate:.0f}" if rate >= 10 else f"{rate:.2g}"  # slow is not never
    text += f" in {seconds:.1f} s: {counted(call.tests, 'test')}, {often} a second"
    were = "was" if call.skipped == 1 else "were"
    return f"{text}; {call.skipped} {were} scored by earlier calls" if call.skipped else text


# --- servers -----------------------------------------------------------------------------------------


_GATHERING_S = 2.0  # changes within this time share a line, as when a rack loses its power
_MAX_NAMED = 3  # servers that a line names
_MAX_WHY = 200  # maximum length of a server's last error, in characters
_MAX_LINES, _LINES_PERIOD_S = 4, 600.0  # maximum number of lines about one server within this time
_WELL = (Change.BACK, Change.JOINED)
_WORDS = {
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


def servers_line(servers: Sequence[ServerState]) -> str:
    """Return a line with the states of the first servers, beginning with failed ones, and the others' sum."""
    ordered = sorted(servers, key=lambda server: (server.state == _HEALTHY, server.url))
    shown, others = ordered[:_MAX_NAMED], ordered[_MAX_NAMED:]
    parts = [_in_words(server) for server in shown]
    if others:
        slots, busy = (sum(getattr(server, name) for server in others) for name in ("slots", "busy"))
        rate = sum(server.rate for server in others)
        up = sum(server.state == _HEALTHY for server in others)
        parts.append(f"{up} of {len(others)} more work, {busy} of {slots} slots busy, {rate:.2f} jobs/s")
    return f"Servers: {'; '.join(parts)}"


def _in_words(server: ServerState) -> str:
    since = "" if server.since is None else time.strftime(" since %H:%M:%S", time.localtime(server.since))
    state = "works" if server.state == _HEALTHY else f"is {server.state}{since}"
    error = f", last error: {server.why}" if server.why else ""
    return (
        f"{server.url} {state}, {server.busy} of {server.slots} slots busy, {server.rate:.2f} jobs/s{error}"
    )


class ServerEventLog:
    """Collects changes of servers for a moment, and reports those that lasted."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._new: dict[str, ServerChanged] = {}  # the latest of each server
        self._since = 0.0
        self._waiting: JobsWait | None = None
        self._told: dict[str, Change] = {}
        self._lines: defaultdict[str, deque[float]] = defaultdict(deque)

    def add(self, event: ServerEvent) -> None:
        if isinstance(event, ServerChanged) and event.change is Change.TRIAL:
            return  # reported as BACK after the server answers a job
        if not self._new and self._waiting is None:
            self._since = self._clock()
        if isinstance(event, JobsWait):
            self._waiting = event
        else:
            self._new.pop(event.url, None)
            self._new[event.url] = event

    def lines(self, *, at_once: bool = False) -> Iterator[str]:
        """Yield the messages that are due; all messages if `at_once` is true."""
        now = self._clock()
        if (not self._new and self._waiting is None) or (not at_once and now - self._since < _GATHERING_S):
            return
        events, waiting = [event for event in self._new.values() if self._is_news(event, now)], self._waiting
        last = next(reversed(self._new.values()), None)
        self._new, self._waiting = {}, None
        for change in Change:
            if found := [event for event in events if event.change is change]:
                names = ", ".join(event.url for event in found[:_MAX_NAMED])
                more = f" and {len(found) - _MAX_NAMED} more" if len(found) > _MAX_NAMED else ""
                is_or_are = _WORDS[change][len(found) > 1]
                reason = f" ({found[0].reason})" if found[0].reason else ""
                usable = last or found[-1]
                servers, jobs = counted(usable.usable, "server"), counted(usable.slots, "job")
                yield f"{names}{more} {is_or_are}{reason}; {servers} for {jobs} at a time now"
        if waiting is not None and (last is None or not last.usable):
            yield (
                f"No server can be used: submissions wait for one, {waiting.seconds:g} s at most; "
                "those that get none are not judged"
            )

    def _is_news(self, event: ServerChanged, now: float) -> bool:
        """Return True if the change should be reported: servers that change constantly are not."""
        before, lines = self._told.get(event.url, Change.BACK), self._lines[event.url]
        while lines and lines[0] < now - _LINES_PERIOD_S:
            lines.popleft()
        if event.change is not Change.BACK or not event.reason:  # else another compiler: always news
            same = before is event.change or (before in _WELL and event.change in _WELL and bool(lines))
            if same or len(lines) >= _MAX_LINES or (event.change is Change.BACK and not lines):
                return False
        self._told[event.url] = event.change
        lines.append(now)
        return True
