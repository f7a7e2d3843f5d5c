"""Many simulated servers that answer after a second, one client. What it costs, and whether it stays so.

The servers are addresses of 127.0.0.0/8 behind one listening process, one slot each: connections, slots and
choices are those of as many machines. Their answers are canned, so nothing is judged.

With `--curve`, 1, 2, 4, 8 and more of them, one after the other, and the share of a linear speed-up.

With `--rows`, whole runs of that many C++ submissions: dump, journal, builds of programs of real size that
stay with their worker, and their tests, on the workers of simulated.py. Each turn is taken again by another
checkout where one is named.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from simulated import Simulated, simulated
from workload import problem, source, write_tests

from ioi_eval import PistonEngine, Store, score_dump
from ioi_eval.engines.jobs.piston_api import ServerRuntime, encode_result, encode_runtimes
from ioi_eval.models import Blob, Capabilities, Ending, Job, JobFile, JobResult, Value
from ioi_eval.problems import Problems
from ioi_eval.runs import EngineChoice, Event, RunFinished, RunStarted

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
_LINE = (
    '{"v":1,"nonce":"6f1c0b5e9a","test":%d,"end":"ok","score":1,"cpu_us":1200,"wall_us":17,"memory":1310}\n'
)
_RUNTIMES = encode_runtimes([ServerRuntime(language="ioi_eval", version="1.0.0")])


# --- the servers, in a process of their own ----------------------------------------------------------


class Connection(asyncio.Protocol):
    """As little of HTTP as there can be, so that the machine's cores are left to the client."""

    def __init__(self, reply: bytes, seconds: float) -> None:
        self._reply, self._seconds = reply, seconds
        self._read = bytearray()
        self._missing = 0  # bytes of the body that is coming in

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._missing:
            self._missing -= len(data)
        else:
            self._read += data
            head, found, rest = self._read.partition(b"\r\n\r\n")
            if not found:
                return
            self._read = bytearray()
            if head.startswith(b"GET"):
                self._transport.write(_HEAD % (len(_RUNTIMES), _RUNTIMES))
                return
            length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
            self._missing = int(length) - len(rest)
        if self._missing <= 0:
            self._missing = 0
            asyncio.get_running_loop().call_later(self._seconds, self._answer)

    def _answer(self) -> None:
        if not self._transport.is_closing():
            self._transport.write(self._reply)


async def serve(seconds: float, tests: int) -> None:
    run = Ending(stdout="".join(_LINE % index for index in range(tests)), code=0, cpu_time=1, wall_time=2)
    body = encode_result(JobResult(run=run, language="ioi_eval", version="1.0.0"))
    reply = _HEAD % (len(body), body)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(reply, seconds), "0.0.0.0", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)  # until the client is gone


