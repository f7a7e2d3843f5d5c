"""The report's pages in a real browser: their functions, requests, axe violations, and saved files."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import golden_images
import msgspec
import pytest
from browsing import column, find, media, pages, violations
from markdown_it import MarkdownIt
from run_samples import problem, result, submission, write_run
from support.runs import result_row
from test_html_page import HOSTILE

from ioi_eval.model.text import visible
from ioi_eval.models import Verdict
from ioi_eval.reports import name_runs, summarize_run, write_comparison, write_reports
from ioi_eval.reports.document import (
    ALL,
    Document,
    Section,
    TableBlock,
    format_number,
    make_submission_page_filename,
    name_problem_page,
    render_html,
)
from ioi_eval.reports.headline import make_difference_sentence
from ioi_eval.reports.records import Measure
from ioi_eval.rules.paired import Ranking, compute_mean_difference
from ioi_eval.runs import report_sync

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("nothing_went_wrong")]

# Stores the content of a download in a variable of the page.
SAVING = """
    window.saved = null;
    URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text; }); return "#"; };
    HTMLAnchorElement.prototype.click = function () { window.savedAs = this.download; };
"""


def test_report_cell_links_to_problem_and_submission_pages(folder: Path, browser: Any) -> None:
    browser.get((folder / "report.html").as_uri() + "#problems")
    find(browser, "[data-kind=problems] td[class*=' g'] a").click()
    assert browser.title == "Problem sum" and "#m-" in browser.current_url
    find(browser, "td a[href^=submission-]").click()
    assert browser.title.startswith("Submission sum-0-0")
    assert find(browser, ".code .cp").value_of_css_property("color") != "rgb(0, 0, 0)"


def chosen(browser: Any, folder: Path, choices: str) -> None:
    browser.get("about:blank")
    browser.get((folder / "report.html").as_uri() + choices)


def visible_rows(browser: Any, selector: str) -> list[list[str]]:
    """Return the visible rows of a table, without hidden columns."""
    return browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map((row) =>"
        " [...row.cells].filter((cell) => !cell.hidden).map((cell) => cell.textContent))",
        selector,
    )


BOARD, PROBLEMS = "[data-kind=leaderboard] tbody tr", "[data-kind=problems] tr"


def test_report_tabs_show_one_part_and_set_url_fragment(folder: Path, browser: Any) -> None:
    browser.get((folder / "report.html").as_uri())
    visible_parts = (
        "return [...document.querySelectorAll('.part')].filter((node) => !node.hidden).map((node) => node.id)"
    )
    assert browser.execute_script(visible_parts) == ["overview"]
    for link in ("Problems", "Failures", "Settings"):
        browser.find_element("link text", link).click()
        assert browser.execute_script(visible_parts) == [link.lower()]
        assert browser.current_url.endswith(f"#{link.lower()}")
        assert find(browser, "nav.tabs [aria-current]").text == link
        assert browser.execute_script("return scrollY") == 0
    browser.back()
    assert browser.execute_script(visible_parts) == ["failures"]
    browser.find_element("link text", "Submissions").click()
    assert browser.title.startswith("All ")
    browser.find_element("link text", "Problems").click()
    assert browser.execute_script(visible_parts) == ["problems"]


def languages(folder: Path) -> Path:
    """Write a run of two models and two problems with programs in two languages.

    Python solves the problems that C++ does not solve.
    """
    rows = []
    for index, name in enumerate(("even", "odd")):
        of = msgspec.structs.replace(
            problem(name, subtasks=False), difficulty=name, tags=("both", name), year=2023 + index
        )
        for model in ("m0", "m1"):
            for language in ("c++", "python"):
                sent = submission(
                    f"{name}-{model}-{language}", problem_id=name, language=language, row={"model": model}
                )
                solved = (language == "python") if model == "m0" else name == "odd" and language == "python"
                rows.append(
                    result_row(sent, of, result(sent, {} if solved else {"1-a": Verdict.WA}, problem=of))
                )
    return write_run(folder, rows)


def test_report_filters_apply_to_whole_page_and_set_url(tmp_path: Path, browser: Any) -> None:
    folder = languages(tmp_path / "run")
    write_reports(folder)
    chosen(browser, folder, "")
    values = lambda: {row[0]: row[2] for row in visible_rows(browser, BOARD)}  # noqa: E731
    whole = values()
    assert whole["m0"].startswith("50.0 %") and whole["m1"].startswith("25.0 %")
    browser.execute_script(
        "const list = [...document.querySelectorAll('.filters select')].find((node) =>"
        " [...node.options].some((option) => option.value === 'python'));"
        "list.value = 'python'; list.dispatchEvent(new Event('change'));"
    )
    assert browser.current_url.endswith("#overview;language=python")
    assert values() == {"m0": "100.0 %", "m1": "50.0 % (0.0 to 100.0)"}
    browser.find_element("link text", "Problems").click()
    assert browser.current_url.endswith("#problems;language=python")
    assert visible_rows(browser, PROBLEMS) == [
        ["Problem", "Mean", "m0", "m1"],
        ["even", "50.0", "100", "0"],
        ["odd", "100.0", "100", "100"],
    ]
    chosen(browser, folder, "#problems;tag=even;model=m1")
    assert visible_rows(browser, PROBLEMS) == [["Problem", "Mean", "m1"], ["even", "0.0", "0"]]
    assert find(browser, ".filters summary").text == "Filter: 1 of 2 models, tag even, 1 problem"
    chosen(browser, folder, "#slices;from=2024")
    by_difficulty = "[data-kind='by difficulty'] tbody tr"
    assert visible_rows(browser, by_difficulty) == [["odd", "1", "50", "50"]]
    chosen(browser, folder, "#failures;model=m0")
    assert visible_rows(browser, "[data-kind=causes] tbody tr")[0][:4] == ["WA", "", "2", "50.0 %"]
    heading_suffix = (
        "return getComputedStyle(document.querySelector('#failures .whole h2'), '::after').content"
    )
    assert "the whole run" in browser.execute_script(heading_suffix)
    browser.find_element("link text", "Submissions").click()
    assert {row[1] for row in visible_rows(browser, "tbody tr")} == {"m0"}
    browser.find_element("link text", "Overview").click()
    assert [row[0] for row in visible_rows(browser, BOARD)] == ["m0"]


def test_clearing_the_report_filters_restores_the_page(tmp_path: Path, browser: Any) -> None:
    folder = languages(tmp_path / "run")
    write_reports(folder)
    chosen(browser, folder, "")
    tables = [BOARD, PROBLEMS, "[data-kind=causes] tr", "[data-kind='by tag'] tr"]
    filtered_rows = [visible_rows(browser, table) for table in tables]
    sentence = find(browser, ".answer").text
    chosen(
        browser, folder, "#overview;model=m1;tag=odd;difficulty=odd;language=python;from=2024;to=2024;with=m1"
    )
    assert [visible_rows(browser, table) for table in tables] != filtered_rows
    find(browser, ".filters summary").click()
    find(browser, ".filters button").click()
    assert [visible_rows(browser, table) for table in tables] == filtered_rows
    assert find(browser, ".answer").text == sentence and browser.current_url.endswith("#overview")


def test_model_filter_hides_curves_in_figures(folder: Path, browser: Any) -> None:
    browser.get((folder / "report.html").as_uri())
    data = json.loads(find(browser, "main").get_attribute("data-run"))
    find(browser, ".filters summary").click()
    find(browser, ".choice summary").click()
    find(browser, ".models input").click()
    hidden = browser.execute_script(
        "return [...new Set([...document.querySelectorAll('figure [data-of]')]"
        ".filter((node) => node.style.display === 'none').map((node) => node.dataset.of))]"
    )
    assert hidden == [data["models"][0]]
    assert [row[0] for row in visible_rows(browser, BOARD)] == data["models"][1:]


def test_interactive_board_compares_models_like_report_comparison(browser: Any, folder: Path) -> None:
    """With the same sentences and numbers."""
    dice = random.Random(7)
    cases = [[0.0] * 9, [0.25] * 6, [0.0004] * 20, [-1.0]]
    for number in (0, 2, 5, 6, 7, 11, 12, 13, 40, 33, 320):
        for size in (0.05, 0.3):
            cases.append(
                [round(max(-1, min(1, dice.gauss(size * dice.random(), size))), 4) for _ in range(number)]
            )
    browser.get((folder / "report.html").as_uri())
    sentences = browser.execute_script(
        "return arguments[0].map((values) => sentence('A', 'B', 'pass@1', difference(values)))", cases
    )
    expected = [
        make_difference_sentence("A", "B", Measure.PASS_AT_1, compute_mean_difference(values))
        for values in cases
    ]
    assert sentences == expected
    begins = {sentence_text.partition(":")[0].partition(" in ")[0] for sentence_text in sentences}
    assert {"The difference is real", "No difference is shown", "There is no difference"} <= begins


def test_interactive_board_ranks_models_like_report_tables(browser: Any, folder: Path) -> None:
    dice = random.Random(5)
    for problems in (5, 8, 30):
        models = [
            [None if dice.random() < 0.1 else min(1, dice.random() + model / 10) for _ in range(problems)]
            for model in range(8)
        ]
        browser.get((folder / "report.html").as_uri())
        assert browser.execute_script("return ranksOf(arguments[0])", models) == Ranking(models).ranks()


def compared_models(browser: Any, folder: Path, solved: list[str]) -> str:
    """Return the comparison of otter, which solves these problems, and heron, which solves none."""
    rows = []
    for of in map(problem, solved):
        for model, statuses in (("otter", {}), ("heron", {"1-a": Verdict.WA})):
            sent = submission(f"{of.id}-{model}", problem_id=of.id, row={"model": model})
            rows.append(result_row(sent, of, result(sent, statuses, problem=of)))
    write_reports(write_run(folder, rows))
    chosen(browser, folder, "#overview;with=heron")
    return find(browser, ".answer").text


@pytest.mark.parametrize(("problems", "message"), [(5, "No difference is"), (6, "The difference is real")])
def test_comparison_of_fewer_than_six_problems_shows_no_difference(
    tmp_path: Path, browser: Any, problems: int, message: str
) -> None:
    """Five differences of the same sign are not significant at 5 %."""
    answer = compared_models(browser, tmp_path / "run", [f"p{index}" for index in range(problems)])
    assert answer.startswith(message)
    assert ("fewer than 6 problems" in answer) == (problems == 5)
    assert "otter minus heron is +100.0 percentage points" in answer


@pytest.fixture(scope="module")
def named_alike(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a run of sixty problems and two models, with long names that differ in the middle."""
    rows = []
    names = [f"problem-{index:02}" for index in range(60)]
    for of in [msgspec.structs.replace(problem(name), difficulty=name[-1]) for name in names]:
        for model in range(2):
            for number in range(40 if model and of.id == "problem-00" else 1):
                name = f"an-organisation-with-a-long-name/model-{model}-instruct-of-november"
                sent = submission(f"{of.id}-{model}-{number}", problem_id=of.id, row={"model": name})
                rows.append(result_row(sent, of, result(sent, problem=of)))
    folder = tmp_path_factory.mktemp("alike") / "run"
    write_reports(write_run(folder, rows))
    return folder


