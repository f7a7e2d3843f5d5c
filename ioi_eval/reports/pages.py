"""The pages beside report.html: one for each submission and each problem, and a list of all submissions.

They are plain files that link to each other, so that they open from a folder as they do from a server.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ioi_eval.model.values import SubmissionResult, Value, Verdict
from ioi_eval.reports.addresses import (
    ALL,
    EQUAL,
    FOLDER,
    attempts_script,
    is_sampled,
    model_anchor,
    part_page,
    problem_page,
    submission_page,
)
from ioi_eval.reports.attempts import AttemptIndex
from ioi_eval.reports.document import (
    NOTHING,
    SCRIPT,
    STYLE,
    Cell,
    Document,
    Figure,
    HtmlPages,
    Link,
    Meter,
    Section,
    TableBlock,
    asset,
    counted,
    number,
)
from ioi_eval.reports.plots import Square, as_csv, grid
from ioi_eval.reports.records import VALIDATION, PagesOf, ReportOptions, Summary, Use
from ioi_eval.reports.statements import DrawnStatement
from ioi_eval.reports.submissions import MAX_FEEDBACK, first_failed, limits, submission_document
from ioi_eval.reports.summary import result_of_row
from ioi_eval.reports.tally import uses_of
from ioi_eval.rules.scoring import ending, submission_status
from ioi_eval.rules.verdicts import STATUS_ORDER
from ioi_eval.store.files import draft_of, refused
from ioi_eval.store.folder import FAILURES, RESULTS, RUN, ResultHead, decoded, read_rows
from ioi_eval.store.rows import PASSED, as_number, bounded, model_of
from ioi_eval.store.tasks import TASKS, Task

# Submissions of a run; of more, only the best of each model for each problem has colours, and where these are
# more than the second number, only the best of each problem.
_COLOURED, _BESTS = 3000, 1000
_SAMPLE = 10_000  # submissions of a sample; at most twice as many
LONGEST_LIST = 10_000  # submissions on a page of the list of all
_LISTED = 500  # submissions of a model on the page of a problem
_HELD = 1000  # rows in memory
_STEPS_OF_BAR = 2  # of a limit, in a line of times
_SORTED = "SELECT * FROM rows ORDER BY problem, model, -points, key"


class Opened:
    """The submissions that have pages of their own."""

    def __init__(self, pages: PagesOf, run: Summary) -> None:
        named = (best.key for model in run.models for one in model.problems for best in one.subtasks)
        self.pages, self._named = pages, frozenset(named)
        # A power of two, so that a run that grows mostly keeps its sample.
        self._step = 1 << max(0, (run.scored // _SAMPLE).bit_length() - 1)

    def has(self, key: str, verdict: str | None) -> bool:
        match self.pages:
            case PagesOf.NONE:
                return False
            case PagesOf.FAILED:
                return verdict != Verdict.AC or key in self._named
            case PagesOf.SAMPLE:
                return is_sampled(key, self._step) or key in self._named
        return True

    def link(self, key: str, verdict: str) -> Link:
        return Link(text=key, href=submission_page(key) if self.has(key, verdict) else "")


class Lists:
    """The material of all pages but those of submissions, gathered row by row in a file that goes away."""

    def __init__(self, tasks: Mapping[str, Task]) -> None:
        self.tasks = tasks
        self._rows = sqlite3.connect("")
        self._rows.execute(
            "CREATE TABLE rows (key, model, problem, ending, points, feedback, parts, attempt, repeats)"
        )
        self._held = list[Judged]()
        self._number = 0
        self._bests: dict[tuple[str, str], tuple[float, str]] = {}  # by problem and model
        self._tests = defaultdict[str, Tests](Tests)

    def add(self, row: Mapping[str, Any], result: SubmissionResult) -> None:
        one = Judged.of(result, model_of(row), as_number(row.get("solution_number")))
        self._number += 1
        self._held.append(one)
        if len(self._held) == _HELD:
            self._keep()
        best, whose = (-one.points, one.key), (one.problem, one.model)
        self._bests[whose] = min(self._bests.get(whose, best), best)
        self._tests[result.problem_id].add(result, one.model, self.tasks.get(result.problem_id))

    def _keep(self) -> None:
        self._rows.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", self._held)
        self._held.clear()

    def _sorted(self) -> Iterator[Judged]:
        self._keep()
        return map(Judged._make, self._rows.execute(_SORTED))

    def coloured(self) -> set[str] | None:
        """The submissions whose code has colours; None: all."""
        if self._number <= _COLOURED:
            return None
        if len(self._bests) <= _BESTS:
            return {key for _, key in self._bests.values()}
        of_problems = dict[str, tuple[float, str]]()
        for (problem, _), best in self._bests.items():
            of_problems[problem] = min(of_problems.get(problem, best), best)
        return {key for _, key in of_problems.values()}

    def write(self, draft: Path, page_of: HtmlPages, opened: Opened) -> None:
        def keep(name: str, page: Document) -> None:
            (draft / name).write_text(page_of(page), "utf-8")

        every, part = self._sorted(), 0
        if self._number <= LONGEST_LIST:
            keep(ALL, all_submissions(list(every), opened))
        else:
            starts = dict[str, int]()  # of problems
            while own := list(islice(every, LONGEST_LIST)):
                for place, one in enumerate(own, part * LONGEST_LIST):
                    starts.setdefault(one.problem, place)
                keep(part_page(part), part_of_all(own, part, self._number, opened))
                part += 1
            keep(ALL, parts_of_all(starts, self._number))
        for problem, rows in groupby(self._sorted(), lambda one: one.problem):
            index = AttemptIndex(opened)
            noted = groupby(index.noting(rows), lambda one: one.model)
            of_models = {model: _first(own) for model, own in noted}
            page = problem_document(problem, of_models, self._tests[problem], self.tasks.get(problem), opened)
            keep(problem_page(problem), page)
            if opened.pages is not PagesOf.NONE:
                (draft / attempts_script(problem)).write_text(index.script(), "utf-8")


def _first(every: Iterable[Judged]) -> tuple[list[Judged], int]:
    """Return the first submissions of a model for a problem, and how many more there are."""
    rows = iter(every)
    return list(islice(rows, _LISTED)), sum(1 for _ in rows)


OnProgress = Callable[[int, int | None], None]  # rows that are read, and pages of them; None: none yet
_EVERY = 256  # rows


def silent(read: int, pages: int | None) -> None:
    """Tell nobody of a report's progress."""


