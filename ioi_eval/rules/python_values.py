"""Values that are written as Python writes them: read without running anything, and said as JSON.

In that JSON tuples, sets and other things that it has no word for are told from lists. `tagged` in
graders/python/harness.py says the results of functions in the same way.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterable
from typing import Any

from ioi_eval.rules.json_tests import broken

_NUMBERS = {"inf": math.inf, "nan": math.nan}
_DICTIONARIES = ("Counter", "OrderedDict")


def literal(node: ast.expr) -> Any:
    """The value of an expression that is nothing but a value. CasesError."""
    try:
        return ast.literal_eval(_Plain().visit(node))
    except (ValueError, TypeError, RecursionError) as error:
        raise broken(f"{ast.unparse(node)[:40]!r} is no plain value") from error


def literal_in(text: str) -> Any:
    """The same of a text. CasesError."""
    try:
        return literal(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise broken(f"{text[:40]!r} is no value") from error


class _Plain(ast.NodeTransformer):
    """Makes literals of what is printed like calls and names."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(_NUMBERS[node.id]) if node.id in _NUMBERS else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id in _DICTIONARIES and not node.keywords:
            return self.visit(node.args[0]) if node.args else ast.Dict([], [])
        return node


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
    """What the harness says of a result that is equal to this value."""
    return _encoded(_tagged(value))


def _encoded(value: object) -> str:
    return json.dumps(value, allow_nan=False)


def _tagged(value: object) -> object:
    match value:
        case None | bool() | str() | int():
            return value
        case float():
            return value if math.isfinite(value) else {"float": repr(value)}
        case complex():
            return {"complex": _each((value.real, value.imag))}
        case list():
            return _each(value)
        case tuple():
            return {"tuple": _each(value)}
        case set():
            return {"set": sorted(_each(value), key=_encoded)}
        case dict():
            return {"dict": sorted(map(_each, value.items()), key=_encoded)}
    raise broken(f"a {type(value).__name__} among them")


def _each(items: Iterable[object]) -> list[object]:
    return [_tagged(item) for item in items]
