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
from ioi_eval.server.server import listening
from ioi_eval.store.folder import FAILURES, PROGRESS, RESULTS, Activity, Progress, read_progress
from ioi_eval.store.rows import MODEL_COLUMNS, model_of_row, shorten

_POLL_INTERVAL_S = 1.0  # between two checks of the folder
_KEEPALIVE_S = 15.0  # after which viewers get an event even if nothing has changed
_FRESH, _REST = (
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


class View:
    """The routes of the live page. All viewers share the state that one task reads from the folder."""

    def __init__(self, run: Path, place: Path, options: ServerOptions) -> None:
        self._watch, self._run, self._place, self._options = Watch(run), run, place, options
        self._making, self._stale_at = asyncio.Lock(), 0.0  # when the report so far is made again
        self._reported = (0, False)  # rows of the report so far, and whether the run had ended
        self._state: RunState | None = None
        self._news = asyncio.Condition()
        self._pages = {name: page for name, make in _page_makers().items() if (page := make(run)) is not None}

    def application(self) -> web.Application:
        application = web.Application(middlewares=[self._admit])
        application.add_routes(
            [
                web.get(
                    "/",
                    _shows("text/html", self._start_page, {"Content-Security-Policy": _POLICY}),
                ),
                web.get("/events", self._events),
                web.get("/metrics", self._metrics),
                web.get("/view.js", _shows("text/javascript", partial(_read, "view.js"))),
                web.get(f"/{STYLE}", _shows("text/css", partial(asset, STYLE))),
                web.get("/report.html", self._report),
                web.get(f"/{FOLDER}/{{name}}", self._report),
                *(web.get(f"/{name}", _shows("text/html", page)) for name, page in self._pages.items()),
            ]
        )
        return application

    def _start_page(self) -> str:
        """Return the live page, with links to the pages of plugins."""
        links = "".join(f'<a href="{name}">{name.capitalize()}</a>' for name in self._pages)
        return _read("view.html").replace("<!-- pages of plugins -->", links)

    async def look(self) -> None:
        """Read the folder's state regularly, until the task is cancelled."""
        while True:
            with contextlib.suppress(OSError):  # a file is being replaced, and the next check finds it
                state = await asyncio.to_thread(self._watch.poll)
                if state is not self._state:
                    async with self._news:
                        self._state = state
                        self._news.notify_all()
            await asyncio.sleep(_POLL_INTERVAL_S)

    # --- who may see it ---

    @web.middleware
    async def _admit(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            check_hosts(request.headers, self._options)
        except RefusedRequest as refused:
            return web.Response(status=refused.status, text=f"{refused}\n", headers=_HEADERS)
        token, header = self._options.token, request.headers.get("Authorization", "")
        brought = (request.cookies.get(_COOKIE, ""), header[len("Bearer ") :])
        if token and _same(request.query.get("token", ""), token):
            # From here on a cookie has the token, so that addresses do not contain it.
            answer: web.StreamResponse = web.Response(status=303, headers={"Location": request.path})
            answer.set_cookie(_COOKIE, token, httponly=True, samesite="Strict")
        elif token and not any(_same(given, token) for given in brought):
            answer = web.Response(status=401, text="Add ?token=... to the address.\n")
        else:
            answer = await handler(request)
        if not answer.prepared:
            answer.headers.update(_HEADERS)
        return answer

    # --- what there is to see ---

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """Send the state, and then the changed fields of each later state, as server-sent events."""
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream", **_HEADERS})
        await answer.prepare(request)
        last: RunState | None = None
        with contextlib.suppress(ConnectionError):
            while True:
                if self._state is last:
                    await self._another()
                now = self._state
                event = b":" if now is None or now is last else b"data: " + changed_fields(now, last)
                await answer.write(event + b"\n\n")
                last = now
        return answer

    async def _another(self) -> None:
        """Wait for a new state, or until it is time for an event that shows that the server is alive."""
        async with self._news:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), _KEEPALIVE_S)

    async def _metrics(self, request: web.Request) -> web.Response:
        if self._state is None:
            await self._another()
        if self._state is None:
            return web.Response(status=503, text="The rows are still being read.\n")
        return web.Response(text=prometheus(self._state))

    async def _report(self, request: web.Request) -> web.StreamResponse:
        """Return a page of the report so far. The report is made on request."""
        name = request.match_info.get("name")
        if name is not None and not _PAGE.fullmatch(name):
            raise web.HTTPNotFound
        try:
            async with self._making:
                state = (0, False) if self._state is None else (self._state.rows, self._state.ended)
                # After the end of the run the report is made again at once, because it is final then.
                if time.monotonic() >= self._stale_at or (state[1] and state != self._reported):
                    self._reported = state
                    begun = time.process_time()
                    await asyncio.to_thread(write_reports, self._run, into=self._place)
                    self._stale_at = time.monotonic() + max(_FRESH, _REST * (time.process_time() - begun))
        except InputError as error:
            return web.Response(status=503, text=f"{error}\n")
        path = self._place / ("report.html" if name is None else f"{FOLDER}/{name}")
        if not path.is_file():
            raise web.HTTPNotFound
        return web.FileResponse(path, headers={_ROWS_HEADER: str(self._reported[0])})


