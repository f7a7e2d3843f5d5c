"""Memories of work: records and notes in a store, values in memory, work that callers share."""

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
_LONGEST_NOTE = 4096  # bytes: tens of thousands of them are in memory
MOST_PROBLEMS = 256  # that a table of problems holds, of usual size
_PART = 256 << 10  # bytes of a problem of usual size
_PER_TEST = 1 << 10  # bytes of a test without its contents, and of its places in schedules
_FIRST = (
    Lock()
)  # two threads that decode a Struct for the first time can meet what msgspec knows of it half made


def recalled(store: Store, key: str, kind: type[T]) -> tuple[T, Path] | None:
    """Return the value that is remembered under a key and the folder with its files.

    What a power cut or another version left behind is removed.
    """
    folder = store.get(key)
    if folder is None:
        return None
    with _FIRST:
        decoder = msgspec.msgpack.Decoder(kind)
    try:
        return decoder.decode((folder / _RECORD).read_bytes()), folder
    except (OSError, ValueError):  # of msgspec, and where it is no UTF-8
        store.remove(key)
        return None


def remembered(store: Store, key: str, kind: type[T], make: Callable[[Path], T]) -> tuple[T, Path]:
    """Return the value under a key and its folder; `make` gets the empty folder where there is none yet."""

    def fill(folder: Path) -> None:
        (folder / _RECORD).write_bytes(msgspec.msgpack.encode(make(folder)))

    with store.pin(key):
        found = recalled(store, key, kind)
        if found is None:
            store.folder(key, fill)
            found = recalled(store, key, kind)
    assert found is not None, "what the store has just taken is whole"
    return found


class Notes(Generic[T]):
    """Small values by key in one file that processes share: the newest, some tens of thousands.

    A line each, appended in one write. One that a killed writer left torn is passed over.
    """

    def __init__(self, path: Path, kind: type[T], most: int = 50_000) -> None:
        self._path, self._most = path, most
        with _FIRST:
            self._decoder = msgspec.json.Decoder(kind)
        self._lines: dict[bytes, bytes] = {}  # the oldest first
        self._inode, self._end, self._number = 0, 0, 0  # of what was read: where it ends, and its lines

    def get(self, key: str) -> T | None:
        self._catch_up()
        line = self._lines.get(key.encode())
        try:
            return None if line is None else self._decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):  # torn, damaged, or of another version
            return None

    def put(self, key: str, value: T) -> None:
        """Keep a value, if it is small and the disk has room: what is noted is only quicker with it."""
        line = b"%b %b\n" % (key.encode(), msgspec.json.encode(value))
        if len(line) > _LONGEST_NOTE:
            return
        with contextlib.suppress(OSError), self._path.open("ab", buffering=0) as stream:
            stream.write(line)

    def _catch_up(self) -> None:
        """Read what this process and others have appended since."""
        try:
            found = self._path.stat()
            if found.st_ino == self._inode and found.st_size == self._end:
                return
            with self._path.open("rb") as stream:
                if found.st_ino != self._inode or found.st_size < self._end:
                    self._lines.clear()
                    self._inode, self._end, self._number = os.fstat(stream.fileno()).st_ino, 0, 0
                stream.seek(self._end)
                text = stream.read()
        except OSError:
            return
        whole = text[: text.rfind(b"\n") + 1]
        self._end += len(whole)
        for line in whole.splitlines():
            key, _, value = line.partition(b" ")
            self._lines.pop(key, None)
            self._lines[key] = value
            self._number += 1
        for key in [*islice(self._lines, max(0, len(self._lines) - self._most))]:
            del self._lines[key]
        if self._number > 2 * self._most:
            self._number = len(self._lines)  # it is read anew
            with contextlib.suppress(InputError):
                replace(self._path, (b"%b %b\n" % pair for pair in self._lines.items()), durable=False)


class Bounded(Generic[T]):
    """Values by key whose sizes are `most` together: those used longest ago go first, the newest never does.

    `let_go` is called with each value that goes.
    """

    def __init__(self, most: int, let_go: Callable[[T], object] = lambda value: None) -> None:
        self._most, self._let_go, self._used = most, let_go, 0
        self._values: OrderedDict[str, tuple[T, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: str) -> T | None:
        if key not in self._values:
            return None
        self._values.move_to_end(key)
        return self._values[key][0]

    def keep(self, key: str, value: T, size: int = 1) -> None:
        if key in self._values:
            self.forget([key])
        self._values[key] = value, size
        self._used += size
        while self._used > self._most and len(self._values) > 1:
            self.forget([next(iter(self._values))])

    def forget(self, keys: Iterable[str]) -> None:
        for key in keys:
            if key in self._values:
                value, size = self._values.pop(key)
                self._used -= size
                self._let_go(value)

    def clear(self) -> None:
        self.forget(tuple(self._values))


def room_of(problem: Problem) -> int:
    """Return as how many problems of usual size a problem counts in a table of at most `MOST_PROBLEMS`.

    Contents that lie in files take no memory.
    """
    blobs = (blob for test in problem.tests for blob in (test.input, test.answer) if blob is not None)
    held = sum(len(blob.data) for blob in blobs if blob.data is not None)
    return 1 + (held + _PER_TEST * len(problem.tests)) // _PART


@dataclass
class _Call(Generic[T]):
    task: asyncio.Task[T]
    waiting: int = 0
    alone: asyncio.TimerHandle | None = None  # ends it, while nobody waits


class Shared(Generic[T]):
    """Calls by key. A caller that is cancelled leaves; when the last one does, the work is cancelled too.

    `lasting`: it goes on for so many seconds then, for those who ask again, until `close`.
    """

    def __init__(self, *, lasting: float = 0.0) -> None:
        self._calls: dict[str, _Call[T]] = {}
        self._lasting = lasting

    def __len__(self) -> int:
        return len(self._calls)

    def __contains__(self, key: str) -> bool:
        return key in self._calls

    async def call(self, key: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        call = self._calls.get(key)
        if call is None:
            call = self._calls[key] = _Call(asyncio.ensure_future(work()))
        call.waiting += 1
        if call.alone is not None:
            call.alone.cancel()
            call.alone = None
        try:
            return await asyncio.shield(call.task)
        finally:
            call.waiting -= 1
            is_over = call.task.done()
            if self._lasting and not is_over and not call.waiting:
                call.alone = asyncio.get_running_loop().call_later(self._lasting, self._end, key, call)
                call.task.add_done_callback(lambda task: self._over(key, call))
            elif is_over or not call.waiting:
                if self._calls.get(key) is call:  # nobody is to join what is over or being cancelled
                    del self._calls[key]
                if not is_over:
                    call.task.cancel()
                    await asyncio.wait([call.task])

    async def close(self) -> None:
        """Cancel all work."""
        calls, self._calls = self._calls, {}
        for call in calls.values():
            call.task.cancel()
        await asyncio.gather(*(call.task for call in calls.values()), return_exceptions=True)

    def _end(self, key: str, call: _Call[T]) -> None:
        if self._calls.get(key) is call:  # a new caller must not join what is being cancelled
            del self._calls[key]
        call.task.cancel()

    def _over(self, key: str, call: _Call[T]) -> None:
        """Forget work that ended without a caller; an error is for those who ask again and meet it."""
        if self._calls.get(key) is call and not call.waiting:
            del self._calls[key]
        if call.alone is not None:
            call.alone.cancel()
        if not call.task.cancelled():
            call.task.exception()
