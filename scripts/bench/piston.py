"""Judging on a real Piston beside the classic pipeline: a job per test, and everything compiled in each.

Both run on the same server in the same call. The first ratio is of CPU time, of the server with all its
programs and of the client with its compilers: other work on the machine changes it little. The second one is
of the clock, and says something where the machine has nothing else to do.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from ioi_eval import PistonEngine, Scorer, Store, discovery, load_problems
from ioi_eval.classic import run_classic
from ioi_eval.models import Job, JobResult, Problem, Submission, Test, Value

_TICK = os.sysconf("SC_CLK_TCK")
_SLOTS = 2


class Spent(Value):
    server: float  # seconds of CPU time
    client: float
    wall: float
    jobs: int
    tests: int

    @property
    def per_test(self) -> float:
        return (self.server + self.client) / self.tests


class Counted(PistonEngine):
    jobs = 0

    async def execute(self, job: Job) -> JobResult:
        self.jobs += 1
        return await super().execute(job)


def cpu_of(pid: int) -> float:
    """Of a process and of all its children that have ended."""
    cells = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, cells[11:15])) / _TICK


def own_cpu() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@asynccontextmanager
async def spending(engine: Counted, pid: int, tests: int, into: list[Spent]) -> AsyncIterator[None]:
    before = cpu_of(pid), own_cpu(), time.perf_counter(), engine.jobs
    yield
    into.append(
        Spent(
            server=cpu_of(pid) - before[0],
            client=own_cpu() - before[1],
            wall=time.perf_counter() - before[2],
            jobs=engine.jobs - before[3],
            tests=tests,
        )
    )


def solution(task: Problem, package: Path) -> str:
    """The model's own."""
    import zipfile

    with zipfile.ZipFile(package) as files:
        (name,) = [name for name in files.namelist() if "/model_solution/" in name and name.endswith(".cpp")]
        return files.read(name).decode()


def sources(code: str, task: Problem, count: int) -> list[Submission]:
    """Different programs, not only different texts."""
    marked = (f"{code}\nvolatile int mark_{number} = {number};\n" for number in range(count))
    return [
        Submission(key=str(number), problem_id=task.id, code=text, language="cpp")
        for number, text in enumerate(marked)
    ]


def server(url: str) -> Counted:
    return Counted(discovery(url), per_endpoint=_SLOTS)


async def ours(
    url: str, pid: int, task: Problem, store: Store, rounds: Sequence[Sequence[Submission]]
) -> list[Spent]:
    """One client, and round after round."""
    spent: list[Spent] = []
    for work in rounds:
        engine = server(url)
        async with spending(engine, pid, len(work) * len(task.tests), spent):
            async with Scorer(engine, store=store) as scorer:
                results = await asyncio.gather(*(scorer.score(task, each) for each in work))
            assert {result.points for result in results} == {sum(each.points for each in task.subtasks)}, (
                results
            )
    return spent


async def classic(url: str, pid: int, task: Problem, work: Submission, tests: int) -> Spent:
    spent: list[Spent] = []
    chosen = task.tests[:tests]
    async with server(url) as engine:
        room = asyncio.Semaphore(_SLOTS)

        async def one(test: Test) -> float:
            async with room:
                return (await run_classic(engine, task, test, work, runtime="cms_ioi")).score

        async with spending(engine, pid, len(chosen), spent):
            scores = await asyncio.gather(*map(one, chosen))
    if set(scores) != {1}:  # its limit of time counts the wall clock
        print(f"The classic pipeline gave a right source {scores} on this busy machine.")
    return spent[0]


async def steps(url: str, pid: int, task: Problem, store: Store, count: int) -> list[Spent]:
    """What a first run builds once, and sources with nothing in them, built and run, and run alone."""
    bare = Problem(id="bare", source="here", limits=task.limits, tests=task.tests[:1])
    work = sources("int main() {}", bare, count)
    engine, spent = server(url), list[Spent]()
    async with Scorer(engine, store=store) as scorer:
        for problem in (bare, task):
            async with spending(engine, pid, 1, spent):
                await scorer.prepare(problem)
        for _ in range(2):
            async with spending(engine, pid, count, spent):
                await asyncio.gather(*(scorer.score(bare, each) for each in work))
    return spent


def row(name: str, spent: Spent, base: Spent) -> str:
    cells = (
        f"{spent.jobs / spent.tests:.2f}",
        f"{1000 * spent.per_test:.1f} ms",
        f"{1 / spent.per_test:.1f}",
        f"{base.per_test / spent.per_test:.0f}",
        f"{spent.tests / spent.wall:.2f}",
        f"{spent.tests / spent.wall * base.wall / base.tests:.0f}",
    )
    return f"| {name} | {' | '.join(cells)} |"


async def measure(url: str, pid: int, package: Path, count: int, tests: int, folder: Path) -> None:
    (task,) = load_problems(package, cache=folder / "problems").values()
    code = solution(task, package)
    whole = sources(code, task, 2 * count)
    once = await steps(url, pid, task, Store(folder / "steps"), count)
    print("| built and run | CPU each |\n|---|--:|")
    names = ("the proctor", "the checker", "nothing, one test", "the same again")
    for name, one in zip(names, once, strict=True):
        print(f"| {name} | {1000 * one.per_test:.0f} ms |")
    base = await classic(url, pid, task, whole[0], tests)
    first, second = whole[:count], whole[count:]
    store = Store(folder / task.id)
    cold, known, kept = await ours(url, pid, task, store, [first, second, second])
    print(
        f"| {task.id}: {count} sources, {len(task.tests)} tests | jobs/test | CPU/test | tests/CPU s |",
        end="",
    )
    print(" ratio | tests/s | ratio |\n|---|--:|--:|--:|--:|--:|--:|")
    print(row("classic pipeline", base, base))
    print(row("cold: nothing was built before", cold, base))
    print(row("warm: other sources of the same problem", known, base))
    print(row("warm: the same sources", kept, base), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("pid", type=int)
    parser.add_argument("packages", type=Path, nargs="+")
    parser.add_argument("--submissions", type=int, default=40)
    parser.add_argument("--classic", type=int, default=4, metavar="TESTS", help="of one source")
    asked = parser.parse_args()
    for each in asked.packages:
        with tempfile.TemporaryDirectory() as place:
            how = (asked.submissions, asked.classic, Path(place))
            asyncio.run(measure(asked.url, asked.pid, each, *how))