def _shows(kind: str, text: Callable[[], str], headers: Mapping[str, str] | None = None) -> Handler:
    """Return a handler that responds with the string that `text` returns at that time."""

    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=await asyncio.to_thread(text), content_type=kind, headers=headers)

    return answer


def _page_makers() -> dict[str, Callable[[Path], Callable[[], str] | None]]:
    """Return the functions that make pages of plugins, by the names in the pages' addresses.

    Such a function takes the run's folder. It returns a function that returns the page's HTML, or None if the
    run has no such page.
    """
    return {
        name.removeprefix(VIEW_PAGE): find_registered(Registry.ROUTES, name)
        for name in registered_names(Registry.ROUTES)
        if name.startswith(VIEW_PAGE)
    }


def _read(name: str) -> str:
    return Path(__file__).with_name(name).read_text("utf-8")


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(), token.encode())


@contextlib.asynccontextmanager
async def view(run: Path, options: ServerOptions) -> AsyncIterator[str]:
    """Serve a run's folder, and yield the address. Raise InputError if the folder has no run."""
    with tempfile.TemporaryDirectory(prefix="ioi-eval-view-", ignore_cleanup_errors=True) as place:
        viewed = View(run, Path(place), options)
        async with listening(viewed.application(), options) as address:
            looking = asyncio.create_task(viewed.look())
            try:
                yield address
            finally:
                looking.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await looking


# --- a run that is watched ---------------------------------------------------------------------------


_PIECE = 1 << 22  # bytes of a file that are read at a time
_WINDOW_S = 60.0  # window of the rate; longer if it has fewer than _MIN_ROWS rows
_MIN_ROWS, _MAX_WINDOW_S = 20, 3600.0
_SLIDE_S = 5.0  # minimum time between two updates of the rate without new rows
_MAX_FAILURES, _MAX_LATEST = 50, 10  # failures and results in the state
_MAX_TEXT = 500  # maximum length of a string, in characters
_WELL = "healthy"
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


def changed_fields(now: RunState, before: RunState | None) -> bytes:
    """Return the fields that differ from the state `before`, as JSON; without it all fields."""
    values = msgspec.structs.asdict(now)
    return msgspec.json.encode(
        values
        if before is None
        else {name: value for name, value in values.items() if value != getattr(before, name)}
    )