def test_long_column_names_are_shortened_distinctly(named_alike: Path, browser: Any) -> None:
    """The full name is in the heading's title and in saved tables."""
    chosen(browser, named_alike, "#problems")
    heading_cells = browser.find_elements("css selector", "[data-kind=problems] th:nth-child(n+3)")
    assert [head.text for head in heading_cells] == ["…0-instruct-of-november", "…1-instruct-of-november"]
    names = [head.get_attribute("title") for head in heading_cells]
    table = list(csv.reader(io.StringIO(saved(browser, "#problems .save"))))
    assert table[0][2:] == names and len(names[0]) > 50 and len(table) == 61


def test_printed_report_fits_the_paper_width(named_alike: Path, browser: Any) -> None:
    right = """
        const every = [...document.querySelectorAll(arguments[0])].filter((node) => node.checkVisibility());
        return Math.max(...every.map((node) => node.getBoundingClientRect().right));
    """
    size = {"width": 718, "height": 1000, "deviceScaleFactor": 1, "mobile": False}  # A4 in Chromium
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media(browser, "print")
    try:
        browser.get((named_alike / "report.html").as_uri())
        assert find(browser, "#settings").is_displayed() and not find(browser, "nav.tabs").is_displayed()
        assert browser.execute_script(right, ".part td, .part svg *") <= browser.execute_script(right, "main")
        browser.get((named_alike / "report" / name_problem_page("problem-00")).as_uri())
        assert 600 < browser.execute_script(right, "svg rect") <= browser.execute_script(right, "section")
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_submission_list_can_be_sorted_and_filtered(folder: Path, browser: Any) -> None:
    browser.get((folder / "report" / ALL).as_uri())
    assert len(column(browser, 0)) == 18
    find(browser, "th.number button").click()
    points = [float(cell_text) for cell_text in column(browser, 4)]
    assert points == sorted(points, reverse=True)
    find(browser, "input.filter").send_keys("tree wa")
    assert len(column(browser, 0)) == 3 and set(column(browser, 3)) == {"WA"}
    assert find(browser, ".tools span").text == "3 of 18"
    find(browser, "input.filter").send_keys("\b" * 7)
    find(browser, "select[aria-label='Only of this verdict']").send_keys("CE")
    assert column(browser, 3) == ["CE"] * 6


