"""Measure what a row costs a client: in one process, and in one that has others judge (`--client-processes`).

All judge on a fake engine, so no connection and no worker is measured: see shipping.py for those.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ioi_eval import Store, score_dump
from ioi_eval.engines.contract import OnServer, Servers, ignore
from ioi_eval.engines.registry import Opening
from ioi_eval.runs import EngineChoice, Event, RunFinished, RunOptions, RunStarted, processes
from ioi_eval.runs.process import Channel, FromProcess, from_process, serve, to_process
from ioi_eval.store.resources import examples
from ioi_eval.testing import FakeEngine

URL = "http://fake-{}:2000"


class Fake(FakeEngine):
    """A fake engine that says it is a server."""

    tell: OnServer = staticmethod(ignore)

    def servers(self) -> Servers:
        return Servers(found=1, slots=self.slots, used={URL.format(1): ()})


async def judge(descriptor: int) -> None:
    streams = await asyncio.open_unix_connection(sock=socket.socket(fileno=descriptor))
    await serve(from_process(*streams), lambda asked, servers: Opening(Fake(slots=8)))


@asynccontextmanager
async def spawned() -> AsyncIterator[Channel[FromProcess]]:
    ours, theirs = socket.socketpair()
    with theirs:
        command = (sys.executable, __file__, "--judge", str(theirs.fileno()))
        process = await asyncio.create_subprocess_exec(*command, pass_fds=(theirs.fileno(),))
    channel = to_process(*await asyncio.open_unix_connection(sock=ours))
    try:
        yield channel
    finally:
        await channel.close()
        await process.wait()


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(folder: Path, rows: int, number: int) -> None:
    texts = ({"id": n, "problem_id": "garland", "code": f"{n}{'x' * 1500}"} for n in range(rows))
    (folder / "dump.jsonl").write_text("".join(json.dumps(row) + "\n" for row in texts))
    moments = list[tuple[float, float]]()

    def tell(event: Event) -> None:
        if isinstance(event, RunStarted | RunFinished):
            moments.append((time.process_time(), time.perf_counter()))

    engine = EngineChoice(text=",".join(map(URL.format, range(number)))) if number > 1 else Fake(slots=8)
    before = children()
    call = score_dump(
        folder / "dump.jsonl",
        examples() / "problems",
        out=folder / "run",
        engine=engine,
        options=RunOptions(client_processes=number),
        store=Store(folder / "store"),
        on_event=tell,
    )
    assert asyncio.run(call).call.judged == rows
    (cpu, begin), (end_cpu, end) = moments[0], moments[-1]
    own, others = (end_cpu - cpu) / rows * 1000, (children() - before) / rows * 1000
    print(f"| {number} | {own:.2f} ms | {others:.2f} ms | {rows / (end - begin):.0f} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000, help="of 16 tests, in each of four turns")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--judge", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.judge is not None:
        asyncio.run(judge(asked.judge))
    else:
        processes.spawned = spawned  # type: ignore[assignment]
        print("| processes | this one's CPU for a row | the others' | rows a second |\n|--:|--:|--:|--:|")
        for turn in (1, asked.processes) * 2:
            with tempfile.TemporaryDirectory() as place:
                measure(Path(place), asked.rows, turn)
