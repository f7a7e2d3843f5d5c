"""Two stores on disk, both by key.

`Store` is a cache that processes share. `BlobCache` is a folder of bounded size that belongs to one process.

`Store.get` returns only complete entries, because entries are written under temporary names and renamed. If
the store exceeds its limit, it removes the least recently used entries, except entries that a process has
pinned. Locks are kernel locks, so the locks of a killed process are free at once. Nothing is synced to the
disk: after a power cut, delete the folder.

    objects/ab/abcd...         an entry that is a file
    objects/ab/abcd.../        an entry that is a folder: `content` and `size`
    pins/abcd...               a shared lock on this file pins the entry
    pins/abcd....turn          the lock holder makes the entry, and other processes wait for it
    parts/RANDOM/              where one process makes or removes an entry; it holds the lock on `lock`
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
_WRITABLE_BY_OTHERS = 0o022
# Divisor of the limit of a cache. An entry may use at most the quotient, so that it does not displace all
# other entries.
MAX_ENTRY_DIVISOR = 16
# Size in bytes that every entry may have, even in a small cache, so that its limit does not affect verdicts.
MIN_MAX_ENTRY_BYTES = 64 << 20
# Size of an entry on disk beyond its content, in bytes: the unused ends of its last blocks, and its folders.
ENTRY_OVERHEAD_BYTES = 16 << 10
# Fraction of the limit at which an eviction stops, so that the next entry does not cause another eviction.
_EVICTION_TARGET = 0.9
_PRIVATE_LIMIT = 4 << 30  # maximum size of a private store, in bytes
# Minimum age in seconds of an abandoned draft without a lock. A younger draft may not be locked yet.
_UNLOCKED_DRAFT_AGE_S = 3600.0


def private_folder(parent: Path | None = None, name: str | None = None) -> Path:
    """Return a folder that only this user can enter, and create it if necessary.

    `parent` may be writable by all users, such as TMPDIR.
    """
    parent_folder = Path(tempfile.gettempdir()) if parent is None else parent
    folder = parent_folder / (name or f"ioi-eval-{os.geteuid()}")
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise InputError(
            "the path is not a folder", where=str(folder), remedy="Remove the path or set TMPDIR"
        )
    refuse_folder_others_can_write(
        folder, status, forbidden_mode=0o077, remedy="Remove the path or set TMPDIR"
    )
    return folder


def find_default_root(user_folder: str | None) -> Path:
    """Return the folder that the user named, or else the default cache folder.

    If HOME is missing or not writable, return a private folder.
    """
    if user_folder:
        return Path(user_folder).expanduser().absolute()
    try:
        cache_folder = platformdirs.user_cache_path("ioi-eval")
        cache_folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # a RuntimeError means that HOME is not set and the user has no name
        return private_folder()
    return cache_folder if os.access(cache_folder, os.R_OK | os.W_OK | os.X_OK) else private_folder()


def refuse_folder_others_can_write(
    folder: Path, folder_status: os.stat_result, *, forbidden_mode: int, remedy: str
) -> None:
    """Refuse a folder that other users can write into: they could replace the programs that judge.

    Args:
        folder: The folder's path, for the message.
        folder_status: The folder's status, with its owner and mode.
        forbidden_mode: The permission bits that the folder must not have, such as 0o022.
        remedy: What the user can do, for the message.

    Raises:
        InputError: The folder belongs to another user or has one of these permissions.
    """
    owner_id, permission_bits = folder_status.st_uid, stat.S_IMODE(folder_status.st_mode)
    if owner_id == os.geteuid() and not permission_bits & forbidden_mode:
        return
    access_problem = "is accessible to other users" if owner_id == os.geteuid() else "belongs to another user"
    raise InputError(
        f"the folder {access_problem} (owner {owner_id}, mode {permission_bits:04o})",
        where=str(folder),
        remedy=remedy,
    )


@contextlib.contextmanager
def convert_store_errors(store: Store, create_error: Callable[[str], IoiEvalError]) -> Iterator[None]:
    """Context manager: turn an OSError of the store into the error that `create_error(message)` returns."""
    try:
        yield
    except OSError as error:
        remedy = "Free space there, or set IOI_EVAL_CACHE to another folder"
        problem_text = f"cannot write to the cache {store.root} ({error.strerror or error})"
        raise create_error(f"{problem_text}. {remedy}") from error


class StoreEntryPin(contextlib.AbstractContextManager["StoreEntryPin"]):
    """Protects an existing or future entry from eviction until it is released or the process ends."""

    def __init__(self, path: Path, lock_descriptor: int) -> None:
        self._path, self._descriptor = path, lock_descriptor

    def release(self) -> None:
        """Release the pin. Further calls have no effect."""
        if self._descriptor < 0:
            return
        descriptor, self._descriptor = self._descriptor, -1
        if _try_lock_file(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB) and _is_file_at(self._path, descriptor):
            self._path.unlink()
        os.close(descriptor)

    def __exit__(self, *exception: object) -> None:
        self.release()


class _Entry(msgspec.Struct, frozen=True):
    """An entry of a store, with its last use and size."""

    path: Path
    used: int  # time of the entry's last use, in ns
    size: int


class Store:
    """Files and folders by key below `root`, with a total size of about `limit` bytes; None means no limit.

    A returned path may vanish unless its key is pinned: pin first, then call `get` or `put`.
    """

    def __init__(self, root: str | Path, limit: int | None = None) -> None:
        self.root, self.limit = Path(root).absolute(), limit
        # Maximum size of an entry, in bytes. A larger entry would displace too many other entries.
        self.largest = math.inf if limit is None else max(limit // MAX_ENTRY_DIVISOR, MIN_MAX_ENTRY_BYTES)
        self._entries_folder, self._pins_folder, self._drafts_folder = (
            self.root / name for name in ("objects", "pins", "parts")
        )
        self._has_removed_drafts = False  # True after abandoned drafts of dead processes were removed
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        refuse_folder_others_can_write(
            self.root, self.root.stat(), forbidden_mode=_WRITABLE_BY_OTHERS, remedy="Use a folder of your own"
        )
        for folder in (self._entries_folder, self._pins_folder, self._drafts_folder):
            _make_public_folder(folder)

    @classmethod
    def usual(cls, user_folder: str | None = None, limit: int | None = None) -> Self:
        """Return the store in the folder that the user names, or else the default store of all commands."""
        return cls(find_default_root(user_folder), limit)

    @classmethod
    def private(cls) -> Self:
        """Return a private store among the temporary files, for callers without a store."""
        return cls(private_folder(), _PRIVATE_LIMIT)

    def get(self, key: str) -> Path | None:
        """Return the path of an entry and mark the entry as used; None if there is no entry."""
        path = self._entry_path(key)
        try:
            os.utime(path)
        except FileNotFoundError:
            return None
        return path / "content" if path.is_dir() else path

    def put(self, key: str, content: Content, *, executable: bool = False) -> Path:
        """Store a file and return its path.

        `content` is bytes, a file to copy, or a function that writes the file at the given path.

        If the key has an entry already, return it and ignore `content`.
        """

        def make(path: Path) -> int:
            if isinstance(content, bytes):
                path.write_bytes(content)
            elif isinstance(content, Path):
                shutil.copyfile(content, path)
            else:
                content(path)
            path.chmod(0o755 if executable else 0o644)
            return path.stat().st_size

        return self._get_or_make(key, make)

    def folder(self, key: str, fill: Callable[[Path], None]) -> Path:
        """Store a folder that `fill` writes and return its path. Contents get standard modes.

        If two processes store the same key at once, the first to finish wins.
        """

        def make(entry: Path) -> int:
            content, content_bytes = entry / "content", 0
            _make_public_folder(entry)
            _make_public_folder(content)
            fill(content)
            for folder_path, _folders, file_names in os.walk(content):
                Path(folder_path).chmod(0o755)
                for file_name in file_names:
                    status = (Path(folder_path) / file_name).lstat()
                    if stat.S_ISREG(status.st_mode):
                        (Path(folder_path) / file_name).chmod(
                            0o755 if status.st_mode & stat.S_IXUSR else 0o644
                        )
                        content_bytes += status.st_size
            (entry / "size").write_text(str(content_bytes))
            return content_bytes

        return self._get_or_make(key, make)

    def pin(self, key: str) -> StoreEntryPin:
        """Protect a key from eviction by any process. Each pin uses one file descriptor."""
        pin_path = self._pins_folder / self._entry_path(key).name
        while True:
            descriptor = _open_or_create_file_descriptor(pin_path)
            _try_lock_file(descriptor, fcntl.LOCK_SH)
            if _is_file_at(pin_path, descriptor):
                return StoreEntryPin(pin_path, descriptor)
            # Another process removed the lock file after it was opened here and before it was locked.
            os.close(descriptor)
            CACHE_PIN.log(_log, f"{pin_path.name} was removed")

    @contextlib.asynccontextmanager
    async def creation_lock(self, key: str) -> AsyncIterator[None]:
        """Context manager: let processes make an entry one after another, so that only the first makes it.

        The wait is bounded, because the process ahead may be stopped or fail to store the entry. If the lock
        file cannot be created, do not wait.
        """
        lock_path, loop_time = (
            self._pins_folder / f"{self._entry_path(key).name}.turn",
            asyncio.get_running_loop().time,
        )
        try:
            descriptor, deadline = (
                _open_or_create_file_descriptor(lock_path),
                loop_time() + CACHE_ENTRY.max_total_seconds,
            )
        except OSError:
            yield
            return
        try:
            while (is_locked_elsewhere := _is_locked_by_another(descriptor)) and loop_time() < deadline:  # noqa: ASYNC110
                await asyncio.sleep(CACHE_ENTRY.longest_wait)
            yield
        finally:
            if not is_locked_elsewhere and _is_file_at(lock_path, descriptor):
                lock_path.unlink(missing_ok=True)
            # The file is unlocked explicitly, because a forked process may still have the descriptor.
            _try_lock_file(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def remove(self, key: str) -> None:
        """Remove a bad entry, even if it is pinned."""
        self._delete_entry(self._entry_path(key))

    def size(self) -> int:
        """Return the size of all entries with their overhead, in bytes."""
        return sum(entry.size for entry in self._list_entries())

    # --- adding --------------------------------------------------------------------------------------

    def _get_or_make(self, key: str, write_entry: Callable[[Path], int]) -> Path:
        """Return the path of an entry; if it is missing, `write_entry` writes it and returns its size."""
        with self.pin(key):  # an eviction must not remove the new entry
            cached_path = self.get(key)
            if cached_path is None:
                with self._create_draft() as draft:
                    entry_size, entry_path = write_entry(draft / "entry"), self._entry_path(key)
                    _make_public_folder(entry_path.parent)
                    try:
                        (draft / "entry").rename(entry_path)
                    except OSError:
                        # Another process may have stored the folder first. Its entry is used.
                        if not entry_path.is_dir():
                            raise
                self._free_space(entry_size + ENTRY_OVERHEAD_BYTES)
                cached_path = self.get(key)
        if cached_path is None:
            raise FileNotFoundError(f"{self._entry_path(key)} was removed while it was being written")
        return cached_path

    @contextlib.contextmanager
    def _create_draft(self) -> Iterator[Path]:
        """Create a folder for one unfinished entry and hold its lock.

        Once the lock is free, any process may remove the folder.
        """
        draft = self._drafts_folder / secrets.token_hex(8)
        _make_public_folder(draft)
        descriptor = _open_or_create_file_descriptor(draft / "unlocked")
        try:
            _try_lock_file(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The lock file is locked before it gets its name, so that other processes never see it unlocked.
            (draft / "unlocked").rename(draft / "lock")
            yield draft
        finally:
            shutil.rmtree(draft, ignore_errors=True)
            os.close(descriptor)

    # --- removing ------------------------------------------------------------------------------------

    def _free_space(self, added_bytes: int) -> None:
        """Add to the shared byte counter, and evict entries if the store exceeds its limit."""
        if self.limit is None:
            return
        counted_total = self._update_total_size(lambda counter: counter + added_bytes)
        if self._has_removed_drafts and counted_total <= self.limit:
            return
        descriptor = _open_or_create_file_descriptor(self.root / "eviction")
        try:
            if _try_lock_file(
                descriptor, fcntl.LOCK_EX | (0 if counted_total == math.inf else fcntl.LOCK_NB)
            ):
                # Another process may have evicted entries and updated the counter. If the counter was
                # unknown before, that process may not have counted the new entry.
                uncounted_bytes = added_bytes if counted_total == math.inf else 0
                counted_total = self._update_total_size(lambda counter: counter + uncounted_bytes)
                self._remove_abandoned_drafts()
                self._has_removed_drafts = True
                if counted_total > self.limit:
                    # The new total is the size after the eviction, plus the bytes that other processes added
                    # in the meantime.
                    bytes_left = self._evict_entries(self.limit)
                    self._update_total_size(
                        lambda counter: (
                            bytes_left + (0 if counted_total == math.inf else counter - counted_total)
                        )
                    )
        finally:
            os.close(descriptor)

    def _update_total_size(self, change: Callable[[float], float]) -> float:
        """Update and return the byte counter that all processes share; inf if the size was never measured."""
        descriptor = _open_or_create_file_descriptor(self.root / "total")
        try:
            _try_lock_file(descriptor, fcntl.LOCK_EX)
            total_digits = os.read(descriptor, 32)
            total_bytes = change(int(total_digits) if total_digits.isdigit() else math.inf)
            if total_bytes < math.inf:
                os.pwrite(descriptor, b"%032d" % total_bytes, 0)
            return total_bytes
        finally:
            os.close(descriptor)

    def _evict_entries(self, max_bytes: int) -> int:
        """Remove the least recently used entries until the store is small enough; return the bytes left."""
        entries = sorted(self._list_entries(), key=lambda entry: entry.used)
        bytes_left = sum(entry.size for entry in entries)
        target_bytes = int(max_bytes * _EVICTION_TARGET) if bytes_left > max_bytes else bytes_left
        for entry in entries:
            if bytes_left <= target_bytes:
                break
            bytes_left -= entry.size if self._evict_unless_used(entry) else 0
        return bytes_left

    def _evict_unless_used(self, entry: _Entry) -> bool:
        """Remove an entry and return True, unless it is pinned or was used meanwhile."""
        pin_path = self._pins_folder / entry.path.name
        descriptor = _open_or_create_file_descriptor(pin_path)
        if not (
            _try_lock_file(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB) and _is_file_at(pin_path, descriptor)
        ):
            os.close(descriptor)  # another process holds a lock on the entry
            return False
        try:
            with contextlib.suppress(FileNotFoundError):
                # An entry with another time was used after it was listed.
                if entry.path.stat().st_mtime_ns == entry.used:
                    self._delete_entry(entry.path)
                    return True
            return False
        finally:
            StoreEntryPin(pin_path, descriptor).release()

    def _delete_entry(self, path: Path) -> None:
        """Remove an entry: hide it in one step, then delete it, which may take long."""
        with self._create_draft() as draft, contextlib.suppress(FileNotFoundError):
            path.rename(draft / "entry")

    def _remove_abandoned_drafts(self) -> None:
        """Remove the unfinished entries of processes that are gone."""
        for draft in self._drafts_folder.iterdir():
            with contextlib.suppress(FileNotFoundError):
                if _is_abandoned(draft):
                    shutil.rmtree(draft, ignore_errors=True)

    # --- listing -----------------------------------------------------------------------------------------

    def _list_entries(self) -> Iterator[_Entry]:
        """Yield all entries."""
        for path in self._entries_folder.glob("*/*"):
            # Another process may remove the entry after it is listed.
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                status = path.stat()
                is_folder = stat.S_ISDIR(status.st_mode)
                stored_size = (path / "size").read_bytes() if is_folder else b""
                # After a power cut, the file with the size may be empty.
                size = int(stored_size) if stored_size.isdigit() else status.st_size
                yield _Entry(path, status.st_mtime_ns, size + ENTRY_OVERHEAD_BYTES)

    def _entry_path(self, key: str) -> Path:
        """Return the path of a key's entry. Raises ValueError for an invalid key."""
        if not _KEY.fullmatch(key):
            raise ValueError(
                f"{key!r} cannot be a key: a key must be a plain file name of 4 to 128 characters"
            )
        return self._entries_folder / key[:2] / key


