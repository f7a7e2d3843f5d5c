"""Caches: records and notes on disk, bounded values in memory, and calls that several callers share."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Problem
from ioi_eval.store.contents import Store
from ioi_eval.store.files import replace

T = TypeVar("T")
_RECORD = "record.msgpack"
_MAX_LINE_BYTES = 4096  # maximum size of a line, in bytes; tens of thousands of lines may be in memory
MOST_PROBLEMS = 256  # maximum number of problems of normal size in a cache
_NORMAL_PROBLEM_BYTES = 256 << 10  # bytes of test data in a problem of normal size
# Memory of a test without its contents, in bytes, including its entries in schedules.
_BYTES_PER_TEST = 1 << 10
# Lock for creating decoders, because the first use of a msgspec Struct is not safe in two threads.
_DECODER_LOCK = Lock()


def read_cached(store: Store, key: str, kind: type[T]) -> tuple[T, Path] | None:
    """Return the cached value of a key and the folder with its files, or None.

    An entry that a power cut or another version left behind is removed.
    """
    folder = store.get(key)
    if folder is None:
        return None
    with _DECODER_LOCK:
        decoder = msgspec.msgpack.Decoder(kind)
    try:
        return decoder.decode((folder / _RECORD).read_bytes()), folder
    except (OSError, ValueError):  # errors of msgspec, or bytes that are not UTF-8
        store.remove(key)
        return None


def read_or_create_cached(
    store: Store, key: str, value_type: type[T], make_value: Callable[[Path], T]
) -> tuple[T, Path]:
    """Return the cached value of a key and the folder with its files.

    Args:
        store: the cache.
        key: the key.
        value_type: type of the value.
        make_value: called if there is no cached value: writes files to an empty folder and returns the value.
    """

    def fill(folder: Path) -> None:
        (folder / _RECORD).write_bytes(msgspec.msgpack.encode(make_value(folder)))

    with store.pin(key):
        cached = read_cached(store, key, value_type)
        if cached is None:
            store.folder(key, fill)
            cached = read_cached(store, key, value_type)
    assert cached is not None, "the store has just stored the entry"
    return cached


class SharedValueFile(Generic[T]):
    """A file with small values by key that processes share. It contains only the newest values.

    Each value is one line, appended in one write. An incomplete line of a killed writer is skipped.
    """

    def __init__(self, path: Path, kind: type[T], max_values: int = 50_000) -> None:
        self._path, self._max_values = path, max_values
        with _DECODER_LOCK:
            self._decoder = msgspec.json.Decoder(kind)
        self._lines: dict[bytes, bytes] = {}  # encoded values by key, oldest first
        # The file that was read: its inode, the offset up to which it was read, and the number of its lines.
        self._inode, self._read_offset, self._line_count = 0, 0, 0

    def get(self, key: str) -> T | None:
        """Return the value of a key, or None."""
        self._read_new_lines()
        line = self._lines.get(key.encode())
        try:
            return None if line is None else self._decoder.decode(line)
        except (
            msgspec.DecodeError,
            UnicodeDecodeError,
        ):  # the line is damaged, or was written by another version
            return None

    def put(self, key: str, value: T) -> None:
        """Store a value if it is small and the disk has space. A lost value only costs time."""
        line = b"%b %b\n" % (key.encode(), msgspec.json.encode(value))
        if len(line) > _MAX_LINE_BYTES:
            return
        with contextlib.suppress(OSError), self._path.open("ab", buffering=0) as stream:
            stream.write(line)

    def _read_new_lines(self) -> None:
        """Read the lines that this process and others have appended since the last call."""
        try:
            file_status = self._path.stat()
            if file_status.st_ino == self._inode and file_status.st_size == self._read_offset:
                return
            with self._path.open("rb") as stream:
                if file_status.st_ino != self._inode or file_status.st_size < self._read_offset:
                    self._lines.clear()
                    self._inode, self._read_offset, self._line_count = os.fstat(stream.fileno()).st_ino, 0, 0
                stream.seek(self._read_offset)
                new_bytes = stream.read()
        except OSError:
            return
        complete_lines = new_bytes[: new_bytes.rfind(b"\n") + 1]
        self._read_offset += len(complete_lines)
        for line in complete_lines.splitlines():
            key, _, value = line.partition(b" ")
            self._lines.pop(key, None)
            self._lines[key] = value
            self._line_count += 1
        for key in [*islice(self._lines, max(0, len(self._lines) - self._max_values))]:
            del self._lines[key]
        if self._line_count > 2 * self._max_values:
            self._line_count = len(self._lines)  # the file was rewritten, so it is read again
            with contextlib.suppress(InputError):
                replace(
                    self._path,
                    (b"%b %b\n" % key_and_value for key_and_value in self._lines.items()),
                    durable=False,
                )


class LruCache(Generic[T]):
    """A cache in memory: values by key with a bounded total size; the least recently used go first.

    The newest value is never removed. `on_remove` is called with each removed value.
    """

    def __init__(self, max_total_size: int, on_remove: Callable[[T], object] = lambda value: None) -> None:
        self._max_size, self._on_remove, self._total_size = max_total_size, on_remove, 0
        self._values: OrderedDict[str, tuple[T, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: str) -> T | None:
        """Return the value of a key and mark it as used, or None."""
        if key not in self._values:
            return None
        self._values.move_to_end(key)
        return self._values[key][0]

    def put(self, key: str, value: T, size: int = 1) -> None:
        """Store a value, and remove other values if the total size exceeds the maximum."""
        if key in self._values:
            self.forget([key])
        self._values[key] = value, size
        self._total_size += size
        while self._total_size > self._max_size and len(self._values) > 1:
            self.forget([next(iter(self._values))])

    def forget(self, keys: Iterable[str]) -> None:
        """Remove values."""
        for key in keys:
            if key in self._values:
                value, size = self._values.pop(key)
                self._total_size -= size
                self._on_remove(value)

    def clear(self) -> None:
        """Remove all values."""
        self.forget(tuple(self._values))


def count_problem_cache_entries(problem: Problem) -> int:
    """Return how many entries of a cache of `MOST_PROBLEMS` problems a problem counts as.

    A problem of normal size is one entry. Tests that are stored in files need no memory.
    """
    blobs = (blob for test in problem.tests for blob in (test.input, test.answer) if blob is not None)
    inline_bytes = sum(len(blob.data) for blob in blobs if blob.data is not None)
    return 1 + (inline_bytes + _BYTES_PER_TEST * len(problem.tests)) // _NORMAL_PROBLEM_BYTES


@dataclass
class _Call(Generic[T]):
    """A call in progress, and the number of its callers."""

    task: asyncio.Task[T]
    waiting: int = 0
    cancel_timer: asyncio.TimerHandle | None = (
        None  # timer that cancels the task; None while there are callers
    )


class SharedCalls(Generic[T]):
    """Calls by key that concurrent callers share.

    If all callers are cancelled, the call is cancelled as well.

    `seconds_without_callers`: seconds for which a call without callers continues, in case a caller returns.
    """

    def __init__(self, *, seconds_without_callers: float = 0.0) -> None:
        self._calls: dict[str, _Call[T]] = {}
        self._linger_seconds = seconds_without_callers

    def __len__(self) -> int:
        return len(self._calls)

    def __contains__(self, key: str) -> bool:
        return key in self._calls

    async def call(self, key: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the result of the key's call, and start the call if there is none."""
        call = self._calls.get(key)
        if call is None:
            call = self._calls[key] = _Call(asyncio.ensure_future(work()))
        call.waiting += 1
        if call.cancel_timer is not None:
            call.cancel_timer.cancel()
            call.cancel_timer = None
        try:
            return await asyncio.shield(call.task)
        finally:
            call.waiting -= 1
            is_over = call.task.done()
            if self._linger_seconds and not is_over and not call.waiting:
                call.cancel_timer = asyncio.get_running_loop().call_later(
                    self._linger_seconds, self._cancel, key, call
                )
                call.task.add_done_callback(lambda task: self._remove_finished_call(key, call))
            elif is_over or not call.waiting:
                if self._calls.get(key) is call:  # no new caller may join a finished or cancelled call
                    del self._calls[key]
                if not is_over:
                    call.task.cancel()
                    await asyncio.wait([call.task])

    async def close(self) -> None:
        """Cancel all calls."""
        calls, self._calls = self._calls, {}
        for call in calls.values():
            call.task.cancel()
        await asyncio.gather(*(call.task for call in calls.values()), return_exceptions=True)

    def _cancel(self, key: str, call: _Call[T]) -> None:
        """Cancel a call that no caller waits for."""
        if self._calls.get(key) is call:  # no new caller may join a cancelled call
            del self._calls[key]
        call.task.cancel()

    def _remove_finished_call(self, key: str, call: _Call[T]) -> None:
        """Remove a call that finished without callers.

        Its exception is dropped, because a new call would raise it again.
        """
        if self._calls.get(key) is call and not call.waiting:
            del self._calls[key]
        if call.cancel_timer is not None:
            call.cancel_timer.cancel()
        if not call.task.cancelled():
            call.task.exception()
