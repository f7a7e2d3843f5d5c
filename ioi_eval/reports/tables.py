"""A run's rows as tables: frames for pandas, and tests.parquet with a row for each test."""

from __future__ import annotations

import contextlib
import hashlib
import io
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ioi_eval.model.values import SubmissionResult, TestResult, Value
from ioi_eval.reports.records import ReportOptions, Summary
from ioi_eval.reports.summary import read_valid_run_info, summarize_run
from ioi_eval.store.files import make_draft_path, make_write_error
from ioi_eval.store.folder import read_failures, read_results
from ioi_eval.store.rows import TEST_COLUMNS, read_model_name

if TYPE_CHECKING:
    import pandas

    Frame = pandas.DataFrame

# --- frames ------------------------------------------------------------------------------------------

_NESTED = frozenset(
    {
        "all_subtasks_results",
        "all_subtasks_exact_scores",
        "test_results",
        TEST_COLUMNS,
        "confinement",
        "model_kwargs",
    }
)
_IDENTITY = ("key", "problem_id", "model")
_VERDICT = "verdict"  # column of the frames with the verdict, which results and files call `status`
_SUBTASK = ("subtask", "points", "score", "weighted_score", "exact_score", _VERDICT)
_TEST = ("test_name", "score", _VERDICT, "feedback", "cpu_time", "wall_time", "waited_time", "memory")


class Results:
    """The results of a run: `Results.open("runs/demo").to_frame()`. Every call reads the folder again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def open(cls, folder: str | Path) -> Results:
        """Open a run's folder. Raise InputError if the folder is not a run's."""
        read_valid_run_info(Path(folder))
        return cls(Path(folder))

    def summary(self, options: ReportOptions | None = None) -> Summary:
        """Return the numbers of summary.json."""
        return summarize_run(self.folder, options)

    def __iter__(self) -> Iterator[SubmissionResult]:
        """Iterate over the results in the order of completion."""
        return (result for _, _, result in read_results(self.folder))

    def to_frame(self) -> pandas.DataFrame:
        """Return a row for each submission: the dump's columns and the result.

        Submissions that could not be judged have a row with `judged` False, a `reason` and no points. A mean
        does not count them, so report their number with it.
        """
        failures, rows = read_failures(self.folder), list[dict[str, Any]]()
        for _, row, result in read_results(self.folder):
            failures.pop(row["key"], None)
            result_columns = {"judged": True, "verdict": result.verdict.value, "points": result.points}
            rows.append({**_select_dump_columns(row), **_select_identity_columns(row), **result_columns})
        unjudged_columns = {"judged": False, "verdict": None, "points": None}
        rows += [
            {**_select_dump_columns(row), **_select_identity_columns(row), **unjudged_columns}
            for row in failures.values()
        ]
        return _make_frame(rows, (*_IDENTITY, "judged", "verdict", "points"))

    def subtasks_frame(self) -> pandas.DataFrame:
        """Return a row for each subtask of each judged submission."""
        return _make_frame(self._list_item_rows("subtasks", _SUBTASK), (*_IDENTITY, *_SUBTASK))

    def tests_frame(self) -> pandas.DataFrame:
        """Return a row for each distinct test of each judged submission."""
        return _make_frame(self._list_item_rows("tests", _TEST), (*_IDENTITY, *_TEST))

    def _list_item_rows(self, field: str, columns: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Yield a row for each item of a field of each result: for each test or subtask."""
        for _, row, result in read_results(self.folder):
            for item in getattr(result, field):
                item_values = {
                    name: getattr(item, "status" if name == _VERDICT else name) for name in columns
                }
                yield {**_select_identity_columns(row), **item_values}


def _select_dump_columns(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in _NESTED}


def _select_identity_columns(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"key": row["key"], "problem_id": row.get("problem_id", ""), "model": read_model_name(row)}


def _make_frame(rows: Iterable[Mapping[str, Any]], first_columns: tuple[str, ...]) -> pandas.DataFrame:
    """Return a frame whose first columns are `first_columns`, even without rows."""
    import pandas

    frame = pandas.DataFrame(list(rows))
    return frame.reindex(
        columns=[*first_columns, *(name for name in frame.columns if name not in first_columns)]
    )


