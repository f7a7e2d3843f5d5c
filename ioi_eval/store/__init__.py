"""The disk: contents by hash, atomic files, locks, a run's rows, the package's own data.

No judging and no rules: those who know what a content means stand above.
"""

from __future__ import annotations

from ioi_eval.store.contents import Store, private_folder

__all__ = ["Store", "private_folder"]
