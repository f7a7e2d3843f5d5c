"""The worker's HTTP server: start it, drain it, and stop it without leftovers."""

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
from ioi_eval.server.jobs import Jobs, LanguagePackageEngine, NamedTokens
from ioi_eval.server.log import EmitEvent, Metrics, ignore_event
from ioi_eval.server.options import ServerOptions
from ioi_eval.server.prepared import ClassicJobEngine, SharedBuilds
from ioi_eval.server.queue import RequestQueue
from ioi_eval.server.routes import HELLO, Routes
from ioi_eval.store import Store
from ioi_eval.store.contents import ENTRY_OVERHEAD_BYTES, BlobCache
from ioi_eval.store.resources import graders_folder

_DEFAULT_CACHE_BYTES = 8 << 30  # default maximum bytes of the cache of contents
_DISK_PARTS = 4  # the default size of the cache is at most the free disk space divided by this number
_BUILD_MESSAGE = "building "  # start of log messages about builds
# Seconds after which a connection without a complete header or a further request is closed.
_IDLE_TIMEOUT_S = 75.0
# Seconds for which running requests may continue when the server closes, before they are cancelled.
_SHUTDOWN_S = 0.1


class Server:
    """A server for an engine that is open already.

        async with Server(engine, ServerOptions(port=0)) as server:
            print(server.url)

    Leaving the context cancels running jobs. Call `drain` first to let them finish.
    """

    def __init__(
        self,
        engine: LanguagePackageEngine,
        options: ServerOptions | None = None,
        *,
        blob_cache: BlobCache | None = None,
        store: Store | None = None,
        emit: EmitEvent = ignore_event,
    ) -> None:
        """Create the server; it listens when its context is entered.

        Args:
            engine: the engine that executes the jobs.
            options: address, tokens and limits.
            blob_cache: cache for files that clients send once. `None` means that the server caches no files.
            store: cache for programs of /run_code. `None` means that these are not cached.
            emit: receives the events of the log.
        """
        self._options = options or ServerOptions()
        self.slots = engine.slots
        tokens = NamedTokens(self._options, emit)
        self._queue = RequestQueue(engine.slots, self._options.queue, self._options.max_queued_bytes)
        metrics = Metrics()
        jobs = Jobs(engine, self._options, metrics, emit)
        content_cache = ContentCache(blob_cache, self._options.max_body, metrics.contents)
        self._engine = engine
        builds = SharedBuilds(store)
        self._routes = Routes(
            engine, self._options, tokens, self._queue, jobs, metrics, content_cache, builds, emit
        )
        self._exit_stack = contextlib.AsyncExitStack()
        self.port, self.url = 0, ""
        self.facts = {
            "slots": engine.slots,
            "queue": self._options.queue,
            **self._options.get_limits(),
            "max_body": self._options.max_body,
            "max_bodies": self._options.max_queued_bytes,
            "max_output": self._options.max_output,
            "max_contents": content_cache.limit_bytes,
            "token": self._options.requires_token,
        }
        """The server's limits, for the log."""

    @property
    def running_count(self) -> int:
        """The number of running jobs."""
        return self._queue.running_count

    async def __aenter__(self) -> Self:
        capabilities = await self._engine.capabilities()
        # Replies contain a hash of everything that can change the result of a job.
        identity = (
            version("ioi-eval"),
            capabilities.architecture,
            tuple(sorted((tool.path, tool.identity) for tool in capabilities.toolchains.values())),
            tuple(sorted((package.language, package.version) for package in self._engine.packages)),
            capabilities.proctor.sha256 if capabilities.proctor is not None else "",
            self._options.get_limits(),
            self._options.max_body,
            self._options.max_output,
        )
        application = self._routes.make_application(digest(identity)[:16])
        self._exit_stack.push_async_callback(self._routes.close)
        self.url = await self._exit_stack.enter_async_context(listen_at_address(application, self._options))
        self.port = int(self.url.rpartition(":")[2])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._queue.drain()
        await self._exit_stack.aclose()

    async def drain(self) -> None:
        """Refuse new jobs and wait for the running jobs. Requests still get an answer."""
        self._queue.drain()
        await self._queue.wait_until_empty()


