r"""A problem's statement as HTML: Markdown, with formulas of TeX as MathML.

Statements are untrusted text. Their HTML is escaped, pictures are not loaded, links only lead to the web, and
formulas contain only elements and attributes for drawing. A formula that cannot be converted, or that is long
or deep, is shown as TeX, so that the time for a statement is bounded.
"""

from __future__ import annotations

import html
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from ioi_eval.model.text import remove_invisible
from ioi_eval.model.values import Value
from ioi_eval.store.rows import shorten

if TYPE_CHECKING:
    from collections.abc import Sequence
    from xml.etree.ElementTree import Element

_LATEX = re.compile(r"\\(documentclass|section\b|begin\{(problem|document|statement)\}|InputFile)")
_WEB = re.compile(r"https?://", re.I)
_MAX_ADDRESS = 300  # maximum characters of a picture's address
_FORMULA = re.compile(
    r"""(?P<mark>\${6}|\${2,3})(?P<wide>(?:\\.|[^$\\]){1,1000}?)(?P=mark)
    | \$(?![\s$])(?P<plain>(?:\\.|[^$\\]){1,1000}?)(?<!\s)\$(?!\d)
    | \\\((?P<round>.{1,1000}?)\\\)
    | \\\[(?P<square>.{1,1000}?)\\\]""",
    re.S | re.X,
)
_BLOCKS = ("$$", "$$$$$$")  # delimiters of displayed formulas; Codeforces uses $$$ for inline formulas
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
    """A statement as a part of a page."""

    text: str  # text of the statement in Markdown, or in LaTeX, which is shown as it is

    def html(self) -> Any:
        from markupsafe import Markup

        source = remove_invisible(self.text.replace("\r\n", "\n"), "\n\t")
        # True if the text is a LaTeX document instead of Markdown.
        is_latex = _LATEX.search(self.text) is not None
        statement_html = f"<pre>{html.escape(source)}</pre>" if is_latex else _render_markdown(source)
        opening_tag = '<div class="statement" tabindex="0" role="group" aria-label="Statement">'
        return Markup(f"{opening_tag}\n{statement_html}</div>\n")


def _render_markdown(text: str) -> str:
    try:
        parser = _make_parser()
    except ModuleNotFoundError:  # the package is installed without its optional dependencies
        return f"<pre>{html.escape(text)}</pre>"
    tokens = parser.parse(text)
    _limit_headings_and_links(tokens)
    return str(parser.renderer.render(tokens, parser.options, {}))


@cache
def _make_parser() -> Any:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.inline.ruler.before("escape", "formula", _parse_formula)
    parser.add_render_rule("formula", _render_formula)
    parser.add_render_rule("image", _render_picture_name)
    return parser


def _limit_headings_and_links(markdown_tokens: Sequence[Any]) -> None:
    """Change tokens in place: headings continue the page's levels, and links lead to the web or nowhere.

    Tables get the class `plain`, so that the page's scripts leave them alone.
    """
    section_level = 2  # level of the heading of the section around the statement
    used_tags = sorted({token.tag for token in markdown_tokens if token.type == "heading_open"})
    open_tags = list[str]()
    for token in markdown_tokens:
        if token.type == "heading_open":
            section_level = min(6, section_level + 1, 3 + used_tags.index(token.tag))
            open_tags.append(f"h{section_level}")
            token.tag = open_tags[-1]
        elif token.type == "heading_close":
            token.tag = open_tags.pop()
        elif token.type == "table_open":
            token.attrs = {"class": "plain"}
        for child in token.children or ():
            if child.type == "link_open":
                address = str(child.attrs.get("href", ""))
                child.attrs = {"href": address, "rel": "noreferrer"} if _WEB.match(address) else {}


def _render_picture_name(_renderer: Any, tokens: Sequence[Any], index: int, _options: Any, _env: Any) -> str:
    """Return a picture's name as HTML. The picture itself is not loaded."""
    token = tokens[index]
    address = shorten(str(token.attrs.get("src", "")), _MAX_ADDRESS)
    name = html.escape(": ".join(filter(None, (token.content, address))))
    return f'<span class="quiet">[picture {name}]</span>'


# --- formulas ----------------------------------------------------------------------------------------


def _parse_formula(state: Any, silent: bool) -> bool:
    """Return True if a formula starts at the current position, and parse it. A rule of markdown-it.

    If `silent` is true, the position moves and no token is created.
    """
    match = _FORMULA.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        token = state.push("formula", "math", 0)
        token.markup, token.content = match.group(), next(filter(None, match.group(*_BODIES)))
        token.block = match["mark"] in _BLOCKS or match["square"] is not None
    state.pos = match.end()
    return True


_BODIES = ("wide", "plain", "round", "square")


def _render_formula(_renderer: Any, tokens: Sequence[Any], index: int, _options: Any, _env: Any) -> str:
    token = tokens[index]
    formula = render_mathml(token.content, block=token.block)
    return f'<code class="tex">{html.escape(token.markup)}</code>' if formula is None else formula


@lru_cache(1 << 12)
def render_mathml(tex: str, *, block: bool = False) -> str | None:
    """Return a formula as MathML, or None if it cannot be converted or defines commands."""
    try:
        from latex2mathml.converter import Converter
    except ModuleNotFoundError:
        return None
    if _DEFINES.search(tex):
        return None
    try:
        root_element = Converter(display="block" if block else "inline").convert_to_element(tex)
        return _render_formula_element(root_element, 0)
    except _list_converter_errors():
        return None


@cache
def _list_converter_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that the converter raises for a formula that it cannot convert."""
    from latex2mathml import exceptions

    exception_types = [kind for kind in vars(exceptions).values() if isinstance(kind, type)]
    return (*exception_types, StopIteration, LookupError, ValueError, TypeError, AttributeError, RuntimeError)


def _render_formula_element(element: Element, depth: int) -> str:
    """Return an element as a string. The converter's own string would contain a formula's HTML unescaped."""
    if depth > _MAX_DEPTH:
        raise ValueError("the formula is nested too deeply")
    if len(element) != _PARTS.get(element.tag, len(element)):
        raise ValueError(f"the formula contains a {element.tag} with the wrong number of operands")
    tag = element.tag if _ELEMENTS.fullmatch(element.tag) else "mrow"
    attribute_text = "".join(
        f' {name}="{html.escape(value)}"'
        for name, value in element.attrib.items()
        if _ATTRIBUTES.fullmatch(name) and _VALUE.fullmatch(value)
    )
    inner_html = html.escape(html.unescape(element.text or "")) + "".join(
        _render_formula_element(child, depth + 1) for child in element
    )
    return f"<{tag}{attribute_text}>{inner_html}</{tag}>"
