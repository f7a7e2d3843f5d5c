"""Benchmarks described by their columns: an entry in the table of this module, or in a TOML file of a user.

An entry names a column for each content. `a|b` is the first of two columns that exists, `a.b` a key in the
JSON of a column, `a+b` two columns together, `a.*` each item of a list in a column. Tests may have any form
that `ioi_eval.rules.row_tests` reads: pairs, lists, a function's arguments, assertions.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec.structs import replace

from ioi_eval.benchmarks.benchmark import (
    Benchmark,
    BenchmarkOptions,
    ColumnNames,
    ContentStore,
    ProblemCandidate,
    list_testlib_folders,
)
from ioi_eval.benchmarks.tables import Row, Tables
from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import suggest_names
from ioi_eval.model.languages import find_language
from ioi_eval.model.nesting import require_shallow
from ioi_eval.model.values import Checker, CheckerKind, Limits, Problem, Solution, TaskOptions, Test, Value
from ioi_eval.problems.package import collect_program_files
from ioi_eval.rules.extraction import extract
from ioi_eval.rules.json_tests import NO_CASES, CasesError, parse_literal
from ioi_eval.rules.row_tests import with_tests
from ioi_eval.store.rows import as_number

SUFFIX = ".toml"
_ITEMS = ".*"  # suffix of a column name; it means that the column is a list whose items are read
_MEBIBYTE = 1 << 20
_MAX_SECONDS = 500.0  # maximum time limit in seconds; a larger number is a time limit in milliseconds
_Positive = Annotated[float, msgspec.Meta(gt=0)]


class EntryColumns(ColumnNames, kw_only=True, forbid_unknown_fields=True):
    """The columns of a benchmark's table, by use. An empty name means that the table lacks the column."""

    id: str = ""  # name of the column with problem ids; empty if a problem's id is its row number
    alias: str = ""  # column with another id of the problem, which dumps may use
    year: str = ""  # column with the year; empty if the date contains the year
    tests: str = ""  # column with pairs of input and output; `a.*` means objects with `input` and `output`
    # Column with a list of inputs, next to a column with a list of outputs, instead of pairs.
    inputs: str = ""
    outputs: str = ""
    # Column with a Python program of assertions, or with a list of assertions, instead of pairs.
    assertions: str = ""
    setup: str = ""  # column with statements that the assertions need, such as imports
    function: str = ""  # column with the name of the tested function
    checker: str = ""  # column with a checker, which is a C++ program with testlib
    # Column with the time limit in seconds; numbers from `milliseconds_from` on are milliseconds.
    time_limit: str = ""
    memory_limit: str = ""  # column with the memory limit in MiB
    # Column with the dataset's solutions: a program, a reply with a program, or a list of these. `a.*` means
    # a list of programs, or of objects with `code` and `language`.
    solution: str = ""
    wrong_solution: str = ""


class BenchmarkEntry(Value, kw_only=True, forbid_unknown_fields=True):
    """A benchmark described by its columns."""

    name: Annotated[str, msgspec.Meta(pattern="^[a-z][a-z0-9_]*$")]
    about: str = ""  # description of the benchmark, a single line
    dataset: str = ""  # hub id of the dataset
    config: str = ""
    split: str = "train"
    language: str = "python"  # programming language of a dump's rows that do not name a language
    # Names of Python packages that the original harness of the benchmark provides.
    packages: tuple[str, ...] = ()
    ids: str = ""  # pattern of problem ids, by which a dump of this benchmark is recognized
    dump_files: tuple[str, ...] = ()  # names of files that are recognized as dumps of this benchmark
    dump_columns: tuple[str, ...] = ()  # columns that a dump must have to be recognized by its ids
    # Order of problems in a dump that is a list of lists of replies: True means by id, False by row.
    lists_by_id: bool = False
    known_by: tuple[str, ...] = ()  # further columns by which files with rows of the dataset are recognized
    prefix: str = ""  # prefix of the problem ids, which is added to the numbers in the id column
    slash: str = ""  # character of the ids that dumps may replace by a slash: `1575/A` for `1575_A`
    comparison: str = CheckerKind.STRIPPED.value
    time_limit: _Positive | None = 4.0  # default time limit in seconds; None if every row must have a limit
    memory_limit: _Positive | None = 512.0  # default memory limit in MiB; None if every row must have a limit
    # Time limits from this number on are in milliseconds, smaller time limits in seconds.
    milliseconds_from: float = math.inf
    integer_digits: int = 0  # maximum digits of an integer that Python converts; 0 means Python's default
    cpp_standard: str = "gnu++17"
    columns: EntryColumns = EntryColumns()


