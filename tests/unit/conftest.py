"""For the tests in this folder and below. Being here also lets them import the modules beside this file."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A busy machine is slow, and a slow test is not a failed one.
settings.register_profile("ioi_eval", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ioi_eval")
