"""Number of examples that a property test tries."""

from __future__ import annotations

from hypothesis import settings


def example_count(short: int, at_random: int) -> int:
    """Return `short` in the derandomized profile, and `at_random` in the random profile."""
    return short if settings().max_examples < 100 else at_random
