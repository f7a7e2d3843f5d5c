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
from run_samples import SUM, judged, problem, result, submission, texts, write_run
from support.runs import Fingerprint, ResultLog, failure_row, result_row

from ioi_eval.benchmarks import DumpOptions
from ioi_eval.errors import JudgeFailure
from ioi_eval.models import Verdict
from ioi_eval.reports import document, markdown, summary
from ioi_eval.reports.document import (
    NOTHING,
    CodeLines,
    Document,
    Markdown,
    Section,
    bar,
    block,
    cell,
    inline,
    number,
    share,
    table,
    visible,
)
from ioi_eval.reports.headline import MINUS
from ioi_eval.reports.page import USUAL

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
    """The text that a piece shows; fails where it is more than text."""
    for child in token.children or ():
        assert child.type == "text" or child.type == "text_special", child
    return "".join(child.content for child in token.children or ())


def page(
    folder: Path, rows: list[Any], failures: Sequence[Any] = (), settings: dict[str, Any] | None = None
) -> str:
    return markdown(document(summary(write_run(folder, rows, failures, settings=settings))))


def cells(page: str) -> list[list[list[str]]]:
    """Tables, rows, cells. Every row of a table is as long as its head, or something broke out."""
    tables: list[list[list[str]]] = []
    for before, token in itertools.pairwise([Token("", "", 0), *parse(page)]):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type == "inline" and before.type in ("th_open", "td_open"):
            tables[-1][-1].append(text_of(token))
    return tables


# --- text of others ----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", HOSTILE)
def test_text_is_shown_and_not_obeyed(text: str) -> None:
    assert cells(table(["Head", "Other"], [[text, "x"]], "ll"))[0][1] == [visible(text), "x"]
    (heading,) = [token for token in parse(f"## {inline(text)}") if token.type == "inline"]
    assert text_of(heading) == visible(text)


@given(st.lists(st.tuples(texts, texts), max_size=3))
def test_any_text_stays_in_its_cell(rows: list[tuple[str, str]]) -> None:
    found = cells(table(["A", "B"], rows, "lr"))[0]
    assert found == [["A", "B"], *[[visible(a), visible(b)] for a, b in rows]]


@given(texts)
def test_visible_text_is_one_line_that_a_terminal_prints(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable() and shown == visible(shown)


def test_links_are_not_made() -> None:
    """Some readers make links of bare addresses; a backslash stops them."""
    assert inline("see https://a.b or www.a.b") == "see https\\://a.b or www\\.a.b"
    assert inline("snake_case 1-a sum.cpp: a:b") == "snake_case 1-a sum.cpp: a:b"


def test_cells_and_headings_are_cut_at_300_characters() -> None:
    assert len(cell("x" * 5000)) == 300
    found = markdown(Document(title="x" * 5000, sections=[Section(title="x" * 5000)]))
    assert {len(line.lstrip("# ")) for line in found.splitlines() if line} == {300}


def test_paragraphs_notes_and_items_of_a_report_are_whole_sentences() -> None:
    said = f"It says {'so much ' * 100}and ends."
    section = Section(
        title="s",
        lead=said,
        text=[said],
        items=[said],
        notes=[said],
        lines=[CodeLines(lines=["x"], sentence=said)],
    )
    found = markdown(Document(title="t", lead=said, text=[said, said], sections=[section]))
    assert found.count(said) == 8


@given(st.text(st.sampled_from("`\n a~")))
def test_a_command_stays_in_its_block(text: str) -> None:
    (fence,) = parse(block(text))
    assert fence.type == "fence" and fence.content == "\n".join(map(visible, text.split("\n"))) + "\n"


def test_markdown_is_not_escaped_twice() -> None:
    assert inline(Markdown("**x**")) == "**x**"


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (number(100.0), "100"),
        (number(30.5), "30.5"),
        (number(100 / 3), "33.33"),
        (number(0.0), "0"),
        (number(None), NOTHING),
        (share(1, 3), "33.3 %"),
        (share(1, 0), NOTHING),
        (bar(1, 4, 8), "██░░░░░░"),
        (bar(0, 0, 4), "░░░░"),
        (bar(1e9, 1, 4), "████"),
    ],
)
def test_numbers(made: str, shown: str) -> None:
    assert made == shown


def test_a_table_can_be_read_in_its_source() -> None:
    assert table(["Name", "N"], [["a", 1], ["longer", 100]], "lr").splitlines() == [
        "| Name   |   N |",
        "| ------ | --: |",
        "| a      |   1 |",
        "| longer | 100 |",
    ]


# --- the page ----------------------------------------------------------------------------------------


def page_of_two_models(folder: Path) -> str:
    rows, plain = [], problem("plain", subtasks=False)
    for n, model in enumerate(["m1", "m2"]):
        of = submission(f"s{n}", row={"model": model})
        rows.append(result_row(of, SUM, result(of, {"3-a": Verdict.TLE} if n else {}, compiler="g++ 12")))
        of = submission(f"p{n}", problem_id="plain", row={"model": model})
        rows.append(result_row(of, plain, result(of, {"3-a": Verdict.WA}, problem=plain)))
    failures = [failure_row(submission("f", row={"model": "m2"}), JudgeFailure("it broke", remedy="Mend it"))]
    return page(folder, rows, failures, {"command": "ioi-eval score x", "engine": "embedded"})


