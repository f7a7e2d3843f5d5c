"""Reports of a run's folder, for programs (summary.json, frames) and for people (report.md, report.html).

The package computes numbers from rows, tables and sentences from the numbers, and pages from those tables.
`rules` scores submissions, `runs` writes rows, and `cli` prints tables in a terminal.
"""

from ioi_eval.reports.comparison import ComparedRun, make_comparison, name_runs, write_comparison
from ioi_eval.reports.document import render_html, render_markdown
from ioi_eval.reports.medals import read_contests
from ioi_eval.reports.page import make_run_document, write_reports
from ioi_eval.reports.records import (
    Failures,
    ModelSummary,
    ProblemSummary,
    ReportOptions,
    Settings,
    Summary,
)
from ioi_eval.reports.summary import summarize_run
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
    "make_comparison",
    "make_run_document",
    "name_runs",
    "read_contests",
    "render_html",
    "render_markdown",
    "summarize_run",
    "write_comparison",
    "write_reports",
]
