"""The pages in a real browser, from files: what works, what is asked for, what axe finds, what is saved."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import golden_images
import pytest
from missing import lacks
from run_samples import write_run
from support.runs import read_rows
from test_html_page import HOSTILE
from test_pages import run

from ioi_eval.reports.addresses import ALL
from ioi_eval.reports.document import visible

pytestmark = [pytest.mark.once, pytest.mark.long]

AXE = Path(sys.prefix) / "axe" / "node_modules" / "axe-core" / "axe.min.js"
# What a page is saved as, instead of a download.
SAVING = """
    window.saved = null;
    URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text; }); return "#"; };
    HTMLAnchorElement.prototype.click = function () { window.savedAs = this.download; };
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    try:
        import selenium  # noqa: F401
    except ImportError:
        lacks("selenium")
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        lacks("chromium and chromedriver (apt-get install chromium-driver)")
    with golden_images.opened() as browser:
        yield browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("browser") / "run", text=HOSTILE[0])


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return golden_images.recorded(tmp_path_factory.mktemp("recorded"))


@pytest.fixture(autouse=True)
def nothing_went_wrong(browser: Any) -> Iterator[None]:
    """No page says an error, and none asks anything but the disk."""
    yield
    media(browser)
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    asked = set(re.findall(r'"url\\?":\\?"([a-z]+:)(//[^/]*)', str(browser.get_log("performance"))))
    beyond = {host for kind, host in asked if kind == "http:" and not host.startswith("//127.0.0.1:")}
    kinds = {kind for kind, _ in asked}
    assert not beyond and kinds <= {"file:", "data:", "about:", "blob:", "chrome:", "http:"}


def media(browser: Any, kind: str = "", scheme: str = "light") -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": kind, "features": features})


def pages(folder: Path) -> list[Path]:
    """One of each kind."""
    beside = folder / "report"
    kinds = (sorted(beside.glob(f"{kind}-*.html"))[0] for kind in ("problem", "submission"))
    return [folder / "report.html", beside / ALL, *kinds]


def find(browser: Any, selector: str) -> Any:
    return browser.find_element("css selector", selector)


def column(browser: Any, place: int) -> list[str]:
    return browser.execute_script(
        "return [...document.querySelectorAll('tbody tr')].filter((row) => !row.hidden)"
        f".map((row) => row.cells[{place}].textContent)"
    )


def test_a_cell_opens_a_problem_and_that_a_submission(folder: Path, browser: Any) -> None:
    browser.get((folder / "report.html").as_uri())
    cell = find(browser, "td.g10 a")
    assert cell.value_of_css_property("background-color") is not None
    cell.click()
    assert browser.title == "Problem sum"
    find(browser, "td a").click()
    assert browser.title.startswith("Submission sum-0-0")
    assert find(browser, ".code .cp").value_of_css_property("color") != "rgb(0, 0, 0)"
    browser.get((folder / "report.html").as_uri())
    browser.execute_script("document.querySelector('figure svg a').dispatchEvent(new MouseEvent('click'))")
    assert browser.title.startswith("Problem ")


def test_lists_sort_and_filter(folder: Path, browser: Any) -> None:
    browser.get((folder / "report" / ALL).as_uri())
    assert len(column(browser, 0)) == 18
    find(browser, "th.number button").click()
    points = [float(text) for text in column(browser, 4)]
    assert points == sorted(points, reverse=True)
    find(browser, "input.filter").send_keys("tree wa")
    assert len(column(browser, 0)) == 3 and set(column(browser, 3)) == {"WA"}
    assert find(browser, ".tools span").text == "3 of 18"
    find(browser, "input.filter").send_keys("\b" * 7)
    find(browser, "select[aria-label='Only of this verdict']").send_keys("CE")
    assert column(browser, 3) == ["CE"] * 6


def test_the_search_box_asks_the_list_of_submissions(folder: Path, browser: Any) -> None:
    browser.get((folder / "report.html").as_uri())
    find(browser, ".search input").send_keys("tree ce\n")
    assert browser.current_url.partition("#")[0].endswith(ALL)
    assert column(browser, 3) == ["CE"] * 3 and {text[:4] for text in column(browser, 2)} == {"tree"}
    browser.get((folder / "report.html").as_uri())
    find(browser, ".search input").send_keys("alert(1)&<\n")
    assert find(browser, "input.filter").get_property("value") == "alert(1)&<"


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
    assert numbers[0] == ["model", "submissions", "points"] and len(numbers) > 5
    assert browser.execute_script("return window.savedAs").endswith(".csv")


def test_tables_are_saved_for_papers(folder: Path, browser: Any) -> None:
    browser.get((folder / "report.html").as_uri())
    table = "section table ~ *, section .scroll + .tools"
    text = saved(browser, f"{table} button:nth-of-type(1)")
    assert next(csv.reader(io.StringIO(text)))[:2] == ["Model", "Points"]
    assert saved(browser, f"{table} button:nth-of-type(2)").startswith("| Model | Points | of |")
    latex = saved(browser, f"{table} button:nth-of-type(3)")
    assert latex.startswith("\\begin{tabular}{lrrllrrr}\n\\toprule\n") and latex.count("\\\\\n") == 4
    assert "100.0 \\%" in latex and not re.search(r"(?<!\\)%", latex)


