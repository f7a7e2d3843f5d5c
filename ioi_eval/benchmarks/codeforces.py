"""Codeforces: a row for each problem with the tests that the site shows; a file of more for each contest.

The site cuts long tests off; rows hold those that are whole. `official_tests_complete` says where that is all
of them, and `generated_tests` how many more there are in test_cases_<contest>.parquet.
"""

from __future__ import annotations

import datetime
from typing import ClassVar

from ioi_eval.benchmarks.assertions import python_checker
from ioi_eval.benchmarks.benchmark import Benchmark, BenchmarkOptions, Candidate, Keep, Unusable
from ioi_eval.benchmarks.tables import Row, Tables
from ioi_eval.model.values import Blob, Checker, CheckerKind, Limits, Problem, TaskOptions, Test
from ioi_eval.store.tasks import People

INTERACTIVE = "interactive, and the dataset has no interactor"
NOT_EXECUTABLE = "the dataset says that it cannot be executed"
NO_TESTS = "no tests"
NO_LIMITS = "no time limit"
_MB = 1 << 20
_PARTS = (
    ("", "description"),
    ("Input", "input_format"),
    ("Output", "output_format"),
    ("Interaction", "interaction_format"),
    ("Note", "note"),
)


class Codeforces(Benchmark):
    name: ClassVar = "codeforces"
    about: ClassVar = "Codeforces problems with official and generated tests, and generated checkers"
    ids: ClassVar = r"[0-9]+/[A-Z][0-9]?"
    dataset: ClassVar = "open-r1/codeforces"
    split: ClassVar = "test"
    heeds: ClassVar = ("generated_tests",)
    columns: ClassVar = ("id", "contest_id", "index", "time_limit", "memory_limit", "official_tests")
    other_files: ClassVar = "test_cases_*"

    def candidate(self, row: Row) -> Candidate:
        start = row.whole("contest_start", 0)
        return Candidate(
            id=row.name("id"),
            rows=(row.index,),
            year=row.whole("contest_start_year", 0) or None,
            difficulty=str(row.whole("rating")) if row.has("rating") else "",
            tags=row.texts("tags"),
            date=datetime.datetime.fromtimestamp(start, datetime.UTC).date().isoformat() if start else "",
            unusable=_unusable(row),
        )

    def people(self, tables: Tables) -> People:
        return People(source=f"ratings of problems in {tables.main.where}", rated=True)

    def fingerprint(self, candidate: Candidate, tables: Tables) -> str:
        row = tables.main[candidate.rows[0]]
        return f"{tables.main.fingerprint} {tables.stamp(self.dataset, _generated_file(row))}"

    def problem(self, candidate: Candidate, tables: Tables, keep: Keep, options: BenchmarkOptions) -> Problem:
        row = tables.main[candidate.rows[0]]
        if not row.has("time_limit"):
            raise Unusable(NO_LIMITS)
        tests = _Tests(keep)
        for kind, field in (("example", "examples"), ("official", "official_tests")):
            for item in row.items(field):
                tests.add(kind, _side(row, field, item, "input"), _side(row, field, item, "output"))
        if options.generated_tests and row.whole("generated_tests", 0):
            table = tables.other(
                self.dataset, path=_generated_file(row), columns=("problem_id", "input", "output")
            )
            for index in table.groups("problem_id").get(row.name("id"), ()):
                tests.add("generated", table[index].content("input"), table[index].content("output"))
        if not tests.found:
            raise Unusable(NO_TESTS)
        return _built(row, candidate, tuple(tests.found))


class _Tests:
    """Tests in the order in which they come; one whose input was there already is left out."""

    def __init__(self, keep: Keep) -> None:
        self._keep, self._inputs = keep, set[str]()
        self._numbers: dict[str, int] = {}
        self.found: list[Test] = []

    def add(self, kind: str, given: str | memoryview, expected: str | memoryview) -> None:
        blob = self._keep.blob(given)
        if blob.sha256 in self._inputs:
            return
        self._inputs.add(blob.sha256)
        number = self._numbers[kind] = self._numbers.get(kind, 0) + 1
        answer = self._keep.blob(expected)
        self.found.append(Test(name=f"{kind}-{number:03}", input=blob, answer=answer))


def _side(row: Row, field: str, item: dict[str, object], side: str) -> str:
    value = item.get(side)
    if isinstance(value, str):
        return value
    raise row.wrong(field, f"a test without a text as its {side}")


def _unusable(row: Row) -> str:
    if row.text("interaction_format", "").strip():
        return INTERACTIVE
    return "" if row.flag("executable", True) else NOT_EXECUTABLE


def _generated_file(row: Row) -> str:
    contest = row.name("contest_id")
    return f"generated_tests/test_cases_{contest:0>4}.parquet"


def _built(row: Row, candidate: Candidate, tests: tuple[Test, ...]) -> Problem:
    memory = row.number("memory_limit", 0.0)
    in_files = row.text("input_mode", "stdio") == "file"
    return Problem(
        id=candidate.id,
        name=row.text("title", candidate.id),
        year=candidate.year,
        source=row.table.where,
        options=TaskOptions(
            input_file="input.txt" if in_files else "",
            output_file="output.txt" if in_files else "",
            online_judge=True,
        ),
        limits=Limits.contest(row.number("time_limit", above=0), int(memory * _MB) or None),
        checker=_checker(row),
        tests=tests,
        difficulty=candidate.difficulty,
        tags=candidate.tags,
        statement=Blob.of(_statement(row)),
    )


def _checker(row: Row) -> Checker:
    """The site's own are not public; where an answer is the only one, its tokens are compared."""
    source = row.text("generated_checker", "")
    if not source.strip():
        return Checker(kind=CheckerKind.TOKENS)
    return python_checker(source)


def _statement(row: Row) -> str:
    heads = [f"# {row.text('title', row.name('id'))}"]
    for head, field in _PARTS:
        if text := row.text(field, "").strip():
            heads.append(f"## {head}\n\n{text}" if head else text)
    for item in row.items("examples") if row.has("examples") else ():
        heads.append(f"## Example\n\n```\n{item.get('input')}\n```\n\n```\n{item.get('output')}\n```")
    return "\n\n".join(heads) + "\n"
