"""A server like Piston before isolate.

It executes jobs without a sandbox: a folder and, if possible, a user for each job, with limits by `timeout`
and `prlimit`. /tmp, /proc and all processes are shared, user namespaces are available, and replies lack
statuses, times and memory. It has only the stock package `bash`, which lacks a compile stage.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from aiohttp import web
from support.loopback import serve_on_loopback
from support.piston_protocol import (
    RefusedRequest,
    ServerRuntime,
    check_limits,
    decode_request,
    encode_runtimes,
)

from ioi_eval.models import Job

_FIRST_USER = 1001
_PROCESSES, _OPEN_FILES, _FILE = 64, 2048, 100_000_000
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class OldServer:
    """The server.

    `output` is the maximum output of a stage in bytes, and `path` the PATH of jobs. `users` are the users
    that have run jobs.
    """

    def __init__(self, *, run_timeout: int = 120_000, output: int = 16 << 20, path: str = _PATH) -> None:
        self._limits, self._output, self._path = {"run_timeout": run_timeout}, output, path
        self._numbers = itertools.count(_FIRST_USER)
        self.users: list[int] = []
        self.url = ""

    async def __aenter__(self) -> Self:
        routes = web.get("/api/v2/runtimes", self._runtimes), web.post("/api/v2/execute", self._execute)
        self._runner, port = await serve_on_loopback(*routes)
        self.url = f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._runner.cleanup()

    async def _runtimes(self, request: web.Request) -> web.Response:
        bash = ServerRuntime(language="bash", version="5.1.0", aliases=("sh",))
        return web.Response(body=encode_runtimes([bash]), content_type="application/json")

    async def _execute(self, request: web.Request) -> web.Response:
        try:
            job = decode_request(await request.read())
            check_limits(job, self._limits)
            if job.runtime not in ("bash", "sh"):
                raise RefusedRequest(f"{job.runtime}-{job.version} runtime is unknown")
        except RefusedRequest as refused:
            return web.Response(status=refused.status, body=refused.body)
        with tempfile.TemporaryDirectory(prefix="old-piston-", ignore_cleanup_errors=True) as folder:
            return web.json_response(
                {"language": "bash", "version": "5.1.0", "run": await self._run(job, Path(folder))}
            )

    async def _run(self, job: Job, folder: Path) -> dict[str, Any]:
        user = next(self._numbers) if os.geteuid() == 0 else None
        _write(job, folder, user)
        self.users.append(os.geteuid() if user is None else user)
        with _sockets() as (out, err):
            process = await asyncio.create_subprocess_exec(
                *self._command(job, user), cwd=folder, env={"PATH": self._path}, start_new_session=True,
                stdin=asyncio.subprocess.DEVNULL, stdout=out[1], stderr=err[1], user=user, group=user,
                extra_groups=[] if user else None,
            )  # fmt: skip
            try:
                return await self._ended(process, out, err)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()

    def _command(self, job: Job, user: int | None) -> list[str]:
        seconds = (job.run_timeout or self._limits["run_timeout"]) / 1000
        limits = [f"--nofile={_OPEN_FILES}", f"--fsize={_FILE}"]
        if user is not None:  # otherwise the user's other processes would count
            limits.append(f"--nproc={_PROCESSES}")
        if job.run_memory_limit:
            limits.append(f"--as={job.run_memory_limit}")
        main = next(file.name for file in job.files if file.text)
        return ["timeout", "-s", "9", f"{seconds:g}", "prlimit", *limits, "bash", main, *job.args]

    async def _ended(self, process: asyncio.subprocess.Process, out: _Pair, err: _Pair) -> dict[str, Any]:
        for pair in (out, err):
            pair[1].close()
        stdout, stderr = await asyncio.gather(*(self._read(process, pair[0]) for pair in (out, err)))
        code = await process.wait()
        killed = code < 0 or code == 128 + signal.SIGKILL
        return {
            "stdout": stdout,
            "stderr": stderr,
            "output": stdout + stderr,
            "code": None if killed else code,
            "signal": "SIGKILL" if killed else None,
        }

    async def _read(self, process: asyncio.subprocess.Process, end: socket.socket) -> str:
        """Read a stream up to the output limit, and kill the job if it prints more."""
        loop, output = asyncio.get_running_loop(), bytearray()
        while piece := await loop.sock_recv(end, 1 << 16):
            output += piece
            if len(output) > self._output:
                os.killpg(process.pid, signal.SIGKILL)
                break
        return output[: self._output].decode(errors="replace")


_Pair = tuple[socket.socket, socket.socket]


@contextlib.contextmanager
def _sockets() -> Iterator[tuple[_Pair, _Pair]]:
    """Return socket pairs for the output of a job. Unlike pipes they cannot be opened by path."""
    pairs = socket.socketpair(), socket.socketpair()
    for pair in pairs:
        pair[0].setblocking(False)
    try:
        yield pairs
    finally:
        for end in itertools.chain(*pairs):
            end.close()


def _write(job: Job, folder: Path, user: int | None) -> None:
    for file in job.files:
        target = folder / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.content.read())
        target.chmod(0o644)
    for path in (folder, *folder.rglob("*")):
        if user is not None:
            shutil.chown(path, user, user)
