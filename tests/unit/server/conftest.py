"""Fixtures of server_fixtures.py. This file also makes `server_helpers` importable."""

from server_fixtures import call, engine, options, server

__all__ = ["call", "engine", "options", "server"]
