"""See scripts/bench/versions."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

from used import cpu_seconds, used_by_family

HERE = Path(__file__).resolve()
TESTS, JOBS, COMPLETIONS = 400, 40, 32
BARE = "bare"
MEASURES = {
    BARE: f"a bare loop over {TESTS} tests",
    "tests": f"{TESTS} tests of a program that is built already",
    "builds": "2 new programs in C++, built and judged",
    "rewards": f"rewards of {COMPLETIONS} new completions in Python",
    "rewards c++": "rewards of 2 new completions in C++",
    "forked": "120 tests in Python, forked",
    "started": "40 tests in Python, an interpreter for each",
    "piston": "Piston: another source, built and judged",
    "piston again": "Piston: the same source, judged 5 times again",
    "normal": "the submission of scripts/bench/hostile, 5 times",
    "hostile": f"{JOBS} hostile jobs",
    "normal after": "the submission again, after hostile jobs",
}
NUMPY_FREE = "import sys\nprint(sum(map(int, sys.stdin.read().split())))\n"
Measure = Callable[[], Awaitable[object]]


class Server:
    """A real Piston, which judges a package for both versions."""

    def __init__(self, url: str, pid: str, package: str) -> None:
        self.url, self.pid, self.package = url, int(pid), Path(package)


# --- What a version does: by names that are public in all of them -------------------------------------


async def measuring(workshop: Path, server: Server | None) -> None:
    """Do what standard input says with the version that is imported, and print the CPU time that it took."""
    async with AsyncExitStack() as held:
        measures: dict[str, Measure] = await held.enter_async_context(of_judging(workshop))
        measures |= of_rewards()
        measures |= await held.enter_async_context(of_python(workshop))
        if server:
            measures |= await held.enter_async_context(of_piston(workshop, server))
        attacks: list[str] = []
        try:
            attacks, attacking = await held.enter_async_context(of_attacks(workshop))
        except ImportError:
            print("no attacks", file=sys.stderr)  # the helpers of an earlier version have other names
        else:
            measures |= attacking
        print(json.dumps({"measures": list(measures), "attacks": attacks}), flush=True)
        CHOSEN[:] = sys.stdin.readline().split()
        for line in sys.stdin:
            before = _used(server)
            await measures[line.strip()]()
            print(_used(server) - before, flush=True)


def _used(server: Server | None) -> float:
    return cpu_seconds() + (used_by_family(server.pid) if server else 0)


@asynccontextmanager
async def of_judging(workshop: Path) -> AsyncIterator[dict[str, Measure]]:
    from judging import Bench
    from workload import BIG, problem

    from ioi_eval import EmbeddedEngine, Scorer, Store
    from ioi_eval.models import BuildOptions

    bench = Bench(workshop / "bench", 1, TESTS, BIG)
    bench.bare(checker=False)  # builds what is run by hand
    task, work = problem(bench.folder / "tests", TESTS, checker=False), bench.fresh(1)
    few = problem(bench.folder / "tests", 10, checker=False)

    def scorer(precompile: bool, name: str) -> Scorer:
        store = Store(workshop / name)
        return Scorer(
            EmbeddedEngine(store=store, slots=1),
            store=store,
            builds=BuildOptions(precompile=precompile),
        )

    async def bare() -> None:
        bench.bare(checker=False, compiling=False, cores=1, tests=TESTS)

    async with scorer(False, "plain") as plain, scorer(True, "ahead") as ahead:
        for _ in range(8):  # until the header is there
            await bench.ours(ahead, few, bench.fresh(2))
            await asyncio.sleep(1)
        yield {
            BARE: bare,
            "tests": lambda: bench.ours(plain, task, work),
            "builds": lambda: bench.ours(ahead, few, bench.fresh(2)),
        }


def of_rewards() -> dict[str, Measure]:
    from workload import alike

    from ioi_eval.integrations.trl import make_reward

    reward, salts = make_reward(), itertools.count(1_000)
    lines = [" ".join(str((test * 7 + at) % 1000) for at in range(50)) for test in range(10)]
    column = json.dumps({"inputs": lines, "outputs": [str(sum(map(int, line.split()))) for line in lines]})

    async def call(language: str, number: int) -> None:
        completions = alike(language, [next(salts) for _ in range(number)])
        rows = {"tests": [column] * number, "language": [language] * number}
        assert set(await asyncio.to_thread(reward, completions=completions, **rows)) == {1}

    return {"rewards": lambda: call("python", COMPLETIONS), "rewards c++": lambda: call("c++", 2)}


@asynccontextmanager
async def of_python(workshop: Path) -> AsyncIterator[dict[str, Measure]]:
    from python_tests import judged

    from ioi_eval import EmbeddedEngine, Scorer, Store

    store = Store(workshop / "python")

    def scorer(waiting: bool) -> Scorer:
        engine = EmbeddedEngine(store=store, slots=1, waiting=waiting, python="/usr/bin/python3")
        return Scorer(engine, store=store)

    async with scorer(True) as forking, scorer(False) as starting:
        yield {
            "forked": lambda: judged(forking, NUMPY_FREE, 120),
            "started": lambda: judged(starting, NUMPY_FREE, 40),
        }


@asynccontextmanager
async def of_piston(workshop: Path, server: Server) -> AsyncIterator[dict[str, Measure]]:
    from ioi_eval import Scorer, Store, discovery, load_problems
    from piston import Counted, solution, sources

    (task,) = load_problems(server.package, cache=workshop / "problems").values()
    salts = itertools.count(1_000)
    code, store = solution(task, server.package), Store(workshop / "piston")

    async with Scorer(Counted(discovery(server.url), per_endpoint=2), store=store) as scorer:
        (same,) = sources(code, task, 1)

        async def judge(source: object) -> None:
            result = await scorer.score(task, source)
            assert result.points == sum(each.points for each in task.subtasks), result

        async def another() -> None:
            await judge(sources(f"{code}\nvolatile int other_{next(salts)};\n", task, 1)[0])

        async def again() -> None:
            for _ in range(5):
                await judge(same)

        yield {"piston": another, "piston again": again}


CHOSEN: list[str] = []


@asynccontextmanager
async def of_attacks(workshop: Path) -> AsyncIterator[tuple[list[str], dict[str, Measure]]]:
    from ground import prepared  # type: ignore[import-not-found]
    from hostile import QUICK, hostile, normal  # type: ignore[import-not-found]

    from ioi_eval import EmbeddedEngine, JudgeOptions, Scorer, Store

    known = {attack.name: attack for attack in QUICK if attack.language != "java"}
    store, options = Store(workshop / "store"), JudgeOptions(all_tests=True)
    with prepared(workshop) as ground:
        async with Scorer(EmbeddedEngine(store=store, slots=1), store=store, options=options) as scorer:

            async def attack() -> None:
                attacks = [known[name] for name in CHOSEN]
                assert not await hostile(scorer, ground, len(attacks), attacks)

            yield (
                list(known),
                {
                    "normal": lambda: normal(scorer, 5),
                    "hostile": attack,
                    "normal after": lambda: normal(scorer, 5),
                },
            )


# --- Versions in turns --------------------------------------------------------------------------------


class Version:
    """One checkout, which measures in a process of its own."""

    def __init__(self, checkout: Path, process: subprocess.Popen[str]) -> None:
        self.checkout, self._process = checkout, process
        self.taken: dict[str, list[float]] = {name: [] for name in MEASURES}

    def say(self, line: str) -> None:
        assert self._process.stdin is not None
        print(line, file=self._process.stdin, flush=True)

    def hear(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"{self.checkout} cannot be measured"
        return line


@contextmanager
def started(checkout: Path, more: list[str]) -> Iterator[Version]:
    workshop = Path(tempfile.mkdtemp(prefix="ioi-eval-versions-", dir="/dev/shm"))
    workshop.chmod(0o711)
    (workshop / "bench").mkdir()
    # The work is ours for both, what does it is theirs; attacks come with what is attacked.
    rooms = [HERE.parent, *(checkout / room for room in ("tests", "tests/attacks", "tests/proctor"))]
    environment = os.environ | {"PYTHONPATH": ":".join(map(str, rooms)), "HOME": str(workshop)}
    options = ["-P", "-W", "ignore", str(HERE), "--measure", str(workshop), *more]
    command, pipe = [str(checkout / ".venv/bin/python"), *options], subprocess.PIPE
    try:
        with subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, env=environment, cwd=checkout
        ) as process:
            yield Version(checkout, process)
            assert process.stdin is not None
            process.stdin.close()
    finally:
        shutil.rmtree(workshop)


def compare(other: Path, rounds: int, leave_out: list[str], more: list[str]) -> None:
    with ExitStack() as held:
        versions = [held.enter_context(started(checkout, more)) for checkout in (other, HERE.parents[2])]
        theirs, ours = (json.loads(version.hear()) for version in versions)
        common = [name for name in theirs["attacks"] if name in ours["attacks"]]
        for version in versions:
            version.say(" ".join(common[:: max(1, len(common) // JOBS)][:JOBS]))
        known = set(theirs["measures"]) & set(ours["measures"])
        measured = [name for name in MEASURES if name in known and name not in leave_out]
        for turn in range(rounds + 1):
            for name in measured:
                for version in versions if turn % 2 else versions[::-1]:
                    if name == BARE and version is versions[0]:
                        continue  # the same program: once is enough
                    version.say(name)
                    seconds = float(version.hear())
                    if turn:  # the first builds
                        version.taken[name].append(seconds)
            if turn and turn in {rounds // 2, rounds}:
                _print(*versions, measured=measured[1:], rounds=turn)


def _print(then: Version, now: Version, *, measured: list[str], rounds: int) -> None:
    print(f"{then.checkout} and {now.checkout}, {rounds} rounds, seconds of CPU time")
    print("  medians of both, the median of the pairs' ratios, and where that lies 19 times of 20")
    bare = statistics.median(now.taken[BARE])
    print(f"  {MEASURES[BARE]:<48}         {bare:7.3f}")
    for name in measured:
        ratios = sorted(b / a for a, b in zip(then.taken[name], now.taken[name], strict=True))
        medians = (statistics.median(version.taken[name]) for version in (then, now))
        low, high = median_between(len(ratios))
        print(
            f"  {MEASURES[name]:<48}",
            *(f"{median:7.3f}" for median in medians),
            f" {statistics.median(ratios):.3f} ({ratios[low]:.3f} to {ratios[high]:.3f})",
        )
    added = [1000 * (statistics.median(each.taken["tests"]) - bare) / TESTS for each in (then, now)]
    print(f"  added for a test, ms {'':<27} {added[0]:7.3f} {added[1]:7.3f}  {added[1] / added[0]:.3f}")


def median_between(number: int) -> tuple[int, int]:
    """Return the places, in order, of the two values between which the true median lies 19 times of 20."""
    wins = statistics.NormalDist(number / 2, (number / 4) ** 0.5)
    low = max(0, int(wins.inv_cdf(0.025)))
    return low, number - 1 - low


def main() -> None:
    parser = argparse.ArgumentParser(description="CPU time here beside another checkout")
    parser.add_argument("checkout", type=Path, nargs="?")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument(
        "--piston", nargs=3, metavar=("URL", "PID", "PACKAGE"), help="a server that both judge a package on"
    )
    parser.add_argument(
        "--leave-out", nargs="+", default=[], choices=list(MEASURES)[2:], metavar="MEASURE",
        help=f"of {', '.join(list(MEASURES)[2:])}",
    )  # fmt: skip
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        asyncio.run(measuring(given.measure, Server(*given.piston) if given.piston else None))
    elif given.checkout:
        more = ["--piston", *given.piston] if given.piston else []
        compare(given.checkout.resolve(), given.rounds, given.leave_out, more)
    else:
        parser.error("which checkout?")


if __name__ == "__main__":
    main()
