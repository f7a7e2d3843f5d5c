"""Text of models, rows and clients in files and pages that people read with `cat` or `curl`.

A terminal acts on some characters: an escape sequence may begin with one from beyond ASCII, and others turn
the direction of writing. JSON escapes only those below a blank; here all are escaped, which changes no value.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import msgspec

# In UTF-8: delete, the controls of Latin-1, soft hyphens, what is invisible or turns the direction, Unicode's
# line breaks, tags. None of these bytes begins another character.
_ACTING = re.compile(
    rb"\x7f|\xc2[\x80-\x9f\xad]|\xd8\x9c|\xe1\xa0\x8e|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]"
    rb"|\xef\xbb\xbf|\xef\xbf[\xb9-\xbb]|\xf3\xa0[\x80\x81][\x80-\xbf]"
)
_CATEGORIES = frozenset({"Cc", "Cf", "Zl", "Zp"})


def as_json(value: Any, *, indented: bool = False) -> bytes:
    """Return a value as JSON in which nothing is left that a terminal could act on."""
    data = msgspec.json.encode(value)
    return _ACTING.sub(_escaped, msgspec.json.format(data) if indented else data)


def _escaped(found: re.Match[bytes]) -> bytes:
    units = found[0].decode().encode("utf-16-be")
    return b"".join(b"\\u%02x%02x" % (units[n], units[n + 1]) for n in range(0, len(units), 2))


def as_label(text: str) -> str:
    """Return the value of a Prometheus label, with its quotes. It knows three escapes: the rest is spelt."""
    spelt = "".join(
        f"\\u{ord(char):04x}" if char != "\n" and unicodedata.category(char) in _CATEGORIES else char
        for char in text
    )
    escaped = spelt.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
