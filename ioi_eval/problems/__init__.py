"""Packages of problems: from folders and zips to problems.

Here: what lies in a package on disk, one file for each format, and collections of problems. Not here:
datasets (`benchmarks`), what subtasks and groups are worth (`rules`), the judging of solutions (`judge`).
"""

from __future__ import annotations

from ioi_eval.problems.archive import ArchiveLimits
from ioi_eval.problems.collection import Problems, check_problems, fingerprint, load_problems
from ioi_eval.problems.package import Package

__all__ = ["ArchiveLimits", "Package", "Problems", "check_problems", "fingerprint", "load_problems"]
