"""Tests that are programs in Python, of HumanEval, MBPP, KodCode and EvalPlus: read, and never run here.

An assertion that calls the function once becomes a test: the arguments are its input, and what is asserted of
the result is its answer. A program of this module judges that in the box of checkers; plain equality is the
comparison `json`.
"""

from __future__ import annotations

import ast
import builtins
import copy
import random
import re
import string
import symtable
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import wraps
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, cast

from msgspec.structs import replace

from ioi_eval.model.values import Blob, Checker, CheckerKind, NamedBlob, Problem
from ioi_eval.rules.json_tests import (
    NO_CASES,
    Case,
    Cases,
    CasesError,
    as_arguments,
    as_json,
    broken,
    literal,
    with_cases,
)

# Reads a function's result and arguments as the harness of functions writes them.
READ_VALUES = """\
import ast, json, sys
sys.set_int_max_str_digits(0)

def fixed(held):  # sets within a set and in keys cannot change
    if isinstance(held, tuple):
        return tuple(map(fixed, held))
    return frozenset(held) if isinstance(held, set) else held

def value(said):
    if isinstance(said, list):
        return [value(item) for item in said]
    if not isinstance(said, dict):
        return said
    (kind, held), = said.items()
    one = {"tuple": tuple, "set": set, "dict": dict, "float": float, "bytes": bytes.fromhex, "iterator": iter}
    several = {"complex": complex, "range": range}
    made = ((fixed(key), item) for key, item in map(value, held)) if kind == "dict" else value(held)
    made = map(fixed, made) if kind == "set" else made
    return several[kind](*made) if kind in several else one[kind](made)

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


_TESTED = ("solution", "submission")  # modules that stand for the program


class Asserted(NamedTuple):
    """Calls of a function, and how their results are judged."""

    function: str
    cases: tuple[Case, ...]
    checker: Checker

    def of(self, problem: Problem, blob: Callable[[str], Blob]) -> Problem:
        """Return the problem with these tests."""
        tested = with_cases(problem, Cases(cases=self.cases, function=self.function), blob)
        return replace(tested, checker=self.checker)


def python_checker(source: str, *, decides: bool = False) -> Checker:
    """Return a checker that prints 1 for right and 0 for wrong. `decides`: see `Checker`."""
    file = NamedBlob(name="checker.py", content=Blob.of(source))
    return Checker(kind=CheckerKind.CODEFORCES, sources=(file,), language="python", decides=decides)


def parsed(source: str) -> ast.Module:
    """Return a test's program as a tree; of functions with one name the last one. CasesError."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise broken(f"the test is no Python ({error})") from error
    for holder in ast.walk(module):
        if isinstance(holder, ast.Module | ast.ClassDef):
            last = {node.name: node for node in holder.body if isinstance(node, ast.FunctionDef)}
            holder.body = [
                node
                for node in holder.body
                if not isinstance(node, ast.FunctionDef) or last[node.name] is node
            ]
    return module


_Read = TypeVar("_Read", bound=Callable[..., Asserted])


def _not_too_deep(read: _Read) -> _Read:
    """Make CasesError of a test that is nested so deep that it cannot be looked through."""

    @wraps(read)
    def reading(*given: Any, **named: Any) -> Asserted:
        try:
            return read(*given, **named)
        except RecursionError as error:
            raise broken("the test is nested too deep") from error

    return cast(_Read, reading)


@_not_too_deep
def read_assertions(source: str, function: str = "", *, drawn: str = "") -> Asserted:
    """Return the tests that a program's assertions are, and how they are judged. CasesError for other forms.

    `function` is empty where the assertions name it. `drawn` is the id of a problem of HumanEval, of which
    some draw their arguments.
    """
    module = parsed(source)
    helpers = [node for node in module.body if _helps(node)]
    called = {"candidate", function} if function else {_function(module, helpers)}
    others = _asserting(module)
    found = [pair for body in _bodies(module) for pair in _tests(body, called, drawn in _DRAWN, others)]
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
        _check_names("\n".join([text, *answers]))
        checker = python_checker(f"{READ_VALUES}HELPERS = {text!r}\n{_CHECKER}", decides=True)
    pairs = zip(found, answers, strict=True)
    return Asserted(
        _imported(module).get(name, name),
        tuple(Case(as_arguments(given), expected) for (given, _), expected in pairs),
        checker,
    )


