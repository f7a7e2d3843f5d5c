"""Dumps of generations become submissions: looked through as a whole first, then streamed.

The first pass reads every row, so that whatever is wrong with a dump is said before anything is judged. The
second extracts code and makes submissions, and never holds more than a few rows. Of a large dump the first
rows alone are a dump, too (`open_beginning`), so that these need not wait for the others.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice, takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, NamedTuple

import msgspec

from ioi_eval.benchmarks.benchmark import Benchmark
from ioi_eval.benchmarks.dump_reader import (
    ABSENT,
    OTHER_IDS,
    OTHER_SHARD,
    Columns,
    DumpOptions,
    DumpRows,
    Finder,
    Selection,
    UsableRow,
    as_text,
    value_at,
)
from ioi_eval.benchmarks.hub import RowFile, fetch, hub_name
from ioi_eval.benchmarks.loaded import benchmarks
from ioi_eval.benchmarks.row_files import (
    FileRow,
    column_names,
    dump_files,
    is_dump,
    line_start,
    read_columns,
    scan,
    scan_growth,
    stamp,
)
from ioi_eval.benchmarks.shapes import PROBLEM_COLUMNS, heads, is_statement, problems_in
from ioi_eval.model.errors import BadRows, FailedRequest, InputError, MissingColumn
from ioi_eval.model.fields import Strict
from ioi_eval.model.languages import Language
from ioi_eval.model.languages import find as find_language
from ioi_eval.model.values import LanguageFrom, Problem, Submission, TaskType, Value
from ioi_eval.rules.extraction import (
    Extraction,
    extract,
    named_extraction,
    parse,
    repair,
    why_no_program,
)
from ioi_eval.rules.languages import ChosenLanguage, choose_language
from ioi_eval.store.files import read_value, replace
from ioi_eval.store.packed import Keys, NamedKeys, PackedContent
from ioi_eval.store.resources import PACKAGE, code_digest
from ioi_eval.store.rows import plain

CONTINUED = "continue_prompt"  # among a submission's repairs
_LOOKED_AT = 10_000  # rows of which it is said what they are taken for, and between two signs of life
_LARGE = 32 << 20  # bytes of a dump whose first rows need not wait
_INDEXED = 1 << 20  # bytes of a dump of which the next pass reads only what is new
_HASH = 16  # bytes
_FENCED = "whose program holds a fenced block, as replies do: no fence is taken off"
_BODY = re.compile(r"(?:[ \t]*+\n)*+(?:  |\t)\s*+\S")  # the first line of a function's body is indented
_FENCE = re.compile(r"^ {0,3}```", re.MULTILINE)


class DumpFile(Value):
    path: str
    sha256: str
    rows: int
    id_column: str  # empty: none
    label: str  # what messages call it
    model: str  # who wrote rows that do not say
    stamp: tuple[int, int]  # size and time of change: whether it is still what was looked through

    def check_unchanged(self) -> None:
        """Raises InputError for a file that is no longer what was looked through."""
        if stamp(Path(self.path)) != self.stamp:
            remedy = "Run the same command again: it judges only what changed"
            raise InputError("changed while it was being scored", where=self.path, remedy=remedy)


class Understood(Value):
    """The reading of the first rows that were selected: columns, language, rows without a program."""

    rows: int
    whole: bool  # these are all
    columns: Mapping[str, Mapping[str, int]]  # how many rows by column, by what they hold
    languages: Mapping[str, Mapping[LanguageFrom, int]]  # how many rows by what told it, by language
    without: int  # rows without a program

    def __str__(self) -> str:
        parts = list[str]()
        for what, found in self.columns.items():
            numbered = (f"{column} ({number:,})" for column, number in found.items())
            parts.append(f"{what} <- {', '.join(found if len(found) == 1 else numbered)}")
        languages = (
            f"{name} ({', '.join(_TOLD[of].format(number) for of, number in found.items())})"
            for name, found in self.languages.items()
        )
        parts.append(f"language{'s' if len(self.languages) > 1 else ''} {', '.join(languages)}")
        parts.append(f"{self.without:,} of {self.rows:,} without a program")
        return ", ".join(parts) + ("" if self.whole else f" (from the first {self.rows:,} rows)")


_TOLD: Mapping[LanguageFrom, str] = {
    LanguageFrom.ROW: "from {:,} rows",
    LanguageFrom.OPTION: "{:,} as asked for",
    LanguageFrom.FORMAT: "{:,} by their format",
    LanguageFrom.PROBLEM: "{:,} by their problem",
    LanguageFrom.REPLY: "from {:,} replies",
    LanguageFrom.DEFAULT: "{:,} by default",
}


class DumpInfo(Value):
    """Facts that the first pass over a dump found."""

    files: tuple[DumpFile, ...]
    rows: int
    keys: Keys  # of the rows that were selected, in order
    passed_over: frozenset[str]  # of those that were not
    sha256: str  # of the contents of all files, in whatever order they were named
    understood: Understood
    left_out: Mapping[str, int] = {}  # how many other rows, by reason
    rejected: int = 0  # rows that cannot be used
    noted: Mapping[str, int] = {}  # how many of the rows that were selected, by what is odd about them
    other_files: tuple[str, ...] = ()  # in its folders, of no format of rows


class Located(NamedTuple):
    """A submission and where its row is."""

    submission: Submission
    file: str
    line: int


class GrownFrom(NamedTuple):
    """A dump as it was before rows were added at its end."""

    sha256: str  # as `DumpInfo` has it
    end: tuple[int, int]  # bytes and lines
    submissions: int
    equal: Mapping[str, int]  # rows without an id, by content
    rows: int  # answers are rows of their own, and copies count

    def before(self, number: int, path: Path) -> GrownFrom | None:
        """Return the dump of the first submissions; None unless each line is one, by its id."""
        if not number or self.equal or not self.end[1] == self.rows == self.submissions:
            return None
        return GrownFrom("", (line_start(path, number), number), number, {}, number)


class Dump(Collection[Submission]):
    """A dump that was looked through. Each iteration reads it anew."""

    def __init__(
        self,
        info: DumpInfo,
        problems: Finder,
        options: DumpOptions,
        selection: Selection,
        rejected: Sequence[InputError] = (),
        problem_ids: NamedKeys | None = None,
        index: DumpIndex | None = None,
        grown: GrownFrom | None = None,
    ) -> None:
        """`index`: of this dump, for the next pass. `grown`: the dump that it was before."""
        self.info, self.rejected, self.index, self.grown = info, rejected, index, grown
        self._passed_over = False
        self.problem_ids = NamedKeys() if problem_ids is None else problem_ids
        """The problem of each submission, by key."""
        self._problems, self._options, self._selection = problems, options, selection

    def __len__(self) -> int:
        return len(self.info.keys)

    def __contains__(self, submission: object) -> bool:
        return isinstance(submission, Submission) and submission.key in self.problem_ids

    def __iter__(self) -> Iterator[Submission]:
        return (located.submission for located in self.located())

    @property
    def has_other_shards(self) -> bool:
        """Return True if rows are left out because they belong to other shards: a shard may be empty."""
        return OTHER_SHARD in self.info.left_out

    @property
    def before(self) -> Iterator[str]:
        """Yield the keys of the submissions that an iteration passes over."""
        return islice(self.problem_ids, self._number_before)

    @property
    def _number_before(self) -> int:
        return self.grown.submissions if self.grown is not None and self._passed_over else 0

    def behind(self, *done: Container[str]) -> Dump:
        """Return the same dump. Its iteration passes over what is done of that which it was before it grew.

        That is all of it, or the first part of one with a line for each submission.
        """
        if self.grown is None:
            return self
        numbered = enumerate(islice(self.problem_ids, self.grown.submissions))
        number, open_one = next(
            ((number, key) for number, key in numbered if not any(key in each for each in done)), (0, None)
        )
        if open_one is None:
            return self._behind(self.grown)
        if (before := self.grown.before(number, Path(self.info.files[0].path))) is None:
            return self
        rest = self._behind(before)
        first = next(iter(rest), None)
        return rest if first is not None and first.key == open_one else self

    def _behind(self, before: GrownFrom) -> Dump:
        info, options, selection = self.info, self._options, self._selection
        earlier = (self.rejected, self.problem_ids, self.index, before)
        rest = Dump(info, self._problems, options, selection, *earlier)
        rest._passed_over = True
        return rest

    def located(self) -> Iterator[Located]:
        """The submissions with the places of their rows."""
        return islice(self._located(), len(self) - self._number_before)  # reads no further than the last one

    def _located(self) -> Iterator[Located]:
        start = 0, 0
        reader = DumpRows(self._problems, self._options, self._selection, self.problem_ids)
        if self.grown is not None and self._passed_over:
            reader.go_on_behind(self.grown.submissions, self.grown.equal)
            start = self.grown.end
        for file in self.info.files:
            file.check_unchanged()
            place = RowFile(Path(file.path), file.label, file.model)
            for entry in reader.selected(place, file.sha256, file.id_column, start):
                problem = entry.problem
                assert problem is not None, "only rows of selected problems become submissions"
                spoken, code, repairs = _program(entry, problem, self._options)
                submission = Submission(
                    key=entry.key,
                    problem_id=self._problems.label(problem),
                    code=code,
                    no_program=_why_none(entry) if code is None else "",
                    language=spoken.language,
                    language_from=spoken.source,
                    year=problem.year if problem.year is not None else entry.year,
                    target_subtask=entry.subtask,
                    repairs=repairs,
                    row=plain(entry.columns),
                )
                yield Located(submission, file.label, entry.line)


def open_dump(
    paths: Sequence[str | Path | RowFile],
    *,
    problems: Finder,
    options: DumpOptions | None = None,
    selection: Selection | None = None,
    on_rows: Callable[[int], None] = lambda rows: None,
    read_by: str = "",
    index: DumpIndex | None = None,
) -> Dump:
    """Looks through all rows of files (as `find_dumps` finds them), folders and datasets on the hub.

    Raises BadRows for those that cannot be used, unless `options` has them skipped. `on_rows` is called now
    and then with the number of rows so far. With the `index` of a pass that was `read_by` the same, rows that
    it knows are not read again; the dump has an index itself if it is large.
    """
    options, selection = options or DumpOptions(), selection or Selection()
    for name in filter(None, (options.language, options.default_language)):
        find_language(name)
    first, places = _FirstPass(DumpRows(problems, options, selection), options, on_rows), find_dumps(paths)
    plain_choice = len(places) == 1 and selection == Selection() and options.keys_of_content
    if index is not None and index.read_by == read_by and plain_choice and not places[0].model:
        first.index = index
    info = first.look_through(places, skip_bad=options.skip_bad_rows)
    found = first.found_index(info, read_by) if plain_choice and read_by else None
    return Dump(info, problems, options, selection, first.bad, first.reader.taken, found, first.grown)


def open_beginning(
    places: Sequence[RowFile], problems: Finder, options: DumpOptions, selection: Selection
) -> Dump | None:
    """Return the dump that the first rows of a large one are; None where they must be looked through first.

    That is where nothing of them can be judged, or something is wrong with them.
    """
    if sum(stamp(place.path)[0] for place in places) < _LARGE or not options.keys_of_content:
        return None
    first = _FirstPass(DumpRows(problems, options, selection), options, lambda rows: None, _LOOKED_AT)
    try:
        info = first.look_through(places, skip_bad=options.skip_bad_rows)
    except (InputError, UnicodeDecodeError):  # `open_dump` says all that is wrong
        return None
    return Dump(info, problems, options, selection, (), first.reader.taken) if info.keys else None


def find_dumps(dumps: Iterable[str | Path | RowFile]) -> list[RowFile]:
    """The files of dumps: what lies on disk under such a name, else on the hub, from where it is fetched."""
    found: list[RowFile] = []
    for dump in dumps:
        if isinstance(dump, RowFile):
            found.append(dump)
        elif not Path(dump).exists() and not is_dump(Path(dump)) and (name := hub_name(str(dump))):
            found.extend(fetch(name))
        else:
            found.extend(RowFile(path, str(path)) for path in dump_files([dump]))
    return found


def mentioned(
    paths: Sequence[str | Path | RowFile], column: str | None = None, prompt: str | None = None
) -> Collection[str] | None:
    """Return the ids of the problems that a dump has rows of; None where only statements tell them.

    `column`, `prompt`: those that were named. `open_dump` reports the faults of rows.
    """
    if prompt is not None:
        return None
    wanted = heads() if column is None else {column, column.partition(".")[0]}
    found: set[str] = set()
    for place in find_dumps(paths):
        with _labelled(place):
            names = column_names(place.path) if place.path.suffix.lower() == ".parquet" else ()
            for row in read_columns(place.path, wanted):
                named = ABSENT if column is None else value_at(row, column)
                if column is None and _names_problem_by_id(row):
                    named = row["id"]
                values = problems_in(row, names) if named is ABSENT else (named,)
                for value in values:
                    if is_statement(value) or (value is None and named is ABSENT):
                        return None
                    found.update([] if value is None else [str(value).strip()])
    return frozenset(found)


def _names_problem_by_id(row: Mapping[str, Any]) -> bool:
    """Return True for a row without a column of problems whose `id` looks like a problem of a benchmark."""
    found = row.get("id")
    if not isinstance(found, str) or found.isdigit() or not row.keys().isdisjoint(PROBLEM_COLUMNS):
        return False
    return any(benchmark.ids and re.fullmatch(benchmark.ids, found) for benchmark in benchmarks())


@contextmanager
def _labelled(place: RowFile) -> Iterator[None]:
    """Errors that name a file's path name what the user called it."""
    try:
        yield
    except InputError as error:
        if error.where != str(place.path) or place.label == error.where:
            raise
        raise error.but(where=place.label) from error


