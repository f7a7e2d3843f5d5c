"""Contents by key on disk: a cache that processes share, and a bounded folder of one process.

An entry of the cache that `get` returns is whole: entries are made under temporary names and renamed.
Entries used longest ago go when the store is over its limit, except those that a process has pinned.
Locks are the kernel's, so whatever a killed process held is free at once. Nothing is synced to the disk:
after a power cut, delete the folder.

    objects/ab/abcd...         an entry that is a file
    objects/ab/abcd.../        an entry that is a folder: `content` and `size`
    pins/abcd...               a shared lock on it pins the entry
    pins/abcd....turn          whoever has its lock makes the entry, and others wait to find it
    parts/RANDOM/              where one process makes or removes one entry, under the lock on `lock` in it
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import hashlib
import logging
import math
import os
import re
import secrets
import shutil
import stat
import tempfile
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from io import FileIO
from pathlib import Path
from typing import Self

import msgspec
import platformdirs

from ioi_eval.model.errors import InputError, IoiEvalError
from ioi_eval.model.retry import CACHE_ENTRY, CACHE_PIN
from ioi_eval.model.values import Blob

Content = bytes | Path | Callable[[Path], None]

_log = logging.getLogger(__name__)
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{3,127}")
_WRITE = 0o022
_LARGEST = 16  # entries of this part of the limit and less are taken: none pushes all others out
_TAKEN = 64 << 20  # bytes that an entry may have whatever the limit: no limit of a cache is a verdict
BESIDE = 16 << 10  # bytes that an entry counts for beside its contents: its files' last blocks, its folders
_ROOM = 0.9  # an eviction goes down to this part of the limit, so that not every entry after it evicts again
_PRIVATE_LIMIT = 4 << 30  # bytes
_UNLOCKED_PART_AGE = 3600.0  # seconds until a part without a lock was surely not just begun


def private_folder(parent: Path | None = None, name: str | None = None) -> Path:
    """A folder that only we can enter, made if need be; `parent` may be writable by all, as TMPDIR is."""
    base = Path(tempfile.gettempdir()) if parent is None else parent
    folder = base / (name or f"ioi-eval-{os.geteuid()}")
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise InputError("it is not a folder", where=str(folder), remedy="Remove it or set TMPDIR")
    _check_ours(folder, found, others=0o077, remedy="Remove it or set TMPDIR")
    return folder


def default_root(named: str | None) -> Path:
    """The folder that the user names, else the usual one; without a HOME that we can write, a private one."""
    if named:
        return Path(named).expanduser().absolute()
    try:
        usual = platformdirs.user_cache_path("ioi-eval")
        usual.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # RuntimeError: a user without a name and without HOME
        return private_folder()
    return usual if os.access(usual, os.R_OK | os.W_OK | os.X_OK) else private_folder()


def _check_ours(folder: Path, found: os.stat_result, *, others: int, remedy: str) -> None:
    """Refuse a folder that others may write into: they would decide which programs judge."""
    owner, mode = found.st_uid, stat.S_IMODE(found.st_mode)
    if owner == os.geteuid() and not mode & others:
        return
    what = "is open to others" if owner == os.geteuid() else "belongs to somebody else"
    raise InputError(f"it {what} (owner {owner}, mode {mode:04o})", where=str(folder), remedy=remedy)


@contextlib.contextmanager
def kept_in(store: Store, raised: Callable[[str], IoiEvalError]) -> Iterator[None]:
    """Raise an error of ours with a sentence where the store takes nothing."""
    try:
        yield
    except OSError as error:
        remedy = "Make room there, or name another folder in IOI_EVAL_CACHE"
        problem = f"nothing can be kept in the cache {store.root} ({error.strerror or error})"
        raise raised(f"{problem}. {remedy}") from error


class Pin(contextlib.AbstractContextManager["Pin"]):
    """Keeps an entry, present or to come, from eviction until it is released or the process ends."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path, self._descriptor = path, descriptor

    def release(self) -> None:
        """May be called more than once."""
        if self._descriptor < 0:
            return
        descriptor, self._descriptor = self._descriptor, -1
        if _flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB) and _is_at(self._path, descriptor):
            self._path.unlink()
        os.close(descriptor)

    def __exit__(self, *raised: object) -> None:
        self.release()


