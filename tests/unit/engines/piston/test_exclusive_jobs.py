"""Exclusive jobs: on ioi-eval workers no other job runs meanwhile; other servers promise nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import aiohttp
import msgspec
import pytest
from borrowed_engine import BorrowedEngine
from support.servers import Server, ServerOptions

from ioi_eval import (
    EmbeddedEngine,
    JudgeOptions,
    Limits,
    PistonEngine,
    Problem,
    Scorer,
    Store,
    Submission,
    Test,
    discovery,
)
from ioi_eval.engines.contract import Capabilities
from ioi_eval.engines.embedded import engine as embedded_engine
from ioi_eval.engines.embedded.packages import LanguagePackage
from ioi_eval.engines.jobs import piston_api as piston
from ioi_eval.engines.piston.reports import EndpointReport, explain_exclusion, merge_capabilities
from ioi_eval.models import Blob, Job, JobFile, JobResult


@contextmanager
def recorded() -> Iterator[list[tuple[str, bool]]]:
    """Record job starts (+) and exits (-) in order, and which jobs are exclusive."""
    run, events = embedded_engine.run_job, list[tuple[str, bool]]()

    def run_and_record(ground: Any, job: Job, *arguments: Any) -> Any:
        events.append(("+", job.exclusive))
        try:
            return run(ground, job, *arguments)
        finally:
            events.append(("-", job.exclusive))

    with mock.patch.object(embedded_engine, "run_job", run_and_record):
        yield events


@pytest.mark.usefixtures("quick_probes")
async def test_exclusive_job_overlaps_no_other_job_of_worker(engine: EmbeddedEngine) -> None:
    """The worker has two slots and two clients, which cannot see each other's jobs."""

    def job(*, exclusive: bool) -> Job:
        script = JobFile(name="run", content=Blob.of("sleep 0.2"))
        return Job(files=(script,), run_timeout=60_000, exclusive=exclusive)

    async with (
        Server(engine, ServerOptions(port=0)) as server,
        PistonEngine(discovery(server.url), per_endpoint=4) as first,
        PistonEngine(discovery(server.url), per_endpoint=4) as second,
    ):
        assert (await first.capabilities()).exclusive
        with recorded() as events:
            jobs = [job(exclusive=number % 3 == 1) for number in range(6)]
            await asyncio.gather(
                *(client.execute(queued_job) for queued_job in jobs for client in (first, second))
            )
    running, max_running = list[bool](), 0
    for event, exclusive in events:
        if event == "-":
            running.remove(exclusive)
            continue
        running.append(exclusive)
        max_running = max(max_running, len(running))
        assert len(running) == 1 or not any(running), "a job ran at the same time as an exclusive job"
    assert max_running == 2 and sum(exclusive for _, exclusive in events) == 2 * 4


class Seen:
    """An engine that records jobs with tests. `exclusive` is its capability to run a job alone."""

    def __init__(self, engine: EmbeddedEngine, *, exclusive: bool) -> None:
        self._engine, self._exclusive, self.slots = engine, exclusive, engine.slots
        self.jobs = list[tuple[bool, bool]]()  # exclusive job or not, and the same of its plan

    @property
    def packages(self) -> tuple[LanguagePackage, ...]:
        return self._engine.packages

    async def capabilities(self) -> Capabilities:
        return msgspec.structs.replace(await self._engine.capabilities(), exclusive=self._exclusive)

    async def execute(self, job: Job, check: object = None) -> JobResult:
        for file in job.files:
            if file.name == "plan.json":
                plan = json.loads(file.content.read())
                self.jobs.append((job.exclusive, bool(plan.get("alone"))))
        return await self._engine.execute(job, check)


SEEMS_TO_WAIT = """#include <cstdio>
#include <unistd.h>
int main() { if (vfork() == 0) { usleep(3000000); _exit(0); } puts("7"); }
"""


@pytest.mark.usefixtures("quick_probes")
@pytest.mark.nightly(unless="True")
@pytest.mark.parametrize("can", [True, False])
async def test_repeat_on_server_is_exclusive_only_if_server_can_run_it_alone(
    engine: EmbeddedEngine, store: Store, can: bool
) -> None:
    """A test that seems to wait for a disk is repeated alone."""
    limits = Limits(cpu_time=0.2, wall_time=0.4, memory=1 << 28)
    tests = (Test(name="1", input=Blob.of(""), answer=Blob.of("7")),)
    problem = Problem(id="p", limits=limits, tests=tests)
    options = JudgeOptions(layers=("namespaces", "landlock"))
    recording_engine = Seen(engine, exclusive=can)
    async with Server(recording_engine, ServerOptions(port=0)) as server:
        piston_engine = PistonEngine(discovery(server.url))
        trusted = BorrowedEngine(engine)
        async with Scorer(piston_engine, store=store, options=options, trusted=trusted) as scorer:
            code = Submission(key="1", problem_id="p", code=SEEMS_TO_WAIT, language="c++")
            result = await scorer.score(problem, code)
    assert [test.status for test in result.tests] == ["TLE"]
    assert recording_engine.jobs == [(False, False), (can, can)]


def test_request_has_exclusive_field_only_for_exclusive_jobs() -> None:
    job = Job(files=(JobFile(name="run", content=Blob.of("true")),))
    assert b"exclusive" not in piston.encode_request(job)
    exclusive = piston.encode_request(msgspec.structs.replace(job, exclusive=True))
    assert json.loads(exclusive)["exclusive"] is True
    assert piston.decode_request(exclusive).exclusive
    with pytest.raises(piston.RefusedRequest, match="exclusive must be a boolean"):
        piston.decode_request(exclusive.replace(b"true}", b'"yes"}'))


def test_jobs_run_alone_only_if_all_servers_can_do_that() -> None:
    ours = EndpointReport(url="http://a:2000", runtimes=("ioi_eval",), architecture="x", exclusive=True)
    stock = msgspec.structs.replace(ours, url="http://b:2000", exclusive=False)
    profile = merge_capabilities([ours])
    assert profile.exclusive and not merge_capabilities([ours, stock]).exclusive
    assert explain_exclusion(profile, ours) == "" and "cannot run exclusive jobs" in explain_exclusion(
        profile, stock
    )


async def test_health_reply_of_worker_reports_exclusive_job_support(engine: EmbeddedEngine) -> None:
    for can in (True, False):
        async with (
            Server(Seen(engine, exclusive=can), ServerOptions(port=0)) as server,
            aiohttp.ClientSession(server.url) as session,
            session.get("/healthz") as reply,
        ):
            assert (await reply.json())["exclusive"] is can
