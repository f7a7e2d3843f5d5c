"""Simulated workers with the protocol of `ioi-eval worker`: they store contents, and programs stay on them.

The workers are addresses of 127.0.0.0/8 and share a process. A real worker answers each new kind of request:
probes, the first build, the first run of a problem. Later its replies are repeated after the requested time.
Replies to builds contain a new program of the requested size.
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


class SimulatedWorkers:
    """All simulated workers. `url`: address of the real worker. `size`: size of a program, in bytes."""

    def __init__(self, url: str, program_bytes: int, job_s: float) -> None:
        self._url, self._seconds = url, job_s
        self._program_prefix = os.urandom(program_bytes - 8)
        self._prefix_hash = hashlib.sha256(self._program_prefix)
        self._programs: dict[str, int] = {}
        self._real_program_hash = ""  # hash of the program that the real worker stores
        self._hashes_by_address: dict[str, set[str]] = {}  # hashes of stored contents, by address
        self._replies_by_request: dict[Any, asyncio.Future[Reply]] = {}
        self._identity_headers: tuple[tuple[str, str], ...] = ()
        self.counts = {"builds": 0, "runs": 0, "fetched": 0, "brought": 0}

    async def answer_request(
        self, address: str, method: str, path: str, body: bytes, is_gzipped: bool
    ) -> Reply:
        stored_hashes = self._hashes_by_address.setdefault(address, set())
        if path.startswith(_CONTENTS):
            return await self._make_content_reply(stored_hashes, method, path, body, is_gzipped)
        if not path.endswith("/execute") or is_gzipped:
            return await self._ask_once_per_key(
                (method, path, body), partial(self._ask_real_worker, method, path, body, is_gzipped)
            )
        try:
            request = msgspec.json.decode(body, type=_ExecuteRequest)
        except msgspec.DecodeError:
            request = _ExecuteRequest()
        if missing_hashes := sorted({file.sha256 for file in request.files if file.sha256} - stored_hashes):
            refusal = json.dumps({"message": "contents are not here", "missing": missing_hashes}).encode()
            return Reply(HTTPStatus.CONFLICT, refusal, self._identity_headers)
        if request.keep:
            return await self._make_build_reply(stored_hashes, request, body)
        plan = next((file for file in request.files if file.name.startswith("plan.json")), None)
        if plan is not None:
            program_hashes = [file.sha256 for file in request.files if file.sha256 in self._programs]
            return await self._make_run_reply(plan, body, program_hashes)
        return await self._ask_once_per_key(
            body, partial(self._ask_real_worker, method, path, body, is_gzipped)
        )

    async def _make_build_reply(
        self, stored_hashes: set[str], request: _ExecuteRequest, body: bytes
    ) -> Reply:
        """Return the real worker's reply to the first build of this kind, naming a new program."""
        reply = await self._ask_once_per_key(
            ("build", request.keep), partial(self._ask_real_worker, "POST", f"{API}/execute", body)
        )
        reply_fields = msgspec.json.decode(reply.body)
        kept_files = reply_fields.get("kept", {})
        for name, kept_file in kept_files.items():
            if not name.endswith(_HEADER):
                self._real_program_hash = self._real_program_hash or kept_file["sha256"]
                number = len(self._programs) + 1
                program_hash = self._prefix_hash.copy()
                program_hash.update(number.to_bytes(8, "big"))
                kept_files[name] = {"sha256": program_hash.hexdigest(), "size": len(self._program_prefix) + 8}
                self._programs[kept_files[name]["sha256"]] = number
            stored_hashes.add(kept_files[name]["sha256"])
        self.counts["builds"] += 1
        await asyncio.sleep(self._seconds)
        return msgspec.structs.replace(reply, body=msgspec.json.encode(reply_fields))

    async def _make_run_reply(self, plan_file: _File, body: bytes, program_hashes: list[str]) -> Reply:
        """Return the real worker's reply to the first run of these tests, with the nonce of this plan."""
        plan_bytes = plan_file.content.encode()
        plan_bytes = base64.b64decode(plan_bytes) if plan_file.encoding == "base64" else plan_bytes
        sent_plan = msgspec.json.decode(
            gzip.decompress(plan_bytes) if plan_file.name.endswith(".gz") else plan_bytes, type=_Plan
        )
        key = ("run", *(test.index for test in sent_plan.tests))
        if (reply_future := self._replies_by_request.get(key)) is not None:
            nonce, reply = await reply_future  # type: ignore[misc]
        else:
            reply_future = self._replies_by_request[key] = asyncio.get_running_loop().create_future()
            for program_hash in program_hashes:
                body = body.replace(program_hash.encode(), self._real_program_hash.encode())
            nonce, reply = sent_plan.nonce, await self._ask_real_worker("POST", f"{API}/execute", body)
            reply_future.set_result((nonce, reply))  # type: ignore[arg-type]
        self.counts["runs"] += 1
        await asyncio.sleep(self._seconds)
        return msgspec.structs.replace(
            reply, body=reply.body.replace(nonce.encode(), sent_plan.nonce.encode())
        )

    async def _make_content_reply(
        self, stored_hashes: set[str], method: str, path: str, body: bytes, is_gzipped: bool
    ) -> Reply:
        content_hash = path.removeprefix(_CONTENTS)
        if method == "PUT":
            await self._ask_once_per_key(
                ("PUT", content_hash), partial(self._ask_real_worker, method, path, body, is_gzipped)
            )
            stored_hashes.add(content_hash)
            self.counts["brought"] += 1
            return Reply(HTTPStatus.CREATED, headers=self._identity_headers)
        if content_hash not in stored_hashes:
            return Reply(HTTPStatus.NOT_FOUND, headers=self._identity_headers)
        if method == "HEAD":
            return Reply(HTTPStatus.OK, headers=self._identity_headers)
        self.counts["fetched"] += 1
        return Reply(
            HTTPStatus.OK,
            self._program_prefix + self._programs[content_hash].to_bytes(8, "big"),
            self._identity_headers,
        )

    async def _ask_once_per_key(
        self, request_key: Any, send_request: Callable[[], Awaitable[Reply]]
    ) -> Reply:
        if (reply_future := self._replies_by_request.get(request_key)) is None:
            reply_future = self._replies_by_request[request_key] = asyncio.get_running_loop().create_future()
            reply_future.set_result(await send_request())
        return await reply_future

    async def _ask_real_worker(self, method: str, path: str, body: bytes, is_gzipped: bool = False) -> Reply:
        """Send a request to the real worker."""
        content_type = "application/octet-stream" if path.startswith(_CONTENTS) else "application/json"
        headers = {"Content-Type": content_type, **({"Content-Encoding": "gzip"} if is_gzipped else {})}
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
        self._identity_headers = tuple(header for header in reply.headers if header[0] == _KEPT[1])
        return reply


