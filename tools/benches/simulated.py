"""Simulated workers with the protocol of `ioi-eval worker`: they store contents, and programs stay on them.

They are addresses of 127.0.0.0/8 and share a process. A real worker answers each new kind of request: probes,
the first build, the first run of a problem. Later its replies are repeated after the requested time. Replies
to builds contain a new program of the requested size.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import gzip
import hashlib
import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec

API = "/api/v2"
_CONTENTS = f"{API}/contents/"
_HEADER = ".gch"
_KEPT = ("content-type", "ioi-eval-identity")


class Reply(msgspec.Struct):
    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()

    def encode(self) -> bytes:
        lines = [f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        lines.append(f"Content-Length: {len(self.body)}")
        return "\r\n".join((*lines, "\r\n")).encode() + self.body


class _File(msgspec.Struct):
    name: str
    content: str = ""
    sha256: str = ""
    encoding: str = ""


class _ExecuteRequest(msgspec.Struct):
    files: tuple[_File, ...] = ()
    keep: tuple[str, ...] = ()


class _Test(msgspec.Struct):
    index: int


class _Plan(msgspec.Struct):
    nonce: str
    tests: tuple[_Test, ...]


class Workers:
    """All simulated workers. `url`: address of the real worker. `size`: size of a program, in bytes."""

    def __init__(self, url: str, size: int, seconds: float) -> None:
        self._url, self._seconds = url, seconds
        self._text = os.urandom(size - 8)
        self._hash = hashlib.sha256(self._text)
        self._programs: dict[str, int] = {}
        self._real = ""  # hash of the program that the real worker stores
        self._held: dict[str, set[str]] = {}  # by address
        self._known: dict[Any, asyncio.Future[Reply]] = {}
        self._signed: tuple[tuple[str, str], ...] = ()
        self.counts = {"builds": 0, "runs": 0, "fetched": 0, "brought": 0}

    async def answer(self, address: str, method: str, path: str, body: bytes, packed: bool) -> Reply:
        kept_hashes = self._held.setdefault(address, set())
        if path.startswith(_CONTENTS):
            return await self._content_reply(kept_hashes, method, path, body, packed)
        if not path.endswith("/execute") or packed:
            return await self._ask_once(
                (method, path, body), partial(self._ask_real_worker, method, path, body, packed)
            )
        try:
            request = msgspec.json.decode(body, type=_ExecuteRequest)
        except msgspec.DecodeError:
            request = _ExecuteRequest()
        if missing := sorted({file.sha256 for file in request.files if file.sha256} - kept_hashes):
            refusal = json.dumps({"message": "contents are not here", "missing": missing}).encode()
            return Reply(HTTPStatus.CONFLICT, refusal, self._signed)
        if request.keep:
            return await self._build_reply(kept_hashes, request, body)
        plan = next((file for file in request.files if file.name.startswith("plan.json")), None)
        if plan is not None:
            programs = [file.sha256 for file in request.files if file.sha256 in self._programs]
            return await self._run_reply(plan, body, programs)
        return await self._ask_once(body, partial(self._ask_real_worker, method, path, body, packed))

    async def _build_reply(self, held: set[str], asked: _ExecuteRequest, body: bytes) -> Reply:
        """Answer like the first build of this kind, with another program."""
        reply = await self._ask_once(
            ("build", asked.keep), partial(self._ask_real_worker, "POST", f"{API}/execute", body)
        )
        reply_fields = msgspec.json.decode(reply.body)
        kept_files = reply_fields.get("kept", {})
        for name, kept_file in kept_files.items():
            if not name.endswith(_HEADER):
                self._real = self._real or kept_file["sha256"]
                number = len(self._programs) + 1
                program_hash = self._hash.copy()
                program_hash.update(number.to_bytes(8, "big"))
                kept_files[name] = {"sha256": program_hash.hexdigest(), "size": len(self._text) + 8}
                self._programs[kept_files[name]["sha256"]] = number
            held.add(kept_files[name]["sha256"])
        self.counts["builds"] += 1
        await asyncio.sleep(self._seconds)
        return msgspec.structs.replace(reply, body=msgspec.json.encode(reply_fields))

    async def _run_reply(self, plan: _File, body: bytes, programs: list[str]) -> Reply:
        plan_bytes = plan.content.encode()
        plan_bytes = base64.b64decode(plan_bytes) if plan.encoding == "base64" else plan_bytes
        sent_plan = msgspec.json.decode(
            gzip.decompress(plan_bytes) if plan.name.endswith(".gz") else plan_bytes, type=_Plan
        )
        key = ("run", *(test.index for test in sent_plan.tests))
        if (reply_future := self._known.get(key)) is not None:
            nonce, reply = await reply_future  # type: ignore[misc]
        else:
            reply_future = self._known[key] = asyncio.get_running_loop().create_future()
            for name in programs:
                body = body.replace(name.encode(), self._real.encode())
            nonce, reply = sent_plan.nonce, await self._ask_real_worker("POST", f"{API}/execute", body)
            reply_future.set_result((nonce, reply))  # type: ignore[arg-type]
        self.counts["runs"] += 1
        await asyncio.sleep(self._seconds)
        return msgspec.structs.replace(
            reply, body=reply.body.replace(nonce.encode(), sent_plan.nonce.encode())
        )

    async def _content_reply(
        self, held: set[str], method: str, path: str, body: bytes, packed: bool
    ) -> Reply:
        name = path.removeprefix(_CONTENTS)
        if method == "PUT":
            await self._ask_once(("PUT", name), partial(self._ask_real_worker, method, path, body, packed))
            held.add(name)
            self.counts["brought"] += 1
            return Reply(HTTPStatus.CREATED, headers=self._signed)
        if name not in held:
            return Reply(HTTPStatus.NOT_FOUND, headers=self._signed)
        if method == "HEAD":
            return Reply(HTTPStatus.OK, headers=self._signed)
        self.counts["fetched"] += 1
        return Reply(HTTPStatus.OK, self._text + self._programs[name].to_bytes(8, "big"), self._signed)

    async def _ask_once(self, key: Any, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        if (reply_future := self._known.get(key)) is None:
            reply_future = self._known[key] = asyncio.get_running_loop().create_future()
            reply_future.set_result(await ask())
        return await reply_future

    async def _ask_real_worker(self, method: str, path: str, body: bytes, packed: bool = False) -> Reply:
        """Send a request to the real worker."""
        kind = "application/octet-stream" if path.startswith(_CONTENTS) else "application/json"
        headers = {"Content-Type": kind, **({"Content-Encoding": "gzip"} if packed else {})}
        headers |= {"Prefer": "return=minimal"}
        request = urllib.request.Request(self._url + path, data=body or None, method=method, headers=headers)

        def ask() -> Reply:
            try:
                answer = urllib.request.urlopen(request)
            except urllib.error.HTTPError as refusal:
                answer = refusal
            with answer:
                headers = tuple((name, answer.headers[name]) for name in _KEPT if name in answer.headers)
                return Reply(answer.status, answer.read(), headers)

        reply = await asyncio.to_thread(ask)
        self._signed = tuple(pair for pair in reply.headers if pair[0] == _KEPT[1])
        return reply


class Connection(asyncio.Protocol):
    """A minimal HTTP server, so that the machine's cores are free for the client."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._received = bytearray()
        self._length = -1  # length of the request's body in bytes; -1 until it is known
        self._tasks = set[asyncio.Task[None]]()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport, self._address = transport, transport.get_extra_info("sockname")[0]

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._length < 0:
            end = self._received.find(b"\r\n\r\n")
            if end < 0:
                return
            head = bytes(self._received[:end])
            del self._received[: end + 4]
            self._line = head.partition(b"\r\n")[0].decode().split()[:2]
            low = head.lower()
            self._packed = b"content-encoding: gzip" in low
            length = low.partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0]
            self._length = int(length or 0)
            if b"expect: 100-continue" in low:
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if len(self._received) >= self._length:
            body = bytes(self._received[: self._length])
            del self._received[: self._length]
            self._length = -1
            task = asyncio.get_running_loop().create_task(self._answer(*self._line, body, self._packed))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, method: str, path: str, body: bytes, packed: bool) -> None:
        reply = await self._workers.answer(self._address, method, path, body, packed)
        if not self._transport.is_closing():
            data = reply.encode()
            self._transport.write(data[: -len(reply.body)] if method == "HEAD" and reply.body else data)


