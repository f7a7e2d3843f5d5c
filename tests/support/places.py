"""Folders that the package brings along, and the one that it uses when nobody names another."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from ioi_eval.store.resources import examples_folder, graders_folder

__all__ = ["examples_folder", "graders_folder", "with_usual_cache"]


def with_usual_cache(cache: Path) -> dict[str, str]:
    """Return the variables of a process that uses this cache when nobody names one.

    Commands and rewards take one in the user's folder of caches, other calls a private one beside temporary
    files.
    """
    place = cache.parent / f"usual-of-{cache.name}"
    place.mkdir(exist_ok=True)
    with suppress(FileExistsError):
        (place / "ioi-eval").symlink_to(cache)
    return {"XDG_CACHE_HOME": str(place), "TMPDIR": str(cache.parent)}
