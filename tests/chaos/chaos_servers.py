"""Servers that fail in every way of a network, and answer all other jobs correctly.

A FakeEngine answers the jobs, because these tests are about HTTP and waiting.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import random
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Self

import msgspec
from aiohttp import web
from support.loopback import serve_on_loopback
from support.piston_protocol import ServerRuntime, decode_request, encode_result, encode_runtimes

from ioi_eval import Engine
from ioi_eval.models import Blob, Ending, Job, JobFile, JobResult

Fault = Callable[["Server", web.Request, bytes], Awaitable[web.StreamResponse]]
_FIRST = 2
_RUNTIMES = encode_runtimes([ServerRuntime(language="ioi_eval", version="1.0.0")])


class UnpackingEngine:
    """Executes jobs that came over HTTP on an engine that needs unpacked files."""

    def __init__(self, inner: Engine) -> None:
        self._inner = inner

    async def execute(self, job: Job, check: object = None) -> JobResult:
        files = tuple(_unpack_file(file) for file in job.files)
        if any(file.name == "plan.json" for file in files):
            return await self._inner.execute(msgspec.structs.replace(job, files=files))
        built = await self._inner.execute(msgspec.structs.replace(job, files=files, keep=("made",)))
        built_file = Path(built.kept["made"]) if built.kept else None
        run = Ending(stdout=_delivery(built_file.read_bytes()), code=0) if built_file else built.run
        return msgspec.structs.replace(built, run=run, kept={})


def _unpack_file(file: JobFile) -> JobFile:
    if not file.name.endswith(".gz"):
        return file
    content = Blob.of(gzip.decompress(file.content.read()))
    return msgspec.structs.replace(file, name=file.name.removesuffix(".gz"), content=content)


def _delivery(built_file: bytes) -> str:
    """Return the output of a build job's script."""
    encoded = base64.b64encode(gzip.compress(built_file)).decode() + "\n"
    digest = hashlib.sha256(built_file).hexdigest()
    return f"ioi-eval 1 artifact {len(built_file)} {digest} {len(encoded)}\n{encoded}ioi-eval 1 end\n"


class Server:
    """A server with faults: the first two requests and then a share of all requests fail, each in turn."""

    def __init__(
        self, engine: Engine, faults: Sequence[Fault] = (), share: float = 0.0, seed: int = 0
    ) -> None:
        self._behind, self._faults, self._share = UnpackingEngine(engine), faults, share
        self._dice = random.Random(seed)
        self._runner: web.AppRunner | None = None
        self.port = 0
        self.requests = 0
        self.met: list[str] = []  # names of the faults that occurred
        self.dying = asyncio.Event()

    @property
    def failed(self) -> int:
        return sum(name != reply_slowly.__name__ for name in self.met)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self, *, elsewhere: bool = False) -> None:
        self.dying = asyncio.Event()
        routes = web.get("/api/v2/runtimes", self._runtimes), web.post("/api/v2/execute", self._execute)
        self._runner, self.port = await serve_on_loopback(*routes, port=0 if elsewhere else self.port)

    async def die(self) -> None:
        """Kill the server while jobs run."""
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

    async def __aexit__(self, *error: object) -> None:
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


async def reply_slowly(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    """Answer slowly, which is allowed."""
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


async def send_half_of_reply(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    """Send a reply with the right length, whose second half is missing."""
    whole = await server.answer(body)
    return web.Response(body=whole[: len(whole) // 2])


async def cut_off(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    """Close the connection in the middle of the reply."""
    whole = await server.answer(body)
    reply = web.StreamResponse(headers={"Content-Length": str(len(whole))})
    await reply.prepare(request)
    await reply.write(whole[: len(whole) // 2])
    _abort(request)
    return reply


async def close_after_job(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    """Close the connection after the job has run, so that the client sends it again."""
    await server.answer(body)
    _abort(request)
    return web.Response()


async def box_broken(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    return web.Response(body=b'{"run": {"status": "XX", "message": "no cgroup", "stdout": ""}}')


def _stage(**fields: object) -> web.Response:
    """Return a reply in which each stage has these fields."""
    stage = {"stdout": "", "stderr": "", "code": None, "signal": None, **fields}
    return web.Response(body=msgspec.json.encode({"compile": stage, "run": stage}))


async def report_killed_job(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    """Report a job that was killed before it printed anything, as when memory is short."""
    return _stage(signal="SIGKILL", status="SG", message="Caught fatal signal 9")


async def killed_before_isolate(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    """Report the same like an older server."""
    return _stage(signal="SIGKILL")


async def out_of_time(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    """Report a timeout before any output, except for builds."""
    if b'"plan.json"' not in body:
        return web.Response(body=await server.answer(body))
    return _stage(signal="SIGKILL", status="TO", message="Time limit exceeded (wall clock)")


async def killed_at_first_test(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    """Report that the proctor was killed after its first line, except for builds."""
    whole = await server.answer(body)
    if b'"plan.json"' not in body:
        return web.Response(body=whole)
    first = msgspec.json.decode(whole)["run"]["stdout"].partition("\n")[0]
    return _stage(stdout=f"{first}\n", signal="SIGKILL", status="SG", message="Caught fatal signal 9")


async def report_silent_scripts(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    """Report scripts that exit with 0 at once and print nothing."""
    return _stage(code=0)


async def shell_broken(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    """Report that no script can be started, except for builds."""
    if b'"plan.json"' not in body:
        return web.Response(body=await server.answer(body))
    return _stage(code=127, stderr="bash: error while loading shared libraries", status="RE")


async def never_answer(server: Server, request: web.Request, body: bytes) -> web.StreamResponse:
    """Accept a request and never answer it."""
    await server.dying.wait()
    return web.Response()


def _abort(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
