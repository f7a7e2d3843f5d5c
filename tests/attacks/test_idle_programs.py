"""A program that idles keeps its slot: no other job starts in the slot before the program exits.

Otherwise two participants could read a hidden input bit by bit. The first participant's program sleeps or computes,
depending on a bit of its input. The second participant detects the bit from the time when their next job starts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import Any
from unittest import mock

import aiohttp
import pytest
from support.servers import Server, ServerOptions

from ioi_eval import EmbeddedEngine, Store
from ioi_eval.engines.embedded import engine as embedded_engine
from ioi_eval.models import Blob, Job, JobFile

PROGRAMS = {
    "sleeps": "sleep 1",
    "waits for a pipe": "read -t 1 line <> <(:)",
    "is stopped": "(sleep 1; kill -CONT $$) & kill -STOP $$",
    "computes": "for ((n = 0; n < 100000; n++)); do :; done",
}


@contextmanager
def recorded() -> Iterator[list[int]]:
    """Yield a list that records each start (1) and each finish (-1) of a job, in order."""
    run, events = embedded_engine.run_job, list[int]()

    def run_and_record(*given: Any) -> Any:
        events.append(1)
        try:
            return run(*given)
        finally:
            events.append(-1)

    with mock.patch.object(embedded_engine, "run_job", run_and_record):
        yield events


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
async def test_embedded_engine_runs_no_more_jobs_than_slots(store: Store, program: str, slots: int) -> None:
    job = Job(files=(JobFile(name="run", content=Blob.of(program)),))
    async with EmbeddedEngine(store=store, slots=slots) as engine:
        with recorded() as events:
            await asyncio.gather(*(engine.execute(job) for _ in range(slots + 2)))
    assert max(accumulate(events)) == slots and sum(events) == 0


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
async def test_worker_runs_no_more_jobs_than_slots(engine: EmbeddedEngine, program: str) -> None:
    job = {"language": "bash", "version": "*", "files": [{"name": "run", "content": program}]}
    async with (
        Server(engine, ServerOptions(port=0)) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        with recorded() as events:
            replies = await asyncio.gather(*(session.post("/api/v2/execute", json=job) for _ in range(4)))
    assert [reply.status for reply in replies] == [200] * 4
    assert max(accumulate(events)) == 2 and sum(events) == 0
