"""The proctor's protocol: types of plans and of reports."""

from __future__ import annotations

from ioi_eval.model.protocol import (
    VERSION,
    Plan,
    PlanChecker,
    PlanGroup,
    PlanLimits,
    PlanManager,
    PlanSubmission,
    PlanTest,
    TestReport,
    decode_lines,
)

__all__ = [
    "VERSION",
    "Plan",
    "PlanChecker",
    "PlanGroup",
    "PlanLimits",
    "PlanManager",
    "PlanSubmission",
    "PlanTest",
    "TestReport",
    "decode_lines",
]
