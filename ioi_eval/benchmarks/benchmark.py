"""The form of a benchmark: a file that turns rows into problems, and an entry in the registry.

A benchmark lists its problems from cheap columns first (`candidates`). Only what is selected, and of that
only what a dump mentions, is made into a problem (`problem`), once for each state of its tables.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec.structs import replace

from ioi_eval.benchmarks.tables import Row, Table, Tables
from ioi_eval.model.errors import InputError, IoiEvalError
from ioi_eval.model.languages import read_packages
from ioi_eval.model.options import Count, Said
from ioi_eval.model.values import Blob, Limits, Problem, Solution, Value
from ioi_eval.problems.package import find_testlib
from ioi_eval.rules.json_tests import CasesError
from ioi_eval.store import Store
from ioi_eval.store.files import replace as write
from ioi_eval.store.memory import remembered
from ioi_eval.store.rows import as_label
from ioi_eval.store.tasks import People

INLINE = 1 << 10  # bytes


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

    def file(self, blob: Blob) -> Blob:
        """Copy contents that lie in a file elsewhere, without reading them as a whole."""
        if blob.path is None or blob.size <= INLINE:
            return Blob.of(blob.read())
        place = self._folder / blob.sha256
        if not place.exists():
            shutil.copyfile(blob.path, place)
        return Blob(sha256=blob.sha256, size=blob.size, path=blob.sha256)


class Kept(Value):
    """A problem as it was made, or the reason why it could not be."""

    problem: Problem | None = None
    unusable: str = ""


def kept(store: Store, key: str, make: Callable[[Keep], Kept]) -> Kept:
    """Return what is kept under a key, a hash of all that it is made of; make it where it is missing."""
    found, folder = remembered(store, key, Kept, lambda folder: make(Keep(folder)))
    if not _is_whole(found, folder):
        store.remove(key)
        found, folder = remembered(store, key, Kept, lambda folder: make(Keep(folder)))
    if found.problem is None:
        return found
    tests = tuple(  # only their contents lie in files: with paths that hold from anywhere
        replace(test, input=_at(test.input, folder), answer=test.answer and _at(test.answer, folder))
        for test in found.problem.tests
    )
    return Kept(problem=replace(found.problem, tests=tests))


def _is_whole(found: Kept, folder: Path) -> bool:
    """Return False where a test in the record changed, or a power cut took or cut off a file of the tests."""
    tests = found.problem.tests if found.problem is not None else ()
    blobs = [blob for test in tests for blob in (test.input, test.answer) if blob is not None]
    if not all(blob.data is None or Blob.of(blob.data).sha256 == blob.sha256 for blob in blobs):
        return False
    places = ((folder / blob.path, blob.size) for blob in blobs if blob.path is not None)
    return all(place.is_file() and place.stat().st_size == size for place, size in places)


def _at(blob: Blob, folder: Path) -> Blob:
    return blob if blob.path is None else replace(blob, path=str(folder / blob.path))


def written(rows: Iterable[Mapping[str, Any]], name: str, cache: Path) -> Path:
    """A file of these rows, for copies on disk that have them in another shape."""
    lines = [f"{json.dumps(row)}\n".encode() for row in rows]
    place = cache / "tables" / f"{name}-{hashlib.sha256(b''.join(lines)).hexdigest()}.jsonl"
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        write(place, lines)
    return place


def statement_of(text: str) -> Blob | None:
    return Blob.of(text) if text.strip() else None


def read_day(written: str) -> str:
    """Return a day as 2024-05-31, or nothing for nothing; InputError for what is no day."""
    try:
        return written and datetime.strptime(written, "%Y-%m-%d").date().isoformat()
    except ValueError as error:
        raise InputError(f"{written!r} is not a day", remedy="Write it as 2024-05-31") from error


def in_bytes(mebibytes: float) -> int:
    return int(mebibytes * (1 << 20))


class BenchmarkOptions(Value):
    """The source of the rows and the choice of problems. Empty: the benchmark's own, or all."""

    problems: Annotated[
        frozenset[str], Said(name="problem", metavar="ID", help="Only this problem; may be repeated.")
    ] = frozenset()
    years: Annotated[
        frozenset[int],
        Said(name="year", metavar="YEAR", help="Only problems of this year; may be repeated."),
    ] = frozenset()
    difficulty: Annotated[
        frozenset[str],  # the dataset's own words, in any case
        Said(metavar="WORD", help="Only problems of this difficulty; may be repeated."),
    ] = frozenset()
    tags: Annotated[
        frozenset[str],  # any of these, in any case; the platform is one
        Said(name="tag", metavar="WORD", help="Only problems with this tag; may be repeated."),
    ] = frozenset()
    date_from: Annotated[
        str, Said(metavar="DAY", help="Only problems from this day on: 2024-05-31.", read=read_day)
    ] = ""
    date_to: Annotated[str, Said(metavar="DAY", help="Only problems up to this day.", read=read_day)] = ""
    first: Annotated[
        Count | None,  # of what the other options leave, in the order of the rows
        Said(metavar="N", help="Only the first N problems."),
    ] = None
    sample: Annotated[
        Count | None,  # of what the other options leave, whatever the order of the rows
        Said(metavar="N", help="Only N of the selected problems."),
    ] = None
    seed: Annotated[int, Said(metavar="S", help="Seed of the sample.")] = 0
    data_dir: Annotated[
        str,
        Said(
            typed=Path,
            read=str,
            metavar="DIR",
            help="Folder with copies of the datasets: nothing is fetched.",
        ),
    ] = ""
    dataset: Annotated[
        str,  # a hub id, or a file of rows
        Said(metavar="ID", help="Another dataset with the benchmark's columns."),
    ] = ""
    config: Annotated[str, Said(metavar="NAME", help="The dataset's config, where it has several.")] = ""
    split: Annotated[str, Said(metavar="NAME", help="The dataset's split, or several as a+b.")] = ""
    revision: Annotated[str, Said(metavar="REV", help="The dataset's revision on the hub.")] = ""
    generated_tests: Annotated[
        bool, Said(help="Include tests that the contest itself did not have.")  # where the dataset tells
    ] = True
    checker: Annotated[
        str,  # for programs' outputs, but where a program of the problem judges
        Said(metavar="KIND", help="Compare outputs in another way than the benchmark: apps."),
    ] = ""
    packages: Annotated[
        tuple[str, ...] | None,  # by their names in an import; None: those that the benchmark promises
        Said(
            typed=str,
            read=read_packages,
            metavar="NAME[,NAME...]",
            help="Python packages that the judge must have for programs; none: no package.",
            unset="those that the benchmark promises",
            panel="Judging",
        ),
    ] = None
    time_limit: Annotated[
        Annotated[float, msgspec.Meta(ge=0.001, le=1e6)] | None,
        Said(
            metavar="S",
            help="Seconds of CPU for each test, instead of the problems' own.",
            panel="Judging",
        ),
    ] = None
    memory_limit: Annotated[
        Count | None,  # bytes
        Said(
            typed=float,
            least=1,
            most=1e9,
            read=in_bytes,
            metavar="MIB",
            help="Memory for each test, instead of the problems' own.",
            panel="Judging",
        ),
    ] = None

    def limited(self, problem: Problem) -> Problem:
        """The problem with the limits that are asked for."""
        limits = problem.limits
        if self.time_limit is not None:
            times = Limits.contest(self.time_limit, None)
            limits = replace(limits, cpu_time=times.cpu_time, wall_time=times.wall_time)
        if self.memory_limit is not None:
            limits = replace(limits, memory=self.memory_limit)
        return problem if limits is problem.limits else replace(problem, limits=limits)


