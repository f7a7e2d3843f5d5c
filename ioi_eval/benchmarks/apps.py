"""APPS: 10,000 problems of three levels, programs or functions in Python, with tests as JSON in a column.

A problem is known by its place in the dataset, `apps_42`, and by its `problem_id`. One that has no tests, or
none that can be understood, is there all the same: its rows say why nothing can be said of them.
"""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec.structs import replace

from ioi_eval.benchmarks.benchmark import Benchmark, BenchmarkOptions, Candidate, ColumnNames, Keep
from ioi_eval.benchmarks.tables import Row, Tables
from ioi_eval.model.values import Checker, CheckerKind, Limits, Problem, Solution
from ioi_eval.rules.json_tests import CasesError, literal_in, read_cases, with_cases

MEMORY_LIMIT = 512 << 20  # bytes; the dataset has no limits, and no harness in use has one of memory


class Apps(Benchmark):
    name: ClassVar = "apps"
    about: ClassVar = "10,000 problems of three levels in Python, standard input or a function"
    ids: ClassVar[str] = r"apps_[0-9]+"
    dataset: ClassVar = "metr-evals/apps"  # codeparrot/apps has the same rows
    split: ClassVar = "test"
    language: ClassVar = "python"
    packages: ClassVar = ("numpy",)
    columns: ClassVar[tuple[str, ...]] = ("question", "input_output")
    named = ColumnNames(id="", difficulty="difficulty", statement="question", starter="starter_code")
    time_limit: ClassVar = 10.0  # seconds, as harnesses in use give a test

    def candidate(self, row: Row) -> Candidate:
        return replace(super().candidate(row), alias=_number(row))

    def problem(self, candidate: Candidate, tables: Tables, keep: Keep, options: BenchmarkOptions) -> Problem:
        row = tables.main[candidate.rows[0]]
        return self.of_row(
            row,
            candidate,
            lambda task: with_cases(task, read_cases(_input_output(row)), keep.blob),
            limits=Limits.contest(self.time_limit, MEMORY_LIMIT),
            checker=Checker(kind=CheckerKind.STRIPPED),
        )

    def references(self, candidate: Candidate, tables: Tables) -> tuple[Solution, ...]:
        codes = _solutions(tables.main[candidate.rows[0]])
        return tuple(
            Solution(name=str(number), language="python", code=code, expected="correct")
            for number, code in enumerate(codes)
        )


def _number(row: Row) -> str:
    """Return the dataset's name of a problem; its place where it has none."""
    if "problem_id" not in row.table.names:
        return str(row.index)
    return row.name("problem_id") if row.has("problem_id") else ""


def _input_output(row: Row) -> Any:
    """A text of JSON, or what a table made of it."""
    value = row.value("input_output")
    return value if isinstance(value, dict) else row.text("input_output", "")


def _solutions(row: Row) -> tuple[str, ...]:
    """A list of texts, mostly as JSON; empty for some problems."""
    value = row.value("solutions")
    found = value if isinstance(value, list) else row.json("solutions") or []
    if not isinstance(found, list) or not all(isinstance(code, str) for code in found):
        raise row.wrong("solutions", "not a list of texts")
    return tuple(found)


# --- TACO --------------------------------------------------------------------------------------------


class Taco(Apps):
    name: ClassVar = "taco"
    about: ClassVar = "26,000 problems of six judges in Python, by tags and skills"
    ids: ClassVar = r"taco_[0-9]+"
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
