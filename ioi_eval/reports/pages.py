"""The pages beside report.html: one for each submission and each problem, and a list of all submissions.

They are plain files that link to each other, so that they open from a folder as they do from a server.
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
from ioi_eval.reports.plots import columns, figure
from ioi_eval.reports.records import VALIDATION, PagesOf, ReportOptions, Summary, Use
from ioi_eval.reports.statements import DrawnStatement
from ioi_eval.reports.submissions import MAX_FEEDBACK, AttemptIndex, first_failed, limits, submission_document
from ioi_eval.reports.summary import uses_of
from ioi_eval.reports.trust import TRUST
from ioi_eval.rules.scoring import ending
from ioi_eval.store.files import draft_of, read_value, refused
from ioi_eval.store.folder import (
    CONTEST,
    FAILURES,
    RESULTS,
    RUN,
    STOPPED,
    confinements,
    is_written_now,
    row_at,
)
from ioi_eval.store.resources import code_digest
from ioi_eval.store.rows import as_label, as_number, bounded, model_of, result_of
from ioi_eval.store.tasks import PEOPLE, TASKS, Task

# Submissions of a run; of more, only the best of each model for each problem has colours, and where these are
# more than the second number, only the best of each problem.
_COLOURED, _BESTS = 3000, 1000
_SAMPLE = 10_000  # submissions of a sample; at most twice as many
LONGEST_LIST = 10_000  # submissions on a page of the list of all
_LISTED = 500  # submissions of a model on the page of a problem
_HELD = 1000  # rows in memory
_CHOICES = "choices.js"  # the script of pages that list submissions
_STEPS_OF_BAR = 2  # of a limit, in a line of times
_COLUMNS = "key, model, problem, ending, points, feedback, parts, attempt, repeats, language"
_OF_PROBLEM = f"SELECT {_COLUMNS} FROM rows WHERE problem = ? ORDER BY model, -points, key"
_COUNTS = "SELECT problem, count(*) FROM rows WHERE place < ? GROUP BY problem ORDER BY problem"
_WITHOUT_PAGE = 1 << 62  # more than any place in a file


class Opened:
    """The submissions that have pages of their own."""

    def __init__(self, pages: PagesOf, run: Summary) -> None:
        best = (best.key for model in run.models for problem in model.problems for best in problem.subtasks)
        self.pages = pages
        self.named = frozenset([*best, *(key for each in run.causes for key in each.examples)])
        # A power of two, so that a run that grows mostly keeps its sample.
        self.step = 1 << max(0, (run.scored // _SAMPLE).bit_length() - 1)

    def has(self, key: str, verdict: str | None) -> bool:
        match self.pages:
            case PagesOf.NONE:
                return False
            case PagesOf.FAILED:
                return verdict != Verdict.AC or key in self.named
            case PagesOf.SAMPLE:
                return drawn(key) % self.step == 0 or key in self.named
        return True

    def link(self, key: str, verdict: str) -> Link:
        return Link(text=key, href=submission_page(key) if self.has(key, verdict) else "")

    def example(self, key: str) -> Link:
        """Return a link from the report to a submission that it names."""
        is_there = self.pages is not PagesOf.NONE
        return Link(text=key, href=f"{FOLDER}/{submission_page(key)}" if is_there else "")

    @property
    def sha256(self) -> str:
        """Return a hash of what decides it."""
        return hashlib.sha256(msgspec.json.encode((self.pages, self.step, sorted(self.named)))).hexdigest()


class KeptLists(msgspec.Struct):
    """The knowledge of a report's lists beside their rows, for those of the next report."""

    bests: dict[tuple[str, str], tuple[float, str]] = {}  # by problem and model
    tests: dict[str, Tests] = {}  # by problem


