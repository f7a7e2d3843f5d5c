"""Tests written as JSON, as APPS and LiveCodeBench have them: inputs and outputs, or arguments and results.

Nothing is parsed that need not be: arguments and results pass on as they were written, so that a number of
ten thousand digits stays one. Pure.

Values that are written as Python writes them are read without running anything, and said as JSON, in which
tuples, sets and other things that it has no word for are told from lists. `tagged` in
graders/python/harness.py says the results of functions in the same way.
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
from ioi_eval.model.nesting import shallow
from ioi_eval.model.values import Blob, Checker, CheckerKind, Problem, TaskOptions, TaskType, Test, Value

NO_CASES = "No test cases provided"
BROKEN_CASES = "Could not parse test cases"
LARGEST = 1 << 30  # bytes of packed tests, unpacked: far more than any problem that is known has


class CasesError(IoiEvalError):
    """There are no tests, or none that can be understood. The message is what harnesses of APPS say."""


class Case(NamedTuple):
    """A program's input and expected output, or arguments and the result as JSON."""

    input: str
    output: str


class Cases(Value):
    cases: tuple[Case, ...]
    function: str = ""  # what is called; empty: programs that read standard input
    wrapped: bool = False  # every result stands in a list of its own, of which the function may know nothing


class _Written(msgspec.Struct):
    inputs: list[msgspec.Raw] | None = None
    outputs: list[msgspec.Raw] | None = None
    fn_name: str | None = None
    packed: str | None = None


def broken(reason: str) -> CasesError:
    return CasesError(f"{BROKEN_CASES}: {reason}")


def read_cases(written: str | Mapping[str, Any] | None) -> Cases:
    """The value of a column `input_output`: JSON, or what JSON was made into. CasesError.

    A function's arguments are a list of them, a text with one JSON value a line, or the only one. The result
    that belongs to such a text is JSON in a text, too. `packed` holds the same JSON in base64 of zlib.
    """
    if written is None or (isinstance(written, str) and not written.strip()):
        raise CasesError(NO_CASES)
    try:
        text = written if isinstance(written, str) else msgspec.json.encode(written)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        raise broken(str(error)) from error
    found: _Written = parsed(text, _Written | None) or _Written()
    if found.packed:
        within: _Written = parsed(inflated(found.packed), _Written)
        found = msgspec.structs.replace(within, fn_name=found.fn_name or within.fn_name)
    inputs, outputs = found.inputs or [], found.outputs or []
    if not inputs and not outputs:
        raise CasesError(NO_CASES)
    if len(inputs) != len(outputs):
        raise broken(f"{len(inputs)} inputs and {len(outputs)} outputs")
    if function := (found.fn_name or "").strip():
        called = tuple(map(_call, inputs, outputs))
        results = [msgspec.Raw(case.output.encode()) for case in called]
        wrapped = all(_is_list(result) and len(parsed(result, list[msgspec.Raw])) == 1 for result in results)
        return Cases(cases=called, function=function, wrapped=wrapped)
    return Cases(cases=tuple(map(Case, map(_text, inputs), map(_text, outputs))))


def inflated(text: str, largest: int = LARGEST) -> bytes:
    """Return the bytes in base64 of zlib. CasesError: it is anything else, or more than `largest` bytes."""
    inflater = zlib.decompressobj()
    try:
        data = inflater.decompress(base64.b64decode(text, validate=True), largest)
    except (binascii.Error, ValueError) as error:
        raise broken(f"packed, and no base64 ({error})") from error
    except zlib.error as error:
        raise broken(f"packed, and no zlib ({error})") from error
    if inflater.unconsumed_tail:
        raise broken(f"more than {largest >> 20} MiB when it is unpacked")
    if not inflater.eof:
        raise broken("packed, and cut off")
    return data


def read_call(arguments: str, result: str) -> Case:
    """Arguments that are written as JSON one a line, and the result."""
    given = [_json(line) for line in arguments.strip().split("\n") if line.strip()]
    return Case(f"[{', '.join(given)}]", _json(result))


def with_cases(problem: Problem, cases: Cases, blob: Callable[[str], Blob]) -> Problem:
    """The problem with these tests. Its checker stays where programs write; a function's result is JSON.

    CasesError: the function has a name that no program can give to one.
    """
    tests = tuple(
        Test(name=str(number), input=blob(case.input), answer=blob(case.output))
        for number, case in enumerate(cases.cases)
    )
    if not cases.function:
        return msgspec.structs.replace(problem, tests=tests)
    if not all(part.isidentifier() for part in cases.function.split(".")):
        raise broken(f"{cases.function!r:.80} is no name of a function")
    return msgspec.structs.replace(
        problem,
        task_type=TaskType.FUNCTION,
        options=TaskOptions(function=cases.function),
        checker=Checker(kind=CheckerKind.JSON_WRAPPED if cases.wrapped else CheckerKind.JSON),
        tests=tests,
    )


# --- JSON --------------------------------------------------------------------------------------------


def parsed(text: str | bytes | msgspec.Raw, kind: Any) -> Any:
    """Return JSON as a type. CasesError."""
    try:
        return msgspec.json.decode(text if isinstance(text, msgspec.Raw) else shallow(text), type=kind)
    except (msgspec.MsgspecError, ValueError) as error:
        raise broken(str(error)) from error


def _plain(raw: msgspec.Raw) -> str:
    return bytes(raw).decode()


def _json(text: str) -> str:
    try:
        return _plain(parsed(text, msgspec.Raw))
    except CasesError as error:
        raise broken(f"{text!r:.40} is no value in JSON, one a line") from error


