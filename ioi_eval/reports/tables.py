"""A run's rows as tables: frames for pandas, and tests.parquet, with a row for each test."""

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
from ioi_eval.reports.summary import check_run, summary
from ioi_eval.store.files import draft_of, refused
from ioi_eval.store.folder import read_failures, read_results
from ioi_eval.store.rows import TEST_COLUMNS, model_of

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
_WHOSE = ("key", "problem_id", "model")
_SUBTASK = ("subtask", "points", "score", "weighted_score", "exact_score", "status")
_TEST = ("test_name", "score", "status", "feedback", "cpu_time", "wall_time", "waited_time", "memory")


class Results:
    """The results of a run: `Results.open("runs/demo").to_frame()`. Every call reads the folder anew."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def open(cls, folder: str | Path) -> Results:
        """Load a run, ended or not. Raises InputError where there is none."""
        check_run(Path(folder))
        return cls(Path(folder))

    def summary(self, options: ReportOptions | None = None) -> Summary:
        """The numbers of summary.json."""
        return summary(self.folder, options)

    def __iter__(self) -> Iterator[SubmissionResult]:
        """The results, in order of completion, one at a time."""
        return (result for _, _, result in read_results(self.folder))

    def to_frame(self) -> pandas.DataFrame:
        """A row for each submission: the dump's own columns, and what became of it.

        Submissions that could not be judged are there too: `judged` is False, `reason` says why, and they
        have no points: a mean leaves them out, and must be shown with their number.
        """
        failures, rows = read_failures(self.folder), list[dict[str, Any]]()
        for _, row, result in read_results(self.folder):
            failures.pop(row["key"], None)
            found = {"judged": True, "verdict": result.verdict.value, "points": result.points}
            rows.append({**_flat(row), **_whose(row), **found})
        unjudged = {"judged": False, "verdict": None, "points": None}
        rows += [{**_flat(row), **_whose(row), **unjudged} for row in failures.values()]
        return _frame(rows, (*_WHOSE, "judged", "verdict", "points"))

    def subtasks_frame(self) -> pandas.DataFrame:
        """A row for each submission and subtask; only of those that were judged."""
        return _frame(self._parts("subtasks", _SUBTASK), (*_WHOSE, *_SUBTASK))

    def tests_frame(self) -> pandas.DataFrame:
        """A row for each submission and distinct test; only of those that were judged."""
        return _frame(self._parts("tests", _TEST), (*_WHOSE, *_TEST))

    def _parts(self, of: str, columns: Iterable[str]) -> Iterator[dict[str, Any]]:
        for _, row, result in read_results(self.folder):
            for part in getattr(result, of):
                yield {**_whose(row), **{name: getattr(part, name) for name in columns}}


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in _NESTED}


def _whose(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"key": row["key"], "problem_id": row.get("problem_id", ""), "model": model_of(row)}


def _frame(rows: Iterable[Mapping[str, Any]], first: tuple[str, ...]) -> pandas.DataFrame:
    """With these columns in front, also where there are no rows."""
    import pandas

    frame = pandas.DataFrame(list(rows))
    return frame.reindex(columns=[*first, *(name for name in frame.columns if name not in first)])


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
_HELD = 20_000  # tests in memory, and in a row group
_MAGIC, _PIECE = b"PAR1", 1 << 24
_OF_TESTS = [name for name in COLUMNS if name in TestResult.__struct_fields__ and name != "cpu_times"]
_MEASURED = frozenset({"cpu_time", "wall_time", "waited_time", "memory"})  # hardly a value is there twice
_values_of = attrgetter(*_OF_TESTS)


class TestsTableState(Value):
    """The groups of a table that later rows do not change, for the next table, which begins with them."""

    begin: int = 0  # in results.jsonl: the first row whose tests are not in them
    size: int = 0  # bytes to the end of these groups; 0: there are none
    sha256: str = ""  # of these bytes
    footer: bytes = b""  # behind them in a table that has no other groups

    def begins(self, table: Path) -> bool:
        """Return True if a table begins with them."""
        digest = hashlib.sha256()
        with contextlib.suppress(OSError):
            for piece in _pieces(table, self.size):
                digest.update(piece)
        return not self.size or digest.hexdigest() == self.sha256


class TestsTable:
    """Takes the tests of rows. Without pyarrow, as in a core that was installed alone, it takes nothing."""

    __test__ = False
    kept = TestsTableState()

    def add(self, row: Mapping[str, Any], result: SubmissionResult, place: int) -> None:
        """Add a row; `place` is its own in results.jsonl."""


@contextlib.contextmanager
def writing_tests(folder: Path, before: TestsTableState | None = None) -> Iterator[TestsTable]:
    """Yield what adds the tests of a row. The old table stays until the new one is whole.

    `before`: the old table begins with these, and so does the new one.
    """
    try:
        import pyarrow.parquet  # noqa: F401
    except ModuleNotFoundError:
        yield TestsTable()
        return

    draft = draft_of(folder / TESTS)
    try:
        with draft.open("wb") as stream:
            table = _Parquet(stream, folder / TESTS, before or TestsTableState())
            try:
                yield table
                table.close()
            finally:
                table.leave()
        draft.replace(folder / TESTS)
    except OSError as error:
        raise refused(folder / TESTS, error) from error
    finally:
        draft.unlink(missing_ok=True)


class _Parquet(TestsTable):
    """Two tables in one: groups that stay as they are, and a last one, which the next table has anew."""

    def __init__(self, stream: BinaryIO, old: Path, before: TestsTableState) -> None:
        import pyarrow
        import pyarrow.parquet

        lists = {"strings": pyarrow.list_(pyarrow.string()), "numbers": pyarrow.list_(pyarrow.float64())}
        self._schema = pyarrow.schema(
            [(name, lists.get(kind) or getattr(pyarrow, kind)()) for name, kind in COLUMNS.items()]
        )
        self._held: dict[str, list[Any]] = {name: [] for name in COLUMNS}
        self._begin = self._first = before.begin
        self._sink = _Sink(stream)
        self._facts: Any = None  # what the footer says of the groups
        if before.size:
            self._facts = pyarrow.parquet.read_metadata(pyarrow.BufferReader(_MAGIC + before.footer))
        for piece in _pieces(old, before.size) if before.size else (_MAGIC,):
            self._sink.take(piece)
        self._writer = self._writer_here()

    def add(self, row: Mapping[str, Any], result: SubmissionResult, place: int) -> None:
        if place < self._begin:
            return
        if len(self._held["key"]) > _HELD:
            self._write()
        if not self._held["key"]:
            self._first = place
        _hold(result, model_of(row), self._held)

    def close(self) -> None:
        self._end_writer()
        if self._facts is not None:
            size, digest = self._sink.size, self._sink.digest.hexdigest()
            self.kept = TestsTableState(begin=self._first, size=size, sha256=digest, footer=self._footer())
        self._writer = self._writer_here()
        self._write()  # also where there are no tests: such a run has a file too
        self._end_writer()
        self._sink.take(self._footer())

    def leave(self) -> None:
        """Have nothing more written, also by a writer that nobody ended."""
        self._sink.is_open = False

    def _writer_here(self) -> Any:
        """Return a writer of groups behind what is there. It counts from the beginning of its file."""
        import pyarrow
        import pyarrow.parquet

        file = pyarrow.PythonFile(self._sink, mode="w")
        few = [name for name in COLUMNS if name not in _MEASURED]
        writer = pyarrow.parquet.ParquetWriter(file, self._schema, compression="zstd", use_dictionary=few)
        for size in range(self._sink.size - len(_MAGIC), 0, -_PIECE):
            file.write(bytes(min(_PIECE, size)))
        self._sink.is_open = True
        return writer

    def _end_writer(self) -> None:
        """Take the facts of its groups; its own footer would know no others."""
        self._sink.is_open = False
        self._writer.close()
        found = self._writer.writer.metadata
        if self._facts is None:
            self._facts = found if found.num_row_groups else None
        else:
            self._facts.append_row_groups(found)

    def _footer(self) -> bytes:
        whole = io.BytesIO()
        self._facts.write_metadata_file(whole)
        return whole.getvalue()[len(_MAGIC) :]

    def _write(self) -> None:
        import pyarrow

        self._writer.write_table(pyarrow.Table.from_pydict(self._held, self._schema))
        for column in self._held.values():
            column.clear()


class _Sink(io.RawIOBase):
    """Hash what goes to a stream, and drop what is written while it is not open."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self.digest, self.size, self.is_open = stream, hashlib.sha256(), 0, False

    def take(self, data: bytes) -> None:
        self._stream.write(data)
        self.digest.update(data)
        self.size += len(data)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if self.is_open:
            self.take(data)
        return len(data)


def _pieces(path: Path, size: int) -> Iterator[bytes]:
    """Yield a file's first bytes."""
    with path.open("rb") as stream:
        while size and (piece := stream.read(min(size, _PIECE))):
            yield piece
            size -= len(piece)


def _hold(result: SubmissionResult, model: str, held: dict[str, list[Any]]) -> None:
    tests, parts = result.tests, defaultdict[str, list[str]](list)
    for part in result.subtasks:
        for test in part.test_results:
            parts[test.test_name].append(part.subtask)
    for name, value in (("key", result.key), ("problem_id", result.problem_id), ("model", model)):
        held[name] += [value] * len(tests)
    held["subtasks"] += [parts[test.test_name] for test in tests] if parts else [[]] * len(tests)
    held["cpu_times"] += [test.cpu_times or None for test in tests]
    for name, values in zip(_OF_TESTS, zip(*map(_values_of, tests), strict=True), strict=bool(tests)):
        held[name] += values