@contextlib.asynccontextmanager
async def listen_at_address(application: web.Application, options: ServerOptions) -> AsyncIterator[str]:
    """Serve an application, and yield its address. Raises InputError if it cannot listen."""
    tls_context = options.make_tls_context()
    logger = logging.getLogger(f"{__name__}.requests")
    logger.addFilter(_is_not_about_invalid_http)
    runner = web.AppRunner(
        application,
        logger=logger,
        handler_cancellation=True,
        access_log=None,
        shutdown_timeout=_SHUTDOWN_S,
        keepalive_timeout=_IDLE_TIMEOUT_S,
    )
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, options.host, options.port, ssl_context=tls_context).start()
        except OSError as error:
            address_text = f"{options.host}:{options.port}"
            # asyncio's message would repeat the address. For an unknown host, errno is not usable.
            error_number = None if isinstance(error, socket.gaierror) else error.errno
            reason = error.strerror or str(error) if error_number is None else os.strerror(error_number)
            remedy = "Choose another port" if error.errno == errno.EADDRINUSE else ""
            raise InputError(
                f"cannot listen on this address: {reason}", where=address_text, remedy=remedy
            ) from error
        host = f"[{options.host}]" if ":" in options.host else options.host
        yield f"{'https' if tls_context else 'http'}://{host}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def _is_not_about_invalid_http(record: logging.LogRecord) -> bool:
    """Return False for messages about invalid HTTP: any client can cause them, and they may show a token."""
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
    emit: EmitEvent = ignore_event,
) -> AsyncIterator[Server]:
    """Start a server with an embedded engine, as `ioi-eval worker` does, and yield the server.

    Args:
        store: cache for compiled programs.
        options: address, tokens and limits.
        slots: number of jobs at the same time. `None` means the number of cores.
        packages: folders with further packages in Piston's layout.
        allow_unconfined: True to judge even if the kernel does not support confinement.
        python: path or version of the Python for submissions (default: the newest system Python).
        emit: receives the events of the log.
    """
    options = options or ServerOptions()
    engine = EmbeddedEngine(
        store=store,
        slots=slots,
        max_stdout=options.max_output,
        max_stderr=options.max_output,
        allow_unconfined=allow_unconfined,
        packages=(*packages, graders_folder() / "classic"),
        python=python,
    )
    sandbox_memory = options.run_memory_limit
    with _open_blob_cache(options) as blob_cache:
        async with contextlib.AsyncExitStack() as exit_stack:
            classic_engine = ClassicJobEngine(
                engine, store, sandbox_memory_bytes=sandbox_memory if sandbox_memory > 0 else None
            )
            async with answer_while_starting(options):
                await exit_stack.enter_async_context(engine)
                await exit_stack.enter_async_context(classic_engine)
            yield await exit_stack.enter_async_context(
                Server(classic_engine, options, blob_cache=blob_cache, store=store, emit=emit)
            )


@contextlib.asynccontextmanager
async def answer_while_starting(options: ServerOptions) -> AsyncIterator[None]:
    """Answer requests while the engine opens, for up to a minute if its programs must be built.

    `/` answers normally. All other paths answer 503 with the names of the programs that are being built.
    """
    if not options.port:  # with port 0, clients cannot know the port yet
        yield
        return
    build_monitor = _BuildMonitor()

    async def answer(request: web.Request) -> web.Response:
        if request.path == "/":
            return web.json_response({"message": HELLO})
        health = {"status": "starting", "message": "this worker is starting", "building": build_monitor.names}
        return web.json_response(health, status=HTTPStatus.SERVICE_UNAVAILABLE, headers={"Retry-After": "1"})

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    logger = logging.getLogger("ioi_eval")
    logger.addHandler(build_monitor)
    try:
        async with listen_at_address(application, options):
            yield
    finally:
        logger.removeHandler(build_monitor)


class _BuildMonitor(logging.Handler):
    """Collects the names of programs that are being built from the log."""

    names = ""

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if message.startswith(_BUILD_MESSAGE):
            name = message.removeprefix(_BUILD_MESSAGE).partition(",")[0]
            self.names = f"{self.names} and {name}" if self.names else name


@contextlib.contextmanager
def _open_blob_cache(options: ServerOptions) -> Iterator[BlobCache | None]:
    """Open the content cache in a temporary folder, which the next start removes after a crash."""
    max_cache_bytes, folder = options.max_contents, Path(options.contents_folder or tempfile.gettempdir())
    if max_cache_bytes == 0:
        yield None
        return
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        remedy = "Create the folder, and let this user write there"
        raise InputError(
            "the folder is not writable", where=str(folder), field="contents_folder", remedy=remedy
        )
    sandboxes = Sandboxes(folder, can_run_programs=False)
    sandboxes.open()
    try:
        reserved_bytes = min(
            _DEFAULT_CACHE_BYTES if max_cache_bytes is None else max_cache_bytes,
            Disk.measure(folder).free_bytes // _DISK_PARTS,
        )
        sandboxes.publish_reservation(reserved_bytes)
        yield BlobCache(
            sandboxes.folder / "kept",
            reserved_bytes if max_cache_bytes is None else max_cache_bytes,
            overhead_bytes=ENTRY_OVERHEAD_BYTES,
        )
    finally:
        sandboxes.close()