class Lists:
    """The material of all pages but those of submissions, gathered row by row in a file of SQLite."""

    def __init__(
        self, tasks: Mapping[str, Task], file: Path | str = "", begin: int = 0, kept: KeptLists | None = None
    ) -> None:
        """`file`: one that has all rows before `begin` already, or a new one; without one it goes away.

        `kept`: of the rows before `begin`.
        """
        self.tasks, self.kept = tasks, kept or KeptLists()
        self._rows, self._begin = sqlite3.connect(file), begin
        self._rows.execute("PRAGMA journal_mode = OFF")
        self._rows.execute("PRAGMA synchronous = OFF")
        self._rows.execute(f"CREATE TABLE IF NOT EXISTS rows ({_COLUMNS}, place, draw)")
        self._held = list[tuple[Any, ...]]()

    def add(self, row: Mapping[str, Any], result: SubmissionResult, place: int) -> None:
        if place < self._begin:
            return
        attempt, language = as_number(row.get("solution_number")), as_label(row.get("language") or "")
        judged = Judged.of(result, model_of(row), attempt, language)
        self._held.append((*judged, place, drawn(judged.key)))
        if len(self._held) == _HELD:
            self._keep()
        best, whose = (-judged.points, judged.key), (judged.problem, judged.model)
        self.kept.bests[whose] = min(self.kept.bests.get(whose, best), best)
        tests = self.kept.tests.setdefault(judged.problem, Tests())
        tests.add(result, judged.model, self.tasks.get(judged.problem))

    def _keep(self) -> None:
        self._rows.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", self._held)
        self._held.clear()

    def end(self) -> None:
        """No more rows come."""
        self._keep()
        self._rows.execute("CREATE INDEX IF NOT EXISTS of_problem ON rows (problem, place)")
        self._rows.commit()

    def close(self) -> None:
        self._rows.close()

    def known(self, keys: Collection[str]) -> set[str]:
        """Return the keys that rows before the beginning have."""
        self._rows.execute("CREATE TEMP TABLE asked (key PRIMARY KEY)")
        self._rows.executemany("INSERT OR IGNORE INTO asked VALUES (?)", ((key,) for key in keys))
        found = self._rows.execute(
            "SELECT key FROM rows WHERE place < ? AND key IN (SELECT key FROM asked)", (self._begin,)
        )
        colours = {key for (key,) in found}
        self._rows.execute("DROP TABLE asked")
        return colours

    def coloured(self) -> frozenset[str] | None:
        """The submissions whose code has colours; None: all."""
        [[number]] = self._rows.execute("SELECT count(*) FROM rows")
        if number <= _COLOURED:
            return None
        if len(self.kept.bests) <= _BESTS:
            return frozenset(key for _, key in self.kept.bests.values())
        of_problems = dict[str, tuple[float, str]]()
        for (problem, _), best in self.kept.bests.items():
            of_problems[problem] = min(of_problems.get(problem, best), best)
        return frozenset(key for _, key in of_problems.values())

    def opened(self, opened: Opened) -> Iterator[tuple[int, str, str]]:
        """Yield place, key and the equal submission of those that have pages, as they come in the run."""
        where = {
            PagesOf.ALL: "true",
            PagesOf.NONE: "false",
            PagesOf.FAILED: f"ending <> '{Verdict.AC}' OR key IN (SELECT key FROM named)",
            PagesOf.SAMPLE: f"draw % {opened.step} = 0 OR key IN (SELECT key FROM named)",
        }[opened.pages]
        self._rows.execute("CREATE TEMP TABLE named (key PRIMARY KEY)")
        self._rows.executemany("INSERT INTO named VALUES (?)", ((key,) for key in opened.named))
        yield from self._rows.execute(f"SELECT place, key, repeats FROM rows WHERE {where} ORDER BY place")
        self._rows.execute("DROP TABLE named")

    def write(self, draft: Path, opened: Opened, before: Before) -> None:
        """`before`: pages of it that would be the same are linked."""

        def same(names: Sequence[str]) -> bool:
            return all(before.link(name, draft) for name in names)

        counts = dict(self._rows.execute(_COUNTS, (_WITHOUT_PAGE,)))
        earlier = dict(self._rows.execute(_COUNTS, (before.lists,)))
        if sum(counts.values()) <= LONGEST_LIST:
            _write(
                draft / ALL,
                Document(
                    title=f"All {counted(sum(counts.values()), 'submission')}",
                    tab=SUBMISSIONS,
                    script=_CHOICES,
                    sections=[_submissions((row for name in counts for row in self._of(name)), opened)],
                ),
            )
        else:
            parts, parts_before = parts_of(counts), parts_of(earlier)
            for number, part in enumerate(parts):
                name, is_last = part_page(number), number == len(parts) - 1
                there = number < len(parts_before) and is_last == (number == len(parts_before) - 1)
                still = there and parts_before[number] == part and sum(earlier.values()) > LONGEST_LIST
                still = still and all(counts[part_of.problem] == earlier[part_of.problem] for part_of in part)
                if not (still and same([name])):
                    own = [
                        row
                        for part_of in part
                        for row in islice(self._of(part_of.problem), part_of.begin, part_of.end)
                    ]
                    _write(draft / name, part_of_all(own, number, part, is_last, opened))
            _write(draft / ALL, index_of_parts(parts, counts))
        for problem in counts:
            names = [problem_page(problem)]
            names += [attempts_script(problem)] if opened.pages is not PagesOf.NONE else []
            if earlier.get(problem) == counts[problem] and same(names):
                continue
            index = AttemptIndex(opened)
            noted = groupby(index.noting(self._of(problem)), lambda judged: judged.model)
            of_models = {
                model: (list(islice(own, _LISTED)), sum(1 for _ in own)) for model, own in noted
            }  # the first ones, and how many more there are
            tests, task = self.kept.tests[problem], self.tasks.get(problem)
            page = problem_document(problem, of_models, tests, task, opened)
            for name in names:  # they may be linked: they are another report's, too
                (draft / name).unlink(missing_ok=True)
            _write(draft / problem_page(problem), page)
            if opened.pages is not PagesOf.NONE:
                (draft / attempts_script(problem)).write_text(index.script(), "utf-8")

    def _of(self, problem: str) -> Iterator[Judged]:
        return map(Judged._make, self._rows.execute(_OF_PROBLEM, (problem,)))


