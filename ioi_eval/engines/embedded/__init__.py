"""The embedded engine: it executes jobs like a Piston server, without Docker, root or installed packages."""

from __future__ import annotations

from ioi_eval.engines.embedded.engine import EmbeddedEngine

__all__ = ["EmbeddedEngine"]
