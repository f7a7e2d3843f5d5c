"""Benchmark of Python: CPU time per test of a plain loop, of started interpreters, and of a fork server.

All three run the same programs on the same inputs, in several rounds. The minimum counts, because other work
of a machine only adds time. CPU time includes all processes, also the judge's, but not the build
(Python's syntax check).

With --submissions, it measures a run of that many different programs with ten tests each: CPU time of this
process, of all further processes, and of a loop that only starts the programs.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import msgspec
from used import read_cpu_seconds

from ioi_eval import EmbeddedEngine, Results, Scorer, Store, score_dump
from ioi_eval.models import Blob, Limits, Problem, Submission, Test
from ioi_eval.runs import RunFinished, RunStarted
from ioi_eval.sources import Problems

BODY = "print(sum(map(int, sys.stdin.read().split())))\n"
PROGRAMS = {
    "no imports but sys": f"import sys\n{BODY}",
    "usual imports": "import sys, math, heapq, bisect, random, itertools, functools\n"
    f"from collections import defaultdict, deque, Counter\n{BODY}",
    "numpy": f"import sys\nimport numpy as np\n{BODY}",
}
LIMITS = Limits(cpu_time=10.0, wall_time=120.0, memory=512 << 20)


def make_problem(test_count: int) -> Problem:
    test_cases = (
        Test(name=f"{number}", input=Blob.of(f"{number} 1\n"), answer=Blob.of(f"{number + 1}\n"))
        for number in range(test_count)
    )
    return Problem(id="sum", limits=LIMITS, tests=tuple(test_cases))


def measure_plain_loop_ms(folder: Path, python: str, code: str, test_count: int) -> float:
    """Return the milliseconds per test of `python3 program.py`, without limits and comparison."""
    program = folder / "program.py"
    program.write_text(code)
    cpu_before = read_cpu_seconds()
    for number in range(test_count):
        input_file = f"{number} 1\n".encode()
        process = subprocess.run([python, program], input=input_file, stdout=subprocess.PIPE, check=True)
        assert int(process.stdout) == number + 1
    return (read_cpu_seconds() - cpu_before) / test_count * 1000


class TestTime(NamedTuple):
    """The CPU times of judging a test with a Python program."""

    total_ms: float  # of the judge and the program
    program_ms: float
    way: str  # `forked` or `started`, and the reason


async def measure_judge(scorer: Scorer, code: str, test_count: int) -> TestTime:
    """Judge a program on some tests, and return the mean times per test."""
    submission = Submission(key="bench", problem_id="sum", code=code, language="python")
    cpu_before = read_cpu_seconds()
    result = await scorer.score(make_problem(test_count), submission)
    spent_s = read_cpu_seconds() - cpu_before
    assert all(test.score == 1 for test in result.tests), result.tests[0]
    program_s = sum(test.cpu_time or 0.0 for test in result.tests)
    return TestTime(
        total_ms=spent_s / test_count * 1000,
        program_ms=program_s / test_count * 1000,
        way=str(result.confinement.get("interpreter", "started")),
    )


def can_import(python: str, code: str) -> bool:
    return subprocess.run([python, "-c", code], input=b"1", capture_output=True).returncode == 0


async def measure_program(folder: Path, python: str, rounds: int, test_count: int) -> None:
    store = Store(folder / "store")
    print(
        f"CPU time per test in ms, {test_count} tests, minimum of {rounds} rounds; in brackets: program alone"
    )
    for name, code in PROGRAMS.items():
        if not await asyncio.to_thread(can_import, python, code):
            print(f"{name}: the imported packages are not installed for {python}")
            continue
        loop_times_ms, judge_times = [], dict[bool, list[TestTime]]({False: [], True: []})
        for waiting in (False, True):
            engine = EmbeddedEngine(store=store, slots=1, waiting=waiting, python=python)
            async with Scorer(engine, store=store) as scorer:
                await measure_judge(scorer, code, 1)  # fills the caches of builds before the measurement
                for _ in range(rounds):
                    loop_times_ms.append(
                        await asyncio.to_thread(measure_plain_loop_ms, folder, python, code, test_count)
                    )
                    judge_times[waiting].append(await measure_judge(scorer, code, test_count))
        print_times_of_program(name, min(loop_times_ms), min(judge_times[False]), min(judge_times[True]))


def print_times_of_program(name: str, plain_loop_ms: float, started: TestTime, forked: TestTime) -> None:
    way_texts = (
        f"{way} {total_ms:.1f} ({program_ms:.1f})" for total_ms, program_ms, way in (started, forked)
    )
    print(
        f"{name}: plain loop {plain_loop_ms:.1f}, {', '.join(way_texts)};"
        f" forked is {plain_loop_ms / forked.total_ms:.1f} times as fast as the plain loop"
    )


# --- a run ---------------------------------------------------------------------------------------------


_TESTS = 10  # number of tests for each submission of a run
_WARM_UP = 20  # number of submissions that the run judges before the measured part


async def measure_run(folder: Path, python: str, submissions: int) -> None:
    """Print the CPU time per submission of a run, without the start of the engine and the report."""
    store, code = Store(folder / "store"), PROGRAMS["usual imports"]
    problems = Problems([store_tests(make_problem(_TESTS), folder)])
    # CPU seconds of this process and of all processes, by the type of the event at which they were read.
    cpu_by_event = dict[type, tuple[float, float]]()

    async with Scorer(EmbeddedEngine(store=store, python=python), store=store) as scorer:
        for number, count in enumerate((_WARM_UP, submissions)):
            rows = [
                {
                    "id": f"{index}",
                    "problem_id": "sum",
                    "code": f"{code}# {number} {index}\n",
                    "language": "python",
                }
                for index in range(count)
            ]
            dump_score = await score_dump(
                rows,
                problems,
                out=folder / f"run-{number}",
                engine=scorer,
                store=store,
                on_event=lambda event: cpu_by_event.update(
                    {type(event): (read_own_cpu_seconds(), read_cpu_seconds())}
                ),
            )
            assert dump_score.call.verdicts == {"AC": count}, dump_score.call
    own_cpu_s, total_cpu_s = (
        end_s - start_s
        for start_s, end_s in zip(cpu_by_event[RunStarted], cpu_by_event[RunFinished], strict=True)
    )
    tests_s = sum(test.cpu_time or 0.0 for result in Results.open(folder / "run-1") for test in result.tests)
    loop_ms = await asyncio.to_thread(measure_plain_loop_ms, folder, python, code, _TESTS)
    seconds_by_part = {
        "this process": own_cpu_s,
        "other processes, except tests": total_cpu_s - own_cpu_s - tests_s,
        "tests": tests_s,
    }
    part_texts = [f"{name} {1000 * seconds / submissions:.2f}" for name, seconds in seconds_by_part.items()]
    print(
        f"CPU time per submission with {_TESTS} tests, in ms, mean of"
        f" {submissions} submissions: {', '.join(part_texts)}"
    )
    print(f"CPU time of a plain loop over the same tests: {loop_ms * _TESTS:.1f} ms")


def store_tests(problem: Problem, folder: Path) -> Problem:
    """Return the problem with its tests in files, as problems of packages have them."""

    def store(blob: Blob) -> Blob:
        path = folder / blob.sha256
        path.write_bytes(blob.read())
        return Blob.of_file(path)

    stored_tests = (
        msgspec.structs.replace(test, input=store(test.input), answer=store(test.answer or Blob.of("")))
        for test in problem.tests
    )
    return msgspec.structs.replace(problem, tests=tuple(stored_tests))


def read_own_cpu_seconds() -> float:
    """Return the CPU time of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--python", default="/usr/bin/python3", help="path of the Python interpreter to measure"
    )
    parser.add_argument("--tests", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--submissions", type=int, help="measure a run with N submissions")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ioi-eval-bench-") as folder:
        if options.submissions:
            asyncio.run(measure_run(Path(folder), options.python, options.submissions))
        else:
            asyncio.run(measure_program(Path(folder), options.python, options.rounds, options.tests))


if __name__ == "__main__":
    main()
