"""The pages next to report.html: a page for each submission and problem, and a list of all submissions.

They are plain files that link to each other, so that they open from a folder and from a server.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import shutil
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ioi_eval.model.text import format_count
from ioi_eval.model.values import STATUS_ORDER, SubmissionResult, Value, Verdict
from ioi_eval.registries import Registry, list_entry_versions
from ioi_eval.reports.document import (
    ALL,
    EQUAL,
    FOLDER,
    NOTHING,
    PROBLEMS,
    SCRIPT,
    STYLE,
    SUBMISSIONS,
    Cell,
    Document,
    Link,
    Section,
    ShareBar,
    TableBlock,
    format_number,
    hash_key_for_sampling,
    make_list_page_filename,
    make_model_anchor,
    make_submission_page_filename,
    name_attempts_script,
    name_problem_page,
    read_asset,
    render_html,
)
from ioi_eval.reports.parts import list_files_of_report_parts
from ioi_eval.reports.plots import draw_stacked_column_chart, make_figure
from ioi_eval.reports.records import VALIDATION, LimitUsage, PageChoice, ReportOptions, Summary
from ioi_eval.reports.statements import StatementHtml
from ioi_eval.reports.submissions import (
    MAX_FEEDBACK,
    ProblemAttemptIndex,
    find_first_failed_test,
    list_limit_names_and_values,
    make_submission_document,
)
from ioi_eval.reports.summary import compute_limit_usage_steps
from ioi_eval.reports.trust import TRUST
from ioi_eval.rules.scoring import find_verdict_or_no_program
from ioi_eval.store.files import make_draft_path, make_write_error, read_value
from ioi_eval.store.folder import (
    FAILURES,
    RESULTS,
    RUN,
    is_being_written,
    read_row_at_offset,
    read_sandbox_confinements,
)
from ioi_eval.store.resources import compute_code_digest
from ioi_eval.store.rows import as_number, convert_to_label, read_model_name, read_result, shorten
from ioi_eval.store.tasks import TASKS, Task

# Maximum number of submissions in a run whose programs are all coloured. In a larger run, only the best
# program of each model for each problem is coloured. If these are more than _MAX_BEST_PROGRAMS, only the best
# program for each problem is coloured.
MAX_COLOURED_SUBMISSIONS = 3000
_MAX_BEST_PROGRAMS = 1000
SAMPLE_SIZE = 10_000  # minimum number of submissions in a sample, which has at most twice as many
LONGEST_LIST = 10_000  # maximum number of submissions on a page of the list of submissions
MAX_LISTED = 500  # maximum number of a model's submissions, or of equal programs, on the page of a problem
_MAX_BUFFERED = 1000  # number of rows that are in memory
_CHOICES = "choices.js"  # script with the filters of pages that list submissions
_STEPS_OF_BAR = 2  # number of steps of the time limit that a bar of the histogram covers
_COLUMNS = "key, model, problem, ending, points, feedback, parts, attempt, repeats, language"
_SELECT_PROBLEM = f"SELECT {_COLUMNS} FROM rows WHERE problem = ? ORDER BY model, -points, key"
_SELECT_COUNTS = "SELECT problem, count(*) FROM rows WHERE place < ? GROUP BY problem ORDER BY problem"
_MAX_OFFSET = 1 << 62  # number that is larger than any offset in a file


class PageSelection:
    """The choice of submissions that get a page."""

    def __init__(self, page_choice: PageChoice, run: Summary) -> None:
        best_keys = (
            best_subtask.key
            for model in run.models
            for problem in model.problems
            for best_subtask in problem.subtasks
        )
        self.pages, self.author = page_choice, run.settings.author
        self.named_keys = frozenset([*best_keys, *(key for cause in run.causes for key in cause.examples)])
        # The step of the sample is a power of two, so that the sample of a growing run changes little.
        self.step = 1 << max(0, (run.scored // SAMPLE_SIZE).bit_length() - 1)

    def has_page(self, key: str, verdict: str | None) -> bool:
        """Return True if a submission has a page."""
        match self.pages:
            case PageChoice.NONE:
                return False
            case PageChoice.FAILED:
                return verdict != Verdict.AC or key in self.named_keys
            case PageChoice.SAMPLE:
                return hash_key_for_sampling(key) % self.step == 0 or key in self.named_keys
        return True

    def make_link(self, key: str, verdict: str) -> Link:
        """Return a link to a submission's page, or only its key if it has no page."""
        return Link(text=key, href=make_submission_page_filename(key) if self.has_page(key, verdict) else "")

    def make_report_link(self, key: str) -> Link:
        """Return a link from the report to a submission that it names."""
        has_page = self.pages is not PageChoice.NONE
        return Link(text=key, href=f"{FOLDER}/{make_submission_page_filename(key)}" if has_page else "")

    @property
    def sha256(self) -> str:
        """Return a hash of everything that decides the choice."""
        return hashlib.sha256(
            msgspec.json.encode((self.pages, self.step, sorted(self.named_keys)))
        ).hexdigest()