# --- tests.parquet -----------------------------------------------------------------------------------


TESTS = "tests.parquet"
COLUMNS = {
    "key": "string",
    "problem_id": "string",
    "model": "string",
    "subtasks": "strings",
    "test_name": "string",
    "status": "string",
    "score": "float64",
    "feedback": "string",
    "cpu_time": "float64",
    "cpu_times": "numbers",
    "wall_time": "float64",
    "waited_time": "float64",
    "memory": "int64",
    "processes": "int64",
    "points": "float64",
}
MAX_BUFFERED_TESTS = 20_000  # maximum number of tests in memory, which is also the size of a row group
PIECE_BYTES = 1 << 24  # maximum bytes of an old table that are read or written at the same time
_MAGIC = b"PAR1"
_TEST_FIELDS = [name for name in COLUMNS if name in TestResult.__struct_fields__ and name != "cpu_times"]
# Columns that are stored without a dictionary, because hardly any value repeats.
_MEASURED = frozenset({"cpu_time", "wall_time", "waited_time", "memory"})
_read_test_fields = attrgetter(*_TEST_FIELDS)


class TestsTableState(Value):
    """The row groups of a table that are complete, so that the next table can copy them."""

    begin: int = 0  # offset in results.jsonl of the first row whose tests are not in the written row groups
    size: int = 0  # size of the table up to and including the written row groups, in bytes
    sha256: str = ""  # hash of the first `size` bytes of the table
    footer: bytes = b""  # footer of a table that contains only the written row groups

    def matches_start_of(self, table: Path) -> bool:
        """Return True if a table starts with these row groups."""
        digest = hashlib.sha256()
        with contextlib.suppress(OSError):
            for piece in _read_pieces(table, self.size):
                digest.update(piece)
        return not self.size or digest.hexdigest() == self.sha256


class TestsTable:
    """Collects the tests of rows. Without pyarrow, which an installation may lack, it does nothing."""

    __test__ = False
    reusable_state = TestsTableState()

    def add(self, row: Mapping[str, Any], result: SubmissionResult, offset: int) -> None:
        """Add a row's tests. `offset` is the row's offset in results.jsonl."""


@contextlib.contextmanager
def open_tests_table(folder: Path, old_table_state: TestsTableState | None = None) -> Iterator[TestsTable]:
    """Context manager: yield a table to which tests are added. The old table stays until it is complete.

    `old_table_state`: state of the old table, whose complete row groups the new table copies.
    """
    try:
        import pyarrow.parquet  # noqa: F401
    except ModuleNotFoundError:
        yield TestsTable()
        return

    draft_file = make_draft_path(folder / TESTS)
    try:
        with draft_file.open("wb") as stream:
            table = _ParquetTestsTable(stream, folder / TESTS, old_table_state or TestsTableState())
            try:
                yield table
                table.close()
            finally:
                table.abandon()
        draft_file.replace(folder / TESTS)
    except OSError as error:
        raise make_write_error(folder / TESTS, error) from error
    finally:
        draft_file.unlink(missing_ok=True)


