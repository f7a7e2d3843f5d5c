"""JSON tests in the formats of APPS and LiveCodeBench."""

from __future__ import annotations

import base64
import contextlib
import json
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioi_eval.models import Blob, Checker, CheckerKind, Problem, TaskType
from ioi_eval.rules.json_tests import (
    Case,
    Cases,
    CasesError,
    decompress_base64,
    read_call,
    read_cases,
    with_cases,
)


def written(inputs: Any, outputs: Any, **more: Any) -> str:
    return json.dumps({"inputs": inputs, "outputs": outputs, **more})


def test_program_cases_accept_strings_or_lists_of_lines() -> None:
    cases = read_cases(written(["3\n", ["1 2", "3"], 7], [["6", ""], "x\n", -1.5], fn_name=None))
    assert cases.cases == (Case("3\n", "6\n"), Case("1 2\n3", "x\n"), Case("7", "-1.5"))
    assert (cases.function, cases.wrapped) == ("", False)


def test_function_cases_have_arguments_and_results() -> None:
    cases = read_cases(written([[[1, 2], "a"], [[], ""]], [3, [4]], fn_name=" f "))
    assert cases.cases == (Case('[[1, 2], "a"]', "3"), Case('[[], ""]', "[4]"))
    assert (cases.function, cases.wrapped) == ("f", False)


@pytest.mark.parametrize(
    ("test_input", "answer", "case"),
    [
        ("1\n2", "3", Case("[1, 2]", "3")),
        ('[1, 2]\n\n"a b"\n', "[[3]]", Case('[[1, 2], "a b"]', "[[3]]")),
        ("1\n2", 3, Case("[1, 2]", "3")),
        ('"a"', '"b"', Case('["a"]', '"b"')),
        ("", "0", Case("[]", "0")),
        ([1, 2], "3", Case("[1,2]", '"3"')),
        (5, "3", Case("[5]", '"3"')),
        (None, None, Case("[null]", "null")),
        ({"a": [1]}, [True], Case('[{"a":[1]}]', "[true]")),
    ],
)
def test_function_arguments_are_read_from_list_lines_or_single_value(
    test_input: Any, answer: Any, case: Case
) -> None:
    """A string result is JSON if the arguments are lines, and otherwise a string."""
    compact = json.dumps({"inputs": [test_input], "outputs": [answer], "fn_name": "f"}, separators=(",", ":"))
    for form in (compact, json.loads(compact)):
        assert read_cases(form).cases == (case,)


@pytest.mark.parametrize("outputs", [["[3]", "[[4, 5]]"], [[3], [[4, 5]]], [["x"], [None]]])
def test_function_results_in_strings_may_be_wrapped_in_lists(outputs: list[Any]) -> None:
    assert read_cases(written(["1", "2"], outputs, fn_name="f")).wrapped is True


@pytest.mark.parametrize(
    ("outputs", "wrapped"),
    [([[1], [[2, 3]]], True), ([[1], []], False), ([[1], 2], False), ([[1, 2]], False)],
)
def test_results_are_wrapped_only_if_each_is_single_element_list(outputs: list[Any], wrapped: bool) -> None:
    assert read_cases(written([[0]] * len(outputs), outputs, fn_name="f")).wrapped is wrapped


def test_numbers_in_json_tests_keep_their_digits() -> None:
    huge = "1" * 6000
    cases = read_cases(f'{{"inputs": [[{huge}]], "outputs": [1.50], "fn_name": "f"}}')
    assert cases.cases == (Case(f"[{huge}]", "1.50"),)


def test_tests_with_null_function_name_are_read() -> None:
    assert read_cases({"inputs": ["1"], "outputs": ["2"], "fn_name": None}).cases == (Case("1", "2"),)


def packed(content: str) -> str:
    return base64.b64encode(zlib.compress(content.encode())).decode()


def test_compressed_tests_are_unpacked() -> None:
    tests = packed(written(["1\n2"], ["3"]))
    assert read_cases({"packed": tests, "fn_name": "f"}).cases == (Case("[1, 2]", "3"),)
    assert read_cases(json.dumps({"packed": tests})).cases == (Case("1\n2", "3"),)


