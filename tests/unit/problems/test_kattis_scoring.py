"""Scoring problems of ICPC packages: groups become subtasks with points."""

from __future__ import annotations

from pathlib import Path

import pytest
from kattis_files import SCORING, write
from package_files import sound
from support.runs import score_submission

from ioi_eval.models import Problem, Submission, TestResult, Verdict

# Other settings of folders, and the resulting points of the groups.


TWO_SAMPLES = {
    "data/sample/2.in": "3\n",
    "data/sample/2.ans": "6\n",
}


@pytest.mark.parametrize(
    ("everything", "sample", "rejected", "accepted"),
    [
        (
            "grader_flags: always_accept ignore_sample\naccept_score: 0\n",
            "grader_flags: sum\naccept_score: 2\n",
            2,
            0,
        ),
        (
            "grader_flags: always_accept max ignore_sample\non_reject: break\n",
            "grader_flags: sum\nreject_score: 1\n",
            2,
            1,
        ),
    ],
    ids=["0 points if accepted", "1 point if accepted"],
)
def test_rejected_sample_group_earns_its_points(
    tmp_path: Path, everything: str, sample: str, rejected: float, accepted: float
) -> None:
    """By the format the last judged group counts, which is the sample if it is rejected."""
    files = {**TWO_SAMPLES, "data/testdata.yaml": everything, "data/sample/testdata.yaml": sample}
    problem = sound(write(tmp_path / "p", files, header=SCORING))
    assert earned(problem, wrong="sample/2") == rejected
    assert earned(problem, wrong="") == accepted


def earned(problem: Problem, *, wrong: str) -> float:
    results = {
        test.name: TestResult(
            test_name=test.name, score=float(right), status=Verdict.AC if right else Verdict.WA
        )
        for test in problem.tests
        for right in [test.name != wrong]
    }
    return score_submission(
        problem, Submission(key="1", problem_id=problem.id, code="", language="c++"), results
    ).points
