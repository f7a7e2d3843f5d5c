"""report.html escapes all external text."""

from __future__ import annotations

import base64
import hashlib
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from run_samples import SUM, judged, result, submission, texts, write_run
from support.runs import as_json_value, failure_row, read_result, result_row

from ioi_eval.errors import JudgeFailure
from ioi_eval.model.text import visible
from ioi_eval.models import Solution, Verdict
from ioi_eval.reports import make_run_document, render_html, summarize_run, write_reports
from ioi_eval.reports.document import CodeLines, Document, Section, ShareBar, TableBlock, choose_cell_style
from ioi_eval.reports.plots import Axis, Series, draw_curves, draw_stacked_column_chart, make_figure
from ioi_eval.reports.records import VALIDATION, write_json
from ioi_eval.reports.validation import make_validation
from ioi_eval.rules.expectations import KeyedExpectation, list_expectations

HOSTILE = [
    "</td></table><script>alert(1)</script>",
    '" onmouseover="alert(1)" x=\'',
    "<img src=x onerror=alert(1)>",
    "</style><style>@import url(https://example.org)",
    "</title><base href='https://example.org'>",
    "{{ 7 * 7 }}{% raw %}",
    "\x1b[31mred\x1b[0m \x07\x1b]0;title\x07",
    "\u202ebackwards\u2028line",
    "&lt;b&gt; &#60;",
    "<!-- ]]>",
    "\ud800 half",
]
TAGS = {"html", "head", "meta", "title", "style", "body", "main", "header", "nav", "a", "h1", "h2", "h3", "p"}
TAGS |= {
    "strong",
    "span",
    "div",
    "section",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "svg",
    "rect",
    "ul",
    "li",
}
TAGS |= {"pre", "details", "summary", "script", "form", "input", "button"}
TAGS |= {"figure", "figcaption", "line", "path", "circle", "text", "g"}
ATTRIBUTES = {
    "data-of",
    "data-run",
    "data-kind",
    "aria-current",
    "data-whole",
    "lang",
    "charset",
    "http-equiv",
    "content",
    "name",
    "id",
    "class",
    "href",
    "tabindex",
}
ATTRIBUTES |= {
    "viewbox",
    "preserveaspectratio",
    "aria-hidden",
    "width",
    "height",
    "scope",
    "aria-label",
    "role",
}
ATTRIBUTES |= {"data-name", "data-numbers", "data-page", "type", "placeholder", "title", "transform"}
ATTRIBUTES |= {"x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "d", "text-anchor"}
PAGE = re.compile(
    r"#(overview|problems|failures|slices|settings)|report/(submissions|(submission|problem|model)-[0-9a-f]{16})\.html(#m-[0-9a-f]{16})?",
    re.ASCII,
)


class Reader(HTMLParser):
    """Collects elements and text of a page. Fails if a tag is closed that is not open."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.text: list[str] = []
        self.rows: list[int] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "style")]
        if tag == "tr":
            self.rows.append(0)
        if tag in ("td", "th"):
            self.rows[-1] += 1
        if tag not in ("meta", "input"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self._open):
            self.text.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def close(self) -> None:
        super().close()
        assert self._open == []


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.tags <= TAGS
    assert reader.attributes <= ATTRIBUTES
    assert [link for link in reader.links if not PAGE.fullmatch(link)] == []
    return reader


def document_with(content: str) -> Document:
    """Return a document with the text in every possible place."""
    drawing = draw_stacked_column_chart(content, [(content, [1])], ["v-ac"], [(content, "v-ac")])
    axis = Axis(title=content, max_value=2)
    drawing += draw_curves(content, [Series(name=content, points=[(0, 1), (1, 2)])], axis, axis, (1, content))
    section = Section(
        title=content,
        lead=content,
        text=[content],
        figures=[make_figure(content, drawing, [content], [[content]])],
        table=TableBlock(
            heads=[content, "n"], rows=[[content, content], [content, ShareBar(part=1, whole=2)]], align="lr"
        ),
        notes=[content],
        items=[content],
        lines=[CodeLines(sentence=content, lines=[content, content])],
        long=True,
    )
    return Document(title=content, lead=content, text=[content], sections=[section, section])


@pytest.mark.parametrize("hostile", HOSTILE)
def test_text_from_rows_is_escaped(hostile: str) -> None:
    page = read(render_html(document_with(hostile)))
    shown = [piece for piece in page.text if visible(hostile) in piece]
    assert len(shown) >= 20, "the text is missing in a part of the page"
    assert all(char.isprintable() or char == "\n" for char in "".join(page.text))
    assert page.rows == [2] * 6


def test_long_heading_of_number_column_keeps_numeric_class() -> None:
    headings, rows = ["a", "b", "a long name of a model"], [["x", "1", "2"]]
    page = render_html(
        Document(
            title="t", sections=[Section(title="s", table=TableBlock(heads=headings, rows=rows, align="lrr"))]
        )
    )
    assert re.findall(r'<th scope="col" class="([^"]*)"', page) == ["", "number", "number free"]


@given(texts)
@settings(max_examples=30)
def test_arbitrary_text_is_escaped_in_html(text: str) -> None:
    assert read(render_html(document_with(text))).rows == [2] * 6


def test_page_policy_allows_only_own_style_and_script() -> None:
    page = render_html(document_with("x"))
    [policy] = re.findall(r'Policy" content="([^"]*)"', page)
    [script], [style] = (re.findall(rf"<{name}>(.*?)</{name}>", page, re.S) for name in ("script", "style"))
    hashes = [
        base64.b64encode(hashlib.sha256(content.encode()).digest()).decode() for content in (style, script)
    ]
    assert unescape(policy) == (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )
    assert not any(
        forbidden in page for forbidden in ("@import", "url(", "http:", "https:", " src=", "eval(")
    )


def test_css_class_of_a_cell_comes_from_a_fixed_list() -> None:
    assert choose_cell_style("AC", "l") == "status ac"
    assert choose_cell_style("600 gold", "r") == "number word gold"
    assert choose_cell_style("yes", "l") == "word good"
    assert choose_cell_style("NO", "l") == "word bad"
    assert choose_cell_style('ac" onclick="x', "r") == "number"
    assert choose_cell_style("x" * 99, "l") == "text"


def test_meter_is_drawn_to_scale() -> None:
    table = TableBlock(
        heads=["a"], rows=[[ShareBar(part=1, whole=3)], [ShareBar(part=0, whole=0)]], align="l"
    )
    page = render_html(Document(title="t", sections=[Section(title="s", table=table)]))
    assert 'class="full" width="33.33"' in page and "33.3 %" in page
    assert 'class="full" width="0.00"' in page


@given(st.lists(judged(), max_size=3, unique_by=lambda case: case[0].key))
@settings(max_examples=settings().max_examples // 4)
def test_hostile_rows_do_not_break_page(tmp_path_factory: pytest.TempPathFactory, cases: list[Any]) -> None:
    failures = [
        failure_row(
            submission(f"f{n}", row={"model": hostile_text}),
            JudgeFailure(hostile_text, remedy=hostile_text, phase=hostile_text),
        )
        for n, hostile_text in enumerate(HOSTILE)
    ]
    rows = [result_row(*case) for case in cases]
    run_settings = {"engine": HOSTILE[0], "dumps": HOSTILE}
    folder = write_run(tmp_path_factory.mktemp("html") / "run", rows, failures, settings=run_settings)
    page = read(render_html(make_run_document(summarize_run(folder))))
    assert any(visible(HOSTILE[0]) in piece for piece in page.text)


def test_hostile_feedback_and_names_are_escaped_in_all_report_files(tmp_path: Path) -> None:
    """A validation shows feedback. A run shows models, problems, difficulties, tags and reasons."""
    for n, hostile in enumerate(HOSTILE):
        of = submission(
            "k", target_subtask=hostile, row={"model": hostile, "difficulty": hostile, "tags": [hostile]}
        )
        judged_as = result(
            of, {"1-a": Verdict.WA}, feedback=hostile, compiler=hostile, compile_output=hostile
        )
        failure = failure_row(submission("f", row={"model": hostile}), JudgeFailure(hostile))
        row = result_row(of, SUM, judged_as)
        folder = write_run(tmp_path / str(n), [row], [failure], settings={"command": hostile})
        expectations = list_expectations(SUM, Solution(name="s", expected="correct"))
        case = KeyedExpectation(
            key="k", problem="sum", solution=as_json_value(hostile), expected="correct", words=expectations
        )
        write_json(folder / VALIDATION, make_validation([case], {"sum": SUM}, {"k": read_result(row)}, {}))
        write_reports(folder)
        page = read((folder / "report.html").read_text())
        assert sum(visible(as_json_value(hostile)) in piece for piece in page.text) >= 12
        assert any(f"1-a WA 0: {visible(as_json_value(hostile))}" in piece for piece in page.text), (
            "the page shows the feedback"
        )
        markdown, data = (folder / "report.md").read_text(), (folder / "summary.json").read_text()
        tokens = [
            child for token in MarkdownIt("commonmark").parse(markdown) for child in token.children or ()
        ]
        assert {token.type for token in tokens} <= {
            "text",
            "text_special",
            "strong_open",
            "strong_close",
            "softbreak",
        }
        assert all(char.isprintable() or char == "\n" for char in markdown + "".join(page.text))
        assert not any(char < " " and char != "\n" for char in data), "JSON escapes control characters"
