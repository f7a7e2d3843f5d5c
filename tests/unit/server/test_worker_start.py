"""The replies of a worker while its engine is opened."""

from __future__ import annotations

import logging

import aiohttp
import pytest

from ioi_eval.errors import InputError
from ioi_eval.server import ServerOptions
from ioi_eval.server.server import answer_while_starting

LOG = logging.getLogger("ioi_eval.engines.embedded.proctor")


async def answer(port: int, path: str, method: str = "GET") -> tuple[int, dict[str, str]]:
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, f"http://127.0.0.1:{port}{path}") as reply,
    ):
        return reply.status, await reply.json()


async def test_starting_worker_answers_with_build_status(unused_tcp_port: int) -> None:
    port, options = unused_tcp_port, ServerOptions(port=unused_tcp_port)
    handlers = [*logging.getLogger("ioi_eval").handlers]
    async with answer_while_starting(options):
        status, hello = await answer(port, "/")
        assert status == 200 and "ioi-eval worker" in hello["message"]
        status, status_reply = await answer(port, "/healthz")
        assert (status, status_reply["status"], status_reply["building"]) == (503, "starting", "")
        LOG.warning("building %s, once per machine: 5 s", "the proctor")
        assert (await answer(port, "/healthz"))[1]["building"] == "the proctor"
        LOG.warning("building %s, once per machine: 5 s", "the Python fork server")
        both = "the proctor and the Python fork server"
        assert (await answer(port, "/healthz"))[1]["building"] == both
        status, status_reply = await answer(port, "/api/v2/execute", "POST")
        assert status == 503 and status_reply["message"] == "this worker is starting"
        with pytest.raises(InputError, match="cannot listen on this address"):
            async with answer_while_starting(options):
                raise AssertionError("two workers listen on the same port")
    with pytest.raises(aiohttp.ClientConnectorError):
        await answer(port, "/")
    assert logging.getLogger("ioi_eval").handlers == handlers