APPS = BenchmarkEntry(
    name="apps",
    about="10,000 problems of three levels in Python, standard input or a function",
    dataset="metr-evals/apps",  # a copy of codeparrot/apps with the same rows
    split="test",
    packages=("numpy",),
    ids="apps_[0-9]+",
    dump_files=("all_codes.json",),
    time_limit=10.0,  # seconds, as in common harnesses, because the dataset contains no limits
    cpp_standard="gnu++20",
    columns=EntryColumns(
        alias="problem_id",
        difficulty="difficulty",
        statement="question",
        starter="starter_code",
        tests="input_output",
        solution="solutions.*",
    ),
)

ENTRIES: tuple[BenchmarkEntry, ...] = (
    APPS,
    BenchmarkEntry(
        name="livecodebench",
        about="problems of LeetCode, AtCoder and Codeforces by date, in Python",
        # This is lighteval's copy, because the authors' own dataset needs a script to load it.
        dataset="lighteval/code_generation_lite",
        config="release_latest",
        split="test",
        packages=("numpy",),
        ids="(abc|arc|agc)[0-9]+_[a-z][0-9]?|[0-9]{4}|[0-9]{4}_[A-Z][0-9]?",
        dump_columns=("question_id",),
        lists_by_id=True,
        comparison="lines",
        time_limit=6.0,  # seconds, as in the benchmark's harness, which has no memory limit
        memory_limit=1024,
        integer_digits=50_000,  # the same limit as in the benchmark's runner
        cpp_standard="gnu++20",
        columns=EntryColumns(
            id="question_id",
            difficulty="difficulty",
            tags=("platform",),
            date="contest_date",
            title="question_title",
            statement="question_content",
            starter="starter_code",
            tests="public_test_cases+private_test_cases",
            function="metadata.func_name",
        ),
    ),
    replace(
        APPS,
        name="taco",
        about="26,000 problems of six judges in Python, by tags and skills",
        dataset="BAAI/TACO",
        config="ALL",
        ids="taco_[0-9]+",
        dump_files=(),
        known_by=("raw_tags", "skill_types"),
        time_limit=4.0,  # seconds, as in the benchmark's harness, which ignores the limits in the rows
        columns=replace(APPS.columns, tags=("source", "tags.*", "skill_types.*"), date="date"),
    ),
    BenchmarkEntry(
        name="code_contests_plus",
        about="11,690 problems of CodeContests with better tests, and checkers",
        dataset="ByteDance-Seed/Code-Contests-Plus",
        config="1x",
        language="c++",
        ids="[0-9]+_[A-Z][0-9]?",
        known_by=("source", "title", "time_limit", "memory_limit", "checker"),
        slash="_",
        comparison="tokens",
        time_limit=None,
        memory_limit=None,
        milliseconds_from=100.0,
        columns=EntryColumns(
            id="id",
            tags=("source",),
            title="title",
            statement="description",
            tests="test_cases.*",
            checker="checker",
            time_limit="time_limit",
            memory_limit="memory_limit",
            solution="correct_submissions.*",
            wrong_solution="incorrect_submissions.*",
        ),
    ),
    BenchmarkEntry(
        name="aethercode",
        about="problems of premier contests, with checkers by experts",
        dataset="m-a-p/AetherCode",
        config="v1_2024",
        split="test",
        language="c++",
        known_by=("time_limit", "memory_limit", "checker", "contest_name"),
        comparison="tokens",
        time_limit=None,
        memory_limit=None,
        milliseconds_from=0.0,
        columns=EntryColumns(
            id="id",
            year="year",
            difficulty="difficulty",
            tags=("contest_category", "contest_name"),
            date="date",
            title="contest_name",
            statement="description",
            tests="test_cases.*",
            checker="checker",
            time_limit="time_limit",
            memory_limit="memory_limit",
        ),
    ),
    BenchmarkEntry(
        name="deepcoder",
        about="DeepCoder's 24,000 problems for reinforcement learning in Python, by config",
        dataset="agentica-org/DeepCoder-Preview-Dataset",
        config="primeintellect",
        packages=("numpy",),
        comparison="lines",
        time_limit=6.0,
        memory_limit=1024,
        ids="deepcoder_[0-9]+",
        columns=EntryColumns(
            statement="problem",
            starter="starter_code",
            tests="tests",
            function="metadata.func_name",
            solution="solutions|solution",
        ),
    ),
    BenchmarkEntry(
        name="verifiable_coding_problems",
        about="verifiable coding problems of PrimeIntellect and open-r1 in Python",
        dataset="open-r1/verifiable-coding-problems-python",
        comparison="stripped-lines",
        time_limit=5.0,
        columns=EntryColumns(
            id="problem_id",
            statement="problem_statement|problem|prompt",
            tests="verification_info.test_cases",
            difficulty="metadata.difficulty",
            tags=("source",),
            solution="gold_standard_solution",
        ),
    ),
    BenchmarkEntry(
        name="synthetic_2",
        about="the code problems of SYNTHETIC-2-RL in Python",
        dataset="PrimeIntellect/SYNTHETIC-2-RL",
        comparison="stripped-lines",
        time_limit=5.0,
        columns=EntryColumns(
            id="problem_id", statement="prompt", tests="verification_info.test_cases", tags=("task_type",)
        ),
    ),
    BenchmarkEntry(
        name="rstar_coder",
        about="rStar-Coder's seed problems with generated tests",
        dataset="microsoft/rStar-Coder",
        config="seed_testcase",
        columns=EntryColumns(
            id="question_id",
            statement="question",
            starter="starter_code",
            inputs="inputs",
            outputs="outputs",
            function="func_name",
        ),
    ),
    BenchmarkEntry(
        name="code_contests_o",
        about="11,682 problems of CodeContests with tests that were refined on solutions, and checkers",
        dataset="caijanfeng/CodeContests-O",
        split="test",
        language="c++",
        comparison="tokens",
        known_by=("input_constraints_summary",),
        columns=EntryColumns(
            id="name", title="name", statement="description", tests="corner_cases", checker="checker"
        ),
    ),
    BenchmarkEntry(
        name="cf_div2_stepfun",
        about="Codeforces Div. 2 problems of StepFun in C++ (its columns are not confirmed)",
        dataset="stepfun-ai/CF-Div2-Stepfun",
        split="test",
        language="c++",
        comparison="tokens",
        columns=EntryColumns(
            id="id",
            statement="description",
            tests="test_cases",
            checker="checker",
            time_limit="time_limit",
            memory_limit="memory_limit",
        ),
    ),
)


