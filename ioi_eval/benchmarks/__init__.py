"""Benchmarks and dumps of generations: from datasets and files to problems and submissions."""

from __future__ import annotations

from ioi_eval.benchmarks.base import Benchmark, BenchmarkOptions
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
from ioi_eval.benchmarks.loading import LeftOut, Loaded, load
from ioi_eval.benchmarks.official import Official, read_official
from ioi_eval.benchmarks.reading import ASKED_FOR, DumpOptions, Finder, Selection
from ioi_eval.benchmarks.registry import BENCHMARKS, find_benchmark, of_columns

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
