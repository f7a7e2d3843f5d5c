"""What the environment decides: where the cache is. Read here and nowhere below."""

from __future__ import annotations

import os
from pathlib import Path

from ioi_eval.store import Store, default_root

CACHE_VARIABLE = "IOI_EVAL_CACHE"
CACHE_LIMIT = 8 << 30  # bytes; precompiled headers alone are about 100 MB each


def open_store() -> Store:
    return Store(cache_folder(), CACHE_LIMIT)


def cache_folder() -> Path:
    return default_root(os.environ.get(CACHE_VARIABLE))