class BenchmarkFromEntry(Benchmark):
    """A benchmark defined by an entry."""

    version: ClassVar[int] = 16

    def __init__(self, entry: BenchmarkEntry) -> None:
        columns = entry.columns
        needed_columns = (
            columns.id,
            columns.statement,
            columns.tests,
            columns.inputs,
            columns.outputs,
            columns.assertions,
        )
        needed_names = (column for path in needed_columns if "|" not in path for column in path.split("+"))
        required_columns = filter(None, (column.partition(".")[0] for column in needed_names))
        copied_fields = (
            *("name", "about", "dataset", "config", "split", "language", "packages", "ids"),
            *("dump_files", "dump_columns", "lists_by_id"),
        )
        vars(self).update({name: getattr(entry, name) for name in copied_fields})
        vars(self).update(
            columns=(*required_columns, *entry.known_by),
            named=columns,
            uses_testlib=bool(columns.checker),
        )
        self._entry, self._columns = entry, columns

    def candidate(self, row: Row) -> ProblemCandidate:
        candidate = super().candidate(row)
        year = row.read_integer(self._columns.year, 0) if self._columns.year else 0
        return replace(
            candidate,
            alias=self._read_alias(row, candidate.id),
            year=year or candidate.year,
        )

    def _read_alias(self, row: Row, problem_id: str) -> str:
        """Return another id of the row's problem, or an empty string."""
        alias_column, slash, prefix = self._columns.alias, self._entry.slash, self._entry.prefix
        if alias_column in row.table.names:
            return row.read_name(alias_column) if row.has_field(alias_column) else ""
        if not self._columns.id:
            return str(row.index)
        if slash and slash in problem_id:
            return problem_id.replace(slash, "/")
        return problem_id.removeprefix(prefix) if prefix else ""

    def read_tags(self, row: Row) -> tuple[str, ...]:
        tag_values = (
            self.read_list_items(row, column) if column.endswith(_ITEMS) else self.read_value(row, column)
            for column in self._columns.tags
        )
        return tuple(dict.fromkeys(tag for value in tag_values for tag in _convert_to_strings(value) if tag))

    def read_problem_id(self, row: Row) -> str:
        id_column, prefix = self._columns.id, self._entry.prefix
        if not id_column:
            return f"{self.name}_{row.index}"
        problem_id = self.read_string(row, id_column)
        if not problem_id:
            raise row.make_error(id_column, "the problem's id is missing")
        return f"{prefix}{problem_id.removeprefix(prefix)}"

    def read_string(self, row: Row, column: str, default: str = "") -> str:
        value = self.read_value(row, column)
        if isinstance(value, list | dict):
            raise row.make_error(column, f"{str(value)[:60]} is not a string")
        return default if value is None else str(value) or default

    def read_value(self, row: Row, column: str) -> Any:
        """Return the value at a path, or None if it is missing."""
        for path in column.split("|"):
            name, _, inner_path = path.partition(".")
            if name and row.has_field(name):
                value = row.raw_value(name)
                for key in inner_path.split(".") if inner_path else ():
                    value = _decode_json_string(value)
                    value = value.get(key) if isinstance(value, dict) else None
                return value
        return None

    def read_list_items(self, row: Row, column: str) -> list[Any]:
        """Return the items of the list in a column `a.*`, which may be JSON or a Python literal."""
        list_column = column.removesuffix(_ITEMS)
        value = row.raw_value(list_column)
        with suppress(CasesError):
            list_items = _decode_json_string(value)
            if list_items is None or isinstance(list_items, list):
                return list_items or []
        raise row.make_error(list_column, f"{str(value)[:40]} is not a list")

    def fingerprint_options(self, options: BenchmarkOptions) -> str:
        return f"{self._entry} {super().fingerprint_options(options)}"

    def problem(
        self, candidate: ProblemCandidate, tables: Tables, contents: ContentStore, options: BenchmarkOptions
    ) -> Problem:
        row, entry, columns = tables.main[candidate.rows[0]], self._entry, self._columns
        checker_source = self.read_string(row, columns.checker)
        checker = Checker(kind=CheckerKind.built_in(entry.comparison))
        if checker_source.strip():
            checker_files = collect_program_files(
                "checker.cpp", checker_source, *list_testlib_folders(options)
            )
            checker = Checker(kind=CheckerKind.TESTLIB, sources=checker_files)
        return self.make_problem_from_row(
            row,
            candidate,
            lambda problem: self._add_tests(problem, row, contents),
            limits=Limits.contest(
                self._read_limit(
                    row,
                    columns.time_limit,
                    entry.time_limit,
                    "seconds",
                    _MAX_SECONDS,
                    entry.milliseconds_from,
                ),
                int(
                    self._read_limit(row, columns.memory_limit, entry.memory_limit, "MiB", _MEBIBYTE)
                    * _MEBIBYTE
                ),
            ),
            checker=checker,
            options=TaskOptions(integer_digits=entry.integer_digits),
            cpp_standard=entry.cpp_standard,
        )

    def _add_tests(self, problem: Problem, row: Row, contents: ContentStore) -> Problem:
        """Return the problem with the row's tests. Raises CasesError if they cannot be read."""
        columns = self._columns
        if columns.tests.endswith(_ITEMS):
            numbered_pairs = enumerate(
                row.read_object_strings(columns.tests.removesuffix(_ITEMS), "input", "output"), 1
            )
            tests = tuple(
                Test(name=str(number), input=contents.store(input_text), answer=contents.store(output_text))
                for number, (input_text, output_text) in numbered_pairs
            )
            if not tests:
                raise CasesError(NO_CASES)
            return replace(problem, tests=tests)
        tests_column = columns.assertions or columns.tests
        tests_value: Any
        if columns.inputs:
            tests_value = {
                side: self.read_value(row, getattr(columns, side)) for side in ("inputs", "outputs")
            }
        elif "+" in tests_column:
            tests_value = {column: row.read_text(column, "") for column in tests_column.split("+")}
        else:
            tests_value = self.read_value(row, tests_column)
        if tests_value is not None and not isinstance(tests_value, str | list | dict):
            raise row.make_error(tests_column, f"{tests_value!r} is not a string")
        function, setup = "", "\n".join(_convert_to_strings(self.read_value(row, columns.setup)))
        with suppress(CasesError):  # if `metadata` is damaged, the problem has no function
            function = self.read_string(row, columns.function)
        return with_tests(problem, tests_value, contents.store, function=function, setup=setup)

    def references(self, candidate: ProblemCandidate, tables: Tables) -> tuple[Solution, ...]:
        row, columns = tables.main[candidate.rows[0]], self._columns
        expected_by_column = {columns.solution: "correct", columns.wrong_solution: "rejected"}
        return tuple(
            solution
            for path, expected in expected_by_column.items()
            for solution in self._read_solutions(row, path, expected)
            if solution.code.strip()
        )

    def _read_solutions(self, row: Row, column_path: str, expected_verdict: str) -> Iterator[Solution]:
        """Yield the dataset's own solutions in a column."""
        language, column = find_language(self.language), column_path.removesuffix(_ITEMS)
        for number, program in enumerate(self._read_programs(row, column_path)):
            solution_name, language_name, code = str(number), language.name, program
            if isinstance(program, dict):
                solution_name, language_name, code = (
                    f"{column} {number}",
                    str(program.get("language")),
                    program.get("code"),
                )
                if code is None:
                    continue
                with suppress(InputError):  # an unknown language keeps its name in the dataset
                    language_name = find_language(language_name).name
            if not isinstance(code, str):
                raise row.make_error(column, "the value is not a list of strings")
            yield Solution(name=solution_name, language=language_name, code=code, expected=expected_verdict)

    def _read_programs(self, row: Row, path: str) -> list[Any]:
        """Return the programs in a column: strings, or objects with `code` and `language`."""
        if path.endswith(_ITEMS):
            return self.read_list_items(row, path)
        column_values = [self.read_value(row, column) for column in path.split("+")]
        program_value = column_values[0] if len(column_values) == 1 else "".join(map(str, column_values))
        language = find_language(self.language)
        if isinstance(program_value, str) and program_value.startswith("["):
            # A program that starts with a bracket is not JSON, so parsing it fails.
            with suppress(CasesError):
                program_value = _decode_json_string(program_value)
        programs = _convert_to_strings(program_value)
        return [
            extract(program, language) or program if "```" in program else program for program in programs
        ]

    def _read_limit(
        self,
        row: Row,
        column_path: str,
        default: float | None,
        unit: str,
        min_refused_value: float,
        min_value_in_milliseconds: float = math.inf,
    ) -> float:
        """Return the limit of a row.

        Args:
            row: The row.
            column_path: The column with the limit.
            default: The limit of rows without a limit, or None if every row must have a limit.
            unit: The unit, for messages.
            min_refused_value: Numbers from this number on have another unit, and are refused.
            min_value_in_milliseconds: Numbers from this number on are milliseconds.
        """
        value = self.read_value(row, column_path)
        if value is None and default is not None:
            return default
        number = as_number(value)
        if number is None or number <= 0:
            raise row.make_error(column_path, f"{value!r} is not a number above 0")
        if number >= min_value_in_milliseconds:
            return number / 1000
        if number >= min_refused_value:
            raise row.make_error(column_path, f"{value} is too large for a limit in {unit}")
        return number


