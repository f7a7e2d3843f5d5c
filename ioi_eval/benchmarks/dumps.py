"""Turn dumps of generations into submissions, in two passes.

The first pass reads all rows, so that all errors in a dump are reported before anything is judged. The second
pass extracts the programs and yields submissions; it holds only a few rows in memory. The first rows of a
large dump can be opened as a separate dump (`open_dump_of_first_rows`), so that judging can start early.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice, starmap, takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, NamedTuple

import msgspec

from ioi_eval.benchmarks.benchmark import Benchmark
from ioi_eval.benchmarks.dump_reader import (
    ABSENT,
    OTHER_IDS,
    OTHER_SHARD,
    DumpOptions,
    DumpReader,
    DumpRow,
    ProblemLookup,
    Selection,
    UsableRow,
    decode_bytes,
    read_value_at,
)
from ioi_eval.benchmarks.hub import RowFile, fetch_row_files, parse_hub_path
from ioi_eval.benchmarks.loaded import benchmarks
from ioi_eval.benchmarks.row_files import (
    FileRow,
    find_line_start,
    hash_file_and_check_utf8,
    hash_if_grown,
    is_dump,
    list_dump_files,
    read_column_names,
    read_columns,
    read_size_and_mtime,
)
from ioi_eval.benchmarks.row_schemas import (
    PROBLEM_COLUMNS,
    find_problem_names,
    is_statement,
    list_problem_columns,
)
from ioi_eval.model.errors import BadRows, FailedRequest, InputError, MissingColumn
from ioi_eval.model.fields import StrictFaults
from ioi_eval.model.languages import Language, find_language
from ioi_eval.model.text import format_count
from ioi_eval.model.values import LanguageFrom, Problem, Submission, TaskType, Value
from ioi_eval.rules.extraction import (
    Extraction,
    explain_missing_program,
    extract,
    has_block_in_language,
    list_extraction_repairs,
    parse_python,
    repair,
)
from ioi_eval.rules.languages import ChosenLanguage, choose_language
from ioi_eval.store.files import read_value, replace
from ioi_eval.store.packed import NamesByKey, PackedContent, PackedKeys
from ioi_eval.store.resources import PACKAGE, compute_code_digest
from ioi_eval.store.rows import as_json_value

CONTINUED = "continue_prompt"  # name of the repair that appends a reply to the start of the function
# Number of rows from which columns are detected, and number of rows between two progress reports.
SAMPLED_ROWS = 10_000
# Minimum bytes of a large dump, whose first rows are judged before all rows are read.
LARGE_DUMP_BYTES = 32 << 20
# Minimum bytes of a dump for which an index is stored, so that the next pass reads only new rows.
MIN_INDEXED_BYTES = 1 << 20
_HASH_BYTES = 16  # length of a row's hash, in bytes
_NOTE_FENCED = "whose program holds a fenced block, as replies do: fences are not removed"
# Pattern of code that starts with an indented line, after blank lines and comments.
_INDENTED_BODY = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)*+(?:  |\t)\s*[^\s#]")
_FENCE = re.compile(r"^ {0,3}```", re.MULTILINE)


class DumpFile(Value):
    """A file of a dump, as the first pass read it."""

    path: str
    sha256: str
    rows: int
    id_column: str  # column with the rows' ids; empty if the file has no such column
    label: str  # name of the file, as messages show it
    model: str  # model of the rows that do not name a model
    stamp: tuple[int, int]  # size and modification time of the file, to detect changes

    def check_unchanged(self) -> None:
        """Raise an InputError if the file has changed since the first pass."""
        if read_size_and_mtime(Path(self.path)) != self.stamp:
            remedy = "Run the same command again: it judges only what changed"
            raise InputError("the dump changed while it was being scored", where=self.path, remedy=remedy)


class DetectedColumns(Value):
    """The detected meaning of the first selected rows: columns, languages, and rows without a program."""

    rows: int  # number of selected rows that were analysed
    whole: bool  # True if all selected rows were analysed
    # Number of rows, by field and by the column from which the field was read.
    columns: Mapping[str, Mapping[str, int]]
    # Number of rows, by language and by where the language was found. If a code fence of the reply names the
    # default language, the language was found in the reply.
    languages: Mapping[str, Mapping[LanguageFrom, int]]
    without: int  # number of rows without a program

    def __str__(self) -> str:
        """Return a line for the user."""
        descriptions = list[str]()
        for field, counts in self.columns.items():
            column_descriptions = (f"{column} ({number:,})" for column, number in counts.items())
            descriptions.append(
                f"{field} <- {', '.join(counts if len(counts) == 1 else column_descriptions)}"
            )
        language_descriptions = (
            f"{name} ({', '.join(starmap(_format_rows_of_language_source, counts.items()))})"
            for name, counts in self.languages.items()
        )
        descriptions.append(
            f"language{'s' if len(self.languages) > 1 else ''} {', '.join(language_descriptions)}"
        )
        descriptions.append(f"{self.without:,} of {self.rows:,} without a program")
        first_rows = f" (from the first {format_count(self.rows, 'row')})"
        return ", ".join(descriptions) + ("" if self.whole else first_rows)


def _format_rows_of_language_source(language_source: LanguageFrom, row_count: int) -> str:
    """Return a phrase with the number of rows whose language was found in this source."""
    rows, pronoun = format_count(row_count, "row"), "its" if row_count == 1 else "their"
    return {
        LanguageFrom.ROW: f"from {rows}",
        LanguageFrom.OPTION: f"{row_count:,} as asked for",
        LanguageFrom.FORMAT: f"{row_count:,} by {pronoun} format",
        LanguageFrom.PROBLEM: f"{row_count:,} by {pronoun} problem",
        LanguageFrom.REPLY: f"from {format_count(row_count, 'reply', 'replies')}",
        LanguageFrom.DEFAULT: f"assumed for {rows}",
    }[language_source]


class DumpInfo(Value):
    """Results of the first pass over a dump."""

    files: tuple[DumpFile, ...]
    rows: int
    keys: PackedKeys  # keys of selected rows, in the order of the rows
    unselected_keys: frozenset[str]  # keys of rows that are not selected
    sha256: str  # hash of the contents of all files, which does not depend on their order
    understood: DetectedColumns
    left_out: Mapping[str, int] = {}  # number of rows that are not selected, by reason
    rejected: int = 0  # number of unusable rows
    noted: Mapping[str, int] = {}  # number of selected rows to which a note applies, by note
    other_files: tuple[str, ...] = ()  # files in the dump's folders that contain no rows, by their format


class LocatedSubmission(NamedTuple):
    """A submission with the file and line of its row."""

    submission: Submission
    file: str
    line: int


class EarlierDumpState(NamedTuple):
    """The earlier state of a dump to which rows were appended."""

    sha256: str  # value of `DumpInfo.sha256` for the earlier dump
    bytes_and_lines: tuple[int, int]  # size of the earlier dump, and its number of lines
    submissions: int
    equal: Mapping[str, int]  # number of rows without an id, by the hash of their content
    rows: int  # number of rows, including duplicates; an answer in a row counts as a row

    def truncate_to_submissions(self, submission_count: int, path: Path) -> EarlierDumpState | None:
        """Return the state of the dump after its first `submission_count` submissions.

        The result is None unless each line is a single submission with an id.
        """
        if not submission_count or self.equal or not self.bytes_and_lines[1] == self.rows == self.submissions:
            return None
        return EarlierDumpState(
            "",
            (find_line_start(path, submission_count), submission_count),
            submission_count,
            {},
            submission_count,
        )


class Dump(Collection[Submission]):
    """A dump after the first pass. Each iteration reads its rows again and yields submissions."""

    def __init__(
        self,
        info: DumpInfo,
        problems: ProblemLookup,
        options: DumpOptions,
        selection: Selection,
        rejected: Sequence[InputError] = (),
        problem_ids: NamesByKey | None = None,
        index: DumpIndex | None = None,
        earlier_state: EarlierDumpState | None = None,
    ) -> None:
        """Create a dump.

        Args:
            info: The results of the first pass.
            problems: The problems that rows may name.
            options: How rows are read.
            selection: Which rows become submissions.
            rejected: Errors of rows that cannot be used.
            problem_ids: The label of each submission's problem, by key.
            index: The results of the first pass, from which the next call continues.
            earlier_state: The earlier state of the dump, if rows were added to it.
        """
        self.info, self.rejected, self.index, self.earlier_state = info, rejected, index, earlier_state
        self._skips_earlier_submissions = False
        self.problem_ids = NamesByKey() if problem_ids is None else problem_ids
        """Labels of the submissions' problems, by key."""
        self._problems, self._options, self._selection = problems, options, selection

    def __len__(self) -> int:
        return len(self.info.keys)

    def __contains__(self, submission: object) -> bool:
        return isinstance(submission, Submission) and submission.key in self.problem_ids

    def __iter__(self) -> Iterator[Submission]:
        return (located.submission for located in self.read_with_locations())

    @property
    def has_other_shards(self) -> bool:
        """Return True if rows are excluded because they belong to other shards."""
        return OTHER_SHARD in self.info.left_out

    @property
    def skipped_keys(self) -> Iterator[str]:
        """Yield the keys of the submissions that an iteration skips."""
        return islice(self.problem_ids, self._skipped_count)

    @property
    def _skipped_count(self) -> int:
        """Return how many submissions an iteration skips."""
        return (
            self.earlier_state.submissions
            if self.earlier_state is not None and self._skips_earlier_submissions
            else 0
        )

    def skip_done_submissions(self, *done_keys: Container[str]) -> Dump:
        """Return a dump whose iteration skips submissions that are done.

        If `done_keys` contains all submissions of the dump's earlier state, these are skipped. Otherwise, if
        each line is a single submission, the submissions before the first missing key are skipped.
        """
        if self.earlier_state is None:
            return self
        numbered_keys = enumerate(islice(self.problem_ids, self.earlier_state.submissions))
        open_index, first_open_key = next(
            (
                (open_index, key)
                for open_index, key in numbered_keys
                if not any(key in keys for keys in done_keys)
            ),
            (0, None),
        )
        if first_open_key is None:
            return self._skip_earlier_submissions(self.earlier_state)
        if (
            done_state := self.earlier_state.truncate_to_submissions(
                open_index, Path(self.info.files[0].path)
            )
        ) is None:
            return self
        remaining_dump = self._skip_earlier_submissions(done_state)
        first_submission = next(iter(remaining_dump), None)
        return (
            remaining_dump
            if first_submission is not None and first_submission.key == first_open_key
            else self
        )

    def _skip_earlier_submissions(self, earlier_state: EarlierDumpState) -> Dump:
        """Return a dump whose iteration skips the submissions of an earlier state."""
        info, options, selection = self.info, self._options, self._selection
        earlier_results = (self.rejected, self.problem_ids, self.index, earlier_state)
        remaining_dump = Dump(info, self._problems, options, selection, *earlier_results)
        remaining_dump._skips_earlier_submissions = True
        return remaining_dump

    def read_with_locations(self) -> Iterator[LocatedSubmission]:
        """Return the submissions with the file and line of their rows."""
        # Stop after the last submission, so that no further row is read.
        return islice(self._read_all_with_locations(), len(self) - self._skipped_count)

    def _read_all_with_locations(self) -> Iterator[LocatedSubmission]:
        """Yield the submissions of all files, with the file and line of their rows."""
        skipped_bytes_and_lines = 0, 0
        reader = DumpReader(self._problems, self._options, self._selection, self.problem_ids)
        if self.earlier_state is not None and self._skips_earlier_submissions:
            reader.skip_earlier_submissions(self.earlier_state.submissions, self.earlier_state.equal)
            skipped_bytes_and_lines = self.earlier_state.bytes_and_lines
        for file in self.info.files:
            file.check_unchanged()
            row_file = RowFile(Path(file.path), file.label, file.model)
            for entry in reader.read_selected_rows(
                row_file, file.sha256, file.id_column, skipped_bytes_and_lines
            ):
                problem = entry.problem
                assert problem is not None, "only rows of selected problems become submissions"
                language, code, repairs = _choose_language_code_and_repairs(entry, problem, self._options)
                submission = Submission(
                    key=entry.key,
                    problem_id=self._problems.label(problem),
                    code=code,
                    no_program=_find_no_program_reason(entry) if code is None else "",
                    language=language.language,
                    language_from=language.source,
                    year=problem.year if problem.year is not None else entry.year,
                    target_subtask=entry.subtask,
                    repairs=repairs,
                    read_from=_find_text_column_by_kind(entry),
                    dump_row=f"{Path(file.label).name}, line {entry.line}",
                    row=as_json_value(entry.columns),
                )
                yield LocatedSubmission(submission, file.label, entry.line)


