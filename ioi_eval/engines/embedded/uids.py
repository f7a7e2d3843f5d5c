"""Started as root, every slot runs its boxes under a uid that no other slot or engine uses at the time."""

from __future__ import annotations

import errno
import os
import socket
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

from ioi_eval.errors import EngineUnavailable

# A range that distributions leave free: below it are home folders, above it services with passing users.
_FIRST, _LAST = 60578, 61183


class Uids:
    """Reserved uids. What reserves one is the name of an abstract socket: it ends with the process."""

    def __init__(self) -> None:
        self._held = ExitStack()

    def reserve(self, number: int) -> tuple[int | None, ...]:
        """A uid per slot; None for each where the boxes stay what we are."""
        if os.geteuid() != 0 or not _mapped():
            return (None,) * number
        free = (uid for uid in range(_FIRST, _LAST + 1) if self._hold(uid))
        uids = tuple(islice(free, number))
        if len(uids) < number:
            raise EngineUnavailable(f"only {len(uids)} of {number} uids for slots are free")
        return uids

    def _hold(self, uid: int) -> bool:
        name = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        try:
            name.bind(f"\0ioi-eval-uid-{uid}")
        except OSError as error:
            name.close()
            if error.errno == errno.EADDRINUSE:
                return False
            raise
        self._held.callback(name.close)
        return True

    def release(self) -> None:
        self._held.close()


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
