"""Scoring problems in the ICPC's format: groups become subtasks with points."""

from __future__ import annotations

from pathlib import Path

import pytest
from kattis_files import GROUPS, SCORING, VALIDATOR, without, write
from package_files import only_error, read, sound

from ioi_eval.models import Problem, ScoreType

MIN, SUM = ScoreType.GROUP_MIN, ScoreType.SUM
SCORED = {**GROUPS, **VALIDATOR, "problem.yaml": SCORING + "validation: custom score\n"}


def described(problem: Problem) -> list[tuple[str, float, ScoreType, int]]:
    return [(s.name, s.points, s.score_type, len(s.tests)) for s in problem.subtasks]


def test_groups_with_points(tmp_path: Path) -> None:
    problem = sound(write(tmp_path / "p", GROUPS))
    assert described(problem) == [("sample", 0, SUM, 1), ("group1", 30, MIN, 2), ("group2", 70, SUM, 2)]
    assert problem.subtasks[1].tests == ("secret/group1/a", "secret/group1/b")
    assert problem.tests[0].name == "sample/1"
    assert problem.checker.full == 1


def test_samples_that_count(tmp_path: Path) -> None:
    files = {**GROUPS, "data/testdata.yaml": "accept_score: 2\n"}
    assert described(sound(write(tmp_path / "p", files)))[0] == ("sample", 2, SUM, 1)


def test_without_any_settings_every_test_is_a_point(tmp_path: Path) -> None:
    problem = sound(write(tmp_path / "p", header=SCORING))
    assert described(problem) == [("sample", 1, SUM, 1), ("secret", 2, SUM, 2)]


def test_what_once_stood_in_the_header_counts_where_nothing_else_is_said(tmp_path: Path) -> None:
    problem = sound(write(tmp_path / "p", header=SCORING + "grading: {accept_score: 1e1, objective: max}\n"))
    assert described(problem) == [("sample", 10, SUM, 1), ("secret", 20, SUM, 2)]


def test_an_average_is_worth_one_test(tmp_path: Path) -> None:
    files = {**GROUPS, "data/secret/group2/testdata.yaml": "accept_score: 35\ngrader_flags: avg\n"}
    assert described(sound(write(tmp_path / "p", files)))[2] == ("group2", 35, SUM, 2)


def test_the_last_of_several_modes_holds(tmp_path: Path) -> None:
    files = {**GROUPS, "data/secret/group2/testdata.yaml": "accept_score: 9\ngrader_flags: sum min\n"}
    assert described(sound(write(tmp_path / "p", files)))[2] == ("group2", 9, MIN, 2)


def test_settings_are_those_of_the_folder_above(tmp_path: Path) -> None:
    files = {
        **GROUPS,
        "data/secret/testdata.yaml": "accept_score: 5\ngrader_flags: always_accept\n",
        "data/secret/group1/testdata.yaml": "grader_flags: min\n",
        "data/secret/group2/testdata.yaml": None,
    }
    assert described(sound(write(tmp_path / "p", files)))[1:] == [
        ("group1", 5, MIN, 2),
        ("group2", 10, SUM, 2),
    ]


def test_groups_in_groups(tmp_path: Path) -> None:
    files = {
        **GROUPS,
        "data/secret/group1/testdata.yaml": "grader_flags: sum\n",
        "data/secret/group1/x/testdata.yaml": "accept_score: 4\ngrader_flags: min\n",
        "data/secret/group1/x/1.in": "",
        "data/secret/group1/x/1.ans": "",
    }
    problem = sound(write(tmp_path / "p", files))
    assert [subtask.name for subtask in problem.subtasks] == ["sample", "group1", "group1/x", "group2"]
    assert problem.subtasks[2].points == 4
    assert problem.subtasks[2].tests == ("secret/group1/x/1",)


def test_the_worst_of_groups_that_are_alike(tmp_path: Path) -> None:
    files = {
        **GROUPS,
        "data/secret/testdata.yaml": "accept_score: 100\ngrader_flags: min\n",
        "data/secret/group1/testdata.yaml": None,
        "data/secret/group2/testdata.yaml": None,
    }
    assert described(sound(write(tmp_path / "p", files)))[1:] == [("secret", 100, MIN, 4)]


def test_scores_of_a_validator_with_one_scale(tmp_path: Path) -> None:
    files = {
        **SCORED,
        "data/secret/group1/testdata.yaml": "range: 0 20\ngrader_flags: min\n",
        "data/secret/group2/testdata.yaml": "range: -inf 40.0\ngrader_flags: sum\n",
    }
    problem = sound(write(tmp_path / "p", files))
    assert problem.checker.full == 20
    assert described(problem)[1:] == [("group1", 20, MIN, 2), ("group2", 40, SUM, 2)]