def open_dump(
    paths: Sequence[str | Path | RowFile],
    *,
    problems: ProblemLookup,
    options: DumpOptions | None = None,
    selection: Selection | None = None,
    on_rows: Callable[[int], None] = lambda rows: None,
    inputs_hash: str = "",
    index: DumpIndex | None = None,
) -> Dump:
    """Read all rows of a dump once, check them, and return the dump.

    Args:
        paths: Files, folders, and datasets on the hub; see `find_dumps`.
        problems: The problems that rows may name.
        options: How rows are read.
        selection: Which rows become submissions.
        on_rows: Called from time to time with the number of rows so far.
        inputs_hash: A hash of everything except the dump that changes the results of the first pass.
        index: The index of an earlier pass. If its `inputs_hash` is the same, its rows are not read again.

    Raises:
        BadRows: Rows cannot be used, and the options do not skip such rows.
        InputError: The dump is empty, or a file is contained twice.
    """
    options, selection = options or DumpOptions(), selection or Selection()
    for name in filter(None, (options.language, options.default_language)):
        find_language(name)
    first_pass, files = (
        _FirstPassOverDump(DumpReader(problems, options, selection), options, on_rows),
        find_dumps(paths),
    )
    is_plain_selection = len(files) == 1 and selection == Selection() and options.keys_of_content
    if index is not None and index.inputs_hash == inputs_hash and is_plain_selection and not files[0].model:
        first_pass.index = index
    info = first_pass.read_files(files, skip_bad=options.skip_bad_rows)
    new_index = first_pass.make_index(info, inputs_hash) if is_plain_selection and inputs_hash else None
    return Dump(
        info,
        problems,
        options,
        selection,
        first_pass.row_errors,
        first_pass.reader.selected_keys,
        new_index,
        first_pass.earlier_state,
    )


