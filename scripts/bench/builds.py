"""What a build costs besides compiling: CPU time by program, as perf samples it.

Distinct small programs are built by this machine's engine, and by g++ with the same options alone, in turns.
Headers that are made ahead are off: they would change what g++ does, not what is done beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from ioi_eval import EmbeddedEngine, Scorer, Store, Submission
from ioi_eval.models import Blob, BuildOptions, Problem, Test, Verdict

FLAGS = ("-DEVAL", "-std=gnu++20", "-O2", "-static", "-s")
ALONE, OURS, TEST = "g++ alone", "ours", "its test"
ROUNDS = 4
LINE = re.compile(r"^\s*[\d.]+%\s+(\d+)\s+(\S.*?)\s*$")


def source(number: int) -> str:
    return f'#include <cstdio>\nint main() {{ std::printf("%d\\n", {number} - {number} + 1); }}\n'


async def build(store: Store, first: int, builds: int) -> None:
    """Judge distinct programs on one test, which they pass."""
    problem = Problem(id="one", tests=(Test(name="1", input=Blob.of(""), answer=Blob.of("1\n")),))
    options = BuildOptions(precompile=False)
    async with Scorer(EmbeddedEngine(store=store, slots=1), store=store, builds=options) as scorer:
        for number in range(first, first + builds):
            own = Submission(key="k", problem_id="one", code=source(number), language="c++20")
            result = await scorer.score(problem, own)
            assert [test.status for test in result.tests] == [Verdict.AC], result


def compile_alone(folder: Path, first: int, builds: int) -> None:
    for number in range(first, first + builds):
        (folder / "submission.cpp").write_text(source(number))
        command = ["g++", *FLAGS, "-o", "submission", "submission.cpp"]
        subprocess.run(command, cwd=folder, check=True)
        subprocess.run(["./submission"], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def sampled(folder: Path, *words: str) -> Counter[str]:
    """Return the milliseconds of each program that took part in a call of this file."""
    data, call = folder / "perf.data", [sys.executable, __file__, "--part", *words]
    record = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "4000", "-o", data, "--", *call]
    subprocess.run(record, check=True, stdout=subprocess.DEVNULL)
    report = ["perf", "report", "-i", data, "--sort", "comm", "--show-nr-samples", "--stdio"]
    told = subprocess.run(report, check=True, capture_output=True, text=True).stdout
    found = Counter[str]()
    for line in told.splitlines():
        if match := LINE.match(line):
            found[match[2]] += int(match[1]) / 4
    return found


def measure(builds: int) -> None:
    found = {ALONE: Counter[str](), OURS: Counter[str](), TEST: Counter[str]()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asyncio.run(build(Store(folder / "store"), 0, 1))  # the proctor
        for number in range(ROUNDS):
            first = str(1_000 * (number + 1))
            for kind, counted in found.items():
                # What a call costs that builds once is no part of a build.
                more = sampled(folder, kind, str(folder), first, str(builds + 1))
                once = sampled(folder, kind, str(folder), str(500 + 1_000 * (number + 1)), "1")
                counted.update({key: more[key] - once[key] for key in {*more, *once}})
    builds *= ROUNDS
    programs = sorted(
        {name for counted in found.values() for name in counted}, key=lambda name: -found[OURS][name]
    )
    print(f"{'CPU of a build, ms':24}" + "".join(f"{kind:>12}" for kind in found) + f"{'added':>12}")
    for label, names in (*((name, {name}) for name in programs), ("all", {*programs})):
        parts = [sum(counted[name] for name in names) / builds for counted in found.values()]
        if max(parts) >= 0.1:
            alone, ours, test = parts
            print(f"{label:24}" + "".join(f"{part:12.2f}" for part in (*parts, ours - test - alone)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--builds", type=int, default=30)
    parser.add_argument("--part", nargs=4, metavar=("KIND", "FOLDER", "FIRST", "BUILDS"))
    given = parser.parse_args()
    if given.part is None:
        measure(given.builds)
        return
    kind, folder, first, builds = given.part
    if kind in (OURS, TEST):  # the programs of the one are built when the other comes
        asyncio.run(build(Store(Path(folder, "store")), int(first), int(builds)))
    else:
        compile_alone(Path(folder), int(first), int(builds))


if __name__ == "__main__":
    main()
