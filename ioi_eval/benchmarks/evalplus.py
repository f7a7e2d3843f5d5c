"""HumanEval+ and MBPP+ (EvalPlus): functions in Python, with hundreds of inputs each.

A row's test is a program: lists of inputs and results, and a loop that asserts something of each. It is read,
and never run here. Most compare by `==`, with a tolerance where numbers are floating: that is the comparison
`json`. The few that do something else (compare as sets, ask a reference) become checkers, which are run where
all checkers are.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

from msgspec.structs import replace

from ioi_eval.benchmarks.benchmark import Benchmark, BenchmarkOptions, Candidate, ColumnNames, Keep
from ioi_eval.benchmarks.tables import Row, Tables
from ioi_eval.model.values import Blob, Checker, CheckerKind, Limits, NamedBlob, Problem, Solution
from ioi_eval.rules.json_tests import Case, Cases, as_arguments, as_json, broken, literal, with_cases

# EvalPlus gives an input four times what its reference took, at least 1 s. What that took nobody knows here.
TIME_LIMIT = 4.0  # seconds
MEMORY_LIMIT = 4 << 30  # bytes
FLOATS, RELATIVE = 1e-6, 1e-7  # tolerances of EvalPlus, where a problem has none of its own
_ARGUMENTS, _REFERENCE = "*inp", "ref_func"


class _Plus(Benchmark):
    split: ClassVar = "test"
    language: ClassVar = "python"
    named = ColumnNames(statement="prompt")
    packages: ClassVar = ("numpy",)
    _prefix: ClassVar[str]
    _solution: ClassVar[tuple[str, ...]]  # columns that are its beginning and its end

    def candidate(self, row: Row) -> Candidate:
        number = row.name("task_id").rpartition("/")[2]
        return Candidate(id=f"{self._prefix}/{number}", rows=(row.index,), alias=number)

    def problem(self, candidate: Candidate, tables: Tables, keep: Keep, options: BenchmarkOptions) -> Problem:
        row = tables.main[candidate.rows[0]]

        def finish(problem: Problem) -> Problem:
            test = read_test(row.text("test"), row.text("entry_point", ""))
            pairs = zip(test.inputs, test.results, strict=True)
            cases = tuple(Case(as_arguments(given), as_json(wanted)) for given, wanted in pairs)
            problem = with_cases(problem, Cases(cases=cases, function=test.function), keep.blob)
            return replace(problem, checker=test.checker)

        return self.of_row(
            row,
            candidate,
            finish,
            limits=Limits.contest(TIME_LIMIT, MEMORY_LIMIT),
            starter_code=_joined(row, self._solution[:-1]),
        )

    def references(self, candidate: Candidate, tables: Tables) -> tuple[Solution, ...]:
        code = _joined(tables.main[candidate.rows[0]], self._solution)
        return (Solution(name="canonical", language="python", code=code, expected="correct"),)


class HumanEvalPlus(_Plus):
    name: ClassVar = "humaneval_plus"
    about: ClassVar = "HumanEval+ of EvalPlus: 164 functions in Python with many inputs"
    ids: ClassVar = r"HumanEval/[0-9]+"
    dataset: ClassVar = "evalplus/humanevalplus"
    columns: ClassVar = ("task_id", "prompt", "canonical_solution", "entry_point", "test")
    _prefix: ClassVar = "HumanEval"
    _solution: ClassVar = ("prompt", "canonical_solution")


class MbppPlus(_Plus):
    name: ClassVar = "mbpp_plus"
    about: ClassVar = "MBPP+ of EvalPlus: 378 functions in Python with many inputs"
    ids: ClassVar = r"Mbpp/[0-9]+"
    dataset: ClassVar = "evalplus/mbppplus"
    columns: ClassVar = ("task_id", "code", "prompt", "test_list", "test")
    _prefix: ClassVar = "Mbpp"
    _solution: ClassVar = ("code",)


def _joined(row: Row, columns: Sequence[str]) -> str:
    return "".join(map(row.text, columns))


# --- a test ------------------------------------------------------------------------------------------


class HiddenTest(NamedTuple):
    function: str
    inputs: list[Any]
    results: list[Any]
    checker: Checker


def read_test(source: str, function: str) -> HiddenTest:
    """Return the test that a row's program runs. CasesError for other forms."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise broken(f"the test is no Python ({error})") from error
    defined = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
    body = defined["check"].body if "check" in defined else module.body
    lists = {ast.unparse(node.targets[0]): node.value for node in body if isinstance(node, ast.Assign)}
    loops = [node for node in body if isinstance(node, ast.For)]
    if "inputs" not in lists or not loops:
        raise broken("the test has no list of inputs, or does not go through it")
    inputs = literal(lists["inputs"])
    results = literal(lists["results"]) if "results" in lists else [None] * len(inputs)
    if not inputs or len(inputs) != len(results):
        raise broken(f"{len(inputs)} inputs and {len(results)} results")
    asserted = _Result()
    statement = asserted.visit(loops[-1].body[-1])
    checker = _compared(defined.get("assertion"), statement, results)
    if checker is None:
        checker = _checker([node for node in module.body if _helps(node)], statement)
    return HiddenTest(function or asserted.function, inputs, results, checker)


