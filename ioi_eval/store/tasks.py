"""Descriptions of a run's problems and results of human contestants, for the run's report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Self

import msgspec

from ioi_eval.model.quoting import encode_terminal_safe_json
from ioi_eval.model.values import Problem, Value
from ioi_eval.store.files import read_value, replace
from ioi_eval.store.rows import as_json_value, shorten

TASKS, PEOPLE = "problems.json", "people.json"
_MAX_STATEMENT = 20_000  # maximum length of a statement, in characters


class TaskSubtask(Value):
    """A subtask of a problem, with the number of its tests."""

    name: str
    points: float
    tests: int


class TaskSolution(Value):
    """A solution of the package, with the result that its author expects."""

    name: str
    language: str
    expected: str


class Task(Value, kw_only=True):
    """A problem without its tests. The limits are those that its submissions had."""

    sha256: str  # hash of the problem; empty if no submission was judged
    name: str = ""
    year: int | None = None
    difficulty: str = ""
    tags: tuple[str, ...] = ()
    type: str = ""
    checker: str = ""
    cpu_time: float | None = None  # CPU limit in seconds
    wall_time: float | None = None  # wall-clock limit in seconds
    memory: int | None = None  # memory limit in bytes
    tests: int = 0
    subtasks: tuple[TaskSubtask, ...] = ()
    solutions: tuple[TaskSolution, ...] = ()
    statement: str = ""
    document: str = ""  # file name of the PDF with the statement

    @classmethod
    def from_problem(cls, problem: Problem, sha256: str) -> Self:
        """Return the description of a problem."""
        statement_bytes = b"" if problem.statement is None else problem.statement.read()
        try:
            statement = shorten(statement_bytes.decode(), _MAX_STATEMENT)
        except UnicodeDecodeError:  # the statement is not text, such as a PDF
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
    """Return the run's problems by label; empty if the run has not stored them."""
    remedy = f"Delete {TASKS}: the next call of the run's command writes it"
    return read_value(folder / TASKS, dict[str, Task], "does not describe problems", remedy) or {}


def write_tasks(folder: Path, tasks: Mapping[str, Task]) -> None:
    """Write the descriptions of a run's problems."""
    replace(folder / TASKS, [encode_terminal_safe_json(as_json_value(msgspec.to_builtins(tasks))), b"\n"])


# --- human contestants ----------------------------------------------------------------------------


class ContestResults(Value):
    """The total scores and Codeforces ratings of a contest's participants, for problems of the run."""

    contest: str
    problems: tuple[str, ...]  # ids of the contest's problems
    totals: tuple[float, ...]
    ratings: tuple[float | None, ...]  # Codeforces ratings of the contestants; None if unknown


class People(Value):
    """Results of human contestants. `rated`: the problems' difficulties are Codeforces ratings."""

    source: str
    contests: tuple[ContestResults, ...] = ()
    rated: bool = False
    missing: str = ""  # reason why `contests` is empty


def read_human_results(folder: Path) -> People | None:
    """Return the contestants' results in a run's folder, or None if there are none."""
    remedy = f"Delete {PEOPLE}: the next call of the run's command writes it"
    return read_value(folder / PEOPLE, People, "does not describe people", remedy)


def write_human_results(folder: Path, people: People) -> None:
    """Write the results of human contestants."""
    replace(folder / PEOPLE, [encode_terminal_safe_json(msgspec.to_builtins(people)), b"\n"])
