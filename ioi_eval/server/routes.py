"""The routes of a worker: Piston's API, /healthz, /metrics, and the routes of plugins."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from http import HTTPStatus
from itertools import chain
from typing import NamedTuple, Protocol

import msgspec
from aiohttp import ClientPayloadError, web
from aiohttp.http_exceptions import HttpProcessingError

from ioi_eval.engines.embedded.packages import is_version_accepted
from ioi_eval.engines.jobs import piston_api as piston
from ioi_eval.engines.jobs.piston_api import RefusedRequest, make_size_refusal
from ioi_eval.engines.piston.sending import HEADER, REQUEST
from ioi_eval.model.doing import add_work_to_log_lines, log_step
from ioi_eval.model.errors import EngineOverloaded
from ioi_eval.registries import VIEW_PAGE, Registry, list_entry_names, load_entry
from ioi_eval.server.contents import ContentCache
from ioi_eval.server.jobs import JobFailed, Jobs, LanguagePackageEngine, NamedTokens
from ioi_eval.server.log import CONTENT_TYPE, EmitEvent, Metrics, RefusalLog
from ioi_eval.server.options import ServerOptions, check_hosts
from ioi_eval.server.prepared import SharedBuilds
from ioi_eval.server.queue import QueueEntry, RequestQueue, ResultPending, ServerDraining

# --- routes ------------------------------------------------------------------------------------------


_log = logging.getLogger(__name__)
# Greeting of the server, with Piston's version of the API and the program that serves it.
HELLO = "Piston v3.1.1 (ioi-eval worker)"
_API = "/api/v2"
_CONTENTS = f"{_API}/contents/"
_TOKENLESS_PATHS = frozenset({"/", "/healthz"})
_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS"})
_RETRY_SOON = {"Retry-After": "1"}
_MAX_UNSTREAMED_BYTES = 1 << 20  # maximum bytes of a reply that is sent in a single piece
_MAX_REQUEST_ID_LENGTH = 32  # maximum characters of a request's id in the log
_WRITE_TIMEOUT_S = 60.0  # seconds after which a client that does not read a large reply is disconnected
_JSON = {"Content-Type": "application/json; charset=utf-8"}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


# A function that returns the reply to a request's body, both as JSON.
Answer = Callable[[bytes, QueueEntry], Awaitable[bytes]]


class WorkerParts(NamedTuple):
    """The parts of a worker that the routes of plugins use."""

    engine: LanguagePackageEngine
    jobs: Jobs
    builds: SharedBuilds


class PluginRoutes(Protocol):
    """Routes of a plugin. The plugin's entry in the registry of routes creates them from `WorkerParts`."""

    # Maximum seconds for which a request waits to enter the queue before it gets HTTP status 504.
    patience: float

    @property
    def posts(self) -> Mapping[str, Answer]:
        """The functions that answer POST requests, by path."""

    async def close(self) -> None:
        """Stop everything that runs without a request."""


