"""Places of rows that were written, in few bytes each: by key, and by what they are of."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from pathlib import Path
from typing import Any, Self

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.store.compact import whole
from ioi_eval.store.folder import EARLIER, RESULTS, Fingerprint, ResultHead, changes, decoded, read_info
from ioi_eval.store.packed import Keys, Packed, PackedContent, numbers

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
        return self._of_kinds[self._heads[self._place(key)]][0]

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
    def _of_kinds(self) -> list[tuple[str, str]]:
        return list(self._kinds)

    @property
    def _counting(self) -> list[tuple[str, str]]:
        kinds = {kind for kind, offset in zip(self._heads, self._offsets, strict=True) if offset != _GONE}
        return [self._of_kinds[kind] for kind in kinds]

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

    def __init__(self, path: Path) -> None:
        self.path = path
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
        self._files = list[KnownRows]()
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
        file = self.file(folder / RESULTS)
        for offset, row in decoded(folder / RESULTS, ResultHead):
            file.note(offset, row, info.fingerprint.problems.get(row.problem_id, ""))
            self.compilers.add(row.compiler)

    def file(self, path: Path) -> KnownRows:
        """Return what is known of a file. Those that are named first are asked first."""
        for known in self._files:
            if known.path == path:
                return known
        self._files.append(KnownRows(path))
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
                return self.row(known.path, offset)
        return None

    def row(self, path: Path, offset: int) -> dict[str, Any]:
        with path.open("rb") as stream:
            stream.seek(offset)
            return whole(msgspec.json.decode(stream.readline()), self.confinements)


def _short(identity: str, problem: str | None = None) -> bytes:
    named = identity if problem is None else f"{identity} {problem}"
    return hashlib.blake2b(named.encode(), digest_size=16).digest()
