"""Debian's Chromium, for tests of pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from missing import lacks


@contextmanager
def chromium() -> Iterator[Any]:
    """Skip the test where it is not installed."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        lacks("selenium")
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        lacks("chromium and chromedriver (apt-get install chromium-driver)")
    with opened() as browser:
        yield browser


def opened() -> Any:
    """As little different from one time to another as can be."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    browser.set_script_timeout(600)  # a busy machine is slow
    browser.set_page_load_timeout(600)
    # The browser's window hands the focus to a page with the first key, and again when Tab has gone behind
    # the last control, at a time of its own: until then nothing on the page looks as if it had it.
    browser.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
    return browser
