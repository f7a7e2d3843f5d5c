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

from ioi_eval.model.values import STATUS_ORDER, SubmissionResult, Value, Verdict
from ioi_eval.registries import Registry, registered_versions
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
    Meter,
    Section,
    TableBlock,
    asset,
    attempts_script,
    counted,
    drawn,
    html,
    model_anchor,
    number,
    part_page,
    problem_page,
    submission_page,
)
from ioi_eval.reports.parts import files_of_parts
from ioi_eval.reports.plots import columns, figure
from ioi_eval.reports.records import VALIDATION, LimitUsage, PageChoice, ReportOptions, Summary
from ioi_eval.reports.statements import StatementHtml
from ioi_eval.reports.submissions import MAX_FEEDBACK, AttemptIndex, first_failed, limits, submission_document
from ioi_eval.reports.summary import uses_of
from ioi_eval.reports.trust import TRUST
from ioi_eval.rules.scoring import outcome_name
from ioi_eval.store.files import draft_path, read_value, write_error
from ioi_eval.store.folder import (
    FAILURES,
    RESULTS,
    RUN,
    is_written_now,
    read_confinements,
    read_row_at,
)
from ioi_eval.store.resources import code_digest
from ioi_eval.store.rows import as_label, as_number, model_of_row, read_result, shorten
from ioi_eval.store.tasks import TASKS, Task

# Maximum number of submissions of a run whose code is all coloured. In a larger run only the best submission
# of each model for each problem is, or if those are more than the second number, the best of each problem.
_COLOURED, _BESTS = 3000, 1000
_SAMPLE = 10_000  # minimum size of a sample, in submissions; the maximum is twice that
LONGEST_LIST = 10_000  # maximum number of submissions on a page of the list
_LISTED = 500  # maximum number of a model's submissions on the page of a problem
_MAX_BUFFERED = 1000  # rows in memory
_CHOICES = "choices.js"  # script with the filters of pages that list submissions
_STEPS_OF_BAR = 2  # steps of the time limit in a bar of the histogram
_COLUMNS = "key, model, problem, ending, points, feedback, parts, attempt, repeats, language"
_OF_PROBLEM = f"SELECT {_COLUMNS} FROM rows WHERE problem = ? ORDER BY model, -points, key"
_COUNTS = "SELECT problem, count(*) FROM rows WHERE place < ? GROUP BY problem ORDER BY problem"
_MAX_OFFSET = 1 << 62  # more than any offset in a file