class Counted:
    """Counts a report's rows, as they are read and as their pages are written."""

    def __init__(self, tell: OnProgress) -> None:
        self._tell, self._read, self._pages = tell, 0, 0

    def add(self, row: Mapping[str, Any], result: object) -> None:
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
    lists: Lists,
    opened: Opened,
    more: Mapping[str, Document],
    into: Path,
    rows: Counted,
) -> None:
    """Writes report/ anew, and more pages into it by name. The old one stays until the new one is whole."""
    draft = draft_of(into / FOLDER)
    page_of, tasks = HtmlPages(beside=True), lists.tasks
    try:
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        for name in (STYLE, SCRIPT):
            (draft / name).write_text(asset(name), "utf-8")
        for name, page in more.items():
            (draft / name).write_text(page_of(page), "utf-8")
        lists.write(draft, page_of, opened)
        coloured = lists.coloured()

        def lacks_page(row: ResultHead) -> bool:
            return opened.has(row.key, row.verdict) and not (draft / submission_page(row.key)).exists()

        if opened.pages is not PagesOf.NONE:
            for row in read_rows(folder, _link_known(folder, into, draft, stamp, opened), lacks_page):
                rows.add_page()
                bright = coloured is None or row["key"] in coloured
                task, result = tasks.get(row["problem_id"]), result_of_row(row)
                page = submission_document(row, result, task, opened, coloured=bright)
                (draft / submission_page(row["key"])).write_text(page_of(page), "utf-8")
        stamp.write(draft)
        shutil.rmtree(into / FOLDER, ignore_errors=True)
        draft.rename(into / FOLDER)
    except OSError as error:
        raise refused(into / FOLDER, error) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _link_known(folder: Path, into: Path, draft: Path, stamp: Stamp, opened: Opened) -> int:
    """Link the pages that the last report had already; return the offset of the first row without one."""
    before = Stamp.read(into / FOLDER)
    size = first = 0 if before is None else before.covers(folder / RESULTS, stamp.program)
    for offset, row in decoded(folder / RESULTS, ResultHead) if size else ():
        if offset >= size:
            break
        if not opened.has(row.key, row.verdict):
            continue
        name = submission_page(row.key)
        try:
            os.link(into / FOLDER / name, draft / name)
        except OSError:  # gone, or on a disk without links
            first = min(first, offset)
    return first


