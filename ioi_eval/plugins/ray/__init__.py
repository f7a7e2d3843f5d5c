"""Run jobs on the nodes of a Ray cluster. Each node has an actor with the embedded engine."""

from ioi_eval.plugins.ray.engine import RayEngine

__all__ = ["RayEngine"]
