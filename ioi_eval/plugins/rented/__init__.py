"""Machines rented for the time of a run, from E2B or any provider that implements three methods."""

from ioi_eval.plugins.rented.servers import WORKER, Provider, RentedEngine, RentedServer

__all__ = ["WORKER", "Provider", "RentedEngine", "RentedServer"]
