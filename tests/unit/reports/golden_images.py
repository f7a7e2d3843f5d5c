"""Small images of the report's pages, and a comparison of images.

To update them after an intended change, run PYTHONPATH=tests .venv/bin/python
tests/unit/reports/golden_images.py
"""

from __future__ import annotations

import base64
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from support.browsers import opened
from support.runs import extract_recorded_run

from ioi_eval.reports.document import make_submission_page_filename, name_problem_page

FOLDER = Path(__file__).with_name("golden")
MADE_WITH = FOLDER / "made_with.json"
_SUBMISSION = f"report/{make_submission_page_filename('invented-huge-tide-03')}"
# Name: page, width, colour scheme, medium.
PICTURES = {
    "report": ("report.html", 1400, "light", ""),
    "report-dark": ("report.html", 1400, "dark", ""),
    "report-narrow": ("report.html", 400, "light", ""),
    "report-print": ("report.html", 800, "light", "print"),
    "problem": (f"report/{name_problem_page('tide')}", 1000, "light", ""),
    "submission": (_SUBMISSION, 1000, "dark", ""),
}
_SCALE, _HEIGHT = 0.25, 2000  # size of the picture relative to the page; pixels of the page
_CELL, _FAR = 4, 24  # width of a compared cell, in pixels; smallest difference of colours, of 255
MOST = 0.03  # of the cells
# Both are drawn so small that a letter is a shade: only positions, sizes and colours remain.
_COMPARE = """
    const [first, second, cell, far, done] = arguments;
    const drawn = async (data) => {
      const image = new Image();
      image.src = `data:image/png;base64,${data}`;
      await image.decode();
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [Math.floor(image.width / cell), Math.floor(image.height / cell)];
      const context = canvas.getContext("2d");
      context.imageSmoothingQuality = "high";
      context.drawImage(image, 0, 0, canvas.width, canvas.height);
      return context.getImageData(0, 0, canvas.width, canvas.height);
    };
    Promise.all([drawn(first), drawn(second)]).then(([a, b]) => {
      if (a.width !== b.width || a.height !== b.height) return done(1);
      let different = 0;
      for (let i = 0; i < a.data.length; i += 4)
        different += [0, 1, 2].some((c) => Math.abs(a.data[i + c] - b.data[i + c]) > far);
      done(different / (a.data.length / 4));
    });
"""


def image_versions(browser: Any) -> dict[str, str]:
    """Return the versions that change an image: the browser and the fonts."""
    command = ["fc-match", "-f", "%{family}", "system-ui"]
    font = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return {"chromium": browser.capabilities["browserVersion"].partition(".")[0], "font": font}


def taken(browser: Any, folder: Path, name: str) -> bytes:
    page, width, scheme, medium = PICTURES[name]
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": medium, "features": features})
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        browser.get((folder / page).as_uri())
        clip = {"x": 0, "y": 0, "width": width, "height": _HEIGHT, "scale": _SCALE}
        shot = {"captureBeyondViewport": True, "clip": clip}
        return base64.b64decode(browser.execute_cdp_cmd("Page.captureScreenshot", shot)["data"])
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def differing_share(browser: Any, first: bytes, other: bytes) -> float:
    """Return the share of cells with different colours, or 1 if the sizes differ."""
    browser.get("about:blank")
    pictures = (base64.b64encode(picture).decode() for picture in (first, other))
    return float(browser.execute_async_script(_COMPARE, *pictures, _CELL, _FAR))


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary, opened() as browser:
        folder = extract_recorded_run(Path(temporary))
        for name in PICTURES:
            (FOLDER / f"{name}.png").write_bytes(taken(browser, folder, name))
        MADE_WITH.write_text(json.dumps(image_versions(browser)) + "\n")


if __name__ == "__main__":
    main()
