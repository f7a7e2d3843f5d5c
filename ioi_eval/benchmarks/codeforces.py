"""The benchmarks Codeforces (open-r1) and CodeContests."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from msgspec.structs import replace

from ioi_eval.benchmarks.benchmark import (
    Benchmark,
    BenchmarkOptions,
    Candidate,
    ColumnNames,
    ContentStore,
    Unusable,
)
from ioi_eval.benchmarks.tables import Row, Table, Tables
from ioi_eval.model.text import format_count
from ioi_eval.model.values import Blob, Checker, CheckerKind, Limits, Problem, Solution, TaskOptions, Test
from ioi_eval.rules.assertions import make_python_checker
from ioi_eval.rules.json_tests import NO_CASES, Case, Cases, CasesError, unparsable_tests, with_cases
from ioi_eval.store.tasks import People

# --- Codeforces: a row for each problem with the tests that the site shows --------------------------------
# The site cuts long tests off, and rows contain only complete tests. `official_tests_complete` is true if
# these are all tests. `generated_tests` is the number of further tests in test_cases_<contest>.parquet.

INTERACTIVE = "interactive, and the dataset has no interactor"
NOT_EXECUTABLE = "the dataset marks it as not executable"
NO_TESTS = "no tests"
NO_LIMITS = "no time limit"
_MEBIBYTE = 1 << 20
# Headings of the parts of a statement, and columns of the dataset with their texts.
_STATEMENT_PARTS = (
    ("", "description"),
    ("Input", "input_format"),
    ("Output", "output_format"),
    ("Interaction", "interaction_format"),
    ("Note", "note"),
)


class Codeforces(Benchmark):
    """Problems of Codeforces with the site's tests, generated tests and generated checkers."""

    name: ClassVar = "codeforces"
    about: ClassVar = "Codeforces problems with official and generated tests, and generated checkers"
    ids: ClassVar = r"[0-9]+/?[A-Z][0-9]?"  # 1873/A, or its alias 1873A
    dataset: ClassVar = "open-r1/codeforces"
    split: ClassVar = "test"
    all_splits: ClassVar = "train+test"
    relevant_options: ClassVar = ("generated_tests",)
    columns: ClassVar = ("id", "contest_id", "index", "time_limit", "memory_limit", "official_tests")
    other_files: ClassVar = "test_cases_*"

    def candidate(self, row: Row) -> Candidate:
        start, is_interactive = (
            row.read_integer("contest_start", 0),
            bool(row.read_text("interaction_format", "").strip()),
        )
        problem_id = row.read_name("id")
        return Candidate(
            id=problem_id,
            rows=(row.index,),
            alias=problem_id.replace("/", ""),  # 1873A of 1873/A
            year=row.read_integer("contest_start_year", 0) or None,
            difficulty=str(row.read_integer("rating")) if row.has_field("rating") else "",
            tags=row.read_texts("tags"),
            date=datetime.datetime.fromtimestamp(start, datetime.UTC).date().isoformat() if start else "",
            unusable=INTERACTIVE
            if is_interactive
            else ""
            if row.read_flag("executable", True)
            else NOT_EXECUTABLE,
        )

    def people(self, tables: Tables) -> People:
        return People(source=f"ratings of problems in {tables.main.where}", rated=True)

    def fingerprint(self, candidate: Candidate, tables: Tables) -> str:
        row = tables.main[candidate.rows[0]]
        return f"{tables.main.fingerprint} {tables.file_stamp(self.dataset, _generated_file(row))}"

    def problem(
        self, candidate: Candidate, tables: Tables, contents: ContentStore, options: BenchmarkOptions
    ) -> Problem:
        row = tables.main[candidate.rows[0]]
        if not row.has_field("time_limit"):
            raise Unusable(NO_LIMITS)
        tests: dict[str, Test] = {}  # tests by the hash of their input
        numbers = Counter[str]()  # number of tests by kind of test

        def add(kind: str, input_text: str | memoryview, expected: str | memoryview) -> None:
            """Add a test, unless an earlier test has the same input."""
            blob = contents.store(input_text)
            if blob.sha256 not in tests:
                numbers[kind] += 1
                name = f"{kind}-{numbers[kind]:03}"
                tests[blob.sha256] = Test(name=name, input=blob, answer=contents.store(expected))

        for kind, field in (("example", "examples"), ("official", "official_tests")):
            for item in row.read_objects(field):
                add(
                    kind,
                    _read_test_side(row, field, item, "input"),
                    _read_test_side(row, field, item, "output"),
                )
        if options.generated_tests and row.read_integer("generated_tests", 0):
            table = tables.open_other(
                self.dataset, path=_generated_file(row), columns=("problem_id", "input", "output")
            )
            for index in table.group_rows("problem_id").get(row.read_name("id"), ()):
                add("generated", table[index].read_content("input"), table[index].read_content("output"))
        if not tests:
            raise Unusable(NO_TESTS)
        uses_files = row.read_text("input_mode", "stdio") == "file"
        # Checker that the dataset's authors generated, because the checkers of Codeforces are not public.
        checker = row.read_text("generated_checker", "")
        memory = int(row.read_number("memory_limit", 0.0) * _MEBIBYTE) or None
        return Problem(
            id=candidate.id,
            name=row.read_text("title", candidate.id),
            year=candidate.year,
            source=row.table.where,
            options=TaskOptions(
                input_file="input.txt" if uses_files else "",
                output_file="output.txt" if uses_files else "",
                online_judge=True,
            ),
            limits=Limits.contest(row.read_number("time_limit", above=0), memory),
            # A problem without a checker has a unique answer, so outputs are compared token by token.
            checker=make_python_checker(checker) if checker.strip() else Checker(kind=CheckerKind.TOKENS),
            tests=tuple(tests.values()),
            difficulty=candidate.difficulty,
            tags=candidate.tags,
            statement=Blob.of(_make_statement(row)),
        )


