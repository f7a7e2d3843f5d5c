"""The workers' token is sent only to workers, and to a server for which the user named it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from piston_loopback import Loopback, engine_on, fine, job
from support.loopback import serve_on_loopback

from ioi_eval import PistonEngine
from ioi_eval.engines.piston import probe
from ioi_eval.engines.piston.discovery import FixedServers
from ioi_eval.engines.piston.sending import HttpClient, Request, ServerTokens
from ioi_eval.errors import EngineError, InputError

WORKER, PISTON = "Piston v3.1.1 (ioi-eval worker)", "Piston v3.1.1"


class Place:
    """An address, the server there, and its requests."""

    def __init__(self, name: str) -> None:
        self.name, self.port = name, 0
        self.asked: list[tuple[str, str]] = []  # path and authorization

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def heard(self) -> set[str]:
        return {authorization for _, authorization in self.asked if authorization}

    async def _answer(self, request: web.Request) -> web.Response:
        self.asked.append((request.path, request.headers.get("Authorization", "")))
        if request.path == "/":
            return web.json_response({"message": self.name})
        if request.method == "POST":
            return web.json_response({"run": {"stdout": "done", "code": 0}})
        return web.json_response([{"language": "ioi_eval", "version": "1.0.0"}])

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Place]:
        route = web.route("*", "/{path:.*}", self._answer)
        runner, self.port = await serve_on_loopback(route, port=self.port)
        try:
            yield self
        finally:
            await runner.cleanup()


async def ask(wire: HttpClient, server: Place) -> None:
    await wire.execute(server.url, Request(body=b"{}"), 20.0)


async def test_token_is_sent_only_after_worker_identifies_itself() -> None:
    async with Place(WORKER).open() as worker, HttpClient(token="secret") as wire:
        for _ in range(2):
            await ask(wire, worker)
    path = "/api/v2/execute"
    assert worker.asked == [("/", ""), (path, "Bearer secret"), (path, "Bearer secret")]


async def test_token_is_not_sent_to_other_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "BODY_SIZES", probe.BODY_SIZES[:1])  # packing 32 MB is slow
    async with Place(WORKER).open() as worker, Place(PISTON).open() as piston, Place("").open() as other:
        servers = [worker, piston, other]
        engine = PistonEngine(FixedServers(server.url for server in servers), token="secret", per_endpoint=1)
        async with engine:  # opening probes all servers
            for _ in range(6):
                await engine.execute(job(runtime="other"))
    assert worker.heard == {"Bearer secret"} and piston.heard == other.heard == set()
    assert all(("/api/v2/execute", "") in server.asked for server in (piston, other))


async def test_server_specific_token_overrides_default() -> None:
    async with (
        Place(WORKER).open() as worker,
        Place(PISTON).open() as own_token_server,
        Place(PISTON).open() as piston,
        HttpClient(token=f"{own_token_server.url}/api/v2/ theirs\nours") as wire,
    ):
        for server in (worker, own_token_server, piston):
            await ask(wire, server)
    assert (worker.heard, own_token_server.heard, piston.heard) == ({"Bearer ours"}, {"Bearer theirs"}, set())


async def test_user_and_password_are_sent_as_basic_auth_and_masked() -> None:
    async with Place(PISTON).open() as server, HttpClient(token=f"{server.url} me:pass:word-of-mine") as wire:
        await ask(wire, server)
    assert server.heard == {"Basic bWU6cGFzczp3b3JkLW9mLW1pbmU="}
    tokens = ServerTokens(f"{server.url} me:pass:word-of-mine")
    shown = tokens.redact_tokens("me:pass:word-of-mine bWU6cGFzczp3b3JkLW9mLW1pbmU= pass:word-of-mine")
    assert shown == "*** *** ***"
    assert tokens.redact_tokens_in_reply(b"pass:word-of-mine") == b"***"


async def test_restarted_server_identifies_itself_before_token() -> None:
    server = Place(WORKER)
    async with HttpClient(token="secret") as wire:
        async with server.open():
            await ask(wire, server)
        with pytest.raises(EngineError, match=r"cannot be reached|closed the connection early"):
            await ask(wire, server)
        server.name, server.asked = PISTON, []
        async with server.open():
            await ask(wire, server)
    assert server.asked == [("/", ""), ("/api/v2/execute", "")]


async def test_identity_is_not_requested_without_token() -> None:
    async with Loopback(fine) as server, engine_on(server) as engine:
        await engine.execute(job())
        assert "Authorization" not in server.headers[0]


@pytest.mark.parametrize(
    ("token_text", "message"),
    [
        ("one two", "two tokens for workers"),
        ("http://a", "the token file contains an address without a token"),
        ("http://a http://b x", "the token file contains an address without a token"),
        ("ftp://a x", "is not the address of a server"),
    ],
)
def test_malformed_token_text_is_input_error(token_text: str, message: str) -> None:
    for refuses in (ServerTokens, lambda text: PistonEngine(FixedServers(["http://a"]), token=text)):
        with pytest.raises(InputError, match=message) as refused:
            refuses(token_text)
        assert " x" not in str(refused.value).partition("Write")[0]
