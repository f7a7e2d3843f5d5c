"""Tokens and keys: texts that go into requests and nowhere else, not even where somebody repeats them."""

from __future__ import annotations

import base64
import re
from typing import Self

_HIDDEN = "***"
_LEAST = 12  # characters; a shorter one, as a server without keys is given, may well stand in a program
_NAMES = re.compile(r"([A-Z0-9]+_)*KEY|(?i:(.*[_-])?((api|access|secret)[_-]?key|token|secret|password))")


class Secret(str):
    """A text that whoever looks at a value, a header or a variable in a stack does not see."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(_HIDDEN)

    @property
    def bearer(self) -> Self:
        """Return the value of the header `Authorization`."""
        return type(self)(f"Bearer {self}")

    def out_of(self, text: str) -> str:
        """A message without it."""
        return text.replace(self, _HIDDEN) if self else text

    def out_of_reply(self, body: bytes) -> bytes:
        """Remove the secret from a reply, also as JSON may write it. A short one stays: it may be a word."""
        if len(self) < _LEAST:
            return body
        for written in {self.encode(), self.replace("/", "\\/").encode()}:
            body = body.replace(written, _HIDDEN.encode())
        return body


class Login(Secret):
    """A user and a password with a colon between them, as gateways ask for by HTTP's scheme Basic."""

    __slots__ = ()

    @property
    def packed(self) -> Secret:
        return Secret(base64.b64encode(self.encode()).decode())

    @property
    def bearer(self) -> Self:
        return type(self)(f"Basic {self.packed}")

    @property
    def forms(self) -> tuple[Secret, ...]:
        """Return all that is not to be shown: itself, as it is sent, and a password that is no word."""
        password = Secret(self.partition(":")[2])
        return (self, self.packed, *([password] if len(password) >= _LEAST else []))


def names_a_secret(name: str) -> bool:
    """Return True if a value of that name is likely to be a secret."""
    return _NAMES.fullmatch(name) is not None
