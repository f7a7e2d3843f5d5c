"""What a run's folder says, for programs (summary.json, frames) and for people (report.md, report.html)."""

from ioi_eval.reports.comparing import Run, comparison, named, write_comparison
from ioi_eval.reports.html import html
from ioi_eval.reports.markdown import markdown
from ioi_eval.reports.medals import read_contests
from ioi_eval.reports.options import ReportOptions
from ioi_eval.reports.page import document
from ioi_eval.reports.results import Results
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
    "Results",
    "Run",
    "Settings",
    "Summary",
    "comparison",
    "document",
    "html",
    "markdown",
    "named",
    "read_contests",
    "summary",
    "write_comparison",
    "write_reports",
    "write_summary",
]