class ListState(msgspec.Struct):
    """State of a report's lists without their rows, stored for the next report."""

    # The best submission by problem and model, as its points and its key.
    bests: dict[tuple[str, str], tuple[float, str]] = {}
    tests: dict[str, TestStatistics] = {}  # by problem


class SubmissionLists:
    """Collects rows in an SQLite file and writes all pages except those of submissions."""

    def __init__(
        self,
        tasks: Mapping[str, Task],
        file: Path | str = "",
        first_offset: int = 0,
        state: ListState | None = None,
    ) -> None:
        """Open the file.

        Args:
            tasks: Descriptions of the run's problems.
            file: A file with all rows before `first_offset`, or a new file. "" means a temporary file.
            first_offset: Offset in results.jsonl of the first row that is missing in the file.
            state: The state after the rows before `first_offset`.
        """
        self.tasks, self.state = tasks, state or ListState()
        self._row_database, self._first_offset = sqlite3.connect(file), first_offset
        self._row_database.execute("PRAGMA journal_mode = OFF")
        self._row_database.execute("PRAGMA synchronous = OFF")
        self._row_database.execute(f"CREATE TABLE IF NOT EXISTS rows ({_COLUMNS}, place, draw)")
        self._buffered_rows = list[tuple[Any, ...]]()

    def add_row(self, row: Mapping[str, Any], result: SubmissionResult, row_offset: int) -> None:
        if row_offset < self._first_offset:
            return
        attempt, language = as_number(row.get("solution_number")), convert_to_label(row.get("language") or "")
        list_row = SubmissionListRow.from_result(result, read_model_name(row), attempt, language)
        self._buffered_rows.append((*list_row, row_offset, hash_key_for_sampling(list_row.key)))
        if len(self._buffered_rows) == _MAX_BUFFERED:
            self._flush()
        sort_key, problem_and_model = (-list_row.points, list_row.key), (list_row.problem, list_row.model)
        self.state.bests[problem_and_model] = min(self.state.bests.get(problem_and_model, sort_key), sort_key)
        statistics = self.state.tests.setdefault(list_row.problem, TestStatistics())
        statistics.add(result, list_row.model, self.tasks.get(list_row.problem))

    def _flush(self) -> None:
        self._row_database.executemany(
            "INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", self._buffered_rows
        )
        self._buffered_rows.clear()

    def write_remaining_rows(self) -> None:
        """Write the remaining rows, after the last call of `add_row`."""
        self._flush()
        self._row_database.execute("CREATE INDEX IF NOT EXISTS of_problem ON rows (problem, place)")
        self._row_database.commit()

    def close(self) -> None:
        self._row_database.close()

    def find_already_listed_keys(self, keys: Collection[str]) -> set[str]:
        """Return the keys that occur in rows before `first_offset`."""
        self._row_database.execute("CREATE TEMP TABLE asked (key PRIMARY KEY)")
        self._row_database.executemany("INSERT OR IGNORE INTO asked VALUES (?)", ((key,) for key in keys))
        query = "SELECT key FROM rows WHERE place < ? AND key IN (SELECT key FROM asked)"
        known_keys = {key for (key,) in self._row_database.execute(query, (self._first_offset,))}
        self._row_database.execute("DROP TABLE asked")
        return known_keys

    def find_keys_of_highlighted_code(self) -> frozenset[str] | None:
        """Return the keys of the submissions whose code gets syntax colours, or None for all submissions."""
        [[row_count]] = self._row_database.execute("SELECT count(*) FROM rows")
        if row_count <= MAX_COLOURED_SUBMISSIONS:
            return None
        if len(self.state.bests) <= _MAX_BEST_PROGRAMS:
            return frozenset(key for _, key in self.state.bests.values())
        best_of_problems = dict[str, tuple[float, str]]()
        for (problem, _), sort_key in self.state.bests.items():
            best_of_problems[problem] = min(best_of_problems.get(problem, sort_key), sort_key)
        return frozenset(key for _, key in best_of_problems.values())

    def select_pages(self, selection: PageSelection) -> Iterator[tuple[int, str, str]]:
        """Yield offset, key and equal submission of each submission with a page, in the order of the rows."""
        condition = {
            PageChoice.ALL: "true",
            PageChoice.NONE: "false",
            PageChoice.FAILED: f"ending <> '{Verdict.AC}' OR key IN (SELECT key FROM named)",
            PageChoice.SAMPLE: f"draw % {selection.step} = 0 OR key IN (SELECT key FROM named)",
        }[selection.pages]
        self._row_database.execute("CREATE TEMP TABLE named (key PRIMARY KEY)")
        self._row_database.executemany(
            "INSERT INTO named VALUES (?)", ((key,) for key in selection.named_keys)
        )
        yield from self._row_database.execute(
            f"SELECT place, key, repeats FROM rows WHERE {condition} ORDER BY place"
        )
        self._row_database.execute("DROP TABLE named")

    def write(self, folder: Path, selection: PageSelection, old_pages: PreviousReportPages) -> None:
        """Write all pages except those of submissions into the folder of a new report.

        Args:
            folder: The folder.
            selection: The submissions that have pages.
            old_pages: The last report. Its pages are linked if the new pages would be the same.
        """

        def are_linked(names: Sequence[str]) -> bool:
            return all(old_pages.link_unchanged_page(name, folder) for name in names)

        row_count_by_problem = dict(self._row_database.execute(_SELECT_COUNTS, (_MAX_OFFSET,)))
        old_counts = dict(self._row_database.execute(_SELECT_COUNTS, (old_pages.lists,)))
        if sum(row_count_by_problem.values()) <= LONGEST_LIST:
            _write_html(
                folder / ALL,
                Document(
                    title=f"All {format_count(sum(row_count_by_problem.values()), 'submission')}",
                    tab=SUBMISSIONS,
                    script=_CHOICES,
                    sections=[
                        _make_submissions_section(
                            (row for name in row_count_by_problem for row in self._select_rows(name)),
                            selection,
                        )
                    ],
                ),
            )
        else:
            list_pages, old_list_pages = (
                divide_submissions_into_pages(row_count_by_problem),
                divide_submissions_into_pages(old_counts),
            )
            for number, list_page in enumerate(list_pages):
                name, is_last = make_list_page_filename(number), number == len(list_pages) - 1
                has_old_page = number < len(old_list_pages) and is_last == (number == len(old_list_pages) - 1)
                is_same = (
                    has_old_page
                    and old_list_pages[number] == list_page
                    and sum(old_counts.values()) > LONGEST_LIST
                )
                is_same = is_same and all(
                    row_count_by_problem[problem_slice.problem] == old_counts[problem_slice.problem]
                    for problem_slice in list_page
                )
                if not (is_same and are_linked([name])):
                    rows = [
                        row
                        for problem_slice in list_page
                        for row in islice(
                            self._select_rows(problem_slice.problem),
                            problem_slice.begin,
                            problem_slice.end,
                        )
                    ]
                    _write_html(
                        folder / name, make_list_page_document(rows, number, list_page, is_last, selection)
                    )
            _write_html(folder / ALL, make_list_index_document(list_pages, row_count_by_problem))
        for problem in row_count_by_problem:
            page_names = [name_problem_page(problem)]
            page_names += [name_attempts_script(problem)] if selection.pages is not PageChoice.NONE else []
            if old_counts.get(problem) == row_count_by_problem[problem] and are_linked(page_names):
                continue
            attempt_index = ProblemAttemptIndex(selection)
            rows_by_model = groupby(
                attempt_index.index_and_yield_rows(self._select_rows(problem)),
                lambda list_row: list_row.model,
            )
            # The first submissions of each model for the problem, and the number of the model's other
            # submissions.
            submissions_by_model = {
                model: (list(islice(rows, MAX_LISTED)), sum(1 for _ in rows)) for model, rows in rows_by_model
            }
            statistics, task = self.state.tests[problem], self.tasks.get(problem)
            page = make_problem_document(problem, submissions_by_model, statistics, task, selection)
            # Remove a page before it is written, because it may be a hard link, which must not be overwritten
            # in place.
            for name in page_names:
                (folder / name).unlink(missing_ok=True)
            _write_html(folder / name_problem_page(problem), page)
            if selection.pages is not PageChoice.NONE:
                (folder / name_attempts_script(problem)).write_text(attempt_index.make_javascript(), "utf-8")

    def _select_rows(self, problem: str) -> Iterator[SubmissionListRow]:
        return map(SubmissionListRow._make, self._row_database.execute(_SELECT_PROBLEM, (problem,)))


