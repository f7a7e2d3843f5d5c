"""Small problems and submissions for the tests of the judge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ioi_eval.models import Blob, Limits, Problem, Submission, Subtask, Test


def some_tests(number: int) -> tuple[Test, ...]:
    return tuple(
        Test(name=f"t{index}", input=Blob.of(f"in {index}"), answer=Blob.of(f"out {index}"))
        for index in range(number)
    )


def subtask(name: str, points: float, indices: Sequence[int]) -> Subtask:
    return Subtask(name=name, points=points, tests=tuple(f"t{index}" for index in indices))


def problem(number: int = 4, **changes: Any) -> Problem:
    """`number` tests in one subtask of 100 points."""
    values: dict[str, Any] = {
        "id": "sum",
        "limits": Limits.contest(1.0, 256 << 20),
        "tests": some_tests(number),
        "subtasks": (subtask("all", 100, range(number)),),
    }
    return Problem(**(values | changes))


def submission(code: str | None = "int main() {}", **changes: Any) -> Submission:
    return Submission(**({"key": "1", "problem_id": "sum", "code": code} | changes))
