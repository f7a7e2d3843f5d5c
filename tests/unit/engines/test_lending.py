"""A slot whose job idles runs another meanwhile."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from engine_helpers import alive, mark, script, until

from ioi_eval import EmbeddedEngine, Store
from ioi_eval.engines.embedded import slots
from ioi_eval.engines.embedded.slots import has_memory, look_at


async def test_who_sleeps_lends_its_slot(store: Store, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else comes in where memory is short, nor beside who waits to run alone."""
    asked: list[int] = []

    def memory(count: int) -> bool:
        asked.append(count)
        return len(asked) > 2

    monkeypatch.setattr(slots, "has_memory", memory)
    async with EmbeddedEngine(store=store, slots=1, boxes=base) as engine:
        marked = mark()
        sleeper = asyncio.create_task(engine.execute(script(f"sleep {marked}")))
        await until(lambda: bool(alive(marked)))
        others = [asyncio.create_task(engine.execute(script("echo done"))) for _ in range(2)]
        async with asyncio.timeout(120):
            assert [(await other).run.stdout for other in others] == ["done\n"] * 2
        assert asked[:3] == [1] * 3 and not sleeper.done()
        alone = asyncio.create_task(engine.execute(script("echo alone", alone=True)))
        turns = asked.copy()
        await asyncio.sleep(3 * slots._LOOK)
        assert not alone.done() and asked == turns
        sleeper.cancel()
        assert (await alone).run.stdout == "alone\n"
        assert engine.slots == 1


@contextmanager
def running(*command: str) -> Iterator[int]:
    with subprocess.Popen(["bash", "-c", *command]) as process:
        try:
            yield process.pid
        finally:
            subprocess.run(["pkill", "-KILL", "-P", str(process.pid)], check=False)
            process.kill()


async def test_what_a_job_does_is_seen() -> None:
    with running("sleep 600 & wait") as sleeping:
        await until(lambda: look_at(sleeping)[1] is False)
    with running("while :; do :; done & wait") as working:
        await until(lambda: look_at(working)[1] and look_at(working)[0] > 1)
    assert look_at(working) == (-1, True)


def test_memory_is_told() -> None:
    assert not has_memory(1) and has_memory(1 << 20)
