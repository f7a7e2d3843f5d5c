"""Results that are known already, by what they are of: of this run, of its past, and of other runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.store.compact import whole
from ioi_eval.store.folder import EARLIER, RESULTS, Fingerprint, ResultHead, changes, decoded, read_info


class KnownResults:
    """The places of rows, by submission and problem, and by program."""

    def __init__(self) -> None:
        self._places: dict[str, tuple[Path, int]] = {}
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
        for offset, row in decoded(folder / RESULTS, ResultHead):
            problem = info.fingerprint.problems.get(row.problem_id, "")
            self.note(folder / RESULTS, offset, row, problem)
            self.compilers.add(row.compiler)

    def note(self, path: Path, offset: int, row: ResultHead, problem: str) -> None:
        """`problem`: its hash, as in run.json. What a row repeats, the row that was judged says better."""
        if row.is_doubtful:
            return
        place = path, offset
        if row.submission_sha256:
            self._places.setdefault(f"{row.submission_sha256} {problem}", place)
        if row.program_sha256:
            self._places.setdefault(row.program_sha256, place)

    def forget(self, folder: Path) -> None:
        """Drop the places in a folder whose rows were moved or removed."""
        gone = {folder / RESULTS, folder / EARLIER}
        self._places = {what: place for what, place in self._places.items() if place[0] not in gone}

    def find(self, identity: str, problem: str | None = None) -> dict[str, Any] | None:
        """Of a program without its problem, which is in its identity."""
        place = self._places.get(identity if problem is None else f"{identity} {problem}")
        return None if place is None else self.row(*place)

    def row(self, path: Path, offset: int) -> dict[str, Any]:
        with path.open("rb") as stream:
            stream.seek(offset)
            return whole(msgspec.json.decode(stream.readline()), self.confinements)


class Compilers:
    """The compilers of a run's results. It goes on with these: times of two are not comparable."""

    def __init__(self, names: Iterable[str]) -> None:
        self._versions: dict[str, set[str]] = {}
        for name in names:
            self._versions.setdefault(_tool(name), set()).add(name)

    def check(self, compiler: str) -> None:
        """Raise InputError for a result that another version made."""
        before = self._versions.get(_tool(compiler), set())
        if not compiler or not before or compiler in before:
            return
        raise InputError(
            f"programs are built by {compiler} now, but the run's results by {', '.join(sorted(before))}",
            field="compiler",
            remedy="Give fresh=True to score everything again, or accept_compiler=True to mix them",
        )


def _tool(compiler: str) -> str:
    """`g++` of `g++ (Debian 12.2.0) 12.2.0`: what comes before the first number or bracket."""
    return re.split(r"[\d(]", compiler, maxsplit=1)[0].strip()