# --- the index of a dump: what its first pass found, for the next one, which reads only what was added -----

INDEX = ".dump.index"  # holds for a file that begins with the same bytes, which are hashed anew each time


class FirstPassCounts(msgspec.Struct):
    """The numbers that a first pass has come to."""

    rows: int = 0
    looked_at: int = 0  # selected rows of which more was found out
    without: int = 0  # of these, rows without a program
    columns: dict[str, dict[str, int]] = {}  # rows by column, by what they hold
    languages: dict[str, dict[LanguageFrom, int]] = {}  # rows by what told it, by language
    programs: int = 0  # texts of the column of programs
    fenced: int = 0  # of these, those with a fence
    replies: int = 0  # of rows with such a text, those that have a reply in a column of its own


class DumpIndex(Value):
    """The first pass over a large dump, as far as the next one goes on from it."""

    size: int  # bytes, to the end of a line
    sha256: str  # of these bytes
    read_by: str  # a hash of the options, the problems, the package's sources and the Python
    id_column: str
    counts: FirstPassCounts
    keys: PackedContent  # of the submissions, in order
    names: list[str]  # of problems
    problems: memoryview  # the place of each submission's problem among them
    ids: PackedContent  # of all rows
    contents: memoryview  # a hash of each of these
    equal: dict[str, int]  # rows without an id, by content
    passed_over: list[str]
    left_out: dict[str, int]
    noted: dict[str, int]


