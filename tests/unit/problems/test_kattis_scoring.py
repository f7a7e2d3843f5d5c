"""Scoring problems in the ICPC's format: groups become subtasks with points."""

from __future__ import annotations

from pathlib import Path

import pytest
from kattis_files import GROUPS, HEADER, SCORING, VALIDATOR, without, write
from package_files import only_error, read, sound
from support.runs import submission_result

from ioi_eval.model.values import RAW_POINTS
from ioi_eval.models import Acceptance, Grading, Points, Problem, ScoreType, Submission, TestResult, Verdict

pytestmark = pytest.mark.once

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


def test_without_any_settings_every_test_is_a_point_and_must_be_passed(tmp_path: Path) -> None:
    problem = sound(write(tmp_path / "p", header=SCORING))
    assert described(problem) == [("all", 3, MIN, 3)]


def test_what_once_stood_in_the_header_counts_where_nothing_else_is_said(tmp_path: Path) -> None:
    header = SCORING + "grading: {accept_score: 1e1, objective: max, on_reject: grade}\n"
    files = {"data/testdata.yaml": "grader_flags: always_accept\n"}
    problem = sound(write(tmp_path / "p", files, header=header))
    assert described(problem) == [("sample", 10, MIN, 1), ("secret", 20, SUM, 2)]


SAMPLE, GROUP1, GROUP2 = ("sample", 0, SUM, 1), ("group1", 30, MIN, 2), ("group2", 70, SUM, 2)
# Other settings of folders, and what the groups are worth then.
WORTH: dict[str, tuple[dict[str, str | None], list[tuple[str, float, ScoreType, int]]]] = {
    "samples that count": (
        {".": "on_reject: continue\ngrader_flags: always_accept\naccept_score: 2\n"},
        [("sample", 2, MIN, 1), GROUP1, GROUP2],
    ),
    # Each group must be accepted here, so there are no subtasks that could be had alone.
    "what is rejected as a whole has no points": ({"secret": None}, [SAMPLE, ("secret", 100, MIN, 4)]),
    "one group that is accepted is enough": (
        {
            "secret": "grader_flags: accept_if_any_accepted\n",
            "secret/group2": "accept_score: 70\ngrader_flags: min\n",
        },
        [SAMPLE, GROUP1, ("group2", 70, MIN, 2)],
    ),
    "an average is worth one test": (
        {"secret/group2": "accept_score: 35\ngrader_flags: avg\n"},
        [SAMPLE, GROUP1, ("group2", 35, SUM, 2)],
    ),
    "the last of several modes holds": (
        {"secret/group2": "accept_score: 9\ngrader_flags: sum min\n"},
        [SAMPLE, GROUP1, ("group2", 9, MIN, 2)],
    ),
    "settings are those of the folder above": (
        {
            "secret": "accept_score: 5\ngrader_flags: always_accept\n",
            "secret/group1": "grader_flags: min\n",
            "secret/group2": None,
        },
        [SAMPLE, ("group1", 5, MIN, 2), ("group2", 10, SUM, 2)],
    ),
    "the worst of groups that are alike": (
        {
            "secret": "accept_score: 100\ngrader_flags: min\n",
            "secret/group1": None,
            "secret/group2": None,
        },
        [SAMPLE, ("secret", 100, MIN, 4)],
    ),
}


@pytest.mark.parametrize(("settings", "subtasks"), WORTH.values(), ids=WORTH)
def test_what_groups_are_worth(
    tmp_path: Path, settings: dict[str, str | None], subtasks: list[tuple[str, float, ScoreType, int]]
) -> None:
    files = {f"data/{folder}/testdata.yaml": text for folder, text in settings.items()}
    assert described(sound(write(tmp_path / "p", {**GROUPS, **files}))) == subtasks


