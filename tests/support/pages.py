"""Reads the code blocks of the documentation pages, and by which test each is run.

A block that tests/docs does not run has a comment before it, which readers do not see:

    <!-- run by tests/unit/test_library_page.py -->
    <!-- not run: needs a cluster -->

A table or diagram that is made from the code has a comment before it that names the test which writes it:

    <!-- retry rules, written by pytest --update tests/docs/test_retry_rules.py -->
"""

from __future__ import annotations

import fcntl
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


def check_generated(page: str, name: str, lines: list[str], *, update: bool) -> None:
    """Compare the lines after a page's comment `<!-- NAME, written by ... -->`, up to an empty line.

    With `update`, write these lines into the page.
    """
    generated = re.compile(rf"^(<!-- {re.escape(name)}, written by .* -->\n)(?:.+\n)*", re.MULTILINE)
    text = "".join(f"{line}\n" for line in lines)
    with (ROOT / page).open("r+" if update else "r") as file:
        if update:
            fcntl.flock(file, fcntl.LOCK_EX)  # another process may write another table of the page
        markdown = file.read()
        expected, found = generated.subn(lambda comment: comment[1] + text, markdown)
        assert found == 1, f"{page} has {found} comments of {name}"
        if update:
            file.seek(0)
            file.write(expected)
            file.truncate()
        else:
            assert markdown == expected
