"""A Piston server on loopback with scripted replies, and engines with short waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Self

from aiohttp import web
from support.loopback import serve_on_loopback
from support.piston_protocol import (
    RefusedRequest,
    ServerRuntime,
    decode_request,
    encode_result,
    encode_runtimes,
)
from support.servers import EndpointReport, Patience

from ioi_eval import PistonEngine
from ioi_eval.engines.fleet import State
from ioi_eval.engines.piston.contents import ContentSender, GetMaxSeconds, Server
from ioi_eval.engines.piston.wire import HttpServerClient
from ioi_eval.models import Blob, Capabilities, Ending, Job, JobFile, JobResult

QUICK = Patience(
    margin=5.0, first_look=5.0, connect=5.0, health=5.0, max_outage=30.0, first_wait=0.001, longest_wait=0.01,
    first_pause=0.01, longest_pause=0.05,
)  # fmt: skip
PROFILE = Capabilities(name="piston", architecture="x86_64", runtimes=("ioi_eval", "bash"))
Answer = Callable[["Loopback", web.Request, Job], Awaitable[web.StreamResponse]]


def job(content: str = "true", *more_files: JobFile, **fields: Any) -> Job:
    return Job(files=(JobFile(name="run", content=Blob.of(content)), *more_files), **fields)


async def fine(server: Loopback, request: web.Request, received_job: Job) -> web.StreamResponse:
    """Print the script as output."""
    echoed = received_job.files[0].content.read().decode()
    return told(JobResult(run=Ending(stdout=echoed, code=0), language=received_job.runtime, version="1.0.0"))


def told(result: JobResult) -> web.Response:
    return web.Response(body=encode_result(result), content_type="application/json")


def always(status: int, body: bytes = b"") -> Answer:
    async def answer(server: Loopback, request: web.Request, received_job: Job) -> web.StreamResponse:
        return web.Response(status=status, body=body)

    return answer


def in_turn(*answers: Answer) -> Answer:
    """Return these replies in order, and then repeat the last reply."""
    remaining = list(answers)

    async def answer(server: Loopback, request: web.Request, received_job: Job) -> web.StreamResponse:
        return await (remaining.pop(0) if len(remaining) > 1 else remaining[0])(server, request, received_job)

    return answer


async def silence(server: Loopback, request: web.Request, received_job: Job) -> web.StreamResponse:
    await server.closing.wait()
    return web.Response(status=500)


async def cut(server: Loopback, request: web.Request, received_job: Job) -> web.StreamResponse:
    """Close the connection in the middle of the reply."""
    reply = web.StreamResponse(headers={"Content-Length": "1000", "Content-Type": "application/json"})
    await reply.prepare(request)
    await reply.write(b'{"run": {"stdout": "half a')
    assert request.transport is not None
    request.transport.abort()
    return reply


async def hang_up(server: Loopback, request: web.Request, received_job: Job) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


class Loopback:
    """A server that records jobs in `executed` and their headers in `headers`.

    `runtimes_status` may be changed.
    """

    def __init__(self, answer: Answer = fine, *, moved: str = "") -> None:
        """Start with a reply. `moved` is the address to which the server redirects requests for runtimes."""
        self.answer, self._moved, self.url = answer, moved, ""
        self.executed: list[Job] = []
        self.headers: list[dict[str, str]] = []
        self.at_once = self.most_at_once = 0
        self.asked = 0  # number of requests for runtimes
        self.runtimes_status = 200
        self.closing = asyncio.Event()

    async def __aenter__(self) -> Self:
        routes = web.get("/api/v2/runtimes", self._runtimes), web.post("/api/v2/execute", self._execute)
        self._runner, port = await serve_on_loopback(*routes)
        self.url = f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *error: object) -> None:
        self.closing.set()
        await self._runner.cleanup()

    async def _runtimes(self, request: web.Request) -> web.Response:
        self.asked += 1
        if self._moved:
            return web.Response(status=302, headers={"Location": self._moved})
        runtimes = [ServerRuntime(language=name, version="1.0.0") for name in PROFILE.runtimes]
        return web.Response(body=encode_runtimes(runtimes), status=self.runtimes_status)

    async def _execute(self, request: web.Request) -> web.StreamResponse:
        try:
            decoded_job = decode_request(await request.read())
        except RefusedRequest as refused:
            return web.Response(status=refused.status, body=refused.body)
        self.executed.append(decoded_job)
        self.headers.append(dict(request.headers))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            return await self.answer(self, request, decoded_job)
        finally:
            self.at_once -= 1


class Found:
    """A discovery whose result a test changes."""

    def __init__(self, *urls: str, every: float | None = None) -> None:
        self.urls, self.search_interval_s = set(urls), every
        self.error: Exception | None = None
        self.looks = 0

    async def find(self) -> frozenset[str]:
        self.looks += 1
        if self.error is not None:
            raise self.error
        return frozenset(self.urls)


def engine_on(*servers: Loopback | str, **options: Any) -> PistonEngine:
    urls = [server if isinstance(server, str) else server.url for server in servers]
    options = {"patience": QUICK, "capabilities": PROFILE, **options}
    return PistonEngine(options.pop("discovery", None) or Found(*urls), **options)


def endpoints_of(engine: PistonEngine) -> dict[str, Server]:
    """Return the endpoints that have jobs or may get jobs again."""
    return {endpoint.url: endpoint for endpoint in engine.fleet.members}


def known(report: EndpointReport) -> Server:
    """Return an endpoint as in a fleet after this report."""
    endpoint = Server(report.url)
    endpoint.report, endpoint.state = report, State.HEALTHY
    return endpoint


class Client(ContentSender):
    """A sender with long job timeouts."""

    async def execute(
        self, server: Server, job: Job, get_max_seconds: GetMaxSeconds = lambda body: 60.0
    ) -> JobResult:
        return await super().execute(server, job, get_max_seconds)


@asynccontextmanager
async def sender() -> AsyncIterator[Client]:
    wire = HttpServerClient(
        Found(),
        token="",
        max_connect_s=QUICK.connect,
        max_inspection_s=QUICK.health,
        max_content_s=QUICK.margin,
    )
    async with wire:
        yield Client(wire)