def test_rank_change_column_sorts_numerically(tmp_path: Path, browser: Any) -> None:
    folders = []
    for name, models in (("before", "abcd"), ("after", "dbac")):
        rows = []
        for solved, model in enumerate(reversed(models), 1):
            for number in range(24):
                of = problem(f"p{number}")
                sent = submission(f"{model}-{number}", problem_id=of.id, row={"model": model})
                wrong = {} if number < 6 * solved else {"1-a": Verdict.WA}
                rows.append(result_row(sent, of, result(sent, wrong, problem=of)))
        folders.append(write_run(tmp_path / name, rows))
    report_sync(folders, out=tmp_path)
    browser.get((tmp_path / "comparison.html").as_uri())
    ranks = "[data-name=Ranks]"
    for order in (["up 3", "0", "down 1", "down 2"], ["down 2", "down 1", "0", "up 3"]):
        find(browser, f"{ranks} th:nth-child(4) button").click()
        rows = browser.find_elements("css selector", f"{ranks} tbody tr")
        assert [row.text.split(" ", 3)[3] for row in rows] == order


def saved(browser: Any, selector: str) -> str:
    browser.execute_script(SAVING)
    browser.execute_script("document.querySelector(arguments[0]).click()", selector)
    return str(
        browser.execute_async_script(
            "const done = arguments[0];"
            "const wait = () => (window.saved === null ? setTimeout(wait, 10) : done(window.saved)); wait();"
        )
    )


