"""Routes, statuses and messages as Piston has them, our own (/healthz, /metrics), and those of plugins."""

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
from ioi_eval.model.doing import log_step, logged_work
from ioi_eval.model.errors import EngineOverloaded
from ioi_eval.registries import VIEW_PAGE, Registry, find_registered, registered_names
from ioi_eval.server.contents import ContentCache
from ioi_eval.server.jobs import JobFailed, Jobs, NamedTokens, PackagedEngine
from ioi_eval.server.log import CONTENT_TYPE, Metrics, RefusalLog, Tell
from ioi_eval.server.options import ServerOptions, check_hosts
from ioi_eval.server.prepared import SharedBuilds
from ioi_eval.server.queue import Draining, QueueEntry, RequestQueue, TooLate

# --- what a server answers ---------------------------------------------------------------------------


_log = logging.getLogger(__name__)
HELLO = "Piston v3.1.1 (ioi-eval worker)"  # whose API it is, and who speaks it
_API = "/api/v2"
_CONTENTS = f"{_API}/contents/"
_OPEN = frozenset({"/", "/healthz"})  # without a token: they say that somebody is there, and how much of them
_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS"})
_SOON = {"Retry-After": "1"}
_AT_ONCE = 1 << 20  # bytes of a reply that are sent as one
_LONGEST_MARK = 32  # maximum length of a request's number in the log, in characters
_STALLED = 60.0  # seconds in which a client takes nothing of a large reply
_JSON = {"Content-Type": "application/json; charset=utf-8"}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


Answer = Callable[[bytes, QueueEntry], Awaitable[bytes]]  # from a request's body to the reply's, both JSON


class WorkerParts(NamedTuple):
    """What routes of a plugin are made of: the worker's engine, its jobs, the builds that requests share."""

    engine: PackagedEngine
    jobs: Jobs
    builds: SharedBuilds


