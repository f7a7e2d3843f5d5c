"""Real workers that restart with other compilers:

rows are right and name the compiler that built the program.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from support.command_line import RIGHT
from support.servers import FixedServers, Patience

from ioi_eval import EmbeddedEngine, PistonEngine, Scorer, Store
from ioi_eval.engines.contract import Change, ServerChanged, ServerEvent
from ioi_eval.models import Blob, Job, JobFile, Limits, Problem, Submission, Subtask, Test

pytestmark = pytest.mark.nightly

PATIENCE = Patience(
    margin=120.0, connect=10.0, health=20.0, max_outage=400.0, first_wait=0.05, longest_wait=0.3,
    first_pause=0.1, longest_pause=0.5,
)  # fmt: skip
TESTS = {"1": "1 2", "2": "30 4", "3": "5 -6"}
PROBLEM = Problem(
    id="add",
    limits=Limits(cpu_time=2.0, memory=1 << 28),
    tests=tuple(
        Test(name=name, input=Blob.of(words), answer=Blob.of(str(sum(map(int, words.split())))))
        for name, words in TESTS.items()
    ),
    subtasks=(Subtask(name="all", points=100, tests=tuple(TESTS)),),
)
# A sandbox shows /usr/local/bin first. The worker's proctor is built in advance.
AT_HAND = """#!/bin/sh
case "$*" in *proctor-built*) built={proctor} ;; *waiting.so*) built={library} ;; esac
if [ -n "$built" ]; then
    while [ "$1" != -o ]; do shift; done
    exec cp "$built" "$2"
