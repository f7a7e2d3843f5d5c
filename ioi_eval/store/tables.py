"""SQLite tables of data that was read from large files. Memory holds only a few pages."""

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
    """Tables in a temporary file that no other process sees and that is gone when this process ends.

    `save` writes a copy followed by a hash, and `load` loads a copy. Losing a copy is harmless: the data can
    be read again from the original file.
    """

    def __init__(self, schema: str) -> None:
        """`schema`: SQL statements that create the tables."""
        self.facts = b""  # additional data that was saved with the tables
        self._open()
        self._execute_all(_OPTIONS + _FACTS + schema)

    def _open(self) -> None:
        try:
            with tempfile.NamedTemporaryFile(prefix="ioi-eval-", suffix=".sqlite") as temporary_file:
                self._connection = sqlite3.connect(
                    temporary_file.name, isolation_level=None, check_same_thread=False
                )
                self._file = FileIO(os.dup(temporary_file.fileno()), "r+")
        except (OSError, sqlite3.Error) as error:
            raise _make_file_error(error) from error
        self.close = weakref.finalize(self, _close, self._file, self._connection)

    @classmethod
    def load(cls, path: Path) -> Self | None:
        """Return the tables that `save` wrote to a file, or None if the file is missing or damaged."""
        table_file = cls.__new__(cls)
        try:
            with path.open("rb") as saved_file:
                table_file._open()
                shutil.copyfileobj(saved_file, table_file._file)
            content_end = table_file._file.seek(-_HASH_BYTES, os.SEEK_END)
            saved_digest = table_file._file.read()
            table_file._file.truncate(content_end)
        except OSError:
            return None
        if saved_digest != table_file._digest():
            return None
        table_file._execute_all(_OPTIONS)
        (table_file.facts,) = table_file.run("SELECT content FROM facts").fetchone()
        return table_file

    def run(self, statement: str, *values: Any) -> sqlite3.Cursor:
        """Run an SQL statement. Raises InputError if the temporary file cannot be read or written."""
        try:
            return self._connection.execute(statement, values)
        except sqlite3.OperationalError as error:
            raise _make_file_error(error) from error

    def _execute_all(self, statements: str) -> None:
        try:
            self._connection.executescript(statements)
        except sqlite3.OperationalError as error:
            raise _make_file_error(error) from error

    def save(self, path: Path, encoded_facts: bytes) -> None:
        """Write a copy of the tables to a file, with `encoded_facts`. Raises InputError if this fails."""
        self.run("DELETE FROM facts")
        self.run("INSERT INTO facts VALUES (?)", encoded_facts)
        self.run("COMMIT")
        try:
            replace(path, self._read_pieces(), durable=False)
        finally:
            self.run("BEGIN")

    def _read_pieces(self) -> Iterator[bytes]:
        """Yield the temporary file's content, then its hash."""
        self._file.seek(0)
        while piece := self._file.read(_PIECE_BYTES):
            yield piece
        yield self._digest()

    def _digest(self) -> bytes:
        self._file.seek(0)
        return hashlib.file_digest(self._file, "sha256").digest()


def as_bytes(text: str) -> bytes:
    """Encode a string for a table. SQLite's own strings cannot hold lone surrogates."""
    return text.encode(errors="surrogatepass")


def as_text(content: bytes) -> str:
    """Decode a string that `as_bytes` encoded."""
    return content.decode(errors="surrogatepass")


def _close(file: FileIO, connection: sqlite3.Connection) -> None:
    connection.close()
    file.close()


def _make_file_error(error: Exception) -> InputError:
    return InputError(
        f"cannot use a temporary file: {error}",
        where=tempfile.gettempdir(),
        remedy="Free space there, or set TMPDIR to another folder",
    )