def reading(options: DumpOptions, problems: Mapping[str, str]) -> str:
    """Return a hash of all that the first pass depends on beside the file; `problems`: a hash of each."""
    content: list[Any] = [options, dict(sorted(problems.items())), code_digest(PACKAGE), sys.version]
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()


def read_index(folder: Path) -> DumpIndex | None:
    """Read the index of a run's dump; None where there is none that can be used."""
    return read_value(folder / INDEX, DumpIndex, decode=msgspec.msgpack.decode)


def write_index(folder: Path, index: DumpIndex | None) -> None:
    """Without an index, an older one goes."""
    if index is None:
        (folder / INDEX).unlink(missing_ok=True)
    else:
        replace(folder / INDEX, [msgspec.msgpack.encode(index)])


# --- the first pass ----------------------------------------------------------------------------------


class _FirstPass:
    def __init__(
        self,
        reader: DumpRows,
        options: DumpOptions,
        on_rows: Callable[[int], None],
        most: int | None = None,
    ) -> None:
        """`most`: rows to look at, whatever comes behind them."""
        self.reader, self._options, self._on_rows, self._most = reader, options, on_rows, most
        self._counts = FirstPassCounts()
        self._ids, self._hashes = Keys(), bytearray()  # of the rows with an id: a hash of each
        self._contents: dict[str, str] = {}
        self.bad: list[InputError] = []
        self.index: DumpIndex | None = None  # of the dump as it was, perhaps
        self.grown: GrownFrom | None = None

    def look_through(self, places: Sequence[RowFile], *, skip_bad: bool) -> DumpInfo:
        begun = takewhile(lambda place: self._most is None or self._counts.rows < self._most, places)
        files, counts = tuple(self._labelled_file(place) for place in begun), self._counts
        if not skip_bad and (faults := list(self._faults())):
            raise BadRows(faults)
        rows = sum(file.rows for file in files)
        if not rows:
            where = ", ".join(place.label for place in places)
            raise InputError("no rows in it", where=where, remedy="Is it the right file?")
        if self._most is None:
            self.reader.check_found(where=files[0].label)
        if 2 * counts.fenced > counts.programs:
            column = self.reader.code_column
            remedy = f"Give code_column={column} with always_extract=True to take the programs from them"
            if counts.replies == counts.programs:
                remedy = "Give always_extract=True to take the programs from the replies in the other column"
            what = f"{counts.fenced} of {counts.programs} texts hold fenced blocks, as replies do"
            where = ", ".join(file.label for file in files)
            raise InputError(f"{what} and programs do not", where=where, field=column, remedy=remedy)
        return DumpInfo(
            files=files,
            rows=rows,
            keys=self.reader.taken.keys_in_order,
            passed_over=frozenset(self.reader.passed_over),
            left_out=dict(self.reader.left_out),
            noted=dict(self.reader.noted),
            understood=Understood(
                rows=counts.looked_at,
                whole=self._most is None and counts.looked_at == len(self.reader.taken),
                columns=counts.columns,
                languages=counts.languages,
                without=counts.without,
            ),
            rejected=len(self.bad),
            sha256=_of_contents([file.sha256 for file in files]),
        )

    def _faults(self) -> Iterator[InputError]:
        """The faults of rows, each missing column of a file once. Requests that failed are no fault."""
        lacking = Counter((row.where, row.problem) for row in self.bad if isinstance(row, MissingColumn))
        noted = set[tuple[str, str]]()
        for row in self.bad:
            place = (row.where, row.problem)
            if isinstance(row, FailedRequest) or place in noted:
                continue
            if isinstance(row, MissingColumn) and lacking[place] > 1:
                noted.add(place)
                problem = f"{row.problem} (in {lacking[place]:,} rows; this is the first)"
                yield InputError(problem, where=row.where, row=row.row, remedy=row.remedy)
            else:
                yield row

    def _understand(self, entry: UsableRow) -> None:
        assert entry.problem is not None, "rows of other problems are not taken"
        counts = self._counts
        counts.looked_at += 1
        for what, column in entry.read_from.items():
            found = counts.columns.setdefault(what, {})
            found[column] = found.get(column, 0) + 1
        spoken, code, _ = _program(entry, entry.problem, self._options)
        languages = counts.languages.setdefault(find_language(spoken.language).name, {})
        languages[spoken.source] = languages.get(spoken.source, 0) + 1
        counts.without += code is None

    def _labelled_file(self, place: RowFile) -> DumpFile:
        with _labelled(place):
            return self._file(place)

    def _file(self, place: RowFile) -> DumpFile:
        path, label = place.path, place.label
        stamped, start = stamp(path), (0, 0)
        if self.index is not None and (grown := scan_growth(path, self.index.size, self.index.sha256)):
            content, start = grown.sha256, (self.index.size, grown.lines)
            self._know(self.index, start)
        else:
            content = scan(path) if self._most is None else path.as_posix()
        if content in self._contents:
            raise InputError(
                f"the same content as {self._contents[content]}", where=label, remedy="Name it once"
            )
        id_column, counts = self.reader.id_column(path), self._counts
        rows = counts.rows if self.grown is not None else 0
        for entry in self.reader.entries(place, content, id_column, start):
            rows += 1
            counts.rows += 1
            if counts.rows % _LOOKED_AT == 0:
                self._on_rows(counts.rows)
            fault = entry if isinstance(entry, InputError) else self._fault_of_key(entry, label, id_column)
            if fault is not None:
                self.bad.append(fault)
            elif not isinstance(entry, InputError):
                taken = self.reader.take(entry)
                if taken and counts.looked_at < _LOOKED_AT:
                    self._understand(entry)
                if entry.code is not None:
                    counts.programs += 1
                    counts.replies += entry.generation is not None
                    if _FENCE.search(entry.code) is not None:
                        counts.fenced += 1
                        is_selected = taken or self.reader.is_of_other_shard(entry.key)
                        self.reader.noted.update([_FENCED] if is_selected else ())
            if counts.rows == self._most:
                break
        if rows:
            self._contents[content] = label
        return DumpFile(
            path=str(path),
            sha256=content,
            rows=rows,
            id_column=id_column,
            label=label,
            model=place.model,
            stamp=stamped,
        )

    def _know(self, index: DumpIndex, end: tuple[int, int]) -> None:
        """Take over what an earlier pass found in the first rows."""
        before, reader = _of_contents([index.sha256]), self.reader
        reader.taken = NamedKeys(Keys.of(index.keys), index.names, index.problems)
        self._ids, self._hashes = Keys.of(index.ids), bytearray(index.contents)
        self.grown = GrownFrom(before, end, len(reader.taken), dict(index.equal), index.counts.rows)
        reader.go_on_behind(len(reader.taken), index.equal)
        self.reader.passed_over.update(index.passed_over)
        self.reader.left_out.update(index.left_out)
        self.reader.noted.update(index.noted)
        self._counts = index.counts

    def found_index(self, info: DumpInfo, read_by: str) -> DumpIndex | None:
        """Return the index of a large dump of one .jsonl file without faults; None of others."""
        (file,) = info.files
        path, size = Path(file.path), file.stamp[0]
        if size < _INDEXED or path.suffix.lower() != ".jsonl" or self.bad or not _ends_with_line(path, size):
            return None
        return DumpIndex(
            size=size,
            sha256=file.sha256,
            read_by=read_by,
            id_column=file.id_column,
            counts=self._counts,
            keys=self.reader.taken.keys_in_order.packed.kept,
            names=self.reader.taken.names,
            problems=self.reader.taken.places,
            ids=self._ids.packed.kept,
            contents=memoryview(self._hashes),
            equal=dict(self.reader.equal),
            passed_over=list(self.reader.passed_over),
            left_out=dict(self.reader.left_out),
            noted=dict(self.reader.noted),
        )

    def _fault_of_key(self, entry: UsableRow, label: str, id_column: str) -> InputError | None:
        """A row may be there again, word for word; two that differ cannot have one id."""
        if not id_column:  # distinct, because contents are
            return None
        text = repr(entry.columns).encode(errors="surrogatepass")
        content = hashlib.blake2b(text, digest_size=_HASH).digest()
        if self._ids.add(entry.key):
            self._hashes += content
            return None
        place = _HASH * self._ids.find(entry.key)
        if self._hashes[place : place + _HASH] != content:
            return InputError(
                f"the id {entry.key!r} is there twice, and the rows are not the same",
                where=label,
                row=entry.line,
                field=id_column,
                remedy=OTHER_IDS,
            )
        return None