def _read_test_side(row: Row, field: str, item: dict[str, object], side: str) -> str:
    """Return a test's input or output. Raise an InputError if it is not a string."""
    value = item.get(side)
    if isinstance(value, str):
        return value
    raise row.make_error(field, f"the {side} of a test is not a string")


def _generated_file(row: Row) -> str:
    """Return the path of the file with the generated tests of the row's contest."""
    contest = row.read_name("contest_id")
    return f"generated_tests/test_cases_{contest:0>4}.parquet"


def _make_statement(row: Row) -> str:
    """Return the statement in Markdown, with the examples."""
    sections = [f"# {row.read_text('title', row.read_name('id'))}"]
    for heading, field in _STATEMENT_PARTS:
        if section := row.read_text(field, "").strip():
            sections.append(f"## {heading}\n\n{section}" if heading else section)
    for item in row.read_objects("examples") if row.has_field("examples") else ():
        sections.append(f"## Example\n\n```\n{item.get('input')}\n```\n\n```\n{item.get('output')}\n```")
    return "\n\n".join(sections) + "\n"


# --- CodeContests: rows with three kinds of tests, and with correct and incorrect solutions -------------

# Time limit in seconds for the few problems without a limit, as in the dataset's own runner.
TIME_LIMIT = 10.0  # seconds
MEMORY_LIMIT = 256 << 20  # bytes
TOLERANCE = 1e-5  # tolerance for numbers in an output, as in the dataset's runner
_CPP_STANDARD = "gnu++17"  # standard that was usual when the dataset's solutions were written

# Names of sources; the index of a name is the number that the dataset uses for the source.
_SOURCES = ("", "CODECHEF", "CODEFORCES", "HACKEREARTH", "CODEJAM", "ATCODER", "AIZU")
_DIFFICULTIES = ("", "EASY", "MEDIUM", "HARD", "HARDER", "HARDEST", "EXTERNAL", *"ABCDEFGHIJKLMNOPQRSTUV")
_LANGUAGES = ("UNKNOWN_LANGUAGE", "PYTHON", "CPP", "PYTHON3", "JAVA")
# Names of languages in ioi_eval, by their names in the dataset. Python 2 is missing because it is not
# supported.
_LANGUAGE_NAMES: Mapping[str, str] = MappingProxyType(
    {"PYTHON": "python2", "CPP": "c++", "PYTHON3": "python3", "JAVA": "java"}
)
_OFFICIAL = ("public_tests", "private_tests")  # columns with the tests of the contests themselves
_GENERATED = "generated_tests"  # column with tests that the dataset's authors generated
# Pattern of a number with a decimal point.
_DECIMAL = re.compile(r"(?<!\S)[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?(?!\S)")


