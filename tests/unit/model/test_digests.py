"""A problem's hash decides whether what was judged before counts: it must outlive changes of this package."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import numpy
import pytest

from ioi_eval.model import digests
from ioi_eval.model.digests import for_recent, problem_digest
from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Blob, Limits, Problem, Subtask, TaskOptions, Test

pytestmark = pytest.mark.once

SUM = Problem(
    id="sum",
    limits=Limits.contest(1.0, 64 << 20),
    tests=(Test(name="1", input=Blob.of("1 2\n"), answer=Blob.of("3\n")),),
    subtasks=(Subtask(name="all", points=100, tests=("1",)),),
)


def test_runs_of_older_versions_know_the_problem() -> None:
    """Where this fails a field is new: name it in digests.py, else every older run is judged again."""
    known = "2d1009b76eb2588400f4aef29cf25e348fd226d3680cc6e2de542e8edbba5681"
    assert problem_digest(SUM) == known


def large(number: int) -> Problem:
    return Problem(
        **{**_fields(SUM), "tests": (Test(name="1", input=Blob.of(b"%d" % number * (4 << 20)), answer=None),)}
    )


def test_of_large_problems_few_are_remembered() -> None:
    """A trainer's rows hold their tests in memory, and hardly one comes again. Small ones are remembered."""
    asked = list[Problem]()

    @for_recent
    def number_of(problem: Problem) -> int:
        asked.append(problem)
        return len(asked)

    small = [Problem(id=f"{n}") for n in range(200)]
    assert [number_of(problem) for problem in small] == [number_of(problem) for problem in small]
    few = [large(n) for n in range(30)]
    assert [number_of(problem) for problem in few] == [*range(201, 231)]
    assert (number_of(few[-1]), number_of(few[0])) == (230, 231)
    assert number_of(small[0]) == 232, "the oldest have gone"


def test_a_fork_in_the_middle_leaves_the_child_able_to_remember(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trainer forks while a thread of it looks something up, and the child has no such thread."""
    held = threading.Lock()
    monkeypatch.setattr(digests, "Lock", lambda: held)
    remembered = for_recent(lambda problem: problem.id)
    monkeypatch.setattr(digests, "Lock", threading.Lock)
    with held:
        if not (child := os.fork()):
            signal.alarm(20)  # ends a child that waits for ever
            os._exit(remembered(SUM) != SUM.id)
    assert os.waitpid(child, 0)[1] == 0
    assert remembered(SUM) == SUM.id


def test_a_younger_field_counts_when_it_says_something() -> None:
    more = Problem(**{**_fields(SUM), "options": TaskOptions(prelude="#define main program")})
    assert problem_digest(more) != problem_digest(SUM)


@pytest.mark.parametrize("field", [{"year": numpy.int64(2024)}, {"cpp_standard": "\ud800"}])
def test_what_cannot_be_written_names_the_problem(field: dict[str, Any]) -> None:
    """Columns of a frame are numpy's. A run that could not say what it is of ended in a traceback."""
    with pytest.raises(InputError, match=r"^sum: .*Python's own int"):
        problem_digest(Problem(**{**_fields(SUM), **field}))


def _fields(problem: Problem) -> dict[str, object]:
    return {name: getattr(problem, name) for name in problem.__struct_fields__}
