"""Read the tests of a row in any form that datasets use. Benchmarks and rewards share this reader."""

from __future__ import annotations

import ast
import json
import pickletools
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from ioi_eval.model.nesting import NestedTooDeep, require_shallow
from ioi_eval.model.values import Blob, Problem
from ioi_eval.rules.assertions import INPUTS, Asserted, read_assertions, read_evalplus_test
from ioi_eval.rules.json_tests import (
    MAX_UNPACKED_BYTES,
    NO_CASES,
    Case,
    Cases,
    CasesError,
    decode_json,
    decompress_base64,
    parse_literal,
    read_call,
    read_cases,
    unparsable_tests,
    with_cases,
)

PUBLIC_AND_PRIVATE = (
    "public_test_cases",
    "private_test_cases",
)  # names of the columns with tests in LiveCodeBench
# Keys under which an object may contain the tests. The first existing key is read.
_TEST_KEYS = ("test_cases", "tests", "input_output", "ground_truth", "verification_info", "assert_case")
# Keys under which an object may contain a test program with assertions, or a list of assertions.
_ASSERTION_KEYS = ("test_list", "assertions", "test", "test_code")
_SETUP_KEYS = ("test_setup_code", "test_imports", "setup")
_FUNCTION_KEYS = ("entry_point", "fn_name", "func_name", "function")
_INPUT_KEYS = ("input", "stdin")
_OUTPUT_KEYS = ("output", "stdout", "expected_output", "answer")
_FUNCTION_KINDS = ("functional", "function_call")  # names of the kinds of tests that call a function
_NO_FUNCTION = "the tests call a function, but its name is missing"


def with_tests(
    problem: Problem,
    tests_value: Any,
    store_text: Callable[[str], Blob],
    *,
    function: str = "",
    setup: str = "",
) -> Problem:
    """Return the problem with the tests of a row.

    Args:
        problem: A problem without tests.
        tests_value: The tests in any form that `read_tests` accepts.
        store_text: Stores a test's text and returns its blob.
        function: Name of the tested function, if the tests do not name it.
        setup: Statements that are put before assertions.

    Raises:
        CasesError: if there are no tests or they cannot be parsed.
    """
    tests = read_tests(tests_value, function, setup=setup)
    return (
        tests.add_to(problem, store_text)
        if isinstance(tests, Asserted)
        else with_cases(problem, tests, store_text)
    )


def read_tests(tests: Any, function: str = "", *, setup: str = "") -> Cases | Asserted:
    """Return the tests in any of the forms that datasets use. `with_tests` describes the parameters.

    - An object of lists (`inputs`, `outputs`, `fn_name`, or `input`, `output`); a list may be a JSON string.
    - A list of objects with `input` and `output`, or a list of pairs. The values are one of the following:
      the text that a program reads and prints, possibly as `{"stdin": text}` and `{"stdout": text}`;
      arguments in LiveCodeBench's notation (`testtype` is `functional`);
      arguments as values (`fn_name`, or `type` is `function_call`).
    - LiveCodeBench's public and private tests, packed or not.
    - Assertions in Python: a program, a list of statements, `check(candidate)`, or EvalPlus's lists of inputs
      and results.
    - Any of these as a JSON string, as a Python literal, in a list of JSON strings, or under a common key.

    Raises:
        CasesError: if there are no tests or they cannot be parsed.
    """
    if (json_lists := _read_json_lists(tests, function)) is not None:
        return read_cases(json_lists)
    decoded_tests = _decode_string(tests)
    if isinstance(decoded_tests, str):
        return _read_tests_in_program(decoded_tests, function, setup)
    if (
        isinstance(decoded_tests, list)
        and decoded_tests
        and all(isinstance(item, str) for item in decoded_tests)
    ):
        decoded_items = [_decode_string(item) for item in decoded_tests]
        if all(isinstance(item, str) for item in decoded_items):
            return _read_tests_in_program("\n".join(decoded_items), function, setup)
        decoded_tests = decoded_items
    if isinstance(decoded_tests, Mapping):
        return _read_tests_in_object(decoded_tests, function, setup)
    if not decoded_tests:
        raise CasesError(NO_CASES)
    if not isinstance(decoded_tests, Sequence) or isinstance(decoded_tests, bytes):
        raise unparsable_tests("tests must be pairs or lists of inputs and outputs")
    return _read_tests_in_list(decoded_tests, function)