def _check_names(source: str) -> None:
    """Raise CasesError for a name that nothing binds. To a checker, each program would be wrong for it."""
    if "import *" in source:
        return
    try:
        tables = [top := symtable.symtable(source, "test", "exec")]
    except (SyntaxError, RecursionError) as error:
        raise broken(f"the test is no Python ({error})") from error
    known = {"inp", "out", *dir(builtins)}
    known |= {one.get_name() for one in top.get_symbols() if one.is_assigned() or one.is_imported()}
    for table in tables:
        tables += table.get_children()
        for name in table.get_symbols():
            if name.is_referenced() and (table is top or name.is_global()) and name.get_name() not in known:
                raise broken(f"nothing defines {name.get_name()!r}, of which the tests speak")


def _helps(node: ast.stmt) -> bool:
    """Return True for what assertions may use: imports, other functions, constants."""
    if isinstance(node, ast.FunctionDef):
        return node.name != "check" and not node.name.startswith("test")
    if isinstance(node, ast.ImportFrom):
        return node.module not in _TESTED
    return isinstance(node, ast.Import | ast.Assign)


def _imported(module: ast.Module) -> dict[str, str]:
    """Return what the tests import from the program by another name: its own names."""
    return {
        alias.asname: alias.name
        for node in module.body
        if isinstance(node, ast.ImportFrom) and node.module in _TESTED
        for alias in node.names
        if alias.asname
    }


def _bodies(module: ast.Module) -> Iterator[list[ast.stmt]]:
    """Yield the program's own statements, and those of `check` and of each function that tests."""
    yield module.body
    for node in ast.walk(module):
        if isinstance(node, ast.AsyncFunctionDef):
            raise broken(f"{node.name!r} is asynchronous")
        if isinstance(node, ast.FunctionDef) and not _helps(node):
            if any(re.search(r"\b(skip|xfail)", ast.unparse(mark)) for mark in node.decorator_list):
                raise broken(f"{node.name!r} may be skipped, or is to fail")
            yield node.body


def _asserting(module: ast.Module) -> set[str]:
    """Return the names of functions that are no tests, and assert something."""
    return {
        node.name
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef)
        and _helps(node)
        and any(isinstance(part, ast.Assert) for part in ast.walk(node))
    }


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
            for call in ast.walk(_Names(values).visit(copy.deepcopy(part)))
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id not in own
        ]
        for body in [*_bodies(module), *(node.body for node in helpers if isinstance(node, ast.FunctionDef))]
        for node, values in _with_values(body)
        if not isinstance(node, ast.FunctionDef | ast.ClassDef)
        for part in ast.walk(node)
        if isinstance(part, ast.Assert)
    ]
    common = [name for name in (called[0] if called else ()) if all(name in names for names in called)]
    if not common:
        raise broken("no function that all assertions call") if called else CasesError(NO_CASES)
    return common[0]


def _tests(
    body: list[ast.stmt], called: set[str], draws: bool, others: set[str]
) -> Iterator[tuple[Any, ast.Assert]]:
    """Yield arguments and what is asserted of the result. Names that were given a value stand for it.

    `others`: functions that assert.
    """
    for node, values in _with_values(body):
        if (
            isinstance(node, ast.For | ast.While | ast.If | ast.With | ast.Try) or _asserts(node, others)
        ) and not draws:
            raise broken(f"{ast.unparse(node)[:60]!r} is no plain assertion")
        if isinstance(node, ast.Assert):
            # Nobody is told the message, and names in it are often of what is not known here.
            replaced = Result(lambda name, _: name in called)
            statement = replaced.visit(_Names(values).visit(copy.deepcopy(ast.Assert(node.test, None))))
            if named := next((call for call in replaced.calls if call.keywords), None):
                raise broken(f"{ast.unparse(named)[:60]!r} names its arguments")
            if len({ast.dump(ast.List(call.args, ast.Load())) for call in replaced.calls}) > 1:
                raise broken(f"{ast.unparse(node)[:60]!r} calls the function with several arguments")
            if replaced.calls:
                _check_use(statement, called)
                yield [literal(_Folded().visit(item)) for item in replaced.calls[0].args], statement
            elif not isinstance(node.test, ast.Constant) and not draws:
                raise broken(f"{ast.unparse(node)[:60]!r} asserts nothing of a call")
        elif isinstance(node, _CHANGING) and not (
            draws or _named(node) or values.keys().isdisjoint(_names(node))
        ):
            raise broken(f"{ast.unparse(node)[:60]!r} may change what is asserted of")


