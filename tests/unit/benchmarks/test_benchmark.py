"""Problems that are kept once they were made of a benchmark's rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from ioi_eval.benchmarks.benchmark import INLINE, Keep, Kept, kept
from ioi_eval.models import Limits, Problem, Subtask, Test
from ioi_eval.store import Store

LONG = "7 " * INLINE


def made(keep: Keep) -> Kept:
    test = Test(name="1", input=keep.blob(LONG), answer=keep.blob("7"))
    subtask = Subtask(name="all", points=1, tests=("1",))
    limits = Limits(cpu_time=1.0, memory=1 << 28)
    return Kept(problem=Problem(id="sevens", limits=limits, tests=(test,), subtasks=(subtask,)))


@pytest.mark.parametrize("left", ["", "7 ", None], ids=["empty", "cut off", "gone"])
def test_tests_that_a_power_cut_has_taken_are_made_again(tmp_path: Path, left: str | None) -> None:
    """A right program reads nothing from them, and would have WA."""
    store = Store(tmp_path / "cache")
    for _ in range(2):
        problem = kept(store, "abcd", made).problem
        assert problem is not None and problem.tests[0].input.read() == LONG.encode()
        place = Path(problem.tests[0].input.path or "")
        place.unlink()
        if left is not None:
            place.write_text(left)