def _write(place: Path, page: Document) -> None:
    place.write_text(html(page, beside=True), "utf-8")


class PartOfProblem(NamedTuple):
    """The submissions of a problem that are on a page of the list of all."""

    problem: str
    begin: int
    end: int


def parts_of(counts: Mapping[str, int]) -> list[list[PartOfProblem]]:
    """Return the pages of the list of all: as many whole problems as a page holds, longer ones in parts.

    So a page changes only with the submissions of its own problems.
    """
    parts, room = list[list[PartOfProblem]](), 0
    for problem, count in counts.items():
        for begin in range(0, count, LONGEST_LIST):
            end = min(count, begin + LONGEST_LIST)
            if begin or end > room:
                parts.append([])
                room = LONGEST_LIST
            parts[-1].append(PartOfProblem(problem, begin, end))
            room -= end - begin
    return parts


OnProgress = Callable[[int, int | None], None]  # rows that are read, and pages of them; None: none yet
_EVERY = 256  # rows


def silent(read: int, pages: int | None) -> None:
    """Tell nobody of a report's progress."""


class Counted:
    """Counts a report's rows, as they are read and as their pages are written."""

    def __init__(self, tell: OnProgress) -> None:
        self._tell, self._read, self._pages = tell, 0, 0

    def add(self, row: Mapping[str, Any], result: object, place: int) -> None:
        self._read += 1
        if self._read % _EVERY == 0:
            self._tell(self._read, None)

    def add_page(self) -> None:
        self._pages += 1
        if self._pages % _EVERY == 0:
            self._tell(self._read, self._pages)


