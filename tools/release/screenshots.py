#!/usr/bin/env python3
"""Makes docs/images/: pictures of reports of the recorded run and of an invented contest.

.venv/bin/python tools/release/screenshots.py [FOLDER]
"""

from __future__ import annotations

import asyncio
import base64
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from selenium import webdriver

from ioi_eval import load_problems, report_sync
from ioi_eval.plugins.contest import Rules, open_contest
from ioi_eval.testing import FakeEngine

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "examples" / "recorded.tar.xz"
# Screenshots to take: name, page or its title, colour scheme, width, heading of the first section, height.
PICTURES = (
    ("report.png", "report.html", "light", 1400, "", 1000),
    ("grid.png", "report.html#problems", "dark", 1100, "", 720),
    ("problem.png", "Problem lanterns", "light", 1100, "", 1400),
)
CONTEST = (("scoreboard.png", "report.html", "light", 1100, "Scoreboard", 860),)
# Submissions of the contest: seconds from its start, participant, problem, number of passed tests.
STEPS = (
    (310, "otter", "lanterns", range(16)),
    (540, "heron", "tide", range(99)),
    (900, "lynx", "banners", range(3)),
    (1260, "otter", "lanterns", range(99)),
    (1500, "heron", "lanterns", range(12)),
    (1830, "lynx", "tide", range(99)),
    (2400, "heron", "banners", range(99)),
    (3050, "otter", "tide", range(4)),
    (3725, "otter", "tide", range(99)),
    (3990, "lynx", "lanterns", range(16)),
    (4400, "otter", "banners", range(2)),
)


async def run_demo_contest(folder: Path) -> None:
    clock = [0.0]
    problem_names = {problem for _, _, problem, _ in STEPS}
    problems = load_problems(ROOT / "examples" / "problems", only=problem_names, cache=folder / "cache")
    engine = FakeEngine(lambda test: float(test.index < int(test.source.split()[0])))
    async with open_contest(
        problems, Rules(), out=folder / "cup", engine=engine, clock=lambda: clock[0]
    ) as contest:
        for number, (clock[0], participant, problem, passed_tests) in enumerate(STEPS):
            await contest.session(participant).submit(problem, f"{len(passed_tests)} {number}")


def find_page_url(folder: Path, page: str) -> str:
    if page.startswith("report.html"):
        return (folder / "report.html").as_uri() + page.removeprefix("report.html")
    page_paths = (folder / "report").glob("*.html")
    return next(path for path in page_paths if f"<title>{page}<" in path.read_text()).as_uri()


def take_screenshot(
    browser: Any, page: str, colour_scheme: str, width: int, section: str, height: int
) -> bytes:
    features = [{"name": "prefers-color-scheme", "value": colour_scheme}]
    window_size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", window_size)
    browser.get(page)
    section_top = browser.execute_script(
        "const heads = [...document.querySelectorAll('h2')];"
        "const found = heads.find((head) => head.textContent === arguments[0]);"
        "return found ? found.getBoundingClientRect().top - 20 : 0",
        section,
    )
    clip = {"x": 0, "y": section_top, "width": width, "height": height, "scale": 1}
    picture = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    return base64.b64decode(picture["data"])


def main() -> None:
    picture_folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
    picture_folder.mkdir(parents=True, exist_ok=True)
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    with tempfile.TemporaryDirectory() as temporary_folder, webdriver.Chrome(options, service) as browser:
        folder = Path(temporary_folder)
        with tarfile.open(RECORDED) as archive:
            archive.extractall(folder)
        report_sync(folder)
        for name, page, *view in PICTURES:
            (picture_folder / name).write_bytes(take_screenshot(browser, find_page_url(folder, page), *view))
        asyncio.run(run_demo_contest(folder))
        for name, page, *view in CONTEST:
            (picture_folder / name).write_bytes(
                take_screenshot(browser, find_page_url(folder / "cup", page), *view)
            )


if __name__ == "__main__":
    main()