def _call(given: msgspec.Raw, wanted: msgspec.Raw) -> Case:
    if _is_text(given):
        return read_call(parsed(given, str), parsed(wanted, str) if _is_text(wanted) else _plain(wanted))
    arguments = _plain(given)
    return Case(arguments if _is_list(given) else f"[{arguments}]", _plain(wanted))


def _is_text(raw: msgspec.Raw) -> bool:
    return bytes(raw).startswith(b'"')


def _is_list(raw: msgspec.Raw) -> bool:
    return bytes(raw).startswith(b"[")


def _text(raw: msgspec.Raw) -> str:
    """A text, or a list of lines; a number is its own text."""
    if not _is_list(raw):
        return _line(raw)
    return "\n".join(map(_line, parsed(raw, list[msgspec.Raw])))


def _line(raw: msgspec.Raw) -> str:
    written = _plain(raw)
    if _is_text(raw):
        text: str = parsed(raw, str)
        return text
    if written[0] not in "-0123456789":
        raise broken(f"{written if len(written) <= 40 else written[:37] + '...'} is no text")
    return written


# --- values as Python writes them --------------------------------------------------------------------

_NUMBERS = {"inf": math.inf, "nan": math.nan}


def literal(node: ast.expr, *, arrays: bool = False) -> Any:
    """The value of an expression that is nothing but a value; of an array its list. CasesError."""
    try:
        return ast.literal_eval((_Shown() if arrays else _Plain()).visit(node))
    except (ValueError, TypeError, RecursionError) as error:
        raise broken(f"{ast.unparse(node)[:40]!r} is no plain value") from error


def literal_in(text: str, *, arrays: bool = False) -> Any:
    """The same of a text. CasesError."""
    try:
        return literal(ast.parse(text, mode="eval").body, arrays=arrays)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise broken(f"{text[:40]!r} is no value") from error


def list_in(text: str) -> list[Any] | None:
    """Return the list that a text is, as JSON, Python or numpy writes it: a table has no other way."""
    if not text.lstrip().startswith("["):
        return None
    try:
        found = msgspec.json.decode(shallow(text))
    except msgspec.DecodeError:
        try:
            found = literal_in(_with_commas(text), arrays=True)
        except CasesError:
            return None
    return found if isinstance(found, list) else None


def _with_commas(text: str) -> str:
    """Return a literal with the commas that numpy leaves out between values. CasesError."""
    pieces, ended, values = list[str](), False, (tokenize.STRING, tokenize.NUMBER)
    try:
        for token in tokenize.generate_tokens(io.StringIO(text.strip()).readline):
            begins = token.type in values or token.string in ("[", "{")
            pieces.append(f", {token.string}" if ended and begins else token.string)
            if token.type != tokenize.NL:
                ended = token.type in values or token.string in ("]", "}")
    except (tokenize.TokenError, SyntaxError) as error:
        raise broken(f"{text[:40]!r} is no value") from error
    return " ".join(pieces)


class _Plain(ast.NodeTransformer):
    """Makes literals of what is printed like calls and names."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(_NUMBERS[node.id]) if node.id in _NUMBERS else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(ast.Name("Counter" | "OrderedDict"), [], []):
                return ast.Dict([], [])
            case ast.Call(ast.Name("Counter" | "OrderedDict"), [ast.Dict() as shown], []):
                return self.generic_visit(shown)
            case ast.Call(ast.Name("OrderedDict"), [ast.List(pairs)], []):
                items = [pair.elts for pair in pairs if isinstance(pair, ast.Tuple) and len(pair.elts) == 2]
                if len(items) == len(pairs):
                    return self.generic_visit(
                        ast.Dict([key for key, _ in items], [value for _, value in items])
                    )
        return node


class _Shown(_Plain):
    """Also takes the lists out of arrays within, as numpy shows them."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        shown = isinstance(node.func, ast.Name) and node.func.id == "array" and node.args
        return self.visit(node.args[0]) if shown else super().visit_Call(node)


def as_arguments(given: Iterable[object]) -> str:
    """A tuple as Python reads it. CasesError."""
    try:
        node = _Plain().visit(ast.parse(repr(tuple(given)), mode="eval"))
        written = ast.unparse(node)  # which has a number for what is infinite
        ast.literal_eval(written)
    except (SyntaxError, ValueError, TypeError, RecursionError) as error:
        raise broken("arguments that Python cannot read again") from error
    return written


def as_json(value: object) -> str:
    """Return the harness' text for a result that is equal to this value."""
    return json.dumps(_tagged(value), allow_nan=False)


def _tagged(value: object) -> object:
    match value:
        case None | bool() | str() | int():
            return value
        case float():
            return value if math.isfinite(value) else {"float": repr(value)}
        case complex():
            return {"complex": _each((value.real, value.imag))} if value.imag else _tagged(value.real)
        case bytes():
            return {"bytes": value.hex()}
        case list():
            return _each(value)
        case tuple():
            return {"tuple": _each(value)}
        case set():
            return {"set": sorted(_each(value), key=_spelled_alike)}
        case dict():
            return {"dict": sorted(map(_each, value.items()), key=_spelled_alike)}
    raise broken(f"a {type(value).__name__} among them")


def _spelled_alike(value: object) -> str:
    """The same text for values that are equal: 1, 1.0 and True are one number."""

    def alike(value: Any) -> Any:
        if isinstance(value, list):
            return [alike(item) for item in value]
        if isinstance(value, dict):
            return {name: alike(item) for name, item in value.items()}
        return int(value) if isinstance(value, bool | int | float) and value == int(value) else value

    return json.dumps(alike(value), allow_nan=False)


def _each(items: Iterable[object]) -> list[object]:
    return [_tagged(item) for item in items]
