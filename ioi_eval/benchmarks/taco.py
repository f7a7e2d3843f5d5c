"""TACO: 26,000 problems in Python, written as APPS writes them, with tags, sources and days."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec.structs import replace

from ioi_eval.benchmarks.apps import Apps
from ioi_eval.benchmarks.benchmark import Candidate
from ioi_eval.benchmarks.tables import Row, Table
from ioi_eval.rules.json_tests import CasesError, literal_in


class Taco(Apps):
    name: ClassVar = "taco"
    about: ClassVar = "26,000 problems of six judges in Python, by tags and skills"
    ids: ClassVar = r"taco_[0-9]+"
    dataset: ClassVar = "BAAI/TACO"
    config: ClassVar = "ALL"
    columns: ClassVar = ("question", "input_output", "raw_tags", "skill_types")
    time_limit: ClassVar = 4.0  # seconds, of its own harness; it heeds no limits of the rows

    def candidates(self, main: Table) -> Iterator[Candidate]:
        for one in super().candidates(main):
            row = main[one.rows[0]]
            day = row.text("date", "")[:10]
            source = row.text("source", "")
            yield replace(
                one,
                tags=(*([source] if source else []), *_tags(row, "tags"), *_tags(row, "skill_types")),
                date=day if day[:4].isdecimal() else "",
                year=int(day[:4]) if day[:4].isdecimal() else None,
            )


def _tags(row: Row, field: str) -> tuple[str, ...]:
    """A list as Python writes it, in a text."""
    text = row.text(field, "")
    try:
        found = literal_in(text) if text.strip() else []
    except CasesError as error:
        raise row.wrong(field, f"{text:.40} is not a list") from error
    return tuple(dict.fromkeys(str(tag) for tag in found))
