"""`--validate-references`: a benchmark's own solutions are judged before anybody else's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.text import Text

from ioi_eval.cli import console
from ioi_eval.model.values import Verdict
from ioi_eval.runs.references import MOST, Asked, Reference, References, Reliability, conclusion

_SHOWN = 20  # problems; the others are in the file

Validate = Annotated[
    bool,
    typer.Option("--validate-references", help="Judge the benchmark's own solutions, and say which pass."),
]
Most = Annotated[
    int | None,
    typer.Option("--references", min=1, metavar="N", help="So many of each problem.", show_default=str(MOST)),
]
Skip = Annotated[
    bool, typer.Option("--skip-unreliable", help="Leave out problems whose own solutions do not pass.")
]


# --- for people --------------------------------------------------------------------------------------


def show_references(found: References, asked: Asked, out: str) -> None:
    """The problems that are not reliable, and why."""
    console.show(f"Own solutions: {conclusion(found, asked)}; see {out}/references.json")
    rows = list(_rows(found))
    if not rows:
        return
    table = console.plain_table("problem", "references", "passed", "why", right=frozenset({"passed"}))
    for row in rows[:_SHOWN]:
        table.add_row(*(Text(console.visible(cell)) for cell in row))
    console.show("")
    console.show_table(table)
    if len(rows) > _SHOWN:
        console.show(f"and {len(rows) - _SHOWN} more")
    console.show("")


def _rows(found: References) -> Iterator[tuple[str, ...]]:
    for one in found.problems:
        if one.reliability is not Reliability.RELIABLE:
            passed = sum(reference.status is Verdict.AC for reference in one.references)
            number = f"{passed} of {len(one.references)}"
            yield one.problem, one.reliability.value, number, one.note or _why(one.references)


def _why(references: tuple[Reference, ...]) -> str:
    """Of the first that does not pass."""
    first = next((one for one in references if one.status is not Verdict.AC), None)
    if first is None:
        return ""
    status = first.status.value if first.status else "not judged"
    place = f" on test {first.test}" if first.test else ""
    reason = " ".join(first.reason.split())
    return f"{first.solution}: {status}{place}{': ' + reason if reason else ''}"
