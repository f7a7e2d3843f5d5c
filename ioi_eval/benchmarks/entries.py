"""Benchmarks of which columns tell all: an entry in the table here, or in a file of the user's own (TOML).

An entry names its columns; `a|b` is the first that is there, `a.b` a place in JSON. Tests may have any form
that datasets in use have, and the row shows which: pairs, lists, a function's arguments, assertions.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec.structs import replace

from ioi_eval.benchmarks.benchmark import (
    Benchmark,
    BenchmarkOptions,
    Candidate,
    ColumnNames,
    Keep,
    header_folders,
)
from ioi_eval.benchmarks.tables import Row, Tables
from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import nearest
from ioi_eval.model.languages import find as find_language
from ioi_eval.model.nesting import shallow
from ioi_eval.model.values import Checker, CheckerKind, Limits, Problem, Solution, Value
from ioi_eval.problems.package import with_testlib
from ioi_eval.rules.extraction import extract
from ioi_eval.rules.json_tests import literal_in
from ioi_eval.rules.row_tests import with_tests
from ioi_eval.store.rows import as_number

SUFFIX = ".toml"
_MB = 1 << 20
_MOST_TIME = 500.0  # seconds; from there on a number is meant in milliseconds
_Positive = Annotated[float, msgspec.Meta(gt=0)]


class EntryColumns(ColumnNames, kw_only=True, forbid_unknown_fields=True):
    """An entry's columns. Empty: there is none."""

    id: str = ""  # empty: rows are known by their numbers
    tests: str = ""  # pairs in any form
    inputs: str = ""  # or lists of inputs and of outputs
    outputs: str = ""
    assertions: str = ""  # or a program in Python, or a list of its assertions
    setup: str = ""  # what assertions need in front: imports
    function: str = ""  # the name of what is called
    checker: str = ""  # a program in C++ with testlib
    time_limit: str = ""  # seconds
    memory_limit: str = ""  # MiB
    solution: str = ""  # the dataset's own: a program, a reply with one, or several


class BenchmarkEntry(Value, kw_only=True, forbid_unknown_fields=True):
    """A benchmark by its columns."""

    name: Annotated[str, msgspec.Meta(pattern="^[a-z][a-z0-9_]*$")]
    about: str = ""
    dataset: str = ""
    config: str = ""
    split: str = "train"
    language: str = "python"
    packages: tuple[str, ...] = ()
    ids: str = ""
    known_by: tuple[str, ...] = ()  # columns that files of its rows have besides those of one name below
    prefix: str = ""  # of ids, where the column has numbers
    comparison: str = CheckerKind.STRIPPED.value
    time_limit: _Positive = 4.0  # seconds
    memory_limit: _Positive = 512.0  # MiB
    cpp_standard: str = "gnu++17"
    columns: EntryColumns = EntryColumns()


