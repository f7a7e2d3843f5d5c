"""See scripts/bench/versions."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

HERE = Path(__file__).resolve()
TESTS, JOBS = 400, 40
BARE = "bare"
MEASURES = {
    BARE: f"a bare loop over {TESTS} tests",
    "tests": f"{TESTS} tests of a program that is built already",
    "normal": "the submission of scripts/bench/hostile, 5 times",
    "hostile": f"{JOBS} hostile jobs",
    "normal after": "the submission again, after hostile jobs",
}


async def measuring(workshop: Path) -> None:
    """Whatever version is imported: does what standard input says, and says how much CPU time that took."""
    from ground import prepared  # type: ignore[import-not-found]
    from hostile import QUICK, hostile, normal  # type: ignore[import-not-found]
    from judging import Bench
    from workload import BIG, problem

    from ioi_eval import EmbeddedEngine, JudgeOptions, Scorer, Store

    known = {attack.name: attack for attack in QUICK if attack.language != "java"}
    print(*known, flush=True)
    attacks = [known[name] for name in sys.stdin.readline().split()]
    bench = Bench(workshop / "bench", 1, TESTS, BIG)
    bench.bare(checker=False)  # builds what is run by hand
    task, work = problem(bench.folder / "tests", TESTS, checker=False), bench.fresh(1)
    store, options = Store(workshop / "store"), JudgeOptions(all_tests=True)
    with prepared(workshop) as ground:
        async with (
            bench.scorer(precompile=None, slots=1) as plain,
            Scorer(EmbeddedEngine(store=store, slots=1), store=store, options=options) as scorer,
        ):
            for line in sys.stdin:
                before = os.times()
                match line.strip():
                    case "bare":
                        bench.bare(checker=False, compiling=False, cores=1, tests=TESTS)
                    case "tests":
                        await bench.ours(plain, task, work)
                    case "hostile":
                        assert not await hostile(scorer, ground, len(attacks), attacks)
                    case _:
                        await normal(scorer, 5)
                # Ours, and of all that has been waited for.
                print(sum(os.times()[:4]) - sum(before[:4]), flush=True)


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

    def median(self, name: str) -> float:
        return statistics.median(self.taken[name])


@contextmanager
def started(checkout: Path) -> Iterator[Version]:
    rooms = ("tests", "tests/attacks", "tests/proctor", "scripts/bench")
    workshop = Path(tempfile.mkdtemp(prefix="ioi-eval-versions-", dir="/dev/shm"))
    workshop.chmod(0o711)
    (workshop / "bench").mkdir()
    environment = os.environ | {"PYTHONPATH": ":".join(str(checkout / room) for room in rooms)}
    command = [
        str(checkout / ".venv/bin/python"),
        "-P",
        "-W",
        "ignore",
        str(HERE),
        "--measure",
        str(workshop),
    ]
    pipe = subprocess.PIPE
    try:
        with subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, env=environment, cwd=checkout
        ) as process:
            yield Version(checkout, process)
            assert process.stdin is not None
            process.stdin.close()
    finally:
        shutil.rmtree(workshop)


def compare(other: Path, rounds: int) -> None:
    with ExitStack() as held:
        versions = [held.enter_context(started(checkout)) for checkout in (other, HERE.parents[2])]
        theirs, ours = (version.hear().split() for version in versions)
        common = [name for name in theirs if name in ours]
        for version in versions:
            version.say(" ".join(common[:: max(1, len(common) // JOBS)][:JOBS]))
        for turn in range(rounds + 1):
            for name in MEASURES:
                for version in versions if turn % 2 else versions[::-1]:
                    if name == BARE and version is versions[0]:
                        continue  # the same program: once is enough
                    version.say(name)
                    seconds = float(version.hear())
                    if turn:  # the first builds
                        version.taken[name].append(seconds)
        _print(*versions, rounds=rounds)


def _print(then: Version, now: Version, *, rounds: int) -> None:
    print(f"{then.checkout} and {now.checkout}, medians of {rounds} rounds, seconds of CPU time")
    bare = now.median(BARE)
    print(f"  {MEASURES[BARE]:<50}         {bare:7.3f}")
    for name, title in MEASURES.items():
        if name == BARE:
            continue
        ratios = [b / a for a, b in zip(then.taken[name], now.taken[name], strict=True)]
        low, *_, high = statistics.quantiles(ratios, n=10)
        medians = f"{then.median(name):7.3f} {now.median(name):7.3f}  {statistics.median(ratios):.3f}"
        print(f"  {title:<50} {medians} (of ten rounds eight: {low:.3f} to {high:.3f})")
    added = [1000 * (each.median("tests") - bare) / TESTS for each in (then, now)]
    print(f"  added for a test, ms {'':<29} {added[0]:7.3f} {added[1]:7.3f}  {added[1] / added[0]:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description="CPU time here beside another checkout")
    parser.add_argument("checkout", type=Path, nargs="?")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        asyncio.run(measuring(given.measure))
    elif given.checkout:
        compare(given.checkout.resolve(), given.rounds)
    else:
        parser.error("which checkout?")


if __name__ == "__main__":
    main()