def test_the_page_of_two_models(tmp_path: Path) -> None:
    text = page_of_two_models(tmp_path / "run")
    leaderboard, passes, budgets, by_problem, causes, verdicts, *_ = tables = cells(text)
    heads = ["Model", "Rank", "pass@1", "Minus the leader", "Points", "Solved", "No program"]
    half, none = "██████░░░░░░ 50.0 % (0.0 to 100.0)", "░░░░░░░░░░░░ 0.0 % (0.0 to 0.0)"
    assert leaderboard == [
        [*heads, "Submissions", "Unscored"],
        ["m1", "1", half, NOTHING, "100 of 100", "1 of 2", "0.0 %", "2", "0"],
        ["m2", "1", none, f"{MINUS}50.0", "50.5 of 100", "0 of 2", "0.0 %", "2", "1 (33.3 %)"],
    ]
    assert budgets == [
        ["Model", "All", "50", "One", "of"],
        ["m1", "100", "100", "100", "100"],
        ["m2", "50.5", "50.5", "50.5", "100"],
    ]
    assert passes == [
        ["Model", "pass@1", "Problems", "Unscored"],
        ["m1", "50.0 % (0.0 to 100.0)", "2", "0"],
        ["m2", "0.0 % (0.0 to 0.0)", "2", "1"],
    ]
    assert "pass@5: 2 problems or subtasks have fewer than 5 scored submissions." in text
    assert by_problem == [
        ["Problem", "Mean", "m1", "m2"],
        ["plain", "0.0", "0", "0"],
        ["sum", "50.0", "100", "0"],
    ]
    assert causes == [
        ["Verdict", "TestReport", "Submissions", "Share", "For example"],
        ["WA", "", "2", "50.0 %", "p1, p0"],
        ["TLE", "", "1", "25.0 %", "s1"],
    ]
    assert verdicts == [
        ["Model", "AC", "TLE", "WA", "Unscored"],
        ["m1", "1", "0", "1", "0"],
        ["m2", "0", "1", "1", "1"],
        ["All", "1", "1", "2", "1"],
    ]
    assert ["", "03-all", "0", "49.5", "TLE", NOTHING] in tables[9]
    assert ["1", "sum", NOTHING, "it broke", "Mend it", "f"] in tables[10]
    assert ["Engine", "embedded"] in tables[11] and ["Compiled with", "g++ 12 (2 submissions)"] in tables[11]
    assert "**1 submission could not be judged.**" in text
    assert "```sh\nioi-eval score x\n```" in text


def test_the_page_of_one_model_without_a_name(tmp_path: Path) -> None:
    of = submission("a")
    text = page(tmp_path / "run", [result_row(of, SUM, result(of))])
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == [
        "# Scores of 1 submission",
        "## Leaderboard",
        "## pass@k",
        "## Points by the number of submissions",
        "## Verdicts",
        "## Slices",
        "## Problems",
        "### Best of each subtask",
        "## Copy for a paper",
        "## Settings",
        "## How to get the same again",
    ]
    assert "could not be judged" not in text and "\n\n\n" not in text


def test_the_page_of_nothing(tmp_path: Path) -> None:
    assert page(tmp_path / "run", []).startswith("# Scores of 0 submissions\n")


def test_what_the_kernel_refused_is_said(tmp_path: Path) -> None:
    of = submission("a")
    confinement = {
        "v": 1,
        "landlock": 0,
        "seccomp": True,
        "namespaces": [],
        "missing": ["Landlock: not there"],
        "interpreter": "forked",
    }
    text = page(tmp_path / "run", [result_row(of, SUM, result(of, confinement=confinement))])
    assert "- Missing confinement: Landlock: not there\n\n## " in text
    assert ["Confinement", "no Landlock, seccomp, no namespaces, Python forked"] in cells(text)[-1]


def test_settings_show_what_differs_first(tmp_path: Path) -> None:
    with ResultLog.open(tmp_path / "run", Fingerprint(dump="d", options=reading_of(extract="first"))) as run:
        run.begin()
    usual, found = cells(markdown(document(summary(tmp_path / "run"))))[::-1][:2]
    assert ["Option extract", "first"] in found and ["always_extract", "false"] in usual
    assert all(not name.startswith("Option ") or name == "Option extract" for name, _ in found)


def test_every_default_of_a_dump_is_known_as_one() -> None:
    options = reading_of() | {"default_language": "c++"}
    assert {name for name, value in options.items() if value} == USUAL.keys()
    assert {name: options[name] for name in USUAL} == USUAL


def reading_of(**options: Any) -> dict[str, Any]:
    found = msgspec.to_builtins(DumpOptions(**options))
    return found | found.pop("repairs")


@given(st.lists(judged(), max_size=3, unique_by=lambda case: case[0].key), st.lists(texts, max_size=2))
@settings(max_examples=settings().max_examples // 4)
def test_nothing_of_a_submission_breaks_the_page(
    tmp_path_factory: pytest.TempPathFactory, cases: list[Any], reasons: list[str]
) -> None:
    failures = [
        failure_row(submission(f"f{n}", row={"model": why}), JudgeFailure(why, remedy=why))
        for n, why in enumerate(reasons + HOSTILE)
    ]
    rows = [result_row(*case) for case in cases]
    text = page(
        tmp_path_factory.mktemp("page") / "run", rows, failures, {"engine": HOSTILE[2], "dumps": HOSTILE}
    )
    for found in cells(text):
        assert {len(row) for row in found} == {len(found[0])}
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
    for token in parse(text):
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


def test_without_a_medal_only_the_reason_is_shown(tmp_path: Path) -> None:
    rows = []
    for model in ("m1", "m2"):
        of = submission(model, row={"year": 2024, "model": model})
        rows.append(result_row(of, SUM, result(of)))
    text = page(tmp_path / "run", rows, settings={"problems": "ioi"})
    shown = "## Medals\n\n2024: the contest had 6 problems, the run has 1 of that year.\n\n## "
    assert shown in text
