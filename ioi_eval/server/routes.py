"""The routes of a worker: those of Piston's API, /healthz and /metrics, and those of plugins."""

from __future__ import annotations

import asyncio
import base64
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from http import HTTPStatus
from itertools import chain
from typing import NamedTuple, Protocol

import msgspec
from aiohttp import ClientPayloadError, web
from aiohttp.http_exceptions import HttpProcessingError

from ioi_eval.engines.embedded.packages import satisfies
from ioi_eval.engines.jobs import piston_api as piston
from ioi_eval.engines.jobs.piston_api import RefusedRequest, too_large
from ioi_eval.engines.piston.sending import HEADER, REQUEST
from ioi_eval.model.doing import log_step, name_work_in_log
from ioi_eval.model.errors import EngineOverloaded
from ioi_eval.registries import VIEW_PAGE, Registry, find_registered, registered_names
from ioi_eval.server.contents import ContentCache
from ioi_eval.server.jobs import JobFailed, Jobs, NamedTokens, PackagedEngine
from ioi_eval.server.log import CONTENT_TYPE, EmitEvent, Metrics, RefusalLog
from ioi_eval.server.options import ServerOptions, check_hosts
from ioi_eval.server.prepared import SharedBuilds
from ioi_eval.server.queue import Draining, QueueEntry, RequestQueue, TooLate

# --- routes ------------------------------------------------------------------------------------------


_log = logging.getLogger(__name__)
HELLO = "Piston v3.1.1 (ioi-eval worker)"  # version of the API, and the program that serves it
_API = "/api/v2"
_CONTENTS = f"{_API}/contents/"
_TOKENLESS_PATHS = frozenset({"/", "/healthz"})
_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS"})
_RETRY_SOON = {"Retry-After": "1"}
_MAX_UNSTREAMED_BYTES = 1 << 20  # a larger reply is sent in pieces
_MAX_REQUEST_ID_LENGTH = 32  # characters of a request's number in the log
_WRITE_TIMEOUT_S = 60.0  # until a client that reads nothing of a large reply is disconnected
_JSON = {"Content-Type": "application/json; charset=utf-8"}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


Answer = Callable[[bytes, QueueEntry], Awaitable[bytes]]  # returns the reply to a request's body, both JSON


class WorkerParts(NamedTuple):
    """The parts of a worker that the routes of plugins use."""

    engine: PackagedEngine
    jobs: Jobs
    builds: SharedBuilds


class PluginRoutes(Protocol):
    """Routes of a plugin. The plugin's entry in the registry of routes creates them from `WorkerParts`."""

    patience: float  # maximum time that a request waits to enter the queue before it gets 504, in seconds

    @property
    def posts(self) -> Mapping[str, Answer]:
        """The functions that answer POST requests, by path."""

    async def close(self) -> None:
        """Stop everything that runs without a request."""


