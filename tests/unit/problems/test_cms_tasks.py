"""Packages for the contest system: what each task type, group and checker may say, and must."""

from __future__ import annotations

import json
from typing import Any

import pytest
from package_files import NO_CHECKER, Write, only_error, read, sound

from ioi_eval.models import CheckerKind

pytestmark = pytest.mark.once

MANAGED: dict[str, str | None] = {
    **NO_CHECKER,
    "graders/manager.cpp": "int main() {}",
    "tests/1-01.out": None,
}
STUB = {**MANAGED, "graders/stub.cpp": "int main() {}"}


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"task_type_parameters_Communication_num_processes": 2}, (True, 2, "std_io", ())),
        ([2, "stub", "fifo_io"], (True, 2, "fifo_io", ())),
        ({"task_type_parameters_Communication_compilation": "alone"}, (False, 1, "std_io", ())),
        ({"manager_args": "--mode 'a b'"}, (True, 1, "std_io", ("--mode", "a b"))),
        ({"manager_args": ["x", "y z"], "user_io": "fifo_io"}, (True, 1, "fifo_io", ("x", "y z"))),
    ],
)
def test_communication(write_package: Write, params: Any, expected: tuple[Any, ...]) -> None:
    problem = sound(write_package(files=STUB, task_type="Communication", task_type_params=params))
    options = problem.options
    got = (options.with_grader, options.processes, options.user_io, options.manager_args)
    assert got == expected
    assert problem.manager is not None
    assert (problem.manager.kind, problem.manager.language) == (CheckerKind.CMS, "c++")
    names = [file.name for file in problem.manager.sources]
    assert names[0] == "graders/manager.cpp"
    assert sorted(names) == [file.name for file in problem.grader_files]
    assert not problem.checker.sources


@pytest.mark.parametrize(
    ("stub", "params", "expected"),
    [
        ("graders/stub.cpp", {}, "fifo_io"),
        ("graders/stub.py", {}, "fifo_io"),
        ("graders/stub.cpp", {"user_io": "std_io"}, "std_io"),
        ("graders/stub.cpp", {"compilation": "alone"}, "std_io"),
    ],
)
def test_a_stub_that_opens_its_arguments(
    write_package: Write, stub: str, params: dict[str, str], expected: str
) -> None:
    """On standard streams it has at most one, and would end at once."""
    text = "import sum, sys\nopen(sys.argv[2])\n" if stub.endswith("py") else "fopen(argv[2], mode);"
    files = {"graders/manager.cpp": "int main() {}\n", stub: text}
    package = read(write_package(files=files, task_type="Communication", task_type_params=params))
    assert package.problem is not None and package.problem.options.user_io == expected
    assert ("sum/problem.json: user_io is not said" in "".join(package.notes)) is (expected == "fifo_io")


def test_communication_without_a_stub_is_compiled_alone(write_package: Write) -> None:
    assert not sound(
        write_package(files=MANAGED, task_type="Communication", task_type_params={})
    ).options.with_grader


def test_a_manager_and_a_checker(write_package: Write) -> None:
    files = {"graders/manager.cpp": "int main() {}"}
    problem = sound(write_package(files=files, task_type="Communication", task_type_params={}))
    assert problem.manager is not None
    assert problem.checker.kind is CheckerKind.CMS
    assert problem.checker.sources[0].name == "checker/checker.cpp"


def test_an_interactor(write_package: Write) -> None:
    files = {**NO_CHECKER, "graders/interactor.cpp": "int main() {}", "graders/grader.cpp": None}
    problem = sound(
        write_package(files=files, task_type="Interactive", task_type_params={"manager_args": "3"})
    )
    assert problem.manager is not None
    assert problem.manager.sources[0].name == "graders/interactor.cpp"
    assert problem.manager.kind is CheckerKind.TESTLIB
    assert (problem.options.with_grader, problem.options.manager_args) == (False, ("3",))
    other = sound(write_package("other", files, task_type="Interactive", task_type_params={}, manager="icpc"))
    assert other.manager is not None
    assert other.manager.kind is CheckerKind.ICPC


def test_the_manager_of_two_steps_is_compiled_with_the_submission(write_package: Write) -> None:
    files = {"graders/manager.cpp": "int main() {}"}
    problem = sound(write_package(files=files, task_type="TwoSteps", task_type_params='["comparator"]'))
    assert problem.manager is None
    assert problem.options.with_grader
    assert "graders/manager.cpp" in [file.name for file in problem.grader_files]