class Routes:
    """The routes of a server."""

    def __init__(
        self,
        engine: LanguagePackageEngine,
        options: ServerOptions,
        tokens: NamedTokens,
        queue: RequestQueue,
        jobs: Jobs,
        metrics: Metrics,
        contents: ContentCache,
        builds: SharedBuilds,
        emit: EmitEvent,
    ) -> None:
        worker_parts = WorkerParts(engine, jobs, builds)
        self._plugin_routes: list[PluginRoutes] = [
            load_entry(Registry.ROUTES, name)(worker_parts)
            for name in list_entry_names(Registry.ROUTES)
            if not name.startswith(VIEW_PAGE)
        ]
        self._plugin_paths = frozenset(chain.from_iterable(routes.posts for routes in self._plugin_routes))
        self._builds = builds
        self._engine, self._options, self._tokens = engine, options, tokens
        self._queue, self._jobs, self._metrics = queue, jobs, metrics
        self._content_cache, self._refusal_log = contents, RefusalLog(emit)

    async def close(self) -> None:
        """Stop everything that runs without a request."""
        for routes in self._plugin_routes:
            await routes.close()
        await self._builds.close()

    def make_application(self, server_identity: str) -> web.Application:
        """Return the application. Every reply has `server_identity` in a header."""

        async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
            response.headers[HEADER] = server_identity
            if request_id := request.headers.get(REQUEST):
                response.headers[REQUEST] = request_id
            if self._queue.draining:
                # Close the connection: a further request on it would be interrupted when the server stops.
                response.headers["Connection"] = "close"
                response.force_close()

        application = web.Application(middlewares=[self._handle_request])
        application.on_response_prepare.append(add_headers)
        application.add_routes(
            [
                web.get("/", self._send_greeting),
                web.get("/healthz", self._send_health),
                web.get("/metrics", self._send_metrics),
                web.get(f"{_API}/runtimes", self._send_runtimes),
                web.get(f"{_API}/packages", self._send_packages),
                web.post(f"{_API}/packages", self._refuse_install),
                web.delete(f"{_API}/packages", self._refuse_uninstall),
                web.post(f"{_API}/execute", self._execute_job),
            ]
        )
        for routes in self._plugin_routes:
            application.add_routes(
                web.post(path, partial(self._run_plugin_handler, answer, routes.patience))
                for path, answer in routes.posts.items()
            )
        if self._content_cache.limit_bytes:
            path = f"{_CONTENTS}{{sha256:{piston.HASH.pattern}}}"
            application.add_routes(
                [
                    web.head(path, self._answer_file_check),
                    web.get(path, self._send_built_program, allow_head=False),
                    web.put(path, self._receive_file),
                ]
            )
        return application

    @web.middleware
    async def _handle_request(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Check a request and answer it. Refusals have the status and the body that Piston uses."""
        try:
            check_hosts(request.headers, self._options)
            if self._options.requires_token and request.path not in _TOKENLESS_PATHS:
                token = _read_token(request.headers.get("Authorization", ""))
                if self._tokens.find_name(token) is None:
                    wrong_token = "that is not this worker's token"
                    missing_token = "this worker requires its token: Authorization: Bearer TOKEN"
                    raise piston.RefusedRequest(wrong_token if token else missing_token, status=401)
            is_api = request.path.startswith(_API) and not request.path.startswith(_CONTENTS)
            takes_json = is_api or request.path in self._plugin_paths
            if takes_json and request.method not in _WITHOUT_BODY:
                piston.check_content_type(request.headers.get("Content-Type"))
            return await handler(request)
        except (web.HTTPNotFound, web.HTTPMethodNotAllowed):
            return _make_message_response("Not Found", status=HTTPStatus.NOT_FOUND)
        except piston.RefusedRequest as error:
            self._metrics.refusals[error.status] += 1
            return _make_json_response(error.body, status=error.status)
        except EngineOverloaded as error:
            # Clients of SandboxFusion repeat a request only after HTTP status 504.
            is_plugin = request.path in self._plugin_paths
            status = HTTPStatus.GATEWAY_TIMEOUT if is_plugin else HTTPStatus.SERVICE_UNAVAILABLE
            self._metrics.refusals[status] += 1
            if not isinstance(error, ServerDraining | ResultPending):
                self._refusal_log.count_refusal(str(error))
            return _make_message_response(str(error), status=status, headers=_RETRY_SOON)
        except JobFailed:
            return web.Response(status=HTTPStatus.INTERNAL_SERVER_ERROR)

    # --- information about the server ----------------------------------------------------------------

    async def _send_greeting(self, request: web.Request) -> web.Response:
        return _make_message_response(HELLO)

    async def _send_health(self, request: web.Request) -> web.Response:
        if self._queue.draining:
            return _make_json_response(b'{"status":"draining"}', status=HTTPStatus.SERVICE_UNAVAILABLE)
        is_exclusive = (await self._engine.capabilities()).exclusive
        health = {"status": "ok", "slots": self._engine.slots, "exclusive": is_exclusive}
        limit = self._content_cache.limit_bytes
        cache_fields = {"contents": limit, "keeps_programs": True} if limit else {}
        return _make_json_response(msgspec.json.encode(health | cache_fields))

    async def _send_metrics(self, request: web.Request) -> web.Response:
        metrics_text = self._metrics.format_text(
            running=self._queue.running_count,
            queued=self._queue.waiting_count,
            caller_metrics=self._queue.format_caller_metrics(),
            slots=self._engine.slots,
            cached_bytes=self._content_cache.used_bytes,
            max_cached_bytes=self._content_cache.limit_bytes,
        )
        return web.Response(body=metrics_text.encode(), headers={"Content-Type": CONTENT_TYPE})

    async def _send_runtimes(self, request: web.Request) -> web.Response:
        runtimes = (
            piston.ServerRuntime(
                language=package.language,
                version=package.version,
                aliases=package.aliases,
                runtime=package.runtime,
            )
            for package in self._engine.packages
        )
        return _make_json_response(piston.encode_runtimes(runtimes))

    # --- jobs ----------------------------------------------------------------------------------------

    async def _execute_job(self, request: web.Request) -> web.StreamResponse:
        with self._queue.enter(self._find_token_name(request)) as entry, _open_request_log(request):
            log_step(_log, "received")
            body = await self._read_body(request, entry)
            job = await self._jobs.read_job(body, by_hash=self._content_cache.limit_bytes > 0)
            with self._content_cache.add_cached_files(job) as complete_job:
                result = await self._jobs.run_job(complete_job, entry)
            if result.kept:
                result = await self._content_cache.store_programs(result)
            self._refusal_log.log_end_of_refusals()
            is_minimal = all(request.headers.get(name) == value for name, value in piston.MINIMAL.items())
            return await self._send_reply(
                request, piston.encode_result_pieces(result, omits_output_field=is_minimal)
            )

    async def _run_plugin_handler(
        self, handler: Answer, max_wait_s: float, request: web.Request
    ) -> web.StreamResponse:
        async with self._queue.enter_within(max_wait_s, self._find_token_name(request)) as entry:
            self._refusal_log.log_end_of_refusals()
            reply = await handler(await self._read_body(request, entry), entry)
            return await self._send_reply(request, iter((reply,)))

    def _find_token_name(self, request: web.Request) -> str:
        return self._tokens.find_name(_read_token(request.headers.get("Authorization", ""))) or ""

    async def _read_body(self, request: web.Request, entry: QueueEntry) -> bytes:
        pieces = read_body_pieces(request, self._options.max_body, entry.count_bytes)
        body = b"".join([piece async for piece in pieces])
        self._metrics.received_bytes += len(body)
        return body

    async def _send_reply(self, request: web.Request, pieces: Iterator[bytes]) -> web.StreamResponse:
        """Send a reply. A large reply is sent in pieces while it is encoded.

        A job occupies its slot until its reply is sent, which limits the memory of all replies.
        """
        reply_start, piece = b"", b""
        while len(reply_start) < _MAX_UNSTREAMED_BYTES and (piece := next(pieces, b"")):
            reply_start += piece
        if not piece:
            self._metrics.sent_bytes += len(reply_start)
            return _make_json_response(reply_start)
        return await self._stream_reply(request, _JSON, chain((reply_start,), pieces))

    async def _stream_reply(
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
        except (ConnectionError, TimeoutError):  # the client has left, or does not read the reply
            if request.transport is not None:
                request.transport.abort()
        return reply

    # --- files that jobs name by their hash ------------------------------------------------------------

    async def _answer_file_check(self, request: web.Request) -> web.Response:
        """Return HTTP status 200 if the named content is cached, else 404."""
        is_cached = self._content_cache.has_file(request.match_info["sha256"])
        return web.Response(status=HTTPStatus.OK if is_cached else HTTPStatus.NOT_FOUND)

    async def _send_built_program(self, request: web.Request) -> web.StreamResponse:
        with self._content_cache.pin_program(request.match_info["sha256"]) as path:
            if path is None:
                raise web.HTTPNotFound
            with path.open("rb") as stream:
                length_header = {"Content-Length": str(path.stat().st_size)}
                pieces = iter(lambda: stream.read(_MAX_UNSTREAMED_BYTES), b"")
                return await self._stream_reply(request, length_header, pieces)

    async def _receive_file(self, request: web.Request) -> web.Response:
        if self._queue.draining:
            raise ServerDraining
        pieces = read_body_pieces(request, self._content_cache.max_file_bytes, self._count_received_bytes)
        await self._content_cache.receive_file(request.match_info["sha256"], pieces)
        return web.Response(status=HTTPStatus.CREATED)

    def _count_received_bytes(self, size: int) -> None:
        self._metrics.received_bytes += size

    # --- packages, which are installed and removed in the worker's folder and not over the network ---

    def _list_installed_packages(self) -> Iterator[tuple[str, str]]:
        packages = self._engine.packages
        return ((package.runtime or package.language, package.version) for package in packages)

    async def _send_packages(self, request: web.Request) -> web.Response:
        return _make_json_response(piston.encode_package_list(dict.fromkeys(self._list_installed_packages())))

    async def _refuse_install(self, request: web.Request) -> web.Response:
        await self._read_requested_package(request)
        raise piston.RefusedRequest("Already installed", status=HTTPStatus.INTERNAL_SERVER_ERROR)

    async def _refuse_uninstall(self, request: web.Request) -> web.Response:
        language, version = await self._read_requested_package(request)
        raise piston.RefusedRequest(
            f"{language}-{version} can only be removed from the worker's folder of packages",
            status=HTTPStatus.INTERNAL_SERVER_ERROR,
        )

    async def _read_requested_package(self, request: web.Request) -> tuple[str, str]:
        """Return the language and the version of the installed package that a request names."""
        with self._queue.enter(self._find_token_name(request)) as entry:
            language, version = piston.decode_language_and_version(await self._read_body(request, entry))
        for installed_package in self._list_installed_packages():
            if installed_package[0] == language and is_version_accepted(installed_package[1], version):
                return installed_package
        raise piston.RefusedRequest(
            f"Requested package {language}-{version} does not exist", status=HTTPStatus.NOT_FOUND
        )


def _open_request_log(request: web.Request) -> AbstractContextManager[None]:
    """Return a context in which log lines contain the request's number. The client logs the same number."""
    request_id = request.headers.get(REQUEST, "")
    is_valid = request_id.isalnum() and len(request_id) <= _MAX_REQUEST_ID_LENGTH
    return add_work_to_log_lines(_log, f"request {request_id}" if is_valid else "request")


def _read_token(authorization_header: str) -> str:
    """Return the token of an Authorization header.

    It is a bearer token, or the password of an address, because some clients accept only an address.
    """
    if not authorization_header.startswith("Basic "):
        return authorization_header.removeprefix("Bearer ")
    try:
        return base64.b64decode(authorization_header.removeprefix("Basic ")).partition(b":")[2].decode()
    except ValueError:
        return authorization_header


def _make_json_response(
    body: bytes, *, status: int = 200, headers: dict[str, str] | None = None
) -> web.Response:
    return web.Response(
        body=body, status=status, headers=headers, content_type="application/json", charset="utf-8"
    )


def _make_message_response(
    text: str, *, status: int = 200, headers: dict[str, str] | None = None
) -> web.Response:
    return _make_json_response(msgspec.json.encode({"message": text}), status=status, headers=headers)


# --- bodies ------------------------------------------------------------------------------------------

_ENCODINGS = ("", "identity", "gzip", "deflate")
_READ_TIMEOUT_S = 60.0  # maximum seconds without a byte of the request's body
# Maximum seconds for receiving a body, plus a time in proportion to the body's size, so that slow clients do
# not block the queue.
_BODY_TIME_S, _MIN_BYTES_PER_S = 60.0, 1 << 14


async def read_body_pieces(
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
        raise _make_bad_request_error(f'UnsupportedMediaTypeError: unsupported content encoding "{encoding}"')
    announced_bytes = request.content_length or 0
    if announced_bytes > limit:
        raise make_size_refusal(limit)
    count_bytes(announced_bytes)
    loop = asyncio.get_running_loop()
    size_bytes, start_s = 0, loop.time()
    while piece := await _read_next_piece(request):
        size_bytes += len(piece)
        if size_bytes > limit:
            raise make_size_refusal(limit)
        if loop.time() - start_s > _BODY_TIME_S + size_bytes / _MIN_BYTES_PER_S:
            raise RefusedRequest("the request's body arrives too slowly", status=408)
        count_bytes(max(0, size_bytes - announced_bytes))
        announced_bytes = max(announced_bytes, size_bytes)
        yield piece


async def _read_next_piece(request: web.Request) -> bytes:
    try:
        async with asyncio.timeout(_READ_TIMEOUT_S):
            return await request.content.readany()
    except TimeoutError:
        problem = f"no byte of the request's body arrived for {_READ_TIMEOUT_S:g} s"
        raise RefusedRequest(problem, status=408) from None
    except (web.RequestPayloadError, ClientPayloadError, HttpProcessingError) as error:
        raise _make_bad_request_error(
            f"BadRequestError: the request's body cannot be read: {error}"
        ) from error


def _make_bad_request_error(problem: str) -> RefusedRequest:
    return RefusedRequest(problem, body={"stack": problem})
