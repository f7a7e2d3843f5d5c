"""The cache that the environment names."""

from __future__ import annotations

import os

from ioi_eval import Store


def own_store(limit: int | None = None) -> Store:
    return Store.usual(os.environ.get("IOI_EVAL_CACHE"), limit)
