"""Small problems and submissions for the judge's tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support.datasets import Problems
from support.runs import RunSummary, read_rows

from ioi_eval import EmbeddedEngine, Store, score_dump
from ioi_eval.models import Blob, Limits, Problem, Submission, Subtask, Test
from ioi_eval.runs import RunOptions
from ioi_eval.runs.events import Event


def some_tests(number: int) -> tuple[Test, ...]:
    return tuple(
        Test(name=f"t{index}", input=Blob.of(f"in {index}"), answer=Blob.of(f"out {index}"))
        for index in range(number)
    )


def subtask(name: str, points: float, indices: Sequence[int]) -> Subtask:
    return Subtask(name=name, points=points, tests=tuple(f"t{index}" for index in indices))


def problem(number: int = 4, **changes: Any) -> Problem:
    """Return a problem with `number` tests in a single subtask of 100 points."""
    values: dict[str, Any] = {
        "id": "sum",
        "limits": Limits.contest(1.0, 256 << 20),
        "tests": some_tests(number),
        "subtasks": (subtask("all", 100, range(number)),),
    }
    return Problem(**(values | changes))


def submission(code: str | None = "int main() {}", **changes: Any) -> Submission:
    return Submission(**({"key": "1", "problem_id": "sum", "code": code, "language": "c++"} | changes))


async def scored(
    folder: Path, store: Store, problem: Problem, language: str, codes: Mapping[str, str], **options: Any
) -> tuple[RunSummary, dict[str, dict[str, Any]], list[Event]]:
    """Score programs by key in a folder. Return the call's numbers, its rows by key, and its events."""
    columns, events = {"problem_id": problem.id, "language": language}, list[Event]()
    called = await score_dump(
        [{**columns, "id": key, "code": code} for key, code in codes.items()],
        Problems([problem]),
        out=folder / "run",
        engine=EmbeddedEngine(store=store, slots=2),
        options=RunOptions(**options),
        store=store,
        on_event=events.append,
    )
    return called.call, {row["key"]: row for row in read_rows(folder / "run")}, events
