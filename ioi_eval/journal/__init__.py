"""A run's folder: what was scored, what could not be judged, and what the run was made of.

It is only ever appended to or replaced as a whole, so a process that is killed at any moment leaves a
folder that the next one continues from.
"""

from ioi_eval.journal.fingerprint import Fingerprint, changes
from ioi_eval.journal.journal import Journal
from ioi_eval.journal.reading import RunInfo, check_folder, read_failures, read_info, read_rows

__all__ = [
    "Fingerprint",
    "Journal",
    "RunInfo",
    "changes",
    "check_folder",
    "read_failures",
    "read_info",
    "read_rows",
]
