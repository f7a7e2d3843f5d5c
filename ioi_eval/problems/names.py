"""Check the names and paths that packages contain."""

from __future__ import annotations

import re
from pathlib import PurePosixPath


def is_portable_file_name(name: str) -> bool:
    """Return True if the name can be a file name on any system. Ids must be such names."""
    return re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name) is not None


def stays_in_folder(name: str) -> bool:
    """Return True if the path is relative and does not leave its folder."""
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts
