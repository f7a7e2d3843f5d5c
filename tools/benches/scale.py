"""The cost of a client of many simulated servers that answer after a second.

The servers are addresses of 127.0.0.0/8 with a slot each and a shared process, so the client has the same
connections, slots and choices as with that many machines. Their answers are fixed, so nothing is judged.

With `--curve`: 1, 2, 4, 8 and more servers in turn, and the share of a linear speed-up.

With `--rows`: whole runs of that many C++ submissions, with dump, result log, builds of programs of real size
that stay on their worker, and their tests, on the workers of simulated.py. If another checkout is named, both
are measured in turn.
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

from simulated import SimulatedWorkersProcess, start_simulated_workers
from workload import make_problem, make_source, write_tests

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


# --- the simulated servers, in a separate process ----------------------------------------------------


class Connection(asyncio.Protocol):
    """A minimal HTTP server, so that the machine's cores are free for the client."""

    def __init__(self, reply: bytes, reply_delay_s: float) -> None:
        self._reply, self._reply_delay_s = reply, reply_delay_s
        self._received = bytearray()
        self._missing_bytes = 0  # bytes of the request's body that have not arrived yet

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._missing_bytes:
            self._missing_bytes -= len(data)
        else:
            self._received += data
            head, separator, body = self._received.partition(b"\r\n\r\n")
            if not separator:
                return
            self._received = bytearray()
            if head.startswith(b"GET"):
                self._transport.write(_HEAD % (len(_RUNTIMES), _RUNTIMES))
                return
            length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
            self._missing_bytes = int(length) - len(body)
        if self._missing_bytes <= 0:
            self._missing_bytes = 0
            asyncio.get_running_loop().call_later(self._reply_delay_s, self._answer)

    def _answer(self) -> None:
        if not self._transport.is_closing():
            self._transport.write(self._reply)


async def serve_simulated_servers(reply_delay_s: float, tests_per_job: int) -> None:
    run_ending = Ending(
        stdout="".join(_LINE % index for index in range(tests_per_job)), code=0, cpu_time=1, wall_time=2
    )
    body = encode_result(JobResult(run=run_ending, language="ioi_eval", version="1.0.0"))
    reply = _HEAD % (len(body), body)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(reply, reply_delay_s), "0.0.0.0", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    # Standard input ends when the client exits.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


@asynccontextmanager
async def start_servers(seconds: float, tests: int) -> AsyncIterator[int]:
    """Start the servers and yield their port."""
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


class FixedDiscovery:
    every: float | None = None

    def __init__(self, count: int, port: int) -> None:
        self._urls = frozenset(
            f"http://127.0.{number // 250 + 1}.{number % 250 + 1}:{port}" for number in range(count)
        )

    async def find(self) -> frozenset[str]:
        return self._urls


class Snapshot(Value):
    done: int
    clock: float
    cpu: float
    memory: float  # resident memory of the client, in MiB


def take_snapshot(done_jobs: int) -> Snapshot:
    resident_pages = int(Path("/proc/self/statm").read_text().split()[1])
    memory_mib = resident_pages * os.sysconf("SC_PAGESIZE") / 2**20
    return Snapshot(done=done_jobs, clock=time.perf_counter(), cpu=time.process_time(), memory=memory_mib)


class SimulatedLoad:
    """A number of distinct jobs, sent by as many tasks as in a run."""

    def __init__(
        self, engine: PistonEngine, job_count: int, script_bytes: int, jobs_per_snapshot: int
    ) -> None:
        self._engine, self._jobs_left, self._jobs_per_snapshot = engine, job_count, jobs_per_snapshot
        self._script = "true # " + "x" * script_bytes
        self.done = 0
        self.snapshots = [take_snapshot(0)]
        self.print_jobs_per_second = print_jobs_per_second

    async def send_jobs(self) -> None:
        while self._jobs_left > 0:
            self._jobs_left -= 1
            script = Blob.of(f"{self._script} {self._jobs_left}")
            result = await self._engine.execute(Job(files=(JobFile(name="run", content=script),)))
            assert result.run.code == 0
            self.done += 1
            if self.done % self._jobs_per_snapshot == 0:
                self.snapshots.append(take_snapshot(self.done))
                self.print_jobs_per_second(self.snapshots[-2], self.snapshots[-1])


def print_jobs_per_second(first: Snapshot, last: Snapshot) -> None:
    seconds = last.clock - first.clock
    rate, cores = (last.done - first.done) / seconds, (last.cpu - first.cpu) / seconds
    print(
        f"{last.done:>9,} jobs {rate:>8,.0f} jobs/s {cores:>6.2f} cores {last.memory:>7.1f} MiB", flush=True
    )


