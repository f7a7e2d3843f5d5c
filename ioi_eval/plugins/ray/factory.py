"""The entry of Ray in the registry of engines."""

from __future__ import annotations

from ioi_eval.engines.registry import EngineSetup
from ioi_eval.plugins.ray.cluster import check_address
from ioi_eval.plugins.ray.engine import RayEngine


class RayFactory:
    """Makes the engine of `ray` or `ray://HOST:PORT`."""

    def check(self, text: str) -> None:
        """Raise InputError if the text is not a cluster's address, or Ray is not installed."""
        check_address(text)

    def __call__(self, setup: EngineSetup) -> RayEngine:
        return RayEngine(
            "" if setup.text == "ray" else setup.text,
            slots=setup.slots,
            cpus_per_slot=setup.cpus_per_slot,
            same_compiler=setup.same_compiler,
            allow_unconfined=setup.allow_unconfined,
        )


FACTORY = RayFactory()
