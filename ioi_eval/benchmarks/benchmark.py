"""The form of a benchmark: a file that turns rows into problems, and an entry in the registry.

A benchmark first lists its problems from small columns (`candidates`). Only problems that are selected, and
that a dump mentions, are then read in full (`problem`), once for each state of the tables.
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
from ioi_eval.model.options import CliOption, Count
from ioi_eval.model.values import Blob, CheckerKind, Limits, Problem, Solution, Value
from ioi_eval.problems.package import find_testlib
from ioi_eval.rules.json_tests import CasesError
from ioi_eval.store import Store
from ioi_eval.store.files import replace as write
from ioi_eval.store.memory import read_or_create_cached
from ioi_eval.store.rows import convert_to_label
from ioi_eval.store.tasks import People

INLINE = 1 << 10  # maximum bytes of a test's input or answer in the problem itself; others are in files


class ContentStore:
    """Stores the contents of a problem in its folder in the cache."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def store(self, content: str | bytes | memoryview) -> Blob:
        """Store the content and return it as a blob. Large buffers are written without copying them."""
        data = content.encode() if isinstance(content, str) else content
        size = data.nbytes if isinstance(data, memoryview) else len(data)
        if size <= INLINE:
            return Blob.of(bytes(data))
        sha256 = hashlib.sha256(data).hexdigest()
        path = self._folder / sha256
        if not path.exists():
            path.write_bytes(data)
        # The path is relative, because the folder is moved when it is complete.
        return Blob(sha256=sha256, size=size, path=sha256)

    def copy(self, blob: Blob) -> Blob:
        """Store a copy of a blob, and return it. Large files are copied without reading them into memory."""
        if blob.path is None or blob.size <= INLINE:
            return Blob.of(blob.read())
        path = self._folder / blob.sha256
        if not path.exists():
            shutil.copyfile(blob.path, path)
        return Blob(sha256=blob.sha256, size=blob.size, path=blob.sha256)


class StoredProblem(Value):
    """A stored problem, or the reason why it cannot be judged."""

    problem: Problem | None = None
    unusable: str = ""


def load_stored_problem(
    store: Store, key: str, make_problem: Callable[[ContentStore], StoredProblem]
) -> StoredProblem:
    """Return the problem in the cache under this key. If it is missing or damaged, create and store it.

    `key` is a hash of all data from which the problem is created.
    """
    stored_problem, folder = read_or_create_cached(
        store, key, StoredProblem, lambda folder: make_problem(ContentStore(folder))
    )
    if not _is_intact(stored_problem, folder):
        store.remove(key)
        stored_problem, folder = read_or_create_cached(
            store, key, StoredProblem, lambda folder: make_problem(ContentStore(folder))
        )
    if stored_problem.problem is None:
        return stored_problem
    # Of a stored problem, only the inputs and answers of tests are in files. Make their paths absolute.
    tests = tuple(
        replace(
            test,
            input=_make_path_absolute(test.input, folder),
            answer=test.answer and _make_path_absolute(test.answer, folder),
        )
        for test in stored_problem.problem.tests
    )
    return StoredProblem(problem=replace(stored_problem.problem, tests=tests))


def _is_intact(stored_problem: StoredProblem, folder: Path) -> bool:
    """Return False if a test's content has changed, or a file is missing or truncated after a power cut."""
    tests = stored_problem.problem.tests if stored_problem.problem is not None else ()
    blobs = [blob for test in tests for blob in (test.input, test.answer) if blob is not None]
    if not all(blob.data is None or Blob.of(blob.data).sha256 == blob.sha256 for blob in blobs):
        return False
    paths_and_sizes = ((folder / blob.path, blob.size) for blob in blobs if blob.path is not None)
    return all(path.is_file() and path.stat().st_size == size for path, size in paths_and_sizes)


def _make_path_absolute(blob: Blob, folder: Path) -> Blob:
    """Return the blob with the path of its file in the folder."""
    return blob if blob.path is None else replace(blob, path=str(folder / blob.path))


def write_cached_rows(rows: Iterable[Mapping[str, Any]], name: str, cache: Path) -> Path:
    """Return a file with these rows, written to the cache if it is missing.

    It is for copies of datasets on disk that have their rows in another layout.
    """
    json_lines = [f"{json.dumps(row)}\n".encode() for row in rows]
    path = cache / "tables" / f"{name}-{hashlib.sha256(b''.join(json_lines)).hexdigest()}.jsonl"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, json_lines)
    return path


def make_statement_blob(text: str) -> Blob | None:
    """Return a statement with this text, or None if it is blank."""
    return Blob.of(text) if text.strip() else None


