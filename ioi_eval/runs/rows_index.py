"""The index of a run's rows: what the journal keeps of results.jsonl, so that the next call need not read it.

It holds for a file that begins with the same bytes, which are read and hashed anew each time. Rows behind
them are read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Value
from ioi_eval.runs.done_rows import KeptDone, KeptKnown
from ioi_eval.store.files import replace
from ioi_eval.store.folder import RESULTS
from ioi_eval.store.resources import code_digest

ROWS_INDEX = ".results.index"
_LEAST = 1 << 20  # bytes of results.jsonl; fewer are read in no time
_STEP = 16 << 20  # bytes from which on it is written while the run goes on
_GROWTH = 1.1  # of results.jsonl from one time to the next one
_HASH = hashlib.sha256().digest_size
_PIECE = 1 << 20


class RowsIndex(Value):
    """The content of `.results.index`, behind its own hash."""

    size: int  # bytes, to the end of a line
    sha256: str  # of these bytes
    made_of: str  # a hash of all else that it depends on
    doubtful: bool  # there are rows that may repeat another program
    done: KeptDone
    known: KeptKnown


class RowsSoFar:
    """The bytes of results.jsonl so far, as its writer knows them: their number and hash."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._digest, self.size = hashlib.sha256(), 0
        self._indexed = 0  # bytes that the index on disk is of

    def add(self, line: bytes) -> None:
        self._digest.update(line + b"\n")
        self.size += len(line) + 1

    def read(self, most: int | None = None) -> None:
        """Read on, to the end or so many bytes in all."""
        with suppress(FileNotFoundError), (self._folder / RESULTS).open("rb") as stream:
            stream.seek(self.size)
            while piece := stream.read(_PIECE if most is None else min(_PIECE, most - self.size)):
                self._digest.update(piece)
                self.size += len(piece)

    def find_index(self, problems: Mapping[str, str]) -> RowsIndex | None:
        """Return the index that holds for the file's beginning, which is read; None without one."""
        index = _read(self._folder / ROWS_INDEX)
        if index is None or index.made_of != _made_of(problems):
            return None
        self.read(index.size)
        if self._digest.hexdigest() != index.sha256:
            self._digest, self.size = hashlib.sha256(), 0
            return None
        self._indexed = self.size
        return index

    def wants_index(self, *, ends: bool) -> bool:
        """Return True where the index on disk is old: now and then, and when the run `ends`."""
        least = max(self._indexed + 1, _LEAST) if ends else max(self._indexed * _GROWTH, _STEP)
        return self.size >= least

    def write_index(
        self, problems: Mapping[str, str], doubtful: bool, done: KeptDone, known: KeptKnown
    ) -> None:
        """Write the index of all rows so far. A run goes on without one where there is no room."""
        index = RowsIndex(
            size=self.size,
            sha256=self._digest.hexdigest(),
            made_of=_made_of(problems),
            doubtful=doubtful,
            done=done,
            known=known,
        )
        content, self._indexed = msgspec.msgpack.encode(index), self.size
        with suppress(InputError):
            replace(self._folder / ROWS_INDEX, [hashlib.sha256(content).digest(), content], durable=False)


def _read(path: Path) -> RowsIndex | None:
    """None where there is none, or where a machine that failed left a part of it."""
    try:
        content = memoryview(path.read_bytes())
        if hashlib.sha256(content[_HASH:]).digest() != content[:_HASH]:
            return None
        return msgspec.msgpack.decode(content[_HASH:], type=RowsIndex)
    except (OSError, msgspec.MsgspecError):
        return None


def _made_of(problems: Mapping[str, str]) -> str:
    """`problems`: their hashes, which are part of what a row is found by."""
    content = msgspec.json.encode([dict(sorted(problems.items())), code_digest()])
    return hashlib.sha256(content).hexdigest()
