"""A server's life: it listens, it drains, it ends with nothing left behind."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import socket
import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator
from http import HTTPStatus
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Self

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from ioi_eval.engines.embedded import EmbeddedEngine
from ioi_eval.engines.embedded.sandboxes import Disk, Sandboxes
from ioi_eval.model.digests import digest
from ioi_eval.model.errors import InputError
from ioi_eval.server.contents import ContentCache
from ioi_eval.server.jobs import Jobs, NamedTokens, PackagedEngine
from ioi_eval.server.log import Metrics, Tell, silent
from ioi_eval.server.options import ServerOptions
from ioi_eval.server.prepared import ClassicJobEngine, SharedBuilds
from ioi_eval.server.queue import RequestQueue
from ioi_eval.server.routes import HELLO, Routes
from ioi_eval.store import Store
from ioi_eval.store.contents import BESIDE, Depot
from ioi_eval.store.resources import graders

_CONTENTS, _SHARE = 8 << 30, 4  # bytes of contents, and the part of the free disk that they take at most
_BUILDING = "building "  # begins the log's words
_SILENT = 75.0  # seconds until a connection is closed that has sent no whole header, or no further request
_HASTE = 0.1  # seconds that requests under way get when a server is closed, before they are cancelled


class Server:
    """Serves an engine that is entered already.

        async with Server(engine, ServerOptions(port=0)) as server:
            print(server.url)

    Leaving ends what still runs; `drain` lets it finish first.
    """

    def __init__(
        self,
        engine: PackagedEngine,
        options: ServerOptions | None = None,
        *,
        depot: Depot | None = None,
        store: Store | None = None,
        tell: Tell = silent,
    ) -> None:
        """`depot`: where contents are kept that clients send once, `store`: where programs of /run_code are.

        None: nowhere. `tell` gets the log.
        """
        self._options = options or ServerOptions()
        self.slots = engine.slots
        tokens = NamedTokens(self._options, tell)
        self._queue = RequestQueue(engine.slots, self._options.queue, self._options.room)
        metrics = Metrics()
        jobs = Jobs(engine, self._options, metrics, tell)
        contents = ContentCache(depot, self._options.max_body, metrics.contents)
        self._engine = engine
        builds = SharedBuilds(store)
        self._routes = Routes(
            engine, self._options, tokens, self._queue, jobs, metrics, contents, builds, tell
        )
        self._open = contextlib.AsyncExitStack()
        self.port, self.url = 0, ""
        self.facts = {
            "slots": engine.slots,
            "queue": self._options.queue,
            **self._options.limits(),
            "max_body": self._options.max_body,
            "max_bodies": self._options.room,
            "max_output": self._options.max_output,
            "max_contents": contents.room,
            "token": self._options.asks,
        }
        """What it may be told to take, for its log."""

    @property
    def running(self) -> int:
        """Jobs under way."""
        return self._queue.running

    async def __aenter__(self) -> Self:
        profile = await self._engine.capabilities()
        # Of a digest that changes with everything by which a job could end otherwise.
        about = (
            version("ioi-eval"),
            profile.architecture,
            tuple(sorted((tool.path, tool.identity) for tool in profile.toolchains.values())),
            tuple(sorted((package.language, package.version) for package in self._engine.packages)),
            profile.proctor.sha256 if profile.proctor is not None else "",
            self._options.limits(),
            self._options.max_body,
            self._options.max_output,
        )
        application = self._routes.application(digest(about)[:16])
        self._open.push_async_callback(self._routes.close)
        self.url = await self._open.enter_async_context(listening(application, self._options))
        self.port = int(self.url.rpartition(":")[2])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._queue.drain()
        await self._open.aclose()

    async def drain(self) -> None:
        """Takes no more jobs and waits for those that run. Meanwhile it answers, so that clients know."""
        self._queue.drain()
        await self._queue.until_empty()


@contextlib.asynccontextmanager
async def listening(application: web.Application, options: ServerOptions) -> AsyncIterator[str]:
    """Serve an application, and yield its address."""
    tls = options.tls()
    logger = logging.getLogger(f"{__name__}.requests")
    logger.addFilter(_is_about_us)
    runner = web.AppRunner(
        application,
        logger=logger,
        handler_cancellation=True,
        access_log=None,
        shutdown_timeout=_HASTE,
        keepalive_timeout=_SILENT,
    )
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, options.host, options.port, ssl_context=tls).start()
        except OSError as error:
            where = f"{options.host}:{options.port}"
            # asyncio puts the address into the text; where the name is not known, there is no number.
            number = None if isinstance(error, socket.gaierror) else error.errno
            reason = error.strerror or str(error) if number is None else os.strerror(number)
            remedy = "Choose another port" if error.errno == errno.EADDRINUSE else ""
            raise InputError(f"cannot listen there: {reason}", where=where, remedy=remedy) from error
        host = f"[{options.host}]" if ":" in options.host else options.host
        yield f"{'https' if tls else 'http'}://{host}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def _is_about_us(record: logging.LogRecord) -> bool:
    """Not about a request that is no HTTP: anybody can send these, and their words may hold a token."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


