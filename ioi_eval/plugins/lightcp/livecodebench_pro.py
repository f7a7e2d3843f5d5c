"""The benchmark LiveCodeBench Pro: each problem has a zip with its tests and its checker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

from msgspec.structs import replace

from ioi_eval.benchmarks.benchmark import (
    Benchmark,
    BenchmarkOptions,
    ColumnNames,
    ContentStore,
    ProblemCandidate,
    Unusable,
    list_testlib_folders,
    make_statement_blob,
)
from ioi_eval.benchmarks.hub import fetch_hub_file
from ioi_eval.benchmarks.packaged import make_problem_from_package
from ioi_eval.benchmarks.tables import Table, Tables, TableSource, list_matching_file
from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Problem
from ioi_eval.plugins.lightcp.packages import LightCp
from ioi_eval.problems.archive import extract_archive
from ioi_eval.store import Store

TESTS = "QAQAQAQAQ/LiveCodeBench-Pro-Testcase"
NO_TESTS = "the dataset has no tests for it"


class LiveCodeBenchPro(Benchmark):
    """The benchmark LiveCodeBench Pro."""

    name: ClassVar = "livecodebench_pro"
    about: ClassVar = "problems of contests since October 2024, with checkers and interactors"
    ids: ClassVar = r"[0-9]{4}[A-Z][0-9]?"
    dataset: ClassVar = "QAQAQAQAQ/LiveCodeBench-Pro"
    split: ClassVar = "quater_2024_10_12+quater_2025_1_3+quater_2025_4_6+quater_2025_7_9"
    columns: ClassVar = ("problem_id", "problem_title", "difficulty", "platform", "problem_statement")
    named = ColumnNames(id="problem_id", difficulty="difficulty", tags=("platform",))
    uses_testlib: ClassVar = True
    version: ClassVar[int] = 2

    def candidates(self, main: Table) -> Iterator[ProblemCandidate]:
        """Yield the problems. A problem that is in several quarters is yielded once."""
        return (self.candidate(main[rows[0]]) for rows in main.group_rows(self.named.id).values())

    def fingerprint(self, candidate: ProblemCandidate, tables: Tables) -> str:
        return f"{tables.main.fingerprint} {tables.format_file_size_and_time(TESTS, f'{candidate.id}.zip')}"

    def problem(
        self, candidate: ProblemCandidate, tables: Tables, contents: ContentStore, options: BenchmarkOptions
    ) -> Problem:
        row = tables.main[candidate.rows[0]]
        archive = _find_archive(f"{candidate.id}.zip", options)
        # The folder may be removed afterwards, because the problem contains no path into it.
        with TemporaryDirectory(prefix="ioi-eval-") as temporary_folder:
            folder = extract_archive(archive, Store(Path(temporary_folder))).folder
            package = LightCp(*list_testlib_folders(options)).read_package(folder, str(archive))
            problem = make_problem_from_package(package, contents)
        return replace(
            problem,
            id=candidate.id,
            name=row.read_text("problem_title", candidate.id),
            difficulty=candidate.difficulty,
            tags=candidate.tags,
            statement=make_statement_blob(row.read_text("problem_statement", "")),
        )


def _find_archive(file_name: str, options: BenchmarkOptions) -> Path:
    """Return the path of a problem's zip: in the data folder, else from the hub."""
    if not options.data_dir:
        path = fetch_hub_file(TESTS, file_name)
        if path is None:
            raise Unusable(NO_TESTS)
        return path
    try:
        return list_matching_file(Path(options.data_dir), TableSource(dataset=TESTS, path=file_name))[0]
    except InputError as error:
        raise Unusable(NO_TESTS) from error
