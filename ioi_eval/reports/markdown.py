"""A document as Markdown."""

from __future__ import annotations

import importlib.resources
from collections.abc import Sequence

from ioi_eval.reports.document import Document
from ioi_eval.reports.text import Markdown, block, inline, table


def markdown(document: Document) -> str:
    """Everything that is put into the page is escaped unless it was made by our own tables."""
    import jinja2

    environment = jinja2.Environment(
        finalize=inline,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # that is for HTML: `finalize` escapes for Markdown
    )
    source = importlib.resources.files("ioi_eval.reports").joinpath("report.md.j2").read_text("utf-8")
    helpers = {"block": block, "table": table, "paragraphs": _paragraphs, "hashes": _hashes}
    page = environment.from_string(source, globals=helpers).render(document=document)
    return page.rstrip("\n") + "\n"


def _paragraphs(text: Sequence[str]) -> Markdown:
    return Markdown("\n\n".join(map(inline, text)))


def _hashes(level: int) -> Markdown:
    return Markdown("#" * level)