# What a result may be once it went through JSON.
_KINDS = (int, float, complex, str, bytes, list, tuple, set, dict, range, type(iter("")))
_OF_KINDS = frozenset(name for kind in _KINDS for name in dir(kind))


def _check_use(statement: ast.Assert, called: set[str]) -> None:
    """Raise CasesError where JSON does not tell what is asked: an object, its identity, a dict's order."""
    for node in ast.walk(statement):
        match node:
            case ast.Attribute(ast.Name("out"), name):
                told = name in _OF_KINDS and not any(one[0].isupper() for one in called)  # a class's method
            case ast.Compare(ast.Name("out"), [ast.Is() | ast.IsNot()], [other]) | ast.Compare(
                other, [ast.Is() | ast.IsNot()], [ast.Name("out")]
            ):
                told = isinstance(other, ast.Constant)
            case ast.Call(ast.Name("out")) | ast.Call(
                ast.Name("list" | "tuple" | "iter"),
                [ast.Call(ast.Attribute(ast.Name("out"), "keys" | "values" | "items"))],
            ):
                told = False
            case _:
                told = True
        if not told:
            raise broken(f"{ast.unparse(node)[:60]!r} asks of a result what JSON does not tell")


def _asserts(node: ast.stmt, others: set[str]) -> bool:
    """Return True for an assertion in other words: `pytest.raises(E, f, 1)`, `self.assertEqual(f(1), 2)`."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    name = ast.unparse(node.value.func).rpartition(".")[2]
    return name in others or name.lower().startswith(("assert", "raises", "fail"))


_CHANGING = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Delete, ast.Expr)


def _names(node: ast.AST) -> Iterator[str]:
    return (part.id for part in ast.walk(node) if isinstance(part, ast.Name))


class _Values(dict[str, ast.expr]):
    """The values that names have, and how many parts may still be put in their places."""

    room = 300_000  # each may name others twice, and so on


def _with_values(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, _Values]]:
    """Yield the statements, each with the values that names have there."""
    values = _Values()
    for node in _unrolled(body):
        yield node, values
        if isinstance(node, ast.Assign) and (name := _named(node)):
            values[name] = _Names(values).visit(copy.deepcopy(node.value))


def _named(node: ast.stmt) -> str:
    """Return the one name to which a statement gives a value, or nothing."""
    match node:
        case ast.Assign([ast.Name(name)]):
            return name
        case _:
            return ""


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
    """Puts values in the place of names, but not where an expression binds them anew."""

    def __init__(self, values: _Values, bound: Collection[str] = ()) -> None:
        self._values, self._bound = values, bound

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._bound or node.id not in self._values:
            return node
        value = self._values[node.id]
        self._values.room -= sum(1 for _ in ast.walk(value))
        if self._values.room < 0:
            raise broken(f"{node.id!r} and other names stand for too much")
        return copy.deepcopy(value)

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> ast.AST:
        bound = {name for part in node.generators for name in _names(part.target)}
        return _Names(self._values, {*self._bound, *bound}).generic_visit(node)

    visit_SetComp = visit_GeneratorExp = visit_DictComp = visit_ListComp


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
            numbers = isinstance(left, int | float) and isinstance(right, int | float)
            match node.op:
                case ast.Add() if type(left) is type(right) or numbers:
                    value = left + right
                case ast.Sub() if numbers:
                    value = left - right
                case ast.Mult() if numbers or _repeated(left, right) <= _MOST_ITEMS:
                    value = left * right
                case ast.Pow() if numbers and 0 <= right <= 1000 and abs(left) <= 1000:
                    value = left**right
                case _:
                    return node
            return ast.parse(repr(value), mode="eval").body
        except (ValueError, TypeError, OverflowError):  # also of sums that are no plain values, or too large
            return node


_MOST_ITEMS = 1_000_000


def _repeated(left: Any, right: Any) -> float:
    """How long a repetition is, and infinity where none is small: `[0] * 5` is a test's own writing."""
    times, items = (left, right) if isinstance(left, int) else (right, left)
    small = isinstance(times, int) and times <= 10_000 and isinstance(items, str | bytes | list | tuple)
    return times * len(items) if small else float("inf")


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


