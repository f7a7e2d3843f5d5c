"""Tokens and keys, which are sent in requests but never shown, even if a server repeats them."""

from __future__ import annotations

import base64
import re
from typing import Self

_HIDDEN = "***"
# Minimum characters of a secret that is removed from replies. A shorter secret may be an ordinary word.
_MIN_LENGTH = 12
_SECRET_NAMES = re.compile(
    r"([A-Z0-9]+_)*KEY|(?i:(.*[_-])?((api|access|secret)[_-]?key|token|secret|password))"
)


class Secret(str):
    """A string that is hidden when a value, a header or a variable in a stack trace is shown."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(_HIDDEN)

    @property
    def as_authorization_header(self) -> Self:
        """Return the value of the header `Authorization`."""
        return type(self)(f"Bearer {self}")

    def remove_from(self, text: str) -> str:
        """Return a message with the secret replaced by `***`."""
        return text.replace(self, _HIDDEN) if self else text

    def remove_from_reply(self, body: bytes) -> bytes:
        """Return a reply without the secret, in any form that JSON allows. Short secrets are not removed."""
        if len(self) < _MIN_LENGTH:
            return body
        for encoded_secret in {self.encode(), self.replace("/", "\\/").encode()}:
            body = body.replace(encoded_secret, _HIDDEN.encode())
        return body


class Login(Secret):
    """A user and password in the form `user:password`, for gateways with HTTP Basic authentication."""

    __slots__ = ()

    @property
    def as_basic_auth(self) -> Secret:
        """Return the login in base64, as it is sent."""
        return Secret(base64.b64encode(self.encode()).decode())

    @property
    def as_authorization_header(self) -> Self:
        """Return the value of the header `Authorization`."""
        return type(self)(f"Basic {self.as_basic_auth}")

    @property
    def strings_to_hide(self) -> tuple[Secret, ...]:
        """Return all strings to hide: the login, its encoded form, and a password that is long enough."""
        password = Secret(self.partition(":")[2])
        return (self, self.as_basic_auth, *([password] if len(password) >= _MIN_LENGTH else []))


def is_secret_name(name: str) -> bool:
    """Return True if a value with this name is likely to be a secret."""
    return _SECRET_NAMES.fullmatch(name) is not None
