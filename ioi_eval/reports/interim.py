"""The report page of a run in progress."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from ioi_eval.model.errors import InputError
from ioi_eval.reports.document import Document, LiveBlock, Section, render_html
from ioi_eval.reports.page import choose_pages, needs_model_pages, run_document
from ioi_eval.reports.records import ReportOptions, Summary, read_validation
from ioi_eval.reports.summary import INCOMPLETE, PassCounts, RowPass
from ioi_eval.store.folder import RESULTS


class InterimReport:
    """Makes the page of report.html from the rows so far. Each page reads only rows that are new."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._options = folder, ReportOptions()
        self._forget_rows()

    def _forget_rows(self) -> None:
        self._counts: PassCounts | None = None
        self._keys = set[str]()
        self._file, self._last_row = 0, -1  # inode of the file, and offset of the last row that was counted

    def html(self, live: LiveBlock, progress_section: Section | None) -> str:
        """Return the page. If the rows cannot be counted, the page shows the error.

        Args:
            live: The block above the tabs.
            progress_section: The section after the leaderboard, or None if there is nothing to show.
        """
        try:
            run = self._count_rows()
        except InputError as error:
            self._forget_rows()
            return render_html(Document(title=self._folder.resolve().name, lead=str(error), live=live))
        document = run_document(
            run,
            read_validation(self._folder),
            has_model_pages=needs_model_pages(run),
            page_choice=choose_pages(run, self._options),
        )
        # Remove the request to rebuild the report, because the live page updates itself.
        paragraphs = [paragraph for paragraph in document.text if not paragraph.startswith(INCOMPLETE)]
        sections = _insert_section(document.sections, progress_section)
        return render_html(replace(document, live=live, text=paragraphs, sections=sections))

    def _count_rows(self) -> Summary:
        """Count the new rows, and return the run's numbers."""
        path = self._folder / RESULTS
        status = path.stat() if path.exists() else None
        if status is None or status.st_ino != self._file or status.st_size <= self._last_row:
            self._forget_rows()
            self._file = 0 if status is None else status.st_ino
        rows = list[tuple[int, str]]()
        row_pass = RowPass(self._folder, self._options, self._counts)
        # Start with the last row that was counted, because only the offset of the row's start is stored.
        row_pass.read_rows(
            lambda row, result, offset: rows.append((offset, row["key"])),
            begin=max(0, self._last_row),
            counted_from=self._last_row + 1,
            known=self._keys.intersection,
        )
        run = row_pass.summary()
        self._counts = row_pass.reusable_counts
        if self._counts is not None and rows:
            self._keys.update(key for _, key in rows)
            self._last_row = rows[-1][0]
        return run


def _insert_section(sections: Sequence[Section], inserted: Section | None) -> list[Section]:
    """Insert a section after the leaderboard. If there is no leaderboard, add a section that explains why."""
    indexes = [
        index
        for index, section in enumerate(sections, start=1)
        if section.table is not None and section.table.kind == "leaderboard"
    ]
    if not indexes:
        sections, indexes = [Section(title="Leaderboard", text=["No result yet."]), *sections], [1]
    return [*sections[: indexes[0]], *([] if inserted is None else [inserted]), *sections[indexes[0] :]]
