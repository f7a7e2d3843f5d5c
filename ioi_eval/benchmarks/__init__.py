"""Benchmarks and dumps of generations: from datasets and files to problems and submissions, and runs back.

Here: datasets, a file for each kind, tables and rows and where they come from. Not here: packages on disk
(`problems`), what is repaired or taken out of a reply (`rules`), how long anything is judged (`runs`).
"""

from __future__ import annotations

from ioi_eval.benchmarks.benchmark import Benchmark, BenchmarkOptions
from ioi_eval.benchmarks.dump_reader import ASKED_FOR, DumpOptions, Finder, Selection
from ioi_eval.benchmarks.dumps import (
    DetectedColumns,
    Dump,
    DumpFile,
    DumpInfo,
    Dumps,
    LocatedSubmission,
    as_files,
    find_dumps,
    mentioned,
    open_beginning,
    open_dump,
)
from ioi_eval.benchmarks.loaded import (
    BENCHMARKS,
    LoadedProblems,
    benchmarks,
    find_benchmark,
    load,
    of_columns,
)
from ioi_eval.benchmarks.reference_scores import ReferenceScores, read_reference_scores
from ioi_eval.problems.collection import LeftOut

__all__ = [
    "ASKED_FOR",
    "BENCHMARKS",
    "Benchmark",
    "BenchmarkOptions",
    "DetectedColumns",
    "Dump",
    "DumpFile",
    "DumpInfo",
    "DumpOptions",
    "Dumps",
    "Finder",
    "LeftOut",
    "LoadedProblems",
    "LocatedSubmission",
    "ReferenceScores",
    "Selection",
    "as_files",
    "benchmarks",
    "find_benchmark",
    "find_dumps",
    "load",
    "mentioned",
    "of_columns",
    "open_beginning",
    "open_dump",
    "read_reference_scores",
]
