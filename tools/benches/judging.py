"""Benchmark of judging: ratios to a bare loop and to the classic job shape, measured in one run.

All values of a ratio are measured on the same cores, in turn, in several rounds. The median counts. CPU time
includes all processes and tests, and is per submission. On a busy machine, only CPU times can be compared.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from used import read_cpu_seconds
from workload import (
    ALL_HEADERS,
    SLOW_CHECKER,
    USUAL_HEADERS,
    make_include_lines,
    make_problem,
    make_source,
    make_submissions,
    write_tests,
)

from ioi_eval import EmbeddedEngine, Scorer, Store
from ioi_eval.classic import run_classic
from ioi_eval.models import BuildOptions, Problem, Submission

FLAGS = ["-DEVAL", "-std=gnu++20", "-O2", "-static", "-s"]
HERE = Path(__file__).parent
CORES = len(os.sched_getaffinity(0))


class JudgingBench:
    """A folder with the tests, and a store that caches everything except the submissions.

    The folder also contains the bare loop, a program that runs the tests without limits or confinement.
    """

    def __init__(self, folder: Path, submission_count: int, test_count: int, headers: Sequence[str]) -> None:
        self.folder, self.count, self.tests, self.headers = folder, submission_count, test_count, headers
        self.store = Store(folder / "store")
        self._next_index = 1_000
        write_tests(folder / "tests", max(test_count, 400))
        for name in ("submissions", "work"):
            (folder / name).mkdir()
        for index in range(submission_count):
            (folder / "submissions" / f"{index}.cpp").write_text(make_source(index, headers))
        subprocess.run(["g++", "-O2", "-o", str(folder / "bare"), str(HERE / "bare.cpp")], check=True)
        (folder / "checker.cpp").write_text(SLOW_CHECKER)

    def precompile(self) -> None:
        """Precompile the first includes of the sources with g++, for the bare loop with the header."""
        (self.folder / "all.hpp").write_text(make_include_lines(self.headers))
        subprocess.run(["g++", *FLAGS, "-x", "c++-header", "all.hpp"], cwd=self.folder, check=True)

    def measure_checker_build_s(self) -> float:
        start_time = time.perf_counter()
        subprocess.run(["g++", *FLAGS, "-o", "checker", "checker.cpp"], cwd=self.folder, check=True)
        return time.perf_counter() - start_time

    def measure_bare_loop_s(
        self,
        *,
        checker: bool,
        compiling: bool = True,
        cores: int = CORES,
        tests: int = 0,
        flags: Sequence[str] = (),
    ) -> float:
        """Return the seconds that the bare loop needs. All outputs must be right."""
        submission_count, tests = (self.count if compiling else 1), tests or self.tests
        command = ["./bare", str(cores), str(submission_count), str(tests), "./checker" if checker else "-"]
        process = subprocess.run(
            [*command, "compile" if compiling else "run", *FLAGS, *flags],
            cwd=self.folder, check=True, capture_output=True, text=True,
        )  # fmt: skip
        passed_tests, seconds = process.stdout.split()
        assert int(passed_tests) == submission_count * tests, "the bare loop does not agree"
        return float(seconds)

    def make_fresh_submissions(self, count: int) -> list[Submission]:
        """Return submissions that are in no store."""
        self._next_index += count
        return list(make_submissions(count, first_index=self._next_index, headers=self.headers))

    def make_scorer(
        self,
        *,
        precompile: bool,
        slots: int = CORES,
    ) -> Scorer:
        # Engine of the scorer that was opened last.
        self.engine = EmbeddedEngine(store=self.store, slots=slots)
        return Scorer(self.engine, store=self.store, builds=BuildOptions(precompile=precompile))

    async def measure_judge(
        self, scorer: Scorer, problem: Problem, submissions: Iterable[Submission]
    ) -> float:
        async def score_one(submission: Submission) -> None:
            async with slots:
                result = await scorer.score(problem, submission)
            assert result.points == 100, result

        slots = asyncio.Semaphore(2 * CORES)
        start_time = time.perf_counter()
        await asyncio.gather(*(score_one(submission) for submission in submissions))
        return time.perf_counter() - start_time

    async def measure_classic_s_per_test(self, problem: Problem, test_count: int) -> float:
        """Return the seconds per test in the classic job shape, with all cores busy."""
        submission = self.make_fresh_submissions(1)[0]
        start_time = time.perf_counter()
        for first_index in range(0, test_count, CORES):
            parallel_tests = problem.tests[first_index : first_index + CORES]
            results = await asyncio.gather(
                *(run_classic(self.engine, problem, test, submission) for test in parallel_tests)
            )
            assert all(result.score == 1 for result in results), results
        return (time.perf_counter() - start_time) / test_count


class Duration(NamedTuple):
    """Elapsed seconds, and CPU seconds of all processors."""

    clock: float
    cpu: float


async def measure_in_turn(rounds: int, *measures: Callable[[], Awaitable[float]]) -> list[Duration]:
    """Return the medians of several measures, taken in turn, so that a noisy minute affects all of them."""
    durations_by_measure: list[list[Duration]] = [[] for _ in measures]
    for _ in range(rounds):
        for durations, measure in zip(durations_by_measure, measures, strict=True):
            cpu_before_s = read_cpu_seconds()
            elapsed_s = await measure()
            durations.append(Duration(elapsed_s, read_cpu_seconds() - cpu_before_s))
    return [
        Duration(*map(statistics.median, zip(*durations, strict=True))) for durations in durations_by_measure
    ]


async def print_throughput(bench: JudgingBench, rounds: int) -> None:
    for has_checker in (False, True):
        comparison = "a checker" if has_checker else "white-diff"
        problem = make_problem(bench.folder / "tests", bench.tests, has_checker=has_checker)
        checker_seconds = bench.measure_checker_build_s() if has_checker else 0.0
        await cache_precompiled_header(bench, problem)  # builds the header, which then stays in the store
        async with (
            bench.make_scorer(precompile=False) as plain_scorer,
            bench.make_scorer(precompile=True) as precompiling_scorer,
        ):
            scorers = (plain_scorer, precompiling_scorer)
            for scorer in scorers:
                await scorer.prepare(problem)
                await bench.measure_judge(scorer, problem, bench.make_fresh_submissions(2))

            async def measure_bare_loop_s(flags: Sequence[str] = (), checker: bool = has_checker) -> float:
                return await asyncio.to_thread(bench.measure_bare_loop_s, checker=checker, flags=flags)

            results = await measure_in_turn(
                rounds,
                measure_bare_loop_s,
                partial(measure_bare_loop_s, ("-include", "all.hpp")),
                *(partial(measure_fresh_submissions, bench, scorer, problem) for scorer in scorers),
            )
            classic_seconds = await bench.measure_classic_s_per_test(problem, 2 * CORES)
        test_count = bench.count * bench.tests
        includes = f"{bench.headers[0]}" + (" and five common headers" if len(bench.headers) > 1 else "")
        print(f"\n{bench.count} submissions x {bench.tests} tests, {comparison}; programs include {includes}")
        if has_checker:
            print(f"  (compiling the checker once takes {checker_seconds:.1f} s, which is not counted)")
        row_names = (
            "bare loop",
            "bare loop, precompiled header",
            "ioi_eval, without the header",
            "ioi_eval, by default",
        )
        for name, result in zip(row_names, results, strict=True):
            cpu_text = f"{1000 * result.cpu / bench.count:7.0f} ms of CPU"
            print_throughput_row(name, test_count / result.clock, results[0].clock / result.clock, cpu_text)
        print_throughput_row(
            "classic shape", 1 / classic_seconds, results[0].clock / test_count / classic_seconds
        )
        print(
            "  Speed of ioi_eval, compared to classic jobs:"
            f" {classic_seconds * test_count / results[2].clock:.0f} times without the header, "
            f"{classic_seconds * test_count / results[3].clock:.0f} by default"
        )


async def measure_fresh_submissions(bench: JudgingBench, scorer: Scorer, problem: Problem) -> float:
    return await bench.measure_judge(scorer, problem, bench.make_fresh_submissions(bench.count))


async def cache_precompiled_header(bench: JudgingBench, problem: Problem) -> None:
    """Build until the header is cached, before anything is measured."""
    async with bench.make_scorer(precompile=True) as scorer:
        for _ in range(60):
            if any(path.stat().st_size > 20 << 20 for path in bench.store.root.rglob("artifact")):
                return
            await bench.measure_judge(scorer, problem, bench.make_fresh_submissions(2))
            await asyncio.sleep(0.5)


def print_throughput_row(name: str, rate: float, ratio: float, suffix: str = "") -> None:
    print(f"  {name:<30} {rate:>7.1f} tests/s {ratio:>6.2f} of the bare loop {suffix}".rstrip())


async def print_added_cost(bench: JudgingBench, rounds: int) -> None:
    """Print the time that the judge adds to a test: one program on one core with hundreds of tests."""
    tests = 400
    problem = make_problem(bench.folder / "tests", tests, has_checker=False)
    submissions = bench.make_fresh_submissions(1)
    async with bench.make_scorer(precompile=False, slots=1) as scorer:
        await bench.measure_judge(scorer, problem, submissions)

        async def measure_bare_loop_s() -> float:
            return await asyncio.to_thread(
                bench.measure_bare_loop_s, checker=False, compiling=False, cores=1, tests=tests
            )

        (bare_s, _), (judge_s, _) = await measure_in_turn(
            rounds, measure_bare_loop_s, lambda: bench.measure_judge(scorer, problem, submissions)
        )
    print(f"\nTime per test of a program that is already built, on one core ({tests} tests)")
    print(f"  bare loop {bare_s / tests * 1000:.2f} ms, ioi_eval {judge_s / tests * 1000:.2f} ms:"
          f" {(judge_s - bare_s) / tests * 1000:.2f} ms added")  # fmt: skip


def print_client_memory(folder: Path) -> None:
    """Print the peak memory of the client over a gigabyte of tests, in a separate process."""
    process = subprocess.run(
        [sys.executable, __file__, "--only-memory", str(folder)], check=True, capture_output=True, text=True
    )
    print(f"\n{process.stdout.strip()}")


async def measure_memory(folder: Path) -> None:
    tests, input_bytes = 20, 50 << 20
    (folder / "tests").mkdir(parents=True)
    for index in range(tests):
        block = (f"{index} " * 100 + "\n").encode()
        with (folder / "tests" / f"{index}.in").open("wb") as stream:
            stream.writelines(block for _ in range(input_bytes // len(block)))
        (folder / "tests" / f"{index}.out").write_text(f"{index}\n")
    echo_program = '#include <cstdio>\nint main(){int x; return scanf("%d",&x)==1 ? !printf("%d\\n",x) : 1;}'
    problem = make_problem(folder / "tests", tests, has_checker=False)
    store = Store(folder / "store")
    async with Scorer(EmbeddedEngine(store=store), store=store) as scorer:
        submission = Submission(key="1", problem_id=problem.id, code=echo_program, language="c++")
        result = await scorer.score(problem, submission)
    assert result.points == 100, result
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    total_gib = sum(test.input.size for test in problem.tests) / 2**30
    print(f"Peak memory of the client with {total_gib:.2f} GiB of tests: {peak_mib:.0f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--submissions", type=int, default=50)
    parser.add_argument("--tests", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--usual",
        action="store_true",
        help="let submissions include six common headers instead of bits/stdc++.h",
    )
    parser.add_argument("--only-memory", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only_memory:
        asyncio.run(measure_memory(arguments.only_memory))
        return
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR"), prefix="ioi-eval-bench-") as folder:
        bench = JudgingBench(
            Path(folder),
            arguments.submissions,
            arguments.tests,
            USUAL_HEADERS if arguments.usual else ALL_HEADERS,
        )
        bench.precompile()
        print(f"{CORES} cores; {subprocess.check_output(['g++', '--version'], text=True).splitlines()[0]}")
        asyncio.run(print_throughput(bench, arguments.rounds))
        asyncio.run(print_added_cost(bench, arguments.rounds))
        print_client_memory(Path(folder) / "memory")


if __name__ == "__main__":
    main()