def write_pages(
    folder: Path,
    stamp: Stamp,
    covered: Covered,
    lists: Lists,
    opened: Opened,
    more: Mapping[str, Document],
    choices: str,
    into: Path,
    rows: Counted,
    old: MadeOf | None,
) -> None:
    """Writes report/ anew, and more pages into it by name. The old one stays until the new one is whole.

    `choices`: what lists of submissions can be filtered by, as JSON; `old`: what its pages were made of, if
    the rows that it covers are the same still.
    """
    draft = draft_of(into / FOLDER)
    try:
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        for name in (STYLE, SCRIPT):
            (draft / name).write_text(asset(name), "utf-8")
        (draft / _CHOICES).write_text(f"const CHOICES = {choices};\n", "utf-8")
        for name, page in more.items():
            _write(draft / name, page)
        coloured, boxes = lists.coloured(), confinements(folder)
        made_of = MadeOf(
            stamp=stamp,
            covered=covered,
            opened=opened.sha256,
            step=opened.step,
            pages=opened.pages,
            coloured=coloured,
        )
        before = Before(into / FOLDER, old, made_of)
        lists.write(draft, opened, before)
        for place, key, repeats in lists.opened(opened):
            rows.add_page()
            name = submission_page(key)
            if before.has_submission(place, key, repeats) and before.link(name, draft):
                continue
            row = row_at(folder, place, boxes)
            bright = coloured is None or key in coloured
            task, result = lists.tasks.get(row["problem_id"]), result_of(row)
            shown = submission_document(row, result, task, opened, coloured=bright)
            _write(draft / name, shown)
        made_of.write(draft)
        shutil.rmtree(into / FOLDER, ignore_errors=True)
        draft.rename(into / FOLDER)
    except OSError as error:
        raise refused(into / FOLDER, error) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


class Before:
    """The pages of the last report that a new one would make just so."""

    def __init__(self, pages: Path, old: MadeOf | None, now: MadeOf) -> None:
        """`old`: what the pages were made of, if the rows that it covers are the same still."""
        self._folder = pages
        if old is not None and (old.stamp.program, old.stamp.base) != (now.stamp.program, now.stamp.base):
            old = None
        self._size = 0 if old is None else old.covered.size
        self._same_links = old is not None and old.opened == now.opened
        self._recoloured: Collection[str] | None = ()
        if old is not None and old.coloured != now.coloured:
            both = old.coloured is not None and now.coloured is not None
            self._recoloured = (old.coloured or set()) ^ (now.coloured or set()) if both else None
        same = old is not None and (old.pages, old.step) == (now.pages, now.step)
        self.lists = self._size if same else 0
        """The rows that lists of problems without newer ones can be kept of; 0: none."""

    def has_submission(self, place: int, key: str, repeats: str) -> bool:
        """Return True if a submission's page, where there was one, says the same."""
        if place >= self._size or self._recoloured is None or key in self._recoloured:
            return False
        return self._same_links or not repeats

    def link(self, name: str, draft: Path) -> bool:
        try:
            os.link(self._folder / name, draft / name)
        except OSError:  # gone, or on a disk without links
            return False
        return True


# --- pages of problems -------------------------------------------------------------------------------


class Judged(NamedTuple):
    """A submission's line in lists."""

    key: str
    model: str
    problem: str
    ending: str  # its verdict, or `no program`
    points: float
    feedback: str  # of the first test that it did not pass
    parts: bytes  # of each subtask: its name, points earned, points; JSON
    attempt: float | None  # its number among those of the model
    repeats: str  # the equal submission that was judged for it
    language: str

    @classmethod
    def of(cls, result: SubmissionResult, model: str, attempt: float | None, language: str) -> Judged:
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
            ending(result),
            result.points,
            bounded(feedback, MAX_FEEDBACK),
            msgspec.json.encode(parts),
            attempt,
            result.repeats,
            language,
        )


