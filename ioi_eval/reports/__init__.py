"""What a run's folder says, for programs (summary.json) and for people (report.md)."""

from ioi_eval.reports.markdown import markdown, write_reports
from ioi_eval.reports.summary import (
    Failures,
    ModelSummary,
    ProblemSummary,
    Settings,
    Summary,
    summary,
    write_summary,
)

__all__ = [
    "Failures",
    "ModelSummary",
    "ProblemSummary",
    "Settings",
    "Summary",
    "markdown",
    "summary",
    "write_reports",
    "write_summary",
]