async def measure_load(arguments: argparse.Namespace) -> None:
    capabilities = Capabilities(name="piston", architecture="x86_64", runtimes=("ioi_eval",))
    async with start_servers(arguments.seconds, arguments.tests) as port:
        start_time = time.perf_counter()
        discovery = FixedDiscovery(arguments.slots, port)
        async with PistonEngine(discovery, per_endpoint=1, attempts=1, capabilities=capabilities) as engine:
            print(f"{engine.slots:,} slots opened in {time.perf_counter() - start_time:.1f} s")
            load = SimulatedLoad(engine, arguments.jobs, arguments.body, max(1, arguments.jobs // 10))
            await asyncio.gather(*(load.send_jobs() for _ in range(2 * arguments.slots)))
            # Ignore the first tenth of the jobs, because it opens the connections.
            first_snapshot, last_snapshot = load.snapshots[1], load.snapshots[-1]
            print("load after the first tenth of the jobs:")
            print_jobs_per_second(first_snapshot, last_snapshot)
            print_cpu_and_memory_growth(first_snapshot, last_snapshot)


CURVE = (1, 2, 4, 8, 64, 512)
_JOBS_EACH = 12  # number of jobs for each server in a measured curve; the first two jobs open its connection


async def print_scaling_curve(arguments: argparse.Namespace) -> None:
    """Print the jobs per second of increasing numbers of servers, as a share of a linear speed-up."""
    capabilities = Capabilities(name="piston", architecture="x86_64", runtimes=("ioi_eval",))
    single_rate = 0.0
    print("| servers of one slot | jobs/s | linear share | cores of the client |")
    print("|--:|--:|--:|--:|")
    for count in CURVE:
        async with (
            start_servers(arguments.seconds, arguments.tests) as port,
            PistonEngine(
                FixedDiscovery(count, port), per_endpoint=1, attempts=1, capabilities=capabilities
            ) as engine,
        ):
            load = SimulatedLoad(engine, _JOBS_EACH * count, arguments.body, 2 * count)
            load.print_jobs_per_second = lambda first, last: None
            await asyncio.gather(*(load.send_jobs() for _ in range(2 * count)))
        first_snapshot, last_snapshot = load.snapshots[1], load.snapshots[-1]
        seconds = last_snapshot.clock - first_snapshot.clock
        rate = (last_snapshot.done - first_snapshot.done) / seconds
        single_rate = single_rate or rate
        linear_share, cores = rate / (count * single_rate), (last_snapshot.cpu - first_snapshot.cpu) / seconds
        print(f"| {count} | {rate:.2f} | {linear_share:.2f} | {cores:.2f} |", flush=True)


def print_cpu_and_memory_growth(first: Snapshot, last: Snapshot) -> None:
    done_jobs, cpu_s = last.done - first.done, last.cpu - first.cpu
    print(f"{cpu_s / done_jobs * 1e6:.0f} us of CPU time per job; during {done_jobs:,} jobs, memory grew by "
          f"{last.memory - first.memory:.1f} MiB")  # fmt: skip


# --- whole rows --------------------------------------------------------------------------------------

_PEAK = "VmHWM:"


class RowCost(Value):
    """The cost of judging a row, measured in a single run of the client."""

    ms: float  # CPU time of the client for a row, in ms
    rate: float  # number of rows per second
    memory: int  # peak memory of the client process, in MiB


def peak_memory_mib() -> int:
    """Return the peak memory of this process, in MiB."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if _PEAK in line)
    return int(line.split()[1]) >> 10


async def judge_run(arguments: argparse.Namespace, urls: str, folder: Path) -> RowCost:
    """Judge a run in this process, which is measured. The start and the report of the run do not count."""
    cpu_and_clock_times = list[tuple[float, float]]()

    def record(event: Event) -> None:
        if isinstance(event, RunStarted | RunFinished):
            cpu_and_clock_times.append((time.process_time(), time.perf_counter()))

    scored_dump = await score_dump(
        folder / "dump.jsonl",
        Problems([make_problem(folder / "tests", arguments.tests, has_checker=False)]),
        out=folder / "run",
        engine=EngineChoice(text=urls),
        store=Store(folder / "store"),
        on_event=record,
    )
    assert scored_dump.call.judged == arguments.rows and scored_dump.summary.models[0].points == 100, [
        *scored_dump.failures.items()
    ][:1]
    (start_cpu_s, start_s), (end_cpu_s, end_s) = cpu_and_clock_times[0], cpu_and_clock_times[-1]
    cpu_ms = (end_cpu_s - start_cpu_s) * 1000 / arguments.rows
    return RowCost(ms=cpu_ms, rate=arguments.rows / (end_s - start_s), memory=peak_memory_mib())


def write_rows(folder: Path, arguments: argparse.Namespace) -> None:
    write_tests(folder / "tests", arguments.tests)
    rows = (
        {"id": number, "problem_id": "squares", "code": make_source(number)}
        for number in range(arguments.rows)
    )
    (folder / "dump.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


async def compare_checkouts(arguments: argparse.Namespace) -> None:
    """Print the cost of judging a row. If --against is given, measure both checkouts alternately."""
    checkouts = [Path(__file__).parents[2], *([arguments.against] if arguments.against else [])]
    costs_by_checkout: dict[Path, list[RowCost]] = {}
    print("| git checkout | CPU of the client for a row | rows/s | memory |")
    print("|---|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as cache:
        for turn in range(arguments.turns):
            for checkout in checkouts if turn % 2 else checkouts[::-1]:
                async with start_simulated_workers(Path(cache), arguments.size, arguments.seconds) as workers:
                    cost = await measure_row_cost_of_checkout(arguments, workers, checkout)
                costs_by_checkout.setdefault(checkout, []).append(cost)
                print(f"| {checkout.name} | {cost.ms:.2f} ms | {cost.rate:.0f} | {cost.memory} MiB |",
                      flush=True)  # fmt: skip
    for checkout, row_costs in sorted(costs_by_checkout.items()):
        print_slots_per_core(checkout.name, row_costs, arguments)


async def measure_row_cost_of_checkout(
    arguments: argparse.Namespace, workers: SimulatedWorkersProcess, checkout: Path
) -> RowCost:
    with tempfile.TemporaryDirectory() as folder:
        write_rows(Path(folder), arguments)
        command = [str(checkout / ".venv/bin/python"), __file__, "--client", "--folder", folder]
        command += ["--rows", str(arguments.rows), "--tests", str(arguments.tests)]
        command += ["--urls", ",".join(workers.make_urls(arguments.workers))]
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        output, _ = await process.communicate()
        assert process.returncode == 0, "the client failed"
        print(f"<!-- {await workers.read_request_counts()} -->", flush=True)
        return RowCost(**json.loads(output.splitlines()[-1]))


def print_slots_per_core(name: str, costs: list[RowCost], arguments: argparse.Namespace) -> None:
    """Print how many slots of workers a client can use with a single core."""
    cpu_ms = statistics.median(cost.ms for cost in costs)
    rate = 1000 / cpu_ms
    slots = rate * arguments.judged
    print(f"{name}: {cpu_ms:.2f} ms per row, median of {len(costs)}; so a core handles {rate:.0f} rows/s, "
    f"enough for {slots:.0f} slots with {arguments.judged:g} s per row")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slots", type=int, default=1500)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=1.0, help="duration of each job, in seconds")
    parser.add_argument("--body", type=int, default=4000, help="size of each job's files, in bytes")
    parser.add_argument("--tests", type=int, default=20, help="number of tests in each job")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument(
        "--curve", action="store_true", help="measure the jobs per second with 1 to 512 servers"
    )
    rows_group = parser.add_argument_group("whole rows")
    rows_group.add_argument("--rows", type=int, default=0)
    rows_group.add_argument(
        "--workers", type=int, default=64, help="number of simulated workers with a slot each"
    )
    rows_group.add_argument("--size", type=int, default=2_000_000, help="size of each program, in bytes")
    rows_group.add_argument("--turns", type=int, default=2)
    rows_group.add_argument(
        "--against", type=Path, help="folder of another checkout to compare, with an environment in .venv"
    )
    rows_group.add_argument(
        "--judged", type=float, default=1.96, help="time that a slot needs for each row, in seconds"
    )
    rows_group.add_argument("--client", action="store_true", help=argparse.SUPPRESS)
    rows_group.add_argument("--urls", help=argparse.SUPPRESS)
    rows_group.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    max_open_files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (max_open_files, max_open_files))
    if arguments.client:
        row_cost = asyncio.run(judge_run(arguments, arguments.urls, arguments.folder))
        print(json.dumps({name: getattr(row_cost, name) for name in RowCost.__struct_fields__}))
    elif arguments.curve:
        asyncio.run(print_scaling_curve(arguments))
    elif arguments.rows:
        asyncio.run(compare_checkouts(arguments))
    else:
        asyncio.run(
            serve_simulated_servers(arguments.seconds, arguments.tests)
            if arguments.serve
            else measure_load(arguments)
        )


if __name__ == "__main__":
    main()
