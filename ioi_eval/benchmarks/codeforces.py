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
    ColumnNames,
    ContentStore,
    ProblemCandidate,
    Unusable,
)
from ioi_eval.benchmarks.tables import Row, Table, Tables
from ioi_eval.model.text import format_count
from ioi_eval.model.values import Blob, Checker, CheckerKind, Limits, Problem, Solution, TaskOptions, Test
from ioi_eval.rules.assertions import make_python_checker
from ioi_eval.rules.json_tests import NO_CASES, Case, Cases, CasesError, unparsable_tests, with_cases
from ioi_eval.store.tasks import People

# --- Codeforces: a row for each problem with the tests that the site shows --------------------------------
# The site shortens long tests, and rows contain only complete tests. `official_tests_complete` is true if
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

    def candidate(self, row: Row) -> ProblemCandidate:
        start, is_interactive = (
            row.read_integer("contest_start", 0),
            bool(row.read_text("interaction_format", "").strip()),
        )
        problem_id = row.read_name("id")
        return ProblemCandidate(
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
            if row.read_boolean("executable", True)
            else NOT_EXECUTABLE,
        )

    def read_people(self, tables: Tables) -> People:
        return People(source=f"ratings of problems in {tables.main.where}", rated=True)

    def fingerprint(self, candidate: ProblemCandidate, tables: Tables) -> str:
        row = tables.main[candidate.rows[0]]
        stamp = tables.format_file_size_and_time(self.dataset, _make_generated_tests_path(row))
        return f"{tables.main.fingerprint} {stamp}"

    def problem(
        self, candidate: ProblemCandidate, tables: Tables, contents: ContentStore, options: BenchmarkOptions
    ) -> Problem:
        row = tables.main[candidate.rows[0]]
        if not row.has_field("time_limit"):
            raise Unusable(NO_LIMITS)
        tests: dict[str, Test] = {}  # tests by the hash of their input
        counts_by_kind = Counter[str]()  # number of tests by kind of test

        def add(kind: str, input_text: str | memoryview, expected: str | memoryview) -> None:
            """Add a test, unless an earlier test has the same input."""
            input_blob = contents.store(input_text)
            if input_blob.sha256 not in tests:
                counts_by_kind[kind] += 1
                test_name = f"{kind}-{counts_by_kind[kind]:03}"
                tests[input_blob.sha256] = Test(
                    name=test_name, input=input_blob, answer=contents.store(expected)
                )

        for kind, field in (("example", "examples"), ("official", "official_tests")):
            for test_object in row.read_list_of_objects(field):
                add(
                    kind,
                    _read_test_text(row, field, test_object, "input"),
                    _read_test_text(row, field, test_object, "output"),
                )
        if options.generated_tests and row.read_integer("generated_tests", 0):
            tests_table = tables.open_other_table(
                self.dataset, path=_make_generated_tests_path(row), columns=("problem_id", "input", "output")
            )
            for row_index in tests_table.group_rows("problem_id").get(row.read_name("id"), ()):
                add(
                    "generated",
                    tests_table[row_index].read_content("input"),
                    tests_table[row_index].read_content("output"),
                )
        if not tests:
            raise Unusable(NO_TESTS)
        uses_files = row.read_text("input_mode", "stdio") == "file"
        # This checker was generated by the dataset's authors, because checkers of Codeforces are not public.
        checker_source = row.read_text("generated_checker", "")
        memory_bytes = int(row.read_number("memory_limit", 0.0) * _MEBIBYTE) or None
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
            limits=Limits.contest(row.read_number("time_limit", above=0), memory_bytes),
            # A problem without a checker has a unique answer, so outputs are compared token by token.
            checker=make_python_checker(checker_source)
            if checker_source.strip()
            else Checker(kind=CheckerKind.TOKENS),
            tests=tuple(tests.values()),
            difficulty=candidate.difficulty,
            tags=candidate.tags,
            statement=Blob.of(_make_statement(row)),
        )


