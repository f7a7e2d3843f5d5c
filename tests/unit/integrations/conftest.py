"""A fixture that closes reward runtimes after each test."""

from support.unit_fixtures import closing_reward_runtimes

__all__ = ["closing_reward_runtimes"]
