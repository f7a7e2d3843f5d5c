"""How the proctor's sources are written."""

from __future__ import annotations

from ioi_eval.store.resources import graders_folder

_COLUMNS = 120


def test_source_lines_have_at_most_120_columns() -> None:
    sources = [*graders_folder().glob("proctor/*.?pp")]
    assert len(sources) > 50
    lines = (
        (path.name, number, line)
        for path in sources
        for number, line in enumerate(path.read_text().splitlines(), start=1)
    )
    assert [where for *where, line in lines if len(line) > _COLUMNS] == []
