"""Read tests in JSON, as in APPS and LiveCodeBench.

Tests are inputs and outputs of programs, or arguments and results of functions.

Arguments and results are passed on as they were written and parsed only if necessary, so that a number with
ten thousand digits is unchanged.

Values in Python notation are read without running code and converted to JSON. Types that JSON lacks, such as
tuples and sets, are tagged to distinguish them from lists. `encode_with_type_tags` in
graders/python/harness.py encodes the results of functions in the same way.
"""

from __future__ import annotations

import ast
import base64
import binascii
import io
import json
import math
import tokenize
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from ioi_eval.model.errors import IoiEvalError
from ioi_eval.model.nesting import require_shallow
from ioi_eval.model.text import format_count
from ioi_eval.model.values import Blob, Checker, CheckerKind, Problem, TaskOptions, TaskType, Test, Value

NO_CASES = "No test cases provided"
BROKEN_CASES = "Could not parse test cases"
# Maximum size of decompressed tests, in bytes. Tests of real problems are far smaller.
MAX_UNPACKED_BYTES = 1 << 30


class CasesError(IoiEvalError):
    """Raised if tests are missing or cannot be parsed. The messages are the same as in APPS harnesses."""


class Case(NamedTuple):
    """A program's input and expected output, or a function's arguments and its result as JSON."""

    input: str
    output: str


class Cases(Value):
    """The test cases of a problem, for a program or a function."""

    cases: tuple[Case, ...]
    function: str = ""  # name of the tested function; empty for programs that read standard input
    # True if every expected result is a list with one item. The function may return the item itself.
    wrapped: bool = False


class _InputOutput(msgspec.Struct):
    inputs: list[msgspec.Raw] | None = None
    outputs: list[msgspec.Raw] | None = None
    fn_name: str | None = None
    packed: str | None = None


def unparsable_tests(reason: str) -> CasesError:
    """Return a CasesError for tests that cannot be parsed."""
    return CasesError(f"{BROKEN_CASES}: {reason}")


def read_cases(column: str | Mapping[str, Any] | None) -> Cases:
    """Return the tests in a column `input_output`, which is JSON or a decoded JSON object.

    If the object has the key `packed`, its value is the object as zlib-compressed JSON in base64. The
    arguments of a function are one of:

    - a list
    - a string with a JSON value on each line; the result is then a string with JSON as well
    - a single argument

    Raises CasesError if tests are missing or cannot be parsed.
    """
    if column is None or (isinstance(column, str) and not column.strip()):
        raise CasesError(NO_CASES)
    try:
        json_text = column if isinstance(column, str) else msgspec.json.encode(column)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        raise unparsable_tests(str(error)) from error
    columns: _InputOutput = decode_json(json_text, _InputOutput | None) or _InputOutput()
    if columns.packed:
        packed_columns: _InputOutput = decode_json(decompress_base64(columns.packed), _InputOutput)
        columns = msgspec.structs.replace(packed_columns, fn_name=columns.fn_name or packed_columns.fn_name)
    inputs, outputs = columns.inputs or [], columns.outputs or []
    if not inputs and not outputs:
        raise CasesError(NO_CASES)
    if len(inputs) != len(outputs):
        raise unparsable_tests(
            f"the tests have {format_count(len(inputs), 'input')} but {format_count(len(outputs), 'output')}"
        )
    if function_name := (columns.fn_name or "").strip():
        call_cases = tuple(map(_make_call_case, inputs, outputs))
        result_values = [msgspec.Raw(case.output.encode()) for case in call_cases]
        is_wrapped = all(
            _is_json_list(result_value) and len(decode_json(result_value, list[msgspec.Raw])) == 1
            for result_value in result_values
        )
        return Cases(cases=call_cases, function=function_name, wrapped=is_wrapped)
    return Cases(cases=tuple(map(Case, map(_decode_text, inputs), map(_decode_text, outputs))))


def decompress_base64(encoded: str, max_bytes: int = MAX_UNPACKED_BYTES) -> bytes:
    """Return the decompressed data of a zlib stream in base64.

    Raises CasesError for other data, and if the result is larger than `max_bytes` bytes.
    """
    inflater = zlib.decompressobj()
    try:
        decompressed_data = inflater.decompress(base64.b64decode(encoded, validate=True), max_bytes)
    except (binascii.Error, ValueError) as error:
        raise unparsable_tests(f"the packed tests are not valid base64 ({error})") from error
    except zlib.error as error:
        raise unparsable_tests(f"the packed tests are not valid zlib data ({error})") from error
    if inflater.unconsumed_tail:
        raise unparsable_tests(f"the packed tests are larger than {max_bytes >> 20} MiB after unpacking")
    if not inflater.eof:
        raise unparsable_tests("the packed tests are cut off")
    return decompressed_data


