"""CMS packages: names, encodings, and arbitrary headers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from package_files import Write, only_error, sound

from ioi_eval.models import CheckerKind, TaskType
from ioi_eval.problems.cms import Cms


def test_cms_package_fields_are_read(write_package: Write) -> None:
    folder = write_package()
    problem = sound(folder)
    assert (problem.id, problem.name, problem.year, problem.source) == ("sum", "A sum", None, "sum")
    assert (problem.task_type, problem.options.with_grader) == (TaskType.BATCH, True)
    assert (problem.limits.cpu_time, problem.limits.wall_time) == (1.5, 4.0)
    assert (problem.limits.memory, problem.score_precision) == (256 << 20, 1)
    assert [file.name for file in problem.grader_files] == ["graders/grader.cpp", "graders/sum.h"]
    assert problem.checker.kind is CheckerKind.CMS
    assert [file.name for file in problem.checker.sources] == ["checker/checker.cpp", "checker/testlib.h"]
    assert [test.name for test in problem.tests] == ["1-01", "2-01"]
    assert problem.tests[0].input.path == str(folder / "tests/1-01.in")
    assert problem.tests[0].input.read() == b"1 2\n"
    assert problem.tests[0].answer is not None
    assert problem.tests[0].answer.read() == b"3\n"
    assert [(s.name, s.points, s.tests) for s in problem.subtasks] == [
        ("01-small", 40.0, ("1-01",)),
        ("02-all", 60.5, ("2-01", "1-01")),
    ]
    assert [(s.name, s.language, s.expected) for s in problem.solutions] == [
        ("best.cpp", "c++", "correct"),
        ("naive.py", "python", "incorrect"),
    ]
    assert problem.cpp_standard == "gnu++20"


def test_latin1_solution_is_decoded(write_package: Write) -> None:
    folder = write_package(files={"solutions/correct/best.cpp": b"// caf\xe9\nint x;\n"})
    assert sound(folder).solutions[0].code == "// café\nint x;\n"


@pytest.mark.parametrize(("header", "message"), [(None, "missing file"), ("[" * 100_000, "broken JSON")])
def test_unreadable_cms_header_is_error(write_package: Write, header: str | None, message: str) -> None:
    error = only_error(write_package(files={"problem.json": header}))
    assert error.where == "sum/problem.json"
    assert message in str(error)
    assert error.remedy


def test_non_utf8_subtask_file_is_error_with_line(write_package: Write) -> None:
    error = only_error(write_package(files={"subtasks/01-small.json": b'{\n"score": "\xff"}'}))
    assert (error.row, error.problem) == (2, "not UTF-8")


def test_package_with_unreadable_header_has_no_id(write_package: Write) -> None:
    assert Cms().package_id(write_package(), "") == "sum"
    assert Cms().package_id(write_package("broken", {"problem.json": "{"}), "") is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FIELDS = ["code", "name", "time_limit", "memory_limit", "score_precision", "task_type", "task_type_params"]
OWN_FIELDS = [
    "checker",
    "manager",
    "year",
    "cpp_standard",
    "score_type",
    "threshold",
    "score_type_parameters",
]


@given(st.dictionaries(st.sampled_from(FIELDS + OWN_FIELDS), JSON))
def test_arbitrary_header_gives_problem_or_errors(
    tmp_path_factory: pytest.TempPathFactory, header: Any
) -> None:
    folder = tmp_path_factory.mktemp("package")
    (folder / "problem.json").write_text(json.dumps(header))
    package = Cms().read_package(folder, "x")
    assert (package.problem is None) is bool(package.errors)
    assert all(error.where for error in package.errors)


def test_misspelt_folders_are_noted_with_suggestions(write_package: Write) -> None:
    folder = write_package()
    (folder / "solutions" / "incorrect").rename(folder / "solutions" / "wrong")
    (folder / "checker").rename(folder / "checkers")
    notes = " ".join(Cms().read_package(folder, "p").notes)
    assert "p/solutions/wrong: unknown verdict, with which no result is compared" in notes
    assert "Did you mean 'wrong_answer'?" in notes
    assert "p/checkers: the format has no folder of this name. Did you mean 'checker'?" in notes