# --- pages of problems -------------------------------------------------------------------------------


_DRAWN = 40  # submissions of a grid


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

    @classmethod
    def of(cls, result: SubmissionResult, model: str, attempt: float | None) -> Judged:
        parts = [(one.subtask, one.weighted_score, one.points) for one in result.subtasks if one.points]
        return cls(
            result.key,
            model,
            result.problem_id,
            ending(result),
            result.points,
            _feedback(result),
            msgspec.json.encode(parts),
            attempt,
            result.repeats,
        )


def _feedback(result: SubmissionResult) -> str:
    if not result.compiles:
        return bounded(result.compile_output.strip().partition("\n")[0], MAX_FEEDBACK)
    first = first_failed(result)
    return "" if first is None else bounded(f"{first.test_name}: {first.feedback}", MAX_FEEDBACK)


class Tests:
    """Counts a problem's submissions by test, model and time."""

    def __init__(self) -> None:
        self.ends = defaultdict[str, Counter[Verdict]](Counter)
        self.decided: Counter[str] = Counter()  # subtasks that a test alone was not passed of
        self.judged: Counter[str] = Counter()  # by model
        self.solved: Counter[str] = Counter()
        self.times: Counter[tuple[int, bool]] = Counter()  # steps of the time limit, and whether it is solved

    def add(self, result: SubmissionResult, model: str, task: Task | None) -> None:
        solved = submission_status(result) is Verdict.AC
        self.judged[model] += 1
        self.solved[model] += solved
        for what, steps in uses_of(result, task) if task else ():
            if what == "time":
                self.times[steps, solved] += 1
        for test in result.tests:
            self.ends[test.test_name][test.status] += 1
        if not result.compiles or solved:
            return
        for tests in [part.test_results for part in result.subtasks] or [result.tests]:
            failing = [test.test_name for test in tests if test.status not in PASSED]
            if len(failing) == 1:
                self.decided[failing[0]] += 1


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
            table=_list(own, opened, of=_of_model(own)),
            notes=[f"The first {len(own):,}; {more:,} more are among all submissions."] if more else [],
        )
        for model, (own, more) in of_models.items()
    )
    every = [one for own, _ in of_models.values() for one in own]
    number = len(every) + sum(more for _, more in of_models.values())
    return Document(
        title=f"Problem {problem}",
        links=[Link(text="Report", href="../report.html"), Link(text="All submissions", href=ALL)],
        sections=[
            *(_described(task) if task else ()),
            _solved_by(of_models, tests),
            *(_times(tests, task) if task else ()),
            *(_statement(task) if task else ()),
            *_best(every, number, opened),
            Section(title="Submissions", text=["By model, those with the most points first."]),
            *lists,
            *_equal(every, opened),
            _of_tests(tests),
            *(_solutions(task) if task else ()),
        ],
    )


