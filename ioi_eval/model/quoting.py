"""Escape characters that affect a terminal, in files and pages that people read with `cat` or `curl`.

Texts come from models, rows and clients. Some characters start an escape sequence, even beyond ASCII, or
change the writing direction. JSON escapes only those below U+0020. The functions here escape all of them,
which does not change the value.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import msgspec

# UTF-8 patterns of characters that may disturb a terminal: delete, the Latin-1 controls, soft hyphens,
# invisible and direction characters, Unicode line breaks, tags. In UTF-8, a match cannot begin in the middle
# of another character.
_TERMINAL_CHARACTERS = re.compile(
    rb"\x7f|\xc2[\x80-\x9f\xad]|\xd8\x9c|\xe1\xa0\x8e|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]"
    rb"|\xef\xbb\xbf|\xef\xbf[\xb9-\xbb]|\xf3\xa0[\x80\x81][\x80-\xbf]"
)
_CATEGORIES = frozenset({"Cc", "Cf", "Zl", "Zp"})


def encode_terminal_safe_json(value: Any, *, indented: bool = False) -> bytes:
    """Return a value as JSON without characters that affect a terminal."""
    data = msgspec.json.encode(value)
    return _TERMINAL_CHARACTERS.sub(_escape_match, msgspec.json.format(data) if indented else data)


def _escape_match(match: re.Match[bytes]) -> bytes:
    utf16_units = match[0].decode().encode("utf-16-be")
    return b"".join(
        b"\\u%02x%02x" % (utf16_units[index], utf16_units[index + 1])
        for index in range(0, len(utf16_units), 2)
    )


def quote_label(text: str) -> str:
    """Return the value of a Prometheus label in quotes.

    Labels have only three escapes, so all other special characters are spelled out.
    """
    spelled_text = "".join(
        f"\\u{ord(char):04x}" if char != "\n" and unicodedata.category(char) in _CATEGORIES else char
        for char in text
    )
    escaped_text = spelled_text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped_text}"'