ENTRIES: tuple[BenchmarkEntry, ...] = (
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


class ListedBenchmark(Benchmark):
    """A benchmark made of an entry."""

    version: ClassVar[int] = 15

    def __init__(self, entry: BenchmarkEntry) -> None:
        named = entry.columns
        needed = (named.id, named.statement, named.tests, named.inputs, named.outputs, named.assertions)
        certain = (column.partition(".")[0] for column in needed if column and "|" not in column)
        columns = (*certain, *entry.known_by)
        same = ("name", "about", "dataset", "config", "split", "language", "packages", "ids")
        own = {"columns": columns, "named": named, "uses_testlib": bool(named.checker)}
        vars(self).update({name: getattr(entry, name) for name in same}, **own)
        self._entry, self._columns = entry, named

    def candidate(self, row: Row) -> Candidate:
        found, prefix = super().candidate(row), self._entry.prefix
        alias = found.id.removeprefix(prefix) if prefix else ""
        values = (self.value_of(row, column) for column in self._columns.tags)
        listed = (value if isinstance(value, list) else [value] for value in values)
        tags = dict.fromkeys(str(tag) for several in listed for tag in several if tag is not None)
        return replace(
            found,
            alias=alias if self._columns.id else str(row.index),
            tags=tuple(filter(None, tags)),
        )

    def id_of(self, row: Row) -> str:
        column, prefix = self._columns.id, self._entry.prefix
        if not column:
            return f"{self.name}_{row.index}"
        found = self.text_of(row, column)
        if not found:
            raise row.wrong(column, "nothing there, and it is the problem's id")
        return f"{prefix}{found.removeprefix(prefix)}"

    def text_of(self, row: Row, column: str, default: str = "") -> str:
        value = self.value_of(row, column)
        return default if value is None else str(value) or default

    def value_of(self, row: Row, column: str) -> Any:
        """Return what is at a place; None where nothing is."""
        for choice in column.split("|"):
            name, _, rest = choice.partition(".")
            if name and row.has(name):
                value = row.value(name)
                for key in rest.split(".") if rest else ():
                    value = _decoded(value)
                    value = value.get(key) if isinstance(value, dict) else None
                return value
        return None

    def matter(self, options: BenchmarkOptions) -> str:
        return f"{self._entry} {super().matter(options)}"

    def problem(self, candidate: Candidate, tables: Tables, keep: Keep, options: BenchmarkOptions) -> Problem:
        row, entry, named = tables.main[candidate.rows[0]], self._entry, self._columns

        def finish(problem: Problem) -> Problem:
            function = self.text_of(row, named.function)
            value = self.value_of(row, named.assertions or named.tests)
            if named.inputs:
                sides = {"inputs": named.inputs, "outputs": named.outputs}
                value = {side: self.value_of(row, column) for side, column in sides.items()}
            setup = "\n".join(_lines(self.value_of(row, named.setup)))
            return with_tests(problem, value, keep.blob, function=function, setup=setup)

        source = self.text_of(row, named.checker)
        checker = Checker(kind=CheckerKind.built_in(entry.comparison))
        if source:
            program = with_testlib("checker.cpp", source, *header_folders(options))
            checker = Checker(kind=CheckerKind.TESTLIB, sources=program)
        return self.of_row(
            row,
            candidate,
            finish,
            limits=Limits.contest(
                self._limit(row, named.time_limit, entry.time_limit, "seconds", most=_MOST_TIME),
                int(self._limit(row, named.memory_limit, entry.memory_limit, "MiB", most=_MB) * _MB),
            ),
            checker=checker,
            cpp_standard=entry.cpp_standard,
        )

    def references(self, candidate: Candidate, tables: Tables) -> tuple[Solution, ...]:
        row = tables.main[candidate.rows[0]]
        parts = [self.value_of(row, part) for part in self._columns.solution.split("+")]
        if len(parts) > 1:
            parts = ["".join(map(str, parts))]
        value = _decoded(parts[0]) if isinstance(parts[0], str) and parts[0].startswith("[") else parts[0]
        language = find_language(self.language)
        return tuple(
            Solution(
                name=str(number),
                language=language.name,
                code=extract(text, language) or text if "```" in text else text,
                expected="correct",
            )
            for number, text in enumerate(_lines(value))
            if text.strip()
        )

    def _limit(self, row: Row, place: str, default: float, unit: str, *, most: float) -> float:
        """Return a limit. InputError from `most` on, where it is meant in another unit."""
        value = self.value_of(row, place)
        number = default if value is None else as_number(value)
        if number is None or number <= 0:
            raise row.wrong(place, f"{value!r} is not a number above 0")
        if value is not None and number >= most:
            raise row.wrong(place, f"{value} is too much; it counts {unit}")
        return number


def _lines(value: Any) -> list[str]:
    """A text, or a list of them."""
    return [str(item) for item in (value if isinstance(value, list) else [value]) if item is not None]


def _decoded(value: Any) -> Any:
    """A text as what it says: JSON, or what Python wrote. CasesError where it is neither."""
    if not isinstance(value, str):
        return value
    if not value.strip():
        return None
    try:
        return json.loads(shallow(value))
    except ValueError:
        return literal_in(value)


def entry_in(path: Path) -> ListedBenchmark:
    """Return the benchmark of an entry in a file. InputError."""
    try:
        entry = msgspec.convert(tomllib.loads(path.read_text()), BenchmarkEntry)
        CheckerKind.built_in(entry.comparison)
        return ListedBenchmark(entry)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"no TOML ({error})", where=str(path), remedy="Correct it in the file") from error
    except msgspec.ValidationError as error:
        message, keys = str(error), [*BenchmarkEntry.__struct_fields__, *EntryColumns.__struct_fields__]
        unknown = re.search(r"unknown field `([^`]*)`", message)
        remedy = nearest(unknown[1], keys) if unknown else "docs/benchmarks.md lists the keys of an entry"
        raise InputError(message, where=str(path), remedy=remedy) from error
