"""What the environment decides: where the cache is. Read here and nowhere below."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from ioi_eval.store import Store, private_folder

CACHE_VARIABLE = "IOI_EVAL_CACHE"
CACHE_LIMIT = 8 << 30  # bytes; precompiled headers alone are about 100 MB each


def open_store() -> Store:
    return Store(cache_folder(), CACHE_LIMIT)


def cache_folder() -> Path:
    """The folder that the user names, else the usual one; where HOME cannot be written, a private one."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).expanduser().absolute()
    usual = platformdirs.user_cache_path("ioi-eval")
    return usual if _writable(usual) else private_folder()


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.R_OK | os.W_OK | os.X_OK)
