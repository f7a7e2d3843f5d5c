"""CodeContests+: problems of CodeContests with tests and checkers that were generated and verified anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import ClassVar

from msgspec.structs import replace

from ioi_eval.benchmarks.benchmark import Candidate, ColumnNames
from ioi_eval.benchmarks.checked import Checked
from ioi_eval.benchmarks.tables import Row, Tables
from ioi_eval.model.values import Solution

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
