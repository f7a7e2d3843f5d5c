"""Internal names that tests of problems and dumps import."""

from __future__ import annotations

from ioi_eval.benchmarks import Selection, find_benchmark, open_dump
from ioi_eval.benchmarks.benchmark import BenchmarkOptions, ProblemCandidate
from ioi_eval.benchmarks.loaded import LoadedProblems, detect_benchmark, load
from ioi_eval.problems import Package, Problems, check_problems
from ioi_eval.problems.collection import LeftOut
from ioi_eval.rules.extraction import CodeRepairs, extract
from ioi_eval.rules.json_tests import CasesError, format_result

__all__ = [
    "BenchmarkOptions",
    "CasesError",
    "CodeRepairs",
    "LeftOut",
    "LoadedProblems",
    "Package",
    "ProblemCandidate",
    "Problems",
    "Selection",
    "check_problems",
    "detect_benchmark",
    "extract",
    "find_benchmark",
    "format_result",
    "load",
    "open_dump",
]
