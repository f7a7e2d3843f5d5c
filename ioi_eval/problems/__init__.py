"""Read problem packages from folders and zips.

This package has a module for each package format, and collections of problems. Datasets are in `benchmarks`,
the scoring of subtasks and groups is in `rules`, and solutions are judged in `judge`.
"""

from __future__ import annotations

from ioi_eval.problems.archive import ArchiveLimits
from ioi_eval.problems.collection import Problems, check_problems, compute_problem_hashes, load_problems
from ioi_eval.problems.package import Package

__all__ = [
    "ArchiveLimits",
    "Package",
    "Problems",
    "check_problems",
    "compute_problem_hashes",
    "load_problems",
]