class _Entry(msgspec.Struct, frozen=True):
    path: Path
    used: int  # ns
    size: int


class Store:
    """Files and folders by key below `root`, together about `limit` bytes; None is no limit.

    A path that was returned may vanish unless its key is pinned: pin first, then `get` or `put`.
    """

    def __init__(self, root: str | Path, limit: int | None = None) -> None:
        self.root, self.limit = Path(root).absolute(), limit
        # Bytes that an entry should not exceed, or it would cost too many others.
        self.largest = math.inf if limit is None else max(limit // _LARGEST, _TAKEN)
        self._objects, self._pins, self._parts = (self.root / name for name in ("objects", "pins", "parts"))
        self._swept = False  # whether we have looked for what processes left that died
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_ours(self.root, self.root.stat(), others=_WRITE, remedy="Use a folder of your own")
        for folder in (self._objects, self._pins, self._parts):
            _public_folder(folder)

    @classmethod
    def usual(cls, named: str | None = None, limit: int | None = None) -> Self:
        """Return the store in the folder that the user names, else in the one that all commands use."""
        return cls(default_root(named), limit)

    @classmethod
    def private(cls) -> Self:
        """Return the store of callers that name none: in a private folder where temporary files go."""
        return cls(private_folder(), _PRIVATE_LIMIT)

    def get(self, key: str) -> Path | None:
        """The entry, marked as just used; None where there is none."""
        place = self._place(key)
        try:
            os.utime(place)
        except FileNotFoundError:
            return None
        return place / "content" if place.is_dir() else place

    def put(self, key: str, content: Content, *, executable: bool = False) -> Path:
        """Keeps a file: bytes, a copy of a file, or what a function writes at the path that it is given.

        Where the key has an entry already, that is returned and `content` is not looked at.
        """

        def make(place: Path) -> int:
            if isinstance(content, bytes):
                place.write_bytes(content)
            elif isinstance(content, Path):
                shutil.copyfile(content, place)
            else:
                content(place)
            place.chmod(0o755 if executable else 0o644)
            return place.stat().st_size

        return self._added(key, make)

    def folder(self, key: str, fill: Callable[[Path], None]) -> Path:
        """Keeps a folder: `fill` gets an empty one. All in it gets its mode.

        Of two that do so at once the first to finish wins.
        """

        def make(place: Path) -> int:
            content, size = place / "content", 0
            _public_folder(place)
            _public_folder(content)
            fill(content)
            for path, _folders, files in os.walk(content):
                Path(path).chmod(0o755)
                for name in files:
                    found = (Path(path) / name).lstat()
                    if stat.S_ISREG(found.st_mode):
                        (Path(path) / name).chmod(0o755 if found.st_mode & stat.S_IXUSR else 0o644)
                        size += found.st_size
            (place / "size").write_text(str(size))
            return size

        return self._added(key, make)

    def pin(self, key: str) -> Pin:
        """Keeps `key` from eviction by any process. Each pin takes one descriptor."""
        path = self._pins / self._place(key).name
        while True:
            descriptor = _opened(path)
            _flock(descriptor, fcntl.LOCK_SH)
            if _is_at(path, descriptor):
                return Pin(path, descriptor)
            os.close(descriptor)  # its last user removed it between our opening and our lock
            CACHE_PIN.log(_log, f"{path.name} was removed")

    @contextlib.asynccontextmanager
    async def turn(self, key: str) -> AsyncIterator[None]:
        """Let processes make an entry one after the other: all but the first find it there.

        Nobody waits for ever: who is ahead may be stopped, or make what cannot be kept. Nobody waits either
        where no file can be made to wait at.
        """
        path, clock = self._pins / f"{self._place(key).name}.turn", asyncio.get_running_loop().time
        try:
            descriptor, ends = _opened(path), clock() + CACHE_ENTRY.max_seconds
        except OSError:
            yield
            return
        try:
            while (others := _is_others(descriptor)) and clock() < ends:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(CACHE_ENTRY.longest_wait)
            yield
        finally:
            if not others and _is_at(path, descriptor):
                path.unlink(missing_ok=True)
            _flock(descriptor, fcntl.LOCK_UN)  # forked processes have the descriptor, too
            os.close(descriptor)

    def remove(self, key: str) -> None:
        """Drops an entry that turned out to be bad, pinned or not."""
        self._discard(self._place(key))

    def size(self) -> int:
        """Bytes of all entries, and what they take beside these."""
        return sum(entry.size for entry in self._entries())

    # --- adding --------------------------------------------------------------------------------------

    def _added(self, key: str, make: Callable[[Path], int]) -> Path:
        with self.pin(key):  # the eviction below must not take what we are about to return
            found = self.get(key)
            if found is None:
                with self._part() as part:
                    size, place = make(part / "entry"), self._place(key)
                    _public_folder(place.parent)
                    try:
                        (part / "entry").rename(place)
                    except OSError:
                        if not place.is_dir():  # a folder that somebody else put there first is as good
                            raise
                self._make_room(size + BESIDE)
                found = self.get(key)
        if found is None:
            raise FileNotFoundError(f"{self._place(key)} was removed while it was being made")
        return found

    @contextlib.contextmanager
    def _part(self) -> Iterator[Path]:
        """A folder for one unfinished entry. We hold its lock; when we are gone, anybody may remove it."""
        part = self._parts / secrets.token_hex(8)
        _public_folder(part)
        descriptor = _opened(part / "unlocked")
        try:
            _flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            (part / "unlocked").rename(part / "lock")  # so that nobody finds it without its lock
            yield part
        finally:
            shutil.rmtree(part, ignore_errors=True)
            os.close(descriptor)

    # --- removing ------------------------------------------------------------------------------------

    def _make_room(self, added: int) -> None:
        """Measures the store when it has grown over the limit by the count that all processes keep."""
        if self.limit is None:
            return
        total = self._count(lambda counted: counted + added)
        if self._swept and total <= self.limit:
            return
        descriptor = _opened(self.root / "eviction")
        try:
            if _flock(descriptor, fcntl.LOCK_EX | (0 if total == math.inf else fcntl.LOCK_NB)):
                # Another eviction may have ended since, which has changed the count. Of a store that was not
                # measured when we asked, it may have looked before our entry was there.
                more = added if total == math.inf else 0
                total = self._count(lambda counted: counted + more)
                self._remove_dead_parts()
                self._swept = True
                if total > self.limit:
                    # What is left, and what others put meanwhile.
                    left = self._evict(self.limit)
                    self._count(lambda counted: left + (0 if total == math.inf else counted - total))
        finally:
            os.close(descriptor)

    def _count(self, change: Callable[[float], float]) -> float:
        """Changes the bytes of all entries as all processes count them; endless where nobody has measured."""
        descriptor = _opened(self.root / "total")
        try:
            _flock(descriptor, fcntl.LOCK_EX)
            digits = os.read(descriptor, 32)
            total = change(int(digits) if digits.isdigit() else math.inf)
            if total < math.inf:
                os.pwrite(descriptor, b"%032d" % total, 0)
            return total
        finally:
            os.close(descriptor)

    def _evict(self, limit: int) -> int:
        """Removes what was used longest ago until there is room again; the bytes that are left."""
        entries = sorted(self._entries(), key=lambda entry: entry.used)
        left = sum(entry.size for entry in entries)
        target = int(limit * _ROOM) if left > limit else left
        for entry in entries:
            if left <= target:
                break
            left -= entry.size if self._evicted(entry) else 0
        return left

    def _evicted(self, entry: _Entry) -> bool:
        pin = self._pins / entry.path.name
        descriptor = _opened(pin)
        if not (_flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB) and _is_at(pin, descriptor)):
            os.close(descriptor)  # somebody has a lock on it
            return False
        try:
            with contextlib.suppress(FileNotFoundError):
                if entry.path.stat().st_mtime_ns == entry.used:  # else since we looked; its turn is not now
                    self._discard(entry.path)
                    return True
            return False
        finally:
            Pin(pin, descriptor).release()

    def _discard(self, place: Path) -> None:
        """Out of sight in one step, however long it takes to remove."""
        with self._part() as part, contextlib.suppress(FileNotFoundError):
            place.rename(part / "entry")

    def _remove_dead_parts(self) -> None:
        for part in self._parts.iterdir():
            with contextlib.suppress(FileNotFoundError):
                if _is_dead(part):
                    shutil.rmtree(part, ignore_errors=True)

    # --- looking -------------------------------------------------------------------------------------

    def _entries(self) -> Iterator[_Entry]:
        for place in self._objects.glob("*/*"):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # gone since it was listed
                found = place.stat()
                is_folder = stat.S_ISDIR(found.st_mode)
                told = (place / "size").read_bytes() if is_folder else b""
                size = int(told) if told.isdigit() else found.st_size  # nothing, after a power cut
                yield _Entry(place, found.st_mtime_ns, size + BESIDE)

    def _place(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise ValueError(f"{key!r} cannot be a key: it must be a plain file name of 4 to 128 characters")
        return self._objects / key[:2] / key


def _public_folder(folder: Path) -> None:
    """Modes are ours, whatever the umask: the root alone decides who gets in."""
    folder.mkdir(exist_ok=True)
    if stat.S_IMODE(folder.stat().st_mode) != 0o755:
        folder.chmod(0o755)


def _is_dead(part: Path) -> bool:
    """Return True if the process that made a part is gone."""
    try:
        descriptor = os.open(part / "lock", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return time.time() - part.stat().st_mtime > _UNLOCKED_PART_AGE
    try:
        return _flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(descriptor)


def _flock(descriptor: int, kind: int) -> bool:
    """False where another's lock forbids it, and on file systems without locks: there nothing is evicted."""
    try:
        fcntl.flock(descriptor, kind)
    except OSError:
        return False
    return True


def _is_others(descriptor: int) -> bool:
    """Return True if another has the lock; else take it. Without locks there is nobody to wait for."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _is_at(path: Path, descriptor: int) -> bool:
    """Return True if the open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _opened(path: Path) -> int:
    return os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)


# --- contents of one process -------------------------------------------------------------------------
# By hash, for jobs that name them. A bounded number of bytes: those used longest ago go first. What a job
# holds stays for as long as it does.


_MODE = 0o755  # a box is handed the open file, and some are programs; the folder lets nobody else in
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class Depot:
    """Safe to be used by several threads."""

    def __init__(self, folder: Path, limit: int, *, beside: int = 0) -> None:
        """`folder`: one that only we can enter. `limit`: bytes; what is held may exceed it.

        `beside`: bytes that each content counts for beside its own, as for the rest of a block and an entry.
        """
        self._folder, self.limit, self._beside = folder, limit, beside
        self._sizes: OrderedDict[str, int] = OrderedDict()
        self._holders: Counter[str] = Counter()
        self.used = self._coming = 0
        self._lock = threading.Lock()

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
            fits = self.used + self._coming + size <= self.limit
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
                self.used += size + self._beside
            self._make_room(0)

    def add(self, content: Blob) -> bool:
        """Take a copy, or a link to a file of ours that never changes. False: the disk is full."""
        part = self.spare()
        try:
            if content.path is None:
                part.write_bytes(content.read())
            else:
                try:
                    os.link(content.path, part)
                except OSError:
                    shutil.copyfile(content.path, part)
            self.keep(content.sha256, part)
        except OSError as error:
            part.unlink(missing_ok=True)
            if error.errno not in _FULL:
                raise
            return False
        return True

    def _make_room(self, size: int) -> None:
        most = self.limit - self._coming - size
        if self.used <= most:
            return
        gone = list[str]()
        for name, size in self._sizes.items():  # no further than there is need: there may be many more
            if self.used <= most:
                break
            if name not in self._holders:
                self.used -= size + self._beside
                gone.append(name)
        for name in gone:
            del self._sizes[name]
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