def _write_html(path: Path, page: Document) -> None:
    path.write_text(render_html(page, has_asset_files=True), "utf-8")


class ProblemSlice(NamedTuple):
    """A problem's submissions on a page of the list of all submissions."""

    problem: str
    begin: int
    end: int


def divide_submissions_into_pages(submission_count_by_problem: Mapping[str, int]) -> list[list[ProblemSlice]]:
    """Divide the list of all submissions into pages: whole problems, or parts of a problem that is too long.

    So a page changes only if submissions for its problems change.
    """
    list_pages, free_rows = list[list[ProblemSlice]](), 0
    for problem, count in submission_count_by_problem.items():
        for begin in range(0, count, LONGEST_LIST):
            end = min(count, begin + LONGEST_LIST)
            if begin or end > free_rows:
                list_pages.append([])
                free_rows = LONGEST_LIST
            list_pages[-1].append(ProblemSlice(problem, begin, end))
            free_rows -= end - begin
    return list_pages


# A function of the number of rows that were read and the number of pages that were written (None before the
# first page).
OnProgress = Callable[[int, int | None], None]
ROWS_PER_EVENT = 256


def ignore_progress(rows_read: int, pages_written: int | None) -> None:
    """Ignore a report's progress."""


class ReportProgressCounter:
    """Counts the rows that a report has read and the pages that it has written."""

    def __init__(self, on_progress: OnProgress) -> None:
        self._on_progress, self._read_count, self._page_count = on_progress, 0, 0

    def add_row(self, row: Mapping[str, Any], result: object, offset: int) -> None:
        self._read_count += 1
        if self._read_count % ROWS_PER_EVENT == 0:
            self._on_progress(self._read_count, None)

    def add_page(self) -> None:
        self._page_count += 1
        if self._page_count % ROWS_PER_EVENT == 0:
            self._on_progress(self._read_count, self._page_count)