def _of_contents(hashes: Sequence[str]) -> str:
    return hashlib.sha256("".join(sorted(hashes)).encode()).hexdigest()


def _ends_with_line(path: Path, size: int) -> bool:
    with path.open("rb") as stream:
        stream.seek(size - 1)
        return stream.read(1) == b"\n"


# --- the second pass ---------------------------------------------------------------------------------


def _program(
    entry: UsableRow, problem: Problem, options: DumpOptions
) -> tuple[ChosenLanguage, str | None, tuple[str, ...]]:
    """A row's language, its program, and what changed it."""
    spoken = choose_language(
        problem,
        row=entry.language,
        option=options.language,
        format=entry.format,
        reply=entry.generation if entry.code is None else None,
        extraction=options.extract,
        default=options.default_language or "c++",
    )
    return spoken, *_code(entry, problem, options, find_language(spoken.language))


def _code(
    entry: UsableRow, problem: Problem, options: DumpOptions, language: Language
) -> tuple[str | None, tuple[str, ...]]:
    code = entry.code
    if code == "":
        return (code if language.syntax == "python" else None), ()
    if code is not None and code.lstrip().startswith("```"):
        return None, ()  # a reply in the column of programs, which no compiler takes
    if code is not None:
        return repair(code, problem, language, options.repairs)
    reply, how = (entry.generation or "").replace("\r\n", "\n"), options.extract
    prompt = _prompt_of(entry, problem, language) if how in (Extraction.LAST, Extraction.FIRST) else ""
    begun = _continued(prompt, reply)
    if begun and parse(begun) is not None:
        return begun, (CONTINUED,)  # whatever examples follow it
    if entry.generation is not None:
        code = extract(entry.generation, language, how)
    if code is None:
        return (begun, (CONTINUED,)) if begun else (None, ())
    if (body := _continued(prompt, code)) and parse(body) is not None:
        return body, (CONTINUED,)
    repaired, repairs = repair(code, problem, language, options.repairs)
    return repaired, (*named_extraction(how), *repairs)


