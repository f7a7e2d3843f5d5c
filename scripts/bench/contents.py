"""Count what many submissions of a problem with large tests send: with every job, and once by hash.

Each program fails on the first test, and the others are not run: what is measured is their way there. Client
and worker talk through a proxy that counts the bytes and, if asked, lets only so many through.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ioi_eval import PistonEngine, Scorer, Store, discovery
from ioi_eval.models import Blob, Limits, Problem, Submission, Subtask, Test

_PIECE = 1 << 16


class Proxy:
    """`rate`: bytes a second to the worker, of all connections together; None: as they come."""

    def __init__(self, port: int, rate: float | None) -> None:
        self._port, self._rate = port, rate
        self._turn = asyncio.Lock()
        self.sent = self.received = 0

    @asynccontextmanager
    async def open(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to_reader, to_writer = await asyncio.open_connection("127.0.0.1", self._port)
        await asyncio.gather(
            self._pass_on(reader, to_writer, to=True), self._pass_on(to_reader, writer, to=False)
        )

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, to: bool) -> None:
        try:
            while piece := await reader.read(_PIECE):
                if to:
                    self.sent += len(piece)
                    await self._wait(len(piece))
                else:
                    self.received += len(piece)
                writer.write(piece)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def _wait(self, size: int) -> None:
        if self._rate is not None:
            async with self._turn:
                await asyncio.sleep(size / self._rate)


@asynccontextmanager
async def worker(cache: Path, *options: str) -> AsyncIterator[tuple[int, int]]:
    """Its process and its port."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "ioi_eval", "worker", "--port", "0", "--slots", "2", *options,
        env={"PATH": "/usr/bin:/bin", "IOI_EVAL_CACHE": str(cache)}, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        words = (await process.stdout.readline()).decode().split()
        yield process.pid, int(words[3].rstrip(",").rpartition(":")[2])
    finally:
        process.terminate()
        await process.wait()


def cpu_of(process: int) -> float:
    """Seconds of a process, and of its children that have ended."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def problem(folder: Path, tests: int, size: int) -> Problem:
    choice = random.Random(20)
    folder.mkdir()
    for index in range(tests):
        numbers = " ".join(str(choice.randrange(10**9)) for _ in range(size // 10))
        (folder / f"{index}.in").write_text(numbers + "\n")
    answer = Blob.of("right\n")
    made = tuple(
        Test(name=str(n), input=Blob.of_file(folder / f"{n}.in"), answer=answer) for n in range(tests)
    )
    whole = Subtask(name="all", points=100, tests=tuple(test.name for test in made))
    return Problem(id="large", limits=Limits.contest(10.0, 1 << 30), tests=made, subtasks=(whole,))


async def measure(
    name: str, given: argparse.Namespace, count: int, rate: float | None, *options: str
) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        task = problem(folder / "tests", given.tests, given.size)
        async with worker(given.cache, *options) as (process, port):
            proxy = Proxy(port, rate)
            async with (
                proxy.open() as url,
                Scorer(PistonEngine(discovery(url)), store=Store(given.cache)) as scorer,
            ):
                await scorer.prepare(task)
                work = [
                    Submission(key=str(n), problem_id="large", language="python", code=f"print('no', {n})\n")
                    for n in range(count)
                ]
                sent, received = proxy.sent, proxy.received
                begin, cpu, theirs = time.monotonic(), time.process_time(), cpu_of(process)
                results = await asyncio.gather(*(scorer.score(task, each) for each in work))
                seconds, cpu = time.monotonic() - begin, time.process_time() - cpu
                theirs = cpu_of(process) - theirs
                assert {result.points for result in results} == {0}
        columns = (
            name,
            str(count),
            f"{(proxy.sent - sent) / 1e6:,.1f} MB",
            f"{(proxy.received - received) / 1e6:,.1f} MB",
            f"{cpu / count * 1000:.0f} ms",
            f"{theirs / count * 1000:.0f} ms",
            f"{seconds:.0f} s",
        )
        print(f"| {' | '.join(columns)} |", flush=True)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--submissions", type=int, default=200)
    parser.add_argument("--with-every-job", type=int, default=200, help="submissions that bring all")
    parser.add_argument("--tests", type=int, default=50)
    parser.add_argument("--size", type=int, default=1_000_000, help="bytes of a test")
    parser.add_argument("--slow", type=int, default=5, help="submissions over the slow link; 0: none")
    parser.add_argument("--rate", type=float, default=5e6, help="bytes a second of the slow link")
    given = parser.parse_args()
    print("| tests travel | submissions | sent | received | client's CPU each | worker's CPU each | time |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    every, once = ("--max-contents", "0"), ("--max-contents", "1gb")
    with tempfile.TemporaryDirectory() as cache:
        given.cache = Path(cache)
        await measure("with every job", given, given.with_every_job, None, *every)
        await measure("once", given, given.submissions, None, *once)
        if given.slow:
            link = f"{given.rate / 1e6:g} MB/s"
            await measure(f"with every job, {link}", given, given.slow, given.rate, *every)
            await measure(f"once, {link}", given, given.slow, given.rate, *once)


if __name__ == "__main__":
    asyncio.run(main())