class _Tail:
    """Reads new lines of a growing file. `begin` is called when the file was replaced."""

    def __init__(self, path: Path, begin: Callable[[], None]) -> None:
        self._path, self._begin = path, begin
        self._file, self._offset, self._rest = 0, 0, b""
        self.written: float | None = None  # time of the file's last change when it was read

    def grown(self) -> bool:
        """Return True if there is anything to read. An unchanged file must cost next to nothing."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return False
        return (found.st_ino, found.st_size) != (self._file, self._offset)

    def lines(self) -> Iterator[bytes]:
        try:
            stream = self._path.open("rb")
        except FileNotFoundError:
            return
        with stream:
            found = os.fstat(stream.fileno())
            self.written = found.st_mtime
            if found.st_ino != self._file or found.st_size < self._offset:
                self._file, self._offset, self._rest = found.st_ino, 0, b""
                self._begin()
            stream.seek(self._offset)
            while piece := stream.read(_PIECE):
                self._offset += len(piece)
                *whole, self._rest = (self._rest + piece).split(b"\n")
                yield from whole


class Watch:
    """Reads a run's state. Each call of `poll` counts new rows."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Raise InputError if the folder has no run."""
        self._folder, self._clock = folder, clock
        command = check_run(folder).settings.get("command")
        self._command = command if isinstance(command, str) else ""
        self._results = _Tail(folder / RESULTS, self._begin)
        self._failed = _Tail(folder / FAILURES, lambda: None)
        self._times: deque[tuple[float, int, int]] = deque()  # time, number of rows, number of tests
        self._latest = deque[LatestResult](maxlen=_MAX_LATEST)
        self._failures: dict[str, _Failure] = {}
        self._progress, self._noted = Progress(), 0
        self._state: RunState | None = None
        self._made = 0.0
        self._begin()

    def _begin(self) -> None:
        self._keys = set[str]()
        self._verdicts: dict[str, Counter[str]] = {}
        self._times.clear()
        self._latest.clear()

    def poll(self) -> RunState:
        """Return the state after new rows. If nothing has changed, it is the same object as before."""
        now = self._clock()
        grown = self._read()
        self._times.append((now, len(self._keys), self._progress.tests))
        self._forget(now)
        slide = max(_SLIDE_S, (now - self._times[0][0]) / _MIN_ROWS)
        slid = self._state is not None and self._state.rate and now >= self._made + slide
        if self._state is None or grown or slid:
            self._state, self._made = self._counted(), now
        return self._state

    def _read(self) -> bool:
        """Read new lines, and return True if there are any. Lines that are not rows are ignored."""
        noted = self._note()
        if not (self._results.grown() or self._failed.grown()):
            return noted
        for row in _rows(self._results, _Result):
            if row.key not in self._keys:
                self._keys.add(row.key)
                word = row.reason if row.reason == Reason.NO_PROGRAM else row.verdict
                model = _model(row)
                self._verdicts.setdefault(model, Counter())[word] += 1
                texts = {"key": row.key, "problem": row.problem_id, "model": model, "verdict": word}
                self._latest.appendleft(
                    LatestResult(**{name: shorten(text, _MAX_TEXT) for name, text in texts.items()})
                )
        for failure in _rows(self._failed, _Failure):
            self._failures.pop(failure.key, None)  # so that the latest failure comes last
            self._failures[failure.key] = failure
        return True

    def _note(self) -> bool:
        """Read progress.json, and return True if it has changed."""
        try:
            file = (self._folder / PROGRESS).stat().st_mtime_ns
        except FileNotFoundError:
            return False
        changed = file != self._noted
        if changed:
            self._progress, self._noted = read_progress(self._folder) or Progress(), file
        return changed

    def _counted(self) -> RunState:
        failing = [failure for key, failure in self._failures.items() if key not in self._keys]
        progress = self._progress
        judged, total = len(self._keys), progress.total
        (first, least, few), (last, most, many) = self._times[0], self._times[-1]
        seconds = last - first
        rate, tests_rate = (
            max(0, number) / seconds if seconds > 0 else 0.0 for number in (most - least, many - few)
        )
        waiting = None if total is None else max(0, total - judged - len(failing))
        unscored = Counter(_model(failure) for failure in failing)
        shown = {name: getattr(progress, name) for name in Activity.__struct_fields__}
        shown["standings"] = tuple(sorted(progress.standings, key=lambda standing: standing.state == _WELL))
        return RunState(
            **shown,
            name=self._folder.resolve().name,
            command=self._command,
            judged=judged,
            unscored=len(failing),
            rate=rate,
            tests_rate=tests_rate,
            left=waiting / rate if waiting is not None and rate and not progress.ended else None,
            last=self._results.written if judged else None,
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
                for failure in failing[: -_MAX_FAILURES - 1 : -1]
            ),
            alive=progress.at,
        )

    def _forget(self, now: float) -> None:
        """Drop measurements before the window: the last minute, or longer if there were few rows."""
        times, last = self._times, self._times[-1][1]
        while len(times) > 1:
            past, enough = now - times[0][0], last - times[1][1] >= _MIN_ROWS
            if past <= _WINDOW_S or (past <= _MAX_WINDOW_S and not enough):
                return
            times.popleft()


def _rows(tail: _Tail, kind: type[_Row]) -> Iterator[_Row]:
    decoder = msgspec.json.Decoder(kind)
    for line in tail.lines():
        try:
            yield decoder.decode(shallow(line))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue


def _model(row: _Result) -> str:
    columns = {name: getattr(row, name) for name in (*MODEL_COLUMNS, "model_kwargs")}
    return shorten(model_of_row(columns), _MAX_TEXT)


def prometheus(state: RunState) -> str:
    """Return the state in Prometheus' text format."""
    lines = ["# TYPE ioi_eval_run_submissions gauge"]
    for model in state.models:
        counted = {**model.verdicts, "unscored": model.unscored}
        lines += [
            f"ioi_eval_run_submissions{{model={quote_label(model.model)},verdict={quote_label(verdict)}}} "
            f"{number}"
            for verdict, number in counted.items()
        ]
    numbers = {
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
    for name, value in numbers.items():
        if value is not None:
            lines += [f"# TYPE ioi_eval_run_{name} gauge", f"ioi_eval_run_{name} {value:g}"]
    for name in ("up", "slots", "busy", "rate", "errors") if state.standings else ():
        lines.append(f"# TYPE ioi_eval_run_server_{name} gauge")
        for server in state.standings:
            figure = int(server.state == _WELL) if name == "up" else getattr(server, name)
            lines.append(f"ioi_eval_run_server_{name}{{server={quote_label(server.url)}}} {figure}")
    return "\n".join(lines) + "\n"
