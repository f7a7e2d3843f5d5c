"""SQLite tables of what was read from large files; memory holds a few pages of them."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import tempfile
import weakref
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Any, Self

from ioi_eval.model.errors import InputError
from ioi_eval.store.files import replace

_HASH_BYTES = hashlib.sha256().digest_size
_PIECE_BYTES = 1 << 20
_OPTIONS = """
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -2000;
BEGIN;
"""
_FACTS = "CREATE TABLE facts (content BLOB NOT NULL);"


class TableFile:
    """Tables in a temporary file, which no other process sees and which is gone when this one ends.

    `save` leaves a copy with a hash at its end, and `saved` goes on from a copy. Nothing is lost with a copy:
    what tables say can be read again from the file that they were made of.
    """

    def __init__(self, schema: str) -> None:
        """`schema`: the statements that make the tables."""
        self.facts = b""  # what `save` was given about tables that were saved
        self._open()
        self._execute_all(_OPTIONS + _FACTS + schema)

    def _open(self) -> None:
        try:
            with tempfile.NamedTemporaryFile(prefix="ioi-eval-", suffix=".sqlite") as named:
                self._connection = sqlite3.connect(named.name, isolation_level=None, check_same_thread=False)
                self._file = FileIO(os.dup(named.fileno()), "r+")
        except (OSError, sqlite3.Error) as error:
            raise _refused(error) from error
        self.close = weakref.finalize(self, _close, self._file, self._connection)

    @classmethod
    def saved(cls, path: Path) -> Self | None:
        """Return tables as `save` left them in a file; None if there is no such file, or it is damaged."""
        found = cls.__new__(cls)
        try:
            with path.open("rb") as copy:
                found._open()
                shutil.copyfileobj(copy, found._file)
            end = found._file.seek(-_HASH_BYTES, os.SEEK_END)
            digest = found._file.read()
            found._file.truncate(end)
        except OSError:
            return None
        if digest != found._digest():
            return None
        found._execute_all(_OPTIONS)
        (found.facts,) = found.run("SELECT content FROM facts").fetchone()
        return found

    def run(self, statement: str, *values: Any) -> sqlite3.Cursor:
        """Run a statement of SQL; InputError if the temporary file cannot be read or written."""
        try:
            return self._connection.execute(statement, values)
        except sqlite3.OperationalError as error:
            raise _refused(error) from error

    def _execute_all(self, statements: str) -> None:
        try:
            self._connection.executescript(statements)
        except sqlite3.OperationalError as error:
            raise _refused(error) from error

    def save(self, path: Path, facts: bytes) -> None:
        """Leave a copy of the tables in a file, with facts about them; InputError if there is no room."""
        self.run("DELETE FROM facts")
        self.run("INSERT INTO facts VALUES (?)", facts)
        self.run("COMMIT")
        try:
            replace(path, self._pieces(), durable=False)
        finally:
            self.run("BEGIN")

    def _pieces(self) -> Iterator[bytes]:
        """Yield the temporary file's content, and a hash of it."""
        self._file.seek(0)
        while piece := self._file.read(_PIECE_BYTES):
            yield piece
        yield self._digest()

    def _digest(self) -> bytes:
        self._file.seek(0)
        return hashlib.file_digest(self._file, "sha256").digest()


def as_bytes(text: str) -> bytes:
    """Return a text as a table holds it: SQLite's own texts cannot hold halves of surrogate pairs."""
    return text.encode(errors="surrogatepass")


def as_text(content: bytes) -> str:
    return content.decode(errors="surrogatepass")


def _close(file: FileIO, connection: sqlite3.Connection) -> None:
    connection.close()
    file.close()


def _refused(error: Exception) -> InputError:
    return InputError(
        f"a temporary file cannot be used: {error}",
        where=tempfile.gettempdir(),
        remedy="Make room there, or name another folder in TMPDIR",
    )
