"""Programs, and what models and compilers wrote, as HTML: line by line, with the blanks that they have."""

from __future__ import annotations

from functools import cache
from typing import Any

from ioi_eval.reports.document import MAX_TEXT, Code, harmless
from ioi_eval.store.rows import bounded

_MAX_CODE, _MAX_COLOURED = 200_000, 50_000  # characters of a program that are shown, and that have colours


@cache
def _pygments(language: str) -> tuple[Any, Any]:
    """The two that make HTML of a language; they hold nothing of what they were given."""
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(language, stripnl=False), HtmlFormatter(nowrap=True)


def numbered(code: Code) -> Any:
    """The lines of a program as HTML: each with its number, which is a link to it."""
    from markupsafe import Markup, escape
    from pygments import highlight

    text = "\n".join(harmless(line, "\t") for line in code.text.split("\n"))
    if len(text) > _MAX_CODE:
        text = text[:_MAX_CODE] + "\n…"
    shown = str(escape(text))
    if code.lexer and len(text) <= _MAX_COLOURED:
        lexer, formatter = _pygments(code.lexer)
        shown = highlight(text, lexer, formatter)
    lines = enumerate(shown.rstrip("\n").split("\n"), start=1)
    return Markup(
        "".join(f'<a id="L{number}" href="#L{number}">{number}</a>{line}\n' for number, line in lines)
    )


def indented(line: str) -> Any:
    """A line of a program or a compiler as HTML, with the blanks that it has."""
    from markupsafe import escape

    return escape(bounded(harmless(line, "\t"), MAX_TEXT))
