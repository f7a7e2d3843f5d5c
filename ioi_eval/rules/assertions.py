"""Read tests that are Python programs, as in HumanEval, MBPP, KodCode and EvalPlus, without running them.

An assertion that calls the function becomes a test. Its input is the call's arguments, its answer is the
condition on the result. If the condition is plain equality, the comparison `json` judges the result.
Otherwise a checker program that this module generates judges it, in the sandbox of checkers.
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
from functools import cache, partial, wraps
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, cast

from msgspec.structs import replace

from ioi_eval.model.text import format_count
from ioi_eval.model.values import Blob, Checker, CheckerKind, NamedBlob, Problem
from ioi_eval.rules.json_tests import (
    NO_CASES,
    Case,
    Cases,
    CasesError,
    evaluate_literal,
    format_arguments,
    format_result,
    unparsable_tests,
    with_cases,
)

# Code at the start of a Python checker. It decodes a function's arguments and result, which the harness has
# encoded.
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


_SUBMISSION_MODULES = ("solution", "submission")  # names under which tests import the submission


class Asserted(NamedTuple):
    """A function's test cases and the checker that judges its results."""

    function: str
    cases: tuple[Case, ...]
    checker: Checker

    def add_to(self, problem: Problem, store_text: Callable[[str], Blob]) -> Problem:
        """Return the problem with these tests. `store_text` stores the text of an input or answer."""
        tested_problem = with_cases(problem, Cases(cases=self.cases, function=self.function), store_text)
        return replace(tested_problem, checker=self.checker)


def make_python_checker(source: str, *, failure_means_wrong: bool = False) -> Checker:
    """Return a checker that is a Python program, which prints 1 for a right output and 0 for a wrong output.

    `failure_means_wrong`: an output is wrong if the checker fails on it but succeeds on the expected answer.
    """
    checker_file = NamedBlob(name="checker.py", content=Blob.of(source))
    return Checker(
        kind=CheckerKind.CODEFORCES, sources=(checker_file,), language="python", decides=failure_means_wrong
    )


def parse_test_program(source: str) -> ast.Module:
    """Return the syntax tree of a test program. If a function is defined twice, the last definition counts.

    Raises CasesError if the program is not Python.
    """
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise unparsable_tests(f"the test is not valid Python ({error})") from error
    for block in ast.walk(module):
        if isinstance(block, ast.Module | ast.ClassDef):
            last_functions = {node.name: node for node in block.body if isinstance(node, ast.FunctionDef)}
            block.body = [
                node
                for node in block.body
                if not isinstance(node, ast.FunctionDef) or last_functions[node.name] is node
            ]
    return module


_TestReader = TypeVar("_TestReader", bound=Callable[..., Asserted])


def _refuse_deeply_nested_tests(test_reader: _TestReader) -> _TestReader:
    """Decorate a reader so that it raises CasesError for a test that is nested too deeply."""

    @wraps(test_reader)
    def wrapper(*arguments: Any, **keywords: Any) -> Asserted:
        try:
            return test_reader(*arguments, **keywords)
        except RecursionError as error:
            raise unparsable_tests("the test is nested too deeply") from error

    return cast(_TestReader, wrapper)


@_refuse_deeply_nested_tests
def read_assertions(source: str, function_name: str = "") -> Asserted:
    """Return the test cases in a program's assertions, and the checker that judges them.

    Args:
        source: the test program.
        function_name: name of the tested function, or "" if the assertions name it.

    Raises:
        CasesError: if the program lacks assertions or uses a form that is not supported.
    """
    module = parse_test_program(source)
    helpers = [node for node in module.body if _is_helper_statement(node)]
    tested_names = {"candidate", function_name} if function_name else {_find_tested_function(module, helpers)}
    asserting_helpers = _list_asserting_helpers(module)
    assertions = [
        arguments_and_assertion
        for body in _list_test_bodies(module)
        for arguments_and_assertion in _list_argument_assertions(body, tested_names, asserting_helpers)
    ]
    if not assertions:
        raise CasesError(NO_CASES)
    tested_function = function_name or next(iter(tested_names))
    expected_values = [_find_expected_value(statement) for _, statement in assertions]
    if all(node is not None for node in expected_values):
        answers = [format_result(evaluate_literal(node)) for node in expected_values if node is not None]
        checker = Checker(kind=CheckerKind.JSON)
    else:
        answers = [ast.unparse(statement) for _, statement in assertions]
        helper_source = "\n\n".join(map(ast.unparse, helpers))
        _require_defined_names("\n".join([helper_source, *answers]))
        checker = make_python_checker(
            f"{READ_VALUES}HELPERS = {helper_source!r}\n{_CHECKER}", failure_means_wrong=True
        )
    assertions_with_answers = zip(assertions, answers, strict=True)
    return Asserted(
        _find_import_aliases(module).get(tested_function, tested_function),
        tuple(
            Case(format_arguments(arguments), expected)
            for (arguments, _), expected in assertions_with_answers
        ),
        checker,
    )


