"""Three hundred submissions on eight faulty servers are each scored once, with the right result."""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web
from chaos_servers import (
    Fault,
    Server,
    box_broken,
    busy_503,
    close_after_job,
    cut_off,
    error_500,
    killed_at_first_test,
    killed_before_isolate,
    never_answer,
    no_json,
    nothing,
    out_of_time,
    reply_slowly,
    report_killed_job,
    report_silent_scripts,
    send_half_of_reply,
    shell_broken,
)
from support.engines import Outcome, fake_capabilities
from support.runs import Fingerprint, ResultLog, RunSummary, judge_all, read_failures, read_rows
from support.servers import Patience

from ioi_eval import PistonEngine, Scorer, Store
from ioi_eval.engines.contract import Change, OnServer, ServerChanged, ServerEvent, ignore_server_event
from ioi_eval.models import Blob, BuildLimits, BuildOptions, Limits, Problem, Submission, Subtask, Test
from ioi_eval.testing import FakeEngine, FakeTest

NUMBER = 300
ALL_FAULTS = {
    fault.__name__
    for fault in (
        box_broken, busy_503, cut_off, error_500, send_half_of_reply, close_after_job, never_answer, no_json,
        nothing, reply_slowly,
    )
}  # fmt: skip
FAILING = 0.45  # of the requests that reach a server, without the requests that reach none
TESTS = tuple(f"{subtask}-{test}" for subtask in "123" for test in "ab")
PROBLEM = Problem(
    id="chaos",
    limits=Limits(cpu_time=0.05, wall_time=0.1, memory=1 << 26),
    tests=tuple(Test(name=name, input=Blob.of(name), answer=Blob.of(f"{name}!")) for name in TESTS),
    subtasks=tuple(
        Subtask(name=name, points=30, tests=tuple(test for test in TESTS if test[0] <= name))
        for name in "123"
    ),
)
OUTCOMES: Sequence[Outcome] = (*(1.0,) * 16, 0.5, 0.0, "cpu", "memory", "signal", "exit", "output")
PROFILE = msgspec.structs.replace(
    fake_capabilities(), name="piston", runtimes=("ioi_eval",), exclusive=False, takes_paths=False,
    max_compile_time=500, max_run_time=2100,
)  # fmt: skip
# A missing reply is a failure after two seconds, not after the minutes of a real job.
PATIENCE = Patience(
    margin=0.5, first_look=0.5, connect=2.0, health=2.0, max_outage=60.0, first_wait=0.002, longest_wait=0.02,
    first_pause=0.02, longest_pause=0.1,
)  # fmt: skip


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    """Return a folder in memory if possible, because thousands of small files are slow on a disk."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="ioi-eval-chaos-", dir=memory) as folder:
        yield Path(folder)


def outcome(test: FakeTest) -> Outcome:
    """Return an outcome that depends only on the submission, so that all servers agree."""
    digest = hashlib.sha256(f"{test.source} {test.index}".encode()).digest()
    return OUTCOMES[digest[0] % len(OUTCOMES)]


def compile_error(source: str) -> str | None:
    return "error: expected ';'" if hashlib.sha256(source.encode()).digest()[1] < 16 else None


def engine_behind() -> FakeEngine:
    return FakeEngine(outcome, slots=1000, compile_errors=compile_error)


def submissions(count: int) -> Iterator[Submission]:
    for number in range(count):
        yield Submission(
            key=f"row-{number:03}",
            problem_id="chaos",
            code=f"int main() {{ return {number}; }}",
            language="c++",
        )


class Found:
    search_interval_s = 0.01

    def __init__(self, servers: Sequence[Server]) -> None:
        self._servers = servers

    async def find(self) -> frozenset[str]:
        return frozenset(server.url for server in self._servers)


async def scored(
    servers: Sequence[Server],
    folder: Path,
    *,
    attempts: int,
    count: int = NUMBER,
    patience: Patience = PATIENCE,
    tell: OnServer = ignore_server_event,
) -> RunSummary:
    engine = PistonEngine(
        Found(servers), per_endpoint=4, attempts=attempts, patience=patience, capabilities=PROFILE
    )
    engine.on_event = tell
    limits = BuildLimits(wall_time=0.5, cpu_time=0.5)
    fingerprint = Fingerprint(dump="d", problems={"chaos": "p"}, options={}, versions={})
    with ResultLog.open(folder, fingerprint) as journal:
        store = Store(folder.with_suffix(".store"))
        async with Scorer(engine, store=store, builds=BuildOptions(limits=limits)) as scorer:
            return await judge_all(
                scorer.judge, {"chaos": PROBLEM}, list(submissions(count)), journal, workers=64,
                prepare_problem=scorer.prepare,
            )  # fmt: skip


def verdicts(folder: Path) -> dict[str, Any]:
    """Return the rows by key without times. Fail if a key occurs twice."""
    rows: dict[str, Any] = {}
    for row in read_rows(folder):
        assert row["key"] not in rows, row["key"]
        rows[row["key"]] = {
            "compiles": row["code_compiles"],
            "points": row["all_subtasks_points"],
            "tests": [
                (test["test_name"], test["score"], test["status"])
                for subtask in row["all_subtasks_results"]
                for test in subtask["test_results"]
            ],
        }
    return rows


async def dies_and_comes_back(server: Server) -> None:
    while True:
        await asyncio.sleep(0.2)
        await server.die()
        await asyncio.sleep(0.1)
        await server.start()


async def moves(server: Server) -> None:
    while True:
        await asyncio.sleep(0.2)
        await server.die()
        await server.start(elsewhere=True)


@asynccontextmanager
async def eight(engine: FakeEngine) -> AsyncIterator[list[Server]]:
    kinds = (
        (reply_slowly, error_500),
        (error_500,),
        (busy_503,),
        (nothing, no_json, send_half_of_reply),
        (cut_off, close_after_job),
        (never_answer, box_broken, error_500, cut_off, no_json, nothing),
        (error_500, close_after_job),
        (cut_off, busy_503),
    )
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(Server(engine, faults, FAILING, seed))
            for seed, faults in enumerate(kinds)
        ]
        restless = [
            asyncio.create_task(dies_and_comes_back(servers[6])),
            asyncio.create_task(moves(servers[7])),
        ]
        try:
            yield servers
        finally:
            for task in restless:
                task.cancel()
            await asyncio.gather(*restless, return_exceptions=True)


@pytest.mark.nightly
async def test_submissions_on_faulty_servers_are_scored_once_like_on_quiet_server(scratch: Path) -> None:
    async with engine_behind() as engine:
        async with Server(engine) as quiet:
            await scored([quiet], scratch / "quiet", attempts=1)
        async with eight(engine) as servers:
            summary = await scored(servers, scratch / "chaos", attempts=30)
    requests, failed = (
        sum(getattr(chaos_server, name) for chaos_server in servers) for name in ("requests", "failed")
    )
    assert failed / requests >= 0.30, (failed, requests)
    assert {name for server in servers for name in server.met} == ALL_FAULTS
    assert (summary.judged, summary.failed) == (NUMBER, 0)
    expected, got = verdicts(scratch / "quiet"), verdicts(scratch / "chaos")
    assert got == expected and len(got) == NUMBER
    # Results differ, so that mixed-up results are detected.
    assert len({tuple(row["tests"]) for row in expected.values()}) > 40


async def test_submission_failing_on_all_servers_is_recorded_and_run_continues(scratch: Path) -> None:
    """All servers fail on a certain submission; all other submissions are scored."""

    class Poisoned(Server):
        async def answer(self, body: bytes) -> bytes:
            if b"return 7;" in body:
                raise web.HTTPInternalServerError
            return await super().answer(body)

    async with engine_behind() as engine, Poisoned(engine) as first_server, Poisoned(engine) as two:
        summary = await scored([first_server, two], scratch / "run", attempts=3, count=10)
    assert (summary.judged, summary.failed) == (9, 1)
    [failure] = read_failures(scratch / "run").values()
    assert failure["key"] == "row-007" and "3 attempts failed" in failure["reason"]


@pytest.mark.nightly(unless="report_killed_job|shell_broken")
@pytest.mark.parametrize(
    "fault",
    [
        box_broken,
        error_500,
        report_killed_job,
        killed_at_first_test,
        killed_before_isolate,
        out_of_time,
        shell_broken,
        report_silent_scripts,
    ],
    ids=lambda fault: fault.__name__,
)
async def test_server_failing_every_job_is_paused_and_all_submissions_are_scored(
    scratch: Path, fault: Fault
) -> None:
    """Otherwise a server that fails at once would get nearly all jobs."""
    changes: list[tuple[str, Change]] = []
    requests_before_rest: list[int] = []

    def note(event: ServerEvent) -> None:
        if isinstance(event, ServerChanged):
            changes.append((event.url, event.change))
            requests_before_rest.append(bad.requests)

    rests_long = Patience(
        **{name: getattr(PATIENCE, name) for name in PATIENCE.__struct_fields__}
        | {"first_pause": 600.0, "longest_pause": 600.0}
    )
    async with engine_behind() as engine, Server(engine) as good, Server(engine, [fault], 1.0) as bad:
        summary = await scored(
            [good, bad], scratch / "run", attempts=8, count=20, patience=rests_long, tell=note
        )
        async with Server(engine) as quiet:
            await scored([quiet], scratch / "quiet", attempts=1, count=20)
    assert (summary.judged, summary.failed) == (20, 0)
    assert verdicts(scratch / "run") == verdicts(scratch / "quiet")
    assert changes == [(bad.url, Change.LOST)]
    assert bad.requests <= requests_before_rest[0] + 4, "after that it only finishes its running jobs"
