"""The engine for Ray: nodes that join and leave, with an actor on each node."""

from __future__ import annotations

from collections.abc import Mapping

from ioi_eval.engines.contract import HealthCheck
from ioi_eval.engines.piston.engine import ServerFleetEngine, ServerUsage
from ioi_eval.plugins.ray.wire import NodePatience, NodeUsage, RayServerClient


class RayEngine(ServerFleetEngine):
    """Executes jobs on the nodes of a Ray cluster. Each node runs the embedded engine.

        async with RayEngine("ray://head:10001") as engine:
            ...

    If a node is lost, its jobs are sent to another node. Processes of one Ray job share a node's actor, which
    lives as long as the process that started it.
    """

    _kind = "Ray"

    def __init__(
        self,
        address: str = "",
        *,
        slots: int | None = None,
        cpus_per_slot: float = 1.0,
        same_compiler: bool = False,
        allow_unconfined: bool = False,
        patience: NodePatience | None = None,
    ) -> None:
        """An empty `address` means the cluster of this process, or RAY_ADDRESS, or a new cluster here."""
        if slots is not None and slots < 1:
            raise ValueError(f"slots must be at least 1, not {slots}")
        if cpus_per_slot <= 0:
            raise ValueError(f"cpus_per_slot must be more than 0, not {cpus_per_slot}")
        patience = patience or NodePatience()
        super().__init__(ServerUsage(total=slots, same_compiler=same_compiler), patience)
        usage = NodeUsage(slots=slots, cpus_per_slot=cpus_per_slot, allow_unconfined=allow_unconfined)
        self._address, self._node_usage, self._node_patience = address, usage, patience
        self._ray_client: RayServerClient | None = None

    def _create_server_client(self) -> RayServerClient:
        self._ray_client = RayServerClient(self._address, self._node_usage, self._node_patience)
        return self._ray_client

    @property
    def nodes(self) -> Mapping[str, int]:
        """Return the number of slots of each node in use, by the node's name."""
        return {node.url: node.slots for node in self.fleet.usable_endpoints}

    async def check_health(self) -> Mapping[str, list[HealthCheck]]:
        """Return the health checks of each node."""
        assert self._ray_client is not None, "the engine is open"
        return await self._ray_client.check_health()
