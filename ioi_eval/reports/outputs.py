"""A wrong output beside the expected one, line by line, with the words marked that differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

from ioi_eval.reports.document import visible

_WORD = re.compile(r"\S+")


def compared(output: str, expected: str) -> Any:
    """The rows of a table as HTML: the number of a line, the line that was written, the expected one."""
    from markupsafe import Markup

    pairs = enumerate(_pairs(output.splitlines(), expected.splitlines()), start=1)
    rows = ((number, *_marked(*map(_words, pair))) for number, pair in pairs)
    return Markup("".join(f"<tr><td>{number}</td>{one}{other}</tr>\n" for number, one, other in rows))


def _pairs(output: Sequence[str], expected: Sequence[str]) -> Iterator[tuple[str | None, str | None]]:
    """Lines that belong together; where one of the two has more of them, beside none."""
    for _, start, end, other_start, other_end in SequenceMatcher(
        None, output, expected, autojunk=False
    ).get_opcodes():
        yield from zip_longest(output[start:end], expected[other_start:other_end])


def _words(line: str | None) -> list[str] | None:
    return None if line is None else [visible(word) for word in _WORD.findall(line)]


def _marked(output: list[str] | None, expected: list[str] | None) -> tuple[str, str]:
    """Both as cells. Checkers mostly compare words, so blanks are left out."""
    if output is None or expected is None:
        return _cell(output, "del"), _cell(expected, "ins")
    one, other = list[str](), list[str]()
    for same, start, end, other_start, other_end in SequenceMatcher(
        None, output, expected, autojunk=False
    ).get_opcodes():
        for pieces, words, tag in (
            (one, output[start:end], "del"),
            (other, expected[other_start:other_end], "ins"),
        ):
            pieces += [_text(words)] if same == "equal" else [_in(tag, words)] if words else []
    return f"<td>{' '.join(one)}</td>", f"<td>{' '.join(other)}</td>"


def _cell(words: list[str] | None, tag: str) -> str:
    """A line that the other side has not; or its place, where this side has none."""
    return '<td class="none"></td>' if words is None else f"<td>{_in(tag, words)}</td>"


def _in(tag: str, words: Sequence[str]) -> str:
    return f"<{tag}>{_text(words) or '&nbsp;'}</{tag}>"


def _text(words: Sequence[str]) -> str:
    from markupsafe import escape

    return str(escape(" ".join(words)))
