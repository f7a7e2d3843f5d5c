"""Fixtures of server_fixtures.py. With this file `server_helpers` can be imported."""

from server_fixtures import call, engine, options, server

__all__ = ["call", "engine", "options", "server"]
