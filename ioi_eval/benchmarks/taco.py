"""TACO: 26,000 problems in Python, written as APPS writes them, with tags, sources and days."""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from ioi_eval.benchmarks.apps import Apps
from ioi_eval.benchmarks.benchmark import Candidate
from ioi_eval.benchmarks.tables import Row
from ioi_eval.rules.json_tests import CasesError, literal_in


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