def normalize_date(date_string: str) -> str:
    """Return a date such as 2024-05-31, or an empty string unchanged. Another string is an InputError."""
    try:
        return date_string and datetime.strptime(date_string, "%Y-%m-%d").date().isoformat()
    except ValueError as error:
        raise InputError(f"{date_string!r} is not a date", remedy="Write it as 2024-05-31") from error


def normalize_checker_name(checker_name: str) -> str:
    """Return the name of a built-in comparison, or an empty string unchanged. Raises InputError."""
    return checker_name and CheckerKind.built_in(checker_name).value


def mebibytes_to_bytes(mebibytes: float) -> int:
    """Return a size in MiB as bytes."""
    return int(mebibytes * (1 << 20))


class BenchmarkOptions(Value):
    """The options of a benchmark: the source of its rows, and the selection of problems.

    Empty values mean the benchmark's own source, or all problems.
    """

    problems: Annotated[
        frozenset[str],
        CliOption(name="problem", metavar="ID", help="Select only this problem. May be repeated."),
    ] = frozenset()
    years: Annotated[
        frozenset[int],
        CliOption(name="year", metavar="YEAR", help="Select only problems of this year. May be repeated."),
    ] = frozenset()
    difficulty: Annotated[
        frozenset[str],  # difficulties to select, as the dataset names them, in upper or lower case
        CliOption(metavar="WORD", help="Select only problems of this difficulty. May be repeated."),
    ] = frozenset()
    tags: Annotated[
        # Tags to select, in upper or lower case. A problem needs one of these tags. Its platform is a tag.
        frozenset[str],
        CliOption(name="tag", metavar="WORD", help="Select only problems with this tag. May be repeated."),
    ] = frozenset()
    date_from: Annotated[
        str,
        CliOption(
            metavar="DAY",
            help="Select only problems from this day on, written as 2024-05-31.",
            read=normalize_date,
        ),
    ] = ""
    date_to: Annotated[
        str, CliOption(metavar="DAY", help="Select only problems up to this day.", read=normalize_date)
    ] = ""
    first: Annotated[
        Count | None,  # maximum number of problems, applied after all other filters, in the order of the rows
        CliOption(metavar="N", help="Select only the first N problems."),
    ] = None
    sample: Annotated[
        # Number of problems in a random sample, applied after all other filters, independent of the rows'
        # order.
        Count | None,
        CliOption(metavar="N", help="Select a random sample of N problems."),
    ] = None
    seed: Annotated[
        int, CliOption(metavar="S", help="Seed of the random sample of problems.", key_only=True)
    ] = 0
    data_dir: Annotated[
        str,
        CliOption(
            typed=Path,
            read=str,
            metavar="DIR",
            help="Folder with local copies of the benchmark's datasets. Nothing is downloaded.",
        ),
    ] = ""
    dataset: Annotated[
        str,  # id of a dataset on the hub, or path of a file with rows
        CliOption(
            metavar="ID",
            help="Dataset to read instead of the benchmark's own. It must have the same columns.",
            key_only=True,
        ),
    ] = ""
    config: Annotated[
        str,
        CliOption(
            name="dataset_config",
            metavar="NAME",
            help="Name of the dataset's config, if the dataset has several configs.",
            key_only=True,
        ),
    ] = ""
    split: Annotated[
        str,
        CliOption(
            metavar="NAME",
            help="Name of the dataset's split, or of several splits, written as a+b.",
            key_only=True,
        ),
    ] = ""
    revision: Annotated[
        str, CliOption(metavar="REV", help="Revision of the dataset on the Hugging Face hub.", key_only=True)
    ] = ""
    generated_tests: Annotated[
        bool,
        # This option has an effect only if the dataset marks its generated tests.
        CliOption(help="Include generated tests, which the original contest did not have.", key_only=True),
    ] = True
    checker: Annotated[
        str,  # name of a comparison of outputs, which is ignored for problems with a checker
        CliOption(
            metavar="KIND",
            read=normalize_checker_name,
            help="Built-in comparison of outputs, such as apps, to use instead of the benchmark's.",
            key_only=True,
        ),
    ] = ""
    packages: Annotated[
        tuple[str, ...] | None,  # names of modules; None means the packages that the benchmark allows
        CliOption(
            typed=str,
            read=read_packages,
            metavar="NAME[,NAME...]",
            help="Python packages that programs may import and the judge must have. none means no package.",
            unset="those that the benchmark promises",
            panel="Judging",
        ),
    ] = None
    time_limit: Annotated[
        Annotated[float, msgspec.Meta(ge=0.001, le=1e6)] | None,
        CliOption(
            metavar="S",
            help="CPU time limit of each test, in seconds, instead of the problem's own limit.",
            panel="Judging",
            key_only=True,
        ),
    ] = None
    memory_limit: Annotated[
        Count | None,  # bytes
        CliOption(
            typed=float,
            minimum=1,
            maximum=1e9,
            read=mebibytes_to_bytes,
            metavar="MIB",
            help="Memory limit of each test, in MiB, instead of the problem's own limit.",
            panel="Judging",
            key_only=True,
        ),
    ] = None

    @property
    def report_settings(self) -> Mapping[str, str]:
        """Return the options that change tests, limits or comparisons, for reports. Defaults are left out."""
        limits = {
            "time_limit": self.time_limit and f"{self.time_limit:g} s",
            "memory_limit": self.memory_limit and f"{self.memory_limit / (1 << 20):g} MiB",
        }
        texts = {"checker": self.checker, "dataset": self.dataset, "dataset_config": self.config}
        texts |= {"split": self.split, "revision": self.revision}
        packages = {} if self.packages is None else {"packages": ", ".join(self.packages) or "none"}
        tests = {} if self.generated_tests else {"generated_tests": "no"}
        return {name: value for name, value in (limits | texts).items() if value} | packages | tests

    def apply_limits(self, problem: Problem) -> Problem:
        """Return the problem with the time and memory limits of these options."""
        limits = problem.limits
        if self.time_limit is not None:
            time_limits = Limits.contest(self.time_limit, None)
            limits = replace(limits, cpu_time=time_limits.cpu_time, wall_time=time_limits.wall_time)
        if self.memory_limit is not None:
            limits = replace(limits, memory=self.memory_limit)
        return problem if limits is problem.limits else replace(problem, limits=limits)


