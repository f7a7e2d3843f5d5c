"""The server of `ioi-eval view`: a run's live page, the report so far, counts for Prometheus.

It reads the run's folder and never writes there: the report is made in a temporary folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
import re
import tempfile
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from aiohttp import web

from ioi_eval.engines.jobs.piston_api import RefusedRequest
from ioi_eval.model.errors import InputError
from ioi_eval.model.nesting import shallow
from ioi_eval.model.quoting import quote_label
from ioi_eval.model.values import Reason, Value
from ioi_eval.registries import VIEW_PAGE, Registry, find_registered, registered_names
from ioi_eval.reports import write_reports
from ioi_eval.reports.document import FOLDER, STYLE, asset
from ioi_eval.reports.summary import check_run
from ioi_eval.server.options import ServerOptions, check_hosts
from ioi_eval.server.server import listen_at_address
from ioi_eval.store.folder import FAILURES, PROGRESS, RESULTS, Activity, Progress, read_progress
from ioi_eval.store.rows import MODEL_COLUMNS, model_of_row, shorten

_POLL_INTERVAL_S = 1.0  # between two checks of the folder
_KEEPALIVE_S = 15.0  # after which viewers get an event even if nothing has changed
_MIN_REPORT_AGE_S, _REPORT_PAUSE_FACTOR = (
    30.0,
    20,
)  # seconds before a report is made again, and the minimum as a multiple of the CPU time that it took
_COOKIE = "ioi_eval_view"
_ROWS_HEADER = "Ioi-Eval-Rows"  # rows of the run when the report was made
_PAGE = re.compile(r"[a-z]+(-([0-9a-f]{16}|[0-9]+))?\.(html|css|js)", re.ASCII)
_POLICY = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'"
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class LivePage:
    """The routes of the live page. All viewers share the state that one task reads from the folder."""

    def __init__(self, run: Path, report_folder: Path, options: ServerOptions) -> None:
        self._monitor, self._run, self._report_folder, self._options = (
            RunMonitor(run),
            run,
            report_folder,
            options,
        )
        self._report_lock, self._stale_at = asyncio.Lock(), 0.0  # when the report so far is made again
        self._reported_state = (0, False)  # rows of the report so far, and whether the run had ended
        self._state: RunState | None = None
        self._state_changed = asyncio.Condition()
        self._pages = {
            name: page
            for name, make_page in _find_page_makers().items()
            if (page := make_page(run)) is not None
        }

    def make_application(self) -> web.Application:
        application = web.Application(middlewares=[self._check_access])
        application.add_routes(
            [
                web.get(
                    "/",
                    _make_text_handler(
                        "text/html", self._build_start_page, {"Content-Security-Policy": _POLICY}
                    ),
                ),
                web.get("/events", self._send_events),
                web.get("/metrics", self._send_metrics),
                web.get("/view.js", _make_text_handler("text/javascript", partial(_read_asset, "view.js"))),
                web.get(f"/{STYLE}", _make_text_handler("text/css", partial(asset, STYLE))),
                web.get("/report.html", self._send_report),
                web.get(f"/{FOLDER}/{{name}}", self._send_report),
                *(
                    web.get(f"/{name}", _make_text_handler("text/html", page))
                    for name, page in self._pages.items()
                ),
            ]
        )
        return application

    def _build_start_page(self) -> str:
        """Return the live page, with links to the pages of plugins."""
        links = "".join(f'<a href="{name}">{name.capitalize()}</a>' for name in self._pages)
        return _read_asset("view.html").replace("<!-- pages of plugins -->", links)

    async def watch_folder(self) -> None:
        """Read the folder's state regularly, until the task is cancelled."""
        while True:
            with contextlib.suppress(OSError):  # a file is being replaced, and the next check finds it
                state = await asyncio.to_thread(self._monitor.poll)
                if state is not self._state:
                    async with self._state_changed:
                        self._state = state
                        self._state_changed.notify_all()
            await asyncio.sleep(_POLL_INTERVAL_S)

    # --- who may see it ---

    @web.middleware
    async def _check_access(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            check_hosts(request.headers, self._options)
        except RefusedRequest as refused:
            return web.Response(status=refused.status, text=f"{refused}\n", headers=_HEADERS)
        token, header = self._options.token, request.headers.get("Authorization", "")
        received_tokens = (request.cookies.get(_COOKIE, ""), header[len("Bearer ") :])
        if token and _equals_token(request.query.get("token", ""), token):
            # From here on a cookie has the token, so that addresses do not contain it.
            reply: web.StreamResponse = web.Response(status=303, headers={"Location": request.path})
            reply.set_cookie(_COOKIE, token, httponly=True, samesite="Strict")
        elif token and not any(_equals_token(received, token) for received in received_tokens):
            reply = web.Response(status=401, text="Add ?token=... to the address.\n")
        else:
            reply = await handler(request)
        if not reply.prepared:
            reply.headers.update(_HEADERS)
        return reply

    # --- what there is to see ---

    async def _send_events(self, request: web.Request) -> web.StreamResponse:
        """Send the state, and then the changed fields of each later state, as server-sent events."""
        reply = web.StreamResponse(headers={"Content-Type": "text/event-stream", **_HEADERS})
        await reply.prepare(request)
        last_state: RunState | None = None
        with contextlib.suppress(ConnectionError):
            while True:
                if self._state is last_state:
                    await self._wait_for_state()
                state = self._state
                event = (
                    b":"
                    if state is None or state is last_state
                    else b"data: " + changed_fields(state, last_state)
                )
                await reply.write(event + b"\n\n")
                last_state = state
        return reply

    async def _wait_for_state(self) -> None:
        """Wait for a new state, or until it is time for an event that shows that the server is alive."""
        async with self._state_changed:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._state_changed.wait(), _KEEPALIVE_S)

    async def _send_metrics(self, request: web.Request) -> web.Response:
        if self._state is None:
            await self._wait_for_state()
        if self._state is None:
            return web.Response(status=503, text="The rows are still being read.\n")
        return web.Response(text=format_prometheus(self._state))

    async def _send_report(self, request: web.Request) -> web.StreamResponse:
        """Return a page of the report so far. The report is made on request."""
        name = request.match_info.get("name")
        if name is not None and not _PAGE.fullmatch(name):
            raise web.HTTPNotFound
        try:
            async with self._report_lock:
                run_state = (0, False) if self._state is None else (self._state.rows, self._state.ended)
                # After the end of the run the report is made again at once, because it is final then.
                if time.monotonic() >= self._stale_at or (run_state[1] and run_state != self._reported_state):
                    self._reported_state = run_state
                    cpu_start = time.process_time()
                    await asyncio.to_thread(write_reports, self._run, into=self._report_folder)
                    self._stale_at = time.monotonic() + max(
                        _MIN_REPORT_AGE_S, _REPORT_PAUSE_FACTOR * (time.process_time() - cpu_start)
                    )
        except InputError as error:
            return web.Response(status=503, text=f"{error}\n")
        path = self._report_folder / ("report.html" if name is None else f"{FOLDER}/{name}")
        if not path.is_file():
            raise web.HTTPNotFound
        return web.FileResponse(path, headers={_ROWS_HEADER: str(self._reported_state[0])})


