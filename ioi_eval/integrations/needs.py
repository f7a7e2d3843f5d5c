"""Packages of others that a module of this room is for, and that an extra brings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Import within; what is missing is named with its extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        what = f"{error.name} is not installed. Install it: pip install 'ioi-eval[{extra}]'"
        raise ModuleNotFoundError(what, name=error.name) from None