def test_figures_are_saved_for_papers(folder: Path, browser: Any) -> None:
    browser.get((folder / "report.html").as_uri())
    drawing = ElementTree.fromstring(saved(browser, "figure button"))
    assert drawing.tag == "{http://www.w3.org/2000/svg}svg"
    pieces = list(drawing.iter())
    assert any(piece.get("stroke", "none").startswith("rgb") for piece in pieces)
    assert not any(piece.get("class") or piece.get("href") for piece in pieces)
    assert any(visible(HOSTILE[0])[:20] in (piece.text or "") for piece in pieces)
    numbers = list(csv.reader(io.StringIO(saved(browser, "figure button + button"))))
    assert numbers[0] == ["model", "k", "pass_at_k", "low", "high", "problems"] and len(numbers) > 5
    assert browser.execute_script("return window.savedAs").endswith(".csv")


def test_saved_figure_has_light_colours_in_dark_mode(folder: Path, browser: Any) -> None:
    browser.get((folder / "report.html").as_uri())
    bright = saved(browser, "figure button")
    media(browser, scheme="dark")
    browser.get((folder / "report.html").as_uri())
    assert saved(browser, "figure button") == bright
    dark = find(browser, "figure svg .curve").value_of_css_property("stroke")
    assert dark != "rgb(0, 114, 178)" and 'stroke="rgb(0, 114, 178)"' in bright


