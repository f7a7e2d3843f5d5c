"""Package formats: from folders and zips to problems."""

from __future__ import annotations

from ioi_eval.problems.archive import ArchiveLimits
from ioi_eval.problems.collection import Problems, fingerprint
from ioi_eval.problems.package import Package
from ioi_eval.problems.source import check_problems, load_problems

__all__ = ["ArchiveLimits", "Package", "Problems", "check_problems", "fingerprint", "load_problems"]
