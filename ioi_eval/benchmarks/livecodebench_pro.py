"""LiveCodeBench Pro: problems of Codeforces, ICPC and IOI, each with a zip of tests and a checker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

from msgspec.structs import replace

from ioi_eval.benchmarks.benchmark import (
    Benchmark,
    BenchmarkOptions,
    Candidate,
    ColumnNames,
    Keep,
    Unusable,
    statement_of,
)
from ioi_eval.benchmarks.checked import header_folders, header_stamp, of_package
from ioi_eval.benchmarks.hub import file_of_hub
from ioi_eval.benchmarks.table_files import TableSource, one_file
from ioi_eval.benchmarks.tables import Table, Tables
from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Problem
from ioi_eval.problems.archive import extracted
from ioi_eval.problems.lightcp import LightCp
from ioi_eval.store import Store

TESTS = "QAQAQAQAQ/LiveCodeBench-Pro-Testcase"
NO_TESTS = "the dataset has no tests of it"


class LiveCodeBenchPro(Benchmark):
    name: ClassVar = "livecodebench_pro"
    about: ClassVar = "problems of contests since October 2024, with checkers and interactors"
    ids: ClassVar = r"[0-9]{4}[A-Z][0-9]?"
    dataset: ClassVar = "QAQAQAQAQ/LiveCodeBench-Pro"
    split: ClassVar = "quater_2024_10_12+quater_2025_1_3+quater_2025_4_6+quater_2025_7_9"
    columns: ClassVar = ("problem_id", "problem_title", "difficulty", "platform", "problem_statement")
    named = ColumnNames(id="problem_id", difficulty="difficulty", tags=("platform",))

    def candidates(self, main: Table) -> Iterator[Candidate]:
        """A problem may be of several quarters."""
        return (self.candidate(main[rows[0]]) for rows in main.groups(self.named.id).values())

    def matter(self, options: BenchmarkOptions) -> str:
        return header_stamp(options)

    def fingerprint(self, candidate: Candidate, tables: Tables) -> str:
        return f"{tables.main.fingerprint} {tables.stamp(TESTS, _archive_name(candidate))}"

    def problem(self, candidate: Candidate, tables: Tables, keep: Keep, options: BenchmarkOptions) -> Problem:
        row = tables.main[candidate.rows[0]]
        problem = _read(_archive(_archive_name(candidate), options), keep, header_folders(options))
        return replace(
            problem,
            id=candidate.id,
            name=row.text("problem_title", candidate.id),
            difficulty=candidate.difficulty,
            tags=candidate.tags,
            statement=statement_of(row.text("problem_statement", "")),
        )


def _archive_name(candidate: Candidate) -> str:
    return f"{candidate.id}.zip"


def _archive(name: str, options: BenchmarkOptions) -> Path:
    if not options.data_dir:
        found = file_of_hub(TESTS, name)
        if found is None:
            raise Unusable(NO_TESTS)
        return found
    try:
        return one_file(Path(options.data_dir), TableSource(dataset=TESTS, path=name))[0]
    except InputError as error:
        raise Unusable(NO_TESTS) from error


def _read(archive: Path, keep: Keep, headers: Sequence[Path]) -> Problem:
    """The problem, of which nothing lies any longer where the archive was extracted."""
    with TemporaryDirectory(prefix="ioi-eval-") as place:
        folder = extracted(archive, Store(Path(place))).folder
        return of_package(LightCp(*headers).read_package(folder, str(archive)), keep)
