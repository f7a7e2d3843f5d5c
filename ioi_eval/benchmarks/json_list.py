"""The objects of one large JSON list, one after the other, without holding the list."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple, TextIO

from ioi_eval.model.errors import InputError
from ioi_eval.model.nesting import NestedTooDeep, Nesting

# Not ijson: five times as fast, but our messages name lines, which it does not know, and it takes no NaN.
_CHUNK = 1 << 20  # characters
_LONGEST_TOKEN = 16  # characters; what a cut-off number, word or escape may have at the end of what was read
_SPACE = " \t\r\n"


class Element(NamedTuple):
    line: int  # where it starts
    value: Any


def elements(stream: TextIO, where: str) -> Iterator[Element]:
    """The elements of the list in a stream; InputError where it is not one.

    Made for objects: of a number, the last digits may still be unread.
    """
    window = _Window(stream, where)
    window.expect("[")
    while window.next() != "]":
        line = window.line
        yield Element(line, window.value())
        if window.next() != "]":
            window.expect(",")
            if window.next() == "]":
                raise window.broken("a comma with nothing behind it")
    window.expect("]")
    if window.next():
        raise window.broken("something behind the end of the list")


class _Window:
    """The part of the stream that was read and not used yet."""

    def __init__(self, stream: TextIO, where: str) -> None:
        self._stream, self._where = stream, where
        self._text, self._at = "", 0
        self._decoder, self._nesting = json.JSONDecoder(), Nesting()
        self.line = 1

    def next(self) -> str:
        """The next character that is not white space, not used up; empty at the end."""
        while True:
            start = self._at
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            self.line += self._text.count("\n", start, self._at)
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def expect(self, character: str) -> None:
        found = self.next()
        if found != character:
            raise self.broken(f"expected {character!r}, found {found!r}" if found else "it ends too early")
        self._at += 1

    def value(self) -> Any:
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if not (self._may_go_on(error) and self._more()):
                    raise self._broken_at(error.pos, error.msg) from error
            except ValueError as error:
                raise self.broken(str(error)) from error
            else:
                self.line += self._text.count("\n", self._at, end)
                self._at = end
                return value

    def broken(self, reason: str) -> InputError:
        return self._broken_at(self._at, reason)

    def _broken_at(self, position: int, reason: str) -> InputError:
        return InputError(
            f"broken JSON: {reason}",
            where=self._where,
            row=self.line + self._text.count("\n", self._at, position),
            remedy="Expected a list of objects, or one object per line",
        )

    def _may_go_on(self, error: json.JSONDecodeError) -> bool:
        """Return True if more text could mend the error, which points at a string that is cut off."""
        cut_off = error.msg.startswith("Unterminated string")
        return cut_off or error.pos >= len(self._text) - _LONGEST_TOKEN

    def _more(self) -> bool:
        """Reads as much again as is unused, so that a long element costs no more than twice its length."""
        piece = self._stream.read(max(_CHUNK, len(self._text) - self._at))
        if piece:
            try:
                self._nesting.feed(piece)
            except NestedTooDeep as error:
                raise self.broken(str(error)) from error
            self._text, self._at = self._text[self._at :] + piece, 0
        return bool(piece)
