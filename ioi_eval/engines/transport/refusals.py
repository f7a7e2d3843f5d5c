"""How a Piston server refuses a request: a status and a message, on either side of the wire."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from ioi_eval.model.errors import JobRejected
from ioi_eval.model.nesting import shallow

_ABOVE = re.compile(r"(\w+) cannot exceed the configured limit of (\d+)")


class Refused(JobRejected):
    """What a server answers to a request that it does not take. `body` is what goes over the wire."""

    def __init__(self, message: str, *, status: int = 400, body: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.body = msgspec.json.encode({"message": message} if body is None else body)
        super().__init__(message)


def broken_json(detail: str) -> Refused:
    """Piston hands out its stack here; where it happened in ours is nobody's business."""
    return Refused(f"not JSON: {detail}", body={"stack": f"SyntaxError: {detail}"})


def too_large(limit: int) -> Refused:
    """A body over the limit, inflated if it was compressed."""
    stack = f"PayloadTooLargeError: request entity too large (the limit is {limit} bytes)"
    return Refused(f"a request's body may have {limit} bytes", body={"stack": stack})


def refused_above(name: str, limit: int) -> Refused:
    return Refused(f"{name} cannot exceed the configured limit of {limit}")


def check_content_type(header: str | None) -> None:
    """Of requests that have a body."""
    if not (header or "").startswith("application/json"):
        raise Refused("requests must be of type application/json", status=415)


# --- and what a client makes of one ------------------------------------------------------------------


def words_of(body: bytes) -> str:
    """What a server says as it refuses: `message`, the first line of `stack`, or the body itself, cut."""
    try:
        said: Any = msgspec.json.decode(shallow(body))
    except (msgspec.DecodeError, UnicodeDecodeError):
        said = body[:200].decode(errors="replace")
    if isinstance(said, dict):
        said = said.get("message") or said.get("stack") or ""
    return str(said).partition("\n")[0].strip()[:500]


def limit_in(words: str) -> tuple[str, int] | None:
    """The limit that a request was over and its value, where the server names them."""
    found = _ABOVE.search(words)
    return (found[1], int(found[2])) if found else None