def _make_text_handler(
    content_type: str, make_text: Callable[[], str], headers: Mapping[str, str] | None = None
) -> Handler:
    """Return a handler that responds with the string that `make_text` returns at that time."""

    async def respond(request: web.Request) -> web.Response:
        return web.Response(
            text=await asyncio.to_thread(make_text), content_type=content_type, headers=headers
        )

    return respond


def _find_page_makers() -> dict[str, Callable[[Path], Callable[[], str] | None]]:
    """Return the functions that make pages of plugins, by the names in the pages' addresses.

    Such a function takes the run's folder. It returns a function that returns the page's HTML, or None if the
    run has no such page.
    """
    return {
        name.removeprefix(VIEW_PAGE): find_registered(Registry.ROUTES, name)
        for name in registered_names(Registry.ROUTES)
        if name.startswith(VIEW_PAGE)
    }


def _read_asset(name: str) -> str:
    return Path(__file__).with_name(name).read_text("utf-8")


def _equals_token(received: str, token: str) -> bool:
    return hmac.compare_digest(received.encode(), token.encode())


@contextlib.asynccontextmanager
async def serve_live_page(run: Path, options: ServerOptions) -> AsyncIterator[str]:
    """Serve a run's folder, and yield the address. Raise InputError if the folder has no run."""
    with tempfile.TemporaryDirectory(prefix="ioi-eval-view-", ignore_cleanup_errors=True) as report_folder:
        live_page = LivePage(run, Path(report_folder), options)
        async with listen_at_address(live_page.make_application(), options) as address:
            watch_task = asyncio.create_task(live_page.watch_folder())
            try:
                yield address
            finally:
                watch_task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await watch_task