@asynccontextmanager
async def servers(seconds: float, tests: int) -> AsyncIterator[int]:
    """The port of all of them."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "--serve", "--seconds", str(seconds), "--tests", str(tests),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    try:
        yield int(await process.stdout.readline())
    finally:
        process.stdin.close()
        await process.wait()


# --- the client --------------------------------------------------------------------------------------


class Known:
    every: float | None = None

    def __init__(self, count: int, port: int) -> None:
        self._urls = frozenset(f"http://127.0.{n // 250 + 1}.{n % 250 + 1}:{port}" for n in range(count))

    async def find(self) -> frozenset[str]:
        return self._urls


class Moment(Value):
    done: int
    clock: float
    cpu: float
    memory: float  # MiB


def now(done: int) -> Moment:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    memory = pages * os.sysconf("SC_PAGESIZE") / 2**20
    return Moment(done=done, clock=time.perf_counter(), cpu=time.process_time(), memory=memory)


class Load:
    """So many jobs, each another one, by as many workers as a run would have."""

    def __init__(self, engine: PistonEngine, count: int, size: int, every: int) -> None:
        self._engine, self._left, self._every = engine, count, every
        self._text = "true # " + "x" * size
        self.done = 0
        self.moments = [now(0)]
        self.tell = tell

    async def work(self) -> None:
        while self._left > 0:
            self._left -= 1
            script = Blob.of(f"{self._text} {self._left}")
            result = await self._engine.execute(Job(files=(JobFile(name="run", content=script),)))
            assert result.run.code == 0
            self.done += 1
            if self.done % self._every == 0:
                self.moments.append(now(self.done))
                self.tell(self.moments[-2], self.moments[-1])


def tell(before: Moment, after: Moment) -> None:
    seconds = after.clock - before.clock
    rate, cores = (after.done - before.done) / seconds, (after.cpu - before.cpu) / seconds
    print(
        f"{after.done:>9,} jobs {rate:>8,.0f} jobs/s {cores:>6.2f} cores {after.memory:>7.1f} MiB", flush=True
    )


async def measure(given: argparse.Namespace) -> None:
    profile = Capabilities(name="piston", architecture="x86_64", runtimes=("ioi_eval",))
    async with servers(given.seconds, given.tests) as port:
        started = time.perf_counter()
        known = Known(given.slots, port)
        async with PistonEngine(known, per_endpoint=1, attempts=1, capabilities=profile) as engine:
            print(f"{engine.slots:,} slots found in {time.perf_counter() - started:.1f} s")
            load = Load(engine, given.jobs, given.body, max(1, given.jobs // 10))
            await asyncio.gather(*(load.work() for _ in range(2 * given.slots)))
            first, last = load.moments[1], load.moments[-1]  # the first tenth opens the connections
            print("after the first tenth:")
            tell(first, last)
            tell_growth(first, last)


CURVE = (1, 2, 4, 8, 64, 512)
_JOBS_EACH = 12  # jobs of each server in a curve, of which the first two open its connection


async def curve(given: argparse.Namespace) -> None:
    """Print the jobs per second of more and more servers, as a share of what one does times their number."""
    profile = Capabilities(name="piston", architecture="x86_64", runtimes=("ioi_eval",))
    alone = 0.0
    print("| servers of one slot | jobs/s | linear share | cores of the client |")
    print("|--:|--:|--:|--:|")
    for count in CURVE:
        async with (
            servers(given.seconds, given.tests) as port,
            PistonEngine(Known(count, port), per_endpoint=1, attempts=1, capabilities=profile) as engine,
        ):
            load = Load(engine, _JOBS_EACH * count, given.body, 2 * count)
            load.tell = lambda before, after: None
            await asyncio.gather(*(load.work() for _ in range(2 * count)))
        first, last = load.moments[1], load.moments[-1]
        seconds = last.clock - first.clock
        rate = (last.done - first.done) / seconds
        alone = alone or rate
        share, cores = rate / (count * alone), (last.cpu - first.cpu) / seconds
        print(f"| {count} | {rate:.2f} | {share:.2f} | {cores:.2f} |", flush=True)


def tell_growth(first: Moment, last: Moment) -> None:
    jobs, cpu = last.done - first.done, last.cpu - first.cpu
    print(f"{cpu / jobs * 1e6:.0f} us of a core for a job; over {jobs:,} jobs memory grew by "
          f"{last.memory - first.memory:.1f} MiB")  # fmt: skip


# --- whole rows --------------------------------------------------------------------------------------

_PEAK = "VmHWM:"


class Turn(Value):
    """A row's cost in one turn."""

    ms: float  # of CPU time of the client
    rate: float  # rows a second
    memory: int  # MiB at most, of the client


def peak() -> int:
    """MiB at most of this process."""
    said = next(line for line in Path("/proc/self/status").read_text().splitlines() if _PEAK in line)
    return int(said.split()[1]) >> 10


async def judge(given: argparse.Namespace, urls: str, folder: Path) -> Turn:
    """Judge one run, in the process that is to be measured. Its start and its report do not count."""
    moments = list[tuple[float, float]]()

    def hear(event: Event) -> None:
        if isinstance(event, RunStarted | RunFinished):
            moments.append((time.process_time(), time.perf_counter()))

    call = await score_dump(
        folder / "dump.jsonl",
        Problems([problem(folder / "tests", given.tests, checker=False)]),
        out=folder / "run",
        engine=EngineChoice(text=urls),
        store=Store(folder / "store"),
        on_event=hear,
    )
    assert call.call.judged == given.rows and call.summary.models[0].points == 100, [*call.failures.items()][
        :1
    ]
    (begin_cpu, begin), (end_cpu, end) = moments[0], moments[-1]
    ms = (end_cpu - begin_cpu) * 1000 / given.rows
    return Turn(ms=ms, rate=given.rows / (end - begin), memory=peak())


