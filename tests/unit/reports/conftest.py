"""Chromium, and runs whose pages it opens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import errors, media
from support.browsers import chromium
from test_html_page import HOSTILE
from test_pages import run


@pytest.fixture(scope="module")
def opened_browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def browser(opened_browser: Any) -> Any:
    """Return the module's browser with a wide window, whatever size the previous test left."""
    opened_browser.set_window_size(1400, 900)
    return opened_browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("browser") / "run", text=HOSTILE[0])


@pytest.fixture
def nothing_went_wrong(browser: Any) -> Iterator[None]:
    """Check that no page logs an error or loads anything but files."""
    yield
    media(browser)
    assert errors(browser) == []
    requests = set(re.findall(r'"url\\?":\\?"([a-z]+:)(//[^/]*)', str(browser.get_log("performance"))))
    beyond = {host for kind, host in requests if kind == "http:" and not host.startswith("//127.0.0.1:")}
    kinds = {kind for kind, _ in requests}
    assert not beyond and kinds <= {"file:", "data:", "about:", "blob:", "chrome:", "http:"}