def test_a_function_and_its_name(write_package: Write) -> None:
    params = {"task_type_parameters_Function_function": "Solution.twoSum"}
    problem = sound(write_package(files=NO_CHECKER, task_type="Function", task_type_params=params))
    assert problem.options.function == "Solution.twoSum"
    assert problem.checker.kind is CheckerKind.JSON


BY_FILE = {
    "solutions/correct/files/output_1-01.txt": "3\n",
    "solutions/correct/files/2-01.out": "10\n",
    "solutions/correct/files/output_9-99.txt": "no such test",
}


def test_files_that_are_handed_in(write_package: Write) -> None:
    problem = sound(write_package(files=BY_FILE, task_type="OutputOnly", task_type_params='["comparator"]'))
    (files,) = [solution for solution in problem.solutions if solution.outputs]
    assert (files.name, files.language, files.code, files.expected) == ("files", "", "", "correct")
    assert [(file.name, file.content.read()) for file in files.outputs] == [
        ("1-01", b"3\n"),
        ("2-01", b"10\n"),
    ]
    as_batch = sound(write_package(files=BY_FILE))
    assert [solution.name for solution in as_batch.solutions] == ["best.cpp", "naive.py"]


@pytest.mark.parametrize(
    "params",
    [
        '["grader", ["", ""], "comparator", "2-01, 1-01"]',
        {"task_type_parameters_BatchAndOutput_output_only_testcases": "2-01,1-01"},
        {"output_only_testcases": ["2-01", "1-01"]},
    ],
)
def test_some_tests_by_program_and_some_by_file(write_package: Write, params: Any) -> None:
    files = {**BY_FILE, "solutions/correct/files/program.cpp": "int x;\n"}
    problem = sound(write_package(files=files, task_type="BatchAndOutput", task_type_params=params))
    assert problem.options.output_tests == ("2-01", "1-01")
    assert problem.options.with_grader
    (both,) = [solution for solution in problem.solutions if solution.outputs]
    assert (both.language, both.code, len(both.outputs)) == ("c++", "int x;\n", 2)


def test_a_test_by_file_that_is_not_there(write_package: Write) -> None:
    params = {"output_only_testcases": "1-1"}
    error = only_error(write_package(task_type="BatchAndOutput", task_type_params=params))
    assert error.field == "task_type_params.output_only_testcases"
    assert "Did you mean '1-01'" in error.remedy


# --- groups and checkers of our own keys -------------------------------------------------------------


def subtask_files(*testcases: Any) -> dict[str, str | None]:
    rows = [json.dumps({"score": 50, "testcases": names}) for names in testcases]
    return {"subtasks/01-small.json": rows[0], "subtasks/02-all.json": rows[1]}


@pytest.mark.parametrize(
    ("testcases", "expected"),
    [
        ((".*-01", ["2-01"]), [("1-01", "2-01"), ("2-01",)]),
        (("1", "2-0"), [("1-01",), ("2-01",)]),
        ((1, 1), [("1-01",), ("2-01",)]),
    ],
)
def test_groups_by_list_pattern_and_count(
    write_package: Write, testcases: tuple[Any, Any], expected: list[tuple[str, ...]]
) -> None:
    problem = sound(write_package(files=subtask_files(*testcases)))
    assert [subtask.tests for subtask in problem.subtasks] == expected


def test_an_order_of_counting_that_is_not_that_of_numbers(write_package: Write) -> None:
    more = {f"tests/{name}.{kind}": "" for name in ("1-2", "1-10") for kind in ("in", "out")}
    package = read(write_package(files={**subtask_files(2, 2), **more}))
    order = "they are counted by name: 1-10 is before 1-2. Fill numbers up with 0 to count by number"
    assert package.notes == (f"sum/tests: {order}",)
    lists = read(write_package(files={**subtask_files(["1-10"], ".*"), **more}))
    assert lists.notes == ()


@pytest.mark.parametrize(
    ("testcases", "words"),
    [
        (("3", ["2-01"]), "no test's name matches"),
        (("(", ["2-01"]), "not a regular expression"),
        ((1, ["2-01"]), "not a count from 1, as others are"),
        ((0, 1), "not a count from 1"),
        ((1, 2), "groups count 3 tests, but there are 2"),
        ((True, ["2-01"]), "not a list of texts"),
    ],
)
def test_groups_that_are_none(write_package: Write, testcases: tuple[Any, Any], words: str) -> None:
    assert words in str(only_error(write_package(files=subtask_files(*testcases))))


