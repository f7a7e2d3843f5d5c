"""Solutions whose worth is known beside what the judge says of them; where the two differ, the evidence."""

from __future__ import annotations

from ioi_eval.validation.cases import Case, ExpectedScore, max_points, of_packages, score_class
from ioi_eval.validation.comparing import compared, confusion, validation
from ioi_eval.validation.files import VALIDATION, read_validation, write_validation
from ioi_eval.validation.limits import MeasuredLimit, Measuring, limits_of, read_limits, write_limits
from ioi_eval.validation.values import Check, SolutionCheck, SubtaskCheck, Unjudged, Validation

__all__ = [
    "VALIDATION",
    "Case",
    "Check",
    "ExpectedScore",
    "MeasuredLimit",
    "Measuring",
    "SolutionCheck",
    "SubtaskCheck",
    "Unjudged",
    "Validation",
    "compared",
    "confusion",
    "limits_of",
    "max_points",
    "of_packages",
    "read_limits",
    "read_validation",
    "score_class",
    "validation",
    "write_limits",
    "write_validation",
]
