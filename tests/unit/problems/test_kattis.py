"""ICPC packages: names, arbitrary headers, and excluded languages."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kattis_files import write
from package_files import read, sound, zipped
from support.properties import example_count

from ioi_eval.errors import JudgeFailure
from ioi_eval.judge.recipes import find_linked_grader_name
from ioi_eval.model.languages import find_language
from ioi_eval.problems import load_problems
from ioi_eval.problems.kattis.package import Kattis
from ioi_eval.rules.languages import list_allowed_languages


@pytest.mark.parametrize(("top", "expected"), [("", "archive"), ("inner", "inner")])
def test_kattis_zip_id_is_folder_or_file_name(tmp_path: Path, cache: Path, top: str, expected: str) -> None:
    archive = zipped(write(tmp_path / "p"), tmp_path / "archive.kpp", top=top)
    problems = load_problems(archive, cache=cache, only={expected})
    assert list(problems) == [expected]
    assert problems[expected].limits.cpu_time == 2


def test_kattis_folder_id_is_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write(tmp_path / "p"))
    assert sound(Path()).id == "p"


WORDS = ["scoring", "custom", "custom score", "min", "x", "0 20", "1e3", "-1", "3", ""]
ODD = ["[1, 2]", "{a: 1}", "2024-01-01", ".nan", "0x" + "f" * 5000, "~"]
YAML = st.sampled_from([*WORDS, *ODD])
SETTINGS = ["grading", "grader_flags", "accept_score", "reject_score", "range", "output_validator_flags"]
KEYS = ["name", "type", "validation", "validator_flags", "limits", "grading", "problem_format_version"]


@settings(max_examples=example_count(12, 40))
@given(st.dictionaries(st.sampled_from(KEYS), YAML), st.dictionaries(st.sampled_from(SETTINGS), YAML))
def test_arbitrary_header_gives_problem_or_errors(
    tmp_path_factory: pytest.TempPathFactory, header: dict[str, str], data: dict[str, str]
) -> None:
    def text(values: dict[str, str]) -> str:
        return "".join(f"{key}: {value}\n" for key, value in values.items())

    folder = write(
        tmp_path_factory.mktemp("p"), {"data/secret/testdata.yaml": text(data)}, header=text(header)
    )
    package = Kattis().read_package(folder, "x")
    assert (package.problem is None) is bool(package.errors)
    assert all(error.where for error in package.errors)


CASES_LEFT_OUT = {
    "program that is started": (
        {"include/python3/main.py": ""},
        ["pypy", "python"],
        "it would be started in",
    ),
    "call": ({"include/c/run.c": 'int main() { system("x"); }\n'}, ["c"], "calls system. It may fork"),
    "forks": (
        {"include/java/Run.java": "// {}\nvoid f() { fork(); }\n"},
        ["java"],
        "no accepted solution in java",
    ),
}


@pytest.mark.parametrize("case", CASES_LEFT_OUT)
def test_language_whose_included_file_cannot_be_used_is_left_out(tmp_path: Path, case: str) -> None:
    files, languages, message = CASES_LEFT_OUT[case]
    package = read(write(tmp_path / "p", {**files, "include/cpp/own.h": "\n"}), "p")
    problem = package.problem
    assert problem is not None, package.errors
    assert sorted(problem.left_out) == languages
    assert [file.name for file in problem.included] == ["c++/own.h"]
    assert not {language.name for language in list_allowed_languages(problem)} & {*languages}
    assert not {solution.language for solution in problem.solutions} & {*languages}
    (note,) = (note for note in package.notes if "is excluded: " in note)
    assert message in note
    with pytest.raises(
        JudgeFailure, match=f"is not judged in {languages[0]}: {next(iter(files))}"
    ) as failure:
        find_linked_grader_name(problem, find_language(languages[0]))
    assert failure.value.final
