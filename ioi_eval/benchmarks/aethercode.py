"""AetherCode: problems of IOI, ICPC and national contests of 2024 and 2025, with checkers by experts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ioi_eval.benchmarks.benchmark import Candidate
from ioi_eval.benchmarks.checked import Checked
from ioi_eval.benchmarks.tables import Table


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
    title: ClassVar = "contest_name"

    def candidates(self, main: Table) -> Iterator[Candidate]:
        for row in main:
            tags = (row.text("contest_category", ""), row.text("contest_name", ""))
            yield Candidate(
                id=row.name("id"),
                rows=(row.index,),
                year=row.whole("year", 0) or None,
                difficulty=row.text("difficulty", ""),
                tags=tuple(tag for tag in tags if tag),
                date=row.text("date", "").replace("/", "-"),
            )
