"""The server of `ioi-eval view`: the report so far, with a live status bar, and counts for Prometheus.

It reads the run's folder and never writes there: the pages of report/ are written to a temporary folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import re
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
from aiohttp import web

from ioi_eval.engines.jobs.piston_api import RefusedRequest
from ioi_eval.model.errors import InputError
from ioi_eval.registries import VIEW_PAGE, Registry, list_entry_names, load_entry
from ioi_eval.reports import write_reports
from ioi_eval.reports.document import FOLDER, LiveBlock
from ioi_eval.reports.interim import InterimReport
from ioi_eval.server.monitor import RunMonitor, RunState, format_prometheus
from ioi_eval.server.options import ServerOptions, check_hosts
from ioi_eval.server.server import listen_at_address
from ioi_eval.server.strip import make_status_bar_html, make_timeline_section

_POLL_INTERVAL_S = 1.0  # seconds between two checks of the folder, and between two updates of the status bar
_KEEPALIVE_S = 15.0  # maximum seconds between two events that viewers receive
# Minimum seconds between two updates of the page, and of the pages in report/.
_MIN_PAGE_AGE_S, _MIN_FOLDER_AGE_S = 5.0, 30.0
# Minimum age of a result before it is computed again, as a multiple of the CPU time that it needed.
_PAUSE_FACTOR = 50
_COOKIE = "ioi_eval_view"
_PAGE = re.compile(r"[a-z]+(-([0-9a-f]{16}|[0-9]+))?\.(html|css|js)", re.ASCII)
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


_Result = TypeVar("_Result")


class RateLimitedResult(Generic[_Result]):
    """A result computed from a run's rows. It is computed again for a newer state, but not too often."""

    def __init__(
        self,
        compute_result: Callable[[RunState], _Result],
        min_age_s: float,
        pause_factor: float = _PAUSE_FACTOR,
    ) -> None:
        """`compute_result` runs in a thread.

        The pause after a call of `compute_result` is at least `pause_factor` times the call's CPU time.
        """
        self._compute_result, self._min_age_s, self._pause_factor = compute_result, min_age_s, pause_factor
        self._lock, self._stale_at = asyncio.Lock(), 0.0
        # The latest result, and the state of the run from which it was computed.
        self.latest: tuple[RunState, _Result] | None = None

    async def get(self, current_state: RunState) -> _Result:
        """Return the result for this state, or for an earlier state if it is too early for a new result."""
        async with self._lock:
            if self.latest is None or self._is_outdated(self.latest[0], current_state):
                cpu_start = time.process_time()
                self.latest = current_state, await asyncio.to_thread(self._compute_result, current_state)
                pause_s = self._pause_factor * (time.process_time() - cpu_start)
                self._stale_at = time.monotonic() + max(self._min_age_s, pause_s)
            return self.latest[1]

    def _is_outdated(self, earlier_state: RunState, current_state: RunState) -> bool:
        # When the run has ended, compute the result at once, because it is final.
        is_due = current_state.ended or time.monotonic() >= self._stale_at
        return is_due and make_report_version(current_state) != make_report_version(earlier_state)


def make_report_version(state: RunState) -> str:
    """Return a string that changes whenever the report would change."""
    return f"{state.judged}-{state.unscored}-{int(state.ended)}"


