"""Tests that are assertions in Python, as HumanEval, MBPP and KodCode have them: read, and never run here.

An assertion that calls the function once becomes a test: the arguments are its input, and what is asserted of
the result is its answer. A program of this module judges that in the box of checkers; plain equality is the
comparison `json`.
"""

from __future__ import annotations

import ast
import builtins
import copy
import random
import string
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ioi_eval.model.values import Blob, Checker, CheckerKind, NamedBlob
from ioi_eval.rules.json_tests import NO_CASES, Case, CasesError, as_arguments, as_json, broken, literal

# Reads a function's result and arguments as the harness of functions writes them.
READ_VALUES = """\
import ast, json, sys
sys.set_int_max_str_digits(0)

def value(said):
    if isinstance(said, list):
        return [value(item) for item in said]
    if not isinstance(said, dict):
        return said
    (kind, held), = said.items()
    make = {"tuple": tuple, "set": set, "dict": dict, "float": float}.get(kind, lambda held: complex(*held))
    return make(held if kind == "float" else map(tuple, map(value, held)) if kind == "dict" else value(held))

given, wanted, got = [open(path).read() for path in sys.argv[1:4]]
"""
_CHECKER = """\
inp, names = ast.literal_eval(given), {}
exec(HELPERS, names)
try:
    names.update(inp=inp, out=value(json.loads(got)))
    exec(wanted, names)
except Exception:  # what is no result of the kind that the assertion expects is wrong
    print(0)
else:
    print(1)
"""


class Asserted(NamedTuple):
    function: str
    cases: tuple[Case, ...]
    checker: Checker


def python_checker(source: str) -> Checker:
    """Return a checker that prints 1 for right and 0 for wrong."""
    file = NamedBlob(name="checker.py", content=Blob.of(source))
    return Checker(kind=CheckerKind.CODEFORCES, sources=(file,), language="python")


def parsed(source: str) -> ast.Module:
    """Return a test's program as a tree. CasesError."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise broken(f"the test is no Python ({error})") from error


def read_assertions(source: str, function: str = "", *, drawn: str = "") -> Asserted:
    """Return the tests that a program's assertions are, and how they are judged. CasesError for other forms.

    `function` is empty where the assertions name it. `drawn` is the id of a problem of HumanEval, of which
    some draw their arguments.
    """
    module = parsed(source)
    helpers = [node for node in module.body if _helps(node)]
    called = {"candidate", function} if function else {_function(module, helpers)}
    found = [pair for body in _bodies(module) for pair in _tests(body, called, drawn in _DRAWN)]
    if drawn in _DRAWN:
        found += _DRAWN[drawn](random.Random(drawn))
    if not found:
        raise CasesError(NO_CASES)
    name = function or next(iter(called))
    plain = [_equal(statement) for _, statement in found]
    if all(node is not None for node in plain):
        answers = [as_json(literal(node)) for node in plain if node is not None]
        checker = Checker(kind=CheckerKind.JSON)
    else:
        answers = [ast.unparse(statement) for _, statement in found]
        text = "\n\n".join(map(ast.unparse, helpers))
        checker = python_checker(f"{READ_VALUES}HELPERS = {text!r}\n{_CHECKER}")
    pairs = zip(found, answers, strict=True)
    return Asserted(
        name, tuple(Case(as_arguments(given), expected) for (given, _), expected in pairs), checker
    )


def _helps(node: ast.stmt) -> bool:
    """Return True for what assertions may use: imports, other functions, constants."""
    if isinstance(node, ast.FunctionDef):
        return node.name != "check" and not node.name.startswith("test")
    if isinstance(node, ast.ImportFrom):
        return node.module not in ("solution", "submission")
    return isinstance(node, ast.Import | ast.Assign)


def _bodies(module: ast.Module) -> Iterator[list[ast.stmt]]:
    """Yield the program's own statements, and those of `check` and of each function that tests."""
    yield module.body
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and not _helps(node):
            yield node.body


