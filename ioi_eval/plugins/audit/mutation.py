"""Changed copies of programs in Python and C++: off by one, wrong bound, int for long, missing case."""

from __future__ import annotations

import ast
import copy
import hashlib
import re
from collections.abc import Callable, Iterator

from ioi_eval.errors import InputError
from ioi_eval.scoring import find_language

Mutant = tuple[str, str]  # name of the change with its line, and the changed program


def generate_mutants(code: str, language: str, seed: int) -> list[Mutant]:
    """Return all mutants of a program in Python or C++, in an order that depends on the seed."""
    try:
        language_name = find_language(language).name
    except InputError:
        return []
    if language_name.startswith(("python", "pypy")):
        names_by_program = {program: name for name, program in _generate_python_mutants(code)}
    elif language_name.startswith("c++"):
        names_by_program = {program: name for name, program in _generate_cpp_mutants(code)}
    else:
        return []
    names_by_program.pop(code, None)
    shuffled_items = sorted(
        names_by_program.items(), key=lambda item: hashlib.sha256(f"{seed}\n{item[0]}".encode()).digest()
    )
    return [(name, program) for program, name in shuffled_items]


# --- changes of Python programs by the syntax tree ---------------------------------------------------

_OTHER_BOUND: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}


def _generate_python_mutants(code: str) -> Iterator[Mutant]:
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return
    for node_index, node in enumerate(ast.walk(tree)):
        for name, change_node in _list_possible_changes(node):
            changed_tree = copy.deepcopy(tree)
            copied_node = next(
                copied for index, copied in enumerate(ast.walk(changed_tree)) if index == node_index
            )
            change_node(copied_node)
            yield f"{name}, line {getattr(node, 'lineno', 0)}", ast.unparse(changed_tree) + "\n"


def _list_possible_changes(node: ast.AST) -> Iterator[tuple[str, Callable[[ast.AST], None]]]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _OTHER_BOUND:
        yield "wrong bound", _change_comparison_operator
    if isinstance(node, ast.Compare) and any(map(_is_integer_constant, node.comparators)):
        yield "off by one", lambda copied: _add_one_to_integer(copied.comparators)  # type: ignore[attr-defined]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        yield "off by one", _shorten_range
    if (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Add | ast.Sub)
        and _is_integer_constant(node.right)
    ):
        yield "off by one", lambda copied: _add_one_to_integer([copied.right])  # type: ignore[attr-defined]
    if isinstance(node, ast.If | ast.IfExp):
        yield "missing case", _disable_branch


def _is_integer_constant(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _change_comparison_operator(node: ast.AST) -> None:
    assert isinstance(node, ast.Compare)
    node.ops[0] = _OTHER_BOUND[type(node.ops[0])]()


def _add_one_to_integer(nodes: list[ast.expr]) -> None:
    constant = next(node for node in nodes if _is_integer_constant(node))
    assert isinstance(constant, ast.Constant) and isinstance(constant.value, int)
    constant.value += 1


def _shorten_range(node: ast.AST) -> None:
    assert isinstance(node, ast.Call)
    bound_index = 0 if len(node.args) == 1 else 1
    if len(node.args) > bound_index:
        node.args[bound_index] = ast.BinOp(node.args[bound_index], ast.Sub(), ast.Constant(1))


def _disable_branch(node: ast.AST) -> None:
    assert isinstance(node, ast.If | ast.IfExp)
    node.test = ast.Constant(False)


# --- changes of C++ programs by tokens ---------------------------------------------------------------

# Pattern of a token. Comments, literals and preprocessor lines are tokens that are never changed.
_TOKEN = re.compile(
    r"""(?P<skipped>//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'"""
    r"""|^[ \t]*\#[^\n]*(?:\\\n[^\n]*)*)|(?P<word>[A-Za-z_]\w*)|(?P<number>\d[\w.']*)"""
    r"""|(?P<sign><<=|>>=|<=>|<=|>=|<<|>>|->|\+\+|--|.)""",
    re.S | re.M | re.X,
)
_OTHER_SIGN = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_LONG_TYPES = ("int64_t", "uint64_t", "ll", "LL", "i64")


def _generate_cpp_mutants(code: str) -> Iterator[Mutant]:
    tokens = [match for match in _TOKEN.finditer(code) if match.lastgroup and not match["skipped"]]
    tokens = [match for match in tokens if not match[0].isspace()]
    are_in_heads = list(_flag_tokens_in_conditions(tokens))
    for index, match in enumerate(tokens):
        token, line = match[0], code.count("\n", 0, match.start()) + 1
        previous_token = tokens[index - 1][0] if index else ""
        next_token = tokens[index + 1][0] if index + 1 < len(tokens) else ""
        changes = dict[str, str]()
        if are_in_heads[index] and token in _OTHER_SIGN:
            changes["wrong bound"] = _OTHER_SIGN[token]
        if token.isdecimal() and (are_in_heads[index] or previous_token in ("+", "-")):
            changes["off by one"] = str(int(token) + 1)
        if token in _LONG_TYPES and previous_token not in ("typedef", "using", "long"):
            changes["int for long"] = "int"
        if token == "long" and next_token == "long":
            yield (
                f"int for long, line {line}",
                code[: match.start()] + "int" + code[tokens[index + 1].end() :],
            )
        if token == "if" and next_token == "(":
            parenthesis_end = tokens[index + 1].end()
            yield f"missing case, line {line}", f"{code[:parenthesis_end]}false && {code[parenthesis_end:]}"
        for name, replacement in changes.items():
            yield f"{name}, line {line}", code[: match.start()] + replacement + code[match.end() :]


def _flag_tokens_in_conditions(tokens: list[re.Match[str]]) -> Iterator[bool]:
    """Yield True for each token inside the parentheses of `for`, `while` or `if`, else False."""
    depth, head_depth, previous_token = 0, 0, ""
    for match in tokens:
        token = match[0]
        if token == "(":
            depth += 1
            if not head_depth and previous_token in ("for", "while", "if"):
                head_depth = depth
        yield bool(head_depth)
        if token == ")":
            if depth == head_depth:
                head_depth = 0
            depth -= 1
        previous_token = token
