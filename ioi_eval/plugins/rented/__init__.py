"""Machines of others for the time of a run: E2B's, and those of any provider with three methods."""

from ioi_eval.plugins.rented.servers import WORKER, Provider, RentedEngine, RentedServer

__all__ = ["WORKER", "Provider", "RentedEngine", "RentedServer"]
