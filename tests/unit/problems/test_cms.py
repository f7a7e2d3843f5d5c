"""A package's folder becomes a problem, and each thing that is wrong with it a sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from package_files import NO_CHECKER, Write, only_error, read, sound
from support.datasets import Package

from ioi_eval.models import CheckerKind, ScoreType, TaskType
from ioi_eval.problems.cms import Cms

pytestmark = pytest.mark.once


def test_every_field_of_a_package_arrives(write_package: Write) -> None:
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


def test_our_own_keys(write_package: Write) -> None:
    own = {"checker": "testlib", "year": 2023, "score_type": "GroupThreshold", "threshold": 0.5}
    second = '{"score": 60, "testcases": ["1-01"], "score_type": "Sum"}'
    problem = sound(write_package(files={"subtasks/02-all.json": second}, **own))
    assert problem.checker.kind is CheckerKind.TESTLIB
    assert (problem.year, problem.cpp_standard) == (2023, "gnu++17")
    assert [(s.score_type, s.threshold) for s in problem.subtasks] == [
        (ScoreType.GROUP_THRESHOLD, 0.5),
        (ScoreType.SUM, 0.5),
    ]
    assert sound(write_package(cpp_standard="c++23")).cpp_standard == "c++23"


@pytest.mark.parametrize(
    ("files", "fields", "kind"),
    [
        (NO_CHECKER, {}, CheckerKind.WHITE_DIFF),
        (NO_CHECKER, {"checker": "stripped"}, CheckerKind.STRIPPED),
        ({}, {"checker": "white-diff"}, CheckerKind.WHITE_DIFF),
        ({}, {"task_type_params": '["grader", ["", ""], "diff"]'}, CheckerKind.WHITE_DIFF),
        ({}, {"task_type_params": '["grader", ["", ""], "comparator"]'}, CheckerKind.CMS),
    ],
)
def test_which_checker_is_used(
    write_package: Write, files: dict[str, None], fields: dict[str, Any], kind: CheckerKind
) -> None:
    checker = sound(write_package(files=files, **fields)).checker
    assert checker.kind is kind
    assert bool(checker.sources) is (kind is CheckerKind.CMS)


@pytest.mark.parametrize(
    "params",
    [
        '{"task_type_parameters_Batch_compilation": "alone",'
        ' "task_type_parameters_Batch_io_0_inputfile": "in.txt",'
        ' "task_type_parameters_Batch_io_1_outputfile": "out.txt"}',
        {
            "task_type_parameters_Batch_compilation": "alone",
            "task_type_parameters_Batch_input_filename": "in.txt",
            "task_type_parameters_Batch_output_filename": "out.txt",
        },
        '{"compilation": "alone", "inputfile": "in.txt", "outputfile": "out.txt"}',
        '["alone", ["in.txt", "out.txt"], "diff"]',
        ["alone", ["in.txt", "out.txt"], "diff"],
    ],
)
def test_batch_parameters_in_every_dress(write_package: Write, params: Any) -> None:
    options = sound(write_package(task_type_params=params)).options
    assert (options.with_grader, options.input_file, options.output_file) == (False, "in.txt", "out.txt")


@pytest.mark.parametrize("params", [None, "", "{}", []])
def test_without_parameters_a_grader_that_is_there_is_used(write_package: Write, params: Any) -> None:
    assert sound(write_package(task_type_params=params)).options.with_grader
    without = write_package("other", {"graders/grader.cpp": None}, task_type_params=params)
    assert not sound(without).options.with_grader


def test_output_only_needs_no_limits(write_package: Write) -> None:
    limits = sound(write_package(task_type="OutputOnly", time_limit=None, memory_limit=None)).limits
    assert (limits.cpu_time, limits.memory) == (None, None)


def test_a_null_memory_limit_is_no_limit(write_package: Write) -> None:
    assert sound(write_package(memory_limit=None)).limits.memory is None


def test_no_subtasks_is_a_problem_whose_tests_all_count(write_package: Write) -> None:
    absent = {"subtasks/01-small.json": None, "subtasks/02-all.json": None}
    folder = write_package(files=absent)
    assert sound(folder).subtasks == ()
    note = "sum/problem.json: no subtasks: nothing is worth points, and a submission is to pass all tests"
    assert read(folder, "sum").notes == (note,)
    assert read(write_package(), "sum").notes == ()


def test_a_checker_may_do_without_expected_outputs(write_package: Write) -> None:
    assert sound(write_package(files={"tests/1-01.out": None})).tests[0].answer is None


def test_keys_that_systems_write_beside_ours(write_package: Write) -> None:
    others = {"score_mode": "max", "feedback_level": "full", "protocol_version": 1, "managers": []}
    assert sound(write_package(**others, memory_limit_mb=256)).limits.memory == 256 << 20


def test_parameters_by_the_contest_system_s_own_name(write_package: Write) -> None:
    params = {"task_type_parameters": ["alone", ["a.in", "a.out"], "diff"]}
    problem = sound(write_package(drop="task_type_params", **params))
    assert (problem.options.input_file, problem.options.output_file) == ("a.in", "a.out")
    assert problem.checker.kind is CheckerKind.WHITE_DIFF


def test_answers_of_another_name_are_not_none(write_package: Write) -> None:
    """The checker would have got an empty answer."""
    error = only_error(write_package(files={"tests/1-01.out": None, "tests/1-01.ans": "3"}))
    assert str(error).endswith("1 tests have no NAME.out, and files that look like answers. Call it 1-01.out")
    assert error.where == "sum/tests/1-01.ans"


def test_solutions_in_a_foreign_language_are_told(write_package: Write) -> None:
    package = read(write_package(files={"solutions/correct/best.rb": "puts 1"}))
    assert package.notes == ("sum/solutions/correct/best.rb: left out: not in a known language",)


def test_files_that_are_no_tests_are_told(write_package: Write) -> None:
    package = read(write_package(files={"tests/3-01.IN": "1", "tests/1-01.txt": "easy", "tests/mapping": ""}))
    assert package.notes == ("sum/tests: passed over, as neither NAME.in nor NAME.out: 1-01.txt, 3-01.IN",)


def test_hidden_and_foreign_files_are_passed_over(write_package: Write) -> None:
    foreign = {
        "graders/.swp": "x",
        "tests/.x.in": "x",
        "tests/mapping": "small 1-01",
        "subtasks/notes.txt": "x",
    }
    problem = sound(write_package(files=foreign))
    assert len(problem.grader_files) == 2
    assert len(problem.tests) == 2


def test_an_old_encoding_in_a_solution_is_no_obstacle(write_package: Write) -> None:
    folder = write_package(files={"solutions/correct/best.cpp": b"// caf\xe9\nint x;\n"})
    assert sound(folder).solutions[0].code == "// café\nint x;\n"


def test_a_byte_order_mark_is_no_obstacle(write_package: Write) -> None:
    folder = write_package(files={"subtasks/02-all.json": b'\xef\xbb\xbf{"score": 1, "testcases": ["1-01"]}'})
    assert sound(folder).subtasks[1].points == 1


# --- what is wrong -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"drop": "code"}, "code", "missing"),
        ({"code": 7}, "code", "7 is not a text"),
        ({"code": "../x"}, "code", "not an id"),
        ({"drop": "time_limit"}, "time_limit", "missing"),
        ({"time_limit": -1}, "time_limit", "-1 is not a number above 0"),
        ({"time_limit": 0}, "time_limit", "above 0"),
        ({"time_limit": True}, "time_limit", "true is not a number"),
        ({"time_limit": 500}, "time_limit", "500 seconds is more than any contest gives"),
        ({"time_limit": 2000, "memory_limit": None}, "time_limit", "seconds, not milliseconds"),
        ({"time_limit": "1"}, "time_limit", '"1" is not a number'),
        ({"time_limit": None}, "time_limit", "null is not a number"),
        ({"drop": "memory_limit"}, "memory_limit", "missing"),
        ({"memory_limit": -5}, "memory_limit", "-5 is not a whole number"),
        ({"memory_limit": 1.5}, "memory_limit", "whole number"),
        ({"memory_limit": 256}, "memory_limit", "bytes, not MB"),
        ({"score_precision": -1}, "score_precision", "from 0 to 9"),
        ({"submission_format": "../u.%l, b.%l"}, "submission_format", "'../u.%l' is no name of a source"),
        ({"submission_format": 7}, "submission_format", "text"),
        ({"task_type": "Quiz"}, "task_type", "one of Batch, Communication"),
        ({"task_type_params": "{"}, "task_type_params", "broken JSON"),
        ({"task_type_params": 5}, "task_type_params", "neither an object nor a list"),
        ({"task_type_params": ["stub"]}, "task_type_params.compilation", "one of alone, grader"),
        (
            {"task_type_params": ["alone", ["/etc/x", ""]]},
            "task_type_params.inputfile",
            "not a plain file name",
        ),
        ({"task_type_params": ["alone", 5]}, "task_type_params.inputfile", "5 is not a text"),
        (
            {"task_type_params": {"output_eval": "realprecision"}},
            "task_type_params.output_eval",
            "one of diff",
        ),
        ({"checker": "magic"}, "checker", "one of white-diff"),
        (
            {"checker": {"kind": "tokens", "tolerance": 1}},
            "checker.tolerance",
            "no such key. There are: kind",
        ),
        ({"task_type_params": {"infile": "a"}}, "task_type_params.infile", "Did you mean 'inputfile'"),
        ({"score_type_params": [[1, ".*"]]}, "score_type_params", "Did you mean 'score_type_parameters'"),
        ({"year": "soon"}, "year", "whole number"),
        ({"cpp_standard": "latest"}, "cpp_standard", "gnu++17"),
        ({"score_type": "Median"}, "score_type", "one of Sum"),
        ({"threshold": 0}, "threshold", "above 0"),
    ],
)
def test_a_wrong_field_is_named(write_package: Write, fields: dict[str, Any], field: str, words: str) -> None:
    error = only_error(write_package(**fields))
    assert (error.where, error.field) == ("sum/problem.json", field)
    assert words in str(error)
    assert error.remedy


@pytest.mark.parametrize(
    ("files", "fields", "where", "words"),
    [
        ({"problem.json": None}, {}, "sum/problem.json", "missing file"),
        ({"problem.json": "[]"}, {}, "sum/problem.json", "not a JSON object"),
        (
            {"problem.json": '{"code": "a", "code": "b"}'},
            {},
            "sum/problem.json",
            'JSON: the key "code" is there twice',
        ),
        ({"problem.json": "[" * 100_000}, {}, "sum/problem.json", "broken JSON"),
        ({"tests/1-01.in": None}, {}, "sum/tests/1-01.in", "missing file"),
        ({**NO_CHECKER, "tests/1-01.out": None}, {}, "sum/tests/1-01.out", "missing file"),
        ({"tests/a\nb.in": "", "tests/a\nb.out": ""}, {}, "sum/tests/'a\\nb'", "cannot be printed"),
        ({"graders/grader.cpp": None}, {}, "sum/graders/grader.cpp", "set the compilation to alone"),
        ({}, {"task_type": "Communication"}, "sum/graders/manager.cpp", "missing file"),
        ({"checker/checker.cpp": None}, {}, "sum/problem.json", "checker/checker.cpp"),
        (NO_CHECKER, {"checker": "cms"}, "sum/problem.json", "checker/checker.cpp"),
        (
            NO_CHECKER,
            {"task_type_params": '["grader", ["", ""], "comparator"]'},
            "sum/problem.json",
            "checker.cpp",
        ),
    ],
)
def test_a_missing_file_is_named(
    write_package: Write, files: dict[str, str | None], fields: dict[str, Any], where: str, words: str
) -> None:
    # The subtasks name only a test that stays sound, so that there is one fault.
    subtask = '{"score": 1, "testcases": ["2-01"]}'
    quiet = {"subtasks/01-small.json": subtask, "subtasks/02-all.json": subtask}
    error = only_error(write_package(files={**quiet, **files}, **fields))
    assert error.where == where
    assert words in str(error)
    assert error.remedy


@pytest.mark.parametrize(
    ("subtask", "field", "words"),
    [
        ('{"score": 1, "testcases": ["1-1"]}', "testcases", "names the test '1-1', which is not in tests/"),
        ('{"score": 1, "testcases": ["1-01", "1-01"]}', "testcases", "more than once"),
        ('{"score": 1, "testcases": []}', "testcases", "no tests"),
        ('{"score": 1, "testcases": null}', "testcases", "missing"),
        ('{"score": 1, "testcases": "1-01("}', "testcases", "not a regular expression"),
        ('{"score": 1, "testcases": [1]}', "testcases", "not a list of texts"),
        ('{"score": 1}', "testcases", "missing"),
        ('{"testcases": ["1-01"]}', "score", "missing"),
        ('{"score": -3, "testcases": ["1-01"]}', "score", "at least 0"),
        ('{"score": 1e999, "testcases": ["1-01"]}', "score", "at least 0"),
    ],
)
def test_a_wrong_subtask_is_named(write_package: Write, subtask: str, field: str, words: str) -> None:
    error = only_error(write_package(files={"subtasks/01-small.json": subtask}))
    assert (error.where, error.field) == ("sum/subtasks/01-small.json", field)
    assert words in str(error)


def test_a_test_that_is_almost_there_is_suggested(write_package: Write) -> None:
    folder = write_package(files={"subtasks/01-small.json": '{"score": 1, "testcases": ["1-1"]}'})
    assert "Did you mean '1-01'" in only_error(folder).remedy


@pytest.mark.parametrize("text", ['{\n "code": "sum",\n "name" 5}', '{\n\n"time_limit": ]'])
def test_broken_json_is_named_with_its_line(write_package: Write, text: str) -> None:
    error = only_error(write_package(files={"problem.json": text}))
    assert error.row == 3
    assert "sum/problem.json, line 3: broken JSON" in str(error)


def test_not_a_number_is_not_json(write_package: Write) -> None:
    error = only_error(
        write_package(files={"subtasks/01-small.json": '{"score": NaN, "testcases": ["1-01"]}'})
    )
    assert "NaN is not a JSON number" in str(error)


def test_bytes_that_are_not_utf8_are_named_with_their_line(write_package: Write) -> None:
    error = only_error(write_package(files={"subtasks/01-small.json": b'{\n"score": "\xff"}'}))
    assert (error.row, error.problem) == (2, "not UTF-8")


def test_all_faults_are_collected(write_package: Write) -> None:
    files = {"tests/1-01.in": None, "subtasks/02-all.json": "{"}
    package: Package = Cms().read_package(write_package(files=files, time_limit=-1, task_type="Quiz"), "sum")
    places = {(error.where, error.field) for error in package.errors}
    assert places == {
        ("sum/problem.json", "task_type"),
        ("sum/problem.json", "time_limit"),
        ("sum/tests/1-01.in", ""),
        ("sum/subtasks/01-small.json", "testcases"),
        ("sum/subtasks/02-all.json", ""),
    }


def test_an_unreadable_header_has_no_id(write_package: Write) -> None:
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
def test_any_header_is_a_problem_or_faults(tmp_path_factory: pytest.TempPathFactory, header: Any) -> None:
    folder = tmp_path_factory.mktemp("package")
    (folder / "problem.json").write_text(json.dumps(header))
    package = Cms().read_package(folder, "x")
    assert (package.problem is None) is bool(package.errors)
    assert all(error.where for error in package.errors)


@pytest.mark.parametrize(
    ("name", "where", "words"),
    [
        ("subtasks/03-more.JSON", "subtasks/03-more.JSON", "Write it as 03-more.json"),
        ("subtasks/03-more.yaml", "subtasks/03-more.yaml", "Write it as 03-more.json"),
        ("Checker/checker.cpp", "Checker", "Call it checker"),
    ],
)
def test_names_by_which_parts_would_be_lost(write_package: Write, name: str, where: str, words: str) -> None:
    """Points would be missing, or outputs compared in another way."""
    error = only_error(write_package(files={**NO_CHECKER, name: "{}", "subtasks/readme.txt": "as announced"}))
    assert error.where == f"sum/{where}"
    assert words in str(error)
