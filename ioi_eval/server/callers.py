"""Callers that may send jobs to a worker: one token for all, or several with names and shares in a file."""

from __future__ import annotations

import hmac
import math
import re
import time
from collections.abc import Iterator
from pathlib import Path

from ioi_eval.model.errors import InputError
from ioi_eval.model.secret import Secret
from ioi_eval.model.values import Value
from ioi_eval.server.log import Event, Tell, silent
from ioi_eval.server.options import ServerOptions

_LOOKED_EVERY = 1.0  # seconds between two looks whether the file has changed
_EXPECTED = (
    "Expected one token, or lines of NAME TOKEN [SHARE]: a name of letters and digits, a share above 0"
)


_NAME = re.compile(r"[\w.-]+")


class Caller(Value):
    """A token's owner. Names are for `/metrics`."""

    name: str = ""
    token: Secret = Secret()
    part: float = 1.0  # of the worker, while others want it, too


NOBODY = Caller()


class Callers:
    """The tokens that requests may bring. A file is read again when it has changed."""

    def __init__(self, options: ServerOptions, tell: Tell = silent) -> None:
        """Raises InputError for a file that says no tokens."""
        self._file, self._tell = options.token_file, tell
        self._every: tuple[Caller, ...] = (Caller(token=options.token),) if options.token else ()
        self._stamp, self._looked = self._now(), time.monotonic()
        if self._file is not None:
            self._every = read_callers(self._file)

    def of(self, token: str) -> Caller | None:
        """Return the owner of a token; None: nobody's."""
        if self._file is not None and time.monotonic() - self._looked > _LOOKED_EVERY:
            self.look(self._file)
        given = token.encode(errors="surrogateescape")  # a header may hold any bytes
        found = [caller for caller in self._every if hmac.compare_digest(given, caller.token.encode())]
        return found[0] if found else None

    def look(self, file: Path) -> None:
        """Read the file if it has changed. The tokens stay as they were where it cannot be read."""
        self._looked, stamp = time.monotonic(), self._now()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._every = read_callers(file)
        except InputError as error:
            self._tell(Event(name="tokens", words=f"The tokens stay as they were: {error}"))
        else:
            names = ", ".join(caller.name for caller in self._every if caller.name)
            self._tell(Event(name="tokens", words=f"Tokens are read again{f': {names}' if names else ''}"))

    def _now(self) -> tuple[int, int, int] | None:
        try:
            found = None if self._file is None else self._file.stat()
        except OSError:
            return None
        return None if found is None else (found.st_ino, found.st_mtime_ns, found.st_size)


def read_callers(path: Path) -> tuple[Caller, ...]:
    """Return what a file of tokens says. Raises InputError with the line of a fault."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("cannot be read as text", where=str(path), remedy=_EXPECTED) from error
    named = list(_lines(path, text))
    names, tokens = {name for name, _, _ in named}, {token for _, token, _ in named}
    if not named or len(names) < len(named) or len(tokens) < len(named):
        problem = "a name or a token is there twice" if named else "the file is empty"
        raise InputError(problem, where=str(path), remedy=_EXPECTED)
    whole = math.fsum(share for _, _, share in named)
    return tuple(Caller(name=name, token=Secret(token), part=share / whole) for name, token, share in named)


def _lines(path: Path, text: str) -> Iterator[tuple[str, str, float]]:
    """The names, tokens and shares of a file; a token that stands alone has no name."""
    if len(text.split()) == 1:
        yield "", text.strip(), 1.0
        return
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or line.lstrip().startswith("#"):
            continue
        try:
            name, token, share = words[0], words[1], float(words[2]) if len(words) > 2 else 1.0
        except (IndexError, ValueError):
            share = 0.0
        if not (len(words) <= 3 and share > 0 and math.isfinite(share) and _NAME.fullmatch(words[0])):
            raise InputError("a line that says no token", where=str(path), row=number, remedy=_EXPECTED)
        yield name, token, share