def _described(task: Task) -> Iterator[Section]:
    facts = [("Name", task.name), ("Type", task.type), *limits(task), ("Comparison", task.checker)]
    rows = [[what, value] for what, value in (*facts, ("Tests", f"{task.tests:,}")) if value]
    yield Section(title="Problem", table=TableBlock(heads=["What", "Value"], rows=rows, align="ll"))
    if task.subtasks:
        parts = [[one.name, number(one.points), f"{one.tests:,}"] for one in task.subtasks]
        yield Section(
            title="Subtasks", table=TableBlock(heads=["Subtask", "Points", "Tests"], rows=parts, align="lrr")
        )


def _solved_by(of_models: Mapping[str, tuple[Sequence[Judged], int]], tests: Tests) -> Section:
    """Models, with those first that solve most of their submissions."""
    ranked = sorted(of_models, key=lambda model: (-tests.solved[model] / tests.judged[model], model))
    rows: list[list[Cell]] = [
        [
            Link(text=model or "no model's name", href=f"#{model_anchor(model)}"),
            Meter(part=tests.solved[model], whole=tests.judged[model]),
            f"{tests.solved[model]:,}",
            f"{tests.judged[model]:,}",
            number(of_models[model][0][0].points),
        ]
        for model in ranked
    ]
    solvers = sum(tests.solved[model] > 0 for model in of_models)
    lead = f"{counted(solvers, 'model')} of {len(of_models):,} {'solves' if solvers == 1 else 'solve'} it."
    heads = ["Model", "Share", "Solved", "of", "Best points"]
    return Section(title="Solved by", lead=lead, table=TableBlock(heads=heads, rows=rows, align="llrrr"))


def _times(tests: Tests, task: Task) -> Iterator[Section]:
    """Yield how many submissions take which part of the time limit on their slowest test."""
    if not (tests.times and task.cpu_time):
        return
    whole, in_limit = sum(tests.times.values()), round(1 / Use.STEP)
    rows: list[list[Cell]] = []
    for low in (*range(0, in_limit, _STEPS_OF_BAR), in_limit):
        high = low + _STEPS_OF_BAR if low < in_limit else 0
        counts = [
            sum(
                found
                for (steps, ending), found in tests.times.items()
                if ending is solved and (low < steps or low == steps == 0) and (not high or steps <= high)
            )
            for solved in (True, False)
        ]
        ends = [f"{edge * Use.STEP * task.cpu_time:.3g} s" for edge in (low, high)]
        rows.append(
            [
                f"{ends[0]} to {ends[1]}" if high else f"more than {ends[0]}, the limit",
                Meter(part=sum(counts), whole=whole),
                *(f"{count:,}" for count in counts),
            ]
        )
    heads = ["CPU time", "Submissions", "Solved", "Not solved"]
    yield Section(
        title="Time against the limit",
        text=[f"The CPU time of each submission's slowest test. The limit is {task.cpu_time:g} s."],
        table=TableBlock(heads=heads, rows=rows, align="llrr"),
    )


def _statement(task: Task) -> Iterator[Section]:
    pdf = f"The package also has it as a PDF: {task.document}." if task.document else ""
    if task.statement:
        yield Section(title="Statement", text=[pdf] if pdf else [], drawn=DrawnStatement(text=task.statement))
    elif pdf:
        text = [f"The package has it only as a PDF, which no model is asked with: {task.document}."]
        yield Section(title="Statement", text=text)


def _equal(every: Sequence[Judged], opened: Opened) -> Iterator[Section]:
    """Yield the programs that were judged once for several submissions."""
    same = sorted((one for one in every if one.repeats), key=lambda one: (one.repeats, one.key))
    rows: list[list[Cell]] = [
        [
            opened.link(one.repeats, one.ending),
            opened.link(one.key, one.ending),
            one.model or NOTHING,
            one.ending,
        ]
        for one in same[:_LISTED]
    ]
    table = TableBlock(heads=["Judged", "Equal to it", "Model", "Verdict"], rows=rows, align="llll")
    if rows:
        more = [f"The first {_LISTED:,} of {len(same):,}."] if len(same) > _LISTED else []
        yield Section(title="Equal programs", anchor=EQUAL, table=table, notes=more)