class LivePage:
    """The routes of the live page. All viewers share the state, which a single task reads from the folder."""

    def __init__(self, run: Path, report_folder: Path, options: ServerOptions) -> None:
        self._monitor, self._interim_report = RunMonitor(run), InterimReport(run)
        self._run, self._report_folder, self._options = run, report_folder, options
        self._page = RateLimitedResult(self._make_page, _MIN_PAGE_AGE_S)
        self._pages_folder = RateLimitedResult(self._make_pages_folder, _MIN_FOLDER_AGE_S)
        self._state: RunState | None = None
        self._read_event, self._shutdown_event = asyncio.Event(), asyncio.Event()
        self._strip_json, self._strip_key = b"", (0.0, "")
        self._viewer_count = 0
        self._page_task: asyncio.Task[str] | None = None
        self._script = Path(__file__).with_name("live.js").read_text("utf-8")
        self._plugin_pages = {
            name: page
            for name, make_page in _find_page_makers().items()
            if (page := make_page(run)) is not None
        }

    def make_application(self) -> web.Application:
        application = web.Application(middlewares=[self._check_access])
        application.add_routes(
            [
                web.get("/", self._send_page),
                web.get("/report.html", self._send_page),
                web.get(f"/{FOLDER}/{{name}}", self._send_page_of_folder),
                web.get("/events", self._send_events),
                web.get("/metrics", self._send_metrics),
                *(web.get(f"/{name}", _make_page_handler(page)) for name, page in self._plugin_pages.items()),
            ]
        )
        application.on_shutdown.append(self._end_event_streams)
        return application

    async def _end_event_streams(self, application: web.Application) -> None:
        self._shutdown_event.set()

    async def watch_folder(self) -> None:
        """Read the folder's state regularly, until the task is cancelled."""
        while True:
            await self._read_state()
            await asyncio.sleep(_POLL_INTERVAL_S)

    async def _read_state(self) -> None:
        # A file may be replaced at this moment; the next check will find it.
        with contextlib.suppress(OSError):
            self._state = await asyncio.to_thread(self._monitor.poll)
            self._read_event.set()

    # --- access --------------------------------------------------------------------------------------

    @web.middleware
    async def _check_access(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            check_hosts(request.headers, self._options)
        except RefusedRequest as refused:
            return web.Response(status=refused.status, text=f"{refused}\n", headers=_HEADERS)
        token, header = self._options.token, request.headers.get("Authorization", "")
        received_tokens = (request.cookies.get(_COOKIE, ""), header[len("Bearer ") :])
        if token and _equals_token(request.query.get("token", ""), token):
            # Store the token in a cookie, so that further addresses do not contain it.
            reply: web.StreamResponse = web.Response(status=303, headers={"Location": request.path})
            reply.set_cookie(_COOKIE, token, httponly=True, samesite="Strict")
        elif token and not any(_equals_token(received_token, token) for received_token in received_tokens):
            reply = web.Response(status=401, text="Add ?token=... to the address.\n")
        else:
            reply = await handler(request)
        if not reply.prepared:
            reply.headers.update(_HEADERS)
        return reply

    # --- pages ---------------------------------------------------------------------------------------

    async def _send_page(self, request: web.Request) -> web.Response:
        """Return the report so far, with the status bar above it.

        If some viewers receive events, return the latest page at once, because it is updated for them anyway.
        """
        state = await self._wait_for_state()
        if self._viewer_count and self._page.latest is not None:
            page = self._page.latest[1]
        else:
            page = await self._page.get(state)
        return web.Response(text=page, content_type="text/html")

    def _make_page(self, state: RunState) -> str:
        strip = make_status_bar_html(state, self._plugin_pages, make_report_version(state))
        live_block = LiveBlock(html=strip, script=self._script)
        return self._interim_report.render_html(live_block, make_timeline_section(state.timeline))

    async def _send_events(self, request: web.Request) -> web.StreamResponse:
        """Send the status bar as server-sent events, whenever it has changed, until the server stops."""
        reply = web.StreamResponse(headers={"Content-Type": "text/event-stream", **_HEADERS})
        await reply.prepare(request)
        sent_strip, sent_at = b"", 0.0
        self._viewer_count += 1
        try:
            while not self._shutdown_event.is_set():
                state, now_s = await self._wait_for_state(), time.monotonic()
                if self._page_task is None or self._page_task.done():
                    self._page_task = asyncio.create_task(self._page.get(state))
                strip = self._make_status_bar_json(state)
                if strip != sent_strip or now_s >= sent_at + _KEEPALIVE_S:
                    await reply.write((b":" if strip == sent_strip else b"data: " + strip) + b"\n\n")
                    sent_strip, sent_at = strip, now_s
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._shutdown_event.wait(), _POLL_INTERVAL_S)
        except ConnectionError:  # the viewer has left
            pass
        finally:
            self._viewer_count -= 1
        # aiohttp sends the last chunk when a handler returns, but not when it cancels a handler.
        return reply

    def _make_status_bar_json(self, state: RunState) -> bytes:
        """Return the status bar as JSON. All viewers get the same status bar for a second."""
        version = make_report_version(state if self._page.latest is None else self._page.latest[0])
        strip_key = (time.monotonic() // _POLL_INTERVAL_S, version)
        if strip_key != self._strip_key:
            strip = make_status_bar_html(state, self._plugin_pages, version)
            self._strip_json, self._strip_key = msgspec.json.encode(strip), strip_key
        return self._strip_json

    async def _send_metrics(self, request: web.Request) -> web.Response:
        return web.Response(text=format_prometheus(await self._wait_for_state()))

    async def _send_page_of_folder(self, request: web.Request) -> web.StreamResponse:
        """Return a page of report/. All pages are written on request."""
        name = request.match_info["name"]
        if not _PAGE.fullmatch(name):
            raise web.HTTPNotFound
        try:
            folder = await self._pages_folder.get(await self._wait_for_state())
        except InputError as error:
            return web.Response(status=503, text=f"{error}\n")
        if not (folder / name).is_file():
            raise web.HTTPNotFound
        return web.FileResponse(folder / name)

    def _make_pages_folder(self, state: RunState) -> Path:
        write_reports(self._run, target_folder=self._report_folder)
        return self._report_folder / FOLDER

    async def _wait_for_state(self) -> RunState:
        """Return the run's state. Wait if the rows are being read for the first time."""
        await self._read_event.wait()
        assert self._state is not None
        return self._state


def _make_page_handler(make_page: Callable[[], str]) -> Handler:
    """Return a handler that responds with the page that `make_page` returns at that time."""

    async def respond(request: web.Request) -> web.Response:
        return web.Response(text=await asyncio.to_thread(make_page), content_type="text/html")

    return respond


def _find_page_makers() -> dict[str, Callable[[Path], Callable[[], str] | None]]:
    """Return functions that open pages of plugins, by the names in the pages' addresses.

    Such a function receives the run's folder. It returns a function that returns the page's HTML, or None if
    the page does not apply to the run.
    """
    return {
        name.removeprefix(VIEW_PAGE): load_entry(Registry.ROUTES, name)
        for name in list_entry_names(Registry.ROUTES)
        if name.startswith(VIEW_PAGE)
    }


def _equals_token(received: str, token: str) -> bool:
    return hmac.compare_digest(received.encode(), token.encode())


@contextlib.asynccontextmanager
async def serve_live_page(run: Path, options: ServerOptions) -> AsyncIterator[str]:
    """Serve a run's folder, and yield the address. Raise InputError if the folder is not a run's."""
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
