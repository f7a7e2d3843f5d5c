"""Started as root, every slot runs its boxes under a uid that no other slot or engine uses at the time.

What reserves a uid is a lock on a file that only root can open, in a folder where only root can make one. By
whatever others may name or lock as well, a socket or a file below /tmp, any user could stop root's judge.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from itertools import islice
from pathlib import Path

from ioi_eval.model.errors import EngineUnavailable
from ioi_eval.store import private_folder

# A range that distributions leave free: below it are home folders, above it services with passing users.
_FIRST, _LAST = 60578, 61183
_PLACES = (Path("/run"), Path("/var/lib"))  # root's alone; the first that can be written
_FOLDER = "ioi-eval-uids"


class Uids:
    """Reserved uids. The kernel gives their locks back when the process ends, however it ends."""

    def __init__(self) -> None:
        self._held = contextlib.ExitStack()

    def reserve(self, number: int) -> tuple[int | None, ...]:
        """A uid per slot; None for each where the boxes stay what we are."""
        if os.geteuid() != 0 or not _mapped():
            return (None,) * number
        folder = _folder()
        free = (uid for uid in range(_FIRST, _LAST + 1) if self._hold(folder / str(uid)))
        uids = tuple(islice(free, number))
        if len(uids) < number:
            raise EngineUnavailable(f"only {len(uids)} of {number} uids for slots are free")
        return uids

    def _hold(self, path: Path) -> bool:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return False
        self._held.callback(os.close, lock)
        return True

    def release(self) -> None:
        self._held.close()


def _folder() -> Path:
    for place in _PLACES:
        with contextlib.suppress(OSError):
            return private_folder(place, _FOLDER)
    raise EngineUnavailable(f"root can write none of {', '.join(map(str, _PLACES))}, where uids are reserved")


def _mapped() -> bool:
    """Root of a user namespace may not have other uids to give."""
    return all(_covers(Path("/proc/self", name)) for name in ("uid_map", "gid_map"))


def _covers(path: Path) -> bool:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return True  # a kernel without user namespaces
    ranges = (tuple(map(int, line.split())) for line in lines)
    return any(first <= _FIRST and first + number > _LAST for first, _outside, number in ranges)
