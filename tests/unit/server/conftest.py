"""Fixtures of server_fixtures.py. Being here also lets tests import `server_helpers` beside it."""

from server_fixtures import call, engine, options, server

__all__ = ["call", "engine", "options", "server"]
