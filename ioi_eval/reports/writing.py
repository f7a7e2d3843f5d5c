"""The files of a report, each written as a whole."""

from __future__ import annotations

from pathlib import Path

from ioi_eval.journal.files import replace
from ioi_eval.reports.document import Document
from ioi_eval.reports.html import html
from ioi_eval.reports.markdown import markdown
from ioi_eval.reports.options import ReportOptions
from ioi_eval.reports.page import document
from ioi_eval.reports.summary import summary, write_summary
from ioi_eval.reports.values import Summary
from ioi_eval.validation import read_validation

REPORT, PAGE = "report.md", "report.html"


def write_reports(folder: Path, options: ReportOptions | None = None) -> Summary:
    """Writes summary.json, report.md and report.html of a run's folder."""
    run = summary(folder, options)
    write_summary(folder, run)
    write_document(document(run, read_validation(folder)), folder)
    return run


def write_document(of: Document, folder: Path, *, markdown_name: str = REPORT, html_name: str = PAGE) -> None:
    replace(folder / markdown_name, [markdown(of).encode()])
    replace(folder / html_name, [html(of).encode()])
