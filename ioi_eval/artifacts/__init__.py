"""Bytes built from sources by build jobs: proctor, checkers, managers, submissions. Cached by content."""

from __future__ import annotations

from ioi_eval.artifacts.builder import Artifacts
from ioi_eval.artifacts.values import (
    BuildLimits,
    BuildOptions,
    Built,
    CheckerBroken,
    ManagerBroken,
    ProgramBroken,
    Trusted,
)

__all__ = [
    "Artifacts",
    "BuildLimits",
    "BuildOptions",
    "Built",
    "CheckerBroken",
    "ManagerBroken",
    "ProgramBroken",
    "Trusted",
]
