#!/usr/bin/env python3
"""Makes docs/images/: pictures of the report of the recorded run, as Chromium shows it.

.venv/bin/python scripts/screenshots.py [FOLDER]
"""

from __future__ import annotations

import base64
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from selenium import webdriver

from ioi_eval import report_sync

ROOT = Path(__file__).resolve().parents[1]
RECORDED = ROOT / "examples" / "recorded.tar.xz"
# Name, page or its title, light or dark, width, from which section on, height.
PICTURES = (
    ("report.png", "report.html", "light", 1400, "", 1260),
    ("grid.png", "report.html", "dark", 1100, "Board", 1000),
    ("problem.png", "Problem lanterns", "light", 1100, "", 1400),
)


def found(folder: Path, page: str) -> Path:
    if page.endswith(".html"):
        return folder / page
    return next(one for one in (folder / "report").glob("*.html") if f"<title>{page}<" in one.read_text())


def taken(browser: Any, page: Path, scheme: str, width: int, section: str, height: int) -> bytes:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(page.as_uri())
    top = browser.execute_script(
        "const heads = [...document.querySelectorAll('h2')];"
        "const found = heads.find((head) => head.textContent === arguments[0]);"
        "return found ? found.getBoundingClientRect().top - 20 : 0",
        section,
    )
    clip = {"x": 0, "y": top, "width": width, "height": height, "scale": 1}
    picture = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    return base64.b64decode(picture["data"])


def main() -> None:
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
    target.mkdir(parents=True, exist_ok=True)
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    with tempfile.TemporaryDirectory() as temporary, webdriver.Chrome(options, service) as browser:
        folder = Path(temporary)
        with tarfile.open(RECORDED) as archive:
            archive.extractall(folder)
        report_sync(folder)
        for name, page, *how in PICTURES:
            (target / name).write_bytes(taken(browser, found(folder, page), *how))


if __name__ == "__main__":
    main()
