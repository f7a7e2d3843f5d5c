"""The nesting of JSON from elsewhere, checked before a decoder follows it.

Decoders recurse in C as far as `sys.setrecursionlimit` lets them, which is anybody's to raise. A reply of
brackets alone then overflows the stack and ends the process.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TypeVar

import msgspec

DEEPEST = 500  # lists and objects in each other, as many as the proctor compares
_CHUNK = 1 << 18  # what is looked at in one go, so that no copy of a large text is made
_PART = DEEPEST // 2
_SHORT = 1 << 13
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NEITHER_BRACKET_NOR_QUOTE = bytes(set(range(256)) - set(b'[]{}"'))

Text = TypeVar("Text", bound=bytes | str)


class NestedTooDeep(msgspec.DecodeError, ValueError):
    """An error that callers of either kind of decoder expect."""

    def __init__(self) -> None:
        super().__init__(f"nested deeper than {DEEPEST} lists and objects")


def shallow(text: Text) -> Text:
    """The text as it is, or NestedTooDeep. Whether it is JSON at all is the decoder's to say.

    Only one with more opening brackets than may be in each other is followed. A search for one goes through a
    program in base64, which has none, many times as fast as counting does; rows have some.
    """
    found, brackets = 0, "[{" if isinstance(text, str) else (b"[", b"{")
    for bracket in brackets:
        if len(text) < _SHORT:
            found += text.count(bracket)  # type: ignore[arg-type]
            continue
        place = text.find(bracket)  # type: ignore[arg-type]
        while place >= 0 and found <= DEEPEST:
            found += 1
            place = text.find(bracket, place + 1)  # type: ignore[arg-type]
    if found > DEEPEST:
        nesting = Nesting()
        for start in range(0, len(text), _CHUNK):
            nesting.feed(text[start : start + _CHUNK])
    return text


class Nesting:
    """Follows the brackets of a text that comes in pieces, as far as it is JSON."""

    def __init__(self) -> None:
        self._depth, self._in_string, self._cut_off = 0, False, b""

    def feed(self, piece: bytes | str) -> None:
        """Raises NestedTooDeep."""
        brackets = self._brackets(piece if isinstance(piece, bytes) else piece.encode(errors="surrogatepass"))
        for start in range(0, len(brackets), _PART):
            part = brackets[start : start + _PART]
            opening = part.count(b"[")
            if self._depth + opening > DEEPEST:
                # How far above its start a part comes: between the codes of the two brackets is one other.
                highest = max(accumulate(map((ord("[") + 1).__sub__, part)))
                if self._depth + highest > DEEPEST:
                    raise NestedTooDeep
            self._depth += 2 * opening - len(part)

    def _brackets(self, piece: bytes) -> bytes:
        """Return the brackets outside of strings, all made square. Only strings have backslashes."""
        text = self._cut_off + piece
        self._cut_off = b"\\" * ((len(text) - len(text.rstrip(b"\\"))) % 2)
        text = text[: len(text) - len(self._cut_off)].replace(b"\\\\", b"").replace(b'\\"', b"")
        in_and_out = text.translate(_BRACKETS, _NEITHER_BRACKET_NOR_QUOTE).split(b'"')
        outside = b"".join(in_and_out[self._in_string :: 2])
        self._in_string ^= len(in_and_out) % 2 == 0
        return outside
