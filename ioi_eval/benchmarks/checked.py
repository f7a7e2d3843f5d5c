"""Datasets that bring checkers with testlib, in a problem's row or in a package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
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
from ioi_eval.benchmarks.hub import file_of_hub
from ioi_eval.benchmarks.tables import Row, Table, Tables, TableSource, one_file
from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Blob, Checker, CheckerKind, Limits, NamedBlob, Problem, Solution, Test
from ioi_eval.problems import Package, testlib
from ioi_eval.problems.archive import extracted
from ioi_eval.problems.lightcp import LightCp
from ioi_eval.rules.json_tests import NO_CASES, CasesError
from ioi_eval.store import Store

_MB = 1 << 20
_STANDARD = "gnu++17"


class Checked(Benchmark):
    milliseconds_from: ClassVar = 0.0  # times below that count seconds

    def matter(self, options: BenchmarkOptions) -> str:
        return header_stamp(options)

    def problem(self, candidate: Candidate, tables: Tables, keep: Keep, options: BenchmarkOptions) -> Problem:
        row = tables.main[candidate.rows[0]]
        time = row.number("time_limit", above=0)

        def finish(problem: Problem) -> Problem:
            pairs = enumerate(row.contents("test_cases", "input", "output"), 1)
            tests = tuple(
                Test(name=str(number), input=keep.blob(given), answer=keep.blob(wanted))
                for number, (given, wanted) in pairs
            )
            if not tests:
                raise CasesError(NO_CASES)
            return replace(problem, tests=tests)

        return self.of_row(
            row,
            candidate,
            finish,
            limits=Limits.contest(
                time if time < self.milliseconds_from else time / 1000,
                int(row.number("memory_limit", above=0) * _MB),
            ),
            checker=_checker(row.text("checker", ""), header_folders(options)),
            cpp_standard=_STANDARD,
        )


def _checker(source: str, headers: Sequence[Path]) -> Checker:
    """Words are compared where there is none."""
    if not source.strip():
        return Checker(kind=CheckerKind.TOKENS)
    return Checker(kind=CheckerKind.TESTLIB, sources=testlib.program("checker.cpp", source, *headers))


def header_folders(options: BenchmarkOptions) -> tuple[Path, ...]:
    """Return the folders beside the data that may hold testlib.h."""
    return (Path(options.data_dir),) if options.data_dir else ()


def header_stamp(options: BenchmarkOptions) -> str:
    """Changes with testlib.h."""
    found = testlib.find(*header_folders(options))
    return f"{found} {found.stat().st_size} {found.stat().st_mtime_ns}" if found else ""


def of_package(package: Package, keep: Keep) -> Problem:
    """The problem of a package, of which nothing lies any longer where that is. Unusable: it is flawed."""
    problem = package.problem
    if problem is None:
        error = package.errors[0]
        if error.remedy == testlib.REMEDY:  # what somebody here can mend is said
            raise error
        raise Unusable(f"its package is flawed: {error.problem}")
    tests = (
        replace(test, input=keep.file(test.input), answer=test.answer and keep.file(test.answer))
        for test in problem.tests
    )
    problem = replace(problem, tests=tuple(tests))
    if problem.manager is not None:
        return replace(problem, manager=replace(problem.manager, sources=_held(problem.manager.sources)))
    return replace(problem, checker=replace(problem.checker, sources=_held(problem.checker.sources)))


def _held(sources: Sequence[NamedBlob]) -> tuple[NamedBlob, ...]:
    return tuple(replace(source, content=Blob.of(source.content.read())) for source in sources)


# --- CodeContests+ -----------------------------------------------------------------------------------


_OURS: Mapping[str, str] = MappingProxyType(
    {"cpp": "c++", "py3": "python3", "py2": "python2", "java": "java"}
)


class CodeContestsPlus(Checked):
    name: ClassVar = "code_contests_plus"
    about: ClassVar = "11,690 problems of CodeContests with better tests, and checkers"
    ids: ClassVar = r"[0-9]+_[A-Z][0-9]?"
    dataset: ClassVar = "ByteDance-Seed/Code-Contests-Plus"
    config: ClassVar = "1x"
    split: ClassVar = "train"
    columns: ClassVar = (
        "source",
        "id",
        "title",
        "description",
        "time_limit",
        "memory_limit",
        "checker",
        "test_cases",
    )
    named = ColumnNames(tags=("source",), title="title", statement="description")
    milliseconds_from: ClassVar = 100.0

    def candidate(self, row: Row) -> Candidate:
        found = super().candidate(row)
        return replace(found, alias=found.id.replace("_", "/") if "_" in found.id else "")

    def references(self, candidate: Candidate, tables: Tables) -> tuple[Solution, ...]:
        row = tables.main[candidate.rows[0]]
        return (
            *_solutions(row, "correct_submissions", "correct"),
            *_solutions(row, "incorrect_submissions", "rejected"),
        )


def _solutions(row: Row, field: str, expected: str) -> Iterator[Solution]:
    for number, item in enumerate(row.items(field) if row.has(field) else ()):
        if isinstance(code := item.get("code"), str):
            language = _OURS.get(str(item.get("language")), "")
            yield Solution(name=f"{field} {number}", language=language, code=code, expected=expected)


# --- AetherCode --------------------------------------------------------------------------------------


class AetherCode(Checked):
    name: ClassVar = "aethercode"
    about: ClassVar = "problems of premier contests, with checkers by experts"
    dataset: ClassVar = "m-a-p/AetherCode"
    config: ClassVar = "v1_2024"
    split: ClassVar = "test"
    columns: ClassVar = (
        "id",
        "description",
        "time_limit",
        "memory_limit",
        "checker",
        "test_cases",
        "contest_name",
    )
    named = ColumnNames(
        difficulty="difficulty",
        tags=("contest_category", "contest_name"),
        date="date",
        title="contest_name",
        statement="description",
    )

    def candidate(self, row: Row) -> Candidate:
        return replace(super().candidate(row), year=row.whole("year", 0) or None)


# --- LiveCodeBench Pro: contests since October 2024, a zip of tests and a checker for each problem ---


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
        return f"{tables.main.fingerprint} {tables.stamp(TESTS, f'{candidate.id}.zip')}"

    def problem(self, candidate: Candidate, tables: Tables, keep: Keep, options: BenchmarkOptions) -> Problem:
        row = tables.main[candidate.rows[0]]
        archive = _archive(f"{candidate.id}.zip", options)
        with TemporaryDirectory(prefix="ioi-eval-") as place:  # nothing of the problem stays there
            folder = extracted(archive, Store(Path(place))).folder
            package = LightCp(*header_folders(options)).read_package(folder, str(archive))
            problem = of_package(package, keep)
        return replace(
            problem,
            id=candidate.id,
            name=row.text("problem_title", candidate.id),
            difficulty=candidate.difficulty,
            tags=candidate.tags,
            statement=statement_of(row.text("problem_statement", "")),
        )


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
