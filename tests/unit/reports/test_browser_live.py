"""Keyboard use of pages, and the live page of `ioi-eval view`, in a real browser."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import ENDED, ENTER, check_tabs, column, errors, find, media, pages, press, reach, violations
from run_samples import submission, write_run
from support.command_line import CommandLine, row, write_dump, write_package
from support.runs import failure_row, read_rows
from test_html_page import HOSTILE
from test_pages import run

from ioi_eval.errors import JudgeFailure
from ioi_eval.model.values import ServerState
from ioi_eval.reports.document import Document, Section, TableBlock, render_html
from ioi_eval.reports.plots import shorten_name
from ioi_eval.store.folder import PROGRESS, ActiveSubmission, Progress, Timeline, write_progress

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("nothing_went_wrong")]


def test_every_control_is_reached_by_keyboard(folder: Path, recorded_run: Path, browser: Any) -> None:
    browser.set_window_size(1400, 900)
    for page in [*pages(folder), recorded_run / "report.html"]:
        browser.get(page.as_uri())
        check_tabs(browser)


def test_report_is_usable_by_keyboard(recorded_run: Path, browser: Any) -> None:
    browser.get((recorded_run / "report.html").as_uri())
    reach(browser, "th.number button")
    press(browser, ENTER)
    assert find(browser, "th.number").get_attribute("aria-sort") == "descending"
    reach(browser, "nav.tabs a[href*=submissions]")
    press(browser, ENTER)
    reach(browser, "input.filter")
    press(browser, *"ferry tle")
    assert browser.title == "All 2,000 submissions" and set(column(browser, 3)) == {"TLE"}
    reach(browser, "td a")
    press(browser, ENTER)
    assert browser.title.startswith("Submission ")
    reach(browser, "nav a[href^='problem']")
    press(browser, ENTER)
    assert browser.title == "Problem ferry"


def test_folded_table_opens_by_keyboard(tmp_path: Path, browser: Any) -> None:
    table = TableBlock(heads=["A", "B", "C"], rows=[["1", "2", "3"]], align="lll")
    page = tmp_path / "page.html"
    page.write_text(
        render_html(Document(title="Folded", sections=[Section(title="Long", table=table, long=True)]))
    )
    browser.get(page.as_uri())
    assert not find(browser, "td").is_displayed()
    reach(browser, "summary")
    press(browser, ENTER)
    assert find(browser, "td").is_displayed()


# --- the live page ------------------------------------------------------------------------------------


@contextlib.contextmanager
def serving(folder: Path, browser: Any) -> Iterator[str]:
    """Serve `ioi-eval view` and yield its address. No page may log an error meanwhile."""
    viewing = CommandLine(folder.parent, folder.parent / "cache").start("view", folder, "--port", "0")
    try:
        address = viewing.stdout.readline().rpartition(" ")[2].strip()
        page = address.rstrip("/") + "/"
        ENDED.discard(page)
        yield address
        assert errors(browser) == []
        ENDED.add(page)
        viewing.terminate()
        assert viewing.wait() == 0
    finally:
        viewing.kill()
        viewing.communicate()


@pytest.fixture
def failing(tmp_path: Path) -> Path:
    """Write a run with an unjudged submission and a lost server."""
    folder = run(tmp_path / "run")
    lost = JudgeFailure("no server answers", remedy="Start one")
    write_run(folder, [], [failure_row(submission("lost", row={"model": "m"}), lost)])
    down = ServerState(url="http://b", state="down", why="no answer", errors=3)
    up = ServerState(url="http://a", state="healthy", slots=4, busy=2)
    write_progress(folder, Progress(total=40, engine="piston", servers=2, slots=8, standings=(up, down)))
    return folder


def wait_until(browser: Any, condition: str) -> None:
    """Wait until a condition in JavaScript holds, even if the page is loaded again meanwhile."""
    while not browser.execute_script(f"return Boolean({condition})"):
        time.sleep(0.05)


def wait_for(browser: Any, rows: int) -> None:
    wait_until(browser, f"document.title.endsWith(': {rows} done')")


UPDATED = "document.querySelector('[data-kind=leaderboard]')?.textContent.includes(%r)"


def open_folds(browser: Any) -> None:
    browser.execute_script("for (const fold of document.querySelectorAll('#live details')) fold.open = true")


def test_live_page_shows_new_rows(tmp_path: Path, browser: Any) -> None:
    folder = run(tmp_path / "run", text=HOSTILE[0])
    browser.set_window_size(400, 900)
    with serving(folder, browser) as address:
        browser.get(address)
        wait_for(browser, 18)
        assert HOSTILE[0] in find(browser, "[data-kind=leaderboard]").text
        write_run(folder, [next(read_rows(folder)) | {"key": "new", "model": "a new model"}])
        wait_for(browser, 19)
        wait_until(browser, UPDATED % "a new model")
        assert browser.execute_script("return document.documentElement.scrollWidth - innerWidth") <= 0
        assert violations(browser) == []
        browser.get(f"{address}/report/submissions.html")
        assert "new" in column(browser, 0)
        find(browser, "nav.tabs a").click()
        assert browser.current_url == f"{address}/report.html#overview" and find(browser, "#live")
        browser.get("about:blank")


def test_end_of_run_is_shown_on_a_page_that_was_just_loaded(tmp_path: Path, browser: Any) -> None:
    """No event follows the event of the end."""
    folder = run(tmp_path / "run")
    write_progress(folder, Progress(total=19, at=time.time()))
    with serving(folder, browser) as address:
        browser.get(address)
        wait_for(browser, 18)
        write_run(folder, [next(read_rows(folder)) | {"key": "new", "model": "a new model"}])
        write_progress(folder, Progress(total=19, at=time.time(), ended=True))
        wait_until(browser, UPDATED % "a new model")
        assert find(browser, "#state").text == "The run has ended."
        browser.get("about:blank")


def test_live_page_is_not_reloaded_while_a_reader_uses_it(tmp_path: Path, browser: Any) -> None:
    """If a table is sorted, the page asks before it changes. Filters and folds stay."""
    folder = run(tmp_path / "run")
    write_progress(folder, Progress(total=40, servers=1, under_way=1, at=time.time()))
    with serving(folder, browser) as address:
        browser.get(f"{address}/#overview;language=c%2B%2B")
        wait_for(browser, 18)
        find(browser, "#live-now summary").click()
        find(browser, "[data-kind=leaderboard] th.number button").click()
        write_run(folder, [next(read_rows(folder)) | {"key": "new", "model": "a new model"}])
        wait_for(browser, 19)
        wait_until(browser, "!document.querySelector('#update').hidden")
        time.sleep(6)
        assert "a new model" not in find(browser, "[data-kind=leaderboard]").text
        find(browser, "#update").click()
        wait_until(browser, UPDATED % "a new model")
        assert find(browser, "#live-now").get_attribute("open")
        assert browser.current_url.endswith("#overview;language=c%2B%2B")
        browser.get("about:blank")


# Its programs wait without using CPU time, so that the run lasts.
WAITING = "#include <unistd.h>\nint main() {{ return {} + pause(); }}\n"


def test_live_page_follows_running_score_command(tmp_path: Path, shared_cache: Path, browser: Any) -> None:
    """It shows new rows, running programs, and that the run is over."""
    write_package(tmp_path / "problems" / "add", time_limit=1.0)
    rows = [row(f"slow {number}", WAITING.format(number)) for number in range(12)]
    dump = write_dump(tmp_path / "dump.jsonl", [row("quick", "wrong", model=HOSTILE[0]), *rows])
    out = tmp_path / "run"
    scoring = CommandLine(tmp_path, shared_cache).start("score", dump, "--problems", "problems", "--out", out)
    try:
        while scoring.poll() is None and not (out / PROGRESS).exists():
            time.sleep(0.05)
        assert scoring.poll() is None, scoring.communicate()
        with serving(out, browser) as address:
            browser.get(address)
            slow = (
                "[...document.querySelectorAll('#live-now tr')].find((node) => /slow/.test(node.textContent))"
            )
            wait_until(browser, f"{slow}?.cells[4].textContent.startsWith('this machine, slot')")
            assert find(browser, "#state").text == "Running."
            assert "Being judged" in find(browser, ".tiles").text
            wait_until(browser, "document.querySelectorAll('figure rect[class=v-ce]').length")
            assert HOSTILE[0] in find(browser, "[data-kind=leaderboard]").text
            assert violations(browser) == []
            wait_until(browser, "document.querySelector('#state').textContent === 'The run has ended.'")
            tiles = find(browser, ".tiles").text
            assert "on average" in tiles and "Being judged" not in tiles and "Time left" not in tiles
            assert not browser.find_elements("css selector", "#live-now")
            wait_until(browser, "document.querySelector('.about')?.textContent.includes('complete')")
            assert find(browser, "#problems").get_attribute("hidden") is not None
            browser.get("about:blank")
    finally:
        scoring.kill()
        scoring.communicate()


def test_live_page_shows_stopped_run_and_resume_command(failing: Path, browser: Any) -> None:
    write_progress(failing, Progress(total=40, at=time.time(), ended=True, stopped=True))
    with serving(failing, browser) as address:
        browser.get(address)
        wait_for(browser, 19)
        assert find(browser, "#state").text.startswith("The run was stopped before its end.")
        assert find(browser, "#command").is_displayed()
        assert "1 could not be judged" in find(browser, ".about").text
        browser.get("about:blank")


def test_live_page_warns_of_a_run_without_sign_of_life(failing: Path, browser: Any) -> None:
    doing = ActiveSubmission(key=HOSTILE[0], problem="p", step="build", where="", since=time.time() - 300)
    timeline = Timeline(
        begin=time.time() - 600, step=5.0, counts=({"AC": 3, "unscored": 1}, {}, {HOSTILE[0]: 2})
    )
    state = Progress(
        total=40,
        at=time.time() - 300,
        under_way=41,
        building=9,
        builds_waiting=4,
        submissions=(doing,),
        timeline=timeline,
    )
    write_progress(failing, state)
    with serving(failing, browser) as address:
        for width, scheme in ((400, "dark"), (1400, "light")):
            browser.set_window_size(width, 900)
            media(browser, scheme=scheme)
            browser.get(address)
            wait_for(browser, 19)
            assert find(browser, "#state").text.startswith("No sign of the run for 5 min")
            open_folds(browser)
            live_text = find(browser, "#live-now").text
            assert "41 submissions, 9 builds (4 waiting for a slot)" in live_text
            assert HOSTILE[0] in live_text and "waits for a slot" in live_text
            age = "document.querySelector('#live-now td.number').textContent"
            shown_age = browser.execute_script(f"return {age}")
            assert re.fullmatch(r"\d+ min \d\d s", shown_age)
            wait_until(browser, f"{age} !== {shown_age!r}")
            assert "24.0 on average, at most 48.0." in find(browser, "#overview").text
            assert shorten_name(HOSTILE[0]) in find(browser, "figure svg").text
            assert violations(browser) == []
            assert browser.execute_script("return document.documentElement.scrollWidth - innerWidth") <= 0
        browser.get("about:blank")  # before the server stops


def test_live_page_is_usable_by_keyboard(failing: Path, browser: Any) -> None:
    with serving(failing, browser) as address:
        browser.get(address)
        wait_for(browser, 19)
        check_tabs(browser)
        for width, scheme in ((400, "dark"), (1400, "light")):
            browser.set_window_size(width, 900)
            media(browser, scheme=scheme)
            assert violations(browser) == []
        reach(browser, "#copy")
        reach(browser, "#live-servers summary")
        press(browser, ENTER)
        assert "no answer" in find(browser, "#live-servers").text
        reach(browser, "nav.tabs a[href*=failures]")
        press(browser, ENTER)
        assert "no server answers" in find(browser, "#failures").text
        browser.get("about:blank")
