"""Places of rows that were written, in few bytes each: by key, and by what they are of; and their index."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Self

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Value
from ioi_eval.store.files import replace
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
from ioi_eval.store.packed import Keys, Packed, PackedContent, numbers
from ioi_eval.store.resources import code_digest
from ioi_eval.store.rows import result_of, whole

_GONE = -1


class KeptDone(msgspec.Struct):
    """Rows that count, as a file holds them."""

    keys: PackedContent
    offsets: memoryview
    heads: memoryview
    kinds: list[tuple[str, str]]


class KeptKnown(msgspec.Struct):
    """What rows are found by, as a file holds it."""

    identities: PackedContent
    offsets: memoryview


class DoneRows(Set[str]):
    """The keys of the rows of results.jsonl that count."""

    def __init__(self) -> None:
        self._keys = Keys()
        self._offsets = array("q")  # by a key's place
        self._heads = array("I")  # the same
        self._kinds: dict[tuple[str, str], int] = {}  # problem and compiler, of which there are few
        self._gone = 0

    @classmethod
    def of(cls, kept: KeptDone) -> Self:
        found = cls()
        found._keys = Keys.of(kept.keys)
        found._offsets, found._heads = numbers("q", kept.offsets), numbers("I", kept.heads)
        found._kinds = {kind: number for number, kind in enumerate(kept.kinds)}
        return found

    @property
    def kept(self) -> KeptDone:
        """Return a view. It is not of rows that were dropped."""
        return KeptDone(
            self._keys.packed.kept, memoryview(self._offsets), memoryview(self._heads), list(self._kinds)
        )

    def add(self, row: ResultHead, offset: int) -> None:
        """Note a new row."""
        kind = self._kinds.setdefault((row.problem_id, row.compiler), len(self._kinds))
        if self._keys.add(row.key):
            self._offsets.append(offset)
            self._heads.append(kind)
        else:
            place = self._keys.find(row.key)
            self._gone -= self._offsets[place] == _GONE
            self._offsets[place], self._heads[place] = offset, kind

    def drop(self, key: str) -> int:
        """Count a row no longer; return its offset."""
        offset = self.offset(key)
        self._offsets[self._keys.find(key)] = _GONE
        self._gone += 1
        return offset

    def offset(self, key: str) -> int:
        return self._offsets[self._place(key)]

    def problem(self, key: str) -> str:
        return list(self._kinds)[self._heads[self._place(key)]][0]

    def keys_of(self, problems: Collection[str]) -> list[str]:
        """Return the keys of some problems' rows."""
        wanted = {kind for (problem, _), kind in self._kinds.items() if problem in problems}
        places = zip(self._keys, self._heads, self._offsets, strict=True) if wanted else ()
        return [key for key, kind, offset in places if kind in wanted and offset != _GONE]

    @property
    def problems(self) -> Set[str]:
        return {problem for problem, _ in self._counting}

    @property
    def compilers(self) -> Set[str]:
        return {compiler for _, compiler in self._counting}

    @property
    def _counting(self) -> list[tuple[str, str]]:
        kinds = {kind for kind, offset in zip(self._heads, self._offsets, strict=True) if offset != _GONE}
        return [of for of, kind in self._kinds.items() if kind in kinds]

    def _place(self, key: str) -> int:
        place = self._keys.find(key)
        if place < 0 or self._offsets[place] == _GONE:
            raise KeyError(key)
        return place

    def __contains__(self, key: object) -> bool:
        place = self._keys.find(key) if isinstance(key, str) else _GONE
        return place >= 0 and self._offsets[place] != _GONE

    def __len__(self) -> int:
        return len(self._keys) - self._gone

    def __iter__(self) -> Iterator[str]:
        return (key for key, offset in zip(self._keys, self._offsets, strict=True) if offset != _GONE)

    @classmethod
    def _from_iterable(cls, keys: Iterable[str]) -> set[str]:  # type: ignore[override]
        return set(keys)


# --- by what they are of -----------------------------------------------------------------------------


class KnownRows:
    """The places of a file's rows by what they are of: submission and problem, or program."""

    def __init__(self, path: Path, shown: Path) -> None:
        """`shown`: its name in messages, where it is held open by another."""
        self.path, self.shown = path, shown
        self.clear()

    def clear(self) -> None:
        self._identities = Packed()
        self._offsets = array("Q")  # by an identity's place

    def fill(self, kept: KeptKnown) -> None:
        """Know what a file holds."""
        self._identities, self._offsets = Packed.of(kept.identities), numbers("Q", kept.offsets)

    @property
    def kept(self) -> KeptKnown:
        return KeptKnown(self._identities.kept, memoryview(self._offsets))

    def note(self, offset: int, row: ResultHead, problem: str) -> None:
        """`problem`: its hash, as in run.json. What a row repeats, the row that was judged says better."""
        if row.is_doubtful:
            return
        if row.submission_sha256 and self._identities.add(_short(row.submission_sha256, problem)):
            self._offsets.append(offset)
        if row.program_sha256 and self._identities.add(_short(row.program_sha256)):
            self._offsets.append(offset)

    def find(self, name: bytes) -> int | None:
        place = self._identities.find(name)
        return None if place < 0 else self._offsets[place]


class KnownResults:
    """Results that are known already: of this run, of its past, and of other runs."""

    def __init__(self) -> None:
        self._files, self._streams = list[KnownRows](), list[BinaryIO]()
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
                file.note(offset, row, info.fingerprint.problems.get(row.problem_id, ""))
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
        """Let go of the files of other runs."""
        for stream in self._streams:
            stream.close()

    def file(self, path: Path, shown: Path | None = None) -> KnownRows:
        """Return what is known of a file. Those that are named first are asked first."""
        for known in self._files:
            if known.path == path:
                return known
        self._files.append(KnownRows(path, shown or path))
        return self._files[-1]

    def forget(self, folder: Path) -> None:
        """Drop the places in a folder whose rows were moved or removed."""
        for known in self._files:
            if known.path in (folder / RESULTS, folder / EARLIER):
                known.clear()

    def find(self, identity: str, problem: str | None = None) -> dict[str, Any] | None:
        """Return the row of a program; its problem is part of its identity."""
        name = _short(identity, problem)
        for known in self._files:
            if (offset := known.find(name)) is not None:
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


def _short(identity: str, problem: str | None = None) -> bytes:
    named = identity if problem is None else f"{identity} {problem}"
    return hashlib.blake2b(named.encode(), digest_size=16).digest()


# --- the index: what the journal keeps of results.jsonl, so that the next call need not read it -------
# It holds for a file that begins with the same bytes, which are read and hashed anew each time. Rows behind
# them are read.


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
        try:
            content = memoryview((self._folder / ROWS_INDEX).read_bytes())
            if hashlib.sha256(content[_HASH:]).digest() != content[:_HASH]:
                return None  # a machine that failed left a part of it
            index = msgspec.msgpack.decode(content[_HASH:], type=RowsIndex)
        except (OSError, msgspec.MsgspecError):
            return None
        if index.made_of != _made_of(problems):
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


def _made_of(problems: Mapping[str, str]) -> str:
    """`problems`: their hashes, which are part of what a row is found by."""
    content = msgspec.json.encode([dict(sorted(problems.items())), code_digest()])
    return hashlib.sha256(content).hexdigest()