# --- a run that is watched ---------------------------------------------------------------------------


_READ_SIZE_BYTES = 1 << 22  # bytes of a file that are read at a time
_WINDOW_S = 60.0  # window of the rate; longer if it has fewer than _MIN_ROWS rows
_MIN_ROWS, _MAX_WINDOW_S = 20, 3600.0
_SLIDE_S = 5.0  # minimum time between two updates of the rate without new rows
_MAX_FAILURES, _MAX_LATEST = 50, 10  # failures and results in the state
_MAX_TEXT = 500  # maximum length of a string, in characters
_HEALTHY = "healthy"
_Row = TypeVar("_Row")


class _Result(msgspec.Struct):
    key: str
    problem_id: str = ""
    verdict: str = ""
    reason: Any = None  # may be a dump's column of this name
    model: Any = None
    model_id: Any = None
    model_name: Any = None
    model_kwargs: Any = None


class _Failure(_Result):
    phase: str = ""
    reason: str = ""
    remedy: str = ""


class Model(Value):
    model: str
    verdicts: Mapping[str, int]
    unscored: int


class LatestResult(Value):
    """One of the latest results."""

    key: str
    problem: str
    model: str
    verdict: str


class Unscored(Value):
    key: str
    problem: str
    phase: str
    reason: str
    remedy: str


class RunState(Activity, kw_only=True):
    """The state that viewers get. Servers that are not healthy come first."""

    name: str
    command: str  # continues the run, and retries submissions that could not be judged
    judged: int
    unscored: int
    rate: float  # rows a second in the window
    tests_rate: float  # tests a second in the window
    left: float | None  # estimated time left, in seconds
    last: float | None  # time of the last row, in seconds since 1970
    models: tuple[Model, ...]
    latest: tuple[LatestResult, ...]  # the latest first
    failures: tuple[Unscored, ...]  # the latest first
    alive: float | None  # time of the run's last sign of life, in seconds since 1970

    @property
    def rows(self) -> int:
        """Return the number of submissions that are done."""
        return self.judged + self.unscored


def changed_fields(state: RunState, earlier: RunState | None) -> bytes:
    """Return the fields that differ from the state `earlier`, as JSON; without it all fields."""
    values = msgspec.structs.asdict(state)
    return msgspec.json.encode(
        values
        if earlier is None
        else {name: value for name, value in values.items() if value != getattr(earlier, name)}
    )


