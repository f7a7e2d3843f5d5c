"""The state that a report leaves for the next one of the same run, which reads only rows that came since.

It holds for results.jsonl that begins with the same bytes, for the same options, problems and sources of the
package, and for the files that it names by their hashes. Otherwise all is read anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

from ioi_eval.model.values import Value
from ioi_eval.reports.addresses import FOLDER
from ioi_eval.reports.pages import Covered, KeptLists, Lists, MadeOf
from ioi_eval.reports.summary import KeptPass
from ioi_eval.reports.tests_table import TESTS, KeptTests
from ioi_eval.store.files import draft_of, read_value, replace
from ioi_eval.store.folder import RESULTS
from ioi_eval.store.tasks import Task

INDEX, ROWS = ".report.index", ".report.rows"
LARGE = 1 << 20  # bytes of results.jsonl; smaller ones are read anew
_PIECE = 1 << 20


class ReportIndex(Value):
    """`.report.index`."""

    covered: Covered
    made_of: str  # a hash of all else that it depends on
    rows: str  # a hash of the file with the lists' rows
    reading: KeptPass
    lists: KeptLists
    tests: KeptTests


class FirstPass:
    """Finds what the last report left, and leaves something for the next."""

    def __init__(self, folder: Path, place: Path, made_of: str) -> None:
        self._place, self._made_of = place, made_of
        self._draft = draft_of(place / ROWS)
        found = read_value(place / INDEX, ReportIndex, decode=msgspec.msgpack.decode)
        index = found if found is not None and found.made_of == made_of else None
        pages = MadeOf.read(place / FOLDER)
        olds = {part.covered for part in (index, pages) if part is not None}
        self.covered, proven = _covered(folder / RESULTS, olds)
        if index is not None and not (index.covered in proven and self._has_files(index)):
            index = None
        self.made = pages if pages is not None and pages.covered in proven else None
        """The sources of the last report's pages, where the rows are still there."""
        self.known, self._large = index, self.covered.size >= LARGE

    def _has_files(self, index: ReportIndex) -> bool:
        try:
            with (self._place / ROWS).open("rb") as stream:
                rows = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError:
            return False
        return rows == index.rows and index.tests.begins(self._place / TESTS)

    @contextlib.contextmanager
    def lists(self, tasks: dict[str, Task]) -> Iterator[Lists]:
        """Yield lists, with the rows of the last report where they hold."""
        try:
            if self.known is not None:
                shutil.copyfile(self._place / ROWS, self._draft)
            begin = 0 if self.known is None else self.known.covered.size
            lists = Lists(tasks, self._draft if self._large else "", begin)
            try:
                if self.known is not None:
                    lists.go_on(self.known.lists)
                yield lists
            finally:
                lists.close()
        finally:
            self._draft.unlink(missing_ok=True)

    def write(self, reading: KeptPass | None, lists: Lists, tests: KeptTests) -> None:
        """Leave the whole for the next report, or nothing. The lists take no more rows."""
        if reading is None or not self._large:
            (self._place / INDEX).unlink(missing_ok=True)
            (self._place / ROWS).unlink(missing_ok=True)
            return
        kept_lists = lists.kept
        lists.close()
        with self._draft.open("rb") as stream:
            rows = hashlib.file_digest(stream, "sha256").hexdigest()
        kept = ReportIndex(
            covered=self.covered,
            made_of=self._made_of,
            rows=rows,
            reading=reading,
            lists=kept_lists,
            tests=tests,
        )
        self._draft.replace(self._place / ROWS)
        replace(self._place / INDEX, [msgspec.msgpack.encode(kept)])


def _covered(path: Path, olds: Collection[Covered]) -> tuple[Covered, set[Covered]]:
    """Hash all whole lines, and return which of the old beginnings they still have."""
    digest, size, proven = hashlib.sha256(), 0, set[Covered]()
    whole = Covered(size=0, sha256=digest.hexdigest())
    stops = sorted({covered.size for covered in olds})
    with contextlib.suppress(FileNotFoundError), path.open("rb") as stream:
        while True:
            proven |= {
                covered for covered in olds if covered == Covered(size=size, sha256=digest.hexdigest())
            }
            stop = next((stop for stop in stops if stop > size), size + _PIECE)
            if not (piece := stream.read(min(_PIECE, stop - size))):
                return whole, proven
            cut = piece.rfind(b"\n") + 1
            digest.update(piece[:cut])
            if cut:
                whole = Covered(size=size + cut, sha256=digest.hexdigest())
            digest.update(piece[cut:])
            size += len(piece)
    return whole, proven
