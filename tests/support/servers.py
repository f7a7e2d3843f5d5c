"""Internal names that tests of servers and clients import, and readers of a server's metrics."""

from __future__ import annotations

import aiohttp

from ioi_eval.engines.contract import HealthCheck
from ioi_eval.engines.piston import Patience
from ioi_eval.engines.piston.discovery import FixedServers
from ioi_eval.engines.piston.reports import EndpointReport, make_health_checks
from ioi_eval.server import Server, ServerOptions, serve

__all__ = [
    "EndpointReport",
    "FixedServers",
    "HealthCheck",
    "Patience",
    "Server",
    "ServerOptions",
    "make_health_checks",
    "parse_metrics",
    "read_metrics",
    "serve",
]


async def read_metrics(server: Server) -> dict[str, float]:
    """Return a server's metrics by name and labels."""
    async with aiohttp.ClientSession() as session, session.get(f"{server.url}/metrics") as reply:
        return parse_metrics(await reply.text())


def parse_metrics(metrics: str) -> dict[str, float]:
    lines = (line.rsplit(" ", 1) for line in metrics.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in lines}