def _read_tests_in_object(
    tests_object: Mapping[str, Any], function_name: str, setup_code: str
) -> Cases | Asserted:
    """Return the tests in an object: see `read_tests`."""
    metadata = _read_metadata(tests_object)
    function_name = str(
        _find_first_value(tests_object, _FUNCTION_KEYS) or metadata.get("func_name") or function_name or ""
    ).strip()
    if any(name in tests_object for name in PUBLIC_AND_PRIVATE):
        return _read_livecodebench_tests(
            [tests_object.get(name) for name in PUBLIC_AND_PRIVATE], function_name
        )
    if "inputs" in tests_object or "packed" in tests_object:
        test_lists = {name: _decode_list_in_string(tests_object.get(name)) for name in ("inputs", "outputs")}
        return read_cases({**tests_object, **test_lists, "fn_name": function_name or None})
    if "test_list" in tests_object or not any(name in tests_object for name in (*_TEST_KEYS, *_INPUT_KEYS)):
        setup_code = "\n".join(
            filter(None, [setup_code, *(_join_lines(tests_object.get(name)) for name in _SETUP_KEYS)])
        )
        if (tests := _find_first_value(tests_object, _ASSERTION_KEYS)) is not None:
            return read_tests(tests, function_name, setup=setup_code)
    if (inner_tests := _find_first_value(tests_object, _TEST_KEYS)) is not None:
        return read_tests(inner_tests, function_name, setup=setup_code)
    if isinstance(tests_object.get("input"), list) and "type" not in tests_object:
        return read_cases({"inputs": tests_object["input"], "outputs": tests_object.get("output") or []})
    if any(name in tests_object for name in _INPUT_KEYS):
        return _read_tests_in_list([tests_object], function_name)
    raise CasesError(NO_CASES)


class _LiveCodeBenchTest(msgspec.Struct):
    input: str
    output: str
    testtype: str = "stdin"


def _read_livecodebench_tests(test_columns: Sequence[Any], function_name: str) -> Cases:
    """Return LiveCodeBench's public tests, then its private tests.

    A column contains a list of tests, a JSON string of the list, or a compressed list: see `unpack_tests`.
    """
    tests = list[_LiveCodeBenchTest]()
    for column in test_columns:
        column_text = (
            column.strip()
            if isinstance(column, str)
            else msgspec.json.encode(column).decode()
            if column
            else ""
        )
        json_text = (
            column_text
            if not column_text or column_text.startswith("[") or column_text == "null"
            else unpack_tests(column_text)
        )
        tests += (decode_json(json_text, list[_LiveCodeBenchTest] | None) or []) if json_text else []
    if not tests:
        raise CasesError(NO_CASES)
    if function_name:
        return Cases(
            cases=tuple(read_call(test.input, test.output) for test in tests), function=function_name
        )
    if any(test.testtype == "functional" for test in tests):
        raise unparsable_tests(_NO_FUNCTION)
    return Cases(cases=tuple(Case(test.input, test.output) for test in tests))


def _read_tests_in_list(items: Sequence[Any], function_name: str) -> Cases:
    """Return the tests in a list of objects or pairs."""
    if not items:
        raise CasesError(NO_CASES)
    if all(isinstance(item, list | tuple) and len(item) == 2 for item in items):
        items = [{"input": inputs, "output": outputs} for inputs, outputs in items]
    if not all(isinstance(item, Mapping) for item in items):
        raise unparsable_tests("tests must be pairs or lists of inputs and outputs")
    test_kinds = {str(case.get("testtype") or case.get("type") or "") for case in items}
    function_names = {
        str(_read_metadata(case).get("func_name") or case.get("fn_name") or function_name).strip()
        for case in items
    }
    if len(test_kinds) > 1:
        raise unparsable_tests(f"the problem has tests of several kinds: {', '.join(sorted(test_kinds))}")
    if len(function_names) > 1:
        raise unparsable_tests(
            f"the problem has tests of several functions: {', '.join(sorted(function_names))}"
        )
    ([kind], [function_name]) = test_kinds, function_names
    sides_of_tests = [
        (_read_input_or_output(case, _INPUT_KEYS), _read_input_or_output(case, _OUTPUT_KEYS))
        for case in items
    ]
    if kind in _FUNCTION_KINDS and not function_name:
        raise unparsable_tests(_NO_FUNCTION)
    if kind not in ("", *_FUNCTION_KINDS):
        function_name = ""  # tests of this kind run a program and call no function
    if kind == "functional":
        if not all(isinstance(side, str) for test_sides in sides_of_tests for side in test_sides):
            raise unparsable_tests("arguments and results must be strings")
        return Cases(
            cases=tuple(read_call(*test_sides) for test_sides in sides_of_tests), function=function_name
        )
    inputs, outputs = zip(*sides_of_tests, strict=True)
    return read_cases({"inputs": list(inputs), "outputs": list(outputs), "fn_name": function_name or None})