def header_folders(options: BenchmarkOptions) -> tuple[Path, ...]:
    """Return the folders beside the data that may hold testlib.h."""
    return (Path(options.data_dir),) if options.data_dir else ()


class Candidate(Value):
    """A problem as selections see it, before anything expensive of it is read."""

    id: str
    rows: tuple[int, ...]  # of the main table
    alias: str = ""  # what dumps may call it as well
    year: int | None = None
    difficulty: str = ""
    tags: tuple[str, ...] = ()
    date: str = ""  # 2024-05-31, whatever follows
    unusable: str = ""  # why it cannot be judged, where that is known already


class Unusable(IoiEvalError):
    """The reason why a problem cannot be judged, a known flaw of the dataset. It is left out, and counted."""


class ColumnNames(Value):
    """A table's columns by what they hold. Empty: there is none."""

    id: str = "id"  # empty: rows are known by their numbers
    difficulty: str = ""
    tags: tuple[str, ...] = ()
    date: str = ""
    title: str = ""
    statement: str = ""
    starter: str = ""


class Benchmark(ABC):
    """Knows its dataset's schema, and nothing of caches, selections or dumps."""

    name: ClassVar[str]
    about: ClassVar[str]  # one line for people
    dataset: ClassVar[str]  # hub id of the main table
    config: ClassVar[str] = ""  # of that on the hub
    split: ClassVar[str]  # several with a plus between them
    # The splits of which dumps may be if most of their problems are not in `split`. Empty: no others.
    all_splits: ClassVar[str] = ""
    columns: ClassVar[tuple[str, ...]]  # of the main table, that every row needs: also what it is known by
    mixed: ClassVar[tuple[str, ...]] = ()  # of a file of JSON: values of any type, which become texts of JSON
    other_files: ClassVar[str] = ""  # a pattern: names of files that are not the main table's
    language: ClassVar[str] = "c++"  # of rows that do not say
    packages: ClassVar[tuple[str, ...]] = ()  # that its own harness has for programs in Python
    ids: ClassVar[str] = ""  # a pattern of its problems' ids, by which dumps are known to be its own
    dump_files: ClassVar[tuple[str, ...]] = ()  # names of files that are its dumps, whatever their ids
    dump_columns: ClassVar[tuple[str, ...]] = ()  # that such dumps have besides
    # The order of dumps that are lists of replies for each problem: by id, of all problems. False: by row.
    lists_by_id: ClassVar[bool] = False
    adds_to: ClassVar[str] = ""  # a benchmark with the same ids, to which it adds tests
    named: ClassVar[ColumnNames] = ColumnNames()
    uses_testlib: ClassVar[bool] = False  # its programs may include testlib.h, which is no part of it
    heeds: ClassVar[tuple[str, ...]] = ()  # options by which `problem` makes something else of the same rows
    version: ClassVar[int] = 1  # to be raised when `problem` makes something else of the same rows

    def may_have(self, row: Mapping[str, Any]) -> bool:
        """Return False if a row with the benchmark's columns is another benchmark's."""
        return True

    def rows(self, data_dir: str, cache: Path) -> Path | None:
        """The file with the rows of the main table, where copies on disk have it in another shape."""
        return None

    def candidates(self, main: Table) -> Iterator[Candidate]:
        """Return every problem of the main table, read from cheap columns: one a row."""
        return map(self.candidate, main)

    def candidate(self, row: Row) -> Candidate:
        """Return the problem of a row, as the columns say that the class names."""
        day = str(self.value_of(row, self.named.date) or "")[:10].replace("/", "-")  # JSON's are times
        date = day if day[:4].isdecimal() else ""
        return Candidate(
            id=self.id_of(row),
            rows=(row.index,),
            year=int(date[:4]) if date else None,
            difficulty=as_label(self.text_of(row, self.named.difficulty)),
            tags=tuple(tag for column in self.named.tags if (tag := self.text_of(row, column))),
            date=date,
        )

    def id_of(self, row: Row) -> str:
        return row.name(self.named.id) if self.named.id else f"{self.name}_{row.index}"

    def text_of(self, row: Row, column: str, default: str = "") -> str:
        return row.text(column, default)

    def value_of(self, row: Row, column: str) -> Any:
        return row.value(column)

    @abstractmethod
    def problem(self, candidate: Candidate, tables: Tables, keep: Keep, options: BenchmarkOptions) -> Problem:
        """The problem; contents of tests through `keep`. Raises InputError or `Unusable`."""

    def of_row(
        self, row: Row, candidate: Candidate, finish: Callable[[Problem], Problem], **more: Any
    ) -> Problem:
        """Return the problem of a row, unusable where `finish`, which adds tests, cannot understand them."""
        problem = Problem(
            id=candidate.id,
            name=self.text_of(row, self.named.title, candidate.id),
            year=candidate.year,
            source=f"{row.table.where}, row {row.index + 1}",
            difficulty=candidate.difficulty,
            tags=candidate.tags,
            statement=statement_of(self.text_of(row, self.named.statement)),
            starter_code=self.text_of(row, self.named.starter),
        )
        try:
            return finish(replace(problem, **more))
        except CasesError as error:
            return replace(problem, **more, unusable=str(error))

    def fingerprint(self, candidate: Candidate, tables: Tables) -> str:
        """Changes when a table changes that the problem is made of."""
        return tables.main.fingerprint

    def matter(self, options: BenchmarkOptions) -> str:
        """Return what `problem` heeds besides rows, as a text: options, or a header that programs include."""
        if self.uses_testlib:
            found = find_testlib(*header_folders(options))
            return f"{found} {found.stat().st_size} {found.stat().st_mtime_ns}" if found else ""
        return " ".join(f"{name}={getattr(options, name)}" for name in self.heeds)

    def people(self, tables: Tables) -> People | None:
        """Return what people reached at the problems' contests, where the dataset tells. InputError."""
        return None

    def references(self, candidate: Candidate, tables: Tables) -> tuple[Solution, ...]:
        """The dataset's own solutions; they are read when somebody asks, and kept nowhere."""
        return ()
