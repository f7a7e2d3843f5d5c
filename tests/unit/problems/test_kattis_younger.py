"""ICPC packages in the versions 2023-07-draft and 2025-09."""

from __future__ import annotations

from pathlib import Path

import pytest
from kattis_files import without, write
from package_files import sound

from ioi_eval.models import Submission, TestResult, Verdict
from ioi_eval.rules import scoring
from ioi_eval.rules.grading import compute_points_fraction

HEADER = """problem_format_version: 2025-09
name: {en: Doubling, sv: Dubbling}
uuid: 00000000-0000-4000-8000-000000000001
limits: {time_limit: 3, memory: 256}
"""
VALIDATOR = {"output_validator/validate.cpp": "int main() {}\n", "output_validator/more.h": "\n"}


SCORING = HEADER + "type: scoring\n"
GROUP = "data/secret/group{}/test_group.yaml"
GROUPS = {
    **without("data/secret/"),
    **{
        f"data/secret/group{n}/{test}.{side}": "1\n"
        for n in (1, 2)
        for test in "ab"
        for side in ("in", "ans")
    },
}


def groups(folder: Path, *settings: str, secret: str = "", **files: str) -> Path:
    """Write a package with a group for each of two settings."""
    own_files = {GROUP.format(n): group_settings for n, group_settings in enumerate(settings, 1)}
    whole = {"data/secret/test_group.yaml": secret} if secret else {}
    return write(folder / "p", {**GROUPS, **own_files, **whole, **files}, header=SCORING)


@pytest.mark.parametrize(
    ("wrong", "share"),
    [((), 1), (("group1/a",), 0), (("group2/a",), 30 / 40), (("group2/a", "group2/b"), 0)],
)
def test_kattis_min_aggregation_of_groups_gives_expected_share(
    tmp_path: Path, wrong: tuple[str, ...], share: float
) -> None:
    sums = "max_score: 60\nscore_aggregation: sum\nrequire_pass: secret/group1\n"
    problem = sound(groups(tmp_path, "max_score: 40\n", sums, secret="score_aggregation: min\n"))
    secret = problem.subtasks[1]
    assert (secret.name, secret.points, len(secret.tests)) == ("secret", 40, 4)
    assert secret.grading is not None
    right = {test: test.removeprefix("secret/") not in wrong for test in secret.tests}
    results = {
        test: TestResult(test_name=test, score=float(well), status=Verdict.AC if well else Verdict.WA)
        for test, well in right.items()
    }
    assert compute_points_fraction(secret.grading, results) == pytest.approx(share)


@pytest.mark.parametrize(
    ("mode", "partly", "earned"),
    [
        ("pass-fail", ("sample/1", "secret/group1/a"), [0, 40, 60]),
        ("min", ("sample/1", "secret/group1/a"), [0, 40, 60]),
        ("min", ("secret/group2/b",), [0, 40, 15]),
        ("sum", ("sample/1", "secret/group2/b"), [0, 40, 37.5]),
    ],
)
def test_kattis_partial_scores_count_only_in_sum_and_min_aggregation(
    tmp_path: Path, mode: str, partly: tuple[str, ...], earned: list[float]
) -> None:
    needs = f"max_score: 60\nscore_aggregation: {mode}\nrequire_pass: [sample, secret/group1]\n"
    for secret in ("", "score_aggregation: min\n"):
        package_folder = tmp_path / ("min" if secret else "sum")
        problem = sound(groups(package_folder, "max_score: 40\n", needs, secret=secret, **VALIDATOR))
        results = {
            test.name: TestResult(
                test_name=test.name,
                score=0.25 if test.name in partly else 1.0,
                status=Verdict.PA if test.name in partly else Verdict.AC,
            )
            for test in problem.tests
        }
        submission = Submission(key="k", problem_id=problem.id, code="", language="c++")
        score = scoring.score_submission(problem, submission, results)
        points = [round(subtask.exact_score * subtask.points, 6) for subtask in score.subtasks]
        assert points[1:] == ([min(earned[1:])] if secret else earned[1:])