def _make_public_folder(folder: Path) -> None:
    """Create a folder with mode 0755 despite the umask; access is controlled by the root folder."""
    folder.mkdir(exist_ok=True)
    if stat.S_IMODE(folder.stat().st_mode) != 0o755:
        folder.chmod(0o755)


def _is_abandoned(draft: Path) -> bool:
    """Return True if the process that made a draft is gone."""
    try:
        descriptor = os.open(draft / "lock", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return time.time() - draft.stat().st_mtime > _UNLOCKED_DRAFT_AGE_S
    try:
        return _try_lock_file(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(descriptor)


def _try_lock_file(descriptor: int, lock_mode: int) -> bool:
    """Lock a file and return True; return False if another process holds a conflicting lock.

    Also return False on file systems without locks, on which nothing is evicted.
    """
    try:
        fcntl.flock(descriptor, lock_mode)
    except OSError:
        return False
    return True


def _is_locked_by_another(descriptor: int) -> bool:
    """Return True if another process holds the lock, else lock it.

    On file systems without locks return False: there is no process to wait for.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _is_file_at(path: Path, descriptor: int) -> bool:
    """Return True if the open file still has this path."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _open_or_create_file_descriptor(path: Path) -> int:
    return os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)


# --- contents that a single process stores -----------------------------------------------------------
# Jobs name contents by hash. If the total size exceeds the limit, the least recently used contents are
# removed, except contents that running jobs hold.


# Mode of files in the cache. Sandboxes open and execute these files. The mode of the folder excludes other
# users.
_FILE_MODE = 0o755
_DISK_FULL_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class CachedBlob(Blob):
    """A content in a file of a blob cache. Programs get copies of the file, because later jobs use it."""


class BlobCache:
    """The blob cache of a process: files by hash in a folder of bounded size. Thread-safe."""

    def __init__(self, folder: Path, limit: int, *, overhead_bytes: int = 0) -> None:
        """Use an empty folder that only this user can enter.

        `limit`: maximum total size, in bytes; held contents may exceed it. `overhead_bytes`: overhead per
        content, in bytes, such as its last block and folder entry.
        """
        self._folder, self.limit, self._overhead_bytes = folder, limit, overhead_bytes
        self._sizes: OrderedDict[str, int] = OrderedDict()
        self._holders: Counter[str] = Counter()
        self.used = self._reserved_bytes = 0
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def protect_from_eviction(self, names: Collection[str]) -> Iterator[None]:
        """Protect contents from eviction within a `with` block, even if they are added only in the block."""
        with self._lock:
            self._holders.update(names)
        try:
            yield
        finally:
            with self._lock:
                self._holders.subtract(names)
                self._holders = +self._holders
                self._free_space(0)

    def has(self, name: str) -> bool:
        """Return True if the content is in the cache."""
        return name in self._sizes

    def list_missing_names(self, names: Collection[str]) -> tuple[str, ...]:
        """Return the names of missing contents, and mark the other contents as used."""
        with self._lock:
            for name in names:
                if name in self._sizes:
                    self._sizes.move_to_end(name)
            return tuple(name for name in names if name not in self._sizes)

    def blob(self, name: str) -> CachedBlob:
        """Return a content as a blob. Its file may vanish unless the content is held."""
        return CachedBlob(sha256=name, size=self._sizes[name], path=str(self._folder / name))

    def new_draft_path(self) -> Path:
        """Return a new path for an incoming content."""
        return self._folder / f"part-{secrets.token_hex(8)}"

    def reserve(self, size: int) -> bool:
        """Reserve space for `size` bytes and return True, or return False."""
        with self._lock:
            self._free_space(size)
            has_space = self.used + self._reserved_bytes + size <= self.limit
            self._reserved_bytes += size if has_space else 0
            return has_space

    def release_reserved_bytes(self, size: int) -> None:
        """Give back reserved space."""
        with self._lock:
            self._reserved_bytes -= size

    @contextlib.contextmanager
    def receive(self, name: str) -> Iterator[BlobWriter]:
        """Yield a writer for a content that arrives in pieces.

        Unless `BlobWriter.add_to_cache_if_valid` adds the content, its file is removed at the end.
        """
        draft = self.new_draft_path()
        with draft.open("xb", buffering=0) as stream:
            writer = BlobWriter(self, name, draft, stream)
            try:
                yield writer
            finally:
                draft.unlink(missing_ok=True)
                self.release_reserved_bytes(writer.size)

    def add_draft_file(self, name: str, draft: Path) -> None:
        """Add the file at a path of `new_draft_path`; `name` must be its hash."""
        draft.chmod(_FILE_MODE)
        size = draft.stat().st_size
        with self._lock:
            draft.replace(self._folder / name)
            if name not in self._sizes:
                self._sizes[name] = size
                self.used += size + self._overhead_bytes
            self._free_space(0)

    def add(self, content: Blob) -> bool:
        """Add a copy of a blob, or a link to its file. Return False if the disk is full.

        The linked file must never change.
        """
        draft = self.new_draft_path()
        try:
            if content.path is None:
                draft.write_bytes(content.read())
            else:
                try:
                    os.link(content.path, draft)
                except OSError:
                    shutil.copyfile(content.path, draft)
            self.add_draft_file(content.sha256, draft)
        except OSError as error:
            draft.unlink(missing_ok=True)
            if error.errno not in _DISK_FULL_ERRORS:
                raise
            return False
        return True

    def _free_space(self, size: int) -> None:
        """Remove contents that are not held until `size` more bytes fit."""
        max_used = self.limit - self._reserved_bytes - size
        if self.used <= max_used:
            return
        removed_names = list[str]()
        for name, size in self._sizes.items():  # there may be many contents, so the loop stops early
            if self.used <= max_used:
                break
            if name not in self._holders:
                self.used -= size + self._overhead_bytes
                removed_names.append(name)
        for name in removed_names:
            del self._sizes[name]
            (self._folder / name).unlink(missing_ok=True)


class BlobWriter:
    """Writer of an incoming content. It reserves space for each piece."""

    def __init__(self, cache: BlobCache, name: str, draft: Path, stream: FileIO) -> None:
        self._cache, self._name, self._draft, self._stream = cache, name, draft, stream
        self._digest = hashlib.sha256()
        self.size = 0

    def write(self, chunk: bytes) -> bool:
        """Append a piece; return False if the cache or the disk is full."""
        if not self._cache.reserve(len(chunk)):
            return False
        self.size += len(chunk)
        self._digest.update(chunk)
        remaining_bytes = memoryview(chunk)
        try:
            while remaining_bytes:
                remaining_bytes = remaining_bytes[self._stream.write(remaining_bytes) :]
        except OSError as error:
            if error.errno in _DISK_FULL_ERRORS:
                return False
            raise
        return True

    def add_to_cache_if_valid(self) -> str:
        """Add the content to the cache if its hash is right, and return its real hash."""
        real_hash = self._digest.hexdigest()
        if real_hash == self._name:
            self._cache.release_reserved_bytes(self.size)
            self.size = 0
            self._cache.add_draft_file(self._name, self._draft)
        return real_hash
