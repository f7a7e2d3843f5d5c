"""Statements as HTML: Markdown, formulas, and hostile statements."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser

import pytest

from ioi_eval.reports.statements import StatementHtml, render_mathml


class Elements(HTMLParser):
    """Collects the elements that a browser would create."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names, self.attributes, self.depth, self.deepest = set[str](), set[tuple[str, str]](), 0, 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {(name, value or "") for name, value in attrs}
        self.depth += 1
        self.deepest = max(self.deepest, self.depth)

    def handle_endtag(self, tag: str) -> None:
        self.depth -= 1


def shown(statement: str) -> str:
    return str(StatementHtml(text=statement).html())


def test_statement_headings_are_lowered_to_h3() -> None:
    page = shown(
        "### Input\n\nTwo *numbers*.\n\n# Limits\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\n1 2\n```\n"
    )
    assert re.findall(r"<(h\d)>", page) == ["h3", "h3"]
    assert "<em>numbers</em>" in page and '<table class="plain">' in page
    assert "<pre><code>1 2\n</code></pre>" in page


@pytest.mark.parametrize(
    ("statement", "display"),
    [
        ("at most $a_i \\le 10^5$ each", "inline"),
        ("at most $$$a_i \\le 10^5$$$ each", "inline"),
        ("at most \\(a_i \\le 10^5\\) each", "inline"),
        ("$$\na_i \\le 10^5\n$$", "block"),
        ("\\[a_i \\le 10^5\\]", "block"),
    ],
)
def test_statement_formula_is_rendered_as_mathml(statement: str, display: str) -> None:
    page = shown(statement)
    assert f'<math display="{display}">' in page and "<msub><mi>a</mi><mi>i</mi></msub>" in page
    assert "≤" in page and "$" not in page and "\\" not in page


@pytest.mark.parametrize("statement", ["costs $5 and $6", "`$a$`", "a $ b $", "\\$a\\$", "$a", "\\(a"])
def test_dollar_amounts_are_not_formulas(statement: str) -> None:
    assert "<math" not in shown(statement)


@pytest.mark.parametrize("tex", [r"\frac{a", r"a^b^c", r"\left(a", r"\newcommand{\a}{b}\a", r"\def\a{b}\a"])
def test_unsupported_formula_is_shown_as_text(tex: str) -> None:
    assert f'<code class="tex">${tex}$</code>' in shown(f"take ${tex}$ here")


def test_latex_document_statement_is_shown_as_text() -> None:
    page = shown("\\begin{problem}{Sum}\n# no heading\n\\end{problem}")
    assert "<pre>\\begin{problem}{Sum}\n# no heading" in page


def test_formulas_are_text_without_latex2mathml(monkeypatch: pytest.MonkeyPatch) -> None:
    render_mathml.cache_clear()
    monkeypatch.setitem(sys.modules, "latex2mathml.converter", None)
    assert '<code class="tex">$a&lt;b$</code>' in shown("$a<b$")
    render_mathml.cache_clear()


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=http://example.org/x onerror=alert(1)>",
    "[a](javascript:alert(1)) [b](JAVASCRIPT:x) [c](data:text/html,x) [d](file:///etc/passwd) [e](//x.org)",
    '<javascript:alert(1)> <http://example.org/"onclick="x>',
    '![a](http://example.org/x.png "title") ![b](data:image/svg+xml,x)',
    '[a](http://example.org/"onmouseover="alert(1) "x" onclick="y")',
    "```<script>\n</code></pre><script>\n```",
    "$\\text{<script>alert(1)</script>}$ $\\text{&lt;script&gt;}$ $\\text{&amp;lt;script&amp;gt;}$",
    "$\\href{javascript:alert(1)}{x}$ $\\style{background:url(http://x.org)}{y}$ $\\class{a}{b}$",
    '$\\color{red" onclick="x}{a}$ $\\hspace{99999em}$ $\\mathbb{<b>}$',
    "[a]: javascript:x\n\n[a]",
    "\u202eevil\u0000\x1b[31m</div></section>",
    "\\begin{problem}</pre><script>",
]
WEB = {"script", "img", "iframe", "style", "link", "object", "form", "svg", "input", "b"}


@pytest.mark.parametrize("statement", HOSTILE)
def test_hostile_statement_is_neutralized(statement: str) -> None:
    page = shown(statement)
    elements = Elements(page)
    assert not elements.names & WEB and elements.depth == 0
    allowed = {"href", "rel", "class", "tabindex", "role", "aria-label", "display", "width", "mathvariant"}
    assert {name for name, _ in elements.attributes} <= allowed
    assert all(
        value.startswith("http://example.org/") for name, value in elements.attributes if name == "href"
    )
    assert "\u202e" not in page and "\x1b" not in page and "99999" not in re.sub(r"<code.*?</code>", "", page)


BOMBS = [
    "[" * 20_000,
    "![" * 10_000,
    "*a_ " * 5000,
    "> " * 10_000,
    "- " * 10_000,
    "`" * 9999 + "a" + "`" * 9998,
    "".join("`" * n + " " for n in range(190)),
    "\\(" * 10_000,
    "$$" * 10_000,
    "$a" * 10_000,
    "<" * 20_000,
    "|a" * 5000 + "\n" + "|-" * 5000,
    "$" + "{" * 499 + "}" * 499 + "$",
    "$" + "a^{" * 300 + "b" + "}" * 300 + "$",
    "$" + "\\sqrt" * 190 + "a$",
    "$" + "\\frac{a}{" * 90 + "b" + "}" * 90 + "$",
    "$" + "\\begin{matrix}" * 30 + "\\end{matrix}" * 30 + "$",
]


@pytest.mark.nightly(unless="^(?!1$)")  # open images take as long as open links, the row before
@pytest.mark.parametrize("statement", BOMBS, ids=range(len(BOMBS)))
def test_huge_or_deep_statement_is_bounded(statement: str) -> None:
    page = shown(statement)
    assert len(page) < 1_000_000 and Elements(page).deepest < 120