def _require_defined_names(source: str) -> None:
    """Raise CasesError if the source uses an undefined name. The checker would then reject every result."""
    if "import *" in source:
        return
    try:
        symbol_tables = [top_table := symtable.symtable(source, "test", "exec")]
    except (SyntaxError, RecursionError) as error:
        raise unparsable_tests(f"the test is not valid Python ({error})") from error
    known_names = {"inp", "out", *dir(builtins)}
    known_names |= {
        symbol.get_name()
        for symbol in top_table.get_symbols()
        if symbol.is_assigned() or symbol.is_imported()
    }
    for symbol_table in symbol_tables:
        symbol_tables += symbol_table.get_children()
        for symbol_name in symbol_table.get_symbols():
            if (
                symbol_name.is_referenced()
                and (symbol_table is top_table or symbol_name.is_global())
                and symbol_name.get_name() not in known_names
            ):
                raise unparsable_tests(
                    f"the tests use the name {symbol_name.get_name()!r}, which is not defined"
                )


def _is_helper_statement(node: ast.stmt) -> bool:
    """Return True for statements that assertions may use: imports, other functions, constants."""
    if isinstance(node, ast.FunctionDef):
        return node.name != "check" and not node.name.startswith("test")
    if isinstance(node, ast.ImportFrom):
        return node.module not in _SUBMISSION_MODULES
    return isinstance(node, ast.Import | ast.Assign)


def _find_import_aliases(module: ast.Module) -> dict[str, str]:
    """Return the original names, by alias, of the functions that the tests import from the program."""
    return {
        alias.asname: alias.name
        for node in module.body
        if isinstance(node, ast.ImportFrom) and node.module in _SUBMISSION_MODULES
        for alias in node.names
        if alias.asname
    }


def _list_test_bodies(module: ast.Module) -> Iterator[list[ast.stmt]]:
    """Yield the statements of the module, of `check` and of each test function."""
    yield module.body
    for node in ast.walk(module):
        if isinstance(node, ast.AsyncFunctionDef):
            raise unparsable_tests(f"the test function {node.name!r} is asynchronous")
        if isinstance(node, ast.FunctionDef) and not _is_helper_statement(node):
            if any(re.search(r"\b(skip|xfail)", ast.unparse(decorator)) for decorator in node.decorator_list):
                raise unparsable_tests(
                    f"the test function {node.name!r} may be skipped or is expected to fail"
                )
            yield node.body


def _list_asserting_helpers(module: ast.Module) -> set[str]:
    """Return the names of helper functions that contain an assertion."""
    return {
        node.name
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef)
        and _is_helper_statement(node)
        and any(isinstance(inner_node, ast.Assert) for inner_node in ast.walk(node))
    }


