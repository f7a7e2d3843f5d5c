"""The words of the proctor: plans to it, lines from it."""

from __future__ import annotations

from ioi_eval.model.protocol import (
    VERSION,
    Line,
    Plan,
    PlanChecker,
    PlanGroup,
    PlanLimits,
    PlanManager,
    PlanSubmission,
    PlanTest,
    decode_lines,
)

__all__ = [
    "VERSION",
    "Line",
    "Plan",
    "PlanChecker",
    "PlanGroup",
    "PlanLimits",
    "PlanManager",
    "PlanSubmission",
    "PlanTest",
    "decode_lines",
]