def open_dump_of_first_rows(
    row_files: Sequence[RowFile], problems: ProblemLookup, options: DumpOptions, selection: Selection
) -> Dump | None:
    """Return a dump with only the first rows of a large dump, which is read faster than the whole dump.

    The result is None if the dump is small, or if its first rows contain an error or no submission: then use
    `open_dump` first.

    Args:
        row_files: All files of the dump. Their sizes decide whether the dump is large.
        problems: The problems that rows may name.
        options: How rows are read. Without `keys_of_content` the result is None.
        selection: Which rows become submissions.
    """
    if (
        sum(read_size_and_mtime(row_file.path)[0] for row_file in row_files) < LARGE_DUMP_BYTES
        or not options.keys_of_content
    ):
        return None
    first_pass = _FirstPassOverDump(
        DumpReader(problems, options, selection), options, lambda rows: None, SAMPLED_ROWS
    )
    try:
        info = first_pass.read_files(row_files, skip_bad=options.skip_bad_rows)
    except (InputError, UnicodeDecodeError):  # `open_dump` reports such errors later
        return None
    return (
        Dump(info, problems, options, selection, (), first_pass.reader.selected_keys) if info.keys else None
    )


def find_dumps(dumps: Iterable[str | Path | RowFile]) -> list[RowFile]:
    """Return the files of dumps. Names that do not exist on disk are fetched from the hub."""
    row_files: list[RowFile] = []
    for dump in dumps:
        if isinstance(dump, RowFile):
            row_files.append(dump)
        elif not Path(dump).exists() and not is_dump(Path(dump)) and (hub_path := parse_hub_path(str(dump))):
            row_files.extend(fetch_row_files(hub_path))
        else:
            row_files.extend(RowFile(path, str(path)) for path in list_dump_files([dump]))
    return row_files


