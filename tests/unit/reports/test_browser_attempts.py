"""Links from a submission's page to other attempts and to equal programs, in Chromium."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from browsing import ENTER, check_tabs, find, media, press, reach, violations
from run_samples import SUM, result, submission, write_run
from support.runs import result_row
from test_browser_live import serving
from test_html_page import HOSTILE

from ioi_eval.models import Verdict
from ioi_eval.reports import ReportOptions, write_reports
from ioi_eval.reports.document import make_submission_page_filename
from ioi_eval.reports.records import PageChoice

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("nothing_went_wrong")]

TEXT = HOSTILE[0]
NAV = "nav.attempts"


def written(folder: Path, numbers: Iterable[int], *, equal: Iterable[int] = ()) -> Path:
    """Write a run of a model's attempts at a problem.

    Every second attempt is right, and the attempts in `equal` repeat the first.
    """
    rows = []
    for number in numbers:
        sent = submission(f"k{number}{TEXT}", row={"model": "m", "solution_number": number})
        judged_result = result(sent, {"2-a": Verdict.WA} if number % 2 else {})
        judged_result = msgspec.structs.replace(judged_result, repeats=f"k0{TEXT}" if number in equal else "")
        rows.append(result_row(sent, SUM, judged_result))
    return write_run(folder, rows)


def address(folder: Path, number: int) -> str:
    return (folder / "report" / make_submission_page_filename(f"k{number}{TEXT}")).as_uri()


def property_of_all(browser: Any, selector: str, name: str) -> list[str]:
    """Return a property of all elements, in a single request."""
    script = "return [...document.querySelectorAll(arguments[0])].map((node) => node[arguments[1]])"
    return browser.execute_script(script, selector, name)


def navigation_texts(browser: Any) -> list[str]:
    """Return the navigation's labels, without hostile parts of keys."""
    return [
        link_text.replace(TEXT, "") for link_text in property_of_all(browser, f"{NAV} > *", "textContent")
    ]


def test_old_submission_page_gets_links_to_later_attempts(tmp_path: Path, browser: Any) -> None:
    """The page's file is unchanged."""
    folder = written(tmp_path / "run", (0, 2, 10))
    write_reports(folder)
    browser.get(address(folder, 10))
    assert navigation_texts(browser) == ["Attempt 3 of 3 of this model:", "← k2 (AC)"], (
        "attempts are ordered by number, not by key"
    )
    page = folder / "report" / make_submission_page_filename(f"k10{TEXT}")
    inode_before = page.stat().st_ino
    write_reports(written(folder, (11, 12), equal=(12,)))
    assert page.stat().st_ino == inode_before
    browser.refresh()
    assert navigation_texts(browser) == ["Attempt 3 of 5 of this model:", "← k2 (AC)", "→ k11 (WA)"]
    reach(browser, f"{NAV} a:last-child")
    press(browser, ENTER)
    assert browser.title.startswith("Submission k11")
    assert navigation_texts(browser) == ["Attempt 4 of 5 of this model:", "← k10 (AC)", "→ k12 (AC)"]
    browser.get(address(folder, 0))
    assert navigation_texts(browser)[1:] == ["→ k2 (AC)", "Equal programs:", "k12 (AC)"], (
        "an original links to its repeats"
    )
    find(browser, f"{NAV} a:last-child").click()
    assert browser.title.startswith("Submission k12") and navigation_texts(browser)[-1] == "k0 (AC)"


def test_keys_j_and_k_walk_through_attempts(tmp_path: Path, browser: Any) -> None:
    rows = []
    for model in "ab":
        for number in range(2):
            sent = submission(f"{model}{number}", row={"model": model, "solution_number": number})
            rows.append(result_row(sent, SUM, result(sent)))
    folder = write_run(tmp_path / "run", rows)
    write_reports(folder)
    browser.get((folder / "report" / make_submission_page_filename("a0")).as_uri())
    for key, expected_title in (
        ("k", "a0"),
        ("j", "a1"),
        ("j", "b0"),
        ("j", "b1"),
        ("j", "b1"),
        ("k", "b0"),
        ("k", "a1"),
    ):
        press(browser, key)
        assert browser.title == f"Submission {expected_title}"


@pytest.mark.parametrize("pages", PageChoice)
def test_navigation_links_lead_to_existing_pages(
    tmp_path: Path, browser: Any, pages: PageChoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ioi_eval.reports.pages.SAMPLE_SIZE", 4)
    folder = written(tmp_path / "run", range(8), equal=(4, 6, 7))
    write_reports(folder, ReportOptions(pages=pages))
    files = sorted((folder / "report").glob("submission-*.html"))
    assert len(list((folder / "report").glob("attempts-*.js"))) == (pages is not PageChoice.NONE)
    assert len(files) == 8 or pages is not PageChoice.ALL
    for page in files:
        browser.get(page.as_uri())
        hrefs = property_of_all(browser, f"{NAV} a", "href")
        assert hrefs and {*hrefs} <= {path.as_uri() for path in files if path != page}
        expected_end = f"of {len(files)} of this model{'' if len(files) == 8 else ', of those with pages'}:"
        assert navigation_texts(browser)[0].endswith(expected_end)


def test_attempts_are_linked_on_problem_page_without_javascript(tmp_path: Path, browser: Any) -> None:
    folder = written(tmp_path / "run", range(2), equal=(1,))
    write_reports(folder)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(address(folder, 1))
        assert not find(browser, NAV).is_displayed()
        links = browser.find_elements("css selector", "nav:not(.attempts) a, td a")
        attempt_links = [link for link in links if link.text in ("Other attempts", "all of this problem")]
        assert [link.get_attribute("href").rpartition("#")[2][:2] for link in attempt_links] == ["m-", "eq"]
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_single_attempt_hides_navigation(tmp_path: Path, browser: Any) -> None:
    folder = written(tmp_path / "run", (0,))
    write_reports(folder)
    browser.get(address(folder, 0))
    assert navigation_texts(browser) == [] and not find(browser, NAV).is_displayed()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_many_equal_programs_fit_phone_width(tmp_path: Path, browser: Any, scheme: str) -> None:
    folder = written(tmp_path / "run", range(40), equal=range(1, 40))
    write_reports(folder)
    size = {"width": 400, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media(browser, scheme=scheme)
    try:
        browser.get(address(folder, 7))
        assert (
            navigation_texts(browser)[3] == "Equal programs, the first 6 of 39:"
            and len(navigation_texts(browser)) == 4 + 6
        )
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 400
        assert violations(browser) == []
        check_tabs(browser)
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_live_server_serves_attempt_navigation(tmp_path: Path, browser: Any) -> None:
    folder = written(tmp_path / "run", range(3))
    with serving(folder, browser) as server:
        browser.get(f"{server}/report/{make_submission_page_filename(f'k1{TEXT}')}")
        assert navigation_texts(browser) == ["Attempt 2 of 3 of this model:", "← k0 (AC)", "→ k2 (AC)"]
        browser.get("about:blank")  # before the server stops