class Routes:
    """The routes of a server."""

    def __init__(
        self,
        engine: PackagedEngine,
        options: ServerOptions,
        tokens: NamedTokens,
        queue: RequestQueue,
        jobs: Jobs,
        metrics: Metrics,
        contents: ContentCache,
        builds: SharedBuilds,
        emit: EmitEvent,
    ) -> None:
        parts = WorkerParts(engine, jobs, builds)
        self._plugin_routes: list[PluginRoutes] = [
            find_registered(Registry.ROUTES, name)(parts)
            for name in registered_names(Registry.ROUTES)
            if not name.startswith(VIEW_PAGE)
        ]
        self._plugin_paths = frozenset(chain.from_iterable(routes.posts for routes in self._plugin_routes))
        self._builds = builds
        self._engine, self._options, self._tokens = engine, options, tokens
        self._queue, self._jobs, self._metrics = queue, jobs, metrics
        self._contents, self._refusal_log = contents, RefusalLog(emit)

    async def close(self) -> None:
        """Stop everything that runs without a request."""
        for routes in self._plugin_routes:
            await routes.close()
        await self._builds.close()

    def application(self, identity: str) -> web.Application:
        """Return the application. Every reply has `identity` in a header."""

        async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
            response.headers[HEADER] = identity
            if request_id := request.headers.get(REQUEST):
                response.headers[REQUEST] = request_id
            if self._queue.draining:
                # A further request on the same connection would be cut off when the server ends.
                response.headers["Connection"] = "close"
                response.force_close()

        application = web.Application(middlewares=[self._answer])
        application.on_response_prepare.append(add_headers)
        application.add_routes(
            [
                web.get("/", self._hello),
                web.get("/healthz", self._health),
                web.get("/metrics", self._send_metrics),
                web.get(f"{_API}/runtimes", self._runtimes),
                web.get(f"{_API}/packages", self._packages),
                web.post(f"{_API}/packages", self._install),
                web.delete(f"{_API}/packages", self._uninstall),
                web.post(f"{_API}/execute", self._execute),
            ]
        )
        for routes in self._plugin_routes:
            application.add_routes(
                web.post(path, partial(self._answer_by_plugin, answer, routes.patience))
                for path, answer in routes.posts.items()
            )
        if self._contents.limit_bytes:
            path = f"{_CONTENTS}{{sha256:{piston.HASH.pattern}}}"
            application.add_routes(
                [
                    web.head(path, self._has_file),
                    web.get(path, self._send_program, allow_head=False),
                    web.put(path, self._receive_file),
                ]
            )
        return application

    @web.middleware
    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Check a request and answer it. Refusals have the status and the body that Piston uses."""
        try:
            check_hosts(request.headers, self._options)
            if self._options.requires_token and request.path not in _TOKENLESS_PATHS:
                token = _token_of(request.headers.get("Authorization", ""))
                if self._tokens.name_of(token) is None:
                    wrong = "that is not this worker's token"
                    missing = "this worker requires its token: Authorization: Bearer TOKEN"
                    raise piston.RefusedRequest(wrong if token else missing, status=401)
            api = request.path.startswith(_API) and not request.path.startswith(_CONTENTS)
            takes_json = api or request.path in self._plugin_paths
            if takes_json and request.method not in _WITHOUT_BODY:
                piston.check_content_type(request.headers.get("Content-Type"))
            return await handler(request)
        except (web.HTTPNotFound, web.HTTPMethodNotAllowed):
            return _message("Not Found", status=HTTPStatus.NOT_FOUND)
        except piston.RefusedRequest as error:
            self._metrics.refusals[error.status] += 1
            return _json(error.body, status=error.status)
        except EngineOverloaded as error:
            # Clients of SandboxFusion repeat a request after 504 only.
            is_plugin = request.path in self._plugin_paths
            status = HTTPStatus.GATEWAY_TIMEOUT if is_plugin else HTTPStatus.SERVICE_UNAVAILABLE
            self._metrics.refusals[status] += 1
            if not isinstance(error, Draining | TooLate):
                self._refusal_log.refused(str(error))
            return _message(str(error), status=status, headers=_RETRY_SOON)
        except JobFailed:
            return web.Response(status=HTTPStatus.INTERNAL_SERVER_ERROR)

    # --- about the server ----------------------------------------------------------------------------

    async def _hello(self, request: web.Request) -> web.Response:
        return _message(HELLO)

    async def _health(self, request: web.Request) -> web.Response:
        if self._queue.draining:
            return _json(b'{"status":"draining"}', status=HTTPStatus.SERVICE_UNAVAILABLE)
        exclusive = (await self._engine.capabilities()).exclusive
        health = {"status": "ok", "slots": self._engine.slots, "exclusive": exclusive}
        limit = self._contents.limit_bytes
        cache = {"contents": limit, "keeps_programs": True} if limit else {}
        return _json(msgspec.json.encode(health | cache))

    async def _send_metrics(self, request: web.Request) -> web.Response:
        text = self._metrics.text(
            running=self._queue.running,
            queued=self._queue.queued,
            callers=self._queue.metrics(),
            slots=self._engine.slots,
            cached_bytes=self._contents.used_bytes,
            max_cached_bytes=self._contents.limit_bytes,
        )
        return web.Response(body=text.encode(), headers={"Content-Type": CONTENT_TYPE})

    async def _runtimes(self, request: web.Request) -> web.Response:
        runtimes = (
            piston.ServerRuntime(
                language=package.language,
                version=package.version,
                aliases=package.aliases,
                runtime=package.runtime,
            )
            for package in self._engine.packages
        )
        return _json(piston.encode_runtimes(runtimes))

    # --- jobs ----------------------------------------------------------------------------------------

    async def _execute(self, request: web.Request) -> web.StreamResponse:
        with self._queue.enter(self._token_name(request)) as entry, _logged_request(request):
            log_step(_log, "received")
            body = await self._body(request, entry)
            job = await self._jobs.read(body, by_hash=self._contents.limit_bytes > 0)
            with self._contents.with_files(job) as complete_job:
                result = await self._jobs.run(complete_job, entry)
            if result.kept:
                result = await self._contents.store_programs(result)
            self._refusal_log.accepted()
            minimal = all(request.headers.get(name) == value for name, value in piston.MINIMAL.items())
            return await self._sent(request, piston.pieces_of(result, minimal=minimal))

    async def _answer_by_plugin(
        self, answer: Answer, patience: float, request: web.Request
    ) -> web.StreamResponse:
        async with self._queue.enter_within(patience, self._token_name(request)) as entry:
            self._refusal_log.accepted()
            reply = await answer(await self._body(request, entry), entry)
            return await self._sent(request, iter((reply,)))

    def _token_name(self, request: web.Request) -> str:
        return self._tokens.name_of(_token_of(request.headers.get("Authorization", ""))) or ""

    async def _body(self, request: web.Request, entry: QueueEntry) -> bytes:
        pieces = pieces_of(request, self._options.max_body, entry.count_bytes)
        body = b"".join([piece async for piece in pieces])
        self._metrics.received_bytes += len(body)
        return body

    async def _sent(self, request: web.Request, pieces: Iterator[bytes]) -> web.StreamResponse:
        """Send a reply. A large reply is sent in pieces while it is encoded.

        Its job occupies its slot until everything is sent, which limits the memory of all replies.
        """
        start, piece = b"", b""
        while len(start) < _MAX_UNSTREAMED_BYTES and (piece := next(pieces, b"")):
            start += piece
        if not piece:
            self._metrics.sent_bytes += len(start)
            return _json(start)
        return await self._streamed(request, _JSON, chain((start,), pieces))

    async def _streamed(
        self, request: web.Request, headers: Mapping[str, str], pieces: Iterable[bytes]
    ) -> web.StreamResponse:
        reply = web.StreamResponse(headers=headers)
        try:
            await reply.prepare(request)
            for piece in pieces:
                self._metrics.sent_bytes += len(piece)
                async with asyncio.timeout(_WRITE_TIMEOUT_S):
                    await reply.write(piece)
            await reply.write_eof()
        except (ConnectionError, TimeoutError):  # the client is gone or does not read
            if request.transport is not None:
                request.transport.abort()
        return reply

    # --- files that jobs name by hash ------------------------------------------------------------------

    async def _has_file(self, request: web.Request) -> web.Response:
        is_cached = self._contents.has(request.match_info["sha256"])
        return web.Response(status=HTTPStatus.OK if is_cached else HTTPStatus.NOT_FOUND)

    async def _send_program(self, request: web.Request) -> web.StreamResponse:
        with self._contents.pinned_program(request.match_info["sha256"]) as path:
            if path is None:
                raise web.HTTPNotFound
            with path.open("rb") as stream:
                length = {"Content-Length": str(path.stat().st_size)}
                pieces = iter(lambda: stream.read(_MAX_UNSTREAMED_BYTES), b"")
                return await self._streamed(request, length, pieces)

    async def _receive_file(self, request: web.Request) -> web.Response:
        if self._queue.draining:
            raise Draining
        pieces = pieces_of(request, self._contents.max_file_bytes, self._count_received)
        await self._contents.receive(request.match_info["sha256"], pieces)
        return web.Response(status=HTTPStatus.CREATED)

    def _count_received(self, size: int) -> None:
        self._metrics.received_bytes += size

    # --- packages: installed and removed in the worker's folder, not over the network ----------------

    def _installed(self) -> Iterator[tuple[str, str]]:
        packages = self._engine.packages
        return ((package.runtime or package.language, package.version) for package in packages)

    async def _packages(self, request: web.Request) -> web.Response:
        return _json(piston.encode_packages(dict.fromkeys(self._installed())))

    async def _install(self, request: web.Request) -> web.Response:
        await self._requested_package(request)
        raise piston.RefusedRequest("Already installed", status=HTTPStatus.INTERNAL_SERVER_ERROR)

    async def _uninstall(self, request: web.Request) -> web.Response:
        language, version = await self._requested_package(request)
        raise piston.RefusedRequest(
            f"{language}-{version} can only be removed from the worker's folder of packages",
            status=HTTPStatus.INTERNAL_SERVER_ERROR,
        )

    async def _requested_package(self, request: web.Request) -> tuple[str, str]:
        """Return the language and the version of the installed package that a request names."""
        with self._queue.enter(self._token_name(request)) as entry:
            language, version = piston.decode_package(await self._body(request, entry))
        for installed in self._installed():
            if installed[0] == language and satisfies(installed[1], version):
                return installed
        raise piston.RefusedRequest(
            f"Requested package {language}-{version} does not exist", status=HTTPStatus.NOT_FOUND
        )


def _logged_request(request: web.Request) -> AbstractContextManager[None]:
    """Return a context in which log lines contain the request's number, which the client also logs."""
    request_id = request.headers.get(REQUEST, "")
    is_valid = request_id.isalnum() and len(request_id) <= _MAX_REQUEST_ID_LENGTH
    return name_work_in_log(_log, f"request {request_id}" if is_valid else "request")


