"""Doors for other people's programs: trainers, evaluation libraries, pipelines that exist already.

Each module is imported by who uses it. They alone, besides the command line, read the environment.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Import packages of others within, that an extra brings; what is missing is named with its extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        what = f"{error.name} is not installed. Install it: pip install 'ioi-eval[{extra}]'"
        raise ModuleNotFoundError(what, name=error.name) from None