def list_named_problem_ids(
    paths: Sequence[str | Path | RowFile], column: str | None = None, prompt_column: str | None = None
) -> Collection[str] | None:
    """Return the ids of the problems that a dump names, or None if only statements identify them.

    `column` and `prompt_column` are the columns that options name. Errors in rows are ignored here.
    """
    if prompt_column is not None:
        return None
    columns = list_problem_columns() if column is None else {column, column.partition(".")[0]}
    problem_ids: set[str] = set()
    for row_file in find_dumps(paths):
        with _add_label_to_errors(row_file):
            file_columns = (
                read_column_names(row_file.path) if row_file.path.suffix.lower() == ".parquet" else ()
            )
            for row in read_columns(row_file.path, columns):
                option_value = ABSENT if column is None else read_value_at(row, column)
                if column is None and _has_problem_in_id_column(row):
                    option_value = row["id"]
                problem_names = (
                    find_problem_names(row, file_columns) if option_value is ABSENT else (option_value,)
                )
                for problem_name in problem_names:
                    if is_statement(problem_name) or (problem_name is None and option_value is ABSENT):
                        return None
                    problem_ids.update([] if problem_name is None else [str(problem_name).strip()])
    return frozenset(problem_ids)


def _has_problem_in_id_column(row: Mapping[str, Any]) -> bool:
    """Return True if no column names the row's problem, and `id` has the form of a benchmark's problem id."""
    row_id = row.get("id")
    if not isinstance(row_id, str) or row_id.isdigit() or not row.keys().isdisjoint(PROBLEM_COLUMNS):
        return False
    return any(benchmark.ids and re.fullmatch(benchmark.ids, row_id) for benchmark in benchmarks())


@contextmanager
def _add_label_to_errors(row_file: RowFile) -> Iterator[None]:
    """Replace the path of the file in errors by the user's name for the file."""
    try:
        yield
    except InputError as error:
        if error.where != str(row_file.path) or row_file.label == error.where:
            raise
        raise error.with_details(where=row_file.label) from error


# --- index of a dump: results of a first pass, so that the next pass reads only new rows ----------------

# File name of an index, which is valid for a dump that starts with the indexed bytes.
INDEX = ".dump.index"


class FirstPassCounts(msgspec.Struct):
    """Counts of a first pass."""

    rows: int = 0
    looked_at: int = 0  # number of selected rows whose program and language were determined
    without_program: int = 0  # number of the `looked_at` rows that contain no program
    # Number of rows, by field and by the column from which the field was read.
    columns: dict[str, dict[str, int]] = {}
    # Number of rows, by language and by the source of the language.
    languages: dict[str, dict[LanguageFrom, int]] = {}
    programs: int = 0  # number of values in columns of programs
    fenced: int = 0  # number of programs that contain a code fence
    replies: int = 0  # number of rows with a program and, in another column, a reply


class DumpIndex(Value):
    """The results of a first pass over a large dump, from which the next pass continues."""

    size: int  # number of bytes of the dump that were read, up to a line break
    sha256: str  # hash of the first `size` bytes of the dump
    # Hash of everything except the dump that changes the results: options, problems, sources of ioi_eval,
    # Python version.
    inputs_hash: str
    id_column: str
    counts: FirstPassCounts
    keys: PackedContent  # keys of the submissions, in the order of the rows
    names: list[str]  # labels of problems
    problems: memoryview  # for each submission, the index of its problem in `names`
    ids: PackedContent  # ids of all rows
    contents: memoryview  # for each row in `ids`, a hash of its content
    equal: dict[str, int]  # number of rows without an id, by the hash of their content
    unselected_keys: list[str]
    left_out: dict[str, int]
    noted: dict[str, int]


def hash_first_pass_inputs(options: DumpOptions, problem_hashes: Mapping[str, str]) -> str:
    """Return a hash of everything except the dump that changes the results of the first pass over the dump.

    `problem_hashes`: hashes of the problems, by id.
    """
    hashed_values: list[Any] = [
        options,
        dict(sorted(problem_hashes.items())),
        compute_code_digest(PACKAGE),
        sys.version,
    ]
    return hashlib.sha256(msgspec.json.encode(hashed_values)).hexdigest()


def read_index(folder: Path) -> DumpIndex | None:
    """Return the index of the dump in a run's folder, or None without a usable index."""
    return read_value(folder / INDEX, DumpIndex, decode=msgspec.msgpack.decode)


def write_index(folder: Path, index: DumpIndex | None) -> None:
    """Write the index into a run's folder. If `index` is None, remove an older index."""
    if index is None:
        (folder / INDEX).unlink(missing_ok=True)
    else:
        replace(folder / INDEX, [msgspec.msgpack.encode(index)])


# --- the first pass over a dump ----------------------------------------------------------------------