def _solutions(task: Task) -> Iterator[Section]:
    if task.solutions:
        rows = [[one.name, one.language, one.expected or NOTHING] for one in task.solutions]
        table = TableBlock(heads=["Solution", "Language", "Said to be"], rows=rows, align="lll")
        yield Section(title="Solutions of the package", table=table)


def _best(every: Sequence[Judged], of: int, opened: Opened) -> Iterator[Section]:
    """Subtasks by submissions, those with the most points first."""
    chosen = sorted(every, key=lambda one: (-one.points, one.key))[:_DRAWN]
    parts = [msgspec.json.decode(one.parts, type=list[tuple[str, float, float]]) for one in chosen]
    names = [name for name, _, _ in parts[0]]
    if not names:
        return
    title = "Subtasks by submissions" + ("" if of <= _DRAWN else f", the best {_DRAWN}")
    squares = [
        [
            Square(
                share=min(1.0, own[place][1] / own[place][2]),
                text=number(own[place][1]),
                href=opened.link(one.key, one.ending).href,
            )
            for one, own in zip(chosen, parts, strict=True)
        ]
        for place in range(len(names))
    ]
    keys = [one.key for one in chosen]
    rows = [[name, *(square.share for square in line)] for name, line in zip(names, squares, strict=True)]
    drawn = Figure(
        title=title, drawing=grid(title, names, keys, squares), numbers=as_csv(["subtask", *keys], rows)
    )
    yield Section(title="Best submissions", figures=[drawn])


def _of_tests(tests: Tests) -> Section:
    there = {status for ends in tests.ends.values() for status in ends}
    statuses = [status for status in STATUS_ORDER[::-1] if status in there]
    fails = {
        name: sum(ends.values()) - ends[Verdict.AC] - ends[Verdict.SKIPPED]
        for name, ends in tests.ends.items()
    }
    rows = [
        [name, f"{fails[name]:,}", f"{tests.decided[name]:,}", *(f"{ends[status]:,}" for status in statuses)]
        for name, ends in tests.ends.items()
    ]
    idle = [name for name, failing in fails.items() if not failing]
    heads = ["Test", "Failed by", "Decides", *statuses]
    return Section(
        title="Tests",
        text=[
            "Failed by: the submissions that did not pass the test. Decides: their subtasks that failed by "
            "this test alone. A test is skipped once no score depends on it."
        ],
        table=TableBlock(heads=heads, rows=rows, align="l" + "r" * (len(heads) - 1)),
        notes=[f"{counted(len(idle), 'test')} that no submission fails: {', '.join(idle)}."] if idle else [],
    )


def _of_model(own: Sequence[Judged]) -> Sequence[str]:
    attempts = ["attempt"] if any(one.attempt is not None for one in own) else []
    return ["key", *attempts, "status", "points", "feedback"]


_OF_ALL = ("key", "model", "problem", "status", "points", "feedback")
_REPORT = Link(text="Report", href="../report.html")


def all_submissions(every: Sequence[Judged], opened: Opened) -> Document:
    return Document(
        title=f"All {counted(len(every), 'submission')}",
        links=[_REPORT],
        sections=[Section(title="Submissions", table=_list(every, opened, of=_OF_ALL))],
    )


def part_of_all(every: Sequence[Judged], part: int, of: int, opened: Opened) -> Document:
    more = [("Before", part - 1)] if part else []
    more += [("Next", part + 1)] if (part + 1) * LONGEST_LIST < of else []
    return Document(
        title=f"Submissions {_places(part, of)} of {of:,}",
        links=[
            _REPORT,
            Link(text="All submissions", href=ALL),
            *(Link(text=text, href=part_page(number)) for text, number in more),
        ],
        sections=[Section(title="Submissions", table=_list(every, opened, of=_OF_ALL))],
    )


