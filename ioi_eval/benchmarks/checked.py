"""Datasets that bring checkers with testlib, in a problem's row or in a package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    header_folders,
)
from ioi_eval.benchmarks.tables import Row, Tables
from ioi_eval.model.values import Blob, Checker, CheckerKind, Limits, NamedBlob, Problem, Solution, Test
from ioi_eval.problems import Package
from ioi_eval.problems.package import TESTLIB_REMEDY, with_testlib
from ioi_eval.rules.json_tests import NO_CASES, CasesError

_MB = 1 << 20
_STANDARD = "gnu++17"


class Checked(Benchmark):
    uses_testlib: ClassVar = True
    version: ClassVar[int] = 2
    milliseconds_from: ClassVar = 0.0  # times below that count seconds

    def problem(self, candidate: Candidate, tables: Tables, keep: Keep, options: BenchmarkOptions) -> Problem:
        row = tables.main[candidate.rows[0]]
        time, source = row.number("time_limit", above=0), row.text("checker", "")
        checker = Checker(kind=CheckerKind.TOKENS)
        if source.strip():
            program = with_testlib("checker.cpp", source, *header_folders(options))
            checker = Checker(kind=CheckerKind.TESTLIB, sources=program)

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
            checker=checker,
            cpp_standard=_STANDARD,
        )


def of_package(package: Package, keep: Keep) -> Problem:
    """The problem of a package, of which nothing lies any longer where that is. Unusable: it is flawed."""
    problem = package.problem
    if problem is None:
        error = package.errors[0]
        if error.remedy == TESTLIB_REMEDY:  # what somebody here can mend is said
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
