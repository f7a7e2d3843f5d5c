"""Packages of LightCPVerifier: its numbered and named cases, its limits, what is refused."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from package_files import only_error, read, sound

from ioi_eval.models import CheckerKind

POWERS = Path(__file__).parents[2] / "packages" / "powers"
CASES = "subtasks: [{n_cases: 2}, {cases: [{input: big.in, output: big.out}]}]\n"


def changed(tmp_path: Path, config: str, files: Mapping[str, str | None] | None = None) -> Path:
    folder = tmp_path / "all" / "powers"
    shutil.copytree(POWERS, folder)
    (folder / "config.yaml").write_text(config)
    for name, content in (files or {}).items():
        (folder / name).unlink(missing_ok=True)
        if content is not None:
            (folder / name).write_text(content)
    return folder


def test_a_package() -> None:
    problem = sound(POWERS)
    assert (problem.id, problem.subtasks) == ("powers", ())
    assert (problem.limits.cpu_time, problem.limits.wall_time, problem.limits.memory) == (1.5, 3, 256 << 20)
    assert [test.name for test in problem.tests] == ["1", "2", "big"]
    assert all(test.answer for test in problem.tests)
    assert (problem.checker.kind, problem.cpp_standard) == (CheckerKind.TESTLIB, "gnu++17")
    assert [source.name for source in problem.checker.sources] == ["chk.cc"]


@pytest.mark.parametrize(
    ("limits", "time", "memory"),
    [
        ("", 1, 256 << 20),
        ("time: 2s\nmemory: 1g\n", 2, 1 << 30),
        ("time: 2s\ntime_limit: 500ms\nmemory: 1048576\n", 0.5, 1 << 20),
        ("time: '0.5'\nmemory_limit: 64K\nmemory: 2m\n", 0.5, 64 << 10),
    ],
)
def test_limits(tmp_path: Path, limits: str, time: float, memory: int) -> None:
    found = sound(changed(tmp_path, limits + CASES)).limits
    assert (found.cpu_time, found.memory) == (time, memory)


def test_the_innermost_limit_counts(tmp_path: Path) -> None:
    case = "cases: [{input: big.in, output: big.out, time: 4s}], time: 3s, memory_limit: 1m"
    found = sound(changed(tmp_path, f"time: 2s\nsubtasks: [{{{case}}}]\n")).limits
    assert (found.cpu_time, found.memory) == (4, 1 << 20)


def test_names_of_numbered_cases(tmp_path: Path) -> None:
    names = "input_prefix: a-\ninput_suffix: .txt\noutput_prefix: b-\noutput_suffix: .res\n"
    files = {"testdata/a-1.txt": "6", "testdata/b-1.res": "2 3"}
    problem = sound(changed(tmp_path, f"{names}subtasks: [{{n_cases: 1}}]\n", files))
    assert [test.name for test in problem.tests] == ["a-1"]


def test_numbers_go_on_from_subtask_to_subtask(tmp_path: Path) -> None:
    files = {f"testdata/3.{suffix}": "1" for suffix in ("in", "ans")}
    problem = sound(changed(tmp_path, "subtasks: [{n_cases: 1}, {n_cases: 2}]\n", files))
    assert [test.name for test in problem.tests] == ["1", "2", "3"]


def test_a_case_of_several_subtasks_is_one_test(tmp_path: Path) -> None:
    big = "{input: big.in, output: big.out}"
    problem = sound(
        changed(tmp_path, f"subtasks: [{{cases: [{big}]}}, {{n_cases: 1}}, {{cases: [{big}]}}]\n")
    )
    assert [test.name for test in problem.tests] == ["big", "1"]


def test_two_cases_of_one_name_are_refused(tmp_path: Path) -> None:
    cases = "{input: big.in, output: big.out}, {input: big.txt, output: big.out}"
    folder = changed(tmp_path, f"subtasks: [{{cases: [{cases}]}}]\n", {"testdata/big.txt": "1"})
    error = only_error(folder)
    assert "testdata/big.txt" in str(error) and "two cases are called 'big'. Rename" in str(error)


def test_the_header_of_testlib_beside_the_packages(tmp_path: Path) -> None:
    folder = changed(tmp_path, CASES, {"chk.cc": '#include "testlib.h"\n'})
    error = only_error(folder)
    assert "chk.cc includes testlib.h, which is missing. Put testlib.h" in str(error)
    (folder.parent / "testlib.h").write_text("\n")
    assert [source.name for source in sound(folder).checker.sources] == ["chk.cc", "testlib.h"]


@pytest.mark.parametrize(
    ("config", "place", "words"),
    [
        ("type: leetcode\n" + CASES, "config.yaml, field type", "'leetcode' is not supported. Expected de"),
        ("type: interactive\n" + CASES, "config.yaml, field interactor", "no file 'interactor.cc'"),
        ("time: 1\n" + CASES, "config.yaml, field time", "1 is not a time such as 2s or 500ms"),
        ("memory: many\n" + CASES, "config.yaml, field memory", '"many" is not a size such as 256m'),
        ("checker: none.cc\n" + CASES, "config.yaml, field checker", "there is no file 'none.cc'"),
        ("subtasks: []\n", "config.yaml, field subtasks", "not a list of subtasks"),
        ("subtasks: [{score: 1}]\n", "config.yaml, field subtasks.0.cases", "neither n_cases nor a list"),
        (
            "subtasks: [{n_cases: 1, time: 2s}, {n_cases: 1}]\n",
            "config.yaml, field subtasks",
            "limits differ",
        ),
        ("subtasks: [{n_cases: 3}]\n", "testdata/3.in", "missing file"),
        (
            "subtasks: [{cases: [{output: 1.out}]}]\n",
            "config.yaml, field subtasks.0.cases.0.input",
            "missing",
        ),
        ("subtasks: [{cases: [{input: /, output: 1.out}]}]\n", "testdata/", "missing file"),
        ("subtasks: [{cases: [{input: ../chk.cc, output: 1.out}]}]\n", "testdata/chk.cc", "missing file"),
    ],
)
def test_what_is_refused(tmp_path: Path, config: str, place: str, words: str) -> None:
    error = read(changed(tmp_path, config)).errors[0]
    assert f"{error.where}, field {error.field}".removesuffix(", field ") == f"sum/{place}"
    assert words in str(error)


def test_files_that_are_no_case_s_are_told(tmp_path: Path) -> None:
    files = {"testdata/more.in": "", "testdata/more.ans": "", "testdata/.x": ""}
    assert read(changed(tmp_path, CASES), "powers").notes == ()
    (note,) = read(changed(tmp_path / "other", CASES, files), "powers").notes
    assert note == "powers/testdata: ignored, no test uses it: more.ans, more.in"