def read_call(arguments: str, result: str) -> Case:
    """Return the test case of a function call.

    `arguments` contains a JSON value on each line, and `result` is a JSON value.
    """
    arguments_json = [_require_valid_json(line) for line in arguments.strip().split("\n") if line.strip()]
    return Case(f"[{', '.join(arguments_json)}]", _require_valid_json(result))


def with_cases(problem: Problem, cases: Cases, store_text: Callable[[str], Blob]) -> Problem:
    """Return the problem with these tests and, for a function's tests, with the JSON comparison.

    Raises CasesError if the function's name is not a Python identifier. `store_text` stores the text of an
    input or answer.
    """
    tests = tuple(
        Test(name=str(number), input=store_text(case.input), answer=store_text(case.output))
        for number, case in enumerate(cases.cases)
    )
    if not cases.function:
        return msgspec.structs.replace(problem, tests=tests)
    if not all(identifier.isidentifier() for identifier in cases.function.split(".")):
        raise unparsable_tests(f"{cases.function!r:.80} is not the name of a function")
    return msgspec.structs.replace(
        problem,
        task_type=TaskType.FUNCTION,
        options=TaskOptions(function=cases.function),
        checker=Checker(kind=CheckerKind.JSON_WRAPPED if cases.wrapped else CheckerKind.JSON),
        tests=tests,
    )


# --- JSON --------------------------------------------------------------------------------------------


def decode_json(text: str | bytes | msgspec.Raw, kind: Any) -> Any:
    """Return the value of type `kind` in a JSON text. Raises CasesError."""
    try:
        return msgspec.json.decode(
            text if isinstance(text, msgspec.Raw) else require_shallow(text), type=kind
        )
    except (msgspec.MsgspecError, ValueError) as error:
        raise unparsable_tests(str(error)) from error


def _decode_raw(raw: msgspec.Raw) -> str:
    return bytes(raw).decode()


def _require_valid_json(text: str) -> str:
    """Return a JSON text unchanged. Raises CasesError if it is not valid."""
    try:
        return _decode_raw(decode_json(text, msgspec.Raw))
    except CasesError as error:
        raise unparsable_tests(f"{text!r:.40} is not a JSON value (one per line is expected)") from error


def _make_call_case(arguments: msgspec.Raw, result: msgspec.Raw) -> Case:
    """Return the case for a function's arguments and result in any supported form."""
    if _is_json_string(arguments):
        return read_call(
            decode_json(arguments, str),
            decode_json(result, str) if _is_json_string(result) else _decode_raw(result),
        )
    arguments_text = _decode_raw(arguments)
    return Case(arguments_text if _is_json_list(arguments) else f"[{arguments_text}]", _decode_raw(result))


def _is_json_string(raw: msgspec.Raw) -> bool:
    return bytes(raw).startswith(b'"')


def _is_json_list(raw: msgspec.Raw) -> bool:
    return bytes(raw).startswith(b"[")


def _decode_text(raw: msgspec.Raw) -> str:
    """Return the text in a JSON value: a string, the lines in a list, or the digits of a number."""
    if not _is_json_list(raw):
        return _decode_string_or_digits(raw)
    return "\n".join(map(_decode_string_or_digits, decode_json(raw, list[msgspec.Raw])))


def _decode_string_or_digits(raw: msgspec.Raw) -> str:
    """Return the string in a JSON value, or the digits of a number. Raises CasesError."""
    json_text = _decode_raw(raw)
    if _is_json_string(raw):
        string: str = decode_json(raw, str)
        return string
    if json_text[0] not in "-0123456789":
        raise unparsable_tests(
            f"{json_text if len(json_text) <= 40 else json_text[:37] + '...'} is not a string"
        )
    return json_text


# --- values in Python notation -------------------------------------------------------------------------

_NUMBERS = {"inf": math.inf, "nan": math.nan}


def evaluate_literal(node: ast.expr, *, accepts_numpy_arrays: bool = False) -> Any:
    """Return the value of a literal expression. Raises CasesError for other expressions.

    `accepts_numpy_arrays`: accept numpy arrays and return them as lists.
    """
    try:
        return ast.literal_eval(
            (_ArrayReplacer() if accepts_numpy_arrays else _LiteralReplacer()).visit(node)
        )
    except (ValueError, TypeError, RecursionError) as error:
        raise unparsable_tests(f"{ast.unparse(node)[:40]!r} is not a literal value") from error


def parse_literal(text: str, *, accepts_numpy_arrays: bool = False) -> Any:
    """Return the value of a literal in Python notation. Raises CasesError for anything else."""
    try:
        return evaluate_literal(ast.parse(text, mode="eval").body, accepts_numpy_arrays=accepts_numpy_arrays)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise unparsable_tests(f"{text[:40]!r} is not a literal value") from error