def write_pages(
    folder: Path,
    report_stamp: ReportStamp,
    covered_rows: RowsDigest,
    submission_lists: SubmissionLists,
    selection: PageSelection,
    extra_pages: Mapping[str, Document],
    filters_json: str,
    target_folder: Path,
    progress_counter: ReportProgressCounter,
    old_manifest: ReportManifest | None,
) -> None:
    """Write the folder report/. The old folder stays until the new one is complete.

    Args:
        folder: The run's folder.
        report_stamp: The state of the run that the report shows.
        covered_rows: The rows that the report shows.
        submission_lists: All rows of the run.
        selection: The submissions that have pages.
        extra_pages: Further pages by their file names.
        filters_json: The values that lists of submissions can be filtered by, as JSON.
        target_folder: The folder that gets report/.
        progress_counter: Counts the pages.
        old_manifest: The manifest of the last report, if its rows have not changed.
    """
    draft = make_draft_path(target_folder / FOLDER)
    try:
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        for name in (STYLE, SCRIPT):
            (draft / name).write_text(read_asset(name), "utf-8")
        (draft / _CHOICES).write_text(f"const CHOICES = {filters_json};\n", "utf-8")
        for name, page in extra_pages.items():
            _write_html(draft / name, page)
        coloured_keys, confinement_reports = (
            submission_lists.find_keys_of_highlighted_code(),
            read_sandbox_confinements(folder),
        )
        manifest = ReportManifest(
            stamp=report_stamp,
            covered=covered_rows,
            selection=selection.sha256,
            step=selection.step,
            pages=selection.pages,
            coloured=coloured_keys,
        )
        old_pages = PreviousReportPages(target_folder / FOLDER, old_manifest, manifest)
        submission_lists.write(draft, selection, old_pages)
        for offset, key, repeats in submission_lists.select_pages(selection):
            progress_counter.add_page()
            name = make_submission_page_filename(key)
            if old_pages.has_valid_page(offset, key, repeats) and old_pages.link_unchanged_page(name, draft):
                continue
            row = read_row_at_offset(folder, offset, confinement_reports)
            has_colours = coloured_keys is None or key in coloured_keys
            task, result = submission_lists.tasks.get(row["problem_id"]), read_result(row)
            page_document = make_submission_document(row, result, task, selection, coloured=has_colours)
            _write_html(draft / name, page_document)
        manifest.write(draft)
        shutil.rmtree(target_folder / FOLDER, ignore_errors=True)
        draft.rename(target_folder / FOLDER)
    except OSError as error:
        raise make_write_error(target_folder / FOLDER, error) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


class PreviousReportPages:
    """The pages of the last report, and which of them a new report can use as they are."""

    def __init__(
        self, pages: Path, old_manifest: ReportManifest | None, new_manifest: ReportManifest
    ) -> None:
        """`old_manifest`: the manifest of the last report, if its rows have not changed."""
        self._folder = pages
        if old_manifest is not None and (old_manifest.stamp.program, old_manifest.stamp.base) != (
            new_manifest.stamp.program,
            new_manifest.stamp.base,
        ):
            old_manifest = None
        self._covered_bytes = 0 if old_manifest is None else old_manifest.covered.size
        self._has_same_links = old_manifest is not None and old_manifest.selection == new_manifest.selection
        self._recoloured_keys: Collection[str] | None = ()
        if old_manifest is not None and old_manifest.coloured != new_manifest.coloured:
            have_keys = old_manifest.coloured is not None and new_manifest.coloured is not None
            self._recoloured_keys = (
                (old_manifest.coloured or set()) ^ (new_manifest.coloured or set()) if have_keys else None
            )
        is_same_choice = old_manifest is not None and (old_manifest.pages, old_manifest.step) == (
            new_manifest.pages,
            new_manifest.step,
        )
        self.lists = self._covered_bytes if is_same_choice else 0
        """Bytes of results.jsonl. Lists of problems without later rows can be used as they are."""

    def has_valid_page(self, row_offset: int, key: str, repeated_key: str) -> bool:
        """Return True if the old page of a submission, which may be missing, is still valid."""
        if row_offset >= self._covered_bytes or self._recoloured_keys is None or key in self._recoloured_keys:
            return False
        return self._has_same_links or not repeated_key

    def link_unchanged_page(self, page_name: str, new_folder: Path) -> bool:
        """Link an old page into the folder of a new report, and return True if that worked."""
        try:
            os.link(self._folder / page_name, new_folder / page_name)
        except OSError:  # the old page does not exist, or the file system does not support links
            return False
        return True


