"""Packages of Polygon: its XML, its groups with what they depend on, and what is refused in a sentence."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from package_files import only_error, read, sound, zipped

from ioi_eval.models import CheckerKind, Submission, TaskType, TestResult, Verdict
from ioi_eval.plugins.polygon.packages import Polygon
from ioi_eval.problems.collection import load_problems
from ioi_eval.rules import scoring

HALVES = Path(__file__).parents[2] / "packages" / "halves"
GROUP_1 = "testset.groups.1.points"
TESTS = ("01", "02", "03", "04", "05", "06")


def changed(tmp_path: Path, *changes: tuple[str, str], drop: tuple[str, ...] = ()) -> Path:
    """The package with texts of its header replaced, each of which must be there, and without some files."""
    folder = tmp_path / "halves"
    shutil.copytree(HALVES, folder)
    header = folder / "problem.xml"
    text = header.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    header.write_text(text)
    for name in drop:
        (folder / name).unlink()
    return folder


def points(folder: Path, wrong: str = "", partly: str = "") -> list[float]:
    """Return what each group earns. Tests are named by their last digits; `partly`: right by half."""
    problem = sound(folder)
    results = {
        name: TestResult(
            test_name=name,
            score=0.0 if name[-1] in wrong else 0.5 if name[-1] in partly else 1.0,
            status=Verdict.WA if name[-1] in wrong else Verdict.PA if name[-1] in partly else Verdict.AC,
        )
        for name in TESTS
    }
    submission = Submission(key="k", problem_id=problem.id, code="")
    found = scoring.submission_result(problem, submission, results)
    return [round(part.exact_score * part.points, 6) for part in found.subtasks]


def test_a_package(tmp_path: Path) -> None:
    problem = sound(HALVES, "halves")
    assert (problem.id, problem.name, problem.tags) == ("halves", "Two parts", ("math",))
    assert (problem.limits.cpu_time, problem.limits.memory) == (0.4, 256 << 20)
    assert [test.name for test in problem.tests] == list(TESTS)
    assert problem.checker.kind is CheckerKind.TESTLIB
    assert [source.name for source in problem.checker.sources] == ["files/check.cpp", "files/limits.h"]
    assert [(s.name, s.points) for s in problem.subtasks] == [("0", 0), ("1", 30), ("2", 70)]
    assert Polygon().package_id(HALVES, "") == "halves"


@pytest.mark.parametrize(("archive", "top"), [("two-parts.zip", ""), ("x.zip", "two-parts")])
def test_a_zip_without_a_short_name_is_called_by_its_place(tmp_path: Path, archive: str, top: str) -> None:
    folder = changed(tmp_path, (' short-name="halves"', ""))
    found = load_problems(zipped(folder, tmp_path / archive, top), cache=tmp_path / "cache")
    assert list(found) == ["two-parts"]


@pytest.mark.parametrize(
    ("wrong", "earned"),
    [
        ("", [0, 30, 70]),
        ("5", [0, 30, 50]),  # each test of group 2 has its own points
        ("456", [0, 30, 0]),
        ("3", [0, 0, 0]),  # group 1 is all or nothing, and group 2 depends on it
        ("1", [0, 0, 0]),  # and that on the sample
    ],
)
def test_groups_that_depend_on_others(wrong: str, earned: list[float]) -> None:
    assert points(HALVES, wrong) == earned


@pytest.mark.parametrize(
    ("partly", "earned"),
    [
        ("5", [0, 30, 60]),  # in group 2 a part counts
        ("3", [0, 0, 0]),  # in group 1 it is not passed, and so for group 2, which depends on it
        ("1", [0, 0, 0]),
    ],
)
def test_a_part_of_the_points_is_not_passed(tmp_path: Path, partly: str, earned: list[float]) -> None:
    assert points(HALVES, partly=partly) == earned
    whole = changed(tmp_path, ('points-policy="each-test"', 'points-policy="complete-group"'))
    assert points(whole, partly=partly) == [*earned[:2], 0]


def test_groups_without_a_sum_have_that_of_their_tests(tmp_path: Path) -> None:
    change = ('points="30.0" points-policy', "points-policy")
    own = ('<test group="1" method="manual" points="0.0"/>', '<test group="1" method="manual" points="7"/>')
    assert points(changed(tmp_path, change, own)) == [0, 7, 70]


def test_tests_with_points_and_no_groups(tmp_path: Path) -> None:
    folder = changed(tmp_path, ("<groups>", "<nothing>"), ("</groups>", "</nothing>"))
    assert points(folder, "5") == [50]
    assert [(s.name, s.points) for s in sound(folder).subtasks] == [("all", 70)]


def test_without_points_all_tests_are_to_be_passed(tmp_path: Path) -> None:
    none = [(f'points="{n}.0"', "") for n in (0, 10, 20, 30, 40)]
    assert sound(changed(tmp_path, *none)).subtasks == ()


def test_an_interactor(tmp_path: Path) -> None:
    interactor = '<interactor><source path="files/check.cpp" type="cpp.g++17"/></interactor><solutions>'
    problem = sound(changed(tmp_path, ("<solutions>", interactor)))
    assert problem.task_type is TaskType.INTERACTIVE
    assert problem.manager is not None
    assert (problem.manager.kind, problem.checker.kind) == (CheckerKind.TESTLIB, CheckerKind.TESTLIB)


@pytest.mark.parametrize(
    ("said", "full", "own"),
    [
        ("", 40.0, {"04": 10.0, "05": 20.0}),  # `points X` is X of the test's own points
        ('treat-points-from-checker-as-percent="true"', 100.0, {}),
        ('treat-points-from-checker-as-percent="false"', 40.0, {"04": 10.0, "05": 20.0}),
    ],
)
def test_points_that_a_checker_gives(tmp_path: Path, said: str, full: float, own: dict[str, float]) -> None:
    interactor = '<interactor><source path="files/check.cpp" type="cpp.g++17"/></interactor><solutions>'
    problem = sound(changed(tmp_path, ("<judging ", f"<judging {said} "), ("<solutions>", interactor)))
    assert problem.manager is not None
    assert (problem.checker.full, problem.manager.full) == (full, full)
    assert {test.name: test.full for test in problem.tests if test.full is not None} == own


def test_files_that_are_read_and_written(tmp_path: Path) -> None:
    files = ('input-file="" output-file=""', 'input-file="halves.in" output-file="stdout"')
    options = sound(changed(tmp_path, files)).options
    assert (options.input_file, options.output_file) == ("halves.in", "")


def test_what_is_passed_over_is_told(tmp_path: Path) -> None:
    pretests = ("</testset>", '</testset><testset name="pretests"/>')
    tags = ("</solution>", '<extra-tags><extra-tag group="1" tag="accepted"/></extra-tags></solution>')
    package = read(changed(tmp_path, pretests, tags, ('tag="accepted"', 'tag="do-not-run"')))
    assert package.notes[0] == "sum/problem.xml: ignored: the testset 'pretests'"
    assert len([note for note in package.notes if "tags for single groups" in note]) == 4
    assert package.problem is not None
    assert len(package.problem.solutions) == 4


@pytest.mark.parametrize(
    ("kind", "language"),
    [
        ("python.3", "python"),
        ("python.pypy3-64", "pypy"),
        ("cpp.g++14", "c++14"),
        ("cpp.gcc13-64-winlibs-g++20", "c++20"),
        ("cpp.ms2017", "c++"),
        ("python.2", None),
        ("python.pypy2", None),
        ("d", None),
    ],
)
def test_the_languages_of_solutions(tmp_path: Path, kind: str, language: str | None) -> None:
    name = "one.py" if "python" in kind else "halves.cpp" if "cpp" in kind else "halves.d"
    folder = changed(
        tmp_path,
        ('path="solutions/halves.cpp"', 'path="solutions/narrow.cpp"'),
        ('path="solutions/one.py" type="python.3"', f'path="solutions/{name}" type="{kind}"'),
    )
    (folder / "solutions" / "halves.d").write_text("")
    package = read(folder)
    assert package.problem is not None
    assert [s.language for s in package.problem.solutions if s.name == name] == [language] * bool(language)
    assert package.notes == (() if language else (f"sum/solutions/{name}: ignored: {kind} is not supported",))


def test_tests_that_were_not_generated(tmp_path: Path) -> None:
    error = only_error(changed(tmp_path, drop=("tests/02", "tests/04", "tests/05", "tests/06")))
    assert str(error) == (
        "sum/tests/02: 4 of 6 tests are missing: gen 1000 > tests/04; gen 3000000000 > tests/05;"
        " gen 4000000001 > tests/06. Make them with"
        " ioi_eval.runs.generating.generate(PACKAGE, DIR), or by its doall.sh"
    )
    (tmp_path / "other").mkdir()
    error = only_error(changed(tmp_path / "other", drop=("tests/06.a",)))
    assert "1 answers are missing" in str(error)


@pytest.mark.parametrize(
    ("old", "new", "field", "words"),
    [
        ('short-name="halves"', 'short-name="a b"', "short-name", "'a b' is not an id"),
        ("<time-limit>400", "<time-limit>1 s", "testset.time-limit", "'1 s' is not a number of millisec"),
        ("<time-limit>400", "<time-limit>2", "testset.time-limit", "2 milliseconds is too little"),
        ("<memory-limit>268435456", "<memory-limit>", "testset.memory-limit", "'' is not a number of bytes"),
        ("<memory-limit>268435456", "<memory-limit>256", "testset.memory-limit", "256 bytes is too little"),
        ('input-file=""', 'input-file="../a"', "judging.input-file", "not a plain file name"),
        ('cpu-name="any"', 'run-count="2"', "judging.run-count", "solutions run twice without an interactor"),
        ('cpu-name="any"', 'run-count="3"', "judging.run-count", "solutions run 3 times. Expected 1, or 2"),
        ('path="files/check', 'path="files/chek', "assets.checker.source", "no file 'files/chek.cpp'"),
        ('path="files/check.cpp"', 'path="/etc/passwd"', "assets.checker.source", "no file '/etc/passwd'"),
        (
            'checker type="testlib"',
            'checker type="x"',
            "assets.checker.type",
            "'x' is not supported. Expected",
        ),
        ("tests/%02d<", "tests/%s<", "testset.input-path-pattern", "'tests/%s' is not a pattern"),
        ("tests/%02d<", "../%02d<", "testset.input-path-pattern", "'../%02d' is not a pattern"),
        ('"each-test"', '"some"', "testset.groups.2.points-policy", "not one of complete-group, each-test"),
        ('dependency group="1"', 'dependency group="x"', "testset.groups.2.dependencies", "no group 'x'"),
        ('dependency group="0"', 'dependency group="1"', "testset.groups.1.dependencies", "on itself"),
        (
            "</groups>",
            '<group name="3" points="5"/></groups>',
            "testset.groups.3.points",
            "has points and no tests",
        ),
        (
            '"30.0" points-policy="complete-group"',
            '"30" points-policy="each-test"',
            GROUP_1,
            "no test has any",
        ),
        ("</groups>", '<group name="2"/></groups>', "testset.groups", "two groups have one name"),
        ('group="2" ', 'group="3" ', "testset.tests.test.group", "'3', which is not one of the groups"),
        ("<test-count>6", "<test-count>7", "testset.test-count", "not the number of tests, which is 6"),
        ('points="40.0"', 'points="many"', "testset.tests.test.points", "'many' is not a number of points"),
        ("<problem ", "<!DOCTYPE problem><problem ", "", "entities are not supported. Remove its DOCTYPE"),
        ("</names>", "", "", "broken XML"),
        (
            'type="h.g++"/>',
            'for-types="pas.*"><assets><asset name="solution"/></assets></file>',
            "files.resources.for-types",
            "solutions of 'pas.*' cannot be compiled with files/limits.h. Expected cpp.*, c.*",
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, old: str, new: str, field: str, words: str) -> None:
    error = only_error(changed(tmp_path, (old, new)))
    assert (error.where, error.field) == ("sum/problem.xml", field)
    assert words in str(error)
    assert "\n" not in str(error)


def test_a_header_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "problem.xml").write_text("<html/>")
    assert "<html> is not a problem" in str(only_error(tmp_path))


def test_tests_that_were_written_on_windows(tmp_path: Path) -> None:
    package = tmp_path / "halves"
    shutil.copytree(HALVES, package)
    first, second = sorted(path for path in (package / "tests").iterdir() if path.suffix != ".a")[:2]
    text = first.read_bytes()
    first.write_bytes(text.replace(b"\n", b"\r\n"))
    problem = sound(package, "halves")
    assert problem.tests[0].input.read() == text and text.endswith(b"\n")
    assert problem.tests[1].input.path == str(second)


def test_a_scorer_is_refused(tmp_path: Path) -> None:
    """Its points would be others than those of the tests and groups."""
    scorer = '<scorer><source path="files/check.cpp" type="cpp.g++17"/></scorer>'
    error = only_error(changed(tmp_path, ("<solutions>", f"{scorer}<solutions>")))
    assert error.field == "assets.scorer"
    assert "turns verdicts into points" in str(error)


def test_a_tag_that_has_solutions_run_twice(tmp_path: Path) -> None:
    """Packages from before `run-count` have it; solutions would run once."""
    error = only_error(changed(tmp_path, ('<tag value="math"/>', '<tag value="run-twice"/>')))
    assert (error.field, "tagged run-twice" in str(error)) == ("judging.run-count", True)