def _why_none(entry: UsableRow) -> str:
    """Return in a few words why a row holds no program."""
    if entry.code == "":
        return "the program is empty"
    if entry.code is not None:
        return "the column of programs holds a reply with a fenced block"
    return why_no_program(entry.generation)


def _prompt_of(entry: UsableRow, problem: Problem, language: Language) -> str:
    """Return the beginning of a function that a reply may go on with; empty where there is none."""
    if problem.task_type is not TaskType.FUNCTION or language.syntax != "python":
        return ""
    own = entry.columns.get("prompt")
    return own if isinstance(own, str) and "def " in own else problem.starter_code


def _continued(prompt: str, text: str) -> str:
    """The prompt of a function and the text, up to a fence, that goes on in its body; empty otherwise."""
    if not prompt or not _BODY.match(text):
        return ""
    between = "" if prompt.endswith("\n") or text.startswith("\n") else "\n"
    return prompt + between + text.partition("\n```")[0]


# --- a dump's benchmark ------------------------------------------------------------------------------


FIELD = "problems"


def guessed(dumps: Sequence[str | Path | RowFile], column: str | None = None) -> str:
    """The name of the benchmark that all ids are of. InputError: none fits, or several do."""
    ids = mentioned(dumps, column) or frozenset()
    columns = {name for place in find_dumps(dumps) for name in column_names(place.path)}
    files = {place.path.name for place in find_dumps(dumps)}
    fitting = [
        benchmark.name
        for benchmark in benchmarks()
        if fits(benchmark, ids, columns) or (files and files <= set(benchmark.dump_files))
    ]
    where = ", ".join(str(getattr(dump, "label", dump)) for dump in dumps)
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        what = f"its rows may be of {' or '.join(fitting)}"
        raise InputError(what, where=where, field=FIELD, remedy=f"Say which: problems={fitting[0]}")
    shown = ", ".join(sorted(ids)[:3]) or "none"
    what = f"nothing says which problems its rows are of (their ids: {shown})"
    raise InputError(what, where=where, field=FIELD, remedy="Name a benchmark, or packages")


