"""A run for browsers while it goes on: a live page, the report so far, counts for Prometheus.

It reads the run's folder and writes nothing there: the report is made in a folder of its own.
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

from aiohttp import web

from ioi_eval.engines.jobs.piston_api import Refused
from ioi_eval.model.errors import InputError
from ioi_eval.reports import write_reports
from ioi_eval.reports.addresses import FOLDER
from ioi_eval.reports.document import STYLE, asset
from ioi_eval.server.options import ServerOptions, check_hosts
from ioi_eval.server.server import listening
from ioi_eval.server.watching import State, Watch, news, prometheus

_EVERY = 1.0  # seconds between two looks at the folder
_ALIVE = 15.0  # seconds after which a viewer hears something, whatever happens
_FRESH, _REST = (
    30.0,
    20,
)  # seconds that a report is good for; at least so many times the CPU time that it took
_COOKIE = "ioi_eval_view"
_PAGE = re.compile(r"[a-z]+(-[0-9a-f]{16})?\.(html|css|js)", re.ASCII)
_POLICY = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'"
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class _Pages:
    """The report so far, made when somebody asks for it."""

    def __init__(self, run: Path, place: Path) -> None:
        self._run, self._place = run, place
        self._making, self._stale = asyncio.Lock(), 0.0

    async def find(self, name: str) -> Path:
        async with self._making:
            if time.monotonic() >= self._stale:
                begun = time.process_time()
                await asyncio.to_thread(write_reports, self._run, into=self._place)
                self._stale = time.monotonic() + max(_FRESH, _REST * (time.process_time() - begun))
        return self._place / name


class View:
    """The live page's routes. All viewers share one look at the folder."""

    def __init__(self, run: Path, place: Path, options: ServerOptions) -> None:
        self._watch, self._pages, self._options = Watch(run), _Pages(run, place), options
        self._state: State | None = None
        self._news = asyncio.Condition()

    def application(self) -> web.Application:
        application = web.Application(middlewares=[self._admit])
        application.add_routes(
            [
                web.get("/", self._live),
                web.get("/events", self._events),
                web.get("/metrics", self._metrics),
                web.get("/view.js", self._script),
                web.get(f"/{STYLE}", self._style),
                web.get("/report.html", self._report),
                web.get(f"/{FOLDER}/{{name}}", self._report),
            ]
        )
        return application

    async def look(self) -> None:
        """Until it is cancelled."""
        while True:
            with contextlib.suppress(OSError):  # a file that is being replaced is there again in a moment
                state = await asyncio.to_thread(self._watch.poll)
                if state is not self._state:
                    async with self._news:
                        self._state = state
                        self._news.notify_all()
            await asyncio.sleep(_EVERY)

    # --- who may see it ---

    @web.middleware
    async def _admit(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            check_hosts(request.headers, self._options)
        except Refused as refused:
            return web.Response(status=refused.status, text=f"{refused}\n", headers=_HEADERS)
        token = self._options.token
        if token and _same(request.query.get("token", ""), token):
            # A cookie from here on, so that the token does not stand in every address.
            answer: web.StreamResponse = web.Response(status=303, headers={"Location": request.path})
            answer.set_cookie(_COOKIE, token, httponly=True, samesite="Strict")
        elif token and not self._known(request):
            answer = web.Response(status=401, text="Add ?token=... to the address.\n")
        else:
            answer = await handler(request)
        if not answer.prepared:
            answer.headers.update(_HEADERS)
        return answer

    def _known(self, request: web.Request) -> bool:
        given = (request.cookies.get(_COOKIE, ""), request.headers.get("Authorization", "")[len("Bearer ") :])
        return any(_same(one, self._options.token) for one in given)

    # --- what there is to see ---

    async def _live(self, request: web.Request) -> web.Response:
        page = Path(__file__).with_name("view.html").read_text("utf-8")
        headers = {"Content-Security-Policy": _POLICY}
        return web.Response(text=page, content_type="text/html", headers=headers)

    async def _script(self, request: web.Request) -> web.Response:
        script = Path(__file__).with_name("view.js").read_text("utf-8")
        return web.Response(text=script, content_type="text/javascript")

    async def _style(self, request: web.Request) -> web.Response:
        return web.Response(text=asset(STYLE), content_type="text/css")

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """The state, and of each later one what differs from it, as server-sent events."""
        headers = {"Content-Type": "text/event-stream", **_HEADERS}
        answer = web.StreamResponse(headers=headers)
        await answer.prepare(request)
        last: State | None = None
        with contextlib.suppress(ConnectionError):
            while True:
                if self._state is last:
                    await self._another()
                now = self._state
                told = b":" if now is None or now is last else b"data: " + news(now, last)
                await answer.write(told + b"\n\n")
                last = now
        return answer

    async def _another(self) -> None:
        """Wait for the next look at the folder, or until viewers are to hear that we are there."""
        async with self._news:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), _ALIVE)

    async def _metrics(self, request: web.Request) -> web.Response:
        if self._state is None:
            await self._another()
        if self._state is None:
            return web.Response(status=503, text="The rows are still being read.\n")
        return web.Response(text=prometheus(self._state))

    async def _report(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info.get("name")
        if name is not None and not _PAGE.fullmatch(name):
            raise web.HTTPNotFound
        try:
            path = await self._pages.find("report.html" if name is None else f"{FOLDER}/{name}")
        except InputError as error:
            return web.Response(status=503, text=f"{error}\n")
        if not path.is_file():
            raise web.HTTPNotFound
        return web.FileResponse(path)


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(), token.encode())


@contextlib.asynccontextmanager
async def view(run: Path, options: ServerOptions) -> AsyncIterator[str]:
    """Serve a run's folder, and yield the address. Raise InputError where there is no run."""
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