class _FirstPassOverDump:
    """Reads, checks and counts all rows of a dump."""

    def __init__(
        self,
        reader: DumpReader,
        options: DumpOptions,
        on_rows: Callable[[int], None],
        max_rows: int | None = None,
    ) -> None:
        """`max_rows`: maximum number of rows to read, or None for all rows."""
        self.reader, self._options, self._on_rows, self._max_rows = reader, options, on_rows, max_rows
        self._counts = FirstPassCounts()
        self._row_ids, self._row_hashes = (
            PackedKeys(),
            bytearray(),
        )  # ids of rows, and a hash of each row's content
        self._labels_by_hash: dict[str, str] = {}
        self.row_errors: list[InputError] = []
        self.index: DumpIndex | None = None  # index of an earlier, shorter state of the dump
        self.earlier_state: EarlierDumpState | None = None

    def read_files(self, row_files: Sequence[RowFile], *, skip_bad: bool) -> DumpInfo:
        """Read the files and return the results. Raise BadRows for bad rows unless they are skipped."""
        files_to_read = takewhile(
            lambda row_file: self._max_rows is None or self._counts.rows < self._max_rows, row_files
        )
        files, counts = (
            tuple(self._read_file_and_label_errors(row_file) for row_file in files_to_read),
            self._counts,
        )
        if not skip_bad and (faults := list(self._list_row_errors())):
            raise BadRows(faults)
        row_count = sum(file.rows for file in files)
        if not row_count:
            where = ", ".join(row_file.label for row_file in row_files)
            raise InputError("the dump has no rows", where=where, remedy="Is it the right file?")
        if self._max_rows is None:
            self.reader.check_selected_keys_exist(dump_name=files[0].label)
        if 2 * counts.fenced > counts.programs:
            code_column = self.reader.code_column
            remedy = f"Give code_column={code_column} with always_extract=True to take the programs from them"
            if counts.replies == counts.programs:
                remedy = "Give always_extract=True to take the programs from the replies in the other column"
            problem = (
                f"{counts.fenced} of {counts.programs} programs contain fenced blocks, so they are replies"
            )
            where = ", ".join(file.label for file in files)
            raise InputError(problem, where=where, field=code_column, remedy=remedy)
        return DumpInfo(
            files=files,
            rows=row_count,
            keys=self.reader.selected_keys.keys_in_order,
            unselected_keys=frozenset(self.reader.unselected_keys),
            left_out=dict(self.reader.left_out_counts),
            noted=dict(self.reader.note_counts),
            understood=DetectedColumns(
                rows=counts.looked_at,
                whole=self._max_rows is None and counts.looked_at == len(self.reader.selected_keys),
                columns=counts.columns,
                languages=counts.languages,
                without=counts.without_program,
            ),
            rejected=len(self.row_errors),
            sha256=_combine_hashes([file.sha256 for file in files]),
        )

    def _list_row_errors(self) -> Iterator[InputError]:
        """Yield the errors of rows. A missing column is reported once for each file.

        Failed requests to a model are not errors of the dump.
        """
        missing_counts = Counter(
            (error.where, error.problem) for error in self.row_errors if isinstance(error, MissingColumn)
        )
        reported_locations = set[tuple[str, str]]()
        for error in self.row_errors:
            location = (error.where, error.problem)
            if isinstance(error, FailedRequest) or location in reported_locations:
                continue
            if isinstance(error, MissingColumn) and missing_counts[location] > 1:
                reported_locations.add(location)
                problem = f"{error.problem} (in {missing_counts[location]:,} rows; this is the first)"
                yield InputError(problem, where=error.where, row=error.row, remedy=error.remedy)
            else:
                yield error

    def _count_columns(self, entry: UsableRow) -> None:
        """Count the columns and the language of a row, and whether it has a program."""
        assert entry.problem is not None, "rows of other problems are not selected"
        counts = self._counts
        counts.looked_at += 1
        for field, column in entry.read_from.items():
            rows_by_column = counts.columns.setdefault(field, {})
            rows_by_column[column] = rows_by_column.get(column, 0) + 1
        chosen_language, code, _ = _choose_language_code_and_repairs(entry, entry.problem, self._options)
        language, source = find_language(chosen_language.language), chosen_language.source
        if source is LanguageFrom.DEFAULT and entry.code is None and entry.generation is not None:
            # If a code fence names the default language, the language comes from the reply.
            is_named = has_block_in_language(entry.generation, language, self._options.extract)
            source = LanguageFrom.REPLY if is_named else source
        rows_by_source = counts.languages.setdefault(language.name, {})
        rows_by_source[source] = rows_by_source.get(source, 0) + 1
        counts.without_program += code is None

    def _read_file_and_label_errors(self, row_file: RowFile) -> DumpFile:
        """Read a file. Errors name it as the user does."""
        with _add_label_to_errors(row_file):
            return self._read_file(row_file)

    def _read_file(self, row_file: RowFile) -> DumpFile:
        """Read and count the rows of a file after the rows in the index."""
        path, label = row_file.path, row_file.label
        file_stamp, skipped_bytes_and_lines = read_size_and_mtime(path), (0, 0)
        if self.index is not None and (growth := hash_if_grown(path, self.index.size, self.index.sha256)):
            content_hash, skipped_bytes_and_lines = growth.sha256, (self.index.size, growth.lines)
            self._resume_after_indexed_rows(self.index, skipped_bytes_and_lines)
        else:
            content_hash = hash_file_and_check_utf8(path) if self._max_rows is None else path.as_posix()
        if content_hash in self._labels_by_hash:
            raise InputError(
                f"the dump has the same content as {self._labels_by_hash[content_hash]}",
                where=label,
                remedy="Name only one of them",
            )
        id_column, counts = self.reader.find_id_column(path), self._counts
        row_count = counts.rows if self.earlier_state is not None else 0
        for entry in self.reader.read_entries(row_file, content_hash, id_column, skipped_bytes_and_lines):
            row_count += 1
            counts.rows += 1
            if counts.rows % SAMPLED_ROWS == 0:
                self._on_rows(counts.rows)
            fault = (
                entry
                if isinstance(entry, InputError)
                else self._find_duplicate_id_error(entry, label, id_column)
            )
            if fault is not None:
                self.row_errors.append(fault)
            elif not isinstance(entry, InputError):
                is_selected_here = self.reader.count_row_if_selected(entry)
                if is_selected_here and counts.looked_at < SAMPLED_ROWS:
                    self._count_columns(entry)
                if entry.code is not None:
                    counts.programs += 1
                    counts.replies += entry.generation is not None
                    if _FENCE.search(entry.code) is not None:
                        counts.fenced += 1
                        is_selected = is_selected_here or self.reader.belongs_to_other_shard(entry.key)
                        self.reader.note_counts.update([_NOTE_FENCED] if is_selected else ())
            if counts.rows == self._max_rows:
                break
        if row_count:
            self._labels_by_hash[content_hash] = label
        return DumpFile(
            path=str(path),
            sha256=content_hash,
            rows=row_count,
            id_column=id_column,
            label=label,
            model=row_file.model,
            stamp=file_stamp,
        )

    def _resume_after_indexed_rows(self, index: DumpIndex, skipped_bytes_and_lines: tuple[int, int]) -> None:
        """Continue after the rows in the index, with the results of the first pass that wrote the index."""
        earlier_hash, reader = _combine_hashes([index.sha256]), self.reader
        reader.selected_keys = NamesByKey(PackedKeys.from_stored(index.keys), index.names, index.problems)
        self._row_ids, self._row_hashes = PackedKeys.from_stored(index.ids), bytearray(index.contents)
        self.earlier_state = EarlierDumpState(
            earlier_hash,
            skipped_bytes_and_lines,
            len(reader.selected_keys),
            dict(index.equal),
            index.counts.rows,
        )
        reader.skip_earlier_submissions(len(reader.selected_keys), index.equal)
        self.reader.unselected_keys.update(index.unselected_keys)
        self.reader.left_out_counts.update(index.left_out)
        self.reader.note_counts.update(index.noted)
        self._counts = index.counts

    def make_index(self, info: DumpInfo, inputs_hash: str) -> DumpIndex | None:
        """Return the index if the dump is a single large .jsonl file without errors, else None."""
        (file,) = info.files
        path, size = Path(file.path), file.stamp[0]
        if (
            size < MIN_INDEXED_BYTES
            or path.suffix.lower() != ".jsonl"
            or self.row_errors
            or not _ends_with_line_break(path, size)
        ):
            return None
        return DumpIndex(
            size=size,
            sha256=file.sha256,
            inputs_hash=inputs_hash,
            id_column=file.id_column,
            counts=self._counts,
            keys=self.reader.selected_keys.keys_in_order.packed.stored_content,
            names=self.reader.selected_keys.names,
            problems=self.reader.selected_keys.name_indexes,
            ids=self._row_ids.packed.stored_content,
            contents=memoryview(self._row_hashes),
            equal=dict(self.reader.equal_row_counts),
            unselected_keys=list(self.reader.unselected_keys),
            left_out=dict(self.reader.left_out_counts),
            noted=dict(self.reader.note_counts),
        )

    def _find_duplicate_id_error(self, entry: UsableRow, label: str, id_column: str) -> InputError | None:
        """Return an error if an earlier row has the same id and other content. Equal rows are allowed."""
        if not id_column:  # a key that is derived from the row's content cannot be duplicate
            return None
        row_bytes = repr(entry.columns).encode(errors="surrogatepass")
        row_hash = hashlib.blake2b(row_bytes, digest_size=_HASH_BYTES).digest()
        if self._row_ids.add(entry.key):
            self._row_hashes += row_hash
            return None
        offset = _HASH_BYTES * self._row_ids.find_index(entry.key)
        if self._row_hashes[offset : offset + _HASH_BYTES] != row_hash:
            return InputError(
                f"duplicate id {entry.key!r}, in different rows",
                where=label,
                row=entry.line,
                field=id_column,
                remedy=OTHER_IDS,
            )
        return None