def list_testlib_folders(options: BenchmarkOptions) -> tuple[Path, ...]:
    """Return the folders of the data in which testlib.h is searched."""
    return (Path(options.data_dir),) if options.data_dir else ()


class ProblemCandidate(Value):
    """A problem before its tests are read, with everything that selections need."""

    id: str
    rows: tuple[int, ...]  # row indexes of the problem in the main table
    alias: str = ""  # another id of the problem that dumps may use
    year: int | None = None
    difficulty: str = ""
    tags: tuple[str, ...] = ()
    date: str = ""  # date of the problem: 2024-05-31, and perhaps a time after it
    unusable: str = ""  # reason why the problem cannot be judged; empty if none is known yet


class Unusable(IoiEvalError):
    """Raised if a problem is unusable because of a flaw of the dataset.

    The problem is excluded and counted.
    """


class ColumnNames(Value):
    """The names of a table's columns, by content. An empty name means that the table lacks the column."""

    id: str = "id"  # name of the column with problem ids; empty if a problem's id is its row number
    difficulty: str = ""
    tags: tuple[str, ...] = ()
    date: str = ""
    title: str = ""
    statement: str = ""
    starter: str = ""


class Benchmark(ABC):
    """A benchmark: the schema of its dataset, and the conversion of rows to problems.

    It is independent of caches, selections and dumps.
    """

    name: ClassVar[str]
    about: ClassVar[str]  # description of the benchmark, a single line
    dataset: ClassVar[str]  # hub id of the dataset with the main table
    config: ClassVar[str] = ""  # config of the dataset on the hub
    split: ClassVar[str]  # names of the splits, joined by plus signs
    # Names of all splits, which are read if `split` lacks most problems of a dump. Empty if `split` has all.
    all_splits: ClassVar[str] = ""
    columns: ClassVar[tuple[str, ...]]  # columns of the main table that every row must have
    # Columns whose values have several types. The values are converted to JSON strings.
    mixed: ClassVar[tuple[str, ...]] = ()
    # Pattern for names of files in the dataset that do not belong to the main table.
    other_files: ClassVar[str] = ""
    language: ClassVar[str] = "c++"  # programming language of a dump's rows that do not name a language
    # Names of Python packages that the original harness of the benchmark provides.
    packages: ClassVar[tuple[str, ...]] = ()
    ids: ClassVar[str] = ""  # pattern of problem ids, by which a dump of this benchmark is recognized
    # Names of files that are recognized as dumps of this benchmark.
    dump_files: ClassVar[tuple[str, ...]] = ()
    # Columns that a dump must also have to be recognized, in addition to problem ids that match `ids`.
    dump_columns: ClassVar[tuple[str, ...]] = ()
    # Order of problems in a dump that is a list of lists of replies: True means by id, False by row.
    lists_by_id: ClassVar[bool] = False
    # Name of a benchmark with the same problem ids, to whose tests this benchmark adds tests.
    adds_to: ClassVar[str] = ""
    named: ClassVar[ColumnNames] = ColumnNames()
    # True if programs may include testlib.h, which the dataset does not contain.
    uses_testlib: ClassVar[bool] = False
    # Names of options on which the result of the method `problem` depends.
    relevant_options: ClassVar[tuple[str, ...]] = ()
    # Version of the method `problem`; increase it if `problem` returns different problems for the same rows.
    version: ClassVar[int] = 1

    def accepts_row(self, row: Mapping[str, Any]) -> bool:
        """Return False if a row with the benchmark's columns is another benchmark's."""
        return True

    def make_rows_file(self, data_dir: str, cache: Path) -> Path | None:
        """Return a file with the rows of the main table if copies on disk have another layout, else None."""
        return None

    def candidates(self, main: Table) -> Iterator[ProblemCandidate]:
        """Yield the problem of each row of the main table, without reading large columns."""
        return map(self.candidate, main)

    def candidate(self, row: Row) -> ProblemCandidate:
        """Return the problem of a row, read from the columns in `named`."""
        date_string = str(self.read_value(row, self.named.date) or "")
        # A date in a JSON file is a timestamp, whose first 10 characters are the day.
        day = date_string[:10].replace("/", "-")
        date = day if day[:4].isdecimal() else ""
        return ProblemCandidate(
            id=self.read_problem_id(row),
            rows=(row.index,),
            year=int(date[:4]) if date else None,
            difficulty=convert_to_label(self.read_string(row, self.named.difficulty)),
            tags=self.read_tags(row),
            date=date,
        )

    def read_problem_id(self, row: Row) -> str:
        """Return the id of a row's problem."""
        return row.read_name(self.named.id) if self.named.id else f"{self.name}_{row.index}"

    def read_tags(self, row: Row) -> tuple[str, ...]:
        """Return the tags of a row's problem."""
        return tuple(tag for column in self.named.tags if (tag := self.read_string(row, column)))

    def read_string(self, row: Row, column: str, default: str = "") -> str:
        """Return a column's string in a row."""
        return row.read_text(column, default)

    def read_value(self, row: Row, column: str) -> Any:
        """Return a column's value in a row."""
        return row.raw_value(column)

    @abstractmethod
    def problem(
        self, candidate: ProblemCandidate, tables: Tables, contents: ContentStore, options: BenchmarkOptions
    ) -> Problem:
        """Return the problem of a candidate.

        Args:
            candidate: The problem's id and rows.
            tables: The tables of the dataset.
            contents: Stores the contents of tests.
            options: The user's options.

        Raises:
            InputError: The dataset is not as expected.
            Unusable: The problem cannot be judged.
        """

    def make_problem_from_row(
        self,
        row: Row,
        candidate: ProblemCandidate,
        add_tests: Callable[[Problem], Problem],
        **problem_fields: Any,
    ) -> Problem:
        """Return the problem of a row. It is unusable if its tests cannot be read.

        Args:
            row: The row.
            candidate: The problem as it was selected.
            add_tests: Returns the problem with its tests.
            problem_fields: Further fields of the problem.
        """
        problem = Problem(
            id=candidate.id,
            name=self.read_string(row, self.named.title, candidate.id),
            year=candidate.year,
            source=f"{row.table.where}, row {row.index + 1}",
            difficulty=candidate.difficulty,
            tags=candidate.tags,
            statement=make_statement_blob(self.read_string(row, self.named.statement)),
            starter_code=self.read_string(row, self.named.starter),
        )
        try:
            return add_tests(replace(problem, **problem_fields))
        except CasesError as error:
            return replace(problem, **problem_fields, unusable=str(error))

    def fingerprint(self, candidate: ProblemCandidate, tables: Tables) -> str:
        """Return a hash that changes if any table with data of the problem changes."""
        return tables.main.fingerprint

    def fingerprint_options(self, options: BenchmarkOptions) -> str:
        """Return a string that changes if options or testlib.h change the problems of the same rows.

        If programs include testlib.h, the string contains its path, size and time; otherwise, the options.
        """
        if self.uses_testlib:
            header = find_testlib(*list_testlib_folders(options))
            return f"{header} {header.stat().st_size} {header.stat().st_mtime_ns}" if header else ""
        return " ".join(f"{name}={getattr(options, name)}" for name in self.relevant_options)

    def read_people(self, tables: Tables) -> People | None:
        """Return the results of human contestants, or None if the dataset has none.

        Raises:
            InputError: The results cannot be read.
        """
        return None

    def references(self, candidate: ProblemCandidate, tables: Tables) -> tuple[Solution, ...]:
        """Return the dataset's own solutions. They are read on demand and are not cached."""
        return ()
