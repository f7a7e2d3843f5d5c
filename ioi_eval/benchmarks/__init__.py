"""Benchmarks and dumps of generations: from datasets and files to problems and submissions, and runs back.

The package reads datasets (a module for each kind), tables, rows and dumps. `problems` reads packages on
disk, `rules` extracts and repairs programs in replies, and `runs` judges submissions.
"""

from __future__ import annotations

from ioi_eval.benchmarks.benchmark import Benchmark, BenchmarkOptions
from ioi_eval.benchmarks.dump_reader import ASKED_FOR, DumpOptions, ProblemLookup, Selection
from ioi_eval.benchmarks.dumps import (
    DetectedColumns,
    Dump,
    DumpFile,
    DumpInfo,
    Dumps,
    LocatedSubmission,
    find_dumps,
    list_named_problem_ids,
    open_dump,
    open_dump_of_first_rows,
    open_dump_paths,
)
from ioi_eval.benchmarks.loaded import (
    BENCHMARKS,
    LoadedProblems,
    benchmarks,
    detect_benchmark,
    find_benchmark,
    load,
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
    "LeftOut",
    "LoadedProblems",
    "LocatedSubmission",
    "ProblemLookup",
    "ReferenceScores",
    "Selection",
    "benchmarks",
    "detect_benchmark",
    "find_benchmark",
    "find_dumps",
    "list_named_problem_ids",
    "load",
    "open_dump",
    "open_dump_of_first_rows",
    "open_dump_paths",
    "read_reference_scores",
]
