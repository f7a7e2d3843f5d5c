"""Tokens of a worker, and the host names that it accepts."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import pytest
from server_helpers import API, Caller, job

from ioi_eval import EmbeddedEngine
from ioi_eval.engines.piston.reports import EndpointReport, make_health_checks
from ioi_eval.errors import InputError
from ioi_eval.model.secret import Secret
from ioi_eval.server import Event, Server, ServerOptions, check_address
from ioi_eval.server.jobs import NamedTokens, read_tokens

# --- access ----------------------------------------------------------------------------------------------


async def test_worker_with_token_refuses_requests_without_it(engine: EmbeddedEngine) -> None:
    async with (
        Server(engine, ServerOptions(port=0, token=Secret("secret"))) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        call = Caller(session)
        for path in (f"{API}/runtimes", "/metrics", "/nothing"):
            assert (await call.get(path))[0] == 401
            refused = await call.get(path, headers={"Authorization": "Bearer wrong"})
            assert refused == (401, {"message": "that is not this worker's token"})
        assert (await call.run("true"))[0] == 401
        assert (await call.get("/healthz"))[0] == 200
        for authorization in ("Bearer secret", "secret"):
            assert (await call.get(f"{API}/runtimes", headers={"Authorization": authorization}))[0] == 200


async def test_several_tokens_have_names_and_are_read_again(engine: EmbeddedEngine, tmp_path: Path) -> None:
    tokens, events = tmp_path / "tokens", list[Event]()
    tokens.write_text("# of teams\nred secret-1\n\nblue secret-2\n")
    options = ServerOptions(port=0, token_file=tokens)
    assert read_tokens(tokens) == {"red": "secret-1", "blue": "secret-2"}
    named_tokens = NamedTokens(options, events.append)
    tokens.write_text("red secret-1\nred secret-2\n")
    named_tokens.reload_if_changed(tokens)
    assert [named_tokens.find_name(token) for token in ("secret-1", "secret-2", "")] == ["red", "blue", None]
    tokens.write_text("green secret-3\n")
    named_tokens.reload_if_changed(tokens)
    assert [named_tokens.find_name(token) for token in ("secret-1", "secret-3")] == [None, "green"]
    assert "earlier tokens stay valid" in events[0].message
    assert events[1].message == "The tokens were read again: green"
    async with (
        Server(engine, options) as server,
        aiohttp.ClientSession(server.url, headers={"Authorization": "Bearer secret-3"}) as session,
    ):
        call = Caller(session)
        assert (await call.run("true"))[0] == 200
        async with session.get("/metrics") as answer:
            counts = await answer.text()
        assert (await call.get("/metrics", headers={"Authorization": "Bearer secret-1"}))[0] == 401
    assert 'ioi_eval_caller_jobs_total{caller="green"} 1\n' in counts


@pytest.mark.parametrize(
    "tokens_text", ["", "a x\nb x", "a x\na y", "http://judge:2000 x", "a x 3", "a x 1 2"]
)
def test_malformed_tokens_file_is_input_error(tmp_path: Path, tokens_text: str) -> None:
    (tmp_path / "tokens").write_text(tokens_text)
    with pytest.raises(InputError, match="tokens") as caught:
        read_tokens(tmp_path / "tokens")
    assert "lines of NAME TOKEN" in caught.value.remedy


async def test_non_ascii_token_is_refused_with_401(engine: EmbeddedEngine) -> None:
    async with Server(engine, ServerOptions(port=0, token=Secret("secret"))) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer secr\xe9t\xff\r\n\r\n")
        assert b" 401 " in await reader.readline()
        writer.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_loopback_address_needs_no_token(host: str) -> None:
    check_address(host, token="", open_to_all=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "node7"])
def test_public_address_requires_token(host: str) -> None:
    with pytest.raises(InputError, match="everybody who reaches this machine") as caught:
        check_address(host, token="", open_to_all=False)
    assert all(option in caught.value.remedy for option in ("token=...", "open_to_all=True"))
    with pytest.raises(InputError) as caught:
        check_address(host, token="", open_to_all=None)
    assert "token=..." in caught.value.remedy and "open_to_all" not in caught.value.remedy
    check_address(host, token="x", open_to_all=False)
    check_address(host, token="", open_to_all=True)


NAMES = ("localhost", "LOCALHOST:80", "localhost.", "127.0.0.1:2000", "127.9.9.9", "[::1]:2000")


@pytest.mark.parametrize("listens", ["127.0.0.1", "localhost"])
async def test_loopback_worker_answers_only_host_names_of_this_machine(
    engine: EmbeddedEngine, listens: str
) -> None:
    async with (
        Server(engine, ServerOptions(port=0, host=listens, allow_hosts=("judge",))) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        call = Caller(session)
        for name in (*NAMES, "judge:2000"):
            assert (await call.get("/", headers={"Host": name}))[0] == 200, name
            assert (await call.get("/", headers={"Origin": f"http://{name}"}))[0] == 200, name
        for name in ("evil.example:2000", "127.0.0.1.evil.example", "10.0.0.7", "["):
            status, reply = await call.get("/", headers={"Host": name})
            assert status == 403 and "allow_hosts=NAME" in reply["message"], name
            report = EndpointReport(url=server.url, reachable=False, reason=f"HTTP 403: {reply['message']}")
            assert make_health_checks(report)[0].remedy == "", "the worker's message contains the remedy"
        for origin in ("http://evil.example", "https://10.0.0.7", "null", "file://"):
            status, reply = await call.post(f"{API}/execute", json=job("true"), headers={"Origin": origin})
            assert status == 403 and "allow_hosts=NAME" in reply["message"], origin


async def test_public_worker_requires_allowed_host_names_but_accepts_ip_addresses(
    engine: EmbeddedEngine,
) -> None:
    options = ServerOptions(port=0, host="0.0.0.0", allow_hosts=("node7", "node8"))
    async with (
        Server(engine, options) as server,
        aiohttp.ClientSession(f"http://127.0.0.1:{server.port}") as session,
    ):
        call = Caller(session)
        for name in ("node7:2000", "NODE8", "10.0.0.7:2000", "[2001:db8::1]", "localhost"):
            assert (await call.get("/", headers={"Host": name}))[0] == 200, name
        for name in ("evil.example", "node9", "node7.evil.example"):
            assert (await call.get("/", headers={"Host": name}))[0] == 403, name
        for origin, host, status in (
            ("http://6.6.6.6", "10.0.0.7", 403),
            ("http://localhost", "10.0.0.7", 403),
            ("http://10.0.0.7:2000", "10.0.0.7:2000", 200),
            ("http://node7", "10.0.0.7:2000", 200),
        ):
            headers = {"Host": host, "Origin": origin}
            assert (await call.get("/", headers=headers))[0] == status, origin


async def test_request_with_token_may_use_any_host_name(engine: EmbeddedEngine) -> None:
    async with (
        Server(engine, ServerOptions(port=0, token=Secret("secret"))) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        headers = {"Host": "judge.example", "Authorization": "Bearer secret"}
        assert (await Caller(session).get(f"{API}/runtimes", headers=headers))[0] == 200
