"""The tests of a row, in any form that datasets use: the one reader of benchmarks and rewards. Pure."""

from __future__ import annotations

import ast
import json
import pickletools
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from ioi_eval.model.nesting import NestedTooDeep, shallow
from ioi_eval.model.values import Blob, Problem
from ioi_eval.rules.assertions import INPUTS, Asserted, read_assertions, read_test
from ioi_eval.rules.json_tests import (
    LARGEST,
    NO_CASES,
    Case,
    Cases,
    CasesError,
    broken,
    inflated,
    literal_in,
    parsed,
    read_call,
    read_cases,
    with_cases,
)

PUBLIC_AND_PRIVATE = ("public_test_cases", "private_test_cases")  # of LiveCodeBench
# Keys of an object that holds the tests, the first that it has.
_HOLDERS = ("test_cases", "tests", "input_output", "ground_truth", "verification_info", "assert_case")
_ASSERTIONS = ("test_list", "assertions", "test", "test_code")  # keys with a program of assertions, or a list
_SETUP = ("test_setup_code", "test_imports", "setup")
_FUNCTION = ("entry_point", "fn_name", "func_name", "function")
_INPUT = ("input", "stdin")
_OUTPUT = ("output", "stdout", "expected_output", "answer")
_CALLS = ("functional", "function_call")  # kinds of tests
_NO_FUNCTION = "they call a function, and nothing says which"


def with_tests(
    problem: Problem,
    written: Any,
    blob: Callable[[str], Blob],
    *,
    function: str = "",
    setup: str = "",
    drawn: str = "",
) -> Problem:
    """Return the problem with the tests of a row. CasesError for what holds none that can be read.

    Args:
        problem: A problem without tests.
        written: The tests in any form that `read_tests` knows.
        blob: What makes contents of texts.
        function: The function that is called, if the tests do not name it.
        setup: Statements that assertions need in front.
        drawn: The id of a problem of HumanEval, some of which draw their arguments.
    """
    found = read_tests(written, function, setup=setup, drawn=drawn)
    return found.of(problem, blob) if isinstance(found, Asserted) else with_cases(problem, found, blob)


def read_tests(written: Any, function: str = "", *, setup: str = "", drawn: str = "") -> Cases | Asserted:
    """Return tests in any of the forms in use. CasesError.

    - An object of lists (`inputs`, `outputs`, `fn_name`, or `input`, `output`), each also as a text of JSON.
    - A list of objects with `input` and `output`: what a program reads and prints, also as `{"stdin": text}`
      and `{"stdout": text}`; arguments as LiveCodeBench writes them (`testtype` is `functional`); or
      arguments as values (`fn_name`, or `type` is `function_call`). Or a list of pairs.
    - LiveCodeBench's public and private tests, also packed.
    - Assertions in Python: a program, or a list of statements; `check(candidate)`; lists of inputs and
      results as in EvalPlus.
    - Any of these as a text of JSON or a literal of Python, in texts of JSON, or in an object by a usual key.
    """
    if (as_written := _as_written(written, function)) is not None:
        return read_cases(as_written)
    value = _decoded(written)
    if isinstance(value, str):
        return _of_program(value, function, setup, drawn)
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        items = [_decoded(item) for item in value]
        if all(isinstance(item, str) for item in items):
            return _of_program("\n".join(items), function, setup, drawn)
        value = items
    if isinstance(value, Mapping):
        return _of_object(value, function, setup, drawn)
    if not value:
        raise CasesError(NO_CASES)
    if not isinstance(value, Sequence) or isinstance(value, bytes):
        raise broken("neither pairs nor lists of inputs and outputs")
    return _of_list(value, function)


def _of_object(value: Mapping[str, Any], function: str, setup: str, drawn: str) -> Cases | Asserted:
    metadata = _metadata(value)
    function = str(_first(value, _FUNCTION) or metadata.get("func_name") or function or "").strip()
    if any(name in value for name in PUBLIC_AND_PRIVATE):
        return _of_livecodebench([value.get(name) for name in PUBLIC_AND_PRIVATE], function)
    if "inputs" in value or "packed" in value:
        lists = {name: _list_in(value.get(name)) for name in ("inputs", "outputs")}
        return read_cases({**value, **lists, "fn_name": function or None})
    if "test_list" in value or not any(name in value for name in (*_HOLDERS, *_INPUT)):
        setup = "\n".join(filter(None, [setup, *(_joined(value.get(name)) for name in _SETUP)]))
        if (tests := _first(value, _ASSERTIONS)) is not None:
            return read_tests(tests, function, setup=setup, drawn=drawn)
    if (held := _first(value, _HOLDERS)) is not None:
        return read_tests(held, function, setup=setup, drawn=drawn)
    if isinstance(value.get("input"), list) and "type" not in value:
        return read_cases({"inputs": value["input"], "outputs": value.get("output") or []})
    if any(name in value for name in _INPUT):
        return _of_list([value], function)
    raise CasesError(NO_CASES)


class _Test(msgspec.Struct):
    input: str
    output: str
    testtype: str = "stdin"


def _of_livecodebench(parts: Sequence[Any], function: str) -> Cases:
    """Return public tests, then private ones: lists, texts of JSON, or packed."""
    tests = list[_Test]()
    for part in parts:
        text = part.strip() if isinstance(part, str) else msgspec.json.encode(part).decode() if part else ""
        plain = text if not text or text.startswith("[") or text == "null" else unpacked(text)
        tests += (parsed(plain, list[_Test] | None) or []) if plain else []
    if not tests:
        raise CasesError(NO_CASES)
    if function:
        return Cases(cases=tuple(read_call(test.input, test.output) for test in tests), function=function)
    if any(test.testtype == "functional" for test in tests):
        raise broken(_NO_FUNCTION)
    return Cases(cases=tuple(Case(test.input, test.output) for test in tests))