# --- tests of HumanEval+ and MBPP+: lists of inputs and results, and a loop over them ---------------------

FLOATS, RELATIVE = 1e-6, 1e-7  # tolerances of EvalPlus, where a problem has none of its own
INPUTS = re.compile(r"^\s*inputs\s*=", re.M)  # in such a test
_ARGUMENTS, _REFERENCE = "*inp", "ref_func"


@_not_too_deep
def read_test(source: str, function: str) -> Asserted:
    """Return the test that a row's program runs. CasesError for other forms."""
    module = parsed(source)
    defined = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
    body = defined["check"].body if "check" in defined else module.body
    lists = {ast.unparse(node.targets[0]): node.value for node in body if isinstance(node, ast.Assign)}
    loops = [node for node in body if isinstance(node, ast.For)]
    if "inputs" not in lists or not loops:
        raise broken(
            "the test has no list of inputs, or does not go through it (rows of plain HumanEval: humaneval)"
        )
    inputs = literal(lists["inputs"])
    results = literal(lists["results"]) if "results" in lists else [None] * len(inputs)
    if not inputs or len(inputs) != len(results):
        raise broken(f"{len(inputs)} inputs and {len(results)} results")
    asserted = Result(
        lambda name, call: name != _REFERENCE and [*map(ast.unparse, call.args)] == [_ARGUMENTS]
    )
    statement = asserted.visit(loops[-1].body[-1])
    checker = _compared(defined.get("assertion"), statement, results)
    if checker is None:
        checker = _plus_checker([node for node in module.body if _helps_plus(node)], statement)
    called = next(reversed(asserted.names), "")
    pairs = zip(inputs, results, strict=True)
    cases = tuple(Case(as_arguments(given), as_json(wanted)) for given, wanted in pairs)
    return Asserted(function or called, cases, checker)


def _compared(assertion: ast.FunctionDef | None, statement: ast.AST, results: list[Any]) -> Checker | None:
    """The comparison that is built in, if the test asks for that: `==`, or numbers that are close."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if assertion is None or not isinstance(call, ast.Call) or ast.unparse(call.args[1]) != "exp":
        return None
    assigned = (node for node in ast.walk(assertion) if isinstance(node, ast.Assign))
    matches = {ast.unparse(node.value) for node in assigned if ast.unparse(node.targets[0]) == "exact_match"}
    if matches != {"out == exp"}:
        return None
    own = literal(call.args[2])
    several = (result if isinstance(result, list | tuple) else [result] for result in results)
    floats = any(all(isinstance(item, float) for item in items) for items in several)
    absolute = own or (FLOATS if floats else None)
    return Checker(kind=CheckerKind.JSON, absolute=absolute, relative=RELATIVE if absolute else None)


# --- tests that compare in their own way -------------------------------------------------------------


_OWN_PROGRAM = """\
{helpers}

inp, exp = ast.literal_eval(given), value(json.loads(wanted))
{reference}
try:
    out = value(json.loads(got))
    {statement}
except Exception:  # as in EvalPlus: what cannot be compared is wrong
    print(0)
else:
    print(1)
"""


def _helps_plus(node: ast.stmt) -> bool:
    if isinstance(node, ast.FunctionDef):
        return node.name != "check"
    return isinstance(node, ast.Import | ast.ImportFrom)


def _plus_checker(helpers: list[ast.stmt], statement: ast.AST) -> Checker:
    """The test's own program for one input, as a checker."""
    reference = ""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        reference = f"exp = {ast.unparse(statement.value.args[1])}"
        statement.value.args[1] = ast.Name("exp", ast.Load())
    for node in helpers:
        if isinstance(node, ast.FunctionDef) and node.name == "assertion":
            # A few exported tests find out whether there is a match, and leave it at that.
            asserts = any(isinstance(part, ast.Assert) for part in ast.walk(node))
            node.body += [] if asserts else ast.parse("assert exact_match").body
    source = READ_VALUES + _OWN_PROGRAM.format(
        helpers="\n\n".join(map(ast.unparse, helpers)),
        reference=reference,
        # HumanEval/32 unpacks the root instead of the coefficients; EvalPlus's own runner does not.
        statement=ast.unparse(statement).replace("_poly(*out, inp)", "abs(_poly(*inp, out))"),
    )
    return python_checker(source, decides=True)
