"""Machines of others for the time of a run: E2B's, and those of any provider with three methods."""

from ioi_eval.plugins.rented.boxes import WORKER, Box, Provider, RentedEngine

__all__ = ["WORKER", "Box", "Provider", "RentedEngine"]
