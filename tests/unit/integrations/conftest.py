"""Runtimes that end with the test that used them."""

from support.unit_fixtures import own_runtimes

__all__ = ["own_runtimes"]