def _combine_hashes(hashes: Sequence[str]) -> str:
    """Return the hash of several files, independent of their order."""
    return hashlib.sha256("".join(sorted(hashes)).encode()).hexdigest()


def _ends_with_line_break(path: Path, size: int) -> bool:
    """Return True if the last of the first `size` bytes of the file is a line break."""
    with path.open("rb") as stream:
        stream.seek(size - 1)
        return stream.read(1) == b"\n"


# --- the second pass over a dump ---------------------------------------------------------------------


def _find_text_column_by_kind(entry: UsableRow) -> dict[str, str]:
    """Return the column of a row's program or reply, by "program" or "reply".

    The result is empty if the column has a standard name.
    """
    column = entry.read_from.get("reply") or entry.read_from.get("program")
    kind, standard_column = ("reply", "generation") if entry.code is None else ("program", "code")
    return {} if not column or column == standard_column else {kind: column}


def _choose_language_code_and_repairs(
    entry: UsableRow, problem: Problem, options: DumpOptions
) -> tuple[ChosenLanguage, str | None, tuple[str, ...]]:
    """Return the language of a row, its program or None, and the repairs that changed the program."""
    chosen_language = choose_language(
        problem,
        row=entry.language,
        option=options.language,
        format=entry.format,
        reply=entry.generation if entry.code is None else None,
        extraction=options.extract,
        default=options.default_language or "c++",
    )
    return chosen_language, *_extract_code_and_repairs(
        entry, problem, options, find_language(chosen_language.language)
    )


