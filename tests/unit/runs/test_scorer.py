"""A scorer judges a submission only for the problem that the submission names."""

from __future__ import annotations

from pathlib import Path

import pytest

from ioi_eval import Store, Submission, score_sync
from ioi_eval.errors import InputError
from ioi_eval.models import Problem
from ioi_eval.testing import FakeEngine


@pytest.mark.parametrize(
    ("problem_id", "year", "field"),
    [("sums", None, "problem_id"), ("", None, "problem_id"), ("sum", 2023, "year")],
)
def test_submission_that_names_another_problem_is_refused(
    tmp_path: Path, problem_id: str, year: int | None, field: str
) -> None:
    problem = Problem(id="sum", year=2024, tests=())
    submission = Submission(key="s1", problem_id=problem_id, year=year, code="int main() {}")
    with pytest.raises(InputError, match="not 'sum'") as raised:
        score_sync(problem, submission, engine=FakeEngine(), store=Store(tmp_path))
    assert (raised.value.field, raised.value.where) == (field, "submission s1")
