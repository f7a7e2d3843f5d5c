"""The disk: blobs and cached files by key, atomic files, locks, a run's rows, and the package's own data.

No judging and no rules: the packages that give contents a meaning are in higher layers.
"""

from __future__ import annotations

from ioi_eval.store.contents import Store, private_folder

__all__ = ["Store", "private_folder"]
