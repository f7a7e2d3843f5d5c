"""A server on the loopback that repeats, wherever it can, the secret that it was sent; and answers badly."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HOW = ("200", "400", "401", "500", "redirect", "reset", "cut", "garbage")


class RepeatingServer:
    """`how` it answers, and what it was sent."""

    def __init__(self, how: str) -> None:
        self.how, self.elsewhere = how, ""
        self.received: list[str] = []  # headers
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads, self._http.block_on_close = True, False
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def _handler(self) -> type[_Handler]:
        return type("Handler", (_Handler,), {"told": self})

    @contextmanager
    def running(self) -> Iterator[RepeatingServer]:
        thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield self
        finally:
            self._http.shutdown()
            self._http.server_close()
            thread.join()


@contextmanager
def repeating(how: str) -> Iterator[tuple[RepeatingServer, RepeatingServer]]:
    """A server, and the other one to which it sends those whom it redirects."""
    with RepeatingServer(how).running() as server, RepeatingServer("200").running() as other:
        server.elsewhere = other.url.replace("127.0.0.1", "localhost")
        yield server, other


def _body(secret: str) -> bytes:
    """What may be taken for a reply of a model, of Piston and of the hub, with the secret all over it."""
    ran = {"stdout": secret, "stderr": secret, "output": secret, "code": 0, "signal": None, "message": secret}
    return json.dumps(
        {
            "choices": [
                {"message": {"content": secret, "reasoning_content": secret}, "finish_reason": secret}
            ],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, secret: 1},
            "run": ran,
            "language": secret,
            "version": secret,
            "url": "https://huggingface.co/datasets/me/x",
            "files": [
                {"path": name, "uploadMode": "regular", "shouldIgnore": False}
                for name in ("README.md", "data/results.parquet", "summary.json")
            ],
            "commitUrl": "https://huggingface.co/datasets/me/x/commit/0",
            "commitOid": secret,
        }
    ).encode()


class _Handler(BaseHTTPRequestHandler):
    told: RepeatingServer  # how to answer
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.told.received.append(str(self.headers))
        secret = self.headers.get("Authorization", "").removeprefix("Bearer ")
        getattr(self, f"_{self.told.how}", self._refuse)(secret)

    do_GET = do_HEAD = do_POST

    def _200(self, secret: str) -> None:
        self._send(200, _body(secret))

    def _refuse(self, secret: str) -> None:
        words = f"{'x' * 290} {secret} is wrong"  # cut off in the middle of it by who cuts off at 300
        self._send(int(self.told.how), json.dumps({"error": words, "message": words}).encode())

    def _redirect(self, secret: str) -> None:
        repeated = secret if self.path.endswith(("/completions", "/execute")) else ""
        self._send(307, b"", Location=f"{self.told.elsewhere}/of/{repeated}")  # the hub's client follows it

    def _reset(self, secret: str) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True  # and this way at once: nothing was written that could linger

    def _cut(self, secret: str) -> None:
        self._send(200, _body(secret)[:-10], promised=10)

    def _garbage(self, secret: str) -> None:
        self.wfile.write(f"{secret} HTTP/1.1\r\nX: {secret}\r\n\r\n".encode())
        self.close_connection = True

    def _send(self, status: int, body: bytes, promised: int = 0, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body) + promised))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else body)

    def log_message(self, format: str, *args: Any) -> None:
        pass
