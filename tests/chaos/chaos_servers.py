"""Servers that fail in every way a network knows, while the jobs that get through are answered soundly.

A FakeEngine answers the jobs, because what is tried here lies in between: HTTP, and who waits for whom.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import random
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
from aiohttp import web
from support.piston_protocol import ServerRuntime, decode_request, encode_result, encode_runtimes

from ioi_eval import Engine
from ioi_eval.models import Blob, Ending, Job, JobFile, JobResult

Fault = Callable[["Server", web.Request, bytes], Awaitable[web.StreamResponse]]
_FIRST = 2
_RUNTIMES = encode_runtimes([ServerRuntime(language="ioi_eval", version="1.0.0")])


class Pathless:
    """Answers jobs as they come over HTTP by an engine that hands over paths."""

    def __init__(self, inner: Engine) -> None:
        self._inner = inner

    async def execute(self, job: Job, check: object = None) -> JobResult:
        files = tuple(_unpack_file(file) for file in job.files)
        if any(file.name == "plan.json" for file in files):
            return await self._inner.execute(msgspec.structs.replace(job, files=files))
        built = await self._inner.execute(msgspec.structs.replace(job, files=files, keep=("made",)))
        made = Path(built.kept["made"]) if built.kept else None
        run = Ending(stdout=_delivery(made.read_bytes()), code=0) if made else built.run
        return msgspec.structs.replace(built, run=run, kept={})


def _unpack_file(file: JobFile) -> JobFile:
    if not file.name.endswith(".gz"):
        return file
    content = Blob.of(gzip.decompress(file.content.read()))
    return msgspec.structs.replace(file, name=file.name.removesuffix(".gz"), content=content)


def _delivery(made: bytes) -> str:
    """As the script of a build job prints it."""
    text = base64.b64encode(gzip.compress(made)).decode() + "\n"
    digest = hashlib.sha256(made).hexdigest()
    return f"ioi-eval 1 artifact {len(made)} {digest} {len(text)}\n{text}ioi-eval 1 end\n"


class Server:
    """`faults`: one of them, in turn, meets the first two requests and then this share of them."""

    def __init__(
        self, engine: Engine, faults: Sequence[Fault] = (), share: float = 0.0, seed: int = 0
    ) -> None:
        self._behind, self._faults, self._share = Pathless(engine), faults, share
        self._dice = random.Random(seed)
        self._runner: web.AppRunner | None = None
        self.port = 0
        self.requests = 0
        self.met: list[str] = []  # names of the faults that came up
        self.dying = asyncio.Event()

    @property
    def failed(self) -> int:
        return sum(name != slowly.__name__ for name in self.met)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self, *, elsewhere: bool = False) -> None:
        application = web.Application(client_max_size=0)
        application.router.add_get("/api/v2/runtimes", self._runtimes)
        application.router.add_post("/api/v2/execute", self._execute)
        self.dying = asyncio.Event()
        self._runner = web.AppRunner(application, shutdown_timeout=0.0, handler_cancellation=True)
        await self._runner.setup()
        port = 0 if elsewhere else self.port
        await web.TCPSite(self._runner, "127.0.0.1", port, reuse_address=True).start()
        self.port = self._runner.addresses[0][1]

    async def die(self) -> None:
        """In the middle of whatever runs there."""
        self.dying.set()
        runner, self._runner = self._runner, None
        if runner is not None:
            if runner.server is not None:
                for connection in runner.server.connections:
                    if connection.transport is not None:
                        connection.transport.abort()
            await runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.die()

    async def _runtimes(self, request: web.Request) -> web.Response:
        return web.Response(body=_RUNTIMES)

    async def _execute(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.requests += 1
        if self._faults and (self.requests <= _FIRST or self._dice.random() < self._share):
            fault = self._faults[len(self.met) % len(self._faults)]
            self.met.append(fault.__name__)
            return await fault(self, request, body)
        return web.Response(body=await self.answer(body))

    async def answer(self, body: bytes) -> bytes:
        return encode_result(await self._behind.execute(decode_request(body)))


# --- faults ------------------------------------------------------------------------------------------


async def slowly(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    """No fault: it only takes its time."""
    await asyncio.sleep(0.05)
    return web.Response(body=await server.answer(body))


async def error_500(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    return web.Response(status=500)


async def busy_503(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    return web.Response(status=503, body=b'{"message": "too many requests wait"}')


async def nothing(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    return web.Response()


async def no_json(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    return web.Response(body=b"<html>It works!</html>")


async def half_of_it(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    """Whole by its length, but only the first half of the reply."""
    whole = await server.answer(body)
    return web.Response(body=whole[: len(whole) // 2])


async def cut_off(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    """The connection ends in the middle of the reply."""
    whole = await server.answer(body)
    reply = web.StreamResponse(headers={"Content-Length": str(len(whole))})
    await reply.prepare(request)
    await reply.write(whole[: len(whole) // 2])
    _abort(request)
    return reply


async def hung_up(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    """After the job has run: the client cannot know, and sends it again."""
    await server.answer(body)
    _abort(request)
    return web.Response()


async def box_broken(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    return web.Response(body=b'{"run": {"status": "XX", "message": "no cgroup", "stdout": ""}}')


def _stage(**fields: object) -> web.Response:
    """A reply in which each stage ended like this."""
    stage = {"stdout": "", "stderr": "", "code": None, "signal": None, **fields}
    return web.Response(body=msgspec.json.encode({"compile": stage, "run": stage}))


async def killed(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    """The job is killed before it prints anything, as on a machine that is out of memory."""
    return _stage(signal="SIGKILL", status="SG", message="Caught fatal signal 9")


async def killed_before_isolate(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    """The same, as an older server reports it."""
    return _stage(signal="SIGKILL")


async def out_of_time(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    """Nothing is printed before the time is up. Builds end well."""
    if b'"plan.json"' not in body:
        return web.Response(body=await server.answer(body))
    return _stage(signal="SIGKILL", status="TO", message="Time limit exceeded (wall clock)")


async def killed_at_first_test(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    """The proctor is killed after its first line. Builds end well."""
    whole = await server.answer(body)
    if b'"plan.json"' not in body:
        return web.Response(body=whole)
    first = msgspec.json.decode(whole)["run"]["stdout"].partition("\n")[0]
    return _stage(stdout=f"{first}\n", signal="SIGKILL", status="SG", message="Caught fatal signal 9")


async def silent(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    """Each script ends at once, and well, and prints nothing."""
    return _stage(code=0)


async def shell_broken(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    """No script can be started. Builds end well."""
    if b'"plan.json"' not in body:
        return web.Response(body=await server.answer(body))
    return _stage(code=127, stderr="bash: error while loading shared libraries", status="RE")


async def never(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    """Accepted, and never answered."""
    await server.dying.wait()
    return web.Response()


def _abort(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
