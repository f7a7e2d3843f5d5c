"""CodeContests: problems of six judges with three kinds of tests, and solutions right and wrong."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from msgspec.structs import replace

from ioi_eval.benchmarks.benchmark import Benchmark, BenchmarkOptions, Candidate, ColumnNames, Keep
from ioi_eval.benchmarks.tables import Row, Table, Tables
from ioi_eval.model.values import Checker, CheckerKind, Limits, Problem, Solution, TaskOptions
from ioi_eval.rules.json_tests import NO_CASES, Case, Cases, CasesError, broken, with_cases

# What the dataset's own runner gives a test, for the few problems without limits.
TIME_LIMIT = 10.0  # seconds
MEMORY_LIMIT = 256 << 20  # bytes
TOLERANCE = 1e-5  # of its own runner, too
_STANDARD = "gnu++17"  # of the time that the solutions are from

# Enumerations of the dataset, as its numbers count.
_SOURCES = ("", "CODECHEF", "CODEFORCES", "HACKEREARTH", "CODEJAM", "ATCODER", "AIZU")
_DIFFICULTIES = ("", "EASY", "MEDIUM", "HARD", "HARDER", "HARDEST", "EXTERNAL", *"ABCDEFGHIJKLMNOPQRSTUV")
_LANGUAGES = ("UNKNOWN_LANGUAGE", "PYTHON", "CPP", "PYTHON3", "JAVA")
# Ours. Python 2 has none.
_OURS: Mapping[str, str] = MappingProxyType(
    {"PYTHON": "python2", "CPP": "c++", "PYTHON3": "python3", "JAVA": "java"}
)
_OFFICIAL = ("public_tests", "private_tests")
_GENERATED = "generated_tests"
_DECIMAL = re.compile(r"(?<!\S)[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?(?!\S)")


class CodeContests(Benchmark):
    name: ClassVar = "code_contests"
    about: ClassVar = "13,000 problems of Codeforces and five other judges, with generated tests"
    ids: ClassVar = r"[0-9]+_[A-Z][0-9]?\. .+"
    dataset: ClassVar = "deepmind/code_contests"
    split: ClassVar = "test"
    heeds: ClassVar = ("generated_tests",)
    columns: ClassVar = ("name", "description", *_OFFICIAL)
    named = ColumnNames(id="name", title="name", statement="description")

    def candidates(self, main: Table) -> Iterator[Candidate]:
        names = Counter(row.name("name") for row in main)
        for row in main:
            name, source = row.name("name"), _word(row, "source", _SOURCES)
            yield Candidate(
                id=name if names[name] == 1 else f"{name} [{source or 'row'} {row.index}]",
                rows=(row.index,),
                alias=_codeforces_id(row),
                difficulty=_word(row, "difficulty", _DIFFICULTIES),
                tags=tuple(tag for tag in (source, *row.texts("cf_tags")) if tag),
            )

    def problem(self, candidate: Candidate, tables: Tables, keep: Keep, options: BenchmarkOptions) -> Problem:
        row = tables.main[candidate.rows[0]]

        def finish(problem: Problem) -> Problem:
            cases = tuple(_cases(row, options))
            problem = replace(problem, options=_files(row), checker=_checker(cases))
            return with_cases(problem, Cases(cases=cases), keep.blob)

        return self.of_row(
            row,
            candidate,
            finish,
            limits=Limits.contest(
                _seconds(row) or TIME_LIMIT, row.whole("memory_limit_bytes", 0) or MEMORY_LIMIT
            ),
            cpp_standard=_STANDARD,
        )

    def references(self, candidate: Candidate, tables: Tables) -> tuple[Solution, ...]:
        row = tables.main[candidate.rows[0]]
        return (
            *_solutions(row, "solutions", "correct"),
            *_solutions(row, "incorrect_solutions", "rejected"),
        )


def _codeforces_id(row: Row) -> str:
    """`1575/A`, as other datasets call problems of Codeforces; empty for those of other judges."""
    contest, index = row.whole("cf_contest_id", 0), row.text("cf_index", "")
    return f"{contest}/{index}" if contest and index else ""


def _word(row: Row, field: str, words: Sequence[str]) -> str:
    """A member of an enumeration, by its number or its name; empty where it is unknown."""
    value = row.value(field)
    if isinstance(value, str):
        return "" if value.startswith("UNKNOWN") else value
    number = row.whole(field, 0)
    return words[number] if 0 <= number < len(words) else ""


def _seconds(row: Row) -> float:
    """Return the seconds of a time limit; 0 where there is none."""
    value = row.value("time_limit") or {}
    parts = [value.get(name) or 0 for name in ("seconds", "nanos")] if isinstance(value, dict) else []
    if len(parts) != 2 or not all(isinstance(part, int) and part >= 0 for part in parts):
        raise row.wrong("time_limit", f"{value!r} is not a time")
    seconds, nanos = parts
    return float(seconds + nanos / 1e9)


def _files(row: Row) -> TaskOptions:
    names = [row.text(field, "").strip() for field in ("input_file", "output_file")]
    for name in names:
        if "/" in name or name in (".", ".."):
            raise broken(f"{name!r} is no name of a file")
    return TaskOptions(input_file=names[0], output_file=names[1])


# --- tests -------------------------------------------------------------------------------------------


def _cases(row: Row, options: BenchmarkOptions) -> Iterator[Case]:
    """Public, private, generated."""
    fields = (*_OFFICIAL, _GENERATED) if options.generated_tests else _OFFICIAL
    found = [case for field in fields for case in _pairs(row, field)]
    if not found:
        raise CasesError(NO_CASES)
    return iter(found)


def _pairs(row: Row, field: str) -> Iterator[Case]:
    inputs, outputs = _columns(row.value(field), ("input", "output"))
    if len(inputs) != len(outputs):
        raise broken(f"{field}: {len(inputs)} inputs and {len(outputs)} outputs")
    for given, wanted in zip(inputs, outputs, strict=True):
        if not isinstance(given, str) or not isinstance(wanted, str):
            raise broken(f"{field}: a test without a text")
        yield Case(given, wanted)


def _columns(value: Any, names: Sequence[str]) -> list[list[Any]]:
    """An object of lists, or a list of objects, as lists."""
    if isinstance(value, list):
        return [[item.get(name) for item in value if isinstance(item, dict)] for name in names]
    return [list(value.get(name) or ()) if isinstance(value, dict) else [] for name in names]


def _checker(cases: Iterable[Case]) -> Checker:
    """As the dataset's own runner, but that numbers may differ a little only where an answer has a point.

    The runner compares whole numbers beyond 32 bits so, too: those that a double cannot tell apart are
    equal to it.
    """
    decimals = any(_DECIMAL.search(case.output) for case in cases)
    return Checker(kind=CheckerKind.TOKENS, case_sensitive=False, absolute=TOLERANCE if decimals else None)


# --- solutions ---------------------------------------------------------------------------------------


def _solutions(row: Row, field: str, expected: str) -> Iterator[Solution]:
    languages, codes = _columns(row.value(field), ("language", "solution"))
    for number, (language, code) in enumerate(zip(languages, codes, strict=False)):
        if isinstance(code, str):
            name = f"{field} {number}"
            yield Solution(name=name, language=_language(language), code=code, expected=expected)


def _language(value: Any) -> str:
    """Empty where the dataset does not know it."""
    if isinstance(value, int) and 0 <= value < len(_LANGUAGES):
        value = _LANGUAGES[value]
    return _OURS.get(value, "") if isinstance(value, str) else ""