@pytest.mark.parametrize("width", [400, 1000, 1400])
def test_figures_are_as_wide_as_the_page(recorded_run: Path, width: int, browser: Any) -> None:
    browser.set_window_size(width, 900)
    browser.get((recorded_run / "report.html").as_uri())
    widths = """
        const width = (node) => node.getBoundingClientRect().width;
        const figures = [...document.querySelectorAll(".figures")];
        const of = (number) => figures.find((node) => node.children.length === number).firstElementChild;
        return [width(document.querySelector("main section")), width(of(arguments[0]))];
    """
    page, single = browser.execute_script(widths, 1)
    assert single == pytest.approx(page, abs=1)
    browser.get((recorded_run / "report" / name_problem_page("tide")).as_uri())
    page, half = browser.execute_script(widths, 2)
    assert half == pytest.approx(page / 2 if width > 1200 else page, abs=12)
    assert browser.execute_script("return document.documentElement.scrollWidth - innerWidth") <= 0


def test_tables_are_saved_for_papers(folder: Path, browser: Any) -> None:
    browser.get((folder / "report.html").as_uri())
    table = "#overview .scroll + .tools"
    saved_text = saved(browser, f"{table} button:nth-of-type(1)")
    assert next(csv.reader(io.StringIO(saved_text)))[:2] == ["Model", "Rank"]
    assert saved(browser, f"{table} button:nth-of-type(2)").startswith("| Model | Rank |")
    latex = saved(browser, f"{table} button:nth-of-type(3)")
    assert latex.startswith("\\begin{tabular}{lrllrrrrr}\n\\toprule\n") and latex.count("\\\\\n") == 4
    assert "33.3 \\%" in latex and not re.search(r"(?<!\\)%", latex)


NAMES = (
    *("=1+1", "@SUM(A1)", "+1-1", '-cmd|" /C calc"!A0', "[5cm]", "*", "a|b", 'x,y"z', "<b>", "[a](http://x)"),
    *("\\input{/etc/passwd}", "\\\\[2cm]", "a & b % $x$ #1 _u ^2 ~ {", "`rm`"),
)


def test_names_are_escaped_in_saved_tables(tmp_path: Path, browser: Any) -> None:
    of, rows = problem("p"), []
    for index, name in enumerate(NAMES):
        sent = submission(f"s{index}", problem_id="p", row={"model": name})
        rows.append(result_row(sent, of, result(sent, problem=of)))
    write_reports(write_run(tmp_path / "run", rows))
    browser.get((tmp_path / "run" / "report.html").as_uri())
    table = "#overview .scroll + .tools button:nth-of-type({})"

    names = [row[0] for row in csv.reader(io.StringIO(saved(browser, table.format(1))))][1:]
    assert sorted(names) == sorted(f"'{name}" if name[0] in "=@+-" else name for name in NAMES)

    page = MarkdownIt("commonmark").enable("table").parse(saved(browser, table.format(2)))
    cells = [name_cell for previous, name_cell in pairwise(page) if previous.type == "td_open"]
    width = sum(item.type == "th_open" for item in page)
    shown = [[child.content for child in name_cell.children or ()] for name_cell in cells[::width]]
    assert sorted(shown) == sorted([name] for name in NAMES)

    latex = saved(browser, table.format(3))
    assert set(re.findall(r"\\([a-z]+)", latex)) <= {
        *("begin", "end", "toprule", "midrule", "bottomrule"),
        *("textbackslash", "textasciitilde", "textasciicircum"),
    }
    lines = [line.removesuffix(r" \\") for line in latex.splitlines()[4:-2]]
    first = [re.split(r"(?<!\\) & ", line) for line in lines]
    assert {len(row) for row in first} == {width}
    escapes = {r"\textbackslash{}": "\\", r"\textasciitilde{}": "~", r"\textasciicircum{}": "^", "{}": ""}
    mark = re.compile(r"\\text[a-z]+\{\}|\\.|^\{\}")
    plain = [mark.sub(lambda match: escapes.get(match[0], match[0][1:]), row[0]) for row in first]
    assert sorted(plain) == sorted(NAMES)


