"""LiveCodeBench: problems by the day of their contest, as programs or as methods of a class Solution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import msgspec

from ioi_eval.benchmarks.base import Benchmark, BenchmarkOptions, Candidate
from ioi_eval.benchmarks.keeping import Keep
from ioi_eval.benchmarks.packed import unpacked
from ioi_eval.benchmarks.tables import Row, Table, Tables
from ioi_eval.cases import NO_CASES, Case, Cases, CasesError, broken, read_call, with_cases
from ioi_eval.models import Blob, Checker, CheckerKind, Limits, Problem

# The time is what the benchmark's own harness gives a test; it gives the memory no number.
TIME_LIMIT = 6.0  # seconds
MEMORY_LIMIT = 1 << 30  # bytes


class _Test(msgspec.Struct):
    input: str
    output: str
    testtype: str = "stdin"


class _Metadata(msgspec.Struct):
    func_name: str | None = None


class LiveCodeBench(Benchmark):
    name: ClassVar = "livecodebench"
    about: ClassVar = "problems of LeetCode, AtCoder and Codeforces by date, in Python"
    dataset: ClassVar = "lighteval/code_generation_lite"  # the authors' own needs code of theirs to be run
    config: ClassVar = "release_latest"
    split: ClassVar = "test"
    language: ClassVar = "python"
    columns: ClassVar = ("question_id", "question_content", "public_test_cases", "private_test_cases")

    def candidates(self, main: Table) -> Iterator[Candidate]:
        for row in main:
            date = _date(row)
            yield Candidate(
                id=row.name("question_id"),
                rows=(row.index,),
                year=int(date[:4]) if date else None,
                difficulty=row.text("difficulty", ""),
                tags=_tags(row),
                date=date,
            )

    def problem(self, candidate: Candidate, tables: Tables, keep: Keep, options: BenchmarkOptions) -> Problem:
        row = tables.main[candidate.rows[0]]
        problem = _without_tests(row, candidate)
        try:
            return with_cases(problem, _cases(row), keep.blob)
        except CasesError as error:
            return msgspec.structs.replace(problem, unusable=str(error))


def _date(row: Row) -> str:
    """2024-05-31; empty where there is none. Tables of JSON make times of such texts."""
    day = str(row.value("contest_date") or "")[:10]
    return day if len(day) == len("2024-05-31") and day[:4].isdecimal() else ""


def _tags(row: Row) -> tuple[str, ...]:
    platform = row.text("platform", "")
    return (platform,) if platform else ()


def _without_tests(row: Row, candidate: Candidate) -> Problem:
    question = row.text("question_content", "")
    return Problem(
        id=candidate.id,
        name=row.text("question_title", candidate.id),
        year=candidate.year,
        source=f"{row.table.where}, row {row.index + 1}",
        limits=Limits.contest(TIME_LIMIT, MEMORY_LIMIT),
        checker=Checker(kind=CheckerKind.LINES),
        difficulty=candidate.difficulty,
        tags=candidate.tags,
        statement=Blob.of(question) if question.strip() else None,
        starter_code=row.text("starter_code", ""),
    )


# --- tests -------------------------------------------------------------------------------------------


def _cases(row: Row) -> Cases:
    """Public tests, then private ones."""
    tests = [*_tests(row.text("public_test_cases", "")), *_tests(row.text("private_test_cases", ""))]
    function = (_decoded(row.text("metadata", "") or "{}", _Metadata).func_name or "").strip()
    if not tests:
        raise CasesError(NO_CASES)
    if not function:
        _check_programs(tests)
        return Cases(cases=tuple(Case(test.input, test.output) for test in tests))
    return Cases(cases=tuple(read_call(test.input, test.output) for test in tests), function=function)


def _tests(text: str) -> list[_Test]:
    text = text.strip()
    if not text:
        return []
    found: list[_Test] | None = _decoded(text if _is_json(text) else unpacked(text), list[_Test] | None)
    return found or []


def _is_json(text: str) -> bool:
    return text.startswith("[") or text == "null"


def _decoded(text: str, kind: Any) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise broken(str(error)) from error


def _check_programs(tests: Sequence[_Test]) -> None:
    if any(test.testtype == "functional" for test in tests):
        raise broken("they call a function, and nothing says which")
