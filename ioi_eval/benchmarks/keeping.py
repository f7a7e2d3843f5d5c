"""Problems made of rows, kept on disk: contents of tests by their hash, each problem as one JSON text.

Contents up to a KiB stay in the problem's text: on disk each would take a block and an inode, four times as
much and more, and in memory they take about what the names of files would.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from ioi_eval.models import Blob, Problem, Test, Value
from ioi_eval.store import Store

INLINE = 1 << 10  # bytes
_FILE = "problem.json"


class Keep:
    """Takes contents into the folder of one problem."""

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


def kept(store: Store, key: str, make: Callable[[Keep], Kept]) -> Kept:
    """What is kept under a key, a hash of all that it is made of; made where it is not there."""

    def fill(folder: Path) -> None:
        (folder / _FILE).write_bytes(msgspec.json.encode(make(Keep(folder))))

    folder = store.folder(key, fill)
    return _placed(msgspec.json.decode((folder / _FILE).read_bytes(), type=Kept), folder)


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