def test_scores_of_a_validator_without_groups(tmp_path: Path) -> None:
    files = {
        **VALIDATOR,
        "problem.yaml": SCORING + "validation: custom score\n",
        "data/testdata.yaml": "range: 0 100\ngrader_flags: ignore_sample\n",
    }
    problem = sound(write(tmp_path / "p", files))
    assert problem.checker.full == 50
    assert described(problem) == [("sample", 0, SUM, 1), ("secret", 100, SUM, 2)]


@pytest.mark.parametrize(
    ("files", "where", "field", "words"),
    [
        ({"group1": "grading: custom\n"}, "group1", "grading", "grader of the package's own"),
        ({"group1": "grader_flags: max\n"}, "group1", "grader_flags", "best test counts"),
        ({"group1": "reject_score: 1\n"}, "group1", "reject_score", "points for wrong answers"),
        ({"group1": "accept_score: lots\n"}, "group1", "accept_score", "not a number"),
        ({"group1": "accept_score: -1\n"}, "group1", "accept_score", "not a number of at least 0"),
        ({".": "grader_flags: min\n"}, ".", "grader_flags", "taken together by min"),
        ({".": "grader_flags: avg\n"}, ".", "grader_flags", "taken together by avg"),
    ],
)
def test_what_cannot_be_scored(
    tmp_path: Path, files: dict[str, str], where: str, field: str, words: str
) -> None:
    settings = {str(Path("data/secret", name, "testdata.yaml")): text for name, text in files.items()}
    error = only_error(write(tmp_path / "p", {**GROUPS, **settings}), "p")
    assert error.where == f"p/{Path('data/secret', where, 'testdata.yaml')}"
    assert (error.field, bool(error.remedy)) == (field, True)
    assert words in str(error)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("range: 0 20\ngrader_flags: min\n", "range: 0 80\ngrader_flags: min\n", "up to 80 here and 20"),
        ("range: 0 20\ngrader_flags: min\n", "grader_flags: min\n", "what the group is worth is not said"),
        ("range: 0 20\ngrader_flags: min\n", "range: 0 +inf\ngrader_flags: min\n", "is not said"),
        ("range: 0 20\ngrader_flags: min\n", "range: [0, 20]\ngrader_flags: min\n", "is not said"),
    ],
)
def test_scores_of_a_validator_without_a_scale(tmp_path: Path, first: str, second: str, words: str) -> None:
    files = {"data/secret/group1/testdata.yaml": first, "data/secret/group2/testdata.yaml": second}
    error = only_error(write(tmp_path / "p", {**SCORED, **files}), "p")
    assert error.field == "range"
    assert words in str(error)


def test_an_interactor_with_a_scale_of_its_own(tmp_path: Path) -> None:
    header = SCORING + "validation: custom score interactive\n"
    files = {**VALIDATOR, "data/testdata.yaml": "range: 0 100\ngrader_flags: min ignore_sample\n"}
    assert "goes up to 100" in str(only_error(write(tmp_path / "p", files, header=header)))
    unit = {**files, "data/testdata.yaml": "range: 0 1\ngrader_flags: min ignore_sample\n"}
    assert described(sound(write(tmp_path / "q", unit, header=header)))[1] == ("secret", 1, MIN, 2)


# --- tags --------------------------------------------------------------------------------------------


def test_a_grade_for_each_secret_group(tmp_path: Path) -> None:
    source = {"submissions/time_limit_exceeded/slow.cpp": "//@EXPECTED_GRADES@ AC TLE\nint main() {}\n"}
    folder = write(tmp_path / "p", {**GROUPS, **source, **without("submissions/wrong_answer")})
    (slow,) = [solution for solution in sound(folder).solutions if solution.name == "slow.cpp"]
    assert slow.expected == "time_limit_exceeded"
    assert dict(slow.exceptions) == {"group1": "AC", "group2": "TLE"}
    assert not slow.each_subtask


def test_grades_for_other_groups_are_passed_over(tmp_path: Path) -> None:
    source = {"submissions/wrong_answer/off.py": "# @EXPECTED_GRADES@ WA WA WA\n"}
    folder = write(tmp_path / "p", {**GROUPS, **source})
    assert all(not solution.exceptions for solution in sound(folder).solutions)
    assert "3 grades for 2 groups" in read(folder).notes[0]
