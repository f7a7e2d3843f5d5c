"""A problem's digest decides whether earlier results can be reused. It must not change between versions."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from ioi_eval.model.digests import problem_digest
from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Blob, Limits, Problem, Subtask, TaskOptions, Test

SUM = Problem(
    id="sum",
    limits=Limits.contest(1.0, 64 << 20),
    tests=(Test(name="1", input=Blob.of("1 2\n"), answer=Blob.of("3\n")),),
    subtasks=(Subtask(name="all", points=100, tests=("1",)),),
)


def test_problem_digest_is_stable_across_versions() -> None:
    """If this fails, a field is new. Name it in digests.py, so that earlier runs are not judged again."""
    recorded_digest = "2d1009b76eb2588400f4aef29cf25e348fd226d3680cc6e2de542e8edbba5681"
    assert problem_digest(SUM) == recorded_digest


def test_problem_digest_changes_if_new_field_is_set() -> None:
    more = Problem(**{**_fields(SUM), "options": TaskOptions(prelude="#define main program")})
    assert problem_digest(more) != problem_digest(SUM)


@pytest.mark.parametrize("field", [{"year": numpy.int64(2024)}, {"cpp_standard": "\ud800"}])
def test_unserializable_field_value_is_input_error_naming_the_problem(field: dict[str, Any]) -> None:
    """Columns of a data frame contain numpy values."""
    with pytest.raises(InputError, match=r"^sum: .*Python's own int"):
        problem_digest(Problem(**{**_fields(SUM), **field}))


def _fields(problem: Problem) -> dict[str, object]:
    return {name: getattr(problem, name) for name in problem.__struct_fields__}
