"""USACO (Princeton): 307 problems of four levels, from the authors' archive, which is not on the hub."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace

from ioi_eval.benchmarks.benchmark import Benchmark, BenchmarkOptions, Candidate, ColumnNames, Keep, written
from ioi_eval.benchmarks.tables import Row, Tables
from ioi_eval.model.errors import InputError
from ioi_eval.model.nesting import shallow
from ioi_eval.model.values import Blob, Checker, CheckerKind, Limits, Problem, Solution, Test
from ioi_eval.problems.package import is_plain
from ioi_eval.rules.json_tests import NO_CASES, CasesError, broken

_MEGABYTE = 1_000_000  # as its harness counts
_NAMES = (("{}.in", "{}.out"), ("I.{}", "O.{}"))
_FIELDS = ("problem_id", "name", "problem_level", "description", "runtime_limit", "memory_limit", "num_tests")
_SOLUTION, _FOLDER_OF_TESTS = "solution_python3", "tests"


class Usaco(Benchmark):
    name: ClassVar = "usaco"
    about: ClassVar = "307 problems of the USA Computing Olympiad in Python, by level"
    ids: ClassVar = r"[0-9]+_(bronze|silver|gold|platinum)_.+"
    dataset: ClassVar = "usaco_subset307_dict.json"
    split: ClassVar = "test"
    language: ClassVar = "python"
    columns: ClassVar = _FIELDS
    named = ColumnNames(id="problem_id", difficulty="problem_level", title="name", statement="description")

    def rows(self, data_dir: str, cache: Path) -> Path:
        """Write the rows of the file, which is an object of problems."""
        remedy = "Unpack data.zip of github.com/princeton-nlp/USACO and name its folder with data_dir=FOLDER"
        found = sorted(Path(data_dir).rglob(self.dataset)) if data_dir else []
        if not found:
            raise InputError(f"there is no {self.dataset}", where=data_dir or self.name, remedy=remedy)
        below = (path for path in found[0].parent.rglob(_FOLDER_OF_TESTS) if path.is_dir())
        tests = str(next(below, found[0].parent).absolute())
        return written(({**row, _FOLDER_OF_TESTS: tests} for row in _problems(found[0])), self.name, cache)

    def fingerprint(self, candidate: Candidate, tables: Tables) -> str:
        folder = _test_folder(tables.main[candidate.rows[0]])
        return f"{tables.main.fingerprint} {folder.stat().st_mtime_ns if folder.is_dir() else ''}"

    def problem(self, candidate: Candidate, tables: Tables, keep: Keep, options: BenchmarkOptions) -> Problem:
        row = tables.main[candidate.rows[0]]
        return self.of_row(
            row,
            candidate,
            lambda problem: replace(problem, tests=tuple(_tests_in_files(row, keep))),
            limits=Limits.contest(
                row.number("runtime_limit", above=0), int(row.number("memory_limit", above=0) * _MEGABYTE)
            ),
            checker=Checker(kind=CheckerKind.STRIPPED),
        )

    def references(self, candidate: Candidate, tables: Tables) -> tuple[Solution, ...]:
        code = tables.main[candidate.rows[0]].text(_SOLUTION, "")
        return (Solution(name=_SOLUTION, language="python", code=code, expected="correct"),) if code else ()


def _problems(file: Path) -> Iterator[dict[str, Any]]:
    try:
        problems = json.loads(shallow(file.read_text()))
    except ValueError as error:
        raise InputError(f"broken JSON ({error})", where=str(file), remedy="Fetch it again") from error
    if not isinstance(problems, dict) or not all(isinstance(problem, dict) for problem in problems.values()):
        raise InputError("not an object of problems", where=str(file), remedy="Fetch it again")
    for name, listed in problems.items():
        yield {**{field: listed.get(field) for field in (*_FIELDS, _SOLUTION)}, "problem_id": name}


def _test_folder(row: Row) -> Path:
    return Path(row.text(_FOLDER_OF_TESTS)) / row.name("problem_id")


def _tests_in_files(row: Row, keep: Keep) -> Iterator[Test]:
    """Files by number, from 1, in the folder of the problem's name."""
    folder = _test_folder(row)
    if not is_plain(row.name("problem_id")) or not folder.is_dir() or not row.whole("num_tests", 0):
        raise CasesError(NO_CASES)
    for number in range(1, row.whole("num_tests") + 1):
        pairs = [[folder / side.format(number) for side in pair] for pair in _NAMES]
        found = next((pair for pair in pairs if all(path.is_file() for path in pair)), None)
        if found is None:
            raise broken(f"test {number} has no files")
        given, wanted = (keep.file(Blob.of_file(path)) for path in found)
        yield Test(name=str(number), input=given, answer=wanted)
