#!/usr/bin/env python3
"""Makes docs/images/throughput.svg from the first table of docs/performance.md."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
PICTURE = DOCS / "images" / "throughput.svg"
NAMES = {
    "bare loop": "a bare loop, no limits, no box",
    "ioi_eval, without the header": "ioi_eval, no precompiled header",
    "ioi_eval, by default": "ioi_eval",
    "classic shape": "a job per test, as pipelines send them",
}
STYLE = "font-family='sans-serif' font-size='14'"
TITLE = "Tests a second on 2 cores, 12 submissions x 40 tests"
LEFT, WIDTH, STEP = 290, 400, 30


def read_rates() -> dict[str, float]:
    """Return the tests per second with white-diff, by the first cell of the row in the table."""
    page = (DOCS / "performance.md").read_text()
    return {name: float(re.findall(rf"^\| {name} \| ([\d.]+) ", page, re.M)[0]) for name in NAMES}


def draw_chart(rates_by_name: dict[str, float]) -> str:
    max_rate = max(rates_by_name.values())
    svg_elements = [f"<text x='10' y='24' {STYLE} font-weight='bold'>{TITLE}</text>"]
    for row, (name, rate) in enumerate(sorted(rates_by_name.items(), key=lambda pair: -pair[1])):
        bar_top, bar_width = 40 + row * STEP, max(2.0, rate / max_rate * WIDTH)
        colour = "#3949ab" if name.startswith("ioi_eval") else "#9e9e9e"
        svg_elements += [
            f"<text x='{LEFT - 10}' y='{bar_top + 16}' {STYLE} text-anchor='end'>{NAMES[name]}</text>",
            f"<rect x='{LEFT}' y='{bar_top}' width='{bar_width:.1f}' height='22' fill='{colour}'/>",
            f"<text x='{LEFT + bar_width + 8:.1f}' y='{bar_top + 16}' {STYLE}>{rate:g}</text>",
        ]
    height = 50 + len(rates_by_name) * STEP
    svg_tag = f"<svg xmlns='http://www.w3.org/2000/svg' width='760' height='{height}' role='img'>"
    return "\n".join([svg_tag, "<rect width='100%' height='100%' fill='white'/>", *svg_elements, "</svg>\n"])


if __name__ == "__main__":
    PICTURE.write_text(draw_chart(read_rates()))