class PageSelection:
    """The choice of submissions that have their own pages."""

    def __init__(self, pages: PageChoice, run: Summary) -> None:
        best = (best.key for model in run.models for problem in model.problems for best in problem.subtasks)
        self.pages = pages
        self.named = frozenset([*best, *(key for each in run.causes for key in each.examples)])
        # A power of two, so that a growing run keeps most of its sample.
        self.step = 1 << max(0, (run.scored // _SAMPLE).bit_length() - 1)

    def has(self, key: str, verdict: str | None) -> bool:
        """Return True if a submission has its own page."""
        match self.pages:
            case PageChoice.NONE:
                return False
            case PageChoice.FAILED:
                return verdict != Verdict.AC or key in self.named
            case PageChoice.SAMPLE:
                return drawn(key) % self.step == 0 or key in self.named
        return True

    def link(self, key: str, verdict: str) -> Link:
        """Return a link to a submission's page, or its key if it has no page."""
        return Link(text=key, href=submission_page(key) if self.has(key, verdict) else "")

    def example(self, key: str) -> Link:
        """Return a link from the report to a submission that it names."""
        has_page = self.pages is not PageChoice.NONE
        return Link(text=key, href=f"{FOLDER}/{submission_page(key)}" if has_page else "")

    @property
    def sha256(self) -> str:
        """Return a hash of everything that decides the choice."""
        return hashlib.sha256(msgspec.json.encode((self.pages, self.step, sorted(self.named)))).hexdigest()


class ListState(msgspec.Struct):
    """What a report's lists know in addition to their rows, stored for the next report."""

    bests: dict[tuple[str, str], tuple[float, str]] = {}  # by problem and model
    tests: dict[str, TestStatistics] = {}  # by problem


class SubmissionLists:
    """Collects rows in an SQLite file and writes all pages except those of submissions."""

    def __init__(
        self, tasks: Mapping[str, Task], file: Path | str = "", begin: int = 0, kept: ListState | None = None
    ) -> None:
        """Open the file.

        Args:
            tasks: Descriptions of the run's problems.
            file: A file that has all rows before `begin`, or a new file; empty means a temporary file.
            begin: Offset in results.jsonl of the first row that is missing in the file.
            kept: The state after the rows before `begin`.
        """
        self.tasks, self.kept = tasks, kept or ListState()
        self._rows, self._begin = sqlite3.connect(file), begin
        self._rows.execute("PRAGMA journal_mode = OFF")
        self._rows.execute("PRAGMA synchronous = OFF")
        self._rows.execute(f"CREATE TABLE IF NOT EXISTS rows ({_COLUMNS}, place, draw)")
        self._buffered = list[tuple[Any, ...]]()

    def add(self, row: Mapping[str, Any], result: SubmissionResult, place: int) -> None:
        if place < self._begin:
            return
        attempt, language = as_number(row.get("solution_number")), as_label(row.get("language") or "")
        list_row = ListRow.of(result, model_of_row(row), attempt, language)
        self._buffered.append((*list_row, place, drawn(list_row.key)))
        if len(self._buffered) == _MAX_BUFFERED:
            self._flush()
        rank, pair = (-list_row.points, list_row.key), (list_row.problem, list_row.model)
        self.kept.bests[pair] = min(self.kept.bests.get(pair, rank), rank)
        tests = self.kept.tests.setdefault(list_row.problem, TestStatistics())
        tests.add(result, list_row.model, self.tasks.get(list_row.problem))

    def _flush(self) -> None:
        self._rows.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", self._buffered)
        self._buffered.clear()

    def end(self) -> None:
        """Write the remaining rows, after the last call of `add`."""
        self._flush()
        self._rows.execute("CREATE INDEX IF NOT EXISTS of_problem ON rows (problem, place)")
        self._rows.commit()

    def close(self) -> None:
        self._rows.close()

    def known(self, keys: Collection[str]) -> set[str]:
        """Return those of the keys that rows before `begin` have."""
        self._rows.execute("CREATE TEMP TABLE asked (key PRIMARY KEY)")
        self._rows.executemany("INSERT OR IGNORE INTO asked VALUES (?)", ((key,) for key in keys))
        query = "SELECT key FROM rows WHERE place < ? AND key IN (SELECT key FROM asked)"
        known_keys = {key for (key,) in self._rows.execute(query, (self._begin,))}
        self._rows.execute("DROP TABLE asked")
        return known_keys

    def coloured(self) -> frozenset[str] | None:
        """Return the submissions whose code has colours, or None if all have."""
        [[number]] = self._rows.execute("SELECT count(*) FROM rows")
        if number <= _COLOURED:
            return None
        if len(self.kept.bests) <= _BESTS:
            return frozenset(key for _, key in self.kept.bests.values())
        best_of_problems = dict[str, tuple[float, str]]()
        for (problem, _), rank in self.kept.bests.items():
            best_of_problems[problem] = min(best_of_problems.get(problem, rank), rank)
        return frozenset(key for _, key in best_of_problems.values())

    def selected(self, selection: PageSelection) -> Iterator[tuple[int, str, str]]:
        """Yield offset, key and equal submission of each submission with a page, in the order of the rows."""
        condition = {
            PageChoice.ALL: "true",
            PageChoice.NONE: "false",
            PageChoice.FAILED: f"ending <> '{Verdict.AC}' OR key IN (SELECT key FROM named)",
            PageChoice.SAMPLE: f"draw % {selection.step} = 0 OR key IN (SELECT key FROM named)",
        }[selection.pages]
        self._rows.execute("CREATE TEMP TABLE named (key PRIMARY KEY)")
        self._rows.executemany("INSERT INTO named VALUES (?)", ((key,) for key in selection.named))
        yield from self._rows.execute(
            f"SELECT place, key, repeats FROM rows WHERE {condition} ORDER BY place"
        )
        self._rows.execute("DROP TABLE named")

    def write(self, draft: Path, selection: PageSelection, before: OldPages) -> None:
        """Write all pages except those of submissions into the folder of a new report.

        Args:
            draft: The folder.
            selection: The submissions that have pages.
            before: The last report. Its pages are linked if the new ones would be the same.
        """

        def are_linked(names: Sequence[str]) -> bool:
            return all(before.link(name, draft) for name in names)

        counts = dict(self._rows.execute(_COUNTS, (_MAX_OFFSET,)))
        earlier = dict(self._rows.execute(_COUNTS, (before.lists,)))
        if sum(counts.values()) <= LONGEST_LIST:
            _write(
                draft / ALL,
                Document(
                    title=f"All {counted(sum(counts.values()), 'submission')}",
                    tab=SUBMISSIONS,
                    script=_CHOICES,
                    sections=[_submissions((row for name in counts for row in self._of(name)), selection)],
                ),
            )
        else:
            parts, parts_before = parts_of(counts), parts_of(earlier)
            for number, part in enumerate(parts):
                name, is_last = part_page(number), number == len(parts) - 1
                existed = number < len(parts_before) and is_last == (number == len(parts_before) - 1)
                is_same = existed and parts_before[number] == part and sum(earlier.values()) > LONGEST_LIST
                is_same = is_same and all(
                    counts[part_of.problem] == earlier[part_of.problem] for part_of in part
                )
                if not (is_same and are_linked([name])):
                    rows = [
                        row
                        for part_of in part
                        for row in islice(self._of(part_of.problem), part_of.begin, part_of.end)
                    ]
                    _write(draft / name, part_of_all(rows, number, part, is_last, selection))
            _write(draft / ALL, index_of_parts(parts, counts))
        for problem in counts:
            names = [problem_page(problem)]
            names += [attempts_script(problem)] if selection.pages is not PageChoice.NONE else []
            if earlier.get(problem) == counts[problem] and are_linked(names):
                continue
            index = AttemptIndex(selection)
            by_model = groupby(index.noting(self._of(problem)), lambda list_row: list_row.model)
            of_models = {  # the first submissions of each model, and the number of its other ones
                model: (list(islice(rows, _LISTED)), sum(1 for _ in rows)) for model, rows in by_model
            }
            tests, task = self.kept.tests[problem], self.tasks.get(problem)
            page = problem_document(problem, of_models, tests, task, selection)
            for name in names:  # a link to the last report's page must not be written through
                (draft / name).unlink(missing_ok=True)
            _write(draft / problem_page(problem), page)
            if selection.pages is not PageChoice.NONE:
                (draft / attempts_script(problem)).write_text(index.script(), "utf-8")

    def _of(self, problem: str) -> Iterator[ListRow]:
        return map(ListRow._make, self._rows.execute(_OF_PROBLEM, (problem,)))


def _write(path: Path, page: Document) -> None:
    path.write_text(html(page, beside=True), "utf-8")


class PartOfProblem(NamedTuple):
    """A problem's submissions on a page of the list of all submissions."""

    problem: str
    begin: int
    end: int


def parts_of(counts: Mapping[str, int]) -> list[list[PartOfProblem]]:
    """Divide the list of all submissions into pages: whole problems, or parts of a problem that is too long.

    So a page changes only with the submissions of its own problems.
    """
    parts, capacity = list[list[PartOfProblem]](), 0
    for problem, count in counts.items():
        for begin in range(0, count, LONGEST_LIST):
            end = min(count, begin + LONGEST_LIST)
            if begin or end > capacity:
                parts.append([])
                capacity = LONGEST_LIST
            parts[-1].append(PartOfProblem(problem, begin, end))
            capacity -= end - begin
    return parts


# Takes the numbers of rows that were read and of pages that were written; None: no page is written yet.
OnProgress = Callable[[int, int | None], None]
_ROWS_PER_EVENT = 256


def ignore_progress(read: int, pages: int | None) -> None:
    """Ignore a report's progress."""


class ProgressCounter:
    """Counts the rows that a report has read and the pages that it has written."""

    def __init__(self, on_progress: OnProgress) -> None:
        self._on_progress, self._read, self._pages = on_progress, 0, 0

    def add(self, row: Mapping[str, Any], result: object, place: int) -> None:
        self._read += 1
        if self._read % _ROWS_PER_EVENT == 0:
            self._on_progress(self._read, None)

    def add_page(self) -> None:
        self._pages += 1
        if self._pages % _ROWS_PER_EVENT == 0:
            self._on_progress(self._read, self._pages)


def write_pages(
    folder: Path,
    stamp: Stamp,
    covered: RowsDigest,
    lists: SubmissionLists,
    selection: PageSelection,
    more: Mapping[str, Document],
    choices: str,
    into: Path,
    rows: ProgressCounter,
    old: PageSources | None,
) -> None:
    """Write the folder report/. The old folder stays until the new one is complete.

    Args:
        folder: The run's folder.
        stamp: The state of the run that the report shows.
        covered: The rows that the report shows.
        lists: All rows of the run.
        selection: The submissions that have pages.
        more: Further pages by their file names.
        choices: The values that lists of submissions can be filtered by, as JSON.
        into: The folder that gets report/.
        rows: Counts the pages.
        old: The sources of the last report's pages, if its rows have not changed.
    """
    draft = draft_path(into / FOLDER)
    try:
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        for name in (STYLE, SCRIPT):
            (draft / name).write_text(asset(name), "utf-8")
        (draft / _CHOICES).write_text(f"const CHOICES = {choices};\n", "utf-8")
        for name, page in more.items():
            _write(draft / name, page)
        coloured, confinement_reports = lists.coloured(), read_confinements(folder)
        made_of = PageSources(
            stamp=stamp,
            covered=covered,
            selection=selection.sha256,
            step=selection.step,
            pages=selection.pages,
            coloured=coloured,
        )
        before = OldPages(into / FOLDER, old, made_of)
        lists.write(draft, selection, before)
        for place, key, repeats in lists.selected(selection):
            rows.add_page()
            name = submission_page(key)
            if before.has_submission(place, key, repeats) and before.link(name, draft):
                continue
            row = read_row_at(folder, place, confinement_reports)
            has_colours = coloured is None or key in coloured
            task, result = lists.tasks.get(row["problem_id"]), read_result(row)
            shown = submission_document(row, result, task, selection, coloured=has_colours)
            _write(draft / name, shown)
        made_of.write(draft)
        shutil.rmtree(into / FOLDER, ignore_errors=True)
        draft.rename(into / FOLDER)
    except OSError as error:
        raise write_error(into / FOLDER, error) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


class OldPages:
    """The pages of the last report, and which of them a new report can use as they are."""

    def __init__(self, pages: Path, old: PageSources | None, now: PageSources) -> None:
        """`old`: sources of the old pages, if their rows have not changed; `now`: those of the new pages."""
        self._folder = pages
        if old is not None and (old.stamp.program, old.stamp.base) != (now.stamp.program, now.stamp.base):
            old = None
        self._size = 0 if old is None else old.covered.size
        self._same_links = old is not None and old.selection == now.selection
        self._recoloured: Collection[str] | None = ()
        if old is not None and old.coloured != now.coloured:
            are_known = old.coloured is not None and now.coloured is not None
            self._recoloured = (old.coloured or set()) ^ (now.coloured or set()) if are_known else None
        is_same_choice = old is not None and (old.pages, old.step) == (now.pages, now.step)
        self.lists = self._size if is_same_choice else 0
        """Bytes of results.jsonl. Lists of problems without later rows can be used as they are."""

    def has_submission(self, place: int, key: str, repeats: str) -> bool:
        """Return True if a submission's page, if it had one, is still right."""
        if place >= self._size or self._recoloured is None or key in self._recoloured:
            return False
        return self._same_links or not repeats

    def link(self, name: str, draft: Path) -> bool:
        """Link an old page into the folder of a new report, and return True if that worked."""
        try:
            os.link(self._folder / name, draft / name)
        except OSError:  # there is no such page, or the file system has no links
            return False
        return True


# --- pages of problems -------------------------------------------------------------------------------


class ListRow(NamedTuple):
    """A submission in lists."""

    key: str
    model: str
    problem: str
    ending: str  # the verdict, or `no program`
    points: float
    feedback: str  # on the first test that the submission did not pass
    parts: bytes  # JSON: name, points and maximum of each subtask
    attempt: float | None  # its number among the model's submissions for the problem
    repeats: str  # the equal submission that was judged for it
    language: str

    @classmethod
    def of(cls, result: SubmissionResult, model: str, attempt: float | None, language: str) -> ListRow:
        first, feedback = first_failed(result), ""
        if not result.compiles:
            feedback = result.compile_output.strip().partition("\n")[0]
        elif first is not None:
            feedback = f"{first.test_name}: {first.feedback}"
        parts = [
            (subtask.subtask, subtask.weighted_score, subtask.points)
            for subtask in result.subtasks
            if subtask.points
        ]
        return cls(
            result.key,
            model,
            result.problem_id,
            outcome_name(result),
            result.points,
            shorten(feedback, MAX_FEEDBACK),
            msgspec.json.encode(parts),
            attempt,
            result.repeats,
            language,
        )


class TestStatistics(msgspec.Struct):
    """Counts of a problem's submissions by test, model and time."""

    ends: dict[str, Counter[Verdict]] = {}
    decided: Counter[str] = msgspec.field(default_factory=Counter)  # subtasks that only this test failed
    judged: Counter[str] = msgspec.field(default_factory=Counter)  # by model
    solved: Counter[str] = msgspec.field(default_factory=Counter)
    shares: Counter[int] = msgspec.field(
        default_factory=Counter
    )  # by score: 0, up to 10 %, ..., below 100 %, 100 %
    # By steps of the time limit, and by whether the submission has full marks.
    times: Counter[tuple[int, bool]] = msgspec.field(default_factory=Counter)

    def add(self, result: SubmissionResult, model: str, task: Task | None) -> None:
        solved = result.verdict is Verdict.AC
        self.judged[model] += 1
        self.solved[model] += solved
        share = result.points / (result.max_points or 1)
        self.shares[11 if share > 1 - 1e-9 else math.ceil(10 * max(0.0, share) - 1e-9)] += 1
        for what, steps in uses_of(result, task) if task else ():
            if what == "time":
                self.times[steps, solved] += 1
        for test in result.tests:
            self.ends.setdefault(test.test_name, Counter())[test.status] += 1
        if not result.compiles or solved:
            return
        for tests in [part.test_results for part in result.subtasks] or [result.tests]:
            failed = [test for test in tests if test.status is not Verdict.AC]
            if len(failed) == 1 and failed[0].status is not Verdict.SKIPPED:
                self.decided[failed[0].test_name] += 1


def problem_document(
    problem: str,
    of_models: Mapping[str, tuple[Sequence[ListRow], int]],
    tests: TestStatistics,
    task: Task | None,
    selection: PageSelection,
) -> Document:
    """Return a problem's page.

    Args:
        problem: The problem's name.
        of_models: The best submissions of each model, and the number of its other ones.
        tests: Counts of all submissions for the problem.
        task: The problem's description, if the run has it.
        selection: The submissions that have pages.
    """
    lists = (
        Section(
            title=model or "Submissions without a model's name",
            anchor=model_anchor(model),
            level=3,
            table=_list(
                shown,
                selection,
                of=("key", "attempt", "status", "points", "feedback")
                if any(list_row.attempt is not None for list_row in shown)
                else ("key", "status", "points", "feedback"),
            ),
            notes=[f"The first {len(shown):,}; {more:,} more are in the list of all submissions."]
            if more
            else [],
        )
        for model, (shown, more) in of_models.items()
    )
    submissions = [list_row for shown, _ in of_models.values() for list_row in shown]
    return Document(
        title=f"Problem {problem}",
        about=_about(task) if task else "",
        tab=PROBLEMS,
        sections=[
            *(_statement(task) if task else ()),
            *_subtasks(task),
            *_histograms(tests, task),
            _solved_by(of_models, tests),
            Section(title="Submissions", text=["By model, those with the most points first."]),
            *lists,
            *_equal(submissions, selection),
            _of_tests(tests),
            *(_solutions(task) if task else ()),
        ],
    )


def _about(task: Task) -> str:
    """Return a line with a problem's name, type, limits and checker."""
    tests = counted(task.tests, "test") if task.tests else ""
    return ", ".join(
        filter(None, (task.name, task.type, *(value for _, value in limits(task)), tests, task.checker))
    )


def _subtasks(task: Task | None) -> Iterator[Section]:
    if task is not None and task.subtasks:
        parts = [[subtask.name, number(subtask.points), f"{subtask.tests:,}"] for subtask in task.subtasks]
        yield Section(title="Subtasks", table=TableBlock(heads=["Subtask", "Points", "Tests"], rows=parts))


def _solved_by(of_models: Mapping[str, tuple[Sequence[ListRow], int]], tests: TestStatistics) -> Section:
    """Return a table of the models. Those with the highest share of solved submissions come first."""
    ranked = sorted(of_models, key=lambda model: (-tests.solved[model] / tests.judged[model], model))
    solvers = sum(tests.solved[model] > 0 for model in of_models)
    return Section(
        title="Solved by",
        lead=f"{counted(solvers, 'model')} of {len(of_models):,} {'solves' if solvers == 1 else 'solve'} it.",
        table=TableBlock(
            heads=["Model", "Share", "Solved", "of", "Best points"],
            rows=[
                [
                    Link(text=model or "no model's name", href=f"#{model_anchor(model)}"),
                    Meter(part=tests.solved[model], whole=tests.judged[model]),
                    f"{tests.solved[model]:,}",
                    f"{tests.judged[model]:,}",
                    number(of_models[model][0][0].points),
                ]
                for model in ranked
            ],
            align="llrrr",
        ),
    )


def _histograms(tests: TestStatistics, task: Task | None) -> Iterator[Section]:
    """Yield histograms of the submissions, by their points and by their times."""
    labels = ["0", *(f"to {high}" for high in range(10, 100, 10)), "below 100", "100"]
    scores = [(label, (tests.shares[place],)) for place, label in enumerate(labels)]
    title = "Submissions by score, in percent of the points"
    figures = [
        figure(
            title, columns(title, scores, ["v-pa"]), ["score", "submissions"], [(a, b) for a, (b,) in scores]
        )
    ]
    if task is not None and task.cpu_time and tests.times:
        in_limit = round(1 / LimitUsage.STEP)
        times = list[tuple[str, tuple[int, ...]]]()
        for low in (*range(0, in_limit, _STEPS_OF_BAR), in_limit):
            high = low + _STEPS_OF_BAR if low < in_limit else 0
            counts = Counter[bool]()
            for (steps, solved), count in tests.times.items():
                if (low < steps or low == steps == 0) and (not high or steps <= high):
                    counts[solved] += count
            label = f"to {high * LimitUsage.STEP * task.cpu_time:.3g} s" if high else "more"
            times.append((label, (counts[True], counts[False])))
        title = f"Submissions by the CPU time of their slowest test (limit {task.cpu_time:g} s)"
        kinds = [("solved", "v-ac"), ("not solved", "v-wa")]
        rows = [(label, *pair) for label, pair in times]
        figures.append(
            figure(
                title,
                columns(title, times, [style for _, style in kinds], kinds),
                ["time", "solved", "not_solved"],
                rows,
            )
        )
    yield Section(title="Scores and times", figures=figures)


def _statement(task: Task) -> Iterator[Section]:
    pdf = f"The package also has it as a PDF: {task.document}." if task.document else ""
    if task.statement:
        yield Section(title="Statement", text=[pdf] if pdf else [], drawn=StatementHtml(text=task.statement))
    elif pdf:
        yield Section(
            title="Statement",
            text=[f"The package has it only as a PDF, which no model is asked with: {task.document}."],
        )


def _equal(submissions: Sequence[ListRow], selection: PageSelection) -> Iterator[Section]:
    """Yield a table of submissions whose program is equal to another one and was not judged again."""
    same = sorted((each for each in submissions if each.repeats), key=lambda each: (each.repeats, each.key))
    rows: list[list[Cell]] = [
        [
            selection.link(list_row.repeats, list_row.ending),
            selection.link(list_row.key, list_row.ending),
            list_row.model or NOTHING,
            list_row.ending,
        ]
        for list_row in same[:_LISTED]
    ]
    if rows:
        yield Section(
            title="Equal programs",
            anchor=EQUAL,
            table=TableBlock(heads=["Judged", "Equal to it", "Model", "Verdict"], rows=rows, align="llll"),
            notes=[f"The first {_LISTED:,} of {len(same):,}."] if len(same) > _LISTED else [],
        )


def _solutions(task: Task) -> Iterator[Section]:
    if task.solutions:
        yield Section(
            title="Solutions of the package",
            table=TableBlock(
                heads=["Solution", "Language", "CliOption to be"],
                rows=[
                    [solution.name, solution.language, solution.expected or NOTHING]
                    for solution in task.solutions
                ],
                align="lll",
            ),
        )


def _of_tests(tests: TestStatistics) -> Section:
    there = {status for ends in tests.ends.values() for status in ends}
    statuses = [status for status in STATUS_ORDER[::-1] if status in there]
    fails = {
        name: sum(ends.values()) - ends[Verdict.AC] - ends[Verdict.SKIPPED]
        for name, ends in tests.ends.items()
    }
    idle = [name for name, failing in fails.items() if not failing]
    return Section(
        title="Tests",
        text=[
            "Failed by: the submissions that did not pass the test. Decides: their subtasks of which all "
            "tests ran, and this one alone failed. A test is skipped once no score depends on it."
        ],
        table=TableBlock(
            heads=["Test", "Failed by", "Decides", *statuses],
            rows=[
                [
                    name,
                    f"{fails[name]:,}",
                    f"{tests.decided[name]:,}",
                    *(f"{ends[status]:,}" for status in statuses),
                ]
                for name, ends in tests.ends.items()
            ],
        ),
        notes=[f"{counted(len(idle), 'test')} that no submission fails: {', '.join(idle)}."] if idle else [],
    )


def _submissions(submissions: Iterable[ListRow], selection: PageSelection) -> Section:
    columns = ("key", "model", "problem", "status", "points", "language", "feedback")
    return Section(title="Submissions", table=_list(submissions, selection, of=columns, kind="submissions"))


def part_of_all(
    submissions: Sequence[ListRow],
    number: int,
    part: Sequence[PartOfProblem],
    is_last: bool,
    selection: PageSelection,
) -> Document:
    more = [("Before", number - 1)] if number else []
    more += [] if is_last else [("Next", number + 1)]
    first, last = part[0], part[-1]
    named = first.problem if len(part) == 1 else f"{first.problem} to {last.problem}"
    whole = not first.begin and (len(part) > 1 or last.end < LONGEST_LIST)
    return Document(
        title=f"Submissions for {named}" + ("" if whole else f", from {first.begin + 1:,} on"),
        tab=SUBMISSIONS,
        script=_CHOICES,
        links=[Link(text=text, href=part_page(other)) for text, other in more],
        sections=[_submissions(submissions, selection)],
    )


def index_of_parts(parts: Sequence[Sequence[PartOfProblem]], counts: Mapping[str, int]) -> Document:
    """Return the page that says on which page each problem's submissions begin."""
    starts = {
        part_of.problem: number for number, part in enumerate(parts) for part_of in part if not part_of.begin
    }
    return Document(
        title=f"All {counted(sum(counts.values()), 'submission')}",
        tab=SUBMISSIONS,
        sections=[
            Section(
                title="Submissions by problem",
                table=TableBlock(
                    heads=["Problem", "Submissions", "From page"],
                    rows=[
                        [
                            Link(text=problem, href=problem_page(problem)),
                            f"{number:,}",
                            Link(text=f"{starts[problem] + 1:,}", href=part_page(starts[problem])),
                        ]
                        for problem, number in counts.items()
                    ],
                ),
            )
        ],
    )


def _list(
    submissions: Iterable[ListRow], selection: PageSelection, *, of: Sequence[str], kind: str = ""
) -> TableBlock:
    heads = {
        "key": "Submission",
        "attempt": "Attempt",
        "model": "Model",
        "problem": "Problem",
        "language": "Language",
        "status": "Verdict",
        "points": "Points",
        "feedback": "Feedback",
    }
    rows: list[list[Cell]] = []
    for list_row in submissions:
        cells: dict[str, Cell] = {
            "key": selection.link(list_row.key, list_row.ending),
            "attempt": number(list_row.attempt),
            "model": list_row.model or NOTHING,
            "problem": Link(text=list_row.problem, href=problem_page(list_row.problem)),
            "language": list_row.language or NOTHING,
            "status": list_row.ending,
            "points": number(list_row.points),
            "feedback": list_row.feedback or NOTHING,
        }
        rows.append([cells[name] for name in of])
    return TableBlock(
        heads=[heads[name] for name in of],
        rows=rows,
        align="".join("r" if name in ("points", "attempt") else "l" for name in of),
        kind=kind,
    )


# --- stamps ------------------------------------------------------------------------------------------


_NAME = "made.json"
_MAKERS = ("jinja2", "markupsafe", "msgspec", "pyarrow", "pygments", "latex2mathml", "markdown-it-py")
_PIECE = 1 << 12  # bytes at each end of results.jsonl that a stamp reads; every row has times and hashes


class Stamp(Value):
    """The state of a run's folder. Two reports with equal stamps are equal.

    Rows are only ever added, so that the size and both ends of results.jsonl show whether it has changed.
    """

    program: str  # hash of this package's sources and of the libraries that make pages
    size: int  # bytes of results.jsonl
    ends: str  # hash of its first and last bytes
    others: str  # hash of the options and of all other files
    base: str  # hash of what a submission's page says about its problem and its judge

    @classmethod
    def of(cls, folder: Path, options: ReportOptions) -> Stamp:
        rows = folder / RESULTS
        size, ends = rows.stat().st_size if rows.exists() else 0, ""
        if size:
            with rows.open("rb") as stream:
                piece = min(_PIECE, size)
                head = stream.read(piece)
                stream.seek(size - piece)
                ends = hashlib.sha256(head + stream.read(piece)).hexdigest()
        others, base = (
            hashlib.sha256(msgspec.json.encode((options, is_written_now(folder)))),
            hashlib.sha256(),
        )
        for name in (RUN, FAILURES, VALIDATION, TRUST, TASKS, *files_of_parts()):
            path = folder / name
            content = path.read_bytes() if path.exists() else b""
            others.update(content)
            others.update(name.encode())
            if name == TASKS:
                base.update(content)
        base.update(msgspec.json.encode(read_confinements(folder), order="sorted"))
        return cls(
            program=_program(),
            size=size,
            ends=ends,
            others=others.hexdigest(),
            base=base.hexdigest(),
        )


class RowsDigest(Value):
    """The size and the hash of the first lines of results.jsonl."""

    size: int
    sha256: str


class PageSources(Value):
    """The content of made.json: what the pages in its folder were made of."""

    stamp: Stamp
    covered: RowsDigest
    selection: str  # hash of the choice of submissions that have pages
    step: int  # step of that choice
    pages: PageChoice
    coloured: frozenset[str] | None  # submissions whose code has colours; None: all

    @classmethod
    def read(cls, folder: Path) -> PageSources | None:
        """Return the sources of the pages in a folder; None if the folder has no report that names them."""
        return read_value(folder / _NAME, cls)

    @staticmethod
    def written_at(folder: Path) -> int:
        """Return when the file was written, in nanoseconds as its file system counts them."""
        return (folder / _NAME).stat().st_mtime_ns

    def write(self, folder: Path) -> None:
        (folder / _NAME).write_bytes(msgspec.json.encode(self, order="deterministic"))


@cache
def _program() -> str:
    """Return a hash of this package's sources and of the libraries that write its pages and tables."""
    own = Path(__file__).parent
    digest = hashlib.sha256(code_digest().encode())
    for path in sorted(own.iterdir()):
        if path.is_file() and path.suffix != ".py":
            digest.update(path.name.encode() + path.read_bytes())
    for name in ("ioi-eval", *_MAKERS):
        with contextlib.suppress(PackageNotFoundError):
            digest.update(f"{name} {version(name)}\n".encode())
    digest.update("\n".join(registered_versions(Registry.REPORT_SECTIONS)).encode())
    digest.update(sys.version.encode())
    return digest.hexdigest()