class _GrowingFile:
    """Reads new lines of a growing file. `on_replaced` is called when the file was replaced."""

    def __init__(self, path: Path, on_replaced: Callable[[], None]) -> None:
        self._path, self._on_replaced = path, on_replaced
        self._file, self._offset, self._rest = 0, 0, b""
        self.written: float | None = None  # time of the file's last change when it was read

    def has_new_data(self) -> bool:
        """Return True if there is anything to read. An unchanged file must cost next to nothing."""
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return False
        return (status.st_ino, status.st_size) != (self._file, self._offset)

    def read_lines(self) -> Iterator[bytes]:
        try:
            stream = self._path.open("rb")
        except FileNotFoundError:
            return
        with stream:
            status = os.fstat(stream.fileno())
            self.written = status.st_mtime
            if status.st_ino != self._file or status.st_size < self._offset:
                self._file, self._offset, self._rest = status.st_ino, 0, b""
                self._on_replaced()
            stream.seek(self._offset)
            while piece := stream.read(_READ_SIZE_BYTES):
                self._offset += len(piece)
                *complete_lines, self._rest = (self._rest + piece).split(b"\n")
                yield from complete_lines


class RunMonitor:
    """Reads a run's state. Each call of `poll` counts new rows."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Raise InputError if the folder has no run."""
        self._folder, self._clock = folder, clock
        command = check_run(folder).settings.get("command")
        self._command = command if isinstance(command, str) else ""
        self._result_file = _GrowingFile(folder / RESULTS, self._reset)
        self._failure_file = _GrowingFile(folder / FAILURES, lambda: None)
        self._times: deque[tuple[float, int, int]] = deque()  # time, number of rows, number of tests
        self._latest = deque[LatestResult](maxlen=_MAX_LATEST)
        self._failures: dict[str, _Failure] = {}
        self._progress, self._progress_mtime = Progress(), 0
        self._state: RunState | None = None
        self._built_at = 0.0
        self._reset()

    def _reset(self) -> None:
        self._keys = set[str]()
        self._verdicts: dict[str, Counter[str]] = {}
        self._times.clear()
        self._latest.clear()

    def poll(self) -> RunState:
        """Return the state after new rows. If nothing has changed, it is the same object as before."""
        now = self._clock()
        has_new_rows = self._read_rows()
        self._times.append((now, len(self._keys), self._progress.tests))
        self._drop_old_samples(now)
        slide_interval = max(_SLIDE_S, (now - self._times[0][0]) / _MIN_ROWS)
        is_slide_due = self._state is not None and self._state.rate and now >= self._built_at + slide_interval
        if self._state is None or has_new_rows or is_slide_due:
            self._state, self._built_at = self._build_state(), now
        return self._state

    def _read_rows(self) -> bool:
        """Read new lines, and return True if there are any. Lines that are not rows are ignored."""
        has_progress_changed = self._read_progress()
        if not (self._result_file.has_new_data() or self._failure_file.has_new_data()):
            return has_progress_changed
        for row in _decode_rows(self._result_file, _Result):
            if row.key not in self._keys:
                self._keys.add(row.key)
                outcome = row.reason if row.reason == Reason.NO_PROGRAM else row.verdict
                model = _format_model(row)
                self._verdicts.setdefault(model, Counter())[outcome] += 1
                fields = {"key": row.key, "problem": row.problem_id, "model": model, "verdict": outcome}
                self._latest.appendleft(
                    LatestResult(**{name: shorten(text, _MAX_TEXT) for name, text in fields.items()})
                )
        for failure in _decode_rows(self._failure_file, _Failure):
            self._failures.pop(failure.key, None)  # so that the latest failure comes last
            self._failures[failure.key] = failure
        return True

    def _read_progress(self) -> bool:
        """Read progress.json, and return True if it has changed."""
        try:
            progress_mtime = (self._folder / PROGRESS).stat().st_mtime_ns
        except FileNotFoundError:
            return False
        has_changed = progress_mtime != self._progress_mtime
        if has_changed:
            self._progress, self._progress_mtime = read_progress(self._folder) or Progress(), progress_mtime
        return has_changed

    def _build_state(self) -> RunState:
        open_failures = [failure for key, failure in self._failures.items() if key not in self._keys]
        progress = self._progress
        judged, total = len(self._keys), progress.total
        (first_time, first_rows, first_tests), (last_time, last_rows, last_tests) = (
            self._times[0],
            self._times[-1],
        )
        seconds = last_time - first_time
        rate, tests_rate = (
            max(0, number) / seconds if seconds > 0 else 0.0
            for number in (last_rows - first_rows, last_tests - first_tests)
        )
        waiting = None if total is None else max(0, total - judged - len(open_failures))
        unscored = Counter(_format_model(failure) for failure in open_failures)
        activity = {name: getattr(progress, name) for name in Activity.__struct_fields__}
        activity["standings"] = tuple(
            sorted(progress.standings, key=lambda standing: standing.state == _HEALTHY)
        )
        return RunState(
            **activity,
            name=self._folder.resolve().name,
            command=self._command,
            judged=judged,
            unscored=len(open_failures),
            rate=rate,
            tests_rate=tests_rate,
            left=waiting / rate if waiting is not None and rate and not progress.ended else None,
            last=self._result_file.written if judged else None,
            models=tuple(
                Model(model=name, verdicts=dict(self._verdicts.get(name, {})), unscored=unscored[name])
                for name in sorted(self._verdicts.keys() | unscored.keys())
            ),
            latest=tuple(self._latest),
            failures=tuple(
                Unscored(
                    key=shorten(failure.key, _MAX_TEXT),
                    problem=shorten(failure.problem_id, _MAX_TEXT),
                    phase=failure.phase,
                    reason=shorten(failure.reason, _MAX_TEXT),
                    remedy=shorten(failure.remedy, _MAX_TEXT),
                )
                for failure in open_failures[: -_MAX_FAILURES - 1 : -1]
            ),
            alive=progress.at,
        )

    def _drop_old_samples(self, now: float) -> None:
        """Drop measurements before the window: the last minute, or longer if there were few rows."""
        times, row_count = self._times, self._times[-1][1]
        while len(times) > 1:
            age, has_enough_rows = now - times[0][0], row_count - times[1][1] >= _MIN_ROWS
            if age <= _WINDOW_S or (age <= _MAX_WINDOW_S and not has_enough_rows):
                return
            times.popleft()


