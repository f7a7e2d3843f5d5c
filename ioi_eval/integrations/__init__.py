"""Doors for other people's programs: trainers, evaluation libraries, pipelines that exist already.

Each module is imported by who uses it. They alone, besides the command line, read the environment.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ioi_eval.errors import ExtraMissing


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Import packages of an extra in a `with` block. ExtraMissing names the extra of a missing package."""
    try:
        yield
    except ModuleNotFoundError as error:
        what = f"{error.name} is not installed. Install it: pip install 'ioi-eval[{extra}]'"
        raise ExtraMissing(what, name=error.name) from None