def fits(benchmark: Benchmark, ids: Collection[str], columns: Collection[str]) -> bool:
    """Return True if all ids look like the benchmark's, and its dumps' own columns are there."""
    pattern = benchmark.ids
    return (
        bool(pattern and ids)
        and set(benchmark.dump_columns) <= set(columns)
        and all(re.fullmatch(pattern, key) for key in ids)
    )


# --- dumps on standard input -------------------------------------------------------------------------


STANDARD_INPUT = "-"
_LABEL = "standard input"
_BEGINNINGS = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}  # of packed data


@contextmanager
def received(dumps: Sequence[str], stream: BinaryIO) -> Iterator[Sequence[str | RowFile]]:
    """Dumps with `-` replaced by a file of what the stream holds: JSON, as lines or a list, packed or not."""
    if STANDARD_INPUT not in dumps:
        yield dumps
        return
    if dumps.count(STANDARD_INPUT) > 1:
        raise InputError("named twice", where=_LABEL, remedy="Name it once")
    with TemporaryDirectory(prefix="ioi-eval-") as folder:
        place = RowFile(_kept(stream, Path(folder)), _LABEL)
        yield [place if dump == STANDARD_INPUT else dump for dump in dumps]


def _kept(stream: BinaryIO, folder: Path) -> Path:
    beginning = stream.read(4)
    if not beginning:
        raise InputError("nothing in it", where=_LABEL, remedy="Did the command that feeds it fail?")
    suffix = next((end for start, end in _BEGINNINGS.items() if beginning.startswith(start)), "")
    path = folder / f"dump.json{suffix}"
    with path.open("wb") as file:
        file.write(beginning)
        shutil.copyfileobj(stream, file)
    return path