# --- pages of problems -------------------------------------------------------------------------------


class SubmissionListRow(NamedTuple):
    """A row of the lists of submissions."""

    key: str
    model: str
    problem: str
    ending: str  # verdict of the submission, or `no program`
    points: float
    feedback: str  # feedback on the first test that the submission did not pass
    parts: bytes  # subtasks as JSON: the name, points and maximum points of each
    attempt: float | None  # number of the submission among the model's submissions for the problem
    repeats: str  # key of the equal submission whose result was copied; empty if this submission was judged
    language: str

    @classmethod
    def from_result(
        cls, result: SubmissionResult, model: str, attempt_number: float | None, language: str
    ) -> SubmissionListRow:
        failed_test, feedback = find_first_failed_test(result), ""
        if not result.compiles:
            feedback = result.compile_output.strip().partition("\n")[0]
        elif failed_test is not None:
            feedback = f"{failed_test.test_name}: {failed_test.feedback}"
        subtasks = [
            (subtask.subtask, subtask.weighted_score, subtask.points)
            for subtask in result.subtasks
            if subtask.points
        ]
        return cls(
            result.key,
            model,
            result.problem_id,
            find_verdict_or_no_program(result),
            result.points,
            shorten(feedback, MAX_FEEDBACK),
            msgspec.json.encode(subtasks),
            attempt_number,
            result.repeats,
            language,
        )


class TestStatistics(msgspec.Struct):
    """Counts of a problem's submissions by test, model and time."""

    ends: dict[str, Counter[Verdict]] = {}
    # Number of submissions that lost a subtask only by this test, by subtask.
    decided: Counter[str] = msgspec.field(default_factory=Counter)
    judged: Counter[str] = msgspec.field(default_factory=Counter)  # by model
    solved: Counter[str] = msgspec.field(default_factory=Counter)
    # Number of submissions by score: 0, up to 10 %, ..., below 100 %, 100 %.
    shares: Counter[int] = msgspec.field(default_factory=Counter)
    # Number of submissions by steps of the time limit, and by whether the submission has full points.
    times: Counter[tuple[int, bool]] = msgspec.field(default_factory=Counter)

    def add(self, result: SubmissionResult, model: str, task: Task | None) -> None:
        is_solved = result.verdict is Verdict.AC
        self.judged[model] += 1
        self.solved[model] += is_solved
        share = result.points / (result.max_points or 1)
        self.shares[11 if share > 1 - 1e-9 else math.ceil(10 * max(0.0, share) - 1e-9)] += 1
        for resource, steps in compute_limit_usage_steps(result, task) if task else ():
            if resource == "time":
                self.times[steps, is_solved] += 1
        for test in result.tests:
            self.ends.setdefault(test.test_name, Counter())[test.status] += 1
        if not result.compiles or is_solved:
            return
        for tests in [subtask.test_results for subtask in result.subtasks] or [result.tests]:
            failed_tests = [test for test in tests if test.status is not Verdict.AC]
            if len(failed_tests) == 1 and failed_tests[0].status is not Verdict.SKIPPED:
                self.decided[failed_tests[0].test_name] += 1


def make_problem_document(
    problem: str,
    submissions_by_model: Mapping[str, tuple[Sequence[SubmissionListRow], int]],
    statistics: TestStatistics,
    task: Task | None,
    selection: PageSelection,
) -> Document:
    """Return a problem's page.

    Args:
        problem: The problem's name.
        submissions_by_model: The best submissions of each model, and the number of its other submissions.
        statistics: Counts of all submissions for the problem.
        task: The problem's description, if the run has it.
        selection: The submissions that have pages.
    """
    model_sections = (
        Section(
            title=model or "Submissions without a model's name",
            anchor=make_model_anchor(model),
            level=3,
            table=_make_submissions_table(
                shown_rows,
                selection,
                columns=("key", "attempt", "status", "points", "feedback")
                if any(list_row.attempt is not None for list_row in shown_rows)
                else ("key", "status", "points", "feedback"),
            ),
            notes=[f"The first {len(shown_rows):,}; {other_count:,} more are in the list of all submissions."]
            if other_count
            else [],
        )
        for model, (shown_rows, other_count) in submissions_by_model.items()
    )
    submissions = [list_row for shown_rows, _ in submissions_by_model.values() for list_row in shown_rows]
    return Document(
        title=f"Problem {problem}",
        about=_format_problem_line(task) if task else "",
        tab=PROBLEMS,
        sections=[
            *(_make_statement_section(task) if task else ()),
            *_make_subtasks_section(task),
            *_make_histogram_sections(statistics, task),
            _make_solved_by_section(submissions_by_model, statistics, selection.author),
            Section(title="Submissions", text=[f"By {selection.author}, those with the most points first."]),
            *model_sections,
            *_make_equal_programs_section(submissions, selection),
            _make_tests_section(statistics),
            *(_make_solutions_section(task) if task else ()),
        ],
    )