def _read_test_text(row: Row, field: str, test: dict[str, object], key: str) -> str:
    """Return a test's input or output, whose key is `key`. Raise an InputError if it is not a string."""
    text = test.get(key)
    if isinstance(text, str):
        return text
    raise row.make_error(field, f"the {key} of a test is not a string")


def _make_generated_tests_path(row: Row) -> str:
    """Return the path of the file with the generated tests of the row's contest."""
    contest_id = row.read_name("contest_id")
    return f"generated_tests/test_cases_{contest_id:0>4}.parquet"


def _make_statement(row: Row) -> str:
    """Return the statement in Markdown, with the examples."""
    sections = [f"# {row.read_text('title', row.read_name('id'))}"]
    for heading, field in _STATEMENT_PARTS:
        if section := row.read_text(field, "").strip():
            sections.append(f"## {heading}\n\n{section}" if heading else section)
    for example in row.read_list_of_objects("examples") if row.has_field("examples") else ():
        sections.append(
            f"## Example\n\n```\n{example.get('input')}\n```\n\n```\n{example.get('output')}\n```"
        )
    return "\n\n".join(sections) + "\n"


# --- CodeContests: rows with three kinds of tests, and with correct and incorrect solutions -------------

TIME_LIMIT = 10.0  # time limit in seconds of problems without a limit, as in the dataset's runner
MEMORY_LIMIT = 256 << 20  # bytes
TOLERANCE = 1e-5  # tolerance for numbers in an output, as in the dataset's runner
_CPP_STANDARD = "gnu++17"  # C++ standard that was common when the dataset's solutions were written

# Names of the judges that problems come from. The index of a name is the judge's number in the dataset.
_SOURCES = ("", "CODECHEF", "CODEFORCES", "HACKEREARTH", "CODEJAM", "ATCODER", "AIZU")
_DIFFICULTIES = ("", "EASY", "MEDIUM", "HARD", "HARDER", "HARDEST", "EXTERNAL", *"ABCDEFGHIJKLMNOPQRSTUV")
_LANGUAGES = ("UNKNOWN_LANGUAGE", "PYTHON", "CPP", "PYTHON3", "JAVA")
# Names of languages in ioi_eval, by their names in the dataset. "python2" is not supported.
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

    def candidates(self, main: Table) -> Iterator[ProblemCandidate]:
        name_counts = Counter(row.read_name("name") for row in main)
        for row in main:
            name, source = row.read_name("name"), _read_enum_member_name(row, "source", _SOURCES)
            contest_id, index_in_contest = row.read_integer("cf_contest_id", 0), row.read_text("cf_index", "")
            yield ProblemCandidate(
                id=name if name_counts[name] == 1 else f"{name} [{source or 'row'} {row.index}]",
                rows=(row.index,),
                alias=f"{contest_id}/{index_in_contest}"
                if contest_id and index_in_contest
                else "",  # the problem's id on Codeforces
                difficulty=_read_enum_member_name(row, "difficulty", _DIFFICULTIES),
                tags=tuple(tag for tag in (source, *row.read_texts("cf_tags")) if tag),
            )

    def problem(
        self, candidate: ProblemCandidate, tables: Tables, contents: ContentStore, options: BenchmarkOptions
    ) -> Problem:
        row = tables.main[candidate.rows[0]]

        def finish(problem: Problem) -> Problem:
            fields = (*_OFFICIAL, _GENERATED) if options.generated_tests else _OFFICIAL
            cases = tuple(case for field in fields for case in _read_cases(row, field))
            if not cases:
                raise CasesError(NO_CASES)
            # The dataset's runner compares outputs like this, except that numbers without a decimal point may
            # also differ there: it compares integers beyond 32 bits as doubles.
            tolerance = TOLERANCE if any(_DECIMAL.search(case.output) for case in cases) else None
            checker = Checker(kind=CheckerKind.TOKENS, case_sensitive=False, absolute=tolerance)
            problem = replace(problem, options=_read_file_name_options(row), checker=checker)
            return with_cases(problem, Cases(cases=cases), contents.store)

        return self.make_problem_from_row(
            row,
            candidate,
            finish,
            limits=Limits.contest(
                _read_time_limit(row) or TIME_LIMIT, row.read_integer("memory_limit_bytes", 0) or MEMORY_LIMIT
            ),
            cpp_standard=_CPP_STANDARD,
        )

    def references(self, candidate: ProblemCandidate, tables: Tables) -> tuple[Solution, ...]:
        row = tables.main[candidate.rows[0]]
        return (
            *_read_solutions(row, "solutions", "correct"),
            *_read_solutions(row, "incorrect_solutions", "rejected"),
        )