NO_FILES = {"subtasks/01-small.json": None, "subtasks/02-all.json": None}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"score_type_parameters": [[30, "1"], [70, ".*"]]}, [(30, ("1-01",), 1), (70, ("1-01", "2-01"), 1)]),
        ({"score_type_parameters": "[[30, 1], [70, 1]]"}, [(30, ("1-01",), 1), (70, ("2-01",), 1)]),
        (
            {"score_type_parameters": [[0, "1", "Samples"], [70, "2"]]},
            [(0, ("1-01",), 1), (70, ("2-01",), 1)],
        ),
        (
            {"score_type": "GroupThreshold", "score_type_parameters": [[100, ["2-01"], 0.25]]},
            [(100, ("2-01",), 0.25)],
        ),
        (
            {"score_type_parameters": [{"max_score": 30, "testcases": 1}, {"max_score": 70, "testcases": 1}]},
            [(30, ("1-01",), 1), (70, ("2-01",), 1)],
        ),
        (
            {
                "score_type": "GroupMul",
                "score_type_parameters": '[[30, "1"], {"max_score": 70, "testcases": "2"}]',
            },
            [(30, ("1-01",), 1), (70, ("2-01",), 1)],
        ),
        (
            {
                "score_type": "GroupThreshold",
                "score_type_parameters": [
                    {
                        "max_score": 100,
                        "testcases": ["2-01"],
                        "threshold": 0.25,
                        "always_show_testcases": True,
                        "name": None,
                    }
                ],
            },
            [(100, ("2-01",), 0.25)],
        ),
        ({"score_type": "Sum", "score_type_parameters": 5}, [(10, ("1-01", "2-01"), 1)]),
        ({"score_type": "Sum", "score_type_parameters": "5"}, [(10, ("1-01", "2-01"), 1)]),
    ],
)
def test_groups_as_parameters_of_the_score_type(
    write_package: Write, fields: dict[str, Any], expected: list[tuple[Any, ...]]
) -> None:
    problem = sound(write_package(files=NO_FILES, **fields))
    assert [(s.points, s.tests, s.threshold) for s in problem.subtasks] == expected
    assert {s.score_type for s in problem.subtasks} == {fields.get("score_type", "GroupMin")}


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ("{", "score_type_parameters"),
        ([5], "score_type_parameters"),
        ([[1, None]], "score_type_parameters.1.tests"),
        ([["x", "1"]], "score_type_parameters.1.points"),
        ([[1, "1", 0]], "score_type_parameters.1.threshold"),
        ({"max_score": 1, "testcases": "1"}, "score_type_parameters"),
        ([{"max_score": 1}], "score_type_parameters.1.testcases"),
        ([{"testcases": "1"}], "score_type_parameters.1.max_score"),
        (
            [[1, "1"], {"max_score": 1, "testcases": "1", "depends_on": [1]}],
            "score_type_parameters.2.depends_on",
        ),
        ([{"max_score": 1, "testcases": "1", "treshold": 0.5}], "score_type_parameters.1.treshold"),
    ],
)
def test_parameters_that_are_none(write_package: Write, parameters: Any, field: str) -> None:
    assert only_error(write_package(files=NO_FILES, score_type_parameters=parameters)).field == field


def test_groups_in_both_places_are_one_too_many(write_package: Write) -> None:
    assert "in files as well" in str(only_error(write_package(score_type_parameters=[[1, "1"]])))


def test_a_checker_with_all_that_can_be_said(write_package: Write) -> None:
    tokens = {
        "kind": "tokens",
        "case_sensitive": False,
        "space_sensitive": True,
        "absolute": 1e-6,
        "relative": 0,
    }
    checker = sound(write_package(files=NO_CHECKER, checker=tokens)).checker
    assert (checker.kind, checker.case_sensitive, checker.space_sensitive) == (
        CheckerKind.TOKENS,
        False,
        True,
    )
    assert (checker.absolute, checker.relative) == (1e-6, 0)
    icpc = sound(write_package("i", checker={"kind": "icpc", "full": 100, "arguments": ["x", "y z"]})).checker
    assert (icpc.kind, icpc.full, icpc.arguments) == (CheckerKind.ICPC, 100, ("x", "y z"))
    assert icpc.sources[0].name == "checker/checker.cpp"


