"""Programs in C++ that use what programs use: built in two ways, they must be the same to the byte."""

from __future__ import annotations

from pathlib import Path

CORPUS = {path.stem: path.read_text() for path in sorted(Path(__file__).with_name("corpus").glob("*.cpp"))}


def commented(source: str, mark: str) -> str:
    """Return the program with comments of both kinds, over several lines, and blanks at the ends of lines."""
    lines = []
    for number, line in enumerate(source.splitlines()):
        before = "" if line.startswith("#") else f'/* {mark} "{number} */ '
        joins = number % 3 == 1 and not line.startswith("#") and "//" not in line
        after = f"  /* {mark}\n it's */\t" if joins else " \t"
        lines.append(f"{before}{line}{after}// {mark} /* {number}\t\n")
    return "".join(lines)