# --- frames, datasets and lists of rows --------------------------------------------------------------


_MEMORY = "rows"  # what messages call them, and the folder of their run
_BATCH = 1000  # rows of a frame that are taken at a time

# A file, a folder or a dataset's name, several of them, or rows: a frame of pandas or polars, a
# `datasets.Dataset`, dicts.
Dumps = str | Path | Sequence[str | Path | RowFile] | Iterable[Mapping[str, Any]] | Any


@contextmanager
def as_files(dumps: Dumps) -> Iterator[Sequence[str | Path | RowFile]]:
    """Yield dumps by their names; rows in memory get a temporary file. InputError for what is neither."""
    if isinstance(dumps, str | Path | RowFile):
        yield [dumps]
        return
    found = iter(_rows(dumps))
    first = next(found, None)
    if first is None:
        raise InputError("no rows in it", where=_MEMORY, remedy="Give at least one row, or a dump's name")
    if isinstance(first, str | Path | RowFile):
        yield [first, *found]
        return
    with TemporaryDirectory(prefix="ioi-eval-") as folder:
        path = Path(folder) / f"{_MEMORY}.jsonl"
        with path.open("wb") as file:
            for number, row in enumerate(chain([first], found), start=1):
                if not isinstance(row, Mapping):
                    raise InputError(
                        f"a row is a dict of columns, not {type(row).__name__}",
                        where=_MEMORY,
                        row=number,
                        remedy='Expected {"problem_id": ..., ...}',
                    )
                if any(isinstance(value, bytes) for value in row.values()):
                    row = {name: as_text(value) for name, value in row.items()}
                    columns = Columns(FileRow(number, row), Strict(_MEMORY), {})
                    for what in ("code", "generation"):  # raises where it is no text
                        columns.value(what)
                file.write(msgspec.json.encode(plain(row)) + b"\n")
        yield [RowFile(path, _MEMORY)]