def test_a_checker_in_another_language(write_package: Write) -> None:
    files = {**NO_CHECKER, "checker/checker.py": "print(1)", "checker/helper.py": ""}
    checker = sound(write_package(files=files, checker="codeforces")).checker
    assert (checker.language, checker.sources[0].name) == ("python", "checker/checker.py")


@pytest.mark.parametrize(
    ("checker", "field"),
    [
        ({"kind": "magic"}, "checker.kind"),
        ({"kind": "tokens", "absolute": -1}, "checker.absolute"),
        ({"kind": "tokens", "case_sensitive": "no"}, "checker.case_sensitive"),
        ({"kind": "icpc", "full": 0}, "checker.full"),
        ({"kind": "cms", "arguments": "x"}, "checker.arguments"),
    ],
)
def test_a_checker_that_is_wrong(write_package: Write, checker: Any, field: str) -> None:
    assert only_error(write_package(checker=checker)).field == field


@pytest.mark.parametrize(
    ("files", "fields", "words"),
    [
        ({}, {"task_type": "TwoSteps"}, "graders/manager.cpp: missing file"),
        ({}, {"task_type": "Interactive"}, "graders/interactor.cpp: missing file"),
        ({}, {"task_type": "Function"}, "'task_type_params.function': missing"),
        (
            {},
            {"task_type": "Function", "task_type_params": {"function": "f()"}},
            "not the name of a function",
        ),
        (
            MANAGED,
            {"task_type": "Communication", "task_type_params": [1, "stub"]},
            "graders/stub.cpp: missing",
        ),
        (MANAGED, {"task_type": "Communication", "manager": "tokens"}, "not how a manager speaks"),
        (MANAGED, {"task_type": "Interactive", "manager": "cms"}, "cms is not how a manager speaks"),
        (MANAGED, {"task_type": "Communication", "task_type_params": [1, "grader"]}, "one of alone, stub"),
        (MANAGED, {"task_type": "Communication", "task_type_params": [0]}, "from 1 to 100"),
        (
            MANAGED,
            {"task_type": "Communication", "task_type_params": {"manager_args": "'"}},
            "Close the quotes",
        ),
    ],
)
def test_what_a_task_type_lacks(
    write_package: Write, files: dict[str, str | None], fields: dict[str, Any], words: str
) -> None:
    quiet = subtask_files(["2-01"], ["2-01"])
    fields = {"task_type_params": {}, **fields}
    assert words in str(only_error(write_package(files={**quiet, **files}, **fields)))


@pytest.mark.parametrize(
    ("code", "text", "fields", "words"),
    [
        ("sum", "import sum\n", {}, ""),
        ("Sum", "from sum import solve\n", {}, ""),
        ("sum.v2", "import solve\n", {"submission_format": ["solve.%l"]}, ""),
        (
            "sum",
            "import solve\n",
            {},
            "does not import submissions, which are called sum.py. Import sum, or call",
        ),
        ("Sum", "import Sum\n", {}, "which are called sum.py. Import sum"),
        (
            "sum.v2",
            "import sum\n",
            {},
            "cannot import submissions, which are called sum.v2.py. Call them other",
        ),
        ("my-sum", "import_module('my-sum')\n", {}, ""),
        ("my-sum", "import sum\n", {}, "does not import submissions, which are called my-sum.py"),
        ("queue", "import queue\n", {}, '"submission_format": ["NAME.%l"]'),
    ],
)
def test_a_grader_in_python_imports_submissions(
    write_package: Write, code: str, text: str, fields: dict[str, Any], words: str
) -> None:
    folder = write_package(files={"graders/grader.py": text}, code=code, **fields)
    if words:
        assert "graders/grader.py" not in {file.name for file in sound(folder).grader_files}
        assert any(
            "so that Python is not judged" in note and words in note for note in read(folder, "sum").notes
        )
        (folder / "graders/grader.cpp").unlink()
        error = only_error(folder)
        assert (error.where, words in str(error)) == ("sum/graders/grader.py", True)
    else:
        assert sound(folder).options.with_grader


def test_a_grader_in_python_that_no_submission_meets(write_package: Write) -> None:
    alone = {"task_type_params": {"compilation": "alone"}}
    assert not sound(write_package(files={"graders/grader.py": "1\n"}, **alone)).options.with_grader