def _decode_rows(tail: _GrowingFile, kind: type[_Row]) -> Iterator[_Row]:
    decoder = msgspec.json.Decoder(kind)
    for line in tail.read_lines():
        try:
            yield decoder.decode(shallow(line))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue


def _format_model(row: _Result) -> str:
    columns = {name: getattr(row, name) for name in (*MODEL_COLUMNS, "model_kwargs")}
    return shorten(model_of_row(columns), _MAX_TEXT)


def format_prometheus(state: RunState) -> str:
    """Return the state in Prometheus' text format."""
    lines = ["# TYPE ioi_eval_run_submissions gauge"]
    for model in state.models:
        counts = {**model.verdicts, "unscored": model.unscored}
        lines += [
            f"ioi_eval_run_submissions{{model={quote_label(model.model)},verdict={quote_label(verdict)}}} "
            f"{number}"
            for verdict, number in counts.items()
        ]
    gauges = {
        "expected": state.total,
        "rate": state.rate,
        "tests_rate": state.tests_rate,
        "seconds_left": state.left,
        "seconds_since_row": None if state.last is None else max(0.0, time.time() - state.last),
        "ended": int(state.ended),
        "under_way": state.under_way,
        "building": state.building,
        "builds_waiting": state.builds_waiting,
        "servers": state.servers,
        "slots": state.slots,
    }
    for name, value in gauges.items():
        if value is not None:
            lines += [f"# TYPE ioi_eval_run_{name} gauge", f"ioi_eval_run_{name} {value:g}"]
    for name in ("up", "slots", "busy", "rate", "errors") if state.standings else ():
        lines.append(f"# TYPE ioi_eval_run_server_{name} gauge")
        for server in state.standings:
            server_value = int(server.state == _HEALTHY) if name == "up" else getattr(server, name)
            lines.append(f"ioi_eval_run_server_{name}{{server={quote_label(server.url)}}} {server_value}")
    return "\n".join(lines) + "\n"