def _extract_code_and_repairs(
    entry: UsableRow, problem: Problem, options: DumpOptions, language: Language
) -> tuple[str | None, tuple[str, ...]]:
    """Return the program of a row or None, and the repairs that changed it."""
    code = entry.code
    if code == "":
        return (code if language.syntax == "python" else None), ()
    if code is not None and code.lstrip().startswith("```"):
        return None, ()  # the program is a reply in Markdown, which cannot be compiled
    if code is not None:
        return repair(code, problem, language, options.repairs)
    reply, extraction = (entry.generation or "").replace("\r\n", "\n"), options.extract
    prompt = (
        _find_function_prompt(entry, problem, language)
        if extraction in (Extraction.LAST, Extraction.FIRST)
        else ""
    )
    completion = _join_prompt_and_function_body(prompt, reply)
    if completion and parse_python(completion) is not None:
        return completion, (CONTINUED,)  # the reply continues the function of the prompt
    if entry.generation is not None:
        code = extract(entry.generation, language, extraction)
    if code is None:
        return (completion, (CONTINUED,)) if completion else (None, ())
    if (completion_of_code := _join_prompt_and_function_body(prompt, code)) and parse_python(
        completion_of_code
    ) is not None:
        return completion_of_code, (CONTINUED,)
    repaired_code, repairs = repair(code, problem, language, options.repairs)
    return repaired_code, (*list_extraction_repairs(extraction), *repairs)


def _find_no_program_reason(entry: UsableRow) -> str:
    """Return a short reason why a row contains no program."""
    if entry.code == "":
        return "the program is empty"
    if entry.code is not None:
        return "the column of programs holds a reply with a fenced block"
    return explain_missing_program(entry.generation)


def _find_function_prompt(entry: UsableRow, problem: Problem, language: Language) -> str:
    """Return the start of a function that the reply may complete, or an empty string if there is none."""
    if problem.task_type is not TaskType.FUNCTION or language.syntax != "python":
        return ""
    row_prompt = entry.columns.get("prompt")
    return row_prompt if isinstance(row_prompt, str) and "def " in row_prompt else problem.starter_code


def _join_prompt_and_function_body(prompt: str, text: str) -> str:
    """Return the prompt followed by the text up to a fence, if the text continues a function's body.

    Otherwise return an empty string.
    """
    if not prompt or not _INDENTED_BODY.match(text):
        return ""
    separator = "" if prompt.endswith("\n") or text.startswith("\n") else "\n"
    return prompt + separator + text.partition("\n```")[0]


# --- a dump's benchmark ------------------------------------------------------------------------------


FIELD = "problems"


def guess_benchmark(dumps: Sequence[str | Path | RowFile], column: str | None = None) -> str:
    """Return the name of the benchmark to which all ids in the dumps belong.

    Raises:
        InputError: No benchmark matches, or several do.
    """
    problem_ids = list_named_problem_ids(dumps, column) or frozenset()
    dump_columns = {name for row_file in find_dumps(dumps) for name in read_column_names(row_file.path)}
    file_names = {row_file.path.name for row_file in find_dumps(dumps)}
    matching_names = [
        benchmark.name
        for benchmark in benchmarks()
        if matches_benchmark(benchmark, problem_ids, dump_columns)
        or (file_names and file_names <= set(benchmark.dump_files))
    ]
    where = ", ".join(str(getattr(dump, "label", dump)) for dump in dumps)
    if len(matching_names) == 1:
        return matching_names[0]
    if matching_names:
        problem = f"the dump's rows fit the benchmarks {' and '.join(matching_names)}"
        remedy = f"Name the right benchmark: {' or '.join(f'problems={name}' for name in matching_names)}"
        raise InputError(problem, where=where, field=FIELD, remedy=remedy)
    sample_ids = ", ".join(sorted(problem_ids)[:3]) or "none"
    problem = f"the dump's rows do not identify their problems (their ids: {sample_ids})"
    raise InputError(
        problem, where=where, field=FIELD, remedy="Name a benchmark or problem packages with problems=SOURCE"
    )


def matches_benchmark(benchmark: Benchmark, ids: Collection[str], columns: Collection[str]) -> bool:
    """Return True if all ids look like the benchmark's, and the columns of its dumps exist."""
    id_pattern = benchmark.ids
    return (
        bool(id_pattern and ids)
        and set(benchmark.dump_columns) <= set(columns)
        and all(re.fullmatch(id_pattern, problem_id) for problem_id in ids)
    )


# --- dumps on standard input -------------------------------------------------------------------------


STANDARD_INPUT = "-"
_LABEL = "standard input"
# Suffixes of compressed files, by the first bytes of the file.
_PACKED_SUFFIXES = {
    b"\x1f\x8b": ".gz",
    b"\x28\xb5\x2f\xfd": ".zst",
}


