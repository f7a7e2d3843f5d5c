"""The report page of a run in progress."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from ioi_eval.model.errors import InputError
from ioi_eval.reports.document import Document, LiveBlock, Section, render_html
from ioi_eval.reports.page import choose_pages, make_run_document, needs_model_pages
from ioi_eval.reports.records import ReportOptions, Summary, read_validation
from ioi_eval.reports.summary import INCOMPLETE, RowCounts, RunSummaryBuilder
from ioi_eval.store.folder import RESULTS


class InterimReport:
    """Makes the page of report.html from the rows so far. Each page reads only rows that are new."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._options = folder, ReportOptions()
        self._forget_rows()

    def _forget_rows(self) -> None:
        self._row_counts: RowCounts | None = None
        self._counted_keys = set[str]()
        self._inode, self._last_row_offset = (
            0,
            -1,
        )  # inode of the file, and offset of the last row that was counted

    def render_html(self, live_block: LiveBlock, progress_section: Section | None) -> str:
        """Return the page. If the rows cannot be counted, the page shows the error.

        Args:
            live_block: The block above the tabs.
            progress_section: The section after the leaderboard, or None if there is nothing to show.
        """
        try:
            run_summary = self._count_rows()
        except InputError as error:
            self._forget_rows()
            return render_html(Document(title=self._folder.resolve().name, lead=str(error), live=live_block))
        document = make_run_document(
            run_summary,
            read_validation(self._folder),
            has_model_pages=needs_model_pages(run_summary),
            page_choice=choose_pages(run_summary, self._options),
        )
        # Remove the request to rebuild the report, because the live page updates itself.
        paragraphs = [paragraph for paragraph in document.text if not paragraph.startswith(INCOMPLETE)]
        sections = _insert_section(document.sections, progress_section)
        return render_html(replace(document, live=live_block, text=paragraphs, sections=sections))

    def _count_rows(self) -> Summary:
        """Count the new rows, and return the run's numbers."""
        path = self._folder / RESULTS
        status = path.stat() if path.exists() else None
        if status is None or status.st_ino != self._inode or status.st_size <= self._last_row_offset:
            self._forget_rows()
            self._inode = 0 if status is None else status.st_ino
        offsets_and_keys = list[tuple[int, str]]()
        summary_builder = RunSummaryBuilder(self._folder, self._options, self._row_counts)
        # Read the last counted row again, without counting it: the stored offset is the start of this row.
        summary_builder.read_rows(
            lambda row, result, offset: offsets_and_keys.append((offset, row["key"])),
            begin_offset=max(0, self._last_row_offset),
            count_start_offset=self._last_row_offset + 1,
            find_counted_keys=self._counted_keys.intersection,
        )
        run_summary = summary_builder.make_summary()
        self._row_counts = summary_builder.counts_for_next_report
        if self._row_counts is not None and offsets_and_keys:
            self._counted_keys.update(key for _, key in offsets_and_keys)
            self._last_row_offset = offsets_and_keys[-1][0]
        return run_summary


def _insert_section(sections: Sequence[Section], new_section: Section | None) -> list[Section]:
    """Insert a section after the leaderboard. If there is no leaderboard, add a section that explains why."""
    indexes = [
        index
        for index, section in enumerate(sections, start=1)
        if section.table is not None and section.table.kind == "leaderboard"
    ]
    if not indexes:
        sections, indexes = [Section(title="Leaderboard", text=["No result yet."]), *sections], [1]
    return [*sections[: indexes[0]], *([] if new_section is None else [new_section]), *sections[indexes[0] :]]