WIDE = """return [...document.querySelectorAll("body *")]
    .filter(node => node.getBoundingClientRect().right > innerWidth && !node.closest(".scroll"))
    .map(node => `${node.tagName}.${node.className}`).slice(0, 5)"""


@pytest.mark.parametrize("width", [400, 1400])
def test_pages_do_not_scroll_sideways(folder: Path, recorded_run: Path, browser: Any, width: int) -> None:
    browser.set_window_size(width, 900)
    for page in [*pages(folder), *pages(recorded_run)]:
        browser.get(page.as_uri())
        wide = browser.execute_script("return document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{page.name} at {width} pixels: {browser.execute_script(WIDE)}"


@pytest.fixture(scope="module")
def compared(folder: Path, recorded_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = name_runs({run_folder: summarize_run(run_folder) for run_folder in (folder, recorded_run)})
    return write_comparison(runs, tmp_path_factory.mktemp("compared"))


def check_by_axe(browser: Any, every: Iterable[Path], scheme: str, width: int) -> None:
    browser.set_window_size(width, 900)
    media(browser, scheme=scheme)
    for page in every:
        browser.get(page.as_uri())
        assert violations(browser) == [], f"{page.name}, {scheme}, {width} pixels"


# Colours do not depend on the width, nor sizes on the scheme, so two of the four cases suffice.
LOOKS = [("light", 1400), ("dark", 400)]


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_axe_finds_no_violations_on_report_pages(
    folder: Path, compared: Path, browser: Any, scheme: str, width: int
) -> None:
    check_by_axe(browser, [*pages(folder), compared], scheme, width)


def test_axe_detects_low_contrast_and_missing_alt_text(folder: Path, browser: Any) -> None:
    browser.get((folder / "report.html").as_uri())
    browser.execute_script("document.querySelector('p.quiet').style.color = '#eeeeee'")
    browser.execute_script("document.querySelector('section').append(document.createElement('img'))")
    counts = {rule: number for rule, _, number in violations(browser)}
    assert counts == {"color-contrast": 1, "image-alt": 1}


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_axe_finds_no_violations_in_large_run(
    recorded_run: Path, browser: Any, scheme: str, width: int
) -> None:
    check_by_axe(browser, pages(recorded_run), scheme, width)


def test_printed_report_hides_controls_and_explains_columns(folder: Path, browser: Any) -> None:
    browser.get((folder / "report.html").as_uri())
    assert not find(browser, ".meanings").is_displayed() and find(browser, ".filters").is_displayed()
    media(browser, "print")
    assert find(browser, ".meanings").is_displayed()
    for selector in (".filters", ".tools", "nav", "button.save"):
        assert not find(browser, selector).is_displayed()


def test_long_submission_list_is_shown_in_parts(recorded_run: Path, browser: Any) -> None:
    browser.get((recorded_run / "report" / ALL).as_uri())
    assert len(column(browser, 0)) == 200
    assert find(browser, "button.more").text == "Show more: 200 of 2,000 rows are here"
    find(browser, "th.number button").click()
    points = [float(cell_text) for cell_text in column(browser, 4)]
    assert points == sorted(points, reverse=True) and points[0] == 100, (
        "the best of all rows, also of hidden rows"
    )
    find(browser, "button.more").send_keys("\n")
    assert len(column(browser, 0)) == 400
    assert saved(browser, ".menu .save").count("\n") == 2001, "the saved file has all rows"


def test_long_submission_list_is_filtered(recorded_run: Path, browser: Any) -> None:
    browser.get((recorded_run / "report" / ALL).as_uri())
    find(browser, "input.filter").send_keys("lanterns huge memory limit")
    verdict_column = column(browser, 3)
    assert 0 < len(verdict_column) < 50 and set(verdict_column) == {"MLE"}
    assert find(browser, ".tools span").text == f"{len(verdict_column)} of 2,000"
    assert not find(browser, "button.more").is_displayed()


@pytest.mark.parametrize("name", golden_images.PICTURES)
def test_pages_match_golden_images(recorded_run: Path, browser: Any, name: str) -> None:
    """By a coarse measure, and only with the fonts and the Chromium version of the images."""
    made_with = json.loads(golden_images.MADE_WITH.read_text())
    if (image_versions := golden_images.image_versions(browser)) != made_with:
        pytest.skip(f"the golden images are from {made_with}, this is {image_versions}")
    picture = golden_images.taken(browser, recorded_run, name)
    golden = (golden_images.FOLDER / f"{name}.png").read_bytes()
    share = golden_images.differing_share(browser, picture, golden)
    assert share <= golden_images.MOST, f"{share:.1%} differ; if that is meant: {golden_images.__doc__}"


def test_golden_image_comparison_detects_differences(browser: Any) -> None:
    light, dark, problem = (
        (golden_images.FOLDER / f"{name}.png").read_bytes() for name in ("report", "report-dark", "problem")
    )
    assert golden_images.differing_share(browser, light, light) == 0
    assert golden_images.differing_share(browser, light, dark) > 0.5
    assert golden_images.differing_share(browser, light, problem) == 1


def test_printed_matrix_has_all_rows_and_columns(tmp_path: Path, browser: Any) -> None:
    """On a page across, whose text is 1,045 pixels wide."""
    models = [f"somebody/Instruct-{number}B-v{number}" for number in range(30)]
    names = [f"an-olympiad-2024-day-2-a-problem-with-a-long-name-{number}" for number in range(250)]
    rows = [[name, "100", *["100"] * len(models)] for name in names]
    table = TableBlock(heads=["Problem", "of", *models], rows=rows, kind="problems")
    page = tmp_path / "page.html"
    page.write_text(render_html(Document(title="Many", sections=[Section(title="Problems", table=table)])))
    browser.set_window_size(1045, 900)
    browser.get(page.as_uri())
    assert len(column(browser, 0)) == 200
    media(browser, "print")
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert len(column(browser, 0)) == 250
    assert browser.execute_script("return document.querySelector('table').scrollWidth") <= 1045 - 45


def test_printed_matrix_of_eight_models_fits_the_paper_width(tmp_path: Path, browser: Any) -> None:
    models = [f"somebody/A-Model-With-Long-Name-{number}B" for number in range(8)]
    rows = [[f"problem-{number}", "100", *["100"] * len(models)] for number in range(20)]
    table = TableBlock(heads=["Problem", "of", *models], rows=rows, kind="problems")
    page = tmp_path / "page.html"
    page.write_text(render_html(Document(title="Few", sections=[Section(title="Problems", table=table)])))
    browser.set_window_size(718, 900)
    browser.get(page.as_uri())
    media(browser, "print")
    assert browser.execute_script("return document.querySelector('table').scrollWidth") <= 718 - 45


LONG_LINE = 'const char* table = "' + "0123456789abcdef" * 40 + '";'


def test_long_line_of_code_scrolls_on_screen_and_wraps_on_paper(tmp_path: Path, browser: Any) -> None:
    sent = submission("long", code=LONG_LINE, row={"model": "m", "generation": f"```cpp\n{LONG_LINE}\n```"})
    folder = write_run(tmp_path / "run", [result_row(sent, problem(), result(sent))])
    write_reports(folder)
    browser.set_window_size(718, 900)
    browser.get((folder / "report" / make_submission_page_filename("long")).as_uri())
    sizes = """
        const box = document.querySelector(".code"), range = document.createRange();
        range.selectNodeContents(box);
        const right = Math.max(...[...range.getClientRects()].map((line) => line.right));
        return [box.scrollWidth - box.clientWidth, right - box.getBoundingClientRect().right,
          getComputedStyle(box).overflowX, document.documentElement.scrollWidth - innerWidth];
    """
    hidden, beyond, overflow, page = browser.execute_script(sizes)
    assert hidden > 1000 and beyond > 1000 and overflow == "auto" and page <= 0
    media(browser, "print")
    hidden, beyond, _, _ = browser.execute_script(sizes)
    assert hidden <= 0 and beyond <= 0


def test_narrow_tables_of_models_and_subtasks_are_cards(folder: Path, browser: Any) -> None:
    browser.set_window_size(400, 900)
    areas = """
        return [...document.querySelectorAll(arguments[0])].filter((table) => table.checkVisibility())
          .map((table) => table.closest(".scroll")).map((area) => area.scrollWidth - area.clientWidth);
    """
    browser.get((folder / "report.html").as_uri())
    overflows = browser.execute_script(areas, "[data-kind=leaderboard], [data-kind='pass@k']")
    assert len(overflows) == 2 and max(overflows) <= 0
    browser.get((folder / "report" / make_submission_page_filename(f"sum-0-1{HOSTILE[0]}")).as_uri())
    overflows = browser.execute_script(areas, "[data-kind=subtasks]")
    assert len(overflows) == 1 and overflows[0] <= 0


@pytest.fixture(scope="module")
def many_points(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a run of two models and of problems that are worth 30,000 points."""
    rows = []
    for number in range(30):
        of = problem(f"p{number}")
        many = tuple(msgspec.structs.replace(subtask, points=10 * subtask.points) for subtask in of.subtasks)
        of = msgspec.structs.replace(of, subtasks=many)
        for model in ("deepseek-ai/DeepSeek-R1-Distill-70B", "meta-llama/Llama-3.3-70B-Instruct"):
            sent = submission(f"{model} {of.id}", problem_id=of.id, row={"model": model})
            wrong = {"3-a": Verdict.WA} if number % (3 + len(model) % 2) else {}
            rows.append(result_row(sent, of, result(sent, wrong, problem=of)))
    folder = tmp_path_factory.mktemp("points") / "run"
    write_reports(write_run(folder, rows))
    return folder


def test_large_numbers_have_separators_except_in_saved_csv(many_points: Path, browser: Any) -> None:
    chosen(browser, many_points, "")
    assert find(browser, "[data-kind=leaderboard]").text.startswith("Model Rank Points of 30,000")
    assert re.search(r"\n19,110 \(17,118 to 21,585\)", find(browser, BOARD).text)
    menu = "#overview .scroll + .tools button"
    assert "19110 (17118 to 21585)" in saved(browser, menu)
    assert "19,110 (17,118 to 21,585)" in saved(browser, f"{menu} + button")
    values = [0, 0.5, 999.99, 1000, 28130, 12345.678, 1e6]
    written = browser.execute_script("return arguments[0].map(points)", values)
    assert written == [format_number(value) for value in values]
    assert written[4:] == ["28,130", "12,345.68", "1,000,000"]


def test_leaderboard_of_many_points_fits_on_screen_and_paper(many_points: Path, browser: Any) -> None:
    overflow, height = "scrollWidth - area.clientWidth", "querySelector('tbody tr').offsetHeight"
    for width, kind in ((1400, ""), (718, "print")):
        browser.set_window_size(width, 900)
        media(browser, kind)
        browser.get((many_points / "report.html").as_uri())
        area = "const area = document.querySelector('[data-kind=leaderboard]').parentNode; return area."
        assert browser.execute_script(area + overflow) <= 1, kind
        assert browser.execute_script(area + height) < 75, kind