@asynccontextmanager
async def start_real_worker(cache: Path) -> AsyncIterator[str]:
    """Start a real worker with one slot and yield its address."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "ioi_eval", "worker", "--port", "0", "--slots", "1",
        env={"PATH": "/usr/bin:/bin", "IOI_EVAL_CACHE": str(cache)}, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        yield (await process.stdout.readline()).split()[3].decode().rstrip(",")
    finally:
        process.terminate()
        await process.wait()


async def serve(cache: Path, size: int, seconds: float) -> None:
    async with start_real_worker(cache) as url:
        workers = Workers(url, size, seconds)
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Connection(workers), "0.0.0.0", 0, backlog=4096)
        print(server.sockets[0].getsockname()[1], flush=True)
        while await loop.run_in_executor(None, sys.stdin.readline):
            print(json.dumps(workers.counts), flush=True)


class Simulated:
    """The process of the workers, as the client sees it."""

    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self._process, self._port = process, port

    @property
    def pid(self) -> int:
        return self._process.pid

    def urls(self, number: int) -> tuple[str, ...]:
        return tuple(f"http://127.0.{n // 250 + 1}.{n % 250 + 1}:{self._port}" for n in range(number))

    async def counts(self) -> dict[str, int]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(b"\n")
        counts: dict[str, int] = json.loads(await self._process.stdout.readline())
        return counts


@asynccontextmanager
async def start_simulated(cache: Path, size: int, seconds: float) -> AsyncIterator[Simulated]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "--cache", str(cache), "--size", str(size), "--seconds", str(seconds),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    try:
        yield Simulated(process, int(await process.stdout.readline()))
    finally:
        process.stdin.close()
        await process.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--cache", type=Path, required=True, help="disk cache of the real worker for clients' files"
    )
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    asked = parser.parse_args()
    asyncio.run(serve(asked.cache, asked.size, asked.seconds))
