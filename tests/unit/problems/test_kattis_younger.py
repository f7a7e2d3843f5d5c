"""The ICPC's format in its younger versions: 2023-07-draft and 2025-09."""

from __future__ import annotations

from pathlib import Path

import pytest
from kattis_files import FILES, write
from package_files import only_error, read, sound

from ioi_eval.models import CheckerKind, TaskType

pytestmark = pytest.mark.once

HEADER = """problem_format_version: 2025-09
name: {en: Doubling, sv: Dubbling}
uuid: 00000000-0000-4000-8000-000000000001
limits: {time_limit: 3, memory: 256}
"""
VALIDATOR = {"output_validator/validate.cpp": "int main() {}\n", "output_validator/more.h": "\n"}


@pytest.mark.parametrize("version", ["2023-07-draft", "2025-09"])
def test_comparing_with_arguments(tmp_path: Path, version: str) -> None:
    settings = {
        f"data/{part}/test_group.yaml": "output_validator_args: [float_tolerance, '1e-6']\n"
        for part in ("sample", "secret")
    }
    problem = sound(write(tmp_path / "p", settings, header=HEADER.replace("2025-09", version)))
    assert (problem.name, problem.limits.cpu_time, problem.task_type) == ("Doubling", 3, TaskType.BATCH)
    assert (problem.checker.kind, problem.checker.absolute) == (CheckerKind.TOKENS, 1e-6)
    assert len(problem.tests) == 3
    assert [solution.expected for solution in problem.solutions] == ["accepted", "wrong_answer"]


def test_arguments_of_groups_and_of_single_tests(tmp_path: Path) -> None:
    settings = {
        "data/secret/test_group.yaml": "output_validator_args: [case_sensitive]\n",
        "data/secret/02-big.yaml": "output_validator_args: [float_tolerance, '0.1']\nhint: near\n",
    }
    problem = sound(write(tmp_path / "p", settings, header=HEADER))
    assert {test.name: test.arguments for test in problem.tests} == {
        "sample/1": (),
        "secret/01-small": ("case_sensitive",),
        "secret/02-big": ("float_tolerance", "0.1"),
    }
    assert (problem.checker.case_sensitive, problem.checker.absolute) == (False, None)


def test_a_folder_is_the_validator(tmp_path: Path) -> None:
    problem = sound(write(tmp_path / "p", VALIDATOR, header=HEADER))
    assert problem.checker.kind is CheckerKind.ICPC
    names = [source.name for source in problem.checker.sources]
    assert names == ["output_validator/validate.cpp", "output_validator/more.h"]


def test_the_type_says_what_is_interactive(tmp_path: Path) -> None:
    header = HEADER + "type: [pass-fail, interactive]\n"
    problem = sound(write(tmp_path / "p", VALIDATOR, header=header))
    assert problem.task_type is TaskType.INTERACTIVE
    assert problem.manager is not None
    assert only_error(write(tmp_path / "q", header=header)).where == "sum/output_validator"


@pytest.mark.parametrize(
    ("files", "header", "file", "field", "words"),
    [
        ({}, "type: scoring\n", "problem.yaml", "type", '"scoring" problems of this version are not judged'),
        (
            {},
            "type: [submit-answer]\n",
            "problem.yaml",
            "type",
            "Expected pass-fail, interactive or multi-pass",
        ),
        (
            {},
            "type: [interactive, multi-pass]\n",
            "problem.yaml",
            "type",
            "with several passes are not judged",
        ),
        ({".timelimit": None}, "limits: {memory: 9}\n", "problem.yaml", "limits.time_limit", "Add it"),
        (
            {"data/secret/test_group.yaml": "args: [x]\n"},
            "",
            "data/secret/test_group.yaml",
            "args",
            "no arguments",
        ),
        ({"data/secret/02-big.yaml": "args: [x]\n"}, "", "data/secret/02-big.yaml", "args", "no arguments"),
        ({"data/secret/02-big.files/a": ""}, "", "data/secret/02-big.files", "", "no files here"),
        (
            {"data/secret/test_group.yaml": "output_validator_args: x\n"},
            "",
            None,
            "output_validator_args",
            "list",
        ),
    ],
)
def test_what_is_not_judged_is_refused_in_one_line(
    tmp_path: Path, files: dict[str, str | None], header: str, file: str | None, field: str, words: str
) -> None:
    package = read(write(tmp_path / "p", {**FILES, **files}, header=HEADER + header))
    error = package.errors[0]
    assert (error.where, error.field) == (f"sum/{file or 'data/secret/test_group.yaml'}", field)
    assert words in str(error)
