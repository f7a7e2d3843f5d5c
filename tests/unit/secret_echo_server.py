"""A server on loopback that repeats the client's secret in faulty replies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from support.stub_server import StubReply, StubRequest, StubServer, json_reply

HOW = ("200", "400", "401", "500", "redirect", "reset", "cut", "garbage")


@contextmanager
def repeating(failure: str) -> Iterator[tuple[StubServer, StubServer]]:
    """Yield the server, and another server to which it redirects."""

    def answer(request: StubRequest) -> StubReply:
        return _answer(failure, request, other.url.replace("127.0.0.1", "localhost"))

    other = StubServer(lambda asked: _answer("200", asked, ""))
    with StubServer(answer).running() as server, other.running():
        yield server, other


def _answer(failure: str, request: StubRequest, elsewhere: str) -> StubReply:
    secret = request.headers.get("Authorization", "").removeprefix("Bearer ")
    closed = {"Connection": "close"}
    if failure == "reset":
        return StubReply(reset=True)
    if failure == "garbage":
        return StubReply(raw=f"{secret} HTTP/1.1\r\nX: {secret}\r\n\r\n".encode())
    if failure == "redirect":
        repeated = secret if request.path.endswith(("/completions", "/execute")) else ""
        return StubReply(
            307, headers={"Location": f"{elsewhere}/of/{repeated}", **closed}
        )  # the hub's client follows it
    if failure in ("200", "cut"):
        whole = json_reply(_body(secret), **closed)
        return whole if failure == "200" else replace(whole, body=whole.body[:-10], cut=10)
    message = f"{'x' * 290} {secret} is wrong"  # a cut at 300 characters would split the secret
    return json_reply({"error": message, "message": message}, int(failure), **closed)


def _body(secret: str) -> dict[str, Any]:
    """Return a body like a reply of a model, of Piston or of the hub, with the secret in it."""
    ran = {"stdout": secret, "stderr": secret, "output": secret, "code": 0, "signal": None, "message": secret}
    return {
        "choices": [{"message": {"content": secret, "reasoning_content": secret}, "finish_reason": secret}],
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
