"""How many examples a property tries."""

from __future__ import annotations

from hypothesis import settings


def few(short: int, at_random: int) -> int:
    """Return a number for the short run's profile, and another one for that which tries at random."""
    return short if settings().max_examples < 100 else at_random