def _format_problem_line(task: Task) -> str:
    """Return a line with the name, type, limits and checker of the task, a problem of the run."""
    tests = format_count(task.tests, "test") if task.tests else ""
    return ", ".join(
        filter(
            None,
            (
                task.name,
                task.type,
                *(value for _, value in list_limit_names_and_values(task)),
                tests,
                task.checker,
            ),
        )
    )


def _make_subtasks_section(task: Task | None) -> Iterator[Section]:
    if task is not None and task.subtasks:
        rows = [
            [subtask.name, format_number(subtask.points), f"{subtask.tests:,}"] for subtask in task.subtasks
        ]
        yield Section(title="Subtasks", table=TableBlock(heads=["Subtask", "Points", "Tests"], rows=rows))


def _make_solved_by_section(
    submissions_by_model: Mapping[str, tuple[Sequence[SubmissionListRow], int]],
    statistics: TestStatistics,
    author: str,
) -> Section:
    """Return a table of the models. Those with the highest share of solved submissions come first."""
    models = sorted(
        submissions_by_model, key=lambda model: (-statistics.solved[model] / statistics.judged[model], model)
    )
    solver_count = sum(statistics.solved[model] > 0 for model in submissions_by_model)
    return Section(
        title="Solved by",
        lead=f"{format_count(solver_count, author)} of {len(models):,}"
        f" {'solves' if solver_count == 1 else 'solve'} it.",
        table=TableBlock(
            heads=[author.capitalize(), "Share", "Solved", "of", "Best points"],
            rows=[
                [
                    Link(text=model or "no model's name", href=f"#{make_model_anchor(model)}"),
                    ShareBar(part=statistics.solved[model], whole=statistics.judged[model]),
                    f"{statistics.solved[model]:,}",
                    f"{statistics.judged[model]:,}",
                    format_number(submissions_by_model[model][0][0].points),
                ]
                for model in models
            ],
            align="llrrr",
        ),
    )


def _make_histogram_sections(statistics: TestStatistics, task: Task | None) -> Iterator[Section]:
    """Yield histograms of the submissions, by their points and by their times."""
    bar_labels = ["0", *(f"to {high_step}" for high_step in range(10, 100, 10)), "below 100", "100"]
    score_bars = [(label, (statistics.shares[index],)) for index, label in enumerate(bar_labels)]
    title = "Submissions by score, in percent of the points"
    figures = [
        make_figure(
            title,
            draw_stacked_column_chart(title, score_bars, ["v-pa"]),
            ["score", "submissions"],
            [(a, b) for a, (b,) in score_bars],
        )
    ]
    if task is not None and task.cpu_time and statistics.times:
        limit_steps = round(1 / LimitUsage.STEP)
        time_bars = list[tuple[str, tuple[int, ...]]]()
        for low_step in (*range(0, limit_steps, _STEPS_OF_BAR), limit_steps):
            high_step = low_step + _STEPS_OF_BAR if low_step < limit_steps else 0
            counts = Counter[bool]()
            for (steps, solved), count in statistics.times.items():
                if (low_step < steps or low_step == steps == 0) and (not high_step or steps <= high_step):
                    counts[solved] += count
            label = f"to {high_step * LimitUsage.STEP * task.cpu_time:.3g} s" if high_step else "more"
            time_bars.append((label, (counts[True], counts[False])))
        title = f"Submissions by the CPU time of their slowest test (limit {task.cpu_time:g} s)"
        legend_entries = [("solved", "v-ac"), ("not solved", "v-wa")]
        rows = [(label, *pair) for label, pair in time_bars]
        figures.append(
            make_figure(
                title,
                draw_stacked_column_chart(
                    title, time_bars, [style for _, style in legend_entries], legend_entries
                ),
                ["time", "solved", "not_solved"],
                rows,
            )
        )
    yield Section(title="Scores and times", figures=figures)


def _make_statement_section(task: Task) -> Iterator[Section]:
    pdf_note = f"The package also has it as a PDF: {task.document}." if task.document else ""
    if task.statement:
        yield Section(
            title="Statement", text=[pdf_note] if pdf_note else [], drawn=StatementHtml(text=task.statement)
        )
    elif pdf_note:
        yield Section(
            title="Statement",
            text=[f"The package has it only as a PDF, which no model is asked with: {task.document}."],
        )