def _convert_to_strings(value: Any) -> list[str]:
    """Return a value, or the items of a list, as strings without null values."""
    return [str(item) for item in (value if isinstance(value, list) else [value]) if item is not None]


def _decode_json_string(value: Any) -> Any:
    """Return the value in a string, as JSON or a Python literal, or None if the string is blank.

    Other values are returned unchanged. Raises CasesError for other strings.
    """
    if not isinstance(value, str):
        return value
    if not value.strip():
        return None
    try:
        return json.loads(require_shallow(value))
    except ValueError:
        return parse_literal(value)


def read_benchmark_entry(path: Path) -> BenchmarkFromEntry:
    """Return the benchmark of an entry in a TOML file. Raises InputError."""
    try:
        entry = msgspec.convert(tomllib.loads(path.read_text()), BenchmarkEntry)
        CheckerKind.built_in(entry.comparison)
        return BenchmarkFromEntry(entry)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(
            f"the file is not valid TOML ({error})", where=str(path), remedy="Correct it in the file"
        ) from error
    except msgspec.ValidationError as error:
        message, known_keys = str(error), [*BenchmarkEntry.__struct_fields__, *EntryColumns.__struct_fields__]
        unknown_key_match = re.search(r"unknown field `([^`]*)`", message)
        remedy = (
            suggest_names(unknown_key_match[1], known_keys)
            if unknown_key_match
            else "docs/benchmarks.md lists the keys of an entry"
        )
        raise InputError(message, where=str(path), remedy=remedy) from error
