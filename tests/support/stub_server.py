"""An HTTP server for tests: a function returns the replies, and the server records the requests."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class StubRequest:
    """A received request. `number` counts from 0."""

    number: int
    method: str
    path: str
    headers: Message
    content: bytes

    @cached_property
    def body(self) -> Any:
        return json.loads(self.content)

    @property
    def prompt(self) -> str:
        return str(self.body["messages"][-1]["content"])


@dataclass(frozen=True)
class StubReply:
    """A reply.

    Args:
        status: HTTP status code.
        body: content of the reply.
        headers: additional headers.
        cut: number of bytes by which Content-Length exceeds the body.
        raw: bytes to send instead of an HTTP reply, before the connection is closed.
        reset: reset the connection, after sending `raw`.
    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    cut: int = 0
    raw: bytes = b""
    reset: bool = False


def json_reply(value: Any, status: int = 200, **headers: str) -> StubReply:
    return StubReply(status, json.dumps(value).encode(), {"Content-Type": "application/json", **headers})


def page(status: int = 200, title: str = "Welcome") -> StubReply:
    html = f"<!DOCTYPE html><html><head><title>{title}</title></head><body>{'x' * 2000}</body></html>"
    return StubReply(status, html.encode(), {"Content-Type": "text/html"})


def chat_reply(content: Any, *, stop: str | None = "stop", usage: Any = None, **message: Any) -> StubReply:
    """Return a model's chat completion."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": content, **message},
        "finish_reason": stop,
    }
    about = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
    return json_reply({**about, "choices": [choice], **({"usage": usage} if usage else {})})


def code_reply(code: str) -> StubReply:
    return chat_reply(
        f"Here it is:\n```python\n{code}```\n", usage={"prompt_tokens": 10, "completion_tokens": 5}
    )


class StubServer:
    def __init__(self, answer: Callable[[StubRequest], StubReply], under: str = "") -> None:
        self.asked: list[StubRequest] = []
        self.over = threading.Event()  # set when the server stops, so that waiting answers return
        self._answer, self._lock = answer, threading.Lock()
        handler = type("Handler", (_Handler,), {"stub": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._http.daemon_threads, self._http.block_on_close = True, False
        self.url = f"http://127.0.0.1:{self._http.server_port}{under}"

    def answer(self, method: str, path: str, headers: Message, content: bytes) -> StubReply:
        with self._lock:
            stub_request = StubRequest(len(self.asked), method, path, headers, content)
            self.asked.append(stub_request)
        return self._answer(stub_request)

    @contextmanager
    def running(self) -> Iterator[StubServer]:
        thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield self
        finally:
            self.over.set()
            self._http.shutdown()
            self._http.server_close()
            thread.join()


@contextmanager
def model_server(*answers: StubReply | Callable[[StubRequest], StubReply]) -> Iterator[StubServer]:
    """Serve a model's replies in order, and then repeat the last reply. A function computes a reply."""

    def answer(request: StubRequest) -> StubReply:
        chosen = answers[min(request.number, len(answers) - 1)]
        return chosen if isinstance(chosen, StubReply) else chosen(request)

    with StubServer(answer, "/v1").running() as server:
        yield server


class _Handler(BaseHTTPRequestHandler):
    stub: StubServer
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # a single packet: a second packet would wait for a delayed acknowledgement
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        answer = self.stub.answer(self.command, self.path, self.headers, content)
        if answer.reset or answer.raw:
            if answer.reset:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.wfile.write(answer.raw)
            self.close_connection = True
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body) + answer.cut))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else answer.body)
        self.wfile.flush()
        self.close_connection = self.close_connection or answer.cut > 0

    do_GET = do_HEAD = do_POST

    def log_message(self, format: str, *args: Any) -> None:
        pass
