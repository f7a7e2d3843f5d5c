"""Bytes built from sources by build jobs: proctor, checkers, submissions. Cached by content."""

from __future__ import annotations

from ioi_eval.artifacts.builder import Artifacts
from ioi_eval.artifacts.values import BuildLimits, BuildOptions, Built, CheckerBroken

__all__ = ["Artifacts", "BuildLimits", "BuildOptions", "Built", "CheckerBroken"]
