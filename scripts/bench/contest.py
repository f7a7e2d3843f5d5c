"""CPU time of a contest's calls, with many sessions at once, and the memory that open sessions take.

Each session runs a program on inputs of its own and submits programs in Python, all of them distinct, for a
problem of ten tests. The same submissions are judged by a `Scorer` without a contest: the difference is what
the contest takes.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Awaitable, Iterable
from pathlib import Path

from used import cpu_seconds

from ioi_eval import EmbeddedEngine, Limits, Problem, Scorer, Store, Submission, Test, private_folder
from ioi_eval.models import Blob, Subtask
from ioi_eval.plugins.contest import Rules, open_contest
from ioi_eval.sources import Problems

_TESTS = 10
_MILLION = 1 << 20


def problem() -> Problem:
    lines = [" ".join(str((test * 7 + at) % 1000) for at in range(50)) for test in range(_TESTS)]
    tests = [
        Test(name=str(number), input=Blob.of(line), answer=Blob.of(str(sum(map(int, line.split())))))
        for number, line in enumerate(lines)
    ]
    return Problem(
        id="sums",
        limits=Limits.contest(10.0, 256 << 20),
        tests=tuple(tests),
        subtasks=(Subtask(name="all", points=100, tests=tuple(test.name for test in tests)),),
    )


def program(own: str) -> str:
    return f"own = {own!r}\nprint(sum(map(int, input().split())))"


async def spent(calls: Iterable[Awaitable[object]]) -> float:
    """Milliseconds of CPU for each call."""
    begun, every = cpu_seconds(), list(calls)
    await asyncio.gather(*every)
    return 1000 * (cpu_seconds() - begun) / len(every)


def resident() -> int:
    """Bytes of this process."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) << 10


async def measured(sessions: int, runs: int, submissions: int, opened: int) -> None:
    store, sums = Store(private_folder()), problem()
    async with Scorer(EmbeddedEngine(store=store), store=store) as scorer:
        with tempfile.TemporaryDirectory() as folder:
            rules = Rules(submissions=None, runs=None, waiting=1000)
            async with open_contest(Problems([sums]), rules, out=folder, engine=scorer) as contest:
                crew = [contest.session(f"p{number}") for number in range(sessions)]
                await crew[0].submit("sums", program("first"), "python")
                run = await spent(
                    one.run("sums", program(f"run {one.participant} {number}"), "python", input="1 2 3")
                    for number in range(runs)
                    for one in crew
                )
                submit = await spent(
                    one.submit("sums", program(f"submit {one.participant} {number}"), "python")
                    for number in range(submissions)
                    for one in crew
                )
                for number in range(opened):
                    contest.session(f"open{number}").standing()
                memory = resident()
        plain = await spent(
            scorer.score(
                sums, Submission(key=str(n), problem_id="sums", code=program(f"plain {n}"), language="python")
            )
            for n in range(sessions * submissions)
        )
    print(f"{sessions} sessions at once, {runs} runs and {submissions} submissions of {_TESTS} tests each")
    print(f"run:    {run:6.1f} ms of CPU")
    print(f"submit: {submit:6.1f} ms of CPU; without a contest {plain:.1f} ms, so {submit - plain:+.1f} ms")
    print(f"the process with {opened:,} more sessions open: {memory / _MILLION:.0f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=64)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--submissions", type=int, default=5)
    parser.add_argument("--open", type=int, default=1000)
    given = parser.parse_args()
    asyncio.run(measured(given.sessions, given.runs, given.submissions, given.open))


if __name__ == "__main__":
    main()