class _ParquetTestsTable(TestsTable):
    """Writes a Parquet file. A later table copies its row groups, except the last one, which may be small."""

    def __init__(self, stream: BinaryIO, old_table: Path, old_table_state: TestsTableState) -> None:
        import pyarrow
        import pyarrow.parquet

        list_types = {"strings": pyarrow.list_(pyarrow.string()), "numbers": pyarrow.list_(pyarrow.float64())}
        self._schema = pyarrow.schema(
            [(name, list_types.get(kind) or getattr(pyarrow, kind)()) for name, kind in COLUMNS.items()]
        )
        self._buffered_columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
        self._begin = self._first = old_table_state.begin
        self._sink = _HashingFileWriter(stream)
        self._metadata: Any = None  # metadata of the written row groups, for the footer
        if old_table_state.size:
            self._metadata = pyarrow.parquet.read_metadata(
                pyarrow.BufferReader(_MAGIC + old_table_state.footer)
            )
        for piece in _read_pieces(old_table, old_table_state.size) if old_table_state.size else (_MAGIC,):
            self._sink.append(piece)
        self._writer = self._open_writer()

    def add(self, row: Mapping[str, Any], result: SubmissionResult, row_offset: int) -> None:
        if row_offset < self._begin:
            return
        if len(self._buffered_columns["key"]) > MAX_BUFFERED_TESTS:
            self._flush()
        if not self._buffered_columns["key"]:
            self._first = row_offset
        _append_test_columns(result, read_model_name(row), self._buffered_columns)

    def close(self) -> None:
        self._close_writer()
        if self._metadata is not None:
            size, digest = self._sink.size, self._sink.digest.hexdigest()
            self.reusable_state = TestsTableState(
                begin=self._first, size=size, sha256=digest, footer=self._footer()
            )
        self._writer = self._open_writer()
        self._flush()  # write the file even without tests, so that every run has the file
        self._close_writer()
        self._sink.append(self._footer())

    def abandon(self) -> None:
        """Stop writing, even if the writer was not closed."""
        self._sink.is_open = False

    def _open_writer(self) -> Any:
        """Return a writer that appends groups. Its offsets start at the current size of the table."""
        import pyarrow
        import pyarrow.parquet

        file = pyarrow.PythonFile(self._sink, mode="w")
        repeating_columns = [name for name in COLUMNS if name not in _MEASURED]
        writer = pyarrow.parquet.ParquetWriter(
            file, self._schema, compression="zstd", use_dictionary=repeating_columns
        )
        for size in range(self._sink.size - len(_MAGIC), 0, -PIECE_BYTES):
            file.write(bytes(min(PIECE_BYTES, size)))
        self._sink.is_open = True
        return writer

    def _close_writer(self) -> None:
        """Collect the metadata of the writer's row groups for the footer of the whole file."""
        self._sink.is_open = False
        self._writer.close()
        metadata = self._writer.writer.metadata
        if self._metadata is None:
            self._metadata = metadata if metadata.num_row_groups else None
        else:
            self._metadata.append_row_groups(metadata)

    def _footer(self) -> bytes:
        buffer = io.BytesIO()
        self._metadata.write_metadata_file(buffer)
        return buffer.getvalue()[len(_MAGIC) :]

    def _flush(self) -> None:
        import pyarrow

        self._writer.write_table(pyarrow.Table.from_pydict(self._buffered_columns, self._schema))
        for column in self._buffered_columns.values():
            column.clear()


class _HashingFileWriter(io.RawIOBase):
    """A file object that writes to a stream and hashes the bytes. While it is closed, it drops all bytes."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self.digest, self.size, self.is_open = stream, hashlib.sha256(), 0, False

    def append(self, data: bytes) -> None:
        self._stream.write(data)
        self.digest.update(data)
        self.size += len(data)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if self.is_open:
            self.append(data)
        return len(data)


def _read_pieces(path: Path, size: int) -> Iterator[bytes]:
    """Yield the first bytes of a file, in pieces."""
    with path.open("rb") as stream:
        while size and (piece := stream.read(min(size, PIECE_BYTES))):
            yield piece
            size -= len(piece)


def _append_test_columns(
    result: SubmissionResult, model: str, buffered_columns: dict[str, list[Any]]
) -> None:
    tests, subtasks = result.tests, defaultdict[str, list[str]](list)
    for subtask in result.subtasks:
        for test in subtask.test_results:
            subtasks[test.test_name].append(subtask.subtask)
    for name, value in (("key", result.key), ("problem_id", result.problem_id), ("model", model)):
        buffered_columns[name] += [value] * len(tests)
    buffered_columns["subtasks"] += (
        [subtasks[test.test_name] for test in tests] if subtasks else [[]] * len(tests)
    )
    buffered_columns["cpu_times"] += [test.cpu_times or None for test in tests]
    for name, values in zip(
        _TEST_FIELDS, zip(*map(_read_test_fields, tests), strict=True), strict=bool(tests)
    ):
        buffered_columns[name] += values
