"""A problem's page with its statement, and a submission's page with its output, in Chromium."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from browsing import check_tabs, find, media, violations
from test_pages import run
from test_problem_pages import PROBLEM

from ioi_eval.models import Blob
from ioi_eval.reports import write_reports
from ioi_eval.reports.document import make_submission_page_filename, name_problem_page
from ioi_eval.store.tasks import Task, write_tasks

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("nothing_went_wrong")]

STATEMENT = r"""
### Sum

For all $1 \le i \le n$ with $a_i \ge \frac{x^2}{\sqrt{n}}$ print

$$\sum_{i=1}^{n} a_i \cdot 2^i \equiv 0 \pmod{10^9+7} + aaaaaaaaaaaaaaaa + bbbbbbbbbbbbbbbb + cccccccccccccc$$

# Subtasks

| subtask | points | further constraints |
|---|---|---|
| 1 | 30 | $n \le 100$ and a text that is so long that it needs another line on a phone |

![a picture](http://example.org/x.png) [a page](https://example.org) <script>alert(1)</script>

[no](javascript:x)

`unbroken%s`
""" % ("x" * 200)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = run(tmp_path_factory.mktemp("statement") / "run")
    problem = msgspec.structs.replace(PROBLEM, statement=Blob.of(STATEMENT))
    write_tasks(folder, {"sum": Task.from_problem(problem, "0" * 64)})
    write_reports(folder)
    names = {"problem": name_problem_page("sum"), "submission": make_submission_page_filename("sum-1-1")}
    return {kind: (folder / "report" / name).as_uri() for kind, name in names.items()}


def test_statement_formulas_are_drawn_and_images_not_loaded(browser: Any, pages: dict[str, str]) -> None:
    browser.get(pages["problem"])
    boxes = browser.execute_script(
        "return [...document.querySelectorAll('math')].map((node) => node.getBoundingClientRect().height)"
    )
    assert len(boxes) == 4 and min(boxes) > 8
    limits = browser.execute_script(
        "const [sum, under, over] = document.querySelector('munderover').children;"
        "return [over, sum, sum, under].map((node) => node.getBoundingClientRect())"
        ".map((rect) => (rect.top + rect.bottom) / 2)"
    )
    assert limits == sorted(limits) and limits[3] - limits[0] > 8, "the limits are above and below the sum"
    assert max(boxes) > 2 * min(boxes), "the sum is higher than a line, whatever the font"
    fraction = browser.execute_script(
        "const [over, under] = document.querySelector('mfrac').children;"
        "return [over.getBoundingClientRect().bottom, under.getBoundingClientRect().top]"
    )
    assert fraction[0] <= fraction[1]
    assert not browser.find_elements(
        "css selector", ".statement img, .statement script, .statement th button"
    )
    links = browser.find_elements("css selector", ".statement a[href]")
    assert [link.get_attribute("href") for link in links] == ["https://example.org/"]


@pytest.mark.parametrize("kind", ["problem", "submission"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violations_on_problem_and_submission_pages(
    browser: Any, pages: dict[str, str], kind: str, scheme: str
) -> None:
    media(browser, scheme=scheme)
    browser.get(pages[kind])
    for summary in browser.find_elements("css selector", "summary"):
        summary.click()
    assert violations(browser) == []


@pytest.mark.parametrize("kind", ["problem", "submission"])
@pytest.mark.parametrize(("width", "medium"), [(400, ""), (1400, ""), (800, "print")])
def test_problem_and_submission_pages_fit_window(
    browser: Any, pages: dict[str, str], kind: str, width: int, medium: str
) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        media(browser, medium)
        browser.get(pages[kind])
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("kind", ["problem", "submission"])
def test_problem_and_submission_pages_are_reachable_by_keyboard(
    browser: Any, pages: dict[str, str], kind: str
) -> None:
    browser.get(pages[kind])
    check_tabs(browser)


def test_output_diff_marks_blanks_and_missing_newline(browser: Any, pages: dict[str, str]) -> None:
    browser.get(pages["submission"])
    assert find(browser, ".outputs .blank").text == "↵"
    assert find(browser, ".outputs ins").text == "7"
    assert find(browser, "details pre").text == "", "a folded reply has no visible text"
    find(browser, "section > details:not(.menu) > summary").click()
    assert "[the code above]" in find(browser, "details pre").text
