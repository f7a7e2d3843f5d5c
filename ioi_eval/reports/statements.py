r"""A problem's statement as HTML: Markdown, with formulas of TeX as MathML.

Statements are text of others. No HTML of theirs is kept, no picture is asked for, links lead to the web and
nowhere else, and of a formula only elements and attributes pass that draw. A formula that cannot be drawn, or
that is long or deep, stands there as text: a statement costs a bounded time.
"""

from __future__ import annotations

import html
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from ioi_eval.model.values import Value
from ioi_eval.reports.document import harmless
from ioi_eval.store.rows import bounded

if TYPE_CHECKING:
    from collections.abc import Sequence
    from xml.etree.ElementTree import Element

_LATEX = re.compile(r"\\(documentclass|section\b|begin\{(problem|document|statement)\}|InputFile)")
_WEB = re.compile(r"https?://", re.I)
_MAX_ADDRESS = 300  # characters of a picture's
_FORMULA = re.compile(
    r"""(?P<mark>\${6}|\${2,3})(?P<wide>(?:\\.|[^$\\]){1,1000}?)(?P=mark)
    | \$(?![\s$])(?P<plain>(?:\\.|[^$\\]){1,1000}?)(?<!\s)\$(?!\d)
    | \\\((?P<round>.{1,1000}?)\\\)
    | \\\[(?P<square>.{1,1000}?)\\\]""",
    re.S | re.X,
)
_BLOCKS = ("$$", "$$$$$$")  # marks of formulas that stand alone; $$$ is Codeforces' within a line
_DEFINES = re.compile(r"\\(?:(?:re|provide)?newcommand|[egx]?def\b|let\b|DeclareMathOperator)")
_MAX_DEPTH = 40
_ELEMENTS = re.compile(
    "math|m(frac|i|n|o|over|padded|phantom|root|row|space|sqrt|style|sub|subsup|sup|table|td|text|tr|under)"
    "|munderover|mmultiscripts|mprescripts|none|menclose"
)
_ATTRIBUTES = re.compile(
    "accent(under)?|column(align|lines)|display(style)?|fence|form|linethickness|[lr]space|mathvariant"
    "|m(ax|in)size|movablelimits|notation|rowlines|scriptlevel|separator|stretchy|symmetric|width|height|depth"
)
_PARTS = {
    "mfrac": 2,
    "mroot": 2,
    "msub": 2,
    "msup": 2,
    "mover": 2,
    "munder": 2,
    "msubsup": 3,
    "munderover": 3,
}
_VALUE = re.compile(r"-?\d?(\.\d+)?(em|ex|pt|mu|%)?|[a-z][a-z -]{0,40}")


class StatementHtml(Value):
    text: str

    def html(self) -> Any:
        from markupsafe import Markup

        text = harmless(self.text.replace("\r\n", "\n"), "\n\t")
        is_latex = _LATEX.search(self.text) is not None  # a whole document, which is no Markdown
        shown = f"<pre>{html.escape(text)}</pre>" if is_latex else _markdown(text)
        group = '<div class="statement" tabindex="0" role="group" aria-label="Statement">'
        return Markup(f"{group}\n{shown}</div>\n")


def _markdown(text: str) -> str:
    try:
        parser = _parser()
    except ModuleNotFoundError:  # the package was installed without its dependencies
        return f"<pre>{html.escape(text)}</pre>"
    tokens = parser.parse(text)
    _tame(tokens)
    return str(parser.renderer.render(tokens, parser.options, {}))


@cache
def _parser() -> Any:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.inline.ruler.before("escape", "formula", _take_formula)
    parser.add_render_rule("formula", _drawn_formula)
    parser.add_render_rule("image", _named_picture)
    return parser


def _tame(tokens: Sequence[Any]) -> None:
    """Let headings go on from the page's own, links lead to the web, and tables be no tables of ours."""
    above = 2  # the section's heading
    used = sorted({token.tag for token in tokens if token.type == "heading_open"})
    tags = list[str]()
    for token in tokens:
        if token.type == "heading_open":
            above = min(6, above + 1, 3 + used.index(token.tag))
            tags.append(f"h{above}")
            token.tag = tags[-1]
        elif token.type == "heading_close":
            token.tag = tags.pop()
        elif token.type == "table_open":
            token.attrs = {"class": "plain"}
        for child in token.children or ():
            if child.type == "link_open":
                address = str(child.attrs.get("href", ""))
                child.attrs = {"href": address, "rel": "noreferrer"} if _WEB.match(address) else {}


def _named_picture(_renderer: Any, tokens: Sequence[Any], place: int, _options: Any, _env: Any) -> str:
    """Name a picture: a page asks no network."""
    token = tokens[place]
    address = bounded(str(token.attrs.get("src", "")), _MAX_ADDRESS)
    name = html.escape(": ".join(filter(None, (token.content, address))))
    return f'<span class="quiet">[picture {name}]</span>'


# --- formulas ----------------------------------------------------------------------------------------


def _take_formula(state: Any, ignore_progress: bool) -> bool:
    found = _FORMULA.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not ignore_progress:
        token = state.push("formula", "math", 0)
        token.markup, token.content = found.group(), next(filter(None, found.group(*_BODIES)))
        token.block = found["mark"] in _BLOCKS or found["square"] is not None
    state.pos = found.end()
    return True


_BODIES = ("wide", "plain", "round", "square")


def _drawn_formula(_renderer: Any, tokens: Sequence[Any], place: int, _options: Any, _env: Any) -> str:
    token = tokens[place]
    drawn = mathml(token.content, block=token.block)
    return f'<code class="tex">{html.escape(token.markup)}</code>' if drawn is None else drawn


@lru_cache(1 << 12)
def mathml(tex: str, *, block: bool = False) -> str | None:
    """Return a formula as MathML; None where it cannot be drawn, or defines commands of its own."""
    try:
        from latex2mathml.converter import Converter
    except ModuleNotFoundError:
        return None
    if _DEFINES.search(tex):
        return None
    try:
        drawn = Converter(display="block" if block else "inline").convert_to_element(tex)
        return _element(drawn, 0)
    except _not_understood():
        return None


@cache
def _not_understood() -> tuple[type[Exception], ...]:
    """Return what the converter raises for a formula that it cannot make anything of."""
    from latex2mathml import exceptions

    own = [kind for kind in vars(exceptions).values() if isinstance(kind, type)]
    return (*own, StopIteration, LookupError, ValueError, TypeError, AttributeError, RuntimeError)


def _element(element: Element, depth: int) -> str:
    """Not the converter's own text: that holds what a formula quotes as HTML."""
    if depth > _MAX_DEPTH:
        raise ValueError("a formula nests too deep")
    if len(element) != _PARTS.get(element.tag, len(element)):
        raise ValueError(f"a formula lacks a part of its {element.tag}")
    tag = element.tag if _ELEMENTS.fullmatch(element.tag) else "mrow"
    more = "".join(
        f' {name}="{html.escape(value)}"'
        for name, value in element.attrib.items()
        if _ATTRIBUTES.fullmatch(name) and _VALUE.fullmatch(value)
    )
    inner = html.escape(html.unescape(element.text or "")) + "".join(
        _element(part, depth + 1) for part in element
    )
    return f"<{tag}{more}>{inner}</{tag}>"
