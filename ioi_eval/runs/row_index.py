"""Where rows of results are: by key, and by what was judged; and the index that is kept of that."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Value
from ioi_eval.store.folder import (
    EARLIER,
    RESULTS,
    Fingerprint,
    ResultHead,
    changes,
    decoded,
    located,
    read_info,
)
from ioi_eval.store.resources import code_digest
from ioi_eval.store.rows import result_of, whole
from ioi_eval.store.tables import TableFile, as_bytes, as_text

ROWS_INDEX = ".results.index"  # beside results.jsonl
_LEAST_BYTES = 1 << 20  # of results.jsonl: a smaller file is read in no time
_STEP_BYTES = 16 << 20  # of results.jsonl, from which on the index is saved while the run goes on
_GROWTH = 1.1  # of results.jsonl from one time to the next one
_PIECE_BYTES = 1 << 20

# An identity is a hash of a submission and its problem, or of a program.
_SCHEMA = """
CREATE TABLE rows (
    offset INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, problem BLOB NOT NULL, compiler BLOB NOT NULL
);
CREATE TABLE identities (identity BLOB PRIMARY KEY, offset INTEGER NOT NULL) WITHOUT ROWID;
"""


class _Facts(Value):
    """What a saved index holds for. Rows behind these bytes of results.jsonl are read."""

    size: int  # bytes, to the end of a line
    sha256: str  # of these bytes
    made_of: str  # a hash of all else that the index depends on


class RowIndex(Set[str]):
    """The places of the rows of one file, in tables. As a set: the keys of the rows that count.

    `load` and `save` keep the tables beside results.jsonl, so that the next call need not read rows again.
    """

    def __init__(self, path: Path, shown: Path | None = None) -> None:
        """`shown`: the file's name in messages, if the file is held open by another name."""
        self.path, self.shown = path, shown or path
        self._tables = TableFile(_SCHEMA)
        self._begin()

    def clear(self) -> None:
        """Know no row, as of a file that is empty."""
        self._tables.close()
        self._tables = TableFile(_SCHEMA)
        self._begin()

    def close(self) -> None:
        """Let go of the tables."""
        self._tables.close()

    def _begin(self) -> None:
        self._digest, self._size = hashlib.sha256(), 0  # of the file's bytes so far
        self._saved_size = 0  # of the bytes that the saved index is of

    # --- rows ---

    def add(self, offset: int, row: ResultHead, problem: str) -> bool:
        """Note a row that counts; return False, and note nothing, if its key has one.

        `problem`: the hash of the row's problem, as in run.json.
        """
        columns = (as_bytes(row.key), as_bytes(row.problem_id), as_bytes(row.compiler))
        if not self._tables.run("INSERT OR IGNORE INTO rows VALUES (?, ?, ?, ?)", offset, *columns).rowcount:
            return False
        self.know(offset, row, problem)
        return True

    def know(self, offset: int, row: ResultHead, problem: str) -> None:
        """Note what was judged, also if the row counts no longer. The first row of an identity is found."""
        submission, program = row.submission_sha256, row.program_sha256
        names = [_short(submission, problem)] if submission else []
        for name in (*names, _short(program)) if program else names:
            self._tables.run("INSERT OR IGNORE INTO identities VALUES (?, ?)", name, offset)

    def drop(self, key: str) -> int:
        """Count a key's row no longer; return its offset. What was judged stays known."""
        offset = self.offset(key)
        self._tables.run("DELETE FROM rows WHERE offset = ?", offset)
        return offset

    def find(self, identity: str, problem: str | None = None) -> int | None:
        """Return the offset of a row of a submission, or of a program; its problem is in its identity."""
        name = _short(identity, problem)
        found = self._tables.run("SELECT offset FROM identities WHERE identity = ?", name).fetchone()
        return None if found is None else int(found[0])

    def offset(self, key: str) -> int:
        return int(self._of(key, "offset"))

    def problem(self, key: str) -> str:
        return as_text(self._of(key, "problem"))

    def keys_of(self, problems: Collection[str]) -> list[str]:
        """Return the keys of some problems' rows."""
        found = self._tables.run("SELECT key, problem FROM rows ORDER BY offset") if problems else ()
        return [as_text(key) for key, problem in found if as_text(problem) in problems]

    @property
    def problems(self) -> Set[str]:
        return {as_text(problem) for (problem,) in self._tables.run("SELECT DISTINCT problem FROM rows")}

    @property
    def compilers(self) -> Set[str]:
        return {as_text(compiler) for (compiler,) in self._tables.run("SELECT DISTINCT compiler FROM rows")}

    def _of(self, key: str, column: str) -> Any:
        found = self._tables.run(f"SELECT {column} FROM rows WHERE key = ?", as_bytes(key)).fetchone()
        if found is None:
            raise KeyError(key)
        return found[0]

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, str):
            return False
        return self._tables.run("SELECT 1 FROM rows WHERE key = ?", as_bytes(key)).fetchone() is not None

    def __len__(self) -> int:
        return int(self._tables.run("SELECT count(*) FROM rows").fetchone()[0])

    def __iter__(self) -> Iterator[str]:
        return (as_text(key) for (key,) in self._tables.run("SELECT key FROM rows ORDER BY offset"))

    @classmethod
    def _from_iterable(cls, keys: Iterable[str]) -> set[str]:  # type: ignore[override]
        return set(keys)

    # --- the file beside results.jsonl ---

    def load(self, problems: Mapping[str, str]) -> int:
        """Know the rows of the saved index; return the bytes of results.jsonl that the index is of.

        `problems`: their hashes. That is 0 bytes, and no row, if the index is missing, damaged or made of
        anything else than the beginning of results.jsonl, these problems and this version of the package.
        """
        if (tables := TableFile.saved(self._index)) is None:
            return 0
        facts = msgspec.json.decode(tables.facts, type=_Facts)
        if facts.made_of != _made_of(problems):
            return 0
        self.read_on(facts.size)
        if self._digest.hexdigest() != facts.sha256:
            self.clear()
            return 0
        self._tables.close()
        self._tables, self._saved_size = tables, self._size
        return self._size

    def save(self, problems: Mapping[str, str], *, ends: bool) -> None:
        """Save the index if the saved one is old: now and then, and when the run `ends`.

        A run goes on without a saved index if there is no room for it.
        """
        least = max(self._saved_size * _GROWTH, _STEP_BYTES)
        if ends:
            least = max(self._saved_size + 1, _LEAST_BYTES)
        if self._size < least:
            return
        self._saved_size = self._size
        facts = _Facts(
            size=self._size,
            sha256=self._digest.hexdigest(),
            made_of=_made_of(problems),
        )
        with suppress(InputError):
            self._tables.save(self._index, msgspec.json.encode(facts))

    def wrote(self, line: bytes) -> None:
        """Note the next line of the file, as its writer knows it."""
        self._digest.update(line + b"\n")
        self._size += len(line) + 1

    def read_on(self, end: int | None = None) -> None:
        """Read the file's next bytes, to an offset or to the end."""
        with suppress(FileNotFoundError), self.path.open("rb") as stream:
            stream.seek(self._size)
            while piece := stream.read(_PIECE_BYTES if end is None else min(_PIECE_BYTES, end - self._size)):
                self._digest.update(piece)
                self._size += len(piece)

    @property
    def _index(self) -> Path:
        return self.path.with_name(ROWS_INDEX)


