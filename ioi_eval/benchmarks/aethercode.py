"""AetherCode: problems of IOI, ICPC and national contests of 2024 and 2025, with checkers by experts."""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from ioi_eval.benchmarks.benchmark import Candidate, ColumnNames
from ioi_eval.benchmarks.checked import Checked
from ioi_eval.benchmarks.tables import Row


class AetherCode(Checked):
    name: ClassVar = "aethercode"
    about: ClassVar = "problems of premier contests, with checkers by experts"
    dataset: ClassVar = "m-a-p/AetherCode"
    config: ClassVar = "v1_2024"
    split: ClassVar = "test"
    columns: ClassVar = (
        "id",
        "description",
        "time_limit",
        "memory_limit",
        "checker",
        "test_cases",
        "contest_name",
    )
    named = ColumnNames(
        difficulty="difficulty",
        tags=("contest_category", "contest_name"),
        date="date",
        title="contest_name",
        statement="description",
    )

    def candidate(self, row: Row) -> Candidate:
        return replace(super().candidate(row), year=row.whole("year", 0) or None)