def _make_equal_programs_section(
    submissions: Sequence[SubmissionListRow], selection: PageSelection
) -> Iterator[Section]:
    """Yield a table of submissions that were not judged because their program equals another program."""
    repeating_rows = sorted(
        (submission for submission in submissions if submission.repeats),
        key=lambda each: (each.repeats, each.key),
    )
    rows: list[list[Cell]] = [
        [
            selection.make_link(list_row.repeats, list_row.ending),
            selection.make_link(list_row.key, list_row.ending),
            list_row.model or NOTHING,
            list_row.ending,
        ]
        for list_row in repeating_rows[:MAX_LISTED]
    ]
    if rows:
        yield Section(
            title="Equal programs",
            anchor=EQUAL,
            table=TableBlock(
                heads=["Judged", "Equal to it", selection.author.capitalize(), "Verdict"],
                rows=rows,
                align="llll",
            ),
            notes=[f"The first {MAX_LISTED:,} of {len(repeating_rows):,}."]
            if len(repeating_rows) > MAX_LISTED
            else [],
        )


def _make_solutions_section(task: Task) -> Iterator[Section]:
    if task.solutions:
        yield Section(
            title="Solutions of the package",
            table=TableBlock(
                heads=["Solution", "Language", "Said to be"],
                rows=[
                    [solution.name, solution.language, solution.expected or NOTHING]
                    for solution in task.solutions
                ],
                align="lll",
            ),
        )


def _make_tests_section(statistics: TestStatistics) -> Section:
    found_statuses = {status for ends in statistics.ends.values() for status in ends}
    shown_statuses = [status for status in STATUS_ORDER[::-1] if status in found_statuses]
    failure_counts = {
        name: sum(ends.values()) - ends[Verdict.AC] - ends[Verdict.SKIPPED]
        for name, ends in statistics.ends.items()
    }
    never_failed_tests = [name for name, failing in failure_counts.items() if not failing]
    return Section(
        title="Tests",
        text=[
            "Failed by: the submissions that did not pass the test. Decides: their subtasks of which all "
            "tests ran, and this one alone failed. A test is skipped once no score depends on it."
        ],
        table=TableBlock(
            heads=["Test", "Failed by", "Decides", *shown_statuses],
            rows=[
                [
                    name,
                    f"{failure_counts[name]:,}",
                    f"{statistics.decided[name]:,}",
                    *(f"{ends[status]:,}" for status in shown_statuses),
                ]
                for name, ends in statistics.ends.items()
            ],
        ),
        notes=[
            f"{format_count(len(never_failed_tests), 'test')} that no submission fails:"
            f" {', '.join(never_failed_tests)}."
        ]
        if never_failed_tests
        else [],
    )


def _make_submissions_section(submissions: Iterable[SubmissionListRow], selection: PageSelection) -> Section:
    columns = ("key", "model", "problem", "status", "points", "language", "feedback")
    return Section(
        title="Submissions",
        table=_make_submissions_table(submissions, selection, columns=columns, kind="submissions"),
    )


def make_list_page_document(
    submissions: Sequence[SubmissionListRow],
    page_number: int,
    problem_slices: Sequence[ProblemSlice],
    is_last: bool,
    selection: PageSelection,
) -> Document:
    neighbours = [("Before", page_number - 1)] if page_number else []
    neighbours += [] if is_last else [("Next", page_number + 1)]
    first_slice, last_slice = problem_slices[0], problem_slices[-1]
    problem_range = (
        first_slice.problem if len(problem_slices) == 1 else f"{first_slice.problem} to {last_slice.problem}"
    )
    is_whole_problem = not first_slice.begin and (len(problem_slices) > 1 or last_slice.end < LONGEST_LIST)
    return Document(
        title=f"Submissions for {problem_range}"
        + ("" if is_whole_problem else f", from {first_slice.begin + 1:,} on"),
        tab=SUBMISSIONS,
        script=_CHOICES,
        links=[Link(text=label, href=make_list_page_filename(neighbour)) for label, neighbour in neighbours],
        sections=[_make_submissions_section(submissions, selection)],
    )


def make_list_index_document(
    list_pages: Sequence[Sequence[ProblemSlice]], counts: Mapping[str, int]
) -> Document:
    """Return the page with a link for each problem to the page with its first submissions."""
    first_pages = {
        problem_slice.problem: page_number
        for page_number, list_page in enumerate(list_pages)
        for problem_slice in list_page
        if not problem_slice.begin
    }
    return Document(
        title=f"All {format_count(sum(counts.values()), 'submission')}",
        tab=SUBMISSIONS,
        sections=[
            Section(
                title="Submissions by problem",
                table=TableBlock(
                    heads=["Problem", "Submissions", "From page"],
                    rows=[
                        [
                            Link(text=problem, href=name_problem_page(problem)),
                            f"{page_number:,}",
                            Link(
                                text=f"{first_pages[problem] + 1:,}",
                                href=make_list_page_filename(first_pages[problem]),
                            ),
                        ]
                        for problem, page_number in counts.items()
                    ],
                ),
            )
        ],
    )


