"""What it costs the client to send programs about: C++ submissions on one worker, over HTTP.

The worker is a process of its own, so the client's CPU time is the client's alone. Programs stay on one that
keeps contents. From one that keeps none they come and go back, in the packed form in which they came.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from workload import problem, submissions, write_tests

from ioi_eval import PistonEngine, Scorer, Store, discovery
from ioi_eval.models import Problem, Submission, Value

_COUNTED = re.compile(r"^ioi_eval_(received|sent)_bytes_total (\S+)$", re.MULTILINE)


def distinct(count: int, first: int) -> Iterator[Submission]:
    """Equal programs would be packed once. These differ in what they are, not only in their text."""
    for each in submissions(count, first=first):
        yield msgspec.structs.replace(each, code=f"{each.code}volatile int mark = {each.key} + 1;\n")


@asynccontextmanager
async def worker(cache: Path, *options: str) -> AsyncIterator[str]:
    """Its address."""
    command = ("-m", "ioi_eval", "worker", "--port", "0", *options)
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, env={"PATH": "/usr/bin:/bin", "IOI_EVAL_CACHE": str(cache)},
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        yield (await process.stdout.readline()).split()[3].decode().rstrip(",")
    finally:
        process.terminate()
        await process.wait()


class Moment(Value):
    cpu: float
    sent: float
    received: float


async def now(url: str) -> Moment:
    """`sent` and `received` by the client: the worker counts them, the other way round."""
    text = await asyncio.to_thread(lambda: urllib.request.urlopen(f"{url}/metrics").read().decode())
    counted = {name: float(value) for name, value in _COUNTED.findall(text)}
    return Moment(cpu=time.process_time(), sent=counted["received"], received=counted["sent"])


async def cost(scorer: Scorer, url: str, task: Problem, work: Sequence[Submission]) -> Moment:
    """Of each submission."""
    before = await now(url)
    results = await asyncio.gather(*(scorer.score(task, each) for each in work))
    after = await now(url)
    assert all(result.points == 100 for result in results)
    return Moment(
        cpu=(after.cpu - before.cpu) / len(work),
        sent=(after.sent - before.sent) / len(work),
        received=(after.received - before.received) / len(work),
    )


def tell(name: str, each: Moment) -> None:
    megabytes = f"{each.sent / 1e6:.2f} MB | {each.received / 1e6:.2f} MB"
    print(f"| {name} | {each.cpu * 1000:.1f} ms | {megabytes} |", flush=True)


async def measure(folder: Path, count: int, tests: int) -> None:
    write_tests(folder / "tests", tests)
    task = problem(folder / "tests", tests, checker=False)
    print(f"| a submission, {tests} tests | client's CPU | sent | received |\n|---|--:|--:|--:|")
    for turn, name in enumerate(("it stays", "it travels") * 2):
        options = () if name == "it stays" else ("--max-contents", "0")
        async with worker(folder / "worker", *options) as url:
            engine = PistonEngine(discovery(url))
            async with Scorer(engine, store=Store(folder / "store")) as scorer:
                await scorer.prepare(task)
                work = list(distinct(count + 2, turn * (count + 2)))
                await cost(scorer, url, task, work[:2])  # the tests and the proctor are packed here
                tell(name, await cost(scorer, url, task, work[2:]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, default=10, help="of each of four turns")
    parser.add_argument("--tests", type=int, default=40)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        asyncio.run(measure(Path(place), asked.submissions, asked.tests))