def _read_json_lists(tests_value: Any, function_name: str) -> dict[str, Any] | None:
    """Return the lists of inputs and outputs in a JSON object, or None for other tests.

    The items are JSON strings, so that numbers are unchanged.
    """
    if not isinstance(tests_value, str) or not tests_value.lstrip().startswith("{"):
        return None
    try:
        columns: dict[str, Any] = decode_json(tests_value, dict[str, msgspec.Raw])
    except CasesError:
        return None
    list_texts = [bytes(columns[name]) for name in ("inputs", "outputs") if name in columns]
    if ("packed" not in columns and len(list_texts) < 2) or not all(
        list_text.startswith(b"[") for list_text in list_texts
    ):
        return None
    return columns if not function_name or "fn_name" in columns else {**columns, "fn_name": function_name}


def _read_tests_in_program(source: str, function_name: str, setup_code: str) -> Asserted:
    """Return the tests in a Python test program."""
    test_program = "\n".join(filter(None, [setup_code, source]))
    return (
        read_evalplus_test(test_program, function_name)
        if INPUTS.search(test_program)
        else read_assertions(test_program, function_name)
    )


def _read_input_or_output(case: Mapping[str, Any], key_names: Sequence[str]) -> Any:
    """Return a test's input or output, even from a form such as `{"stdin": text}`.

    `key_names`: the keys that the input or the output may have.
    """
    value = next((case[name] for name in key_names if name in case), None)
    return value[key_names[1]] if isinstance(value, Mapping) and value.keys() == {key_names[1]} else value


def _find_first_value(value: Mapping[str, Any], key_names: Sequence[str]) -> Any:
    """Return the value of the first key that exists and is not null."""
    return next((value[name] for name in key_names if value.get(name) is not None), None)


def _join_lines(value: Any) -> str:
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value or "")


def _read_metadata(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the object in the key `metadata`, which may be a JSON string, or {} if it is missing."""
    metadata = value.get("metadata")
    if isinstance(metadata, str):
        with suppress(CasesError):
            metadata = _decode_string(metadata)
    return metadata if isinstance(metadata, Mapping) else {}


def _decode_list_in_string(value: Any) -> Any:
    """Return the list that a string encodes. Any other value is returned unchanged."""
    decoded_value = (
        _decode_string(value) if isinstance(value, str) and value.lstrip().startswith("[") else value
    )
    return decoded_value if isinstance(decoded_value, list) else value


def _decode_string(value: Any) -> Any:
    """Return the value that a string encodes: JSON, a Python literal or packed tests.

    A Python test program is returned unchanged. Raises CasesError for other strings.
    """
    if not isinstance(value, str):
        return value
    stripped_text = value.strip()
    if not stripped_text:
        return None
    try:
        decoded_value = json.loads(require_shallow(stripped_text))
        return _decode_string(decoded_value) if isinstance(decoded_value, str) else decoded_value
    except NestedTooDeep as error:
        raise unparsable_tests(str(error)) from error
    except ValueError:
        if "assert" in stripped_text and _is_python(stripped_text):
            return stripped_text
        if (
            len(stripped_text) > _MIN_PACKED_LENGTH
            and stripped_text[0] not in "[{("
            and not any(map(str.isspace, stripped_text))
        ):
            return _decode_string(unpack_tests(stripped_text))
        return parse_literal(stripped_text)


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


# --- private tests, packed as base64 of zlib of a pickled string ---------------------------------------
# A pickle is a program, and datasets are not trusted, so pickles are never executed. Their instructions are
# only read, and anything except pushing a single string is refused.

_MIN_PACKED_LENGTH = 40  # minimum length of a packed string, in characters
_STRING_OPERATIONS = frozenset({"UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"})
_HARMLESS_OPERATIONS = frozenset({"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP"})


def unpack_tests(packed: str, *, max_bytes: int = MAX_UNPACKED_BYTES) -> str:
    """Return the JSON text in packed tests: a pickled string, compressed by zlib, in base64.

    Raises CasesError for other strings.
    """
    return read_pickled_string(decompress_base64(packed, max_bytes))


def read_pickled_string(data: bytes) -> str:
    """Return the only string in a pickle without unpickling it. Raises CasesError for other pickles."""
    strings = list[object]()
    try:
        for operation, argument, _ in pickletools.genops(data):
            if operation.name in _STRING_OPERATIONS:
                strings.append(argument)
            elif operation.name not in _HARMLESS_OPERATIONS:
                raise unparsable_tests(f"the pickle contains more than a string ({operation.name})")
    except (ValueError, OverflowError) as error:
        raise unparsable_tests(f"packed tests are not a valid pickle ({error})") from error
    if len(strings) != 1 or not isinstance(strings[0], str):
        raise unparsable_tests(f"the pickle must contain one string, not {len(strings)}")
    return strings[0]
