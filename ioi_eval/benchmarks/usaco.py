"""USACO (Princeton): 307 problems of four levels, from the authors' archive, which is not on the hub."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace

from ioi_eval.benchmarks.benchmark import (
    Benchmark,
    BenchmarkOptions,
    ColumnNames,
    ContentStore,
    ProblemCandidate,
    write_cached_rows,
)
from ioi_eval.benchmarks.tables import Row, Tables
from ioi_eval.model.errors import InputError
from ioi_eval.model.nesting import require_shallow
from ioi_eval.model.values import Blob, Checker, CheckerKind, Limits, Problem, Solution, Test
from ioi_eval.problems.names import is_portable_file_name
from ioi_eval.rules.json_tests import NO_CASES, CasesError, unparsable_tests

_MEGABYTE = 1_000_000  # number of bytes in a megabyte, as in the benchmark's harness
# Name patterns of a test's input file and output file. A test's number replaces the braces.
_TEST_FILES = (("{}.in", "{}.out"), ("I.{}", "O.{}"))
_FIELDS = ("problem_id", "name", "problem_level", "description", "runtime_limit", "memory_limit", "num_tests")
_SOLUTION = "solution_python3"  # field with the dataset's own solution in Python
_TESTS_FOLDER = "tests"  # name of the folder with tests, and of the row's field with the path of this folder


class Usaco(Benchmark):
    """Problems of the USA Computing Olympiad."""

    name: ClassVar = "usaco"
    about: ClassVar = "307 problems of the USA Computing Olympiad in Python, by level"
    ids: ClassVar = r"[0-9]+_(bronze|silver|gold|platinum)_.+"
    dataset: ClassVar = "usaco_subset307_dict.json"
    split: ClassVar = "test"
    language: ClassVar = "python"
    columns: ClassVar = _FIELDS
    named = ColumnNames(id="problem_id", difficulty="problem_level", title="name", statement="description")

    def make_rows_file(self, data_dir: str, cache: Path) -> Path:
        """Return a file with a row for each problem of the authors' file, a JSON object of problems by id."""
        remedy = "Unpack data.zip of github.com/princeton-nlp/USACO and name its folder with data_dir=FOLDER"
        dataset_files = sorted(Path(data_dir).rglob(self.dataset)) if data_dir else []
        if not dataset_files:
            raise InputError(
                f"the folder has no file {self.dataset}", where=data_dir or self.name, remedy=remedy
            )
        test_folders = (path for path in dataset_files[0].parent.rglob(_TESTS_FOLDER) if path.is_dir())
        tests_path = str(next(test_folders, dataset_files[0].parent).absolute())
        return write_cached_rows(
            ({**row, _TESTS_FOLDER: tests_path} for row in _read_problems(dataset_files[0])), self.name, cache
        )

    def fingerprint(self, candidate: ProblemCandidate, tables: Tables) -> str:
        folder = _get_test_folder(tables.main[candidate.rows[0]])
        return f"{tables.main.fingerprint} {folder.stat().st_mtime_ns if folder.is_dir() else ''}"

    def problem(
        self, candidate: ProblemCandidate, tables: Tables, contents: ContentStore, options: BenchmarkOptions
    ) -> Problem:
        row = tables.main[candidate.rows[0]]
        return self.make_problem_from_row(
            row,
            candidate,
            lambda problem: replace(problem, tests=tuple(_read_test_files(row, contents))),
            limits=Limits.contest(
                row.read_number("runtime_limit", above=0),
                int(row.read_number("memory_limit", above=0) * _MEGABYTE),
            ),
            checker=Checker(kind=CheckerKind.STRIPPED),
        )

    def references(self, candidate: ProblemCandidate, tables: Tables) -> tuple[Solution, ...]:
        code = tables.main[candidate.rows[0]].read_text(_SOLUTION, "")
        return (Solution(name=_SOLUTION, language="python", code=code, expected="correct"),) if code else ()


def _read_problems(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of the authors' file."""
    try:
        problems = json.loads(require_shallow(file.read_text()))
    except ValueError as error:
        raise InputError(
            f"the file is not valid JSON ({error})", where=str(file), remedy="Fetch it again"
        ) from error
    if not isinstance(problems, dict) or not all(isinstance(problem, dict) for problem in problems.values()):
        raise InputError(
            "the file is not a JSON object of problems", where=str(file), remedy="Fetch it again"
        )
    for problem_id, problem in problems.items():
        yield {**{field: problem.get(field) for field in (*_FIELDS, _SOLUTION)}, "problem_id": problem_id}


def _get_test_folder(row: Row) -> Path:
    """Return the folder with a problem's tests."""
    return Path(row.read_text(_TESTS_FOLDER)) / row.read_name("problem_id")


def _read_test_files(row: Row, contents: ContentStore) -> Iterator[Test]:
    """Yield the tests of a problem, numbered from 1. Raise CasesError if a file is missing."""
    test_folder = _get_test_folder(row)
    if (
        not is_portable_file_name(row.read_name("problem_id"))
        or not test_folder.is_dir()
        or not row.read_integer("num_tests", 0)
    ):
        raise CasesError(NO_CASES)
    for test_number in range(1, row.read_integer("num_tests") + 1):
        file_pairs = [
            [test_folder / name.format(test_number) for name in name_pair] for name_pair in _TEST_FILES
        ]
        test_files = next(
            (name_pair for name_pair in file_pairs if all(path.is_file() for path in name_pair)), None
        )
        if test_files is None:
            raise unparsable_tests(f"test {test_number} has no input or output file")
        input_blob, answer = (contents.copy(Blob.of_file(path)) for path in test_files)
        yield Test(name=str(test_number), input=input_blob, answer=answer)
