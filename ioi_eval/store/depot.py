"""Contents by hash in a folder of this process, for jobs that name them.

A bounded number of bytes: those used longest ago go first. What a job holds stays for as long as it does.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import shutil
import threading
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterator
from io import FileIO
from pathlib import Path

from ioi_eval.model.values import Blob

_MODE = 0o755  # a box is handed the open file, and some are programs; the folder lets nobody else in
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class Depot:
    """Safe to be used by several threads."""

    def __init__(self, folder: Path, limit: int) -> None:
        """`folder`: one that only we can enter. `limit`: bytes; what is held may exceed it."""
        self._folder, self.limit = folder, limit
        self._sizes: OrderedDict[str, int] = OrderedDict()
        self._holders: Counter[str] = Counter()
        self._used = self._coming = 0
        self._lock = threading.Lock()

    @property
    def used(self) -> int:
        return self._used

    @contextlib.contextmanager
    def hold(self, names: Collection[str]) -> Iterator[None]:
        """Keep contents, present or to come, from eviction."""
        with self._lock:
            self._holders.update(names)
        try:
            yield
        finally:
            with self._lock:
                self._holders.subtract(names)
                self._holders = +self._holders
                self._make_room(0)

    def has(self, name: str) -> bool:
        return name in self._sizes

    def lacks(self, names: Collection[str]) -> tuple[str, ...]:
        """Return those that are not here. The others count as used now."""
        with self._lock:
            for name in names:
                if name in self._sizes:
                    self._sizes.move_to_end(name)
            return tuple(name for name in names if name not in self._sizes)

    def blob(self, name: str) -> Blob:
        """Return a content that is here. It may vanish unless it is held."""
        return Blob(sha256=name, size=self._sizes[name], path=str(self._folder / name))

    def spare(self) -> Path:
        """Return a path for a content on its way."""
        return self._folder / f"part-{secrets.token_hex(8)}"

    def reserve(self, size: int) -> bool:
        """Set so many bytes aside, if there can be room for them; `release` gives them back."""
        with self._lock:
            self._make_room(size)
            fits = self._used + self._coming + size <= self.limit
            self._coming += size if fits else 0
            return fits

    def release(self, size: int) -> None:
        with self._lock:
            self._coming -= size

    @contextlib.contextmanager
    def arrival(self, name: str) -> Iterator[Arrival]:
        """A content that comes in pieces. Nobody sees it before it is kept; without that nothing stays."""
        part = self.spare()
        with part.open("xb", buffering=0) as stream:
            coming = Arrival(self, name, part, stream)
            try:
                yield coming
            finally:
                part.unlink(missing_ok=True)
                self.release(coming.size)

    def keep(self, name: str, part: Path) -> None:
        """Take a file that was written at a spare path and has that hash."""
        part.chmod(_MODE)
        size = part.stat().st_size
        with self._lock:
            part.replace(self._folder / name)
            if name not in self._sizes:
                self._sizes[name] = size
                self._used += size
            self._make_room(0)

    def add(self, content: Blob) -> None:
        """Take a copy, or a link where the file is one of ours that never changes."""
        part = self.spare()
        if content.path is None:
            part.write_bytes(content.read())
        else:
            try:
                os.link(content.path, part)
            except OSError:
                shutil.copyfile(content.path, part)
        self.keep(content.sha256, part)

    def _make_room(self, size: int) -> None:
        most = self.limit - self._coming - size
        if self._used <= most:
            return
        for name in [name for name in self._sizes if name not in self._holders]:
            if self._used <= most:
                return
            self._used -= self._sizes.pop(name)
            (self._folder / name).unlink(missing_ok=True)


class Arrival:
    """A content on its way: what came of it, and room that is set aside for that."""

    def __init__(self, depot: Depot, name: str, part: Path, stream: FileIO) -> None:
        self._depot, self._name, self._part, self._stream = depot, name, part, stream
        self._digest = hashlib.sha256()
        self.size = 0

    def write(self, piece: bytes) -> bool:
        """Return whether there was room."""
        if not self._depot.reserve(len(piece)):
            return False
        self.size += len(piece)
        self._digest.update(piece)
        left = memoryview(piece)
        try:
            while left:
                left = left[self._stream.write(left) :]
        except OSError as error:
            if error.errno in _FULL:
                return False
            raise
        return True

    def keep(self) -> str:
        """Take it where it has the hash that it should; return the one that it has."""
        found = self._digest.hexdigest()
        if found == self._name:
            self._depot.release(self.size)
            self.size = 0
            self._depot.keep(self._name, self._part)
        return found