def _function(module: ast.Module, helpers: list[ast.stmt]) -> str:
    """Return the one function that every assertion calls and the program does not define."""
    own = {node.name for node in helpers if isinstance(node, ast.FunctionDef)} | set(dir(builtins))
    own |= {
        alias.asname or alias.name
        for node in helpers
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    called = [
        [
            call.func.id
            for call in ast.walk(node)
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id not in own
        ]
        for node in ast.walk(module)
        if isinstance(node, ast.Assert)
    ]
    common = [name for name in (called[0] if called else ()) if all(name in names for names in called)]
    if not common:
        raise broken("no function that all assertions call") if called else CasesError(NO_CASES)
    return common[0]


def _tests(body: list[ast.stmt], called: set[str], draws: bool) -> Iterator[tuple[Any, ast.Assert]]:
    """Yield arguments and what is asserted of the result. Names that were given a value stand for it."""
    values: dict[str, ast.expr] = {}
    for node in _unrolled(body):
        if isinstance(node, ast.For | ast.While | ast.If | ast.With | ast.Try) and not draws:
            raise broken(f"{ast.unparse(node)[:60]!r} is no plain assertion")
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            values[node.targets[0].id] = _Names(values).visit(copy.deepcopy(node.value))
        elif isinstance(node, ast.Assert):
            # Nobody is told the message, and names in it are often of what is not known here.
            replaced = Result(lambda name, _: name in called)
            statement = replaced.visit(_Names(values).visit(copy.deepcopy(ast.Assert(node.test, None))))
            if named := next((call for call in replaced.calls if call.keywords), None):
                raise broken(f"{ast.unparse(named)[:60]!r} names its arguments")
            if len({ast.dump(ast.List(call.args, ast.Load())) for call in replaced.calls}) > 1:
                raise broken(f"{ast.unparse(node)[:60]!r} calls the function with several arguments")
            if replaced.calls:
                yield [literal(_Folded().visit(item)) for item in replaced.calls[0].args], statement


def _unrolled(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements, those of a short loop over a range as often as it runs."""
    for node in body:
        match node:
            case ast.For(target=ast.Name() as name, iter=ast.Call(ast.Name("range"), limits, [])):
                try:
                    numbers = range(*map(ast.literal_eval, limits))
                except (ValueError, TypeError):
                    numbers = range(0)
                if not 0 < len(numbers) < _MANY:
                    yield node
                    continue
                for number in numbers:
                    yield ast.Assign([name], ast.Constant(number), lineno=node.lineno)
                    yield from node.body
            case _:
                yield node


class _Names(ast.NodeTransformer):
    """Puts values in the place of names."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._known = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self._known.get(node.id, node))


class Result(ast.NodeTransformer):
    """Puts `out` where a function is called, and remembers the calls and its names."""

    def __init__(self, is_meant: Callable[[str, ast.Call], bool]) -> None:
        """`is_meant`: of a call of a function by its name, which may be another one."""
        self._is_meant, self.calls, self.names = is_meant, list[ast.Call](), list[str]()

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Name) or not self._is_meant(node.func.id, node):
            return node
        self.calls.append(node)
        self.names.append(node.func.id)
        return ast.Name("out", ast.Load())


class _Folded(ast.NodeTransformer):
    """Works out what is small and plain: 10 ** 9, [0] * 5, list(range(9))."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Call(ast.Name("list"), [ast.Call(ast.Name("range"), limits, [])], []):
                try:
                    numbers = range(*map(ast.literal_eval, limits))
                except (ValueError, TypeError):
                    return node
                return node if len(numbers) > 10_000 else ast.parse(repr(list(numbers)), mode="eval").body
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        try:
            left, right = ast.literal_eval(node.left), ast.literal_eval(node.right)
        except (ValueError, TypeError):
            return node
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        match node.op:
            case ast.Add() if type(left) is type(right) or numbers:
                value = left + right
            case ast.Sub() if numbers:
                value = left - right
            case ast.Mult() if numbers or min(_size(left), _size(right)) <= 10_000:
                value = left * right
            case ast.Pow() if numbers and 0 <= right <= 1000 and abs(left) <= 1000:
                value = left**right
            case _:
                return node
        return ast.parse(repr(value), mode="eval").body


def _size(value: Any) -> float:
    return value if isinstance(value, int) else float("inf")


def _equal(statement: ast.Assert) -> ast.expr | None:
    """The value that the result equals, where that is all that is asserted."""
    test = statement.test
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return None
    sides = test.left, test.comparators[0]
    others: list[ast.expr] = [_Folded().visit(side) for side in sides if ast.unparse(side) != "out"]
    if len(others) != 1:
        return None
    try:
        as_json(literal(others[0]))
    except CasesError:
        return None
    return others[0]


# --- HumanEval's problems that draw arguments --------------------------------------------------------


_MANY = 100  # as in the dataset
_Drawn = list[tuple[Any, ast.Assert]]


def _asserted(text: str) -> ast.Assert:
    [node] = ast.parse(text).body
    assert isinstance(node, ast.Assert), "a text of this file"
    return node


def _roots(draw: random.Random) -> _Drawn:
    lists = [[draw.randint(-10, 10) or 1 for _ in range(2 * draw.randint(1, 4))] for _ in range(_MANY)]
    near = _asserted("assert abs(sum(c * out ** i for i, c in enumerate(inp[0]))) < 1e-4")
    return [([numbers], near) for numbers in lists]


def _words(draw: random.Random) -> Iterator[str]:
    for _ in range(_MANY):
        yield "".join(draw.choice(string.ascii_lowercase) for _ in range(draw.randint(10, 20)))


def _cyclic(draw: random.Random) -> _Drawn:
    def encoded(text: str) -> str:
        groups = [text[at : at + 3] for at in range(0, len(text), 3)]
        return "".join(group[1:] + group[0] if len(group) == 3 else group for group in groups)

    return [([encoded(word)], _asserted(f"assert out == {word!r}")) for word in _words(draw)]


def _shifted(draw: random.Random) -> _Drawn:
    def encoded(text: str) -> str:
        return "".join(chr((ord(letter) + 5 - ord("a")) % 26 + ord("a")) for letter in text)

    return [([encoded(word)], _asserted(f"assert out == {word!r}")) for word in _words(draw)]


def _sums(draw: random.Random) -> _Drawn:
    pairs = [[draw.randint(0, 1000), draw.randint(0, 1000)] for _ in range(_MANY)]
    return [(pair, _asserted(f"assert out == {sum(pair)}")) for pair in pairs]


_DRAWN: Mapping[str, Callable[[random.Random], _Drawn]] = MappingProxyType(
    {"HumanEval/32": _roots, "HumanEval/38": _cyclic, "HumanEval/50": _shifted, "HumanEval/53": _sums}
)