class PluginRoutes(Protocol):
    """Routes of a plugin. Its entry in the registry of routes makes them of `WorkerParts`."""

    patience: float  # maximum seconds that a request waits for a place in the queue; after that it gets 504

    @property
    def posts(self) -> Mapping[str, Answer]:
        """What answers POST requests, by path."""

    async def close(self) -> None:
        """End what goes on without a request."""


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
        tell: Tell,
    ) -> None:
        parts = WorkerParts(engine, jobs, builds)
        self._of_plugins: list[PluginRoutes] = [
            find_registered(Registry.ROUTES, name)(parts)
            for name in registered_names(Registry.ROUTES)
            if not name.startswith(VIEW_PAGE)
        ]
        self._plugin_paths = frozenset(chain.from_iterable(one.posts for one in self._of_plugins))
        self._builds = builds
        self._engine, self._options, self._tokens = engine, options, tokens
        self._queue, self._jobs, self._metrics = queue, jobs, metrics
        self._contents, self._fullness = contents, RefusalLog(tell)

    async def close(self) -> None:
        """End what goes on without a request."""
        for routes in self._of_plugins:
            await routes.close()
        await self._builds.close()

    def application(self, identity: str) -> web.Application:
        """Return the application. `identity`: what every reply tells of this worker."""

        async def sign(request: web.Request, response: web.StreamResponse) -> None:
            response.headers[HEADER] = identity
            if mark := request.headers.get(REQUEST):
                response.headers[REQUEST] = mark
            if self._queue.draining:
                response.headers["Connection"] = "close"  # a kept one would break off under the next request
                response.force_close()

        application = web.Application(middlewares=[self._answer])
        application.on_response_prepare.append(sign)
        application.add_routes(
            [
                web.get("/", self._hello),
                web.get("/healthz", self._health),
                web.get("/metrics", self._counts),
                web.get(f"{_API}/runtimes", self._runtimes),
                web.get(f"{_API}/packages", self._packages),
                web.post(f"{_API}/packages", self._install),
                web.delete(f"{_API}/packages", self._uninstall),
                web.post(f"{_API}/execute", self._execute),
            ]
        )
        for routes in self._of_plugins:
            answers = routes.posts.items()
            posts = (
                web.post(path, partial(self._of_plugin, answer, routes.patience)) for path, answer in answers
            )
            application.add_routes(posts)
        if self._contents.room:
            path = f"{_CONTENTS}{{sha256:{piston.HASH.pattern}}}"
            application.add_routes(
                [
                    web.head(path, self._has),
                    web.get(path, self._give, allow_head=False),
                    web.put(path, self._keep),
                ]
            )
        return application

    @web.middleware
    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer a request; each refusal has Piston's status and body."""
        try:
            check_hosts(request.headers, self._options)
            if self._options.asks and request.path not in _OPEN:
                given = _token_of(request.headers.get("Authorization", ""))
                if self._tokens.name_of(given) is None:
                    wrong = "that is not this worker's token"
                    wants = "this worker wants its token: Authorization: Bearer TOKEN"
                    raise piston.RefusedRequest(wrong if given else wants, status=401)
            api = request.path.startswith(_API) and not request.path.startswith(_CONTENTS)
            takes_json = api or request.path in self._plugin_paths
            if takes_json and request.method not in _WITHOUT_BODY:
                piston.check_content_type(request.headers.get("Content-Type"))
            return await handler(request)
        except (web.HTTPNotFound, web.HTTPMethodNotAllowed):
            return _message("Not Found", status=HTTPStatus.NOT_FOUND)
        except piston.RefusedRequest as refused:
            self._metrics.refusals[refused.status] += 1
            return _json(refused.body, status=refused.status)
        except EngineOverloaded as busy:
            # Clients of SandboxFusion come again after 504 alone.
            late = request.path in self._plugin_paths
            status = HTTPStatus.GATEWAY_TIMEOUT if late else HTTPStatus.SERVICE_UNAVAILABLE
            self._metrics.refusals[status] += 1
            if not isinstance(busy, Draining | TooLate):
                self._fullness.refused(str(busy))
            return _message(str(busy), status=status, headers=_SOON)
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
        keeps = {"contents": self._contents.room, "keeps_programs": True} if self._contents.room else {}
        return _json(msgspec.json.encode(health | keeps))

    async def _counts(self, request: web.Request) -> web.Response:
        text = self._metrics.text(
            running=self._queue.running,
            queued=self._queue.queued,
            callers=self._queue.metrics(),
            slots=self._engine.slots,
            kept=self._contents.used,
            room=self._contents.room,
        )
        return web.Response(body=text.encode(), headers={"Content-Type": CONTENT_TYPE})

    async def _runtimes(self, request: web.Request) -> web.Response:
        runtimes = (
            piston.ServerRuntime(
                language=each.language, version=each.version, aliases=each.aliases, runtime=each.runtime
            )
            for each in self._engine.packages
        )
        return _json(piston.encode_runtimes(runtimes))

    # --- jobs ----------------------------------------------------------------------------------------

    async def _execute(self, request: web.Request) -> web.StreamResponse:
        with self._queue.enter(self._token_name(request)) as entry, _logged_request(request):
            log_step(_log, "received")
            asked = await self._jobs.read(await self._body(request, entry), by_hash=self._contents.room > 0)
            with self._contents.held(asked) as job:
                result = await self._jobs.run(job, entry)
            if result.kept:
                result = await self._contents.keep(result)
            self._fullness.taken()
            minimal = all(request.headers.get(name) == value for name, value in piston.MINIMAL.items())
            return await self._sent(request, piston.pieces_of(result, minimal=minimal))

    async def _of_plugin(self, answer: Answer, patience: float, request: web.Request) -> web.StreamResponse:
        async with self._queue.enter_within(patience, self._token_name(request)) as entry:
            self._fullness.taken()
            reply = await answer(await self._body(request, entry), entry)
            return await self._sent(request, iter((reply,)))

    def _token_name(self, request: web.Request) -> str:
        return self._tokens.name_of(_token_of(request.headers.get("Authorization", ""))) or ""

    async def _body(self, request: web.Request, entry: QueueEntry) -> bytes:
        body = b"".join([piece async for piece in pieces_of(request, self._options.max_body, entry.bring)])
        self._metrics.received += len(body)
        return body

    async def _sent(self, request: web.Request, pieces: Iterator[bytes]) -> web.StreamResponse:
        """A large reply leaves as it is made. Its job keeps its slot meanwhile, so that memory is bounded."""
        begun, piece = b"", b""
        while len(begun) < _AT_ONCE and (piece := next(pieces, b"")):
            begun += piece
        if not piece:
            self._metrics.sent += len(begun)
            return _json(begun)
        return await self._streamed(request, _JSON, chain((begun,), pieces))

    async def _streamed(
        self, request: web.Request, headers: Mapping[str, str], pieces: Iterable[bytes]
    ) -> web.StreamResponse:
        reply = web.StreamResponse(headers=headers)
        try:
            await reply.prepare(request)
            for each in pieces:
                self._metrics.sent += len(each)
                async with asyncio.timeout(_STALLED):
                    await reply.write(each)
            await reply.write_eof()
        except (ConnectionError, TimeoutError):  # nobody takes it
            if request.transport is not None:
                request.transport.abort()
        return reply

    # --- contents that jobs name by their hash ---------------------------------------------------------

    async def _has(self, request: web.Request) -> web.Response:
        found = self._contents.has(request.match_info["sha256"])
        return web.Response(status=HTTPStatus.OK if found else HTTPStatus.NOT_FOUND)

    async def _give(self, request: web.Request) -> web.StreamResponse:
        with self._contents.lent(request.match_info["sha256"]) as path:
            if path is None:
                raise web.HTTPNotFound
            with path.open("rb") as stream:
                length = {"Content-Length": str(path.stat().st_size)}
                return await self._streamed(request, length, iter(lambda: stream.read(_AT_ONCE), b""))

    async def _keep(self, request: web.Request) -> web.Response:
        if self._queue.draining:
            raise Draining
        pieces = pieces_of(request, self._contents.largest, self._count)
        await self._contents.take(request.match_info["sha256"], pieces)
        return web.Response(status=HTTPStatus.CREATED)

    def _count(self, size: int) -> None:
        self._metrics.received += size

    # --- packages: they come and go by the folder, not over the network ------------------------------

    def _installed(self) -> Iterator[tuple[str, str]]:
        return ((each.runtime or each.language, each.version) for each in self._engine.packages)

    async def _packages(self, request: web.Request) -> web.Response:
        return _json(piston.encode_packages(dict.fromkeys(self._installed())))

    async def _install(self, request: web.Request) -> web.Response:
        await self._named(request)
        raise piston.RefusedRequest("Already installed", status=HTTPStatus.INTERNAL_SERVER_ERROR)

    async def _uninstall(self, request: web.Request) -> web.Response:
        language, version = await self._named(request)
        raise piston.RefusedRequest(
            f"{language}-{version} can only be removed from the worker's folder of packages",
            status=HTTPStatus.INTERNAL_SERVER_ERROR,
        )

    async def _named(self, request: web.Request) -> tuple[str, str]:
        """The package that a request means."""
        with self._queue.enter(self._token_name(request)) as entry:
            language, version = piston.decode_package(await self._body(request, entry))
        for installed in self._installed():
            if installed[0] == language and satisfies(installed[1], version):
                return installed
        raise piston.RefusedRequest(
            f"Requested package {language}-{version} does not exist", status=HTTPStatus.NOT_FOUND
        )


