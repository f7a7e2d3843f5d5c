"""Reports of a run's folder, for programs (summary.json, frames) and for people (report.md, report.html).

Here: numbers made of rows, tables and sentences made of numbers, pages made of these. Not here: what a
submission is worth (`rules`), the writing of rows (`runs`), what a terminal shows of a table (`cli`).
"""

from ioi_eval.reports.comparison import ComparedRun, comparison, named, write_comparison
from ioi_eval.reports.document import html, markdown
from ioi_eval.reports.medals import read_contests
from ioi_eval.reports.page import run_document, write_reports
from ioi_eval.reports.records import (
    Failures,
    ModelSummary,
    ProblemSummary,
    ReportOptions,
    Settings,
    Summary,
)
from ioi_eval.reports.summary import summary
from ioi_eval.reports.tables import Results

__all__ = [
    "ComparedRun",
    "Failures",
    "ModelSummary",
    "ProblemSummary",
    "ReportOptions",
    "Results",
    "Settings",
    "Summary",
    "comparison",
    "html",
    "markdown",
    "named",
    "read_contests",
    "run_document",
    "summary",
    "write_comparison",
    "write_reports",
]
