"""Memories of work: records in a store, a bounded number of values, work that callers share."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

import msgspec

from ioi_eval.store.contents import Store

T = TypeVar("T")
_RECORD = "record.msgpack"
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
    except (OSError, msgspec.DecodeError):
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


@dataclass
class _Call(Generic[T]):
    task: asyncio.Task[T]
    waiting: int = 0


class Shared(Generic[T]):
    """Calls by key. A caller that is cancelled leaves; when the last one does, the work is cancelled too.

    `lasting`: it goes on to its end, for those who ask again, until `close`.
    """

    def __init__(self, *, lasting: bool = False) -> None:
        self._calls: dict[str, _Call[T]] = {}
        self._lasting = lasting

    def __len__(self) -> int:
        return len(self._calls)

    async def call(self, key: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        call = self._calls.get(key)
        if call is None:
            call = self._calls[key] = _Call(asyncio.ensure_future(work()))
        call.waiting += 1
        try:
            return await asyncio.shield(call.task)
        finally:
            call.waiting -= 1
            await self._leave(key, call)

    async def close(self) -> None:
        """Cancel all work."""
        calls, self._calls = self._calls, {}
        for call in calls.values():
            call.task.cancel()
        await asyncio.gather(*(call.task for call in calls.values()), return_exceptions=True)

    async def _leave(self, key: str, call: _Call[T]) -> None:
        if not call.task.done() and (call.waiting or self._lasting):
            if not call.waiting:
                call.task.add_done_callback(lambda task: self._over(key, call))
            return
        if self._calls.get(key) is call:  # a new caller must not join what is over or being cancelled
            del self._calls[key]
        if not call.task.done():
            call.task.cancel()
            await asyncio.wait([call.task])

    def _over(self, key: str, call: _Call[T]) -> None:
        """Forget work that ended without a caller; an error is for those who ask again and meet it."""
        if self._calls.get(key) is call and not call.waiting:
            del self._calls[key]
        if not call.task.cancelled():
            call.task.exception()
