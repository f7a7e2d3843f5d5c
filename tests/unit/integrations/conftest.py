"""Runtimes that end with the test that used them."""

from support.unit_fixtures import closing_reward_runtimes

__all__ = ["closing_reward_runtimes"]
