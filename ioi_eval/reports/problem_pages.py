"""The pages of problems, and the list of all submissions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ioi_eval.model.values import SubmissionResult, Verdict
from ioi_eval.reports.addresses import ALL, model_anchor, problem_page, submission_page
from ioi_eval.reports.document import (
    NOTHING,
    Cell,
    Document,
    Figure,
    Lines,
    Link,
    Section,
    Table,
    counted,
    number,
)
from ioi_eval.reports.plots import Square, as_csv, grid
from ioi_eval.rules.scoring import ending
from ioi_eval.rules.verdicts import STATUS_ORDER
from ioi_eval.store.rows import bounded
from ioi_eval.store.tasks import Task

_MAX_FEEDBACK = 100  # characters
_DRAWN = 40  # submissions of a grid
_PASSED = (Verdict.AC, Verdict.SKIPPED)


class Judged(NamedTuple):
    """A submission's line in lists."""

    key: str
    model: str
    problem: str
    ending: str  # its verdict, or `no program`
    points: float
    feedback: str  # of the first test that it did not pass
    parts: tuple[tuple[str, float, float], ...]  # of each subtask: its name, points earned, points

    @classmethod
    def of(cls, result: SubmissionResult, model: str) -> Judged:
        parts = tuple((one.subtask, one.weighted_score, one.points) for one in result.subtasks if one.points)
        return cls(
            result.key, model, result.problem_id, ending(result), result.points, _feedback(result), parts
        )


def _feedback(result: SubmissionResult) -> str:
    if not result.compiles:
        return bounded(result.compile_output.strip().partition("\n")[0], _MAX_FEEDBACK)
    first = next((test for test in result.tests if test.status not in _PASSED), None)
    return "" if first is None else bounded(f"{first.test_name}: {first.feedback}", _MAX_FEEDBACK)


class Tests:
    """Endings of a problem's submissions on each of its tests."""

    def __init__(self) -> None:
        self.ends: dict[str, Counter[Verdict]] = {}
        self.decided: Counter[str] = Counter()  # subtasks that a test alone was not passed of

    def add(self, result: SubmissionResult) -> None:
        for test in result.tests:
            self.ends.setdefault(test.test_name, Counter())[test.status] += 1
        for tests in [part.test_results for part in result.subtasks] or [result.tests]:
            failing = [test.test_name for test in tests if test.status not in _PASSED]
            if len(failing) == 1 and result.compiles:
                self.decided[failing[0]] += 1


def problem_document(problem: str, every: Sequence[Judged], tests: Tests, task: Task | None) -> Document:
    """Submissions come sorted by model, then with most points first."""
    of_models = defaultdict[str, list[Judged]](list)
    for one in every:
        of_models[one.model].append(one)
    lists = (
        Section(
            title=model or "Submissions without a model's name",
            anchor=model_anchor(model),
            table=_list(own, of=("key", "status", "points", "feedback")),
        )
        for model, own in of_models.items()
    )
    return Document(
        title=f"Problem {problem}",
        links=[Link(text="Report", href="../report.html"), Link(text="All submissions", href=ALL)],
        sections=[
            *(_described(task) if task else ()),
            *_best(every),
            *lists,
            _of_tests(tests),
            *(_solutions(task) if task else ()),
        ],
    )


def limits(task: Task) -> Iterator[tuple[str, str]]:
    """A problem's limits, of those that there are."""
    if task.cpu_time is not None:
        yield (
            "Time limit",
            f"{task.cpu_time:g} s of CPU time"
            + (f", {task.wall_time:g} s on the clock" if task.wall_time else ""),
        )
    if task.memory is not None:
        yield "Memory limit", f"{task.memory / (1 << 20):g} MiB"


def _described(task: Task) -> Iterator[Section]:
    facts = [("Name", task.name), ("Type", task.type), *limits(task), ("Comparison", task.checker)]
    rows = [[what, value] for what, value in (*facts, ("Tests", f"{task.tests:,}")) if value]
    yield Section(title="Problem", table=Table(heads=["What", "Value"], rows=rows, align="ll"))
    if task.subtasks:
        parts = [[one.name, number(one.points), f"{one.tests:,}"] for one in task.subtasks]
        yield Section(
            title="Subtasks", table=Table(heads=["Subtask", "Points", "Tests"], rows=parts, align="lrr")
        )
    if task.statement:
        yield Section(title="Statement", lines=[Lines(lines=task.statement.splitlines())])


def _solutions(task: Task) -> Iterator[Section]:
    if task.solutions:
        rows = [[one.name, one.language, one.expected or NOTHING] for one in task.solutions]
        table = Table(heads=["Solution", "Language", "Said to be"], rows=rows, align="lll")
        yield Section(title="Solutions of the package", table=table)


def _best(every: Sequence[Judged]) -> Iterator[Section]:
    """Subtasks by submissions, those with the most points first."""
    chosen = sorted(every, key=lambda one: (-one.points, one.key))[:_DRAWN]
    names = [name for name, _, _ in chosen[0].parts]
    if not names:
        return
    title = "Subtasks by submissions" + ("" if len(every) <= _DRAWN else f", the best {_DRAWN}")
    squares = [
        [
            Square(
                share=min(1.0, one.parts[place][1] / one.parts[place][2]),
                text=number(one.parts[place][1]),
                href=submission_page(one.key),
            )
            for one in chosen
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
        table=Table(heads=heads, rows=rows, align="l" + "r" * (len(heads) - 1)),
        notes=[f"{counted(len(idle), 'test')} that no submission fails: {', '.join(idle)}."] if idle else [],
    )


def all_submissions(every: Sequence[Judged]) -> Document:
    table = _list(every, of=("key", "model", "problem", "status", "points", "feedback"))
    return Document(
        title=f"All {counted(len(every), 'submission')}",
        links=[Link(text="Report", href="../report.html")],
        sections=[Section(title="Submissions", table=table)],
    )


def _list(every: Iterable[Judged], *, of: Sequence[str]) -> Table:
    heads = {
        "key": "Submission",
        "model": "Model",
        "problem": "Problem",
        "status": "Verdict",
        "points": "Points",
        "feedback": "Feedback",
    }
    rows: list[list[Cell]] = []
    for one in every:
        cells: dict[str, Cell] = {
            "key": Link(text=one.key, href=submission_page(one.key)),
            "model": one.model or NOTHING,
            "problem": Link(text=one.problem, href=problem_page(one.problem)),
            "status": one.ending,
            "points": number(one.points),
            "feedback": one.feedback or NOTHING,
        }
        rows.append([cells[name] for name in of])
    align = "".join("r" if name == "points" else "l" for name in of)
    return Table(heads=[heads[name] for name in of], rows=rows, align=align)
