"""A client of a worker, and an engine that holds its results."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
from support.servers import parse_metrics

from ioi_eval.engines.contract import Capabilities
from ioi_eval.models import Job, JobResult
from ioi_eval.server.jobs import LanguagePackageEngine

API = "/api/v2"


class Caller:
    """A client. Each request returns the status and the JSON value, or the text if it is not JSON."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session

    async def get(self, path: str, **options: Any) -> tuple[int, Any]:
        return await self._answer("GET", path, options)

    async def post(self, path: str, **options: Any) -> tuple[int, Any]:
        return await self._answer("POST", path, options)

    async def delete(self, path: str, **options: Any) -> tuple[int, Any]:
        return await self._answer("DELETE", path, options)

    async def run(self, script: str, **fields: Any) -> tuple[int, Any]:
        """Execute a bash script."""
        return await self.post(f"{API}/execute", json=job(script, **fields))

    async def counts(self) -> dict[str, float]:
        """Return the metrics by name and labels."""
        _, metrics_text = await self.get("/metrics")
        return parse_metrics(metrics_text)

    async def _answer(self, method: str, path: str, options: dict[str, Any]) -> tuple[int, Any]:
        async with self.session.request(method, path, **options) as reply:
            if reply.content_type == "application/json":
                return reply.status, await reply.json()
            return reply.status, await reply.text()


async def until_worker_has(call: Caller, *, running: int, waiting: int) -> None:
    """Wait until the worker has these numbers of requests with and without a slot."""
    for _ in range(12_000):
        counts = await call.counts()
        if (counts["ioi_eval_jobs_running"], counts["ioi_eval_jobs_queued"]) == (running, waiting):
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"the worker does not have {running} running and {waiting} waiting requests")


class HeldEngine:
    """An embedded engine that holds results until it is released.

    `ran` has the stored files of each finished job.
    """

    def __init__(self, engine: LanguagePackageEngine, slots: int = 1) -> None:
        self._engine, self.packages, self.slots = engine, engine.packages, slots
        self.begun, self.ended, self.ran, self.let_go = 0, 0, list[tuple[str, ...]](), asyncio.Event()

    async def capabilities(self) -> Capabilities:
        return await self._engine.capabilities()

    async def execute(self, job: Job, check: object = None) -> JobResult:
        self.begun += 1
        try:
            result = await self._engine.execute(job, check)
            await self.let_go.wait()
            self.ran.append(tuple(result.kept))
            return result
        finally:
            self.ended += 1


async def until_counted(call: Caller, name: str, value: float) -> None:
    for _ in range(12_000):
        if (await call.counts()).get(name, 0) == value:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{name} never became {value}")


def job(script: str, **fields: Any) -> dict[str, Any]:
    return {"language": "bash", "version": "*", "files": [{"name": "run", "content": script}], **fields}