class Connection(asyncio.Protocol):
    """A minimal HTTP server, so that the machine's cores are free for the client."""

    def __init__(self, workers: SimulatedWorkers) -> None:
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
            head_end = self._received.find(b"\r\n\r\n")
            if head_end < 0:
                return
            head = bytes(self._received[:head_end])
            del self._received[: head_end + 4]
            self._method_and_path = head.partition(b"\r\n")[0].decode().split()[:2]
            lower_head = head.lower()
            self._is_gzipped = b"content-encoding: gzip" in lower_head
            length = lower_head.partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0]
            self._length = int(length or 0)
            if b"expect: 100-continue" in lower_head:
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if len(self._received) >= self._length:
            body = bytes(self._received[: self._length])
            del self._received[: self._length]
            self._length = -1
            task = asyncio.get_running_loop().create_task(
                self._answer(*self._method_and_path, body, self._is_gzipped)
            )
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, method: str, path: str, body: bytes, is_gzipped: bool) -> None:
        reply = await self._workers.answer_request(self._address, method, path, body, is_gzipped)
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


async def serve_simulated_workers(cache: Path, program_bytes: int, job_s: float) -> None:
    async with start_real_worker(cache) as url:
        workers = SimulatedWorkers(url, program_bytes, job_s)
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Connection(workers), "0.0.0.0", 0, backlog=4096)
        print(server.sockets[0].getsockname()[1], flush=True)
        while await loop.run_in_executor(None, sys.stdin.readline):
            print(json.dumps(workers.counts), flush=True)


class SimulatedWorkersProcess:
    """The process of the workers, as the client sees it."""

    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self._process, self._port = process, port

    @property
    def pid(self) -> int:
        return self._process.pid

    def make_urls(self, worker_count: int) -> tuple[str, ...]:
        return tuple(f"http://127.0.{n // 250 + 1}.{n % 250 + 1}:{self._port}" for n in range(worker_count))

    async def read_request_counts(self) -> dict[str, int]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(b"\n")
        counts: dict[str, int] = json.loads(await self._process.stdout.readline())
        return counts


@asynccontextmanager
async def start_simulated_workers(
    cache: Path, program_bytes: int, job_s: float
) -> AsyncIterator[SimulatedWorkersProcess]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__,
        "--cache", str(cache), "--size", str(program_bytes), "--seconds", str(job_s),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    try:
        yield SimulatedWorkersProcess(process, int(await process.stdout.readline()))
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
    arguments = parser.parse_args()
    asyncio.run(serve_simulated_workers(arguments.cache, arguments.size, arguments.seconds))
