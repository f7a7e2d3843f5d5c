"""Reads the code blocks of the documentation pages, and by which test each is run.

A block that tests/docs does not run has a comment before it, which readers do not see:

    <!-- run by tests/unit/test_library_page.py -->
    <!-- not run: needs a cluster -->
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FOUND = (*ROOT.glob("docs/**/*.md"), *ROOT.glob("[!.]*/README.md"), *ROOT.glob("*.md"))
PAGES = sorted({path.relative_to(ROOT).as_posix() for path in _FOUND})
_FENCE = re.compile(
    r"^(?:<!-- (?P<how>run by|not run:) (?P<what>[^\n]*) -->\n\n?)?"
    r"(?P<indent> *)```(?P<kind>\w*)\n(?P<code>.*?)^(?P=indent)```$",
    re.M | re.S,
)


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    kind: str
    code: str
    run_by: str = ""
    not_run: str = ""

    @property
    def runs_here(self) -> bool:
        return not self.run_by and not self.not_run

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: str) -> list[Block]:
    markdown = (ROOT / page).read_text()
    return [
        Block(
            page,
            markdown.count("\n", 0, fence.start("kind")) + 1,
            fence["kind"],
            fence["code"],
            run_by=fence["what"] if fence["how"] == "run by" else "",
            not_run=fence["what"] if fence["how"] == "not run:" else "",
        )
        for fence in _FENCE.finditer(markdown)
    ]


def matches(expected: str, printed: str) -> bool:
    """Return True if a page shows the printed text. A line `...` stands for any number of lines."""
    shown = expected.splitlines()
    pattern = ("(?:.*\n)*" if line.strip() == "..." else f"{re.escape(line.rstrip())} *\n" for line in shown)
    return re.fullmatch("".join(pattern), "".join(f"{line}\n" for line in printed.splitlines())) is not None