def parts_of_all(starts: Mapping[str, int], of: int) -> Document:
    """Where each problem's submissions are; `starts` come in order."""
    ends = [*starts.values(), of][1:]
    rows: list[list[Cell]] = [
        [
            Link(text=problem, href=problem_page(problem)),
            f"{end - start:,}",
            Link(text=_places(start // LONGEST_LIST, of), href=part_page(start // LONGEST_LIST)),
        ]
        for (problem, start), end in zip(starts.items(), ends, strict=True)
    ]
    table = TableBlock(heads=["Problem", "Submissions", "From page"], rows=rows, align="lrl")
    return Document(
        title=f"All {counted(of, 'submission')}",
        links=[_REPORT],
        sections=[Section(title="Submissions by problem", table=table)],
    )


def _places(part: int, of: int) -> str:
    return f"{part * LONGEST_LIST + 1:,} to {min(of, (part + 1) * LONGEST_LIST):,}"


def _list(every: Iterable[Judged], opened: Opened, *, of: Sequence[str]) -> TableBlock:
    heads = {
        "key": "Submission",
        "attempt": "Attempt",
        "model": "Model",
        "problem": "Problem",
        "status": "Verdict",
        "points": "Points",
        "feedback": "Feedback",
    }
    rows: list[list[Cell]] = []
    for one in every:
        cells: dict[str, Cell] = {
            "key": opened.link(one.key, one.ending),
            "attempt": number(one.attempt),
            "model": one.model or NOTHING,
            "problem": Link(text=one.problem, href=problem_page(one.problem)),
            "status": one.ending,
            "points": number(one.points),
            "feedback": one.feedback or NOTHING,
        }
        rows.append([cells[name] for name in of])
    align = "".join("r" if name in ("points", "attempt") else "l" for name in of)
    return TableBlock(heads=[heads[name] for name in of], rows=rows, align=align)


# --- stamps ------------------------------------------------------------------------------------------


_NAME = "made.json"
_PIECE = 1 << 12  # bytes at both ends of the rows; every row has times and hashes


class Stamp(Value):
    """Rows are only added, so that their number of bytes and their ends tell whether they are the same."""

    program: str  # this package's version and files
    size: int  # bytes of results.jsonl
    ends: str  # a hash of how they begin and end
    others: str  # of the options and of all other files

    @classmethod
    def of(cls, folder: Path, options: ReportOptions) -> Stamp:
        rows = folder / RESULTS
        size = rows.stat().st_size if rows.exists() else 0
        others = hashlib.sha256(msgspec.json.encode(options))
        for name in (RUN, FAILURES, VALIDATION, TASKS):
            path = folder / name
            others.update(path.read_bytes() if path.exists() else b"")
            others.update(name.encode())
        return cls(program=_program(), size=size, ends=_ends(rows, size), others=others.hexdigest())

    @classmethod
    def read(cls, folder: Path) -> Stamp | None:
        """None where there is no report, or one that does not say."""
        try:
            return msgspec.json.decode((folder / _NAME).read_bytes(), type=cls)
        except (OSError, msgspec.MsgspecError):
            return None

    def write(self, folder: Path) -> None:
        (folder / _NAME).write_bytes(msgspec.json.encode(self))

    def covers(self, rows: Path, program: str) -> int:
        """Bytes of the rows whose pages are as they would be made now."""
        same = self.program == program and self.size and rows.stat().st_size >= self.size
        return self.size if same and _ends(rows, self.size) == self.ends else 0


def _program() -> str:
    own = Path(__file__).parent
    changed = max(path.stat().st_mtime_ns for path in own.iterdir() if path.is_file())
    return f"{version('ioi-eval')} {changed}"


def _ends(rows: Path, size: int) -> str:
    if not size:
        return ""
    with rows.open("rb") as stream:
        head = stream.read(min(_PIECE, size))
        stream.seek(max(0, size - _PIECE))
        tail = stream.read(min(_PIECE, size))
    return hashlib.sha256(head + tail).hexdigest()
