"""Dumps of generations become submissions: looked through as a whole first, then streamed.

The first pass reads every row, so that whatever is wrong with a dump is said before anything is judged. The
second extracts code and makes submissions, and never holds more than a few rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ioi_eval.benchmarks.columns import Columns
from ioi_eval.benchmarks.formats import dump_files, read_rows, scan
from ioi_eval.errors import InputError
from ioi_eval.extraction import Repairs, extract, repair
from ioi_eval.languages import find as find_language
from ioi_eval.models import Problem, Submission, Value
from ioi_eval.rows import plain

_ID_COLUMNS = ("uuid", "id")
_NO_COLUMN = ""  # as id_column: rows are known by the file's content and their place


class Finder(Protocol):
    """What dumps need of problems. `find` raises InputError; `label` is what submissions call the problem."""

    def find(self, problem_id: str, year: int | None = None) -> Problem: ...

    def label(self, problem: Problem) -> str: ...


class DumpOptions(Value):
    """How rows are read. All of it can change results."""

    id_column: str | None = None  # None: `uuid` or `id`, where there is one; empty: none
    language: str = "c++"  # of rows that do not say
    always_extract: bool = False  # from `generation`, where there is a `code` too
    repairs: Repairs = Repairs()


class Selection(Value):
    """Which rows become submissions. Rows of other problems may name problems that nobody knows."""

    problems: frozenset[str] = frozenset()  # ids; empty: all
    keys: frozenset[str] = frozenset()  # empty: all
    limit: int | None = None  # the first ones only


class DumpFile(Value):
    path: str
    sha256: str
    rows: int
    id_column: str  # empty: none
    stamp: tuple[int, int]  # size and time of change: whether it is still what was looked through


class DumpInfo(Value):
    """What the first pass found."""

    files: tuple[DumpFile, ...]
    rows: int
    keys: tuple[str, ...]  # of the rows that were selected, in order
    sha256: str  # of the contents of all files, in whatever order they were named


class Located(NamedTuple):
    """A submission and where its row is."""

    submission: Submission
    file: str
    line: int


class Dump(Collection[Submission]):
    """A dump that was looked through. Each iteration reads it anew."""

    def __init__(self, info: DumpInfo, problems: Finder, options: DumpOptions, selection: Selection) -> None:
        self.info = info
        self._problems, self._options, self._selection = problems, options, selection

    def __len__(self) -> int:
        return len(self.info.keys)

    def __contains__(self, submission: object) -> bool:
        return isinstance(submission, Submission) and submission.key in self.info.keys

    def __iter__(self) -> Iterator[Submission]:
        return (located.submission for located in self.located())

    def located(self) -> Iterator[Located]:
        """The submissions with the places of their rows."""
        return islice(self._located(), len(self))  # reads no further than the last one

    def _located(self) -> Iterator[Located]:
        reader = _Reader(self._problems, self._options, self._selection)
        for file in self.info.files:
            _check_unchanged(file)
            for entry in reader.selected(Path(file.path), file.sha256, file.id_column):
                submission = _submission(entry, self._problems, self._options)
                yield Located(submission, file.path, entry.line)


def open_dump(
    paths: Sequence[str | Path],
    *,
    problems: Finder,
    options: DumpOptions | None = None,
    selection: Selection | None = None,
) -> Dump:
    """Looks through all rows of .jsonl, .json, .csv and .parquet files, and folders of them."""
    options, selection = options or DumpOptions(), selection or Selection()
    find_language(options.language)
    info = _FirstPass(_Reader(problems, options, selection)).look_through(dump_files(paths))
    return Dump(info, problems, options, selection)


def check_dump(
    paths: Sequence[str | Path],
    *,
    problems: Finder,
    options: DumpOptions | None = None,
    selection: Selection | None = None,
) -> DumpInfo:
    """The first pass alone: raises the InputError of the first row that cannot be used."""
    return open_dump(paths, problems=problems, options=options, selection=selection).info


def read_dump(
    paths: Sequence[str | Path],
    *,
    problems: Finder,
    options: DumpOptions | None = None,
    selection: Selection | None = None,
) -> Iterator[Submission]:
    """Both passes: the first submission comes when every row is known to be usable."""
    yield from open_dump(paths, problems=problems, options=options, selection=selection)


# --- the first pass ----------------------------------------------------------------------------------


class _FirstPass:
    def __init__(self, reader: _Reader) -> None:
        self._reader = reader
        self._keys: set[str] = set()  # of all rows with an id column
        self._contents: dict[str, Path] = {}

    def look_through(self, paths: Sequence[Path]) -> DumpInfo:
        files = tuple(self._file(path) for path in paths)
        rows = sum(file.rows for file in files)
        if not rows:
            raise InputError(
                "no rows in it", where=", ".join(map(str, paths)), remedy="Is it the right file?"
            )
        self._reader.check_found(where=files[0].path)
        contents = "".join(sorted(file.sha256 for file in files))
        return DumpInfo(
            files=files,
            rows=rows,
            keys=tuple(self._reader.taken),
            sha256=hashlib.sha256(contents.encode()).hexdigest(),
        )

    def _file(self, path: Path) -> DumpFile:
        stamp, content = _stamp(path), scan(path)
        if content in self._contents:
            raise InputError(
                f"the same content as {self._contents[content]}", where=str(path), remedy="Name it once"
            )
        id_column, rows = self._reader.id_column(path), 0
        for entry in self._reader.entries(path, content, id_column):
            rows += 1
            self._check_key(entry, path, id_column)
            self._reader.take(entry)
        if rows:
            self._contents[content] = path
        return DumpFile(path=str(path), sha256=content, rows=rows, id_column=id_column, stamp=stamp)

    def _check_key(self, entry: _Entry, path: Path, id_column: str) -> None:
        if not id_column:  # distinct, because contents are
            return
        if entry.key in self._keys:
            raise InputError(
                f"the id {entry.key!r} is there twice",
                where=str(path),
                row=entry.line,
                field=id_column,
                remedy="Name a column of distinct ids (--id-column NAME), or none (--id-column '')",
            )
        self._keys.add(entry.key)


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", where=str(path)) from error
    return found.st_size, found.st_mtime_ns


def _check_unchanged(file: DumpFile) -> None:
    if _stamp(Path(file.path)) != file.stamp:
        raise InputError("changed while it was being scored", where=file.path, remedy="Start again")


# --- a row -------------------------------------------------------------------------------------------


class _Entry(NamedTuple):
    """A row that was found usable."""

    line: int
    key: str
    problem: Problem | None  # None: of a problem that is not selected
    year: int | None
    subtask: str | None
    language: str
    code: str | None
    generation: str | None
    columns: dict[str, Any]


class _Reader:
    """Turns rows into entries, or into an InputError that says where; and keeps count of what is selected."""

    def __init__(self, problems: Finder, options: DumpOptions, selection: Selection) -> None:
        self._problems, self._options, self._selection = problems, options, selection
        self.taken: dict[str, None] = {}

    def id_column(self, path: Path) -> str:
        """The column that the rows of a file are known by, judged by the first row; empty: none."""
        if self._options.id_column is not None:
            return self._options.id_column
        first = next(read_rows(path), None)
        columns = first.columns if first else {}
        return next((name for name in _ID_COLUMNS if name in columns), _NO_COLUMN)

    def entries(self, path: Path, content: str, id_column: str) -> Iterator[_Entry]:
        for index, row in enumerate(read_rows(path)):
            columns = Columns(row, str(path))
            key = columns.name(id_column) if id_column else f"{content[:16]}-{index}"
            yield self._entry(columns, key)

    def selected(self, path: Path, content: str, id_column: str) -> Iterator[_Entry]:
        return (entry for entry in self.entries(path, content, id_column) if self.take(entry))

    def take(self, entry: _Entry) -> bool:
        """Whether an entry is selected. Counts: to be asked once for each, in order."""
        keys, limit = self._selection.keys, self._selection.limit
        if entry.problem is None or (keys and entry.key not in keys):
            return False
        if limit is not None and len(self.taken) >= limit:
            return False
        self.taken[entry.key] = None
        return True

    def check_found(self, where: str) -> None:
        missing = self._selection.keys - self.taken.keys()
        if missing and self._selection.limit is None:
            raise InputError(
                f"no row with the key {min(missing)!r}",
                where=where,
                remedy="Keys are in the column `key` of results.jsonl",
            )

    def _entry(self, columns: Columns, key: str) -> _Entry:
        problem_id, year = columns.name("problem_id"), columns.year()
        problem = self._problem(columns, problem_id, year)
        code, generation = self._texts(columns)
        language = columns.text("language") or self._options.language
        find_language(language, where=columns.where, row=columns.line)
        return _Entry(
            line=columns.line,
            key=key,
            problem=problem,
            year=year,
            subtask=columns.subtask(problem) if problem else None,
            language=language,
            code=code,
            generation=generation,
            columns=columns.values,
        )

    def _problem(self, columns: Columns, problem_id: str, year: int | None) -> Problem | None:
        wanted = self._selection.problems
        if wanted and problem_id not in wanted:
            return None
        try:
            return self._problems.find(problem_id, year)
        except InputError as error:
            raise columns.wrong(error.problem, error.field, error.remedy) from error

    def _texts(self, columns: Columns) -> tuple[str | None, str | None]:
        """`code` and `generation`, of which one column must be there."""
        if self._options.always_extract and not columns.has("generation"):
            raise columns.missing("`generation`")
        if not columns.has("code") and not columns.has("generation"):
            raise columns.missing("`code` or `generation`")
        code = None if self._options.always_extract else columns.text("code")
        return code, columns.text("generation")


# --- the second pass ---------------------------------------------------------------------------------


def _submission(entry: _Entry, problems: Finder, options: DumpOptions) -> Submission:
    problem = entry.problem
    assert problem is not None, "only rows of selected problems become submissions"
    code, repairs = _code(entry, problem, options)
    return Submission(
        key=entry.key,
        problem_id=problems.label(problem),
        code=code,
        language=entry.language,
        year=problem.year if problem.year is not None else entry.year,
        target_subtask=entry.subtask,
        repairs=repairs,
        row=plain(entry.columns),
    )


def _code(entry: _Entry, problem: Problem, options: DumpOptions) -> tuple[str | None, tuple[str, ...]]:
    language = find_language(entry.language)
    code = entry.code
    if code is None and entry.generation is not None:
        code = extract(entry.generation, language)
    if code is None:
        return None, ()
    return repair(code, problem, language, options.repairs)