@contextmanager
def replace_stdin_dump_by_file(dumps: Sequence[str], stream: BinaryIO) -> Iterator[Sequence[str | RowFile]]:
    """Yield the dumps with `-` replaced by a temporary file that contains the stream.

    The stream is JSON, as lines or as a list, and may be packed.
    """
    if STANDARD_INPUT not in dumps:
        yield dumps
        return
    if dumps.count(STANDARD_INPUT) > 1:
        raise InputError("named twice", where=_LABEL, remedy="Name standard input only once")
    with TemporaryDirectory(prefix="ioi-eval-") as folder:
        row_file = RowFile(_save_stream(stream, Path(folder)), _LABEL)
        yield [row_file if dump == STANDARD_INPUT else dump for dump in dumps]


def _save_stream(stream: BinaryIO, folder: Path) -> Path:
    """Write the stream into a file in the folder and return its path."""
    first_bytes = stream.read(4)
    if not first_bytes:
        raise InputError(
            "standard input is empty", where=_LABEL, remedy="Did the command that feeds it fail?"
        )
    file_suffix = next(
        (
            compression_suffix
            for magic_bytes, compression_suffix in _PACKED_SUFFIXES.items()
            if first_bytes.startswith(magic_bytes)
        ),
        "",
    )
    path = folder / f"dump.json{file_suffix}"
    with path.open("wb") as file:
        file.write(first_bytes)
        shutil.copyfileobj(stream, file)
    return path


# --- frames, datasets and lists of rows --------------------------------------------------------------


_IN_MEMORY = "rows"  # name of a dump that consists of rows in memory, in messages and as its run folder
_FRAME_BATCH = 1000  # number of data frame rows that are converted at a time

# A dump: a file, a folder, the name of a dataset, a list of files, folders and names, or rows. Rows are a
# data frame of pandas or polars, a `datasets.Dataset`, or dicts.
Dumps = str | Path | Sequence[str | Path | RowFile] | Iterable[Mapping[str, Any]] | Any


@contextmanager
def open_dump_paths(dumps: Dumps) -> Iterator[Sequence[str | Path | RowFile]]:
    """Yield the names of dumps. Rows in memory are written to a temporary file.

    Raises:
        InputError: There are no rows, or the value is neither a name nor rows.
    """
    if isinstance(dumps, str | Path | RowFile):
        yield [dumps]
        return
    items = iter(_iterate_rows(dumps))
    first_item = next(items, None)
    if first_item is None:
        raise InputError(
            "the dump has no rows", where=_IN_MEMORY, remedy="Give at least one row, or a dump's name"
        )
    if isinstance(first_item, str | Path | RowFile):
        yield [first_item, *items]
        return
    with TemporaryDirectory(prefix="ioi-eval-") as folder:
        path = Path(folder) / f"{_IN_MEMORY}.jsonl"
        with path.open("wb") as file:
            for row_number, row in enumerate(chain([first_item], items), start=1):
                if not isinstance(row, Mapping):
                    raise InputError(
                        f"a row must be a dict of columns, not {type(row).__name__}",
                        where=_IN_MEMORY,
                        row=row_number,
                        remedy='Expected {"problem_id": ..., ...}',
                    )
                if any(isinstance(value, bytes) for value in row.values()):
                    row = {name: decode_bytes(value) for name, value in row.items()}
                    dump_row = DumpRow(FileRow(row_number, row), StrictFaults(_IN_MEMORY), {})
                    # Reading a field raises an InputError if the field is not a string.
                    for field in ("code", "generation"):
                        dump_row.raw_value(field)
                file.write(msgspec.json.encode(as_json_value(row)) + b"\n")
        yield [RowFile(path, _IN_MEMORY)]


def _iterate_rows(dumps: Any) -> Iterable[Any]:
    """Return the rows of a data frame, or the items of another collection.

    Data frames need this because iterating over them yields their columns.
    """
    if (iter_rows := getattr(dumps, "iter_rows", None)) is not None:  # polars
        return iter_rows(named=True)  # type: ignore[no-any-return]
    columns = getattr(dumps, "columns", None)
    if (row_slices := getattr(dumps, "iloc", None)) is not None and columns is not None:  # pandas
        return _iterate_frame_rows(row_slices, [str(name) for name in columns], len(dumps))
    if isinstance(dumps, Iterable) and not isinstance(dumps, Mapping):
        return dumps
    keys = f" ({', '.join(map(str, list(dumps)[:5]))})" if isinstance(dumps, Mapping) else ""
    remedy = "Give a frame, a datasets.Dataset, a list of dicts, or a file; of several splits, one"
    raise InputError(
        f"no rows can be read from the type {type(dumps).__name__}{keys}", where=_IN_MEMORY, remedy=remedy
    )


def _iterate_frame_rows(row_slices: Any, names: list[str], row_count: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of a pandas frame as dicts, with None for missing values."""
    if (duplicate := next((name for name in names if names.count(name) > 1), None)) is not None:
        raise InputError(
            f"two columns are called {duplicate!r}", where=_IN_MEMORY, remedy="Rename one of them"
        )
    for batch_start in range(0, row_count, _FRAME_BATCH):
        frame_batch = row_slices[batch_start : batch_start + _FRAME_BATCH]
        yield from frame_batch.astype(object).where(frame_batch.notna(), None).to_dict("records")
