"""APPS, TACO, USACO and LiveCodeBench: programs in Python, or functions where tests are JSON in a column.

A problem that has no tests, or none that can be understood, is there all the same: its rows say why nothing
can be said of them.
"""

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
from ioi_eval.model.values import Blob, Checker, CheckerKind, Limits, Problem, Solution, TaskOptions, Test
from ioi_eval.problems.package import is_plain
from ioi_eval.rules.json_tests import NO_CASES, CasesError, broken, literal_in, read_cases, with_cases
from ioi_eval.rules.row_tests import PUBLIC_AND_PRIVATE, with_tests

MEMORY_LIMIT = 512 << 20  # bytes; the dataset has no limits, and no harness in use has one of memory


class Apps(Benchmark):
    """A problem is known by its place in the dataset, `apps_42`, and by its `problem_id`."""

    name: ClassVar = "apps"
    about: ClassVar = "10,000 problems of three levels in Python, standard input or a function"
    ids: ClassVar[str] = r"apps_[0-9]+"
    dump_files: ClassVar[tuple[str, ...]] = ("all_codes.json",)
    dataset: ClassVar = "metr-evals/apps"  # codeparrot/apps has the same rows
    split: ClassVar = "test"
    language: ClassVar = "python"
    packages: ClassVar = ("numpy",)
    columns: ClassVar[tuple[str, ...]] = ("question", "input_output")
    named = ColumnNames(id="", difficulty="difficulty", statement="question", starter="starter_code")
    time_limit: ClassVar = 10.0  # seconds, as harnesses in use give a test

    def candidate(self, row: Row) -> Candidate:
        known = "problem_id" in row.table.names  # else problems are called by their places
        alias = row.name("problem_id") if row.has("problem_id") else "" if known else str(row.index)
        return replace(super().candidate(row), alias=alias)

    def problem(self, candidate: Candidate, tables: Tables, keep: Keep, options: BenchmarkOptions) -> Problem:
        row = tables.main[candidate.rows[0]]
        value = row.value("input_output")  # a text of JSON, or what a table made of it
        given = value if isinstance(value, dict) else row.text("input_output", "")
        return self.of_row(
            row,
            candidate,
            lambda task: with_cases(task, read_cases(given), keep.blob),
            limits=Limits.contest(self.time_limit, MEMORY_LIMIT),
            checker=Checker(kind=CheckerKind.STRIPPED),
        )

    def references(self, candidate: Candidate, tables: Tables) -> tuple[Solution, ...]:
        row = tables.main[candidate.rows[0]]
        value = row.value("solutions")  # a list of texts, mostly as JSON; empty for some problems
        codes = value if isinstance(value, list) else row.json("solutions") or []
        if not isinstance(codes, list) or not all(isinstance(code, str) for code in codes):
            raise row.wrong("solutions", "not a list of texts")
        return tuple(
            Solution(name=str(number), language="python", code=code, expected="correct")
            for number, code in enumerate(codes)
        )


# --- TACO --------------------------------------------------------------------------------------------


class Taco(Apps):
    name: ClassVar = "taco"
    about: ClassVar = "26,000 problems of six judges in Python, by tags and skills"
    ids: ClassVar = r"taco_[0-9]+"
    dump_files: ClassVar = ()
    dataset: ClassVar = "BAAI/TACO"
    config: ClassVar = "ALL"
    columns: ClassVar = ("question", "input_output", "raw_tags", "skill_types")
    named = replace(Apps.named, tags=("source",), date="date")
    time_limit: ClassVar = 4.0  # seconds, of its own harness; it heeds no limits of the rows

    def candidate(self, row: Row) -> Candidate:
        found = super().candidate(row)
        return replace(found, tags=(*found.tags, *_tags(row, "tags"), *_tags(row, "skill_types")))


def _tags(row: Row, field: str) -> tuple[str, ...]:
    """A list as Python writes it, in a text."""
    text = row.text(field, "")
    try:
        found = literal_in(text) if text.strip() else []
    except CasesError as error:
        raise row.wrong(field, f"{text:.40} is not a list") from error
    return tuple(dict.fromkeys(str(tag) for tag in found))


# --- USACO (Princeton): 307 problems of four levels, from the authors' archive (not on the hub) -----------

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


# --- LiveCodeBench: problems by the day of their contest, as programs or as methods of a class Solution -----


# The time is what the benchmark's own harness gives a test; it gives the memory no number.
LCB_TIME_LIMIT = 6.0  # seconds
LCB_MEMORY_LIMIT = 1 << 30  # bytes
_LCB_DIGITS = 50_000  # of whole numbers that Python converts, as LiveCodeBench's runner sets it


class LiveCodeBench(Benchmark):
    name: ClassVar = "livecodebench"
    about: ClassVar = "problems of LeetCode, AtCoder and Codeforces by date, in Python"
    ids: ClassVar = r"(abc|arc|agc)[0-9]+_[a-z][0-9]?|[0-9]{4}|[0-9]{4}_[A-Z][0-9]?"
    dump_columns: ClassVar = ("question_id",)
    lists_by_id: ClassVar = True
    dataset: ClassVar = "lighteval/code_generation_lite"  # the authors' own needs code of theirs to be run
    config: ClassVar = "release_latest"
    split: ClassVar = "test"
    language: ClassVar = "python"
    packages: ClassVar = ("numpy",)
    columns: ClassVar = ("question_id", "question_content", "public_test_cases", "private_test_cases")
    named = ColumnNames(
        id="question_id",
        difficulty="difficulty",
        tags=("platform",),
        date="contest_date",
        title="question_title",
        statement="question_content",
        starter="starter_code",
    )

    def problem(self, candidate: Candidate, tables: Tables, keep: Keep, options: BenchmarkOptions) -> Problem:
        row = tables.main[candidate.rows[0]]
        tests = {name: row.text(name, "") for name in (*PUBLIC_AND_PRIVATE, "metadata")}
        return self.of_row(
            row,
            candidate,
            lambda task: with_tests(task, tests, keep.blob),
            limits=Limits.contest(LCB_TIME_LIMIT, LCB_MEMORY_LIMIT),
            checker=Checker(kind=CheckerKind.LINES),
            options=TaskOptions(integer_digits=_LCB_DIGITS),
        )
