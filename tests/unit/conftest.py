"""Fixtures of the unit tests. This file also makes the modules of this folder importable."""

from support.unit_fixtures import no_authorities, no_waiting, nobody_certified, recorded_run

__all__ = ["no_authorities", "no_waiting", "nobody_certified", "recorded_run"]
