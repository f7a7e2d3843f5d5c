"""The fixtures of the worker's tests."""

from server_fixtures import call, engine, options, server

__all__ = ["call", "engine", "options", "server"]
