"""Cancelling, closing or killing at any time leaves no process, sandbox or reserved slot."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engine_helpers import alive, boxes, file, inside, mark, script, stays
from support.cached_lookups import cached_toolchains, encode_toolchains
from support.engines import find_toolchains
from support.waiting import until

from ioi_eval import EmbeddedEngine, Store
from ioi_eval.models import Job, Toolchain

LAYERS = [None, ("landlock", "seccomp")]


@pytest.mark.parametrize("rounds", [12, pytest.param(40, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("layers", LAYERS, ids=["all", "without-namespaces"])
async def test_job_cancelled_at_random_point_leaves_no_process(
    store: Store, base: Path, layers: tuple[str, ...] | None, rounds: int
) -> None:
    chance = random.Random(7)
    marked = mark()
    jobs = [script(stays(marked)), Job(files=(file("compile", stays(marked)),), keep=("x",)), script("true")]
    async with EmbeddedEngine(store=store, slots=2, sandboxes=base, layers=layers) as engine:
        for _ in range(rounds):
            tasks = [asyncio.create_task(engine.execute(chance.choice(jobs))) for _ in range(3)]
            await asyncio.sleep(chance.choice([0, chance.uniform(0, 0.03)]))
            for task in tasks:
                task.cancel()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(
                getattr(outcome, "run", None) or isinstance(outcome, asyncio.CancelledError)
                for outcome in outcomes
            )
            assert alive(marked) == []
            assert boxes(base) == []
        results = await asyncio.gather(*(engine.execute(script("echo free")) for _ in range(4)))
        assert [result.run.stdout for result in results] == ["free\n"] * 4
    assert alive(str(base)) == []
    assert inside(base) == []


async def test_repeatedly_cancelled_job_leaves_no_process(store: Store, base: Path) -> None:
    marked = mark()
    async with EmbeddedEngine(store=store, slots=1, sandboxes=base) as engine:
        task = asyncio.create_task(engine.execute(script(stays(marked))))
        await until(lambda: bool(alive(marked)))
        while not task.done():
            task.cancel()
            await asyncio.sleep(0)
        assert task.cancelled()
        assert alive(marked) == []
        assert (await engine.execute(script("echo free"))).run.stdout == "free\n"


def slowly(*arguments: Any) -> dict[str, Toolchain]:
    time.sleep(0.07)
    return cached_toolchains(*arguments)


@pytest.mark.parametrize("look", [slowly, pytest.param(find_toolchains, marks=pytest.mark.nightly)])
async def test_engine_cancelled_while_opening_leaves_no_folder(
    store: Store, base: Path, monkeypatch: pytest.MonkeyPatch, look: Callable[..., dict[str, Toolchain]]
) -> None:
    monkeypatch.setattr("ioi_eval.engines.embedded.engine.find_toolchains", look)  # a lookup is slow

    async def enter() -> None:
        async with EmbeddedEngine(store=store, slots=1, sandboxes=base):
            await asyncio.sleep(60)

    for step in range(0, 15, 5):
        task = asyncio.create_task(enter())
        await asyncio.sleep(step * 0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert inside(base) == []


async def test_caller_timeout_ends_job_processes(store: Store, base: Path) -> None:
    marked = mark()
    async with EmbeddedEngine(store=store, slots=1, sandboxes=base) as engine:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await engine.execute(script(stays(marked)))
        assert alive(marked) == []


CLIENT = """
import asyncio, msgspec, sys
from pathlib import Path
from ioi_eval.engines.embedded import EmbeddedEngine, engine as embedded
from ioi_eval.models import Blob, Job, JobFile, Toolchain
from ioi_eval.store import Store

async def main(store, base, layers, tools):
    embedded.find_toolchains = lambda *_: msgspec.json.decode(tools, type=dict[str, Toolchain])
    job = Job(files=(JobFile(name="run", content=Blob.of(sys.stdin.read())),))
    chosen = tuple(layers.split(",")) if layers else None
    engine = EmbeddedEngine(store=Store(Path(store)), slots=2, sandboxes=Path(base), layers=chosen)
    async with engine:
        await asyncio.gather(*(engine.execute(job) for _ in range(3)))

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.nightly(unless="^2-all|^9-without")
@pytest.mark.parametrize("layers", ["", "landlock,seccomp"], ids=["all", "without-namespaces"])
@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGINT])
async def test_killed_client_leaves_no_process_and_its_folder_is_removed(
    store: Store, base: Path, layers: str, kind: signal.Signals
) -> None:
    marked = mark()
    arguments = [str(store.root), str(base), layers, encode_toolchains().decode()]
    client = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CLIENT, *arguments, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert client.stdin is not None
    client.stdin.write(stays(marked).encode())  # not an argument: arguments identify the job's processes
    client.stdin.close()
    try:
        await until(lambda: bool(alive(marked)) or client.returncode is not None)
        if client.returncode is None:
            client.send_signal(kind)
        _, stderr = await client.communicate()
        assert client.returncode in (-kind, 130), stderr.decode()
    finally:
        if client.returncode is None:
            client.kill()
    await until(lambda: not alive(marked, str(base)))
    assert bool(inside(base)) is (kind == signal.SIGKILL)
    async with EmbeddedEngine(store=store, slots=1, sandboxes=base) as engine:
        assert len(inside(base)) == 1
        assert (await engine.execute(script("echo next"))).run.stdout == "next\n"
    assert inside(base) == []
