"""A document as one HTML file: no script, nothing that is loaded from anywhere."""

from __future__ import annotations

import importlib.resources
from typing import Any

from ioi_eval.models import Verdict
from ioi_eval.reports.document import Document, Meter, Section
from ioi_eval.reports.text import visible
from ioi_eval.rows import bounded

_MAX_TEXT = 2000  # characters of one piece
_SHORT = 34  # characters that are not worth a line break
_STATUSES = frozenset(verdict.value for verdict in Verdict)
_MEDALS = frozenset({"gold", "silver", "bronze"})
_WORDS = {"yes": "good", "NO": "bad", "not judged": "bad"}


def html(document: Document) -> str:
    """Everything that is put into the page is escaped; there is no text that counts as HTML already."""
    import jinja2

    environment = jinja2.Environment(
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        autoescape=True,
    )
    source = importlib.resources.files("ioi_eval.reports").joinpath("report.html.j2").read_text("utf-8")
    helpers = {"style_of": style_of, "is_meter": _is_meter, "anchors": _anchors(document)}
    return environment.from_string(source, globals=helpers).render(document=document) + "\n"


def _shown(value: Any) -> Any:
    """Text without anything hidden in it. What is escaped already is not text of others."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return bounded(visible(value), _MAX_TEXT)


def _is_meter(cell: object) -> bool:
    return isinstance(cell, Meter)


def style_of(cell: str, side: str) -> str:
    """Classes of a cell: only words of ours get a colour."""
    found = ["number" if side == "r" else "short" if len(cell) <= _SHORT else "text"]
    last = cell.rpartition(" ")[2]
    if cell in _STATUSES:
        found += ["status", cell.lower()]
    elif cell in _WORDS:
        found += ["word", _WORDS[cell]]
    elif side == "r" and last in _MEDALS:
        found += ["word", last]
    return " ".join(found)


def _anchors(document: Document) -> list[tuple[str, Section]]:
    """Sections and what links to them: numbers, because titles are text of others."""
    return [(f"s{number}", section) for number, section in enumerate(document.sections, start=1)]