def _logged_request(request: web.Request) -> AbstractContextManager[None]:
    """Return a context in which log lines have the number of the request, which its client logs, too."""
    mark = request.headers.get(REQUEST, "")
    return logged_work(
        _log, f"request {mark}" if mark.isalnum() and len(mark) <= _LONGEST_MARK else "request"
    )


def _token_of(header: str) -> str:
    """A bearer's, or the password of an address: some clients are given an address and nothing else."""
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
_SILENT = 60.0  # seconds without a byte
_GRACE, _SLOWEST = 60.0, 1 << 14  # seconds for each, and bytes a second beyond: nobody holds a place by less


async def pieces_of(
    request: web.Request, limit: int, bring: Callable[[int], None]
) -> AsyncGenerator[bytes, None]:
    """Raises RefusedRequest as a Piston server with that limit would. `bring` is told of bytes that come."""
    encoding = request.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in _ENCODINGS:
        raise _broken(f'UnsupportedMediaTypeError: unsupported content encoding "{encoding}"')
    announced = request.content_length or 0
    if announced > limit:
        raise too_large(limit)
    bring(announced)
    size, begun = 0, time.monotonic()
    while piece := await _next(request):
        size += len(piece)
        if size > limit:
            raise too_large(limit)
        if time.monotonic() - begun > _GRACE + size / _SLOWEST:
            raise RefusedRequest("the request's body comes too slowly", status=408)
        bring(max(0, size - announced))
        announced = max(announced, size)
        yield piece


async def _next(request: web.Request) -> bytes:
    try:
        async with asyncio.timeout(_SILENT):
            return await request.content.readany()
    except TimeoutError:
        raise RefusedRequest(f"no byte of the request's body came for {_SILENT:g} s", status=408) from None
    except (web.RequestPayloadError, ClientPayloadError, HttpProcessingError) as error:
        raise _broken(f"BadRequestError: the request's body cannot be read: {error}") from error


def _broken(words: str) -> RefusedRequest:
    return RefusedRequest(words, body={"stack": words})
