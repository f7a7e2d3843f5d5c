from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from run_samples import judged, submission, texts, write_run
from support.runs import Fingerprint, ResultLog, failure_row, result_row

from ioi_eval.benchmarks import DumpOptions
from ioi_eval.errors import JudgeFailure
from ioi_eval.model.text import visible
from ioi_eval.reports import make_run_document, render_markdown, summarize_run
from ioi_eval.reports.document import (
    NOTHING,
    CodeLines,
    Document,
    Markdown,
    Section,
    draw_text_bar,
    escape_cell,
    escape_inline,
    format_code_block,
    format_number,
    format_share,
    format_table,
)
from ioi_eval.reports.page import OPTION_DEFAULTS

HOSTILE = [
    "a | b",
    "`code` ``more``",
    "</td></table><script>alert(1)</script>",
    "[link](https://example.org) ![image](x.png)",
    "https://example.org and www.example.org",
    "*bold* __bold__ _it_ ~~gone~~ $x$",
    "# heading\n\n- item\n| table |\n|---|",
    "\x1b[31mred\x1b[0m \x07 \u202ebackwards\u2028line",
    "&lt;b&gt; &#60;",
    "back\\slash \\| \\",
    "\ud800 half",
]


def parse(page: str) -> list[Token]:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(page)


def text_of(token: Token) -> str:
    """Return the text of a Markdown fragment. Fail if it contains anything else."""
    for child in token.children or ():
        assert child.type == "text" or child.type == "text_special", child
    return "".join(child.content for child in token.children or ())


def page(
    folder: Path, rows: list[Any], failures: Sequence[Any] = (), settings: dict[str, Any] | None = None
) -> str:
    return render_markdown(
        make_run_document(summarize_run(write_run(folder, rows, failures, settings=settings)))
    )


def cells(page: str) -> list[list[list[str]]]:
    """Return tables, rows and cells. Each row must have as many cells as the heading."""
    tables: list[list[list[str]]] = []
    for previous, token in itertools.pairwise([Token("", "", 0), *parse(page)]):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type == "inline" and previous.type in ("th_open", "td_open"):
            tables[-1][-1].append(text_of(token))
    return tables


# --- external text -----------------------------------------------------------------------------------


@pytest.mark.parametrize("hostile", HOSTILE)
def test_text_from_rows_is_escaped(hostile: str) -> None:
    assert cells(format_table(["Head", "Other"], [[hostile, "x"]], "ll"))[0][1] == [visible(hostile), "x"]
    (heading,) = [token for token in parse(f"## {escape_inline(hostile)}") if token.type == "inline"]
    assert text_of(heading) == visible(hostile)


@given(st.lists(st.tuples(texts, texts), max_size=3))
def test_markdown_table_cell_keeps_any_text(rows: list[tuple[str, str]]) -> None:
    page_cells = cells(format_table(["A", "B"], rows, "lr"))[0]
    assert page_cells == [["A", "B"], *[[visible(a), visible(b)] for a, b in rows]]


