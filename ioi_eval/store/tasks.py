"""A run's problems for the reader of its report: what they are, and what people got for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Self

import msgspec

from ioi_eval.model.quoting import as_json
from ioi_eval.model.values import Problem, Value
from ioi_eval.store.files import read_value, replace
from ioi_eval.store.rows import bounded, plain

TASKS, PEOPLE = "problems.json", "people.json"
_MAX_STATEMENT = 20_000  # characters


class TaskSubtask(Value):
    name: str
    points: float
    tests: int


class TaskSolution(Value):
    """A solution of the package, and what it is said to get."""

    name: str
    language: str
    expected: str


class Task(Value, kw_only=True):
    """A problem without its tests. Limits are those that its submissions had."""

    sha256: str  # of the problem; empty where nobody has tried it
    name: str = ""
    year: int | None = None
    difficulty: str = ""
    tags: tuple[str, ...] = ()
    type: str = ""
    checker: str = ""
    cpu_time: float | None = None  # seconds
    wall_time: float | None = None  # seconds
    memory: int | None = None  # bytes
    tests: int = 0
    subtasks: tuple[TaskSubtask, ...] = ()
    solutions: tuple[TaskSolution, ...] = ()
    statement: str = ""
    document: str = ""  # the name of its statement's PDF

    @classmethod
    def of(cls, problem: Problem, sha256: str) -> Self:
        content = b"" if problem.statement is None else problem.statement.read()
        try:
            statement = bounded(content.decode(), _MAX_STATEMENT)
        except UnicodeDecodeError:  # none that a page can show, a PDF for example
            statement = ""
        return cls(
            sha256=sha256,
            name=problem.name,
            year=problem.year,
            difficulty=problem.difficulty,
            tags=problem.tags,
            type=problem.task_type,
            checker=problem.checker.kind,
            cpu_time=problem.limits.cpu_time,
            wall_time=problem.limits.wall_time,
            memory=problem.limits.memory,
            tests=len(problem.tests),
            subtasks=tuple(
                TaskSubtask(name=subtask.name, points=subtask.points, tests=len(subtask.tests))
                for subtask in problem.subtasks
            ),
            solutions=tuple(
                TaskSolution(name=solution.name, language=solution.language, expected=solution.expected)
                for solution in problem.solutions
            ),
            statement=statement,
            document=problem.document,
        )


def read_tasks(folder: Path) -> dict[str, Task]:
    """By the problem's label in the rows; empty where the run has not said."""
    remedy = f"Delete {TASKS}: the next call of the run's command writes it"
    return read_value(folder / TASKS, dict[str, Task], "does not describe problems", remedy) or {}


def write_tasks(folder: Path, tasks: Mapping[str, Task]) -> None:
    replace(folder / TASKS, [as_json(plain(msgspec.to_builtins(tasks))), b"\n"])


# --- people -----------------------------------------------------------------------------------------


class ContestResults(Value):
    """A contest's totals over some of the run's problems, and the contestants' ratings on Codeforces."""

    contest: str
    problems: tuple[str, ...]  # ids
    totals: tuple[float, ...]
    ratings: tuple[float | None, ...]  # of the same contestants; None: unknown


class People(Value):
    """Results of people. `rated`: the problems' difficulties are ratings on the scale of Codeforces."""

    source: str
    contests: tuple[ContestResults, ...] = ()
    rated: bool = False
    missing: str = ""  # why there are none


def read_people(folder: Path) -> People | None:
    """Return what the run's folder says; None where it says nothing."""
    remedy = f"Delete {PEOPLE}: the next call of the run's command writes it"
    return read_value(folder / PEOPLE, People, "does not describe people", remedy)


def write_people(folder: Path, people: People) -> None:
    replace(folder / PEOPLE, [as_json(msgspec.to_builtins(people)), b"\n"])
