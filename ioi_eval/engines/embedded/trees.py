"""Removing folders in which hostile programs did what they liked: closed modes, any depth."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import count
from pathlib import Path

# Such a descriptor only names the folder, which closed modes cannot refuse us.
_BY_PATH = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ALL_OF_THE_OWNER = 0o700


def remove_tree(path: Path) -> None:
    """Removes a folder and all in it; a folder that is gone is fine. Raises OSError when something stays.

    Every folder below is emptied of its files, its own folders are moved up beside it, and then it is
    removed. So nothing recurses, no path grows, and three descriptors do for any depth.
    """
    try:
        handle = os.open(path, _BY_PATH)
    except FileNotFoundError:
        return
    top = _opened(handle)
    try:
        _empty(top)
    finally:
        os.close(top)
    path.rmdir()


def _empty(top: int) -> None:
    names = (f".rm-{number}" for number in count())
    while folders := _remove_files(top):
        for folder in folders:
            _raise_children(top, folder, names)


def _raise_children(top: int, folder: str, names: Iterator[str]) -> None:
    """Moves the folder's folders up to the top and removes it."""
    inside = _open_folder(folder, top)
    try:
        for child in _remove_files(inside):
            os.close(_open_folder(child, inside))  # moving a folder needs the right to write in it
            os.rename(child, _free(names, top), src_dir_fd=inside, dst_dir_fd=top)
    finally:
        os.close(inside)
    os.rmdir(folder, dir_fd=top)


def _free(names: Iterator[str], top: int) -> str:
    """A name that nothing has: the program may have guessed ours."""
    for name in names:
        try:
            os.lstat(name, dir_fd=top)
        except FileNotFoundError:
            return name
    raise AssertionError("the names do not end")


def _remove_files(folder: int) -> list[str]:
    """Removes what is no folder; gives the names of the folders."""
    with os.scandir(folder) as entries:
        listed = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in listed:
        if not is_folder:
            os.unlink(name, dir_fd=folder)
    return [name for name, is_folder in listed if is_folder]


def _open_folder(name: str, parent: int) -> int:
    """Never through a link, even one that something alive put there between two of our steps."""
    return _opened(os.open(name, _BY_PATH, dir_fd=parent))


def _opened(handle: int) -> int:
    """Trades a descriptor that only names a folder for one that reads it, whatever the folder's mode."""
    try:
        mine = f"/proc/self/fd/{handle}"
        mode = stat.S_IMODE(os.fstat(handle).st_mode)
        if mode & _ALL_OF_THE_OWNER != _ALL_OF_THE_OWNER:
            Path(mine).chmod(mode | _ALL_OF_THE_OWNER)
        return os.open(mine, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.close(handle)