def parse_list(text: str) -> list[Any] | None:
    """Return the list in a string in JSON, Python or numpy notation, or None if it is not a list.

    Tables store lists in this form.
    """
    if not text.lstrip().startswith("["):
        return None
    try:
        value = msgspec.json.decode(require_shallow(text))
    except msgspec.DecodeError:
        try:
            value = parse_literal(_insert_commas(text), accepts_numpy_arrays=True)
        except CasesError:
            return None
    return value if isinstance(value, list) else None


def _insert_commas(text: str) -> str:
    """Return a literal with the commas between values that numpy omits. Raises CasesError."""
    token_strings, follows_value, value_types = list[str](), False, (tokenize.STRING, tokenize.NUMBER)
    try:
        for token in tokenize.generate_tokens(io.StringIO(text.strip()).readline):
            starts_value = token.type in value_types or token.string in ("[", "{")
            token_strings.append(f", {token.string}" if follows_value and starts_value else token.string)
            if token.type != tokenize.NL:
                follows_value = token.type in value_types or token.string in ("]", "}")
    except (tokenize.TokenError, SyntaxError) as error:
        raise unparsable_tests(f"{text[:40]!r} is not a literal value") from error
    return " ".join(token_strings)


class _LiteralReplacer(ast.NodeTransformer):
    """Replaces names and calls in printed values, such as `nan` and `Counter(...)`, by literals."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(_NUMBERS[node.id]) if node.id in _NUMBERS else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(ast.Name("Counter" | "OrderedDict"), [], []):
                return ast.Dict([], [])
            case ast.Call(ast.Name("Counter" | "OrderedDict"), [ast.Dict() as dict_literal], []):
                return self.generic_visit(dict_literal)
            case ast.Call(ast.Name("OrderedDict"), [ast.List(pairs)], []):
                keys_and_values = [
                    item_node.elts
                    for item_node in pairs
                    if isinstance(item_node, ast.Tuple) and len(item_node.elts) == 2
                ]
                if len(keys_and_values) == len(pairs):
                    return self.generic_visit(
                        ast.Dict([key for key, _ in keys_and_values], [value for _, value in keys_and_values])
                    )
        return node


class _ArrayReplacer(_LiteralReplacer):
    """Replaces numpy arrays by lists, in addition to the work of `_LiteralReplacer`."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        is_array = isinstance(node.func, ast.Name) and node.func.id == "array" and node.args
        return self.visit(node.args[0]) if is_array else super().visit_Call(node)


def format_arguments(arguments: Iterable[object]) -> str:
    """Return arguments as a tuple in Python notation. Raises CasesError if Python cannot read it back."""
    try:
        node = _LiteralReplacer().visit(ast.parse(repr(tuple(arguments)), mode="eval"))
        # This writes infinity as a number that is so large that Python reads it as infinity.
        tuple_text = ast.unparse(node)
        ast.literal_eval(tuple_text)
    except (SyntaxError, ValueError, TypeError, RecursionError) as error:
        raise unparsable_tests("the function's arguments cannot be written as Python literals") from error
    return tuple_text


def format_result(value: object) -> str:
    """Return the text that the function harness prints for a result equal to `value`."""
    return json.dumps(_encode_value_with_type_tags(value), allow_nan=False)


def _encode_value_with_type_tags(value: object) -> object:
    """Return a value with tags for the types that JSON lacks. Raises CasesError."""
    match value:
        case None | bool() | str() | int():
            return value
        case float():
            return value if math.isfinite(value) else {"float": repr(value)}
        case complex():
            return (
                {"complex": _encode_items_with_type_tags((value.real, value.imag))}
                if value.imag
                else _encode_value_with_type_tags(value.real)
            )
        case bytes():
            return {"bytes": value.hex()}
        case list():
            return _encode_items_with_type_tags(value)
        case tuple():
            return {"tuple": _encode_items_with_type_tags(value)}
        case set():
            return {"set": sorted(_encode_items_with_type_tags(value), key=_format_canonical_json)}
        case dict():
            return {
                "dict": sorted(map(_encode_items_with_type_tags, value.items()), key=_format_canonical_json)
            }
    raise unparsable_tests(f"a value has the unsupported type {type(value).__name__}")


def _format_canonical_json(value: object) -> str:
    """Return a JSON text that is the same for all equal values; 1, 1.0 and True are equal."""

    def normalize(value: Any) -> Any:
        if isinstance(value, list):
            return [normalize(item) for item in value]
        if isinstance(value, dict):
            return {name: normalize(item) for name, item in value.items()}
        return int(value) if isinstance(value, bool | int | float) and value == int(value) else value

    return json.dumps(normalize(value), allow_nan=False)


def _encode_items_with_type_tags(items: Iterable[object]) -> list[object]:
    return [_encode_value_with_type_tags(item) for item in items]
