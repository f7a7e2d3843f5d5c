"""The benchmark OJBench: problems of NOI and ICPC. Each is a package of DMOJ's judge in its dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace

from ioi_eval.benchmarks.benchmark import (
    Benchmark,
    BenchmarkOptions,
    ColumnNames,
    ContentStore,
    ProblemCandidate,
    make_statement_blob,
    write_cached_rows,
)
from ioi_eval.benchmarks.packaged import make_problem_from_package
from ioi_eval.benchmarks.row_files import read_columns
from ioi_eval.benchmarks.tables import Row, Tables
from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Problem
from ioi_eval.plugins.dmoj.packages import Dmoj
from ioi_eval.problems.names import is_portable_file_name

LEFT_OUT = "OJBench's own judge excludes it"
_EXCLUDED = frozenset({"nwerc2023_H", "swerc2023_L", "loj-3897"})
# Limits of OJBench's judge, which are the same for all problems.
_TIME_LIMIT_S, _MEMORY_LIMIT_BYTES = 10.0, 1 << 30
# File of the dataset, and name of a column that is added to its rows.
_ROWS, _FOLDER = "prompts/full.jsonl", "folder"
_NOI = "NOI"
_FORMAT_HEADING = "### Format: "  # heading in a prompt; the text after it depends on the language


class OJBench(Benchmark):
    """The benchmark OJBench."""

    name: ClassVar = "ojbench"
    about: ClassVar = "232 problems of NOI and ICPC, with checkers and interactors"
    ids: ClassVar = r"loj-[0-9]+|[ns]werc20[0-9]{2}_[A-Z]"
    dataset: ClassVar = "He-Ren/OJBench_testdata"
    version: ClassVar[int] = 2
    split: ClassVar = "train"
    columns: ClassVar = ("id", "prompt", "dataset", "language", "difficulty", _FOLDER)
    named = ColumnNames(difficulty="difficulty", tags=("dataset",))

    def make_rows_file(self, data_dir: str, cache: Path) -> Path:
        """Write a row for each problem, with the folder of its package. Return the path of the file.

        The dataset's file has a row for each language of a problem.
        """
        row_files = sorted(Path(data_dir).rglob(_ROWS)) if data_dir else []
        if not row_files:
            remedy = f"Clone the dataset {self.dataset} with Git LFS and name its folder with data_dir=FOLDER"
            raise InputError(f"the folder has no file {_ROWS}", where=data_dir or self.name, remedy=remedy)
        dataset_folder = row_files[0].absolute().parents[1]
        row_by_id: dict[str, dict[str, Any]] = {}
        for row in read_columns(row_files[0], self.columns):
            problem_id, contest = str(row.get("id")), str(row.get("dataset"))
            # An id that is a number belongs to a problem of LibreOJ.
            problem_id = f"loj-{problem_id}" if problem_id.isdecimal() else problem_id
            if not (is_portable_file_name(problem_id) and is_portable_file_name(contest)):
                message = f"{contest!r} and {problem_id!r} are not names of folders"
                raise InputError(message, where=str(row_files[0]), remedy="Fetch the dataset again")
            row_by_id.setdefault(
                problem_id, {**row, "id": problem_id, _FOLDER: str(dataset_folder / contest / problem_id)}
            )
        return write_cached_rows(row_by_id.values(), self.name, cache)

    def candidate(self, row: Row) -> ProblemCandidate:
        candidate = super().candidate(row)
        alias = candidate.id.removeprefix("loj-") if candidate.tags == (_NOI,) else ""
        return replace(candidate, alias=alias, unusable=LEFT_OUT if candidate.id in _EXCLUDED else "")

    def fingerprint(self, candidate: ProblemCandidate, tables: Tables) -> str:
        folder = Path(tables.main[candidate.rows[0]].read_text(_FOLDER))
        paths_and_stats = ((path, path.stat()) for path in sorted(folder.rglob("*")))
        file_facts = (f"{path} {stat.st_size} {stat.st_mtime_ns}" for path, stat in paths_and_stats)
        return " ".join((tables.main.fingerprint, *file_facts))

    def problem(
        self, candidate: ProblemCandidate, tables: Tables, contents: ContentStore, options: BenchmarkOptions
    ) -> Problem:
        """Return the problem. As in OJBench's judge, all tests must pass, whatever points they have.

        Args:
            candidate: The problem's id, row, difficulty and tags.
            tables: The tables of the dataset. The row names the folder of the problem's package.
            contents: Stores the contents of tests.
            options: The user's options, which are not used.
        """
        row = tables.main[candidate.rows[0]]
        folder = row.read_text(_FOLDER)
        problem = make_problem_from_package(Dmoj().read_package(Path(folder), folder), contents)
        limits = problem.limits
        wall_time_factor = (limits.wall_time or 0) / (limits.cpu_time or 1)
        return replace(
            problem,
            id=candidate.id,
            subtasks=(),
            limits=replace(
                limits,
                cpu_time=_TIME_LIMIT_S,
                wall_time=_TIME_LIMIT_S * wall_time_factor,
                memory=_MEMORY_LIMIT_BYTES,
            ),
            difficulty=candidate.difficulty,
            tags=candidate.tags,
            cpp_standard="c++17",
            statement=make_statement_blob(row.read_text("prompt").partition(_FORMAT_HEADING)[0]),
        )
