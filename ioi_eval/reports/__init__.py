"""What a run's folder says, for programs (summary.json) and for people (report.md)."""

from ioi_eval.reports.markdown import markdown, write_reports
from ioi_eval.reports.options import ReportOptions
from ioi_eval.reports.summary import summary, write_summary
from ioi_eval.reports.values import (
    Failures,
    Group,
    ModelSummary,
    ProblemSummary,
    Settings,
    Summary,
)

__all__ = [
    "Failures",
    "Group",
    "ModelSummary",
    "ProblemSummary",
    "ReportOptions",
    "Settings",
    "Summary",
    "markdown",
    "summary",
    "write_reports",
    "write_summary",
]