def test_a_group_that_ends_the_judging_is_a_tree(tmp_path: Path) -> None:
    files = {**GROUPS, "data/secret/testdata.yaml": "on_reject: break\ngrader_flags: always_accept\n"}
    _, secret = sound(write(tmp_path / "p", files)).subtasks
    assert (secret.name, secret.points, len(secret.tests)) == ("secret", 100, 4)
    assert secret.grading is not None
    assert (secret.grading.stops, secret.grading.acceptance) == (True, Acceptance.ALWAYS)
    groups = [part for part in secret.grading.parts if isinstance(part, Grading)]
    assert [part.accept_score for part in groups] == [30, 35]


def test_the_best_of_several_tests(tmp_path: Path) -> None:
    files = {**GROUPS, "data/secret/group2/testdata.yaml": "accept_score: 9\ngrader_flags: max\n"}
    group2 = sound(write(tmp_path / "p", files)).subtasks[2]
    assert group2.points == 9
    assert group2.grading is not None
    assert group2.grading.points is Points.MOST


@pytest.mark.parametrize(
    ("settings", "ini", "points"),
    [
        ("accept_score: 20\n", False, 40),  # the format: of each of its two tests
        ("accept_score: 20\nrange: 0 40\n", False, 40),
        ("accept_score: 20\nrange: 0 20\n", False, 20),
        ("accept_score: 20\n", True, 20),
        ("accept_score: 20\ngrader_flags: max\n", True, 20),
        ("accept_score: 20\ngrader_flags: min\n", True, 20),
        ("grader_flags: sum\n", True, 2),  # DOMjudge sums what the tests earn
    ],
)
def test_what_a_group_is_worth_in_domjudge(tmp_path: Path, settings: str, ini: bool, points: float) -> None:
    files = {**GROUPS, "data/secret/group2/testdata.yaml": settings}
    if ini:
        files["domjudge-problem.ini"] = "timelimit='1'\n"
    group2 = sound(write(tmp_path / "p", files)).subtasks[2]
    assert (group2.points, group2.score_type) == (points, MIN if points == 20 else SUM)


@pytest.mark.parametrize(("points", "told"), [(0, False), (20, True)])
def test_points_of_a_group_are_noted_where_there_are_any(tmp_path: Path, points: int, told: bool) -> None:
    settings = f"accept_score: {points}\nrange: 0 {points}\n"
    folder = write(tmp_path / "p", {**GROUPS, "data/secret/group2/testdata.yaml": settings})
    notes = read(folder).notes
    assert any("accept_score is what the group is worth" in note for note in notes) == told


def test_points_for_wrong_answers(tmp_path: Path) -> None:
    files = {**GROUPS, "data/secret/group1/testdata.yaml": "reject_score: 1\naccept_score: 3\n"}
    group1 = sound(write(tmp_path / "p", files)).subtasks[1]
    assert group1.points == 6
    assert group1.grading is not None
    assert (group1.grading.accept_score, group1.grading.reject_score) == (3, 1)


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
    ids=["instead of what it keeps from it", "worth more than all else"],
)
def test_a_sample_that_ends_the_judging_counts(
    tmp_path: Path, everything: str, sample: str, rejected: float, accepted: float
) -> None:
    """The format looks at the last group that was judged, which is the sample's where that is rejected."""
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
    return submission_result(problem, Submission(key="1", problem_id=problem.id, code=""), results).points


def test_tests_and_groups_are_judged_by_their_names(tmp_path: Path) -> None:
    files = {
        **GROUPS,
        "data/secret/group1/testdata.yaml": "on_reject: break\ngrader_flags: max\n",
        "data/secret/group1/aa/1.in": "",
        "data/secret/group1/aa/1.ans": "",
    }
    group1 = sound(write(tmp_path / "p", files)).subtasks[1]
    assert group1.tests == ("secret/group1/a", "secret/group1/aa/1", "secret/group1/b")


def test_a_flag_that_the_default_grader_does_not_know_is_noted(tmp_path: Path) -> None:
    files = {**GROUPS, "data/secret/group2/testdata.yaml": "accept_score: 35\ngrader_flags: avg median\n"}
    assert "'median' is no flag" in read(write(tmp_path / "p", files)).notes[0]


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


