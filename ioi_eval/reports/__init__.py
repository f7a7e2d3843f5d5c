"""What a run's folder says, for programs (summary.json, frames) and for people (report.md, report.html)."""

from ioi_eval.reports.html import html
from ioi_eval.reports.markdown import markdown
from ioi_eval.reports.options import ReportOptions
from ioi_eval.reports.page import document
from ioi_eval.reports.summary import summary, write_summary
from ioi_eval.reports.values import (
    Failures,
    Group,
    ModelSummary,
    ProblemSummary,
    Settings,
    Summary,
)
from ioi_eval.reports.writing import write_reports

__all__ = [
    "Failures",
    "Group",
    "ModelSummary",
    "ProblemSummary",
    "ReportOptions",
    "Settings",
    "Summary",
    "document",
    "html",
    "markdown",
    "summary",
    "write_reports",
    "write_summary",
]