def _rows(dumps: Any) -> Iterable[Any]:
    """The rows of a table; of other collections what they hold. Iterating over a frame gives its columns."""
    if (named := getattr(dumps, "iter_rows", None)) is not None:  # polars
        return named(named=True)  # type: ignore[no-any-return]
    names = getattr(dumps, "columns", None)
    if (parts := getattr(dumps, "iloc", None)) is not None and names is not None:  # pandas
        return _rows_of_frame(parts, [str(name) for name in names], len(dumps))
    if isinstance(dumps, Iterable) and not isinstance(dumps, Mapping):
        return dumps
    held = f" ({', '.join(map(str, list(dumps)[:5]))})" if isinstance(dumps, Mapping) else ""
    remedy = "Give a frame, a datasets.Dataset, a list of dicts, or a file; of several splits, one"
    raise InputError(
        f"no rows can be read from the type {type(dumps).__name__}{held}", where=_MEMORY, remedy=remedy
    )


def _rows_of_frame(parts: Any, names: list[str], number: int) -> Iterator[dict[str, Any]]:
    if (twice := next((name for name in names if names.count(name) > 1), None)) is not None:
        raise InputError(f"two columns are called {twice!r}", where=_MEMORY, remedy="Rename one of them")
    for start in range(0, number, _BATCH):
        part = parts[start : start + _BATCH]
        yield from part.astype(object).where(part.notna(), None).to_dict("records")
