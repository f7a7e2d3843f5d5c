"""The embedded engine: a Piston without Docker, without root, and with nothing to install but a compiler."""

from __future__ import annotations

from ioi_eval.engines.embedded.engine import EmbeddedEngine

__all__ = ["EmbeddedEngine"]
