"""Being here lets the tests in this folder and below import the modules beside this file."""

from support.unit_fixtures import no_authorities, no_waiting, nobody_certified, recorded_run

__all__ = ["no_authorities", "no_waiting", "nobody_certified", "recorded_run"]
