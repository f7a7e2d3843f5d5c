"""Debian's Chromium, for tests of pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from requirements import skip_or_fail_in_ci


@contextmanager
def chromium() -> Iterator[Any]:
    """Open a headless Chromium. Skip the test if it is not installed."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        skip_or_fail_in_ci("selenium")
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        skip_or_fail_in_ci("chromium and chromedriver (apt-get install chromium-driver)")
    with opened() as browser:
        yield browser


def opened() -> Any:
    """Return a headless Chromium with reproducible settings."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    browser.set_script_timeout(600)  # a busy machine is slow
    browser.set_page_load_timeout(600)
    # Otherwise the window passes the focus to the page with a delay, after the first key and after Tab on the
    # last control. Until then no element of the page has the focus.
    browser.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
    return browser
