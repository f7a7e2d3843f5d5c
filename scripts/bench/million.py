"""Begins a run of a million rows on the fake engine: time to the first result and the total, and memory."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import tempfile
import time
from pathlib import Path

from rows import packages, row

from ioi_eval.engines import VERSION, Answers, Batch, Built, Line, Recipe
from ioi_eval.runs import Event, RowsRead, RunFinished, SubmissionJudged, score_dump
from ioi_eval.testing import FakeEngine


class Bare(FakeEngine):
    """Answers builds and batches itself: no job is made, and nothing is kept of them."""

    async def build(self, recipe: Recipe) -> Built:
        await asyncio.sleep(0)
        return Built(artifact=recipe.main.content, compiler="g++ 1.0", toolchain="g++ 1.0 (fake)")

    async def judge(self, batch: Batch) -> Answers:
        await asyncio.sleep(0)
        line = Line(v=VERSION, nonce="", end="ok", score=1.0, cpu_us=1000, wall_us=2000, memory=1 << 20)
        return Answers(lines={planned.test.name: line for planned in batch.tests})


PROMPT = {"prompt": "word " * 80}  # so that 100,000 rows are a large dump


class Watch:
    """Says when the first result and the total are there, and ends the call after enough results."""

    def __init__(self, most: int) -> None:
        self._most, self._begin, self._judged = most, time.perf_counter(), 0
        self._counted = False
        self.enough = asyncio.Event()

    def __call__(self, event: Event) -> None:
        if isinstance(event, SubmissionJudged):
            self._judged += 1
            if self._judged == 1:
                self.say("first result")
        elif isinstance(event, RowsRead) and event.selected is not None:
            self._counted = True
            self.say(f"{event.selected:,} rows are seen, {self._judged:,} are judged")
        elif isinstance(event, RunFinished):
            self.say("all rows are judged")
        if self._counted and self._judged >= self._most:
            self.enough.set()

    def say(self, what: str) -> None:
        # Not `ru_maxrss`, in which whoever started this counts too.
        [kilobytes] = re.findall(r"^VmHWM:\s*(\d+)", Path("/proc/self/status").read_text(), re.M)
        most = int(kilobytes) >> 10
        wall, cpu = time.perf_counter() - self._begin, time.process_time()
        print(f"{wall:7.1f} s, {cpu:7.1f} s of CPU, {most:5,} MB: {what}", flush=True)


async def judge(folder: Path, most: int) -> None:
    watch = Watch(most)
    call = asyncio.create_task(
        score_dump(
            folder / "dump.jsonl",
            folder / "problems",
            out=folder / "run",
            engine=Bare(slots=8),
            on_event=watch,
        )
    )
    enough = asyncio.create_task(watch.enough.wait())
    await asyncio.wait({call, enough}, return_when=asyncio.FIRST_COMPLETED)
    if call.done():
        call.result()  # a run that failed says why
    watch.say("the run and its report are done" if call.done() else "enough results")
    for task in (call, enough):
        task.cancel()
    await asyncio.gather(call, enough, return_exceptions=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument(
        "--judged", type=int, default=1000, help="results after which it ends; the total waits"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        packages(folder / "problems")
        with (folder / "dump.jsonl").open("w") as stream:
            stream.writelines(json.dumps(row(number) | PROMPT) + "\n" for number in range(given.rows))
        asyncio.run(judge(folder, given.judged))


if __name__ == "__main__":
    main()
