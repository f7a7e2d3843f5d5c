"""How the proctor's sources are written."""

from __future__ import annotations

from ioi_eval.store.resources import graders

_COLUMNS = 120


def test_no_line_is_wider_than_a_screen() -> None:
    sources = [*graders().glob("proctor/*.?pp")]
    assert len(sources) > 50
    lines = (
        (path.name, number, line)
        for path in sources
        for number, line in enumerate(path.read_text().splitlines(), start=1)
    )
    assert [where for *where, line in lines if len(line) > _COLUMNS] == []
