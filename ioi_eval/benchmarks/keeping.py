"""Problems made of rows, kept on disk: contents of tests by their hash, each problem as one JSON text.

Problems are kept in batches, a folder of the cache each, because a folder that is in use is pinned and each
pin takes a descriptor. Contents up to a KiB stay in the problem: on disk each would take a block and an
inode, four times as much and more, and in memory no more than the names of the files would.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import msgspec

from ioi_eval.models import Blob, Problem, Test, Value
from ioi_eval.store import Store

INLINE = 1 << 10  # bytes
_PINS = 128  # batches that one call keeps pinned, at most about so many


class Keep:
    """Takes contents into the folder of one batch."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def blob(self, content: str | bytes | memoryview) -> Blob:
        """A buffer goes to its file as it is: nothing is copied in memory."""
        data = content.encode() if isinstance(content, str) else content
        size = data.nbytes if isinstance(data, memoryview) else len(data)
        if size <= INLINE:
            return Blob.of(bytes(data))
        sha256 = hashlib.sha256(data).hexdigest()
        place = self._folder / sha256
        if not place.exists():
            place.write_bytes(data)
        return Blob(sha256=sha256, size=size, path=sha256)  # relative: the folder moves when it is done


class Kept(Value):
    """One problem as it was made, or why it could not be."""

    problem: Problem | None = None
    unusable: str = ""


class Request(NamedTuple):
    """A problem that is wanted: what it is known by, and how it is made if nobody has yet."""

    key: str  # a hash of everything that it is made of
    make: Callable[[Keep], Kept]


class Shelf:
    """Problems by key. What it returned stays until `kept` is closed."""

    def __init__(self, store: Store, kept: ExitStack) -> None:
        self._store, self._kept = store, kept
        self._folders: dict[str, Path | None] = {}  # by batch, pinned

    def get(self, requests: Sequence[Request]) -> list[Kept]:
        """In the order of the requests; each is made where it is not there."""
        found = {request.key: kept for request in requests if (kept := self._read(request.key))}
        missing = [request for request in requests if request.key not in found]
        for batch in _batches(missing, 1 + len(requests) // _PINS):
            self._make(batch)
            for request in batch:
                kept = self._read(request.key)
                assert kept is not None, "it is pinned and was just made"
                found[request.key] = kept
        return [found[request.key] for request in requests]

    def _read(self, key: str) -> Kept | None:
        """Through an index entry: the batch that the problem is in."""
        entry = self._store.get(_index_key(key))
        if entry is None:
            return None
        folder = self._pinned(entry.read_text())
        if folder is None or not (place := folder / f"{key}.json").exists():
            return None
        return _placed(msgspec.json.decode(place.read_bytes(), type=Kept), folder)

    def _pinned(self, batch: str) -> Path | None:
        if batch not in self._folders:
            self._kept.enter_context(self._store.pin(batch))
            self._folders[batch] = self._store.get(batch)
        return self._folders[batch]

    def _make(self, requests: Sequence[Request]) -> None:
        batch = hashlib.sha256("".join(request.key for request in requests).encode()).hexdigest()
        self._pinned(batch)

        def fill(folder: Path) -> None:
            keep = Keep(folder)
            for request in requests:
                (folder / f"{request.key}.json").write_bytes(msgspec.json.encode(request.make(keep)))

        self._folders[batch] = self._store.folder(batch, fill)
        for request in requests:
            self._store.remove(_index_key(request.key))  # it may name a batch that is gone
            self._store.put(_index_key(request.key), batch.encode())


def _index_key(key: str) -> str:
    return f"{key}-index"


def _batches(requests: Sequence[Request], size: int) -> Iterator[Sequence[Request]]:
    return (requests[start : start + size] for start in range(0, len(requests), size))


def _placed(kept: Kept, folder: Path) -> Kept:
    """With paths that hold from anywhere. Only contents of tests lie in files."""
    if kept.problem is None:
        return kept
    tests = tuple(_placed_tests(kept.problem.tests, folder))
    return Kept(problem=msgspec.structs.replace(kept.problem, tests=tests))


def _placed_tests(tests: Iterable[Test], folder: Path) -> Iterator[Test]:
    for test in tests:
        answer = test.answer and _at(test.answer, folder)
        yield Test(name=test.name, input=_at(test.input, folder), answer=answer)


def _at(blob: Blob, folder: Path) -> Blob:
    if blob.path is None:
        return blob
    return Blob(sha256=blob.sha256, size=blob.size, path=str(folder / blob.path))