def _token_of(header: str) -> str:
    """Return the token of an Authorization header.

    It is a bearer token, or the password of an address, because some clients accept only an address.
    """
    if not header.startswith("Basic "):
        return header.removeprefix("Bearer ")
    try:
        return base64.b64decode(header.removeprefix("Basic ")).partition(b":")[2].decode()
    except ValueError:
        return header


def _json(body: bytes, *, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(
        body=body, status=status, headers=headers, content_type="application/json", charset="utf-8"
    )


def _message(text: str, *, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    return _json(msgspec.json.encode({"message": text}), status=status, headers=headers)


# --- bodies ------------------------------------------------------------------------------------------

_ENCODINGS = ("", "identity", "gzip", "deflate")
_READ_TIMEOUT_S = 60.0  # maximum time without a byte of the body
# A body may take this time, and longer in proportion to its size, so that no client occupies the queue.
_BODY_TIME_S, _MIN_BYTES_PER_S = 60.0, 1 << 14


async def pieces_of(
    request: web.Request, limit: int, count_bytes: Callable[[int], None]
) -> AsyncGenerator[bytes, None]:
    """Yield a request's body, decompressed, in pieces.

    Args:
        request: the request.
        limit: maximum size of the decompressed body, in bytes.
        count_bytes: receives the number of further bytes before they are read.

    Raises:
        RefusedRequest: for a body that a Piston server with this limit refuses.
    """
    encoding = request.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in _ENCODINGS:
        raise _broken(f'UnsupportedMediaTypeError: unsupported content encoding "{encoding}"')
    announced = request.content_length or 0
    if announced > limit:
        raise too_large(limit)
    count_bytes(announced)
    size, started = 0, time.monotonic()
    while piece := await _next(request):
        size += len(piece)
        if size > limit:
            raise too_large(limit)
        if time.monotonic() - started > _BODY_TIME_S + size / _MIN_BYTES_PER_S:
            raise RefusedRequest("the request's body arrives too slowly", status=408)
        count_bytes(max(0, size - announced))
        announced = max(announced, size)
        yield piece


async def _next(request: web.Request) -> bytes:
    try:
        async with asyncio.timeout(_READ_TIMEOUT_S):
            return await request.content.readany()
    except TimeoutError:
        problem = f"no byte of the request's body arrived for {_READ_TIMEOUT_S:g} s"
        raise RefusedRequest(problem, status=408) from None
    except (web.RequestPayloadError, ClientPayloadError, HttpProcessingError) as error:
        raise _broken(f"BadRequestError: the request's body cannot be read: {error}") from error


def _broken(problem: str) -> RefusedRequest:
    return RefusedRequest(problem, body={"stack": problem})
