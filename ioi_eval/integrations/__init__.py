"""Connections to other programs: trainers, evaluation libraries and existing pipelines.

Users import these modules one by one. Only they and the command line read environment variables.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ioi_eval.errors import ExtraMissing


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Import the packages of an extra in a `with` block.

    Raises:
        ExtraMissing: A package is missing. The message says how to install the extra.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        message = f"{error.name} is not installed. Install it: pip install 'ioi-eval[{extra}]'"
        raise ExtraMissing(message, name=error.name) from None