@pytest.mark.parametrize(
    ("tests", "reason"),
    [
        ("?", "not valid base64"),
        (base64.b64encode(b"no zlib").decode(), "not valid zlib data"),
        (base64.b64encode(zlib.compress(b"[]")[:-4]).decode(), "cut off"),
        (packed(written(["1"], ["2", "3"])), "the tests have 1 input but 2 outputs"),
    ],
)
def test_malformed_compressed_tests_raise_cases_error(tests: str, reason: str) -> None:
    with pytest.raises(CasesError, match=reason):
        read_cases({"packed": tests})


def test_compressed_tests_over_size_limit_raise_cases_error() -> None:
    with pytest.raises(CasesError, match="larger than 1 MiB"):
        decompress_base64(packed(" " * (2 << 20)), 1 << 20)


@pytest.mark.parametrize("nothing", [None, "", " \n", "null", "{}", written([], []), '{"inputs": null}', {}])
def test_empty_tests_raise_no_test_cases_provided(nothing: Any) -> None:
    with pytest.raises(CasesError, match=r"^No test cases provided$"):
        read_cases(nothing)


@pytest.mark.parametrize(
    ("encoded", "reason"),
    [
        ('{"inputs": ["1"', "truncated"),
        ("[]", "Expected `object | null`, got `array`"),
        (written(["1"], []), "the tests have 1 input but 0 outputs"),
        (written(["1"], "2"), "Expected `array | null`, got `str`"),
        (written([None], ["1"]), "null is not a string"),
        (written(["1"], [{"a": 1}]), "is not a string"),
        (written([[["1"]]], ["1"]), r'\["1"\] is not a string'),
        (written(["abc"], [1], fn_name="f"), "'abc' is not a JSON value"),
        (written(["1\nx y"], ["1"], fn_name="f"), "'x y' is not a JSON value"),
        (written(["1 2"], ["1"], fn_name="f"), "'1 2' is not a JSON value"),
        (written(["1"], ["x"], fn_name="f"), "'x' is not a JSON value"),
        (written([[1]], [1], fn_name=5), "fn_name"),
        (written([[1]], [float("nan")], fn_name="f"), "malformed"),
        ('{"inputs": ["\\ud800"], "outputs": ["1"]}', "malformed"),
        ("\ud800", "surrogates not allowed"),
        ('{"inputs": ' + "[" * 5000, "nested deeper than 500"),
    ],
)
def test_unparsable_tests_raise_cases_error(encoded: str, reason: str) -> None:
    with pytest.raises(CasesError, match=f"^Could not parse test cases: .*{reason}"):
        read_cases(encoded)


@given(st.text() | st.dictionaries(st.text(), st.lists(st.integers() | st.text() | st.none())))
def test_arbitrary_tests_value_gives_cases_or_cases_error(value: Any) -> None:
    with contextlib.suppress(CasesError):
        assert isinstance(read_cases(value), Cases)


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=2),
    max_leaves=5,
)


@given(st.lists(_values, min_size=1, max_size=4), _values)
def test_call_arguments_are_read_line_by_line(arguments: list[Any], result: Any) -> None:
    case = read_call("\n".join(map(json.dumps, arguments)), json.dumps(result, indent=1))
    assert (json.loads(case.input), json.loads(case.output)) == (arguments, result)


@pytest.mark.parametrize("name", ["two words", "1f", "f()", "Solution.", ".f", "f\n", "\ud800"])
def test_invalid_function_name_raises_cases_error(name: str) -> None:
    """Otherwise every program would be wrong."""
    cases = Cases(cases=(Case("[1]", "[2]"),), function=name)
    with pytest.raises(CasesError, match="is not the name of a function"):
        with_cases(Problem(id="p"), cases, Blob.of)


def test_cases_make_problem_a_program_or_function_task() -> None:
    stripped = Problem(id="p", checker=Checker(kind=CheckerKind.STRIPPED))
    program = with_cases(stripped, Cases(cases=(Case("1", "2"),)), Blob.of)
    assert (program.task_type, program.checker.kind) == (TaskType.BATCH, "stripped")
    assert [(test.name, test.input.read(), test.answer) for test in program.tests] == [
        ("0", b"1", Blob.of("2"))
    ]
    function = with_cases(stripped, Cases(cases=(Case("[1]", "[2]"),), function="f", wrapped=True), Blob.of)
    assert (function.task_type, function.options.function) == (TaskType.FUNCTION, "f")
    assert function.checker.kind is CheckerKind.JSON_WRAPPED
