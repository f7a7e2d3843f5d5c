"""Groups of ICPC packages with the package's own grader."""

from __future__ import annotations

from pathlib import Path

import pytest
from kattis_files import GROUPS, HEADER, write
from package_files import only_error, sound

from ioi_eval.model.values import RAW_POINTS
from ioi_eval.models import Problem, ScoreType, TestResult, Verdict
from ioi_eval.rules.grading import GraderQuestion, list_grader_questions
from ioi_eval.rules.grading import list_tests as all_of

SUM = ScoreType.SUM


def described(problem: Problem) -> list[tuple[str, float, ScoreType, int]]:
    return [(s.name, s.points, s.score_type, len(s.tests)) for s in problem.subtasks]


GRADER = {"graders/grade.py": "print('AC 1')\n", "graders/README.md": "a text\n"}
CUSTOM = "grading: custom\ngrader_flags: odd {}\nrange: 0 {}\n"


def test_custom_graded_groups_use_package_grader(tmp_path: Path) -> None:
    settings = {f"data/secret/group{n}/testdata.yaml": CUSTOM.format(n, 10 * n) for n in (1, 2)}
    problem = sound(write(tmp_path / "p", {**GROUPS, **GRADER, **settings}))
    assert described(problem)[1:] == [("group1", 10, SUM, 2), ("group2", 20, SUM, 2)]
    trees = [subtask.grading for subtask in problem.subtasks[1:]]
    assert [(tree.flags, tree.full) for tree in trees if tree] == [(("odd", "1"), 10), (("odd", "2"), 20)]
    assert problem.grader is not None
    assert (problem.grader.sources[0].name, problem.grader.language) == ("graders/grade.py", "python")


def test_kattis_grader_of_outer_group_gets_results_of_all_groups(tmp_path: Path) -> None:
    whole = {"data/testdata.yaml": CUSTOM.format("all", 100), "data/secret/testdata.yaml": None}
    files = {
        **GROUPS,
        **GRADER,
        **whole,
        "data/secret/group1/testdata.yaml": "grading: default\naccept_score: 3\n",
    }
    problem = sound(write(tmp_path / "p", files))
    assert described(problem) == [("all", 100, SUM, 5)]
    tree = problem.subtasks[0].grading
    assert tree is not None
    results = {name: TestResult(test_name=name, score=1.0, status=Verdict.AC) for name in all_of(tree)}
    # The default grader can decide group1 at once, and `secret` has to wait for group2.
    assert set(list_grader_questions(tree, results, {})) == {
        GraderQuestion(("odd", "all"), "AC 1.0\n"),
        GraderQuestion(("sum",), "AC 35.0\nAC 35.0\n"),
    }


@pytest.mark.parametrize(
    ("files", "file", "field", "message"),
    [
        ({}, "graders", "", "contains no program. A custom grading needs exactly one grader"),
        ({**GRADER, "graders/b.py": "\n"}, "graders", "", "contains 2 programs"),
        (
            {**GRADER, "data/secret/group1/testdata.yaml": "grading: custom\n"},
            None,
            "range",
            "maximum points are missing",
        ),
    ],
)
def test_unusable_package_grader_is_error(
    tmp_path: Path, files: dict[str, str], file: str | None, field: str, message: str
) -> None:
    data_path = "data/secret/group1/testdata.yaml"
    error = only_error(write(tmp_path / "p", {**GROUPS, data_path: CUSTOM.format(1, 30), **files}), "p")
    assert (error.where, error.field) == (f"p/{file or data_path}", field)
    assert message in str(error)


SCORED = {
    **GRADER,
    "problem.yaml": HEADER + "type: scoring\nvalidation: custom score\n",
    "output_validators/check.cpp": "int main() {}\n",
    "data/sample/testdata.yaml": "range: 0 0\naccept_score: 0\ngrader_flags: first_error\n",
    "data/secret/group1/testdata.yaml": "range: 0 15\ngrading: custom\n",
    "data/secret/group2/testdata.yaml": "range: 0 70\ngrader_flags: min\n",
}


def test_points_of_package_grader_are_unbounded(tmp_path: Path) -> None:
    problem = sound(write(tmp_path / "p", {**GROUPS, **SCORED}))
    assert described(problem)[0] == ("sample", 0, SUM, 1)
    assert [(subtask.name, subtask.points) for subtask in problem.subtasks[1:]] == [
        ("group1", 15),
        ("group2", 70),
    ]
    assert problem.checker.full == RAW_POINTS
    assert {test.name: test.full for test in problem.tests} == {
        "sample/1": 0,
        "secret/group1/a": None,
        "secret/group1/b": None,
        "secret/group2/a": 70,
        "secret/group2/b": 70,
    }
    tree = problem.subtasks[1].grading
    assert tree is not None
    results = {
        name: TestResult(test_name=name, score=1.0, status=Verdict.AC, points=points)
        for name, points in (("secret/group1/a", 1000.0), ("secret/group1/b", 0.1))
    }
    assert list(list_grader_questions(tree, results, {})) == [
        GraderQuestion(("always_accept",), "AC 1000.0\nAC 0.1\n")
    ]


def test_kattis_group_with_range_zero_has_no_points(tmp_path: Path) -> None:
    files = {**GROUPS, **SCORED, "data/secret/group1/testdata.yaml": "range: 0 0\ngrading: custom\n"}
    assert described(sound(write(tmp_path / "p", files)))[1] == ("group1", 0, SUM, 2)
    files["data/secret/group1/testdata.yaml"] = "range: -5 -1\ngrading: custom\n"
    assert only_error(write(tmp_path / "q", files), "p").field == "range"
