"""A model's server on the loopback: it answers as a test wants, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Asked:
    number: int  # of the request, from 0
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def prompt(self) -> str:
        return str(self.body["messages"][-1]["content"])


@dataclass(frozen=True)
class Answer:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    cut: int = 0  # bytes that are promised and never come


def says(content: Any, *, stop: str | None = "stop", usage: Any = None, **message: Any) -> Answer:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": content, **message},
        "finish_reason": stop,
    }
    return as_json({"choices": [choice], **({"usage": usage} if usage else {})})


def as_json(value: Any, status: int = 200, **headers: str) -> Answer:
    return Answer(status, json.dumps(value).encode(), {"Content-Type": "application/json", **headers})


def page(status: int = 200, title: str = "Welcome") -> Answer:
    text = f"<!DOCTYPE html><html><head><title>{title}</title></head><body>{'x' * 2000}</body></html>"
    return Answer(status, text.encode(), {"Content-Type": "text/html"})


def fenced(code: str) -> Answer:
    return says(f"Here it is:\n```python\n{code}```\n", usage={"prompt_tokens": 10, "completion_tokens": 5})


class ModelServer:
    def __init__(self, answer: Callable[[Asked], Answer]) -> None:
        self.asked: list[Asked] = []
        self.over = threading.Event()  # for answers that wait: nobody listens any more
        self._answer, self._lock = answer, threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads, self._http.block_on_close = True, False
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 1 << 16  # one packet: the second one would wait for a late acknowledgement
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with server._lock:
                    asked = Asked(len(server.asked), self.path, dict(self.headers), body)
                    server.asked.append(asked)
                self._send(server._answer(asked))

            def _send(self, answer: Answer) -> None:
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.body) + answer.cut))
                self.end_headers()
                self.wfile.write(answer.body)
                self.wfile.flush()
                self.close_connection = self.close_connection or answer.cut > 0

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler

    def _serve(self) -> None:
        self._http.serve_forever(poll_interval=0.02)

    @contextmanager
    def running(self) -> Iterator[ModelServer]:
        thread = threading.Thread(target=self._serve)
        thread.start()
        try:
            yield self
        finally:
            self.over.set()
            self._http.shutdown()
            self._http.server_close()
            thread.join()


@contextmanager
def model_server(*answers: Answer | Callable[[Asked], Answer]) -> Iterator[ModelServer]:
    """Gives the answers in their order, and the last one for ever. A function makes its own."""

    def answer(asked: Asked) -> Answer:
        one = answers[min(asked.number, len(answers) - 1)]
        return one if isinstance(one, Answer) else one(asked)

    with ModelServer(answer).running() as server:
        yield server
