"""LiveCodeBench: problems by the day of their contest, as programs or as methods of a class Solution.

Its private tests are packed: base64 of zlib of a pickled text. A pickle is a program, and one from a dataset
is a stranger's. It is never run: its instructions are only read, and there may be none but those that push
one text.
"""

from __future__ import annotations

import pickletools
from collections.abc import Iterator
from typing import ClassVar

import msgspec

from ioi_eval.benchmarks.benchmark import Benchmark, BenchmarkOptions, Candidate, ColumnNames, Keep
from ioi_eval.benchmarks.tables import Row, Tables
from ioi_eval.model.values import Checker, CheckerKind, Limits, Problem
from ioi_eval.rules.json_tests import (
    LARGEST,
    NO_CASES,
    Case,
    Cases,
    CasesError,
    broken,
    inflated,
    parsed,
    read_call,
    with_cases,
)

_TEXTS = frozenset({"UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"})
_HARMLESS = frozenset({"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP"})


def unpacked(text: str, *, largest: int = LARGEST) -> str:
    """The text that was packed. CasesError where it is anything else."""
    return pickled_text(inflated(text, largest))


def pickled_text(data: bytes) -> str:
    """The one text in a pickle, without unpickling."""
    texts = [text for name, text in _instructions(data) if name in _TEXTS]
    if len(texts) != 1 or not isinstance(texts[0], str):
        raise broken(f"a pickle of {len(texts)} texts, and not of one")
    return texts[0]


def _instructions(data: bytes) -> Iterator[tuple[str, object]]:
    try:
        for operation, argument, _ in pickletools.genops(data):
            if operation.name not in _TEXTS | _HARMLESS:
                raise broken(f"a pickle that is more than a text ({operation.name})")
            yield operation.name, argument
    except (ValueError, OverflowError) as error:
        raise broken(f"packed, and no pickle ({error})") from error


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
    ids: ClassVar = r"(abc|arc|agc)[0-9]+_[a-z][0-9]?|[0-9]{4}|[0-9]{4}_[A-Z][0-9]?"
    dump_columns: ClassVar = ("question_id",)
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
        return self.of_row(
            row,
            candidate,
            lambda task: with_cases(task, _cases(row), keep.blob),
            limits=Limits.contest(TIME_LIMIT, MEMORY_LIMIT),
            checker=Checker(kind=CheckerKind.LINES),
        )


# --- tests -------------------------------------------------------------------------------------------


def _cases(row: Row) -> Cases:
    """Public tests, then private ones."""
    tests = [*_tests(row.text("public_test_cases", "")), *_tests(row.text("private_test_cases", ""))]
    function = (parsed(row.text("metadata", "") or "{}", _Metadata).func_name or "").strip()
    if not tests:
        raise CasesError(NO_CASES)
    if not function:
        if any(test.testtype == "functional" for test in tests):
            raise broken("they call a function, and nothing says which")
        return Cases(cases=tuple(Case(test.input, test.output) for test in tests))
    return Cases(cases=tuple(read_call(test.input, test.output) for test in tests), function=function)


def _tests(text: str) -> list[_Test]:
    text = text.strip()
    if not text:
        return []
    plain = text if text.startswith("[") or text == "null" else unpacked(text)
    found: list[_Test] | None = parsed(plain, list[_Test] | None)
    return found or []