class Tests(msgspec.Struct):
    """Counts of a problem's submissions by test, model and time."""

    ends: dict[str, Counter[Verdict]] = {}
    decided: Counter[str] = msgspec.field(default_factory=Counter)  # subtasks that failed by it alone
    judged: Counter[str] = msgspec.field(default_factory=Counter)  # by model
    solved: Counter[str] = msgspec.field(default_factory=Counter)
    shares: Counter[int] = msgspec.field(
        default_factory=Counter
    )  # by score: 0, up to 10 % ..., less than all, all
    # By steps of the time limit, and whether it is solved.
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
            others = [test for test in tests if test.status is not Verdict.AC]
            if len(others) == 1 and others[0].status is not Verdict.SKIPPED:
                self.decided[others[0].test_name] += 1


def problem_document(
    problem: str,
    of_models: Mapping[str, tuple[Sequence[Judged], int]],
    tests: Tests,
    task: Task | None,
    opened: Opened,
) -> Document:
    """Submissions come by model, with most points first, and with the number of those that are not there."""
    lists = (
        Section(
            title=model or "Submissions without a model's name",
            anchor=model_anchor(model),
            level=3,
            table=_list(
                own,
                opened,
                of=("key", "attempt", "status", "points", "feedback")
                if any(judged.attempt is not None for judged in own)
                else ("key", "status", "points", "feedback"),
            ),
            notes=[f"The first {len(own):,}; {more:,} more are among all submissions."] if more else [],
        )
        for model, (own, more) in of_models.items()
    )
    submissions = [judged for own, _ in of_models.values() for judged in own]
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
            *_equal(submissions, opened),
            _of_tests(tests),
            *(_solutions(task) if task else ()),
        ],
    )


def _about(task: Task) -> str:
    """Return what a problem is and its limits, in a line."""
    tests = counted(task.tests, "test") if task.tests else ""
    return ", ".join(
        filter(None, (task.name, task.type, *(value for _, value in limits(task)), tests, task.checker))
    )


def _subtasks(task: Task | None) -> Iterator[Section]:
    if task is not None and task.subtasks:
        parts = [[subtask.name, number(subtask.points), f"{subtask.tests:,}"] for subtask in task.subtasks]
        yield Section(title="Subtasks", table=TableBlock(heads=["Subtask", "Points", "Tests"], rows=parts))


def _solved_by(of_models: Mapping[str, tuple[Sequence[Judged], int]], tests: Tests) -> Section:
    """Models, with those first that solve most of their submissions."""
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


def _histograms(tests: Tests, task: Task | None) -> Iterator[Section]:
    """Yield how many submissions have which share of the points, and take which part of the time limit."""
    labels = ["0", *(f"to {high}" for high in range(10, 100, 10)), "below 100", "100"]
    scores = [(label, (tests.shares[place],)) for place, label in enumerate(labels)]
    title = "Submissions by score, in percent of the points"
    figures = [
        figure(
            title, columns(title, scores, ["v-pa"]), ["score", "submissions"], [(a, b) for a, (b,) in scores]
        )
    ]
    if task is not None and task.cpu_time and tests.times:
        in_limit = round(1 / Use.STEP)
        times = list[tuple[str, tuple[int, ...]]]()
        for low in (*range(0, in_limit, _STEPS_OF_BAR), in_limit):
            high = low + _STEPS_OF_BAR if low < in_limit else 0
            found = Counter[bool]()
            for (steps, solved), count in tests.times.items():
                if (low < steps or low == steps == 0) and (not high or steps <= high):
                    found[solved] += count
            text = f"to {high * Use.STEP * task.cpu_time:.3g} s" if high else "more"
            times.append((text, (found[True], found[False])))
        title = f"Submissions by the CPU time of their slowest test (limit {task.cpu_time:g} s)"
        kinds = [("solved", "v-ac"), ("not solved", "v-wa")]
        rows = [(label, *counts) for label, counts in times]
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
        yield Section(title="Statement", text=[pdf] if pdf else [], drawn=DrawnStatement(text=task.statement))
    elif pdf:
        yield Section(
            title="Statement",
            text=[f"The package has it only as a PDF, which no model is asked with: {task.document}."],
        )


