"""A scorer judges a submission only for the problem that the submission names."""

from __future__ import annotations

from pathlib import Path

import pytest

from ioi_eval import Scorer, Store, Submission, score_sync
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
    submission = Submission(key="s1", problem_id=problem_id, year=year, code="int main() {}", language="c++")
    with pytest.raises(InputError, match="not 'sum'") as raised:
        score_sync(problem, submission, engine=FakeEngine(), store=Store(tmp_path))
    assert (raised.value.field, raised.value.where) == (field, "submission s1")


def test_code_without_language_is_refused_instead_of_compiled_as_cpp() -> None:
    problem = Problem.of(tests=[("1 2", "3")], id="sum")
    submission = Submission(key="s1", problem_id="sum", code="print(sum(map(int, input().split())))")
    message = r"submission s1, field 'language': the language of the code is missing. .* language=\"python\""
    with pytest.raises(InputError, match=message):
        score_sync(problem, submission, engine=FakeEngine())


async def test_submission_without_code_needs_no_language() -> None:
    problem = Problem.of(tests=[("1 2", "3")], id="sum")
    async with Scorer(FakeEngine()) as scorer:
        result = await scorer.score(problem, Submission(key="s1", problem_id="sum", code=None))
    assert result.points == 0
