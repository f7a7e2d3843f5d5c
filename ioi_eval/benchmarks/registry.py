"""The benchmarks that there are: an entry each.

A new benchmark is one file with a `Benchmark`, and one entry: in the table here, or in the entry point group
`ioi_eval.benchmarks` of any installed package. docs/extending.md shows one.
"""

from __future__ import annotations

from collections.abc import Collection

from ioi_eval.benchmarks.apps import Apps
from ioi_eval.benchmarks.benchmark import Benchmark
from ioi_eval.benchmarks.code_contests import CodeContests
from ioi_eval.benchmarks.codeforces import Codeforces
from ioi_eval.benchmarks.ioi import Ioi
from ioi_eval.benchmarks.livecodebench import LiveCodeBench
from ioi_eval.model.errors import InputError
from ioi_eval.problems.fields import nearest
from ioi_eval.store.resources import installed

GROUP = "ioi_eval.benchmarks"
BENCHMARKS: tuple[Benchmark, ...] = (Ioi(), Codeforces(), Apps(), LiveCodeBench(), CodeContests())


def benchmarks() -> tuple[Benchmark, ...]:
    """Those that come with the package, and those that others install: a class each."""
    return (*BENCHMARKS, *(each() for each in installed(GROUP).values()))


def find_benchmark(name: str) -> Benchmark:
    """By its name; hyphens and capitals do not matter."""
    plain = name.strip().lower().replace("-", "_")
    for benchmark in benchmarks():
        if benchmark.name == plain:
            return benchmark
    known = tuple(benchmark.name for benchmark in benchmarks())
    raise InputError(f"unknown benchmark {name!r}", remedy=nearest(plain, known))


def of_columns(names: Collection[str], *, where: str) -> Benchmark:
    """The benchmark that a file of rows belongs to: that whose columns are all there."""
    found = [benchmark for benchmark in benchmarks() if set(benchmark.columns) <= set(names)]
    if len(found) != 1:
        fitting = f" of {' and '.join(one.name for one in found)}" if found else ""
        raise InputError(
            f"rows that may be{fitting}" if found else "rows of no benchmark that is known",
            where=where,
            remedy="Name the benchmark with --problems, and the file with --dataset",
        )
    return found[0]
