"""Points of groups in Polygon packages. tests/data/packages/polygon has the expected problems."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from package_files import only_error, sound, zipped

from ioi_eval.models import Submission, TestResult, Verdict
from ioi_eval.plugins.polygon.packages import Polygon
from ioi_eval.problems.collection import load_problems
from ioi_eval.rules import scoring

HALVES = Path(__file__).parents[2] / "packages" / "halves"
TESTS = ("01", "02", "03", "04", "05", "06")


def changed_package(tmp_path: Path, *changes: tuple[str, str]) -> Path:
    """Return a copy of the package with replaced strings in its header."""
    folder = tmp_path / "halves"
    shutil.copytree(HALVES, folder)
    header = folder / "problem.xml"
    xml = header.read_text()
    for original, replacement in changes:
        assert original in xml
        xml = xml.replace(original, replacement)
    header.write_text(xml)
    return folder


def points(folder: Path, wrong: str = "", partly: str = "") -> list[float]:
    """Return the points of each group. `wrong` and `partly` contain last digits of test names."""
    problem = sound(folder)
    results = {
        name: TestResult(
            test_name=name,
            score=0.0 if name[-1] in wrong else 0.5 if name[-1] in partly else 1.0,
            status=Verdict.WA if name[-1] in wrong else Verdict.PA if name[-1] in partly else Verdict.AC,
        )
        for name in TESTS
    }
    submission = Submission(key="k", problem_id=problem.id, code="", language="c++")
    score = scoring.score_submission(problem, submission, results)
    return [round(subtask.exact_score * subtask.points, 6) for subtask in score.subtasks]


def test_polygon_package_id_is_its_short_name() -> None:
    assert Polygon().package_id(HALVES, "") == "halves"


@pytest.mark.parametrize(("archive", "top"), [("two-parts.zip", ""), ("x.zip", "two-parts")])
def test_polygon_package_without_short_name_is_named_by_its_archive_or_folder(
    tmp_path: Path, archive: str, top: str
) -> None:
    folder = changed_package(tmp_path, (' short-name="halves"', ""))
    loaded = load_problems(zipped(folder, tmp_path / archive, top), cache=tmp_path / "cache")
    assert list(loaded) == ["two-parts"]


@pytest.mark.parametrize(
    ("wrong", "earned"),
    [
        ("", [0, 30, 70]),
        ("5", [0, 30, 50]),  # the points of group 2 are per test
        ("456", [0, 30, 0]),
        ("3", [0, 0, 0]),  # group 1 is all or nothing, and group 2 depends on it
        ("1", [0, 0, 0]),  # and that on the sample
    ],
)
def test_polygon_group_scores_0_if_its_dependency_fails(wrong: str, earned: list[float]) -> None:
    assert points(HALVES, wrong) == earned


@pytest.mark.parametrize(
    ("partly", "earned"),
    [
        ("5", [0, 30, 60]),  # in group 2 a part counts
        ("3", [0, 0, 0]),  # in group 1 it is not passed, and so for group 2, which depends on it
        ("1", [0, 0, 0]),
    ],
)
def test_partial_points_do_not_complete_a_polygon_group(
    tmp_path: Path, partly: str, earned: list[float]
) -> None:
    assert points(HALVES, partly=partly) == earned
    whole = changed_package(tmp_path, ('points-policy="each-test"', 'points-policy="complete-group"'))
    assert points(whole, partly=partly) == [*earned[:2], 0]


def test_polygon_group_without_points_has_the_sum_of_its_tests(tmp_path: Path) -> None:
    change = ('points="30.0" points-policy', "points-policy")
    group_points = (
        '<test group="1" method="manual" points="0.0"/>',
        '<test group="1" method="manual" points="7"/>',
    )
    assert points(changed_package(tmp_path, change, group_points)) == [0, 7, 70]


def test_polygon_tests_with_points_count_without_groups(tmp_path: Path) -> None:
    folder = changed_package(tmp_path, ("<groups>", "<nothing>"), ("</groups>", "</nothing>"))
    assert points(folder, "5") == [50]


def test_problem_xml_of_other_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "problem.xml").write_text("<html/>")
    assert "<html> is not a problem" in str(only_error(tmp_path))


def test_polygon_test_with_windows_line_ends_is_normalized(tmp_path: Path) -> None:
    package = tmp_path / "halves"
    shutil.copytree(HALVES, package)
    first, second = sorted(path for path in (package / "tests").iterdir() if path.suffix != ".a")[:2]
    content = first.read_bytes()
    first.write_bytes(content.replace(b"\n", b"\r\n"))
    problem = sound(package, "halves")
    assert problem.tests[0].input.read() == content and content.endswith(b"\n")
    assert problem.tests[1].input.path == str(second)
