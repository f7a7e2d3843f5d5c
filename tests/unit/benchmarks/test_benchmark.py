"""The cache of problems built from benchmark rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from ioi_eval.benchmarks.benchmark import INLINE, ContentStore, StoredProblem, load_stored_problem
from ioi_eval.models import Limits, Problem, Subtask, Test
from ioi_eval.store import Store

LONG = "7 " * INLINE


def cached_problem(contents: ContentStore, answer: str = "7") -> StoredProblem:
    test = Test(name="1", input=contents.store(LONG), answer=contents.store(answer))
    subtask = Subtask(name="all", points=1, tests=("1",))
    limits = Limits(cpu_time=1.0, memory=1 << 28)
    return StoredProblem(problem=Problem(id="sevens", limits=limits, tests=(test,), subtasks=(subtask,)))


@pytest.mark.parametrize("stored_content", ["", "7 ", None], ids=["empty", "cut off", "gone"])
def test_truncated_or_missing_stored_tests_are_rebuilt(tmp_path: Path, stored_content: str | None) -> None:
    """Otherwise a right program would read nothing and get WA."""
    store = Store(tmp_path / "cache")
    for _ in range(2):
        problem = load_stored_problem(store, "abcd", cached_problem).problem
        assert problem is not None and problem.tests[0].input.read() == LONG.encode()
        stored_file = Path(problem.tests[0].input.path or "")
        stored_file.unlink()
        if stored_content is not None:
            stored_file.write_text(stored_content)


def test_corrupted_stored_test_of_same_size_is_rebuilt(tmp_path: Path) -> None:
    """Small tests are inside the record, which is checked when it is read."""
    store = Store(tmp_path / "cache")
    load_stored_problem(store, "abcd", lambda contents: cached_problem(contents, answer="sevens"))
    (record,) = (tmp_path / "cache").rglob("record.msgpack")
    whole = record.read_bytes()
    record.write_bytes(whole.replace(b"\xc4\x06sevens", b"\xc4\x06sevenr"))
    assert record.read_bytes() != whole
    problem = load_stored_problem(
        store, "abcd", lambda contents: cached_problem(contents, answer="sevens")
    ).problem
    assert problem is not None and problem.tests[0].answer is not None
    assert problem.tests[0].answer.read() == b"sevens"