@contextlib.asynccontextmanager
async def serve(
    *,
    store: Store,
    options: ServerOptions | None = None,
    slots: int | None = None,
    packages: Iterable[Path] = (),
    allow_unconfined: bool = False,
    python: str = "",
    tell: Tell = silent,
) -> AsyncIterator[Server]:
    """A server with an embedded engine of its own: what `ioi-eval worker` starts.

    `python`: the path or version of the interpreter for submissions; empty: the system's newest.
    """
    options = options or ServerOptions()
    engine = EmbeddedEngine(
        store=store,
        slots=slots,
        max_stdout=options.max_output,
        max_stderr=options.max_output,
        allow_unconfined=allow_unconfined,
        packages=(*packages, graders() / "classic"),
        python=python,
    )
    memory = options.run_memory_limit
    with _depot(options) as depot:
        async with contextlib.AsyncExitStack() as opened:
            prepared = ClassicJobEngine(engine, store, memory=memory if memory > 0 else None)
            async with starting(options):
                await opened.enter_async_context(engine)
                await opened.enter_async_context(prepared)
            yield await opened.enter_async_context(
                Server(prepared, options, depot=depot, store=store, tell=tell)
            )


@contextlib.asynccontextmanager
async def starting(options: ServerOptions) -> AsyncIterator[None]:
    """Answer on the port while an engine is opened, which takes a minute where its programs are built first.

    `/` says that somebody is there. `/healthz` and all else answer 503, with what is built.
    """
    if not options.port:  # nobody knows it yet
        yield
        return
    work = _Builds()

    async def answer(request: web.Request) -> web.Response:
        if request.path == "/":
            return web.json_response({"message": HELLO})
        health = {"status": "starting", "message": "this worker is starting", "building": work.now}
        return web.json_response(health, status=HTTPStatus.SERVICE_UNAVAILABLE, headers={"Retry-After": "1"})

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    logger = logging.getLogger("ioi_eval")
    logger.addHandler(work)
    try:
        async with listening(application, options):
            yield
    finally:
        logger.removeHandler(work)


class _Builds(logging.Handler):
    """Hears what is built, one beside the other."""

    now = ""

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if text.startswith(_BUILDING):
            named = text.removeprefix(_BUILDING).partition(",")[0]
            self.now = f"{self.now} and {named}" if self.now else named


@contextlib.contextmanager
def _depot(options: ServerOptions) -> Iterator[Depot | None]:
    """In a folder that no crash leaves behind for long, as those of boxes."""
    limit, folder = options.max_contents, Path(options.contents_folder or tempfile.gettempdir())
    if limit == 0:
        yield None
        return
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        remedy = "Make it, and let this user write there"
        raise InputError("no folder to write to", where=str(folder), field="contents_folder", remedy=remedy)
    boxes = Sandboxes(folder, entered=False)
    boxes.open()
    try:
        share = min(_CONTENTS if limit is None else limit, Disk.look(folder).left // _SHARE)
        boxes.hold(share)
        yield Depot(boxes.folder / "kept", share if limit is None else limit, beside=BESIDE)
    finally:
        boxes.close()