@given(texts)
def test_visible_text_is_one_printable_line(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable() and shown == visible(shown)


def test_bare_addresses_are_escaped_in_markdown() -> None:
    """Some readers turn bare addresses into links, which a backslash prevents."""
    assert escape_inline("see https://a.b or www.a.b") == "see https\\://a.b or www\\.a.b"
    assert escape_inline("snake_case 1-a sum.cpp: a:b") == "snake_case 1-a sum.cpp: a:b"


def test_cells_and_headings_are_cut_at_300_characters() -> None:
    assert len(escape_cell("x" * 5000)) == 300
    rendered = render_markdown(Document(title="x" * 5000, sections=[Section(title="x" * 5000)]))
    assert {len(line.lstrip("# ")) for line in rendered.splitlines() if line} == {300}


def test_paragraphs_notes_and_items_of_a_report_are_whole_sentences() -> None:
    long_sentence = f"It says {'so much ' * 100}and ends."
    section = Section(
        title="s",
        lead=long_sentence,
        text=[long_sentence],
        items=[long_sentence],
        notes=[long_sentence],
        lines=[CodeLines(lines=["x"], sentence=long_sentence)],
    )
    rendered = render_markdown(
        Document(title="t", lead=long_sentence, text=[long_sentence, long_sentence], sections=[section])
    )
    assert rendered.count(long_sentence) == 8


@given(st.text(st.sampled_from("`\n a~")))
def test_code_block_contains_any_text(text: str) -> None:
    (fence,) = parse(format_code_block(text))
    assert fence.type == "fence" and fence.content == "\n".join(map(visible, text.split("\n"))) + "\n"


def test_markdown_is_not_escaped_twice() -> None:
    assert escape_inline(Markdown("**x**")) == "**x**"


@pytest.mark.parametrize(
    ("formatted", "shown"),
    [
        (format_number(100.0), "100"),
        (format_number(30.5), "30.5"),
        (format_number(100 / 3), "33.33"),
        (format_number(0.0), "0"),
        (format_number(None), NOTHING),
        (format_share(1, 3), "33.3 %"),
        (format_share(1, 0), NOTHING),
        (draw_text_bar(1, 4, 8), "██░░░░░░"),
        (draw_text_bar(0, 0, 4), "░░░░"),
        (draw_text_bar(1e9, 1, 4), "████"),
    ],
)
def test_number_is_formatted_for_reports(formatted: str, shown: str) -> None:
    assert formatted == shown


def test_markdown_table_source_is_aligned() -> None:
    assert format_table(["Name", "N"], [["a", 1], ["longer", 100]], "lr").splitlines() == [
        "| Name   |   N |",
        "| ------ | --: |",
        "| a      |   1 |",
        "| longer | 100 |",
    ]


# --- the page ----------------------------------------------------------------------------------------


def test_report_settings_list_changed_options_first(tmp_path: Path) -> None:
    with ResultLog.open(tmp_path / "run", Fingerprint(dump="d", options=reading_of(extract="first"))) as run:
        run.start_run()
    unchanged, changed = cells(render_markdown(make_run_document(summarize_run(tmp_path / "run"))))[::-1][:2]
    assert ["Option extract", "first"] in changed and ["always_extract", "false"] in unchanged
    assert all(not name.startswith("Option ") or name == "Option extract" for name, _ in changed)


def test_report_has_the_defaults_of_dump_options() -> None:
    options = reading_of() | {"default_language": "c++"}
    assert {name for name, value in options.items() if value} == OPTION_DEFAULTS.keys()
    assert {name: options[name] for name in OPTION_DEFAULTS} == OPTION_DEFAULTS


def reading_of(**options: Any) -> dict[str, Any]:
    fields_found = msgspec.to_builtins(DumpOptions(**options))
    return fields_found | fields_found.pop("repairs")


@given(st.lists(judged(), max_size=3, unique_by=lambda case: case[0].key), st.lists(texts, max_size=2))
@settings(max_examples=settings().max_examples // 4)
def test_hostile_rows_do_not_break_page(
    tmp_path_factory: pytest.TempPathFactory, cases: list[Any], reasons: list[str]
) -> None:
    failures = [
        failure_row(submission(f"f{n}", row={"model": reason}), JudgeFailure(reason, remedy=reason))
        for n, reason in enumerate(reasons + HOSTILE)
    ]
    rows = [result_row(*case) for case in cases]
    markdown_text = page(
        tmp_path_factory.mktemp("page") / "run", rows, failures, {"engine": HOSTILE[2], "dumps": HOSTILE}
    )
    for table_cells in cells(markdown_text):
        assert {len(row) for row in table_cells} == {len(table_cells[0])}
    allowed = {
        "heading",
        "paragraph",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "bullet_list",
        "list_item",
    }
    for token in parse(markdown_text):
        assert token.type.removesuffix("_open").removesuffix("_close") in {*allowed, "inline", "fence"}
        for child in token.children or ():
            assert child.type in {
                "text",
                "text_special",
                "softbreak",
                "code_inline",
                "strong_open",
                "strong_close",
            }
