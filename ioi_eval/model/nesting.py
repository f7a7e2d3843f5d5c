"""Check how deeply external JSON is nested before a decoder follows it.

Decoders recurse in C up to `sys.setrecursionlimit`, which any code may raise. A reply of brackets alone could
then overflow the stack and crash the process.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TypeVar

import msgspec

DEEPEST = 500  # maximum depth of nested lists and objects, as in the proctor
# Number of characters that are checked at a time, so that a large string is never copied as a whole.
_CHUNK = 1 << 18
_PART_LENGTH = DEEPEST // 2
_COUNTED_LENGTH = 1 << 13
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NEITHER_BRACKET_NOR_QUOTE = bytes(set(range(256)) - set(b'[]{}"'))

Text = TypeVar("Text", bound=bytes | str)


class NestedTooDeep(msgspec.DecodeError, ValueError):
    """Raised for JSON that is nested too deeply. Its bases are the errors of both JSON decoders."""

    def __init__(self) -> None:
        super().__init__(f"nested deeper than {DEEPEST} lists and objects")


def require_shallow(text: Text) -> Text:
    """Return the text unchanged, or raise NestedTooDeep. The text may be invalid JSON.

    The depth is only computed if the text has more opening brackets than the maximum depth. Searching for a
    bracket is many times faster than counting in long texts without brackets, such as base64 data. Rows
    contain a few brackets.
    """
    bracket_count, brackets = 0, "[{" if isinstance(text, str) else (b"[", b"{")
    for bracket in brackets:
        if len(text) < _COUNTED_LENGTH:
            bracket_count += text.count(bracket)  # type: ignore[arg-type]
            continue
        position = text.find(bracket)  # type: ignore[arg-type]
        while position >= 0 and bracket_count <= DEEPEST:
            bracket_count += 1
            position = text.find(bracket, position + 1)  # type: ignore[arg-type]
    if bracket_count > DEEPEST:
        nesting = NestingChecker()
        for start in range(0, len(text), _CHUNK):
            nesting.check_piece(text[start : start + _CHUNK])
    return text


class NestingChecker:
    """Checks the nesting depth of a JSON text that arrives in pieces."""

    def __init__(self) -> None:
        self._depth, self._in_string, self._cut_off_backslash = 0, False, b""

    def check_piece(self, piece: bytes | str) -> None:
        """Check the next piece of the text. Raises NestedTooDeep."""
        brackets = self._extract_brackets(
            piece if isinstance(piece, bytes) else piece.encode(errors="surrogatepass")
        )
        for start in range(0, len(brackets), _PART_LENGTH):
            bracket_slice = brackets[start : start + _PART_LENGTH]
            opening_count = bracket_slice.count(b"[")
            if self._depth + opening_count > DEEPEST:
                # Compute the maximum depth in this part. ord("[") is 91 and ord("]") is 93, so `92 - code` is
                # +1 for an opening bracket and -1 for a closing bracket.
                max_depth_change = max(accumulate(map((ord("[") + 1).__sub__, bracket_slice)))
                if self._depth + max_depth_change > DEEPEST:
                    raise NestedTooDeep
            self._depth += 2 * opening_count - len(bracket_slice)

    def _extract_brackets(self, piece: bytes) -> bytes:
        """Return the brackets outside of strings, all converted to square brackets.

        Backslashes occur only in strings, so escapes can be removed first.
        """
        unescaped = self._cut_off_backslash + piece
        self._cut_off_backslash = b"\\" * ((len(unescaped) - len(unescaped.rstrip(b"\\"))) % 2)
        unescaped = (
            unescaped[: len(unescaped) - len(self._cut_off_backslash)]
            .replace(b"\\\\", b"")
            .replace(b'\\"', b"")
        )
        alternating_pieces = unescaped.translate(_BRACKETS, _NEITHER_BRACKET_NOR_QUOTE).split(b'"')
        text_outside_strings = b"".join(alternating_pieces[self._in_string :: 2])
        self._in_string ^= len(alternating_pieces) % 2 == 0
        return text_outside_strings
