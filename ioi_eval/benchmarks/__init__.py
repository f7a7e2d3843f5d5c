"""Benchmarks and dumps of generations: from datasets and files to problems and submissions, and runs back.

Here: a file for each dataset, tables and rows and where they come from. Not here: packages on disk
(`problems`), what is repaired or taken out of a reply (`rules`), how long anything is judged (`runs`).
"""

from __future__ import annotations

from ioi_eval.benchmarks.benchmark import Benchmark, BenchmarkOptions
from ioi_eval.benchmarks.dump_reader import ASKED_FOR, DumpOptions, Finder, Selection
from ioi_eval.benchmarks.dumps import (
    Dump,
    DumpFile,
    DumpInfo,
    Located,
    check_dump,
    find_dumps,
    mentioned,
    open_dump,
    read_dump,
)
from ioi_eval.benchmarks.loaded import LeftOut, Loaded, load
from ioi_eval.benchmarks.official import Official, read_official
from ioi_eval.benchmarks.registry import BENCHMARKS, benchmarks, find_benchmark, of_columns

__all__ = [
    "ASKED_FOR",
    "BENCHMARKS",
    "Benchmark",
    "BenchmarkOptions",
    "Dump",
    "DumpFile",
    "DumpInfo",
    "DumpOptions",
    "Finder",
    "LeftOut",
    "Loaded",
    "Located",
    "Official",
    "Selection",
    "benchmarks",
    "check_dump",
    "find_benchmark",
    "find_dumps",
    "load",
    "mentioned",
    "of_columns",
    "open_dump",
    "read_dump",
    "read_official",
]