def _equal(submissions: Sequence[Judged], opened: Opened) -> Iterator[Section]:
    """Yield the programs that were judged once for several submissions."""
    same = sorted(
        (judged for judged in submissions if judged.repeats), key=lambda judged: (judged.repeats, judged.key)
    )
    rows: list[list[Cell]] = [
        [
            opened.link(judged.repeats, judged.ending),
            opened.link(judged.key, judged.ending),
            judged.model or NOTHING,
            judged.ending,
        ]
        for judged in same[:_LISTED]
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


def _of_tests(tests: Tests) -> Section:
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


def _submissions(submissions: Iterable[Judged], opened: Opened) -> Section:
    columns = ("key", "model", "problem", "status", "points", "language", "feedback")
    return Section(title="Submissions", table=_list(submissions, opened, of=columns, kind="submissions"))


def part_of_all(
    submissions: Sequence[Judged], number: int, part: Sequence[PartOfProblem], is_last: bool, opened: Opened
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
        sections=[_submissions(submissions, opened)],
    )


def index_of_parts(parts: Sequence[Sequence[PartOfProblem]], counts: Mapping[str, int]) -> Document:
    """Return the index: the places of each problem's submissions."""
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


def _list(submissions: Iterable[Judged], opened: Opened, *, of: Sequence[str], kind: str = "") -> TableBlock:
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
    for judged in submissions:
        cells: dict[str, Cell] = {
            "key": opened.link(judged.key, judged.ending),
            "attempt": number(judged.attempt),
            "model": judged.model or NOTHING,
            "problem": Link(text=judged.problem, href=problem_page(judged.problem)),
            "language": judged.language or NOTHING,
            "status": judged.ending,
            "points": number(judged.points),
            "feedback": judged.feedback or NOTHING,
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
_PIECE = 1 << 12  # bytes at both ends of the rows; every row has times and hashes


class Stamp(Value):
    """Rows are only added, so that their number of bytes and their ends tell whether they are the same."""

    program: str  # this package's sources, and whatever else makes pages
    size: int  # bytes of results.jsonl
    ends: str  # a hash of how they begin and end
    others: str  # of the options and of all other files
    base: str  # of what a page says of its problem and its judge

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
        for name in (RUN, CONTEST, FAILURES, STOPPED, VALIDATION, PEOPLE, TRUST, TASKS):
            path = folder / name
            content = path.read_bytes() if path.exists() else b""
            others.update(content)
            others.update(name.encode())
            if name == TASKS:
                base.update(content)
        base.update(msgspec.json.encode(confinements(folder), order="sorted"))
        return cls(
            program=_program(),
            size=size,
            ends=ends,
            others=others.hexdigest(),
            base=base.hexdigest(),
        )


class Covered(Value):
    """The first bytes of results.jsonl, whole lines."""

    size: int
    sha256: str


class MadeOf(Value):
    """made.json: what the pages beside it were made of."""

    stamp: Stamp
    covered: Covered
    opened: str  # a hash of the choice of submissions that have pages
    step: int  # of that choice
    pages: PagesOf
    coloured: frozenset[str] | None  # submissions whose code has colours; None: all

    @classmethod
    def read(cls, folder: Path) -> MadeOf | None:
        """Return what the report covers; None where there is no report, or one that does not say."""
        return read_value(folder / _NAME, cls)

    @staticmethod
    def written_at(folder: Path) -> int:
        """Return when the file was written, in nanoseconds as its file system counts them."""
        return (folder / _NAME).stat().st_mtime_ns

    def write(self, folder: Path) -> None:
        (folder / _NAME).write_bytes(msgspec.json.encode(self, order="deterministic"))


@cache
def _program() -> str:
    """Return a hash of the sources, and of those that write pages and tables for them."""
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