fi
"""
OTHER = """case "$*" in *-dumpfullversion*) echo 99.1.0; exit ;; esac
exec /usr/bin/g++ "$@"
"""
NEW = "g++ 99.1.0"
CRASHING = """exec /usr/bin/g++ "$@" -Wl,--entry=0
"""


class Machine:
    """A worker whose `/usr/local/bin` is a folder of the test."""

    def __init__(self, folder: Path, cache: Path, at_hand: str) -> None:
        self.folder, self._cache, self._at_hand, self.port = folder, cache, at_hand, 0
        folder.mkdir(mode=0o755, parents=True)
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def install(self, compiler: str) -> None:
        """Replace the compiler atomically, so that no build sees half of it."""
        new_compiler = self.folder / "new"
        new_compiler.write_text(self._at_hand + compiler)
        new_compiler.chmod(0o755)
        new_compiler.rename(self.folder / "g++")

    async def start(self, *options: str) -> None:
        mounted = f'mount --bind "{self.folder}" /usr/local/bin && exec "$@"'
        worker = [
            sys.executable,
            "-m",
            "ioi_eval",
            "worker",
            "--port",
            str(self.port),
            "--slots",
            "1",
            *options,
        ]
        self._process = await asyncio.create_subprocess_exec(
            "unshare", "--mount", "sh", "-c", mounted, "sh", *worker, stdout=asyncio.subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "IOI_EVAL_CACHE": str(self._cache)},
        )  # fmt: skip
        assert self._process.stdout is not None
        async with asyncio.timeout(300):
            line = (await self._process.stdout.readline()).decode()
        port_match = re.search(r":(\d+)", line)
        assert port_match is not None, line
        self.port = int(port_match[1])

    async def kill(self) -> None:
        if self._process is not None:
            if self._process.returncode is None:
                self._process.send_signal(signal.SIGKILL)
            await self._process.wait()


@pytest.fixture(autouse=True)
def mounts() -> None:
    if subprocess.run(["unshare", "--mount", "mount", "--bind", "/", "/mnt"], capture_output=True).returncode:
        pytest.skip("no mount namespace can be had")


Machines = Callable[[int], Awaitable[list[Machine]]]


@pytest.fixture
async def machines(
    tmp_path: Path, shared_cache: Path, proctor: Path, library: bytes
) -> AsyncIterator[Machines]:
    """Return a function that starts a number of workers."""
    (tmp_path / "library").write_bytes(library)
    at_hand = AT_HAND.format(proctor=proctor, library=tmp_path / "library")
    numbers = itertools.count()
    async with AsyncExitStack() as stack:

        async def start(number: int) -> list[Machine]:
            started_machines = [
                Machine(tmp_path / f"machine-{next(numbers)}", shared_cache, at_hand) for _ in range(number)
            ]
            for machine in started_machines:
                stack.push_async_callback(machine.kill)
            await asyncio.gather(*(machine.start() for machine in started_machines))
            return started_machines

        yield start


class Run:
    """Submissions that are judged on workers in order, until a test stops the run."""

    def __init__(self, folder: Path, cache: Path, there: list[Machine]) -> None:
        self._store, self._cache = Store(folder / "client"), cache
        self.engine = PistonEngine(
            FixedServers(machine.url for machine in there), attempts=30, patience=PATIENCE
        )
        self.heard: list[ServerChanged] = []
        self.engine.on_event = self._hear
        self.compilers: list[str] = []  # of right rows, in the order of completion
        self._numbers, self._last = itertools.count(), math.inf
        self._work = asyncio.create_task(self._judged())

    def _hear(self, event: ServerEvent) -> None:
        if isinstance(event, ServerChanged):
            self.heard.append(event)

    async def _judged(self) -> None:
        trusted_engine = EmbeddedEngine(store=Store(self._cache), slots=1)
        async with Scorer(self.engine, store=self._store, trusted=trusted_engine) as scorer:
            await asyncio.gather(*(self._judge_on(scorer) for _ in range(4)))

    async def _judge_on(self, scorer: Scorer) -> None:
        while (number := next(self._numbers)) < self._last:
            program = Submission(
                key=str(number), problem_id="add", code=f"{RIGHT}int n{number};\n", language="c++"
            )
            result = await scorer.score(PROBLEM, program)
            assert result.points == 100, result
            self.compilers.append(result.compiler)
            await asyncio.sleep(0.3)  # without a pause, all rows would be judged before a worker changes

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(600):
            while not holds():
                if self._work.done():
                    await self._work
                await asyncio.sleep(0.02)

    def changes(self, machine: Machine) -> list[Change]:
        return [event.change for event in self.heard if event.url == machine.url]

    async def finish(self, rows: int) -> list[str]:
        """Return the compilers of all rows, after `rows` more rows."""
        compilers_before = len(self.compilers)
        await self.until(lambda: len(self.compilers) >= compilers_before + rows)
        self._last = 0
        async with asyncio.timeout(600):
            await self._work
        return self.compilers


async def test_worker_restarted_with_other_compiler_is_noticed(
    machines: Machines, tmp_path: Path, shared_cache: Path
) -> None:
    [machine] = await machines(1)
    run = Run(tmp_path, shared_cache, [machine])
    await run.until(lambda: len(run.compilers) >= 3)
    await machine.kill()
    machine.install(OTHER)
    await machine.start()
    compilers = await run.finish(rows=8)
    count_before = len([compiler for compiler in compilers if compiler != NEW])
    assert (
        count_before >= 3
        and set(compilers[:count_before]) == {compilers[0]}
        and set(compilers[count_before:]) == {NEW}
    )
    # Builds of the old compiler are not reused for the new compiler.
    [healthy] = await machines(1)
    second_run = Run(tmp_path, shared_cache, [healthy])
    assert set(await second_run.finish(rows=len(compilers))) == {compilers[0]}


async def test_worker_with_broken_compiler_serves_only_python(
    machines: Machines, tmp_path: Path, shared_cache: Path
) -> None:
    [broken, healthy] = await machines(2)
    run = Run(tmp_path, shared_cache, [broken, healthy])
    await run.until(lambda: len(run.compilers) >= 3)
    broken.install(CRASHING)
    await run.until(lambda: Change.BACK in run.changes(broken))
    assert len(set(await run.finish(rows=8))) == 1
    assert Change.LEFT_OUT not in run.changes(broken), "the server still runs Python"


async def test_rolling_upgrade_of_workers_keeps_compilers_apart(
    machines: Machines, tmp_path: Path, shared_cache: Path
) -> None:
    both_machines = await machines(2)
    run = Run(tmp_path, shared_cache, both_machines)
    await run.until(lambda: len(run.compilers) >= 3)
    for machine in both_machines:
        await machine.kill()
        machine.install(OTHER)
        await machine.start()
        await run.until(lambda machine=machine: Change.BACK in run.changes(machine))
    await run.finish(rows=4)  # some of which may have started before
    compilers = await Run(tmp_path, shared_cache, both_machines).finish(rows=4)
    assert set(run.compilers) == {run.compilers[0], NEW} and run.compilers[0] != NEW
    assert set(compilers) == {NEW}


async def test_compiler_upgrade_under_running_worker_is_noticed(
    machines: Machines, tmp_path: Path, shared_cache: Path
) -> None:
    """No request fails and the worker does not notice. The scripts of jobs report the compiler."""
    [machine] = await machines(1)
    run = Run(tmp_path, shared_cache, [machine])
    await run.until(lambda: len(run.compilers) >= 3)
    machine.install(OTHER)
    await run.until(lambda: NEW in run.compilers)
    compilers = await run.finish(rows=4)
    assert run.changes(machine) == [Change.REPLACED, Change.TRIAL, Change.BACK]
    assert compilers[0] != NEW and set(compilers) == {compilers[0], NEW}


async def test_worker_restarted_while_idle_is_noticed(
    machines: Machines, tmp_path: Path, shared_cache: Path
) -> None:
    """No request fails. The reply reports the compiler, and limits that no script can see."""
    [machine] = await machines(1)
    engine = PistonEngine(FixedServers([machine.url]), patience=PATIENCE)
    heard: list[ServerEvent] = []
    engine.on_event = heard.append
    job = Job(files=(JobFile(name="run", content=Blob.of("g++ -dumpfullversion")),))
    async with engine:
        result_before = await engine.execute(job)
        await machine.kill()
        await machine.start("--set", "run-timeout=1000")
        await engine.execute(job)
        changes = [event.change for event in heard if isinstance(event, ServerChanged)]
        assert changes == [Change.REPLACED, Change.TRIAL, Change.BACK]
        await machine.kill()
        machine.install(OTHER)
        await machine.start("--set", "run-timeout=1000")
        result_after = await engine.execute(job)
    assert result_before.run.stdout != result_after.run.stdout == "99.1.0\n"
    assert result_after.toolchains["g++"].version == "99.1.0"
    changes = [event.change for event in heard if isinstance(event, ServerChanged)]
    assert changes == [Change.REPLACED, Change.TRIAL, Change.BACK] * 2