def _find_tested_function(module: ast.Module, helpers: list[ast.stmt]) -> str:
    """Return the only function that every assertion calls and that the test program does not define."""
    defined_names = {node.name for node in helpers if isinstance(node, ast.FunctionDef)} | set(dir(builtins))
    defined_names |= {
        alias.asname or alias.name
        for node in helpers
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    called_by_assertion = [
        [
            call.func.id
            for call in ast.walk(_NameReplacer(values_by_name).visit(copy.deepcopy(inner_node)))
            if isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id not in defined_names
        ]
        for body in [
            *_list_test_bodies(module),
            *(node.body for node in helpers if isinstance(node, ast.FunctionDef)),
        ]
        for node, values_by_name in _list_statements_with_values(body)
        if not isinstance(node, ast.FunctionDef | ast.ClassDef)
        for inner_node in ast.walk(node)
        if isinstance(inner_node, ast.Assert)
    ]
    common_names = [
        name
        for name in (called_by_assertion[0] if called_by_assertion else ())
        if all(name in called_names for called_names in called_by_assertion)
    ]
    if not common_names:
        raise (
            unparsable_tests("the assertions do not all call the same function")
            if called_by_assertion
            else CasesError(NO_CASES)
        )
    return common_names[0]


def _list_argument_assertions(
    body: list[ast.stmt], tested_names: set[str], asserting_helpers: set[str]
) -> Iterator[tuple[Any, ast.Assert]]:
    """Yield, for each assertion, the call's arguments and the condition on its result.

    Names are replaced by the values that they were assigned. The loops of HumanEval's tests are replaced by
    the tests in `_HUMANEVAL_LOOPS`; other loops are refused.

    Args:
        body: statements of a function or of the module.
        tested_names: names of the tested function.
        asserting_helpers: names of helper functions that assert something.
    """
    for node, values_by_name in _list_statements_with_values(body):
        if isinstance(node, ast.For) and (loop_tests := _find_tests_of_loop(node)) is not None:
            yield from loop_tests
            continue
        if isinstance(node, ast.For | ast.While | ast.If | ast.With | ast.Try) or _is_assertion_call(
            node, asserting_helpers
        ):
            remedy = "; write an assertion for each value" if isinstance(node, ast.For) else ""
            raise unparsable_tests(f"{ast.unparse(node)[:60]!r} is not a plain assertion{remedy}")
        if isinstance(node, ast.Assert):
            # Drop the message of the assertion, which is never shown and often uses undefined names.
            result_calls = TestedCallReplacer(lambda name, _: name in tested_names)
            assertion = result_calls.visit(
                _NameReplacer(values_by_name).visit(copy.deepcopy(ast.Assert(node.test, None)))
            )
            if keyword_call := next((call for call in result_calls.calls if call.keywords), None):
                raise unparsable_tests(f"{ast.unparse(keyword_call)[:60]!r} passes arguments by keyword")
            if len({ast.dump(ast.List(call.args, ast.Load())) for call in result_calls.calls}) > 1:
                raise unparsable_tests(
                    f"{ast.unparse(node)[:60]!r} calls the function with several arguments"
                )
            if result_calls.calls:
                _require_properties_in_json(assertion, tested_names)
                yield (
                    [
                        evaluate_literal(_ConstantFolder().visit(argument))
                        for argument in result_calls.calls[0].args
                    ],
                    assertion,
                )
            elif not isinstance(node.test, ast.Constant):
                raise unparsable_tests(f"{ast.unparse(node)[:60]!r} does not assert anything about a call")
        elif isinstance(node, _MUTATING_STATEMENTS) and not (
            _find_assigned_name(node) or values_by_name.keys().isdisjoint(_list_variable_names(node))
        ):
            raise unparsable_tests(f"{ast.unparse(node)[:60]!r} may change a value that an assertion uses")


# Types that a function's result may have after it was decoded from JSON.
_RESULT_TYPES = (int, float, complex, str, bytes, list, tuple, set, dict, range, type(iter("")))
_RESULT_ATTRIBUTES = frozenset(name for kind in _RESULT_TYPES for name in dir(kind))


def _require_properties_in_json(statement: ast.Assert, tested_names: set[str]) -> None:
    """Raise CasesError if an assertion uses a property of the result that JSON does not preserve.

    Examples are its class, its identity and the order of a dict.
    """
    for node in ast.walk(statement):
        match node:
            case ast.Attribute(ast.Name("out"), name):
                # If the tested name starts with a capital letter, it is a class, and the attribute may be its
                # method.
                is_visible = name in _RESULT_ATTRIBUTES and not any(
                    tested_name[0].isupper() for tested_name in tested_names
                )
            case ast.Compare(ast.Name("out"), [ast.Is() | ast.IsNot()], [operand]) | ast.Compare(
                operand, [ast.Is() | ast.IsNot()], [ast.Name("out")]
            ):
                is_visible = isinstance(operand, ast.Constant)
            case ast.Call(ast.Name("out")) | ast.Call(
                ast.Name("list" | "tuple" | "iter"),
                [ast.Call(ast.Attribute(ast.Name("out"), "keys" | "values" | "items"))],
            ):
                is_visible = False
            case _:
                is_visible = True
        if not is_visible:
            raise unparsable_tests(
                f"{ast.unparse(node)[:60]!r} checks a property of the result that JSON does not preserve"
            )


def _is_assertion_call(node: ast.stmt, asserting_helpers: set[str]) -> bool:
    """Return True for assertions that are calls: `pytest.raises(E, f, 1)`, `self.assertEqual(f(1), 2)`."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    name = ast.unparse(node.value.func).rpartition(".")[2]
    return name in asserting_helpers or name.lower().startswith(("assert", "raises", "fail"))


_MUTATING_STATEMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Delete, ast.Expr)


def _list_variable_names(node: ast.AST) -> Iterator[str]:
    """Yield all names in a syntax tree."""
    return (inner_node.id for inner_node in ast.walk(node) if isinstance(inner_node, ast.Name))


# Maximum number of syntax nodes that replace names. Without this limit, values that use earlier names twice
# would grow exponentially.
MAX_INSERTED_NODES = 300_000


class _ValuesByName(dict[str, ast.expr]):
    """The values of names, as syntax trees that replace the names."""

    inserted_nodes = 0  # number of syntax nodes that replaced names


def _list_statements_with_values(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, _ValuesByName]]:
    """Yield each statement with the values that names have before it."""
    values_by_name = _ValuesByName()
    for node in body:
        yield node, values_by_name
        if isinstance(node, ast.Assign) and (name := _find_assigned_name(node)):
            values_by_name[name] = _NameReplacer(values_by_name).visit(copy.deepcopy(node.value))


def _find_assigned_name(node: ast.stmt) -> str:
    """Return the name that a statement assigns a value to, or "" if it is not a simple assignment."""
    match node:
        case ast.Assign([ast.Name(name)]):
            return name
        case _:
            return ""


class _NameReplacer(ast.NodeTransformer):
    """Replace names by their values, except names that a comprehension binds."""

    def __init__(self, values_by_name: _ValuesByName, bound_names: Collection[str] = ()) -> None:
        self._values_by_name, self._bound_names = values_by_name, bound_names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._bound_names or node.id not in self._values_by_name:
            return node
        value = self._values_by_name[node.id]
        self._values_by_name.inserted_nodes += sum(1 for _ in ast.walk(value))
        if self._values_by_name.inserted_nodes > MAX_INSERTED_NODES:
            raise unparsable_tests(
                f"the test's variables, such as {node.id!r}, have values that are too large"
            )
        return copy.deepcopy(value)

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> ast.AST:
        comprehension_names = {
            name for generator in node.generators for name in _list_variable_names(generator.target)
        }
        return _NameReplacer(self._values_by_name, {*self._bound_names, *comprehension_names}).generic_visit(
            node
        )

    visit_SetComp = visit_GeneratorExp = visit_DictComp = visit_ListComp


class TestedCallReplacer(ast.NodeTransformer):
    """Replaces each call of the tested function by the name `out`.

    `calls` and `names` collect the replaced calls and the names by which they called the function.
    """

    def __init__(self, is_tested_call: Callable[[str, ast.Call], bool]) -> None:
        """`is_tested_call(name, call)` returns True if `call` calls the tested function."""
        self._is_tested_call, self.calls, self.names = is_tested_call, list[ast.Call](), list[str]()

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Name) or not self._is_tested_call(node.func.id, node):
            return node
        self.calls.append(node)
        self.names.append(node.func.id)
        return ast.Name("out", ast.Load())


class _ConstantFolder(ast.NodeTransformer):
    """Evaluate small constant expressions: 10 ** 9, [0] * 5, list(range(9))."""

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
            left_value, right_value = ast.literal_eval(node.left), ast.literal_eval(node.right)
            are_numbers = isinstance(left_value, int | float) and isinstance(right_value, int | float)
            match node.op:
                case ast.Add() if type(left_value) is type(right_value) or are_numbers:
                    folded_value = left_value + right_value
                case ast.Sub() if are_numbers:
                    folded_value = left_value - right_value
                case ast.Mult() if (
                    are_numbers or _compute_repeated_sequence_length(left_value, right_value) <= _MAX_ITEMS
                ):
                    folded_value = left_value * right_value
                case ast.Pow() if are_numbers and 0 <= right_value <= 1000 and abs(left_value) <= 1000:
                    folded_value = left_value**right_value
                case _:
                    return node
            return ast.parse(repr(folded_value), mode="eval").body
        # The operands are not plain values, or the result is too large.
        except (ValueError, TypeError, OverflowError):
            return node


_MAX_ITEMS = 1_000_000


def _compute_repeated_sequence_length(left: Any, right: Any) -> float:
    """Return the length of a repetition such as `[0] * 5`, or infinity for any other product."""
    times, items = (left, right) if isinstance(left, int) else (right, left)
    is_small = isinstance(times, int) and times <= 10_000 and isinstance(items, str | bytes | list | tuple)
    return times * len(items) if is_small else float("inf")


def _find_expected_value(statement: ast.Assert) -> ast.expr | None:
    """Return the value that the result must equal, or None if the assertion is anything but an equality."""
    condition = statement.test
    if (
        not isinstance(condition, ast.Compare)
        or len(condition.ops) != 1
        or not isinstance(condition.ops[0], ast.Eq)
    ):
        return None
    compared_nodes = condition.left, condition.comparators[0]
    other_sides: list[ast.expr] = [
        _ConstantFolder().visit(compared_node)
        for compared_node in compared_nodes
        if ast.unparse(compared_node) != "out"
    ]
    if len(other_sides) != 1:
        return None
    try:
        format_result(evaluate_literal(other_sides[0]))
    except CasesError:
        return None
    return other_sides[0]


# --- loops in HumanEval's tests ----------------------------------------------------------------------


_RANDOM_TESTS = 100  # number of random tests of a problem, as in the dataset
_ArgumentsAndAssertions = list[
    tuple[Any, ast.Assert]
]  # pairs of a call's arguments and an assertion about its result


def _parse_assert(source: str) -> ast.Assert:
    """Return the syntax tree of an assert statement from this module."""
    [node] = ast.parse(source).body
    assert isinstance(node, ast.Assert), "only called with assertions"
    return node


def _make_polynomial_root_tests() -> _ArgumentsAndAssertions:
    """Return tests of HumanEval/32: the input is a polynomial's coefficients, and the result is a root."""
    random_source = random.Random("HumanEval/32")
    coefficient_lists = [
        [random_source.randint(-10, 10) or 1 for _ in range(2 * random_source.randint(1, 4))]
        for _ in range(_RANDOM_TESTS)
    ]
    root_assertion = _parse_assert("assert abs(sum(c * out ** i for i, c in enumerate(inp[0]))) < 1e-4")
    return [([coefficients], root_assertion) for coefficients in coefficient_lists]


def _make_decoding_tests(problem_id: str, encode_word: Callable[[str], str]) -> _ArgumentsAndAssertions:
    """Return tests with encoded random words of lower-case letters, which the program decodes."""
    random_source = random.Random(problem_id)
    random_words = (
        "".join(random_source.choice(string.ascii_lowercase) for _ in range(random_source.randint(10, 20)))
        for _ in range(_RANDOM_TESTS)
    )
    return [
        ([encode_word(random_word)], _parse_assert(f"assert out == {random_word!r}"))
        for random_word in random_words
    ]


def _rotate_letter_groups(word: str) -> str:
    """Return the word with its groups of three letters rotated, as `encode_cyclic` of HumanEval/38."""
    letter_groups = [word[group_start : group_start + 3] for group_start in range(0, len(word), 3)]
    return "".join(
        letter_group[1:] + letter_group[0] if len(letter_group) == 3 else letter_group
        for letter_group in letter_groups
    )


def _shift_each_letter(word: str) -> str:
    """Return the word with each letter shifted by five in the alphabet, as `encode_shift` of HumanEval/50."""
    return "".join(chr((ord(letter) + 5 - ord("a")) % 26 + ord("a")) for letter in word)


def _make_change_base_tests() -> _ArgumentsAndAssertions:
    """Return tests of HumanEval/44: the inputs are a number x and the base x + 1, in which x is one digit."""
    return [([number, number + 1], _parse_assert(f"assert out == '{number}'")) for number in range(2, 8)]


def _make_addition_tests() -> _ArgumentsAndAssertions:
    """Return tests of HumanEval/53: two numbers, whose sum is wanted."""
    random_source = random.Random("HumanEval/53")
    summand_pairs = [
        [random_source.randint(0, 1000), random_source.randint(0, 1000)] for _ in range(_RANDOM_TESTS)
    ]
    return [(summands, _parse_assert(f"assert out == {sum(summands)}")) for summands in summand_pairs]


# Functions that return the tests which a loop in HumanEval's test program runs, by the loop's source. If the
# loop draws random arguments, the function returns the same arguments in every run.
_HUMANEVAL_LOOPS: Mapping[str, Callable[[], _ArgumentsAndAssertions]] = MappingProxyType(
    {
        """
for _ in range(100):
    ncoeff = 2 * rng.randint(1, 4)
    coeffs = []
    for _ in range(ncoeff):
        coeff = rng.randint(-10, 10)
        if coeff == 0:
            coeff = 1
        coeffs.append(coeff)
    solution = candidate(copy.deepcopy(coeffs))
    assert math.fabs(poly(coeffs, solution)) < 1e-4
""": _make_polynomial_root_tests,
        """
for _ in range(100):
    str = ''.join(choice(letters) for i in range(randint(10, 20)))
    encoded_str = encode_cyclic(str)
    assert candidate(encoded_str) == str
""": partial(_make_decoding_tests, "HumanEval/38", _rotate_letter_groups),
        """
for x in range(2, 8):
    assert candidate(x, x + 1) == str(x)
""": _make_change_base_tests,
        """
for _ in range(100):
    str = ''.join(choice(letters) for i in range(randint(10, 20)))
    encoded_str = encode_shift(str)
    assert candidate(copy.deepcopy(encoded_str)) == str
""": partial(_make_decoding_tests, "HumanEval/50", _shift_each_letter),
        """
for i in range(100):
    x, y = random.randint(0, 1000), random.randint(0, 1000)
    assert candidate(x, y) == x + y
""": _make_addition_tests,
    }
)


def _find_tests_of_loop(node: ast.For) -> _ArgumentsAndAssertions | None:
    """Return the tests that a loop in HumanEval's test program runs, or None for other loops."""
    make_tests = _index_humaneval_loops().get(ast.dump(node))
    return None if make_tests is None else make_tests()


@cache
def _index_humaneval_loops() -> Mapping[str, Callable[[], _ArgumentsAndAssertions]]:
    """Return `_HUMANEVAL_LOOPS` with the dump of each loop's syntax tree as the key.

    Unlike the source, the syntax tree does not depend on white space and comments.
    """
    return {
        ast.dump(ast.parse(source).body[0]): make_tests for source, make_tests in _HUMANEVAL_LOOPS.items()
    }


# --- tests of HumanEval+ and MBPP+: lists of inputs and results, and a loop over them ---------------------

FLOATS, RELATIVE = 1e-6, 1e-7  # tolerances that EvalPlus uses for problems without their own tolerance
INPUTS = re.compile(r"^\s*inputs\s*=", re.M)  # pattern for tests in the form of EvalPlus
_ARGUMENTS, _REFERENCE = "*inp", "ref_func"


@_refuse_deeply_nested_tests
def read_evalplus_test(source: str, function_name: str) -> Asserted:
    """Return the test cases of a test in EvalPlus's form: lists of inputs and results, and a loop over them.

    Raises CasesError for other forms.
    """
    module = parse_test_program(source)
    functions_by_name = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
    test_body = functions_by_name["check"].body if "check" in functions_by_name else module.body
    assigned_values = {
        ast.unparse(node.targets[0]): node.value for node in test_body if isinstance(node, ast.Assign)
    }
    loop_nodes = [node for node in test_body if isinstance(node, ast.For)]
    if "inputs" not in assigned_values or not loop_nodes:
        raise unparsable_tests(
            "the test has no list `inputs` or no loop over it"
            " (for plain HumanEval, choose the benchmark humaneval)"
        )
    inputs = evaluate_literal(assigned_values["inputs"])
    results = (
        evaluate_literal(assigned_values["results"]) if "results" in assigned_values else [None] * len(inputs)
    )
    if not inputs or len(inputs) != len(results):
        raise unparsable_tests(
            f"the test must have a result for each input, but has {format_count(len(inputs), 'input')}"
            f" and {format_count(len(results), 'result')}"
        )
    result_calls = TestedCallReplacer(
        lambda name, call: name != _REFERENCE and [*map(ast.unparse, call.args)] == [_ARGUMENTS]
    )
    comparison = result_calls.visit(loop_nodes[-1].body[-1])
    checker = _make_built_in_checker(functions_by_name.get("assertion"), comparison, results)
    if checker is None:
        checker = _make_evalplus_checker(
            [node for node in module.body if _is_evalplus_helper(node)], comparison
        )
    called_function = next(reversed(result_calls.names), "")
    inputs_and_results = zip(inputs, results, strict=True)
    cases = tuple(
        Case(format_arguments(arguments), format_result(result)) for arguments, result in inputs_and_results
    )
    return Asserted(function_name or called_function, cases, checker)


def _make_built_in_checker(
    assertion: ast.FunctionDef | None, statement: ast.AST, results: list[Any]
) -> Checker | None:
    """Return the built-in comparison if the test asks for `==` or for close numbers, else None."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if assertion is None or not isinstance(call, ast.Call) or ast.unparse(call.args[1]) != "exp":
        return None
    assignments = (node for node in ast.walk(assertion) if isinstance(node, ast.Assign))
    match_conditions = {
        ast.unparse(node.value) for node in assignments if ast.unparse(node.targets[0]) == "exact_match"
    }
    if match_conditions != {"out == exp"}:
        return None
    absolute_tolerance = evaluate_literal(call.args[2])
    result_lists = (result if isinstance(result, list | tuple) else [result] for result in results)
    has_floats = any(
        all(isinstance(result_item, float) for result_item in result_items) for result_items in result_lists
    )
    tolerance = absolute_tolerance or (FLOATS if has_floats else None)
    return Checker(kind=CheckerKind.JSON, absolute=tolerance, relative=RELATIVE if tolerance else None)


# --- tests with a special comparison -----------------------------------------------------------------


_COMPARISON_PROGRAM = """\
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


def _is_evalplus_helper(node: ast.stmt) -> bool:
    """Return True for statements that an EvalPlus test needs next to its comparison."""
    if isinstance(node, ast.FunctionDef):
        return node.name != "check"
    return isinstance(node, ast.Import | ast.ImportFrom)


def _make_evalplus_checker(helpers: list[ast.stmt], statement: ast.AST) -> Checker:
    """Return a checker that runs the comparison in an EvalPlus test."""
    reference_code = ""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        reference_code = f"exp = {ast.unparse(statement.value.args[1])}"
        statement.value.args[1] = ast.Name("exp", ast.Load())
    for node in helpers:
        if isinstance(node, ast.FunctionDef) and node.name == "assertion":
            # Some tests compute `exact_match` without asserting it.
            has_assertion = any(isinstance(inner_node, ast.Assert) for inner_node in ast.walk(node))
            node.body += [] if has_assertion else ast.parse("assert exact_match").body
    source = READ_VALUES + _COMPARISON_PROGRAM.format(
        helpers="\n\n".join(map(ast.unparse, helpers)),
        reference=reference_code,
        # The test of HumanEval/32 passes the root to `_poly` instead of the coefficients. EvalPlus's runner
        # passes the coefficients.
        statement=ast.unparse(statement).replace("_poly(*out, inp)", "abs(_poly(*inp, out))"),
    )
    return make_python_checker(source, failure_means_wrong=True)
