"""Errors for paths that do not exist, with a similar path that does."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import find_similar_names

_MAX_ENTRIES = 1000  # number of a folder's entries that are compared with a missing name


def missing_path_error(path: str | Path, remedy: str) -> InputError:
    """Return the error for a missing file or folder. It suggests a similar path if there is one."""
    similar_path = find_similar_path(Path(path))
    suggestion = "" if similar_path is None else f"Did you mean {str(similar_path)!r}? "
    return InputError("no such file or folder", where=str(path), remedy=suggestion + remedy)


def find_similar_path(path: Path) -> Path | None:
    """Return an existing path whose every part equals or resembles the part of a missing path, if any."""
    if path == path.parent:  # the root, or the current folder
        return path
    parent = path.parent if path.parent.is_dir() else find_similar_path(path.parent)
    if parent is None:
        return None
    if (parent / path.name).exists():
        return parent / path.name
    # Equal suffixes would make different names similar. A name with the same suffix wins over its equals.
    names = sorted(_list_names(parent), key=lambda name: Path(name).suffix == path.suffix)
    names_by_stem = {Path(name).stem: name for name in names}
    similar_stems = find_similar_names(path.stem, names_by_stem)
    return parent / names_by_stem[similar_stems[0]] if similar_stems else None


def _list_names(folder: Path) -> list[str]:
    """Return the names of a folder's first entries, without hidden entries; nothing if it is unreadable."""
    try:
        return [entry.name for entry in islice(folder.iterdir(), _MAX_ENTRIES) if entry.name[0] != "."]
    except OSError:
        return []