def write_rows(folder: Path, given: argparse.Namespace) -> None:
    write_tests(folder / "tests", given.tests)
    texts = ({"id": n, "problem_id": "squares", "code": source(n)} for n in range(given.rows))
    (folder / "dump.jsonl").write_text("".join(json.dumps(row) + "\n" for row in texts))


async def take_turns(given: argparse.Namespace) -> None:
    """Print what a row cost, by turns with the other checkout."""
    checkouts = [Path(__file__).parents[2], *([given.against] if given.against else [])]
    taken: dict[Path, list[Turn]] = {}
    print("| checkout | CPU of the client | rows/s | |")
    print("|---|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as cache:
        for turn in range(given.turns):
            for checkout in checkouts if turn % 2 else checkouts[::-1]:
                async with simulated(Path(cache), given.size, given.seconds) as workers:
                    found = await one_turn(given, workers, checkout)
                taken.setdefault(checkout, []).append(found)
                print(f"| {checkout.name} | {found.ms:.2f} ms | {found.rate:.0f} | {found.memory} MiB |",
                      flush=True)  # fmt: skip
    for checkout, turns in sorted(taken.items()):
        tell_slots(checkout.name, turns, given)


async def one_turn(given: argparse.Namespace, workers: Simulated, checkout: Path) -> Turn:
    with tempfile.TemporaryDirectory() as place:
        write_rows(Path(place), given)
        command = [str(checkout / ".venv/bin/python"), __file__, "--client", "--folder", place]
        command += ["--rows", str(given.rows), "--tests", str(given.tests)]
        command += ["--urls", ",".join(workers.urls(given.workers))]
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        said, _ = await process.communicate()
        assert process.returncode == 0, "the client failed"
        print(f"<!-- {await workers.counts()} -->", flush=True)
        return Turn(**json.loads(said.splitlines()[-1]))


def tell_slots(name: str, turns: list[Turn], given: argparse.Namespace) -> None:
    """Compute how many slots one core would keep busy."""
    ms = statistics.median(turn.ms for turn in turns)
    rows = 1000 / ms
    print(f"{name}: {ms:.2f} ms a row, the median of {len(turns)}; a core does {rows:.0f} rows/s (computed), "
          f"and feeds {rows * given.judged:.0f} slots whose rows take {given.judged:g} s")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slots", type=int, default=1500)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=1.0, help="that a job takes")
    parser.add_argument("--body", type=int, default=4000, help="bytes of a job's files")
    parser.add_argument("--tests", type=int, default=20, help="lines in a job's reply")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--curve", action="store_true", help="1, 2, 4, 8 and more servers")
    rows = parser.add_argument_group("whole rows")
    rows.add_argument("--rows", type=int, default=0)
    rows.add_argument("--workers", type=int, default=64, help="simulated, of one slot each")
    rows.add_argument("--size", type=int, default=2_000_000, help="bytes of a program")
    rows.add_argument("--turns", type=int, default=2)
    rows.add_argument("--against", type=Path, help="another checkout, with an environment in .venv")
    rows.add_argument("--judged", type=float, default=1.96, help="seconds of a slot for a row")
    rows.add_argument("--client", action="store_true", help=argparse.SUPPRESS)
    rows.add_argument("--urls", help=argparse.SUPPRESS)
    rows.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if given.client:
        turn = asyncio.run(judge(given, given.urls, given.folder))
        print(json.dumps({name: getattr(turn, name) for name in Turn.__struct_fields__}))
    elif given.curve:
        asyncio.run(curve(given))
    elif given.rows:
        asyncio.run(take_turns(given))
    else:
        asyncio.run(serve(given.seconds, given.tests) if given.serve else measure(given))


if __name__ == "__main__":
    main()