def _make_submissions_table(
    submissions: Iterable[SubmissionListRow],
    selection: PageSelection,
    *,
    columns: Sequence[str],
    kind: str = "",
) -> TableBlock:
    column_heads = {
        "key": "Submission",
        "attempt": "Attempt",
        "model": selection.author.capitalize(),
        "problem": "Problem",
        "language": "Language",
        "status": "Verdict",
        "points": "Points",
        "feedback": "Feedback",
    }
    rows: list[list[Cell]] = []
    for list_row in submissions:
        cells: dict[str, Cell] = {
            "key": selection.make_link(list_row.key, list_row.ending),
            "attempt": format_number(list_row.attempt),
            "model": list_row.model or NOTHING,
            "problem": Link(text=list_row.problem, href=name_problem_page(list_row.problem)),
            "language": list_row.language or NOTHING,
            "status": list_row.ending,
            "points": format_number(list_row.points),
            "feedback": list_row.feedback or NOTHING,
        }
        rows.append([cells[name] for name in columns])
    return TableBlock(
        heads=[column_heads[name] for name in columns],
        rows=rows,
        align="".join("r" if name in ("points", "attempt") else "l" for name in columns),
        kind=kind,
    )


# --- stamps ------------------------------------------------------------------------------------------


_NAME = "made.json"
_PAGE_LIBRARIES = ("jinja2", "markupsafe", "msgspec", "pyarrow", "pygments", "latex2mathml", "markdown-it-py")
# Number of bytes at the start and at the end of results.jsonl that `ReportStamp.ends` hashes. Each row
# contains times and hashes, so these bytes identify the content.
_CHUNK_BYTES = 1 << 12


class ReportStamp(Value):
    """The state of a run's folder. Two reports with equal stamps are equal.

    Rows are only appended, so the size, the first and the last bytes show whether results.jsonl has changed.
    """

    program: str  # hash of this package's sources and of the libraries that create pages
    size: int  # size of results.jsonl in bytes
    ends: str  # hash of the first and the last bytes of results.jsonl
    others: str  # hash of the options and of all other files that a report reads
    base: str  # hash of the facts about problems and the judge that submissions' pages show

    @classmethod
    def of_run_folder(cls, folder: Path, options: ReportOptions) -> ReportStamp:
        rows_path = folder / RESULTS
        size_bytes, ends_hash = rows_path.stat().st_size if rows_path.exists() else 0, ""
        if size_bytes:
            with rows_path.open("rb") as stream:
                chunk_size = min(_CHUNK_BYTES, size_bytes)
                first_bytes = stream.read(chunk_size)
                stream.seek(size_bytes - chunk_size)
                ends_hash = hashlib.sha256(first_bytes + stream.read(chunk_size)).hexdigest()
        other_files, judge_base = (
            hashlib.sha256(msgspec.json.encode((options, is_being_written(folder)))),
            hashlib.sha256(),
        )
        for name in (RUN, FAILURES, VALIDATION, TRUST, TASKS, *list_files_of_report_parts()):
            path = folder / name
            content = path.read_bytes() if path.exists() else b""
            other_files.update(content)
            other_files.update(name.encode())
            if name == TASKS:
                judge_base.update(content)
        judge_base.update(msgspec.json.encode(read_sandbox_confinements(folder), order="sorted"))
        return cls(
            program=_compute_sources_hash(),
            size=size_bytes,
            ends=ends_hash,
            others=other_files.hexdigest(),
            base=judge_base.hexdigest(),
        )


class RowsDigest(Value):
    """The size and the hash of the first lines of results.jsonl."""

    size: int
    sha256: str


class ReportManifest(Value):
    """The content of a report's file made.json: hashes and choices that decide the pages in its folder."""

    stamp: ReportStamp
    covered: RowsDigest
    selection: str  # hash of the choice of submissions that have pages
    step: int  # step of the sample of submissions that have pages
    pages: PageChoice
    # Keys of submissions whose programs are coloured; None means all submissions.
    coloured: frozenset[str] | None

    @classmethod
    def read(cls, folder: Path) -> ReportManifest | None:
        """Return the manifest of the report in a folder, or None if it is missing or invalid."""
        return read_value(folder / _NAME, cls)

    @staticmethod
    def read_modification_time_ns(folder: Path) -> int:
        """Return the time of the last write to the folder's made.json, in nanoseconds since 1970."""
        return (folder / _NAME).stat().st_mtime_ns

    def write(self, folder: Path) -> None:
        (folder / _NAME).write_bytes(msgspec.json.encode(self, order="deterministic"))


@cache
def _compute_sources_hash() -> str:
    """Return a hash of this package's sources and of the libraries that write its pages and tables."""
    package_folder = Path(__file__).parent
    digest = hashlib.sha256(compute_code_digest().encode())
    for path in sorted(package_folder.iterdir()):
        if path.is_file() and path.suffix != ".py":
            digest.update(path.name.encode() + path.read_bytes())
    for name in ("ioi-eval", *_PAGE_LIBRARIES):
        with contextlib.suppress(PackageNotFoundError):
            digest.update(f"{name} {version(name)}\n".encode())
    digest.update("\n".join(list_entry_versions(Registry.REPORT_SECTIONS)).encode())
    digest.update(sys.version.encode())
    return digest.hexdigest()