def _of_list(value: Sequence[Any], function: str) -> Cases:
    """Return the tests of a list of objects, or of pairs."""
    if not value:
        raise CasesError(NO_CASES)
    if all(isinstance(item, list | tuple) and len(item) == 2 for item in value):
        value = [{"input": given, "output": wanted} for given, wanted in value]
    if not all(isinstance(item, Mapping) for item in value):
        raise broken("neither pairs nor lists of inputs and outputs")
    kinds = {str(case.get("testtype") or case.get("type") or "") for case in value}
    names = {
        str(_metadata(case).get("func_name") or case.get("fn_name") or function).strip() for case in value
    }
    if len(kinds) > 1:
        raise broken(f"several kinds in one problem: {', '.join(sorted(kinds))}")
    if len(names) > 1:
        raise broken(f"several functions in one problem: {', '.join(sorted(names))}")
    ([kind], [function]) = kinds, names
    pairs = [(_side(case, _INPUT), _side(case, _OUTPUT)) for case in value]
    if kind in _CALLS and not function:
        raise broken(_NO_FUNCTION)
    if kind not in ("", *_CALLS):
        function = ""  # a program
    if kind == "functional":
        if not all(isinstance(text, str) for pair in pairs for text in pair):
            raise broken("arguments or a result that are no text")
        return Cases(cases=tuple(read_call(*pair) for pair in pairs), function=function)
    given, wanted = zip(*pairs, strict=True)
    return read_cases({"inputs": list(given), "outputs": list(wanted), "fn_name": function or None})


def _as_written(written: Any, function: str) -> dict[str, Any] | None:
    """Return lists of inputs and outputs in JSON, with numbers as they are written; None for others."""
    if not isinstance(written, str) or not written.lstrip().startswith("{"):
        return None
    try:
        found: dict[str, Any] = parsed(written, dict[str, msgspec.Raw])
    except CasesError:
        return None
    lists = [bytes(found[name]) for name in ("inputs", "outputs") if name in found]
    if ("packed" not in found and len(lists) < 2) or not all(text.startswith(b"[") for text in lists):
        return None
    return found if not function or "fn_name" in found else {**found, "fn_name": function}


def _of_program(source: str, function: str, setup: str, drawn: str) -> Asserted:
    """Return the tests that a program in Python is."""
    text = "\n".join(filter(None, [setup, source]))
    return read_test(text, function) if INPUTS.search(text) else read_assertions(text, function, drawn=drawn)


def _side(case: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return what goes in or out. Also `{"stdin": text}`."""
    held = next((case[name] for name in names if name in case), None)
    return held[names[1]] if isinstance(held, Mapping) and held.keys() == {names[1]} else held


def _first(value: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((value[name] for name in names if value.get(name) is not None), None)


def _joined(value: Any) -> str:
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value or "")


def _metadata(value: Mapping[str, Any]) -> Mapping[str, Any]:
    found = value.get("metadata")
    if isinstance(found, str):
        with suppress(CasesError):
            found = _decoded(found)
    return found if isinstance(found, Mapping) else {}


def _list_in(value: Any) -> Any:
    """Return a list that is written as a text of JSON; anything else as it is."""
    found = _decoded(value) if isinstance(value, str) and value.lstrip().startswith("[") else value
    return found if isinstance(found, list) else value


def _decoded(value: Any) -> Any:
    """Return a text as what it says: JSON, what Python wrote, packed tests; a program stays a text.

    CasesError for other texts.
    """
    if not isinstance(value, str):
        return value
    text = value.strip()
    if not text:
        return None
    try:
        found = json.loads(shallow(text))
        return _decoded(found) if isinstance(found, str) else found
    except NestedTooDeep as error:
        raise broken(str(error)) from error
    except ValueError:
        if "assert" in text and _is_python(text):
            return text
        if len(text) > _SHORTEST_PACKED and text[0] not in "[{(" and not any(map(str.isspace, text)):
            return _decoded(unpacked(text))
        return literal_in(text)


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


# --- private tests, which are packed: base64 of zlib of a pickled text -----------------------------------
# A pickle is a program, and one from a dataset is a stranger's. It is never run: its instructions are only
# read, and there may be none but those that push one text.

_SHORTEST_PACKED = 40  # characters; the shortest pickled text has more
_TEXTS = frozenset({"UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"})
_HARMLESS = frozenset({"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP"})


def unpacked(text: str, *, largest: int = LARGEST) -> str:
    """The text that was packed. CasesError where it is anything else."""
    return pickled_text(inflated(text, largest))


def pickled_text(data: bytes) -> str:
    """The one text in a pickle, without unpickling."""
    texts = list[object]()
    try:
        for operation, argument, _ in pickletools.genops(data):
            if operation.name in _TEXTS:
                texts.append(argument)
            elif operation.name not in _HARMLESS:
                raise broken(f"a pickle that is more than a text ({operation.name})")
    except (ValueError, OverflowError) as error:
        raise broken(f"packed, and no pickle ({error})") from error
    if len(texts) != 1 or not isinstance(texts[0], str):
        raise broken(f"a pickle of {len(texts)} texts, and not of one")
    return texts[0]
