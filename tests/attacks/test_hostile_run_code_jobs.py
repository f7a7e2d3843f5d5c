"""Hostile programs sent to SandboxFusion's `run_code` neither block it nor leave files or processes."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest
from support.servers import Server, ServerOptions

from ioi_eval import EmbeddedEngine, Store

OUTPUT = 1 << 16
HONEST = {"code": "print(7)", "language": "python"}
PROGRAMS = {
    "sleeps": ("import time\ntime.sleep(9999)\n", "TimeLimitExceeded"),
    "is stopped by itself": ("import os\nos.kill(os.getpid(), 19)\n", "TimeLimitExceeded"),
    "kills all": ("import os\nos.kill(-1, 9)\n", "Finished"),
    "floods": ("import os\nwhile True: os.write(1, b'7' * 65536)\n", "Finished"),
}


async def run(session: aiohttp.ClientSession, **asked: Any) -> dict[str, Any]:
    async with session.post("/run_code", json=asked) as reply:
        assert reply.status == 200
        answer: dict[str, Any] = await reply.json()
        return answer


@pytest.mark.nightly
async def test_hostile_job_does_not_block_run_code(store: Store) -> None:
    """With a single slot, each honest program runs in the slot of the hostile program before it."""
    async with (
        EmbeddedEngine(store=store, slots=1, max_stdout=OUTPUT) as engine,
        Server(engine, ServerOptions(port=0, max_output=OUTPUT)) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        for name, (code, status) in PROGRAMS.items():
            reply = await run(session, code=code, language="python", run_timeout=1)
            run_result = reply["run_result"]
            assert (reply["status"], run_result["status"]) == ("Failed", status), name
            assert run_result["return_code"] != 0 and len(run_result["stdout"]) <= 2 * OUTPUT, name
            assert (await run(session, **HONEST))["run_result"]["stdout"] == "7\n", name