def _short(identity: str, problem: str | None = None) -> bytes:
    named = identity if problem is None else f"{identity} {problem}"
    return hashlib.blake2b(named.encode(), digest_size=16).digest()


def _made_of(problems: Mapping[str, str]) -> str:
    """Return a hash of the problems' hashes, which are part of what a row is found by, and the version."""
    content = msgspec.json.encode([dict(sorted(problems.items())), code_digest()])
    return hashlib.sha256(content).hexdigest()


class KnownResults:
    """Results that are known already: of this run, of its past, and of other runs."""

    def __init__(self) -> None:
        self._files, self._streams = list[RowIndex](), list[BinaryIO]()
        self.compilers = set[str]()  # of other runs
        self.confinements = dict[str, Mapping[str, Any]]()  # of all runs, by what they are

    def take_over(self, folder: Path, ours: Fingerprint) -> None:
        """Also know the results of another run, which must have been judged by the same options."""
        where = str(folder)
        if not folder.is_dir() or (info := read_info(folder)) is None or info.replacing:
            raise InputError(
                "there is no run in it", where=where, field="reuse", remedy="Name a run's folder"
            )
        if found := changes(info.fingerprint, ours):
            raise InputError(
                f"its results cannot be taken over. They differ by {'; '.join(found)}",
                where=where,
                field="reuse",
                remedy="Judge with the same options and version, or leave it out",
            )
        self.confinements |= info.confinements
        file = self.file(self._held(folder / RESULTS), folder / RESULTS)
        try:
            for offset, row in decoded(file.path, ResultHead):
                file.know(offset, row, info.fingerprint.problems.get(row.problem_id, ""))
                self.compilers.add(row.compiler)
        except InputError as error:
            raise error.but(where=str(folder / RESULTS)) from error

    def _held(self, path: Path) -> Path:
        """Return a path to the file as it is now, though its run may be begun anew meanwhile."""
        with suppress(FileNotFoundError):
            self._streams.append(path.open("rb"))
            return Path(f"/proc/self/fd/{self._streams[-1].fileno()}")
        return path

    def close(self) -> None:
        """Let go of the tables, and of the files of other runs."""
        for known in self._files:
            known.close()
        for stream in self._streams:
            stream.close()

    def file(self, path: Path, shown: Path | None = None) -> RowIndex:
        """Return what is known of a file. Those that are named first are asked first."""
        for known in self._files:
            if known.path == path:
                return known
        self._files.append(RowIndex(path, shown or path))
        return self._files[-1]

    def forget(self, folder: Path) -> None:
        """Drop the places in a folder whose rows were moved or removed."""
        for known in self._files:
            if known.path in (folder / RESULTS, folder / EARLIER):
                known.clear()

    def find(self, identity: str, problem: str | None = None) -> dict[str, Any] | None:
        """Return the row of a program; its problem is part of its identity."""
        for known in self._files:
            if (offset := known.find(identity, problem)) is not None:
                with located(known.path, offset, known.shown):
                    row = self.row(known.path, offset)
                    result_of(row)  # InputError of a row that is none, here where its place is known
                    return row
        return None

    def row(self, path: Path, offset: int) -> dict[str, Any]:
        with path.open("rb") as stream:
            stream.seek(offset)
            with located(path, offset):
                return whole(msgspec.json.decode(stream.readline()), self.confinements)