def _read_enum_member_name(row: Row, field: str, names: Sequence[str]) -> str:
    """Return the name of an enumeration's member, or an empty string if it is unknown.

    Rows contain the member's number or its name.
    """
    member = row.raw_value(field)
    if isinstance(member, str):
        return "" if member.startswith("UNKNOWN") else member
    member_number = row.read_integer(field, 0)
    return names[member_number] if 0 <= member_number < len(names) else ""


def _read_time_limit(row: Row) -> float:
    """Return the time limit in seconds, or 0 if the row lacks it."""
    time_limit = row.raw_value("time_limit") or {}
    seconds_and_nanos = (
        [time_limit.get(name) or 0 for name in ("seconds", "nanos")] if isinstance(time_limit, dict) else []
    )
    if len(seconds_and_nanos) != 2 or not all(
        isinstance(number, int) and number >= 0 for number in seconds_and_nanos
    ):
        raise row.make_error("time_limit", f"{time_limit!r} is not a time limit")
    seconds, nanos = seconds_and_nanos
    return float(seconds + nanos / 1e9)


def _read_file_name_options(row: Row) -> TaskOptions:
    """Return the options with the names of the program's input and output files."""
    file_names = [row.read_text(field, "").strip() for field in ("input_file", "output_file")]
    for file_name in file_names:
        if "/" in file_name or file_name in (".", ".."):
            raise unparsable_tests(f"{file_name!r} is not a file name")
    return TaskOptions(input_file=file_names[0], output_file=file_names[1])


# --- tests -------------------------------------------------------------------------------------------


def _read_cases(row: Row, field: str) -> Iterator[Case]:
    """Yield the tests in a column. Raise CasesError if inputs and outputs do not match."""
    inputs, outputs = _read_parallel_lists(row.raw_value(field), ("input", "output"))
    if len(inputs) != len(outputs):
        raise unparsable_tests(
            f"{field}: the tests have {format_count(len(inputs), 'input')}"
            f" but {format_count(len(outputs), 'output')}"
        )
    for input_text, output_text in zip(inputs, outputs, strict=True):
        if not isinstance(input_text, str) or not isinstance(output_text, str):
            raise unparsable_tests(f"{field}: the input or output of a test is not a string")
        yield Case(input_text, output_text)


def _read_parallel_lists(value: Any, names: Sequence[str]) -> list[list[Any]]:
    """Return the columns of an object of lists, or of a list of objects."""
    if isinstance(value, list):
        return [[item.get(name) for item in value if isinstance(item, dict)] for name in names]
    return [list(value.get(name) or ()) if isinstance(value, dict) else [] for name in names]


# --- solutions ---------------------------------------------------------------------------------------


def _read_solutions(row: Row, solutions_column: str, expected_verdict: str) -> Iterator[Solution]:
    """Yield the dataset's solutions in a column."""
    languages, programs = _read_parallel_lists(row.raw_value(solutions_column), ("language", "solution"))
    for solution_number, (language, program) in enumerate(zip(languages, programs, strict=False)):
        if isinstance(program, str):
            is_language_number = isinstance(language, int) and 0 <= language < len(_LANGUAGES)
            language_name = _LANGUAGE_NAMES.get(
                _LANGUAGES[language] if is_language_number else str(language), ""
            )
            yield Solution(
                name=f"{solutions_column} {solution_number}",
                language=language_name,
                code=program,
                expected=expected_verdict,
            )
