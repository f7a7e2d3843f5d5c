from __future__ import annotations

from fixtures import bench, compiled, proctor, workshop

__all__ = ["bench", "compiled", "proctor", "workshop"]