class _Result(ast.NodeTransformer):
    """Puts `out` where the submission is called, and remembers how it is called there."""

    function = ""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        is_ours = [ast.unparse(item) for item in node.args] == [_ARGUMENTS] and isinstance(
            node.func, ast.Name
        )
        if not is_ours or ast.unparse(node.func) == _REFERENCE:
            return node
        self.function = ast.unparse(node.func)
        return ast.Name("out", ast.Load())


def _compared(assertion: ast.FunctionDef | None, statement: ast.AST, results: list[Any]) -> Checker | None:
    """The comparison that is built in, if the test asks for that: `==`, or numbers that are close."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if assertion is None or not isinstance(call, ast.Call) or ast.unparse(call.args[1]) != "exp":
        return None
    matches = {ast.unparse(node.value) for node in _matches(assertion)}
    if matches != {"out == exp"}:
        return None
    own = literal(call.args[2])
    absolute = own or (FLOATS if any(map(_is_floats, results)) else None)
    return Checker(kind=CheckerKind.JSON, absolute=absolute, relative=RELATIVE if absolute else None)


def _matches(assertion: ast.FunctionDef) -> Iterator[ast.Assign]:
    for node in ast.walk(assertion):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "exact_match":
            yield node


def _is_floats(result: Any) -> bool:
    items = result if isinstance(result, list | tuple) else [result]
    return all(isinstance(item, float) for item in items)


# --- tests that compare in their own way -------------------------------------------------------------


_CHECKER = """\
import ast, json, sys
sys.set_int_max_str_digits(0)

def value(said):
    if isinstance(said, list):
        return [value(item) for item in said]
    if not isinstance(said, dict):
        return said
    (kind, held), = said.items()
    make = {{"tuple": tuple, "set": set, "dict": dict, "float": float}}.get(kind, lambda held: complex(*held))
    return make(held if kind == "float" else map(tuple, map(value, held)) if kind == "dict" else value(held))

{helpers}

given, wanted, got = [open(path).read() for path in sys.argv[1:4]]
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


def _helps(node: ast.stmt) -> bool:
    if isinstance(node, ast.FunctionDef):
        return node.name != "check"
    return isinstance(node, ast.Import | ast.ImportFrom)


def _checker(helpers: list[ast.stmt], statement: ast.AST) -> Checker:
    """The test's own program for one input, as a checker."""
    reference = ""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        reference = f"exp = {ast.unparse(statement.value.args[1])}"
        statement.value.args[1] = ast.Name("exp", ast.Load())
    for node in helpers:
        if isinstance(node, ast.FunctionDef) and node.name == "assertion":
            _assert_something(node)
    source = _CHECKER.format(
        helpers="\n\n".join(map(ast.unparse, helpers)),
        reference=reference,
        # HumanEval/32 unpacks the root instead of the coefficients; EvalPlus's own runner does not.
        statement=ast.unparse(statement).replace("_poly(*out, inp)", "abs(_poly(*inp, out))"),
    )
    file = NamedBlob(name="checker.py", content=Blob.of(source))
    return Checker(kind=CheckerKind.CODEFORCES, sources=(file,), language="python")


def _assert_something(assertion: ast.FunctionDef) -> None:
    """A few exported tests find out whether there is a match, and leave it at that."""
    if not any(isinstance(node, ast.Assert) for node in ast.walk(assertion)):
        assertion.body.append(ast.parse("assert exact_match").body[0])