@pytest.mark.parametrize("width", [400, 1400])
def test_no_page_scrolls_sideways(folder: Path, recorded: Path, browser: Any, width: int) -> None:
    browser.set_window_size(width, 900)
    for page in [*pages(folder), *pages(recorded)]:
        browser.get(page.as_uri())
        wide = browser.execute_script("return document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{page.name} at {width} pixels"


def violations(browser: Any) -> list[tuple[str, str, int]]:
    """What axe finds: which rule, where first, how often."""
    if not AXE.is_file():
        lacks(f"axe (npm install --prefix {AXE.parents[2]} axe-core)")
    browser.execute_script(AXE.read_text())
    found, passed = browser.execute_async_script(
        "const done = arguments[0];"
        "axe.run(document, { preload: false }).then((all) => done([all.violations, all.passes]));"
    )
    assert {"color-contrast", "html-has-lang"} <= {one["id"] for one in passed}
    return [(one["id"], one["nodes"][0]["html"][:200], len(one["nodes"])) for one in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(folder: Path, recorded: Path, browser: Any, scheme: str) -> None:
    browser.set_window_size(1400, 900)
    for page in [*pages(folder), recorded / "report.html"]:
        browser.get(page.as_uri())
        media(browser, scheme=scheme)
        assert violations(browser) == [], f"{page.name}, {scheme}"


@pytest.fixture
def served(folder: Path) -> Iterator[str]:
    """The address of `ioi-eval view`."""
    command = [sys.executable, "-m", "ioi_eval.cli", "view", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as viewing:
        try:
            assert viewing.stdout is not None
            yield viewing.stdout.readline().rpartition(" ")[2].strip()
            viewing.terminate()
            assert viewing.wait(60) == 0
        finally:
            viewing.kill()


def test_the_live_page_shows_each_new_row(folder: Path, served: str, browser: Any) -> None:
    def wait_for(rows: int) -> None:
        browser.execute_async_script(
            "const [wanted, done] = arguments;"
            "const wait = () => (document.title.endsWith(wanted) ? done() : setTimeout(wait, 50)); wait();",
            f": {rows} done",
        )

    browser.set_window_size(400, 900)
    browser.get(served)
    wait_for(18)
    assert HOSTILE[0] in find(browser, "#verdicts").text
    write_run(folder, [next(read_rows(folder)) | {"key": "new"}])
    wait_for(19)
    assert browser.execute_script("return document.documentElement.scrollWidth - innerWidth") <= 0
    assert violations(browser) == []
    browser.get(f"{served}/report/submissions.html")
    assert "new" in column(browser, 0)


def test_on_paper_there_is_no_button_and_columns_are_explained(folder: Path, browser: Any) -> None:
    browser.get((folder / "report.html").as_uri())
    assert not find(browser, ".meanings").is_displayed() and find(browser, ".search").is_displayed()
    media(browser, "print")
    assert find(browser, ".meanings").is_displayed()
    for selector in (".search", ".tools", "nav", "button.save"):
        assert not find(browser, selector).is_displayed()


def test_a_long_list_is_cut_down_to_what_was_asked_for(recorded: Path, browser: Any) -> None:
    browser.get((recorded / "report.html").as_uri())
    find(browser, ".search input").send_keys("lanterns huge memory limit\n")
    found = column(browser, 3)
    assert 0 < len(found) < 50 and set(found) == {"MLE"}
    assert find(browser, ".tools span").text == f"{len(found)} of 2,000"


@pytest.mark.parametrize("name", golden_images.PICTURES)
def test_pages_look_as_they_did(recorded: Path, browser: Any, name: str) -> None:
    """By a coarse measure, and only with the fonts and the Chromium that the pictures were taken with."""
    made_with = json.loads(golden_images.MADE_WITH.read_text())
    if (here := golden_images.made_with(browser)) != made_with:
        pytest.skip(f"the pictures were taken with {made_with}, this is {here}")
    picture = golden_images.taken(browser, recorded, name)
    golden = (golden_images.FOLDER / f"{name}.png").read_bytes()
    unlike = golden_images.unlike(browser, picture, golden)
    assert unlike <= golden_images.MOST, f"{unlike:.1%} differ; if that is meant: {golden_images.__doc__}"


def test_pictures_that_differ_are_told_apart(browser: Any) -> None:
    one, dark, problem = (
        (golden_images.FOLDER / f"{name}.png").read_bytes() for name in ("report", "report-dark", "problem")
    )
    assert golden_images.unlike(browser, one, one) == 0
    assert golden_images.unlike(browser, one, dark) > 0.5
    assert golden_images.unlike(browser, one, problem) == 1
