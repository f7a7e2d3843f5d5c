"""Jobs on the nodes of a Ray cluster: one actor with the embedded engine on each."""

from ioi_eval.plugins.ray.engine import RayEngine

__all__ = ["RayEngine"]