@pytest.mark.parametrize(
    ("second", "group2", "scales"),
    [
        ("range: -inf 40.0\ngrader_flags: sum\n", ("group2", 40, SUM, 2), [0, 20, 20, 20, 20]),
        ("range: 0 80\ngrader_flags: min\n", ("group2", 80, MIN, 2), [0, 20, 20, 80, 80]),
    ],
    ids=["one scale", "a scale for each group"],
)
def test_scores_of_a_validator(
    tmp_path: Path,
    second: str,
    group2: tuple[str, float, ScoreType, int],
    scales: list[float],
) -> None:
    files = {
        **SCORED,
        "data/secret/group1/testdata.yaml": "range: 0 20\ngrader_flags: min\n",
        "data/secret/group2/testdata.yaml": second,
    }
    problem = sound(write(tmp_path / "p", files))
    assert problem.checker.full == RAW_POINTS, "scores on samples are ignored, however large"
    assert described(problem)[1:] == [("group1", 20, MIN, 2), group2]
    assert [test.full for test in problem.tests] == scales


def test_scores_of_a_validator_without_groups(tmp_path: Path) -> None:
    files = {
        **VALIDATOR,
        "problem.yaml": SCORING + "validation: custom score\n",
        "data/testdata.yaml": "on_reject: continue\nrange: 0 100\ngrader_flags: ignore_sample\n",
        "data/secret/testdata.yaml": "grader_flags: always_accept\n",
    }
    problem = sound(write(tmp_path / "p", files))
    assert [test.full for test in problem.tests] == [0, 50, 50]
    assert described(problem) == [("sample", 0, SUM, 1), ("secret", 100, SUM, 2)]


@pytest.mark.parametrize(
    ("files", "where", "field", "words"),
    [
        (
            {"group1": "grading: odd\n"},
            "group1",
            "grading",
            '"odd" is not understood. Expected default or custom',
        ),
        ({"group1": "on_reject: shout\n"}, "group1", "on_reject", "is not understood"),
        ({"group1": "reject_score: -1\n"}, "group1", "reject_score", "not a number of at least 0"),
        ({"group1": "accept_score: lots\n"}, "group1", "accept_score", "not a number"),
        ({"group1": "accept_score: -1\n"}, "group1", "accept_score", "not a number of at least 0"),
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
    settings = "on_reject: continue\nrange: 0 100\ngrader_flags: min ignore_sample\n"
    problem = sound(write(tmp_path / "p", {**VALIDATOR, "data/testdata.yaml": settings}, header=header))
    assert described(problem)[1] == ("secret", 100, MIN, 2)
    assert problem.manager is not None
    assert problem.manager.full == RAW_POINTS
    assert [test.full for test in problem.tests] == [0, 100, 100]


# --- problems without points -------------------------------------------------------------------------


def test_groups_without_points_are_no_subtasks(tmp_path: Path) -> None:
    files = {**GROUPS, "problem.yaml": HEADER, "data/testdata.yaml": None, "data/secret/testdata.yaml": None}
    assert sound(write(tmp_path / "p", files)).subtasks == ()


def test_one_group_that_is_accepted_may_be_enough_without_points(tmp_path: Path) -> None:
    files = {
        **GROUPS,
        "problem.yaml": HEADER,
        "data/testdata.yaml": "on_reject: continue\ngrader_flags: ignore_sample\n",
        "data/secret/testdata.yaml": "grader_flags: accept_if_any_accepted\n",
    }
    (everything,) = sound(write(tmp_path / "p", files)).subtasks
    assert (everything.name, everything.points, len(everything.tests)) == ("all", 1, 5)
    assert everything.grading is not None
    assert everything.grading.points is Points.ACCEPTED


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


def test_a_misspelt_flag_of_the_default_grader(tmp_path: Path) -> None:
    """It would change what the group is worth."""
    settings = {"data/testdata.yaml": "on_reject: continue\nrange: 0 100\ngrader_flags: ignore_samples\n"}
    error = only_error(write(tmp_path / "p", {**GROUPS, **settings}))
    assert (error.field, "Did you mean 'ignore_sample'" in str(error)) == ("grader_flags", True)