class CodeContests(Benchmark):
    """Problems of six judges with three kinds of tests, and with correct and incorrect solutions."""

    name: ClassVar = "code_contests"
    about: ClassVar = "13,000 problems of Codeforces and five other judges, with generated tests"
    ids: ClassVar = r"[0-9]+_[A-Z][0-9]?\. .+"
    dataset: ClassVar = "deepmind/code_contests"
    split: ClassVar = "test"
    relevant_options: ClassVar = ("generated_tests",)
    columns: ClassVar = ("name", "description", *_OFFICIAL)
    named = ColumnNames(id="name", title="name", statement="description")

    def candidates(self, main: Table) -> Iterator[Candidate]:
        names = Counter(row.read_name("name") for row in main)
        for row in main:
            name, source = row.read_name("name"), _enum_member_name(row, "source", _SOURCES)
            contest, index = row.read_integer("cf_contest_id", 0), row.read_text("cf_index", "")
            yield Candidate(
                id=name if names[name] == 1 else f"{name} [{source or 'row'} {row.index}]",
                rows=(row.index,),
                alias=f"{contest}/{index}" if contest and index else "",  # the problem's id on Codeforces
                difficulty=_enum_member_name(row, "difficulty", _DIFFICULTIES),
                tags=tuple(tag for tag in (source, *row.read_texts("cf_tags")) if tag),
            )

    def problem(
        self, candidate: Candidate, tables: Tables, contents: ContentStore, options: BenchmarkOptions
    ) -> Problem:
        row = tables.main[candidate.rows[0]]

        def finish(problem: Problem) -> Problem:
            fields = (*_OFFICIAL, _GENERATED) if options.generated_tests else _OFFICIAL
            cases = tuple(case for field in fields for case in _read_cases(row, field))
            if not cases:
                raise CasesError(NO_CASES)
            # Compare as the dataset's runner does, except that numbers may differ only if an answer has a
            # decimal point. The runner even compares integers beyond 32 bits as doubles, so that different
            # integers may be equal.
            tolerance = TOLERANCE if any(_DECIMAL.search(case.output) for case in cases) else None
            checker = Checker(kind=CheckerKind.TOKENS, case_sensitive=False, absolute=tolerance)
            problem = replace(problem, options=_read_file_options(row), checker=checker)
            return with_cases(problem, Cases(cases=cases), contents.store)

        return self.problem_of_row(
            row,
            candidate,
            finish,
            limits=Limits.contest(
                _read_time_limit(row) or TIME_LIMIT, row.read_integer("memory_limit_bytes", 0) or MEMORY_LIMIT
            ),
            cpp_standard=_CPP_STANDARD,
        )

    def references(self, candidate: Candidate, tables: Tables) -> tuple[Solution, ...]:
        row = tables.main[candidate.rows[0]]
        return (
            *_read_solutions(row, "solutions", "correct"),
            *_read_solutions(row, "incorrect_solutions", "rejected"),
        )


def _enum_member_name(row: Row, field: str, names: Sequence[str]) -> str:
    """Return the name of an enumeration's member, or an empty string if it is unknown.

    Rows contain the member's number or its name.
    """
    value = row.raw_value(field)
    if isinstance(value, str):
        return "" if value.startswith("UNKNOWN") else value
    number = row.read_integer(field, 0)
    return names[number] if 0 <= number < len(names) else ""


def _read_time_limit(row: Row) -> float:
    """Return the time limit in seconds, or 0 if the row lacks it."""
    value = row.raw_value("time_limit") or {}
    seconds_and_nanos = (
        [value.get(name) or 0 for name in ("seconds", "nanos")] if isinstance(value, dict) else []
    )
    if len(seconds_and_nanos) != 2 or not all(
        isinstance(number, int) and number >= 0 for number in seconds_and_nanos
    ):
        raise row.make_error("time_limit", f"{value!r} is not a time limit")
    seconds, nanos = seconds_and_nanos
    return float(seconds + nanos / 1e9)


def _read_file_options(row: Row) -> TaskOptions:
    """Return the options with the names of the program's input and output files."""
    names = [row.read_text(field, "").strip() for field in ("input_file", "output_file")]
    for name in names:
        if "/" in name or name in (".", ".."):
            raise unparsable_tests(f"{name!r} is not a file name")
    return TaskOptions(input_file=names[0], output_file=names[1])


# --- tests -------------------------------------------------------------------------------------------


def _read_cases(row: Row, field: str) -> Iterator[Case]:
    """Yield the tests in a column. Raise CasesError if inputs and outputs do not match."""
    inputs, outputs = _read_columns(row.raw_value(field), ("input", "output"))
    if len(inputs) != len(outputs):
        raise unparsable_tests(
            f"{field}: the tests have {format_count(len(inputs), 'input')}"
            f" but {format_count(len(outputs), 'output')}"
        )
    for input_text, output_text in zip(inputs, outputs, strict=True):
        if not isinstance(input_text, str) or not isinstance(output_text, str):
            raise unparsable_tests(f"{field}: the input or output of a test is not a string")
        yield Case(input_text, output_text)


def _read_columns(value: Any, names: Sequence[str]) -> list[list[Any]]:
    """Return the columns of an object of lists, or of a list of objects."""
    if isinstance(value, list):
        return [[item.get(name) for item in value if isinstance(item, dict)] for name in names]
    return [list(value.get(name) or ()) if isinstance(value, dict) else [] for name in names]


# --- solutions ---------------------------------------------------------------------------------------


def _read_solutions(row: Row, field: str, expected: str) -> Iterator[Solution]:
    """Yield the dataset's solutions in a column."""
    languages, codes = _read_columns(row.raw_value(field), ("language", "solution"))
    for number, (language, code) in enumerate(zip(languages, codes, strict=False)):
        if isinstance(code, str):
            is_number = isinstance(language, int) and 0 <= language < len(_LANGUAGES)
            name = _LANGUAGE_NAMES.get(_LANGUAGES[language] if is_number else str(language), "")
            yield Solution(name=f"{field} {number}", language=name, code=code, expected=expected)
