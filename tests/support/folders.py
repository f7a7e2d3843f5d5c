"""Folders of the package's data, and a default cache for test processes."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from ioi_eval.store.resources import examples_folder, graders_folder

__all__ = ["default_cache_variables", "examples_folder", "graders_folder"]


def default_cache_variables(cache: Path) -> dict[str, str]:
    """Return the environment variables that make this cache the default of a process.

    By default commands and rewards use the user's cache folder, and other calls a private folder next to
    temporary files.
    """
    cache_home = cache.parent / f"usual-of-{cache.name}"
    cache_home.mkdir(exist_ok=True)
    with suppress(FileExistsError):
        (cache_home / "ioi-eval").symlink_to(cache)
    return {"XDG_CACHE_HOME": str(cache_home), "TMPDIR": str(cache.parent)}
